// Rules of a request for the samples of an image: which are excluded, and what valid ones weigh.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"
#include "rules/classes.hpp"

namespace gpuhist::rules {

/// Rule for the samples of one channel: which are nodata.
class SampleRule {
  public:
    SampleRule() = default;
    SampleRule(const Validity& validity, Channel channel, Depth depth);

    bool any() const { return nan_ || bounds_ || !values_.empty(); }
    const std::vector<double>& values() const { return values_; }
    bool nan() const { return nan_; }
    const std::optional<Range>& bounds() const { return bounds_; }
    /// Verdict on a value: whether it is nodata.
    bool operator()(double value) const {
        if (value != value) return nan_;
        bool nodata = bounds_ && (value < bounds_->lower || value > bounds_->upper);
        for (const double one : values_) nodata = nodata || value == one;
        return nodata;
    }

  private:
    std::vector<double> values_;   ///< as the samples hold them
    bool nan_ = false;             ///< NaN is nodata
    std::optional<Range> bounds_;  ///< closed
};

/// Rules of a request for an image's samples, by position in the pixel.
class ImageRules {
  public:
    /// Throws InvalidArgument for a rule that has no meaning.
    ImageRules(const ImageView& image, const Validity* validity);

    const SampleRule& operator[](int position) const { return rules_[static_cast<std::size_t>(position)]; }
    /// Verdict: whether a sample may be nodata; whether a color may be.
    bool any() const { return any_; }
    bool any_color() const { return any_color_; }
    bool nodata_any() const { return nodata_any_; }  ///< one nodata sample makes its pixel nodata
    const AlphaMask& alpha_mask() const { return alpha_mask_; }
    bool alpha_left_out() const { return alpha_left_out_; }
    bool has_alpha() const { return has_alpha_; }
    int colors() const { return colors_; }  ///< samples of a pixel that luma is made of: 1 or 3; 0: there is no luma

  private:
    std::vector<SampleRule> rules_;
    AlphaMask alpha_mask_{};
    bool any_ = false, any_color_ = false, nodata_any_ = false, has_alpha_ = false, alpha_left_out_ = false;
    int colors_ = 0;
};

/// Verdict on an image: whether all its samples are valid, whatever they are.
inline bool all_valid(const ImageView& image, const AnalysisRequest& request) {
    return !image.mask && !request.validity;
}

/// Verdict on rules, or a request's: whether alpha is the weight of samples.
inline bool weighs(const Validity* validity) {
    return validity && validity->alpha == AlphaRule::weight;
}
inline bool weighs(const AnalysisRequest& request) {
    return weighs(request.validity.get());
}

/// Throws InvalidArgument, naming the depth, for an image that has no weights: one of other than integers of 8 or 16
/// bits, or of alpha with a sign; and for a weight of opaque pixels that the depth does not hold.
void validate_weights(const ImageView& image, const Validity& validity);

/// Weight of samples of an image without alpha.
inline std::uint32_t weight_of_opaque(Depth depth, const Validity& validity) {
    return validity.opaque ? validity.opaque : static_cast<std::uint32_t>(traits_of(depth).highest);
}

}  // namespace gpuhist::rules
