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

/// Image in which NaN stands for all floats that do not count. Owns its memory and reuses it.
class Substituted {
  public:
    /// Copies an image of floats. Alpha that is left out has no place in the copy.
    const ImageView& of(Workers& workers, const ImageView& image, const ImageRules& rules);
    const ClassCounts& counts() const { return counts_; }

  private:
    std::unique_ptr<std::byte[]> memory_;
    std::size_t bytes_ = 0;
    ImageView view_;
    ClassCounts counts_;
};

/// Verdict on an image: whether all its samples count.
inline bool all_count(const ImageView& image, const AnalysisRequest& request) {
    return !image.mask && !request.validity;
}

}  // namespace gpuhist::cpu
