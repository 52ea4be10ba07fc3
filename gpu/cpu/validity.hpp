// Samples that count: the rules of a request, resolved for the samples of an image.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/codes.hpp"
#include "cpu/pixel_source.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist::cpu {

/// Rule for the samples of one channel: which are nodata.
class SampleRule {
  public:
    SampleRule() = default;
    SampleRule(const Validity& validity, Channel channel, Depth depth);

    bool any() const { return nan_ || bounds_ || !values_.empty(); }
    const std::vector<double>& values() const { return values_; }
    bool nan() const { return nan_; }
    const std::optional<Range>& bounds() const { return bounds_; }
    bool operator()(double value) const {
        if (value != value) return nan_;
        bool nodata = bounds_ && (value < bounds_->lower || value > bounds_->upper);
        for (const double one : values_) nodata = nodata || value == one;
        return nodata;
    }
    /// Sets nodata[i] to 1 where sample i is. They lie `step` samples apart.
    template <class Sample>
    void find(const Sample* samples, int step, int count, std::uint8_t* nodata) const;

  private:
    std::vector<double> values_;   ///< as the samples hold them
    bool nan_ = false;             ///< NaN is one
    std::optional<Range> bounds_;  ///< closed
};

/// Classes of the samples of a block of pixels, 1 where they are of it.
struct BlockClasses {
    alignas(64) std::uint8_t counts[block_pixels];                 ///< of pixels: not masked
    alignas(64) std::uint8_t nodata[most_channels][block_pixels];  ///< of samples of these, by position in the pixel
};

/// Rules of a request for an image's samples, by position in the pixel.
class ImageRules {
  public:
    /// Throws InvalidArgument for a rule that has no meaning.
    ImageRules(const ImageView& image, const Validity* validity);

    const SampleRule& operator[](int position) const { return rules_[static_cast<std::size_t>(position)]; }
    /// Verdict: whether some sample may be nodata; whether one of a color may be.
    bool any() const { return any_; }
    bool any_color() const { return any_color_; }
    bool nodata_any() const { return nodata_any_; }
    bool alpha_masks() const { return alpha_masks_; }  ///< pixels of alpha 0 are masked
    bool alpha_left_out() const { return alpha_left_out_; }
    bool has_alpha() const { return has_alpha_; }
    int colors() const { return colors_; }  ///< 1 or 3 positions whose samples luma is made of; 0: there is no luma

    /// Classes of at most `block_pixels` pixels of a row.
    void classify(const ImageView& image, std::int64_t row, std::int64_t column, int pixels,
                  BlockClasses& classes) const;

  private:
    std::vector<SampleRule> rules_;
    bool any_ = false, any_color_ = false, nodata_any_ = false, has_alpha_ = false, alpha_masks_ = false,
         alpha_left_out_ = false;
    int colors_ = 0, channels_ = 1;
};

/// Position in the pixel of what a channel of an analysis is made of; −1: of several.
int position_of(const ImageView& image, Channel channel);

/// Numbers of samples by class.
struct ClassCounts {
    std::uint64_t counted = 0;                          ///< pixels that are not masked
    std::uint64_t color_nodata = 0;                     ///< of these such that a color is nodata
    std::array<std::uint64_t, most_channels> nodata{};  ///< by position
    void operator+=(const ClassCounts& more);
};

/// Pixels of which an engine is to see the samples.
enum class PixelsOf : std::uint8_t {
    counted,  ///< that are not masked
    colors,   ///< of which no color is nodata either
    all       ///< of which no sample is
};

/// Classifier makes what an engine that knows masks alone measures in place of an image of which not all samples count,
/// and counts its classes. What it makes lies in memory of its own, where the image does, until the next call.
class Classifier {
  public:
    virtual ~Classifier() = default;
    /// Copy of an image of floats in which NaN stands for all that do not count. Alpha that is left out has no place in
    /// it.
    virtual ImageView substitute(const ImageView& image, const ImageRules& rules, ClassCounts& counts) = 0;
    /// The image with a mask of some of its pixels.
    virtual ImageView mask(const ImageView& image, const ImageRules& rules, PixelsOf which, ClassCounts& counts) = 0;
};

/// Classifier of images in host memory.
class HostClassifier final : public Classifier {
  public:
    explicit HostClassifier(Workers& workers) : workers_(workers) {}
    ImageView substitute(const ImageView& image, const ImageRules& rules, ClassCounts& counts) override;
    ImageView mask(const ImageView& image, const ImageRules& rules, PixelsOf which, ClassCounts& counts) override;

  private:
    std::byte* reserve(std::size_t bytes);

    Workers& workers_;
    std::unique_ptr<std::byte[]> memory_;
    std::size_t bytes_ = 0;
};

/// Plan of how the samples that count are measured by an engine that knows masks alone: floats by copies in which NaN
/// stands for what does not count; of integers all samples of pixels that are not masked, out of which nodata are taken
/// by value, and their luma by a mask of its own.
struct ValidityPlan {
    /// `masks`: the engine knows masks, by which floats may be measured too where there is nothing else.
    ValidityPlan(const ImageView& image, const ImageRules& rules, bool masks);

    bool substitutes;            ///< copies with NaN
    bool luma_apart;             ///< luma is of other pixels than the rest
    std::optional<PixelsOf> of;  ///< mask that is made; absent: the image's own does
};

/// Verdict on an image: whether all its samples count.
inline bool all_count(const ImageView& image, const AnalysisRequest& request) {
    return !image.mask && !request.validity;
}

}  // namespace gpuhist::cpu
