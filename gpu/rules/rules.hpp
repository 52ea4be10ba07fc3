// Rules of a request for the samples of an image: exclusion, and the weight of valid samples.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/weights.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"
#include "rules/classes.hpp"

namespace gpuhist::rules {

/// Rule for the samples of one channel: decides which are nodata.
class SampleRule {
  public:
    SampleRule() = default;
    SampleRule(const Validity& validity, Channel channel, Depth depth);

    bool any() const { return nan_ || bounds_ || !values_.empty(); }
    const std::vector<double>& values() const { return values_; }
    bool nan() const { return nan_; }
    const std::optional<Range>& bounds() const { return bounds_; }
    /// Returns whether a value stands for no data, whatever the bounds say.
    bool names(double value) const {
        if (value != value) return nan_;
        for (const double one : values_)
            if (value == one) return true;
        return false;
    }
    bool names_any() const { return nan_ || !values_.empty(); }
    /// Returns whether a value is nodata.
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

/// Rules of a request for the samples of an image, by position in the pixel.
class ImageRules {
  public:
    /// Throws InvalidArgument for a rule without meaning.
    ImageRules(const ImageView& image, const Validity* validity);

    const SampleRule& operator[](int position) const { return rules_[static_cast<std::size_t>(position)]; }
    /// Returns whether a sample may be nodata, and whether a color may be.
    bool any() const { return any_; }
    bool any_color() const { return any_color_; }
    bool names_any() const { return names_any_; }    ///< some value stands for no data
    bool nodata_any() const { return nodata_any_; }  ///< one nodata sample makes its pixel nodata
    const AlphaMask& alpha_mask() const { return alpha_mask_; }
    bool alpha_left_out() const { return alpha_left_out_; }
    bool has_alpha() const { return has_alpha_; }
    int colors() const { return colors_; }  ///< samples per pixel from which luma is computed: 1 or 3; 0: no luma

  private:
    std::vector<SampleRule> rules_;
    AlphaMask alpha_mask_{};
    bool any_ = false, any_color_ = false, names_any_ = false, nodata_any_ = false;
    bool has_alpha_ = false, alpha_left_out_ = false;
    int colors_ = 0;
};

/// Returns whether all samples of an image are valid, whatever they are.
inline bool all_valid(const ImageView& image, const AnalysisRequest& request) {
    return !image.mask && !request.validity;
}

/// Returns whether rules, or those of a request, make alpha the weight of samples.
inline bool weighs(const Validity* validity) {
    return validity && validity->alpha == AlphaRule::weight;
}
inline bool weighs(const AnalysisRequest& request) {
    return weighs(request.validity.get());
}

/// Throws InvalidArgument, naming the depth, for an image whose alpha is no weight, and for a weight of opaque pixels
/// that the depth does not hold.
void validate_weights(const ImageView& image, const Validity& validity);

/// Weight of samples of an image without alpha, in units of the depth.
inline std::uint32_t weight_of_opaque(Depth depth, const Validity& validity) {
    const double alpha = validity.opaque ? validity.opaque : traits_of(depth).highest;
    return static_cast<std::uint32_t>(alpha / core::weight_unit(depth));
}

}  // namespace gpuhist::rules
