/// Normalised copies: which table maps the stored values to the written ones.
#pragma once

#include <cstdint>

#include "gpuhist/image.hpp"

namespace gpuhist {

/// With lo and hi the chosen extremes, top the type's highest value (1 for f32), n the number of samples:
///   minmax      (v − lo) · top / (hi − lo), lo and hi the smallest and largest value; 8 and 16 bits exact in integers,
///               halves rounded up. As cv::normalize(NORM_MINMAX) but for exact halves.
///   percentile  the same between two nearest-rank percentiles (smallest v with cum(v) ≥ ceil(q n), at least 1),
///   clamped;
///               where the two are equal the image is left as it is.
///   equalize    i0 the first non-empty bin, scale = top / (n − h[i0]) in float,
///               rint(float(Σ h[i0+1..v]) · scale); bit for bit cv::equalizeHist on 8-bit grey. Joint: the table of the
///               luma histogram on every channel. f32: 65536 equal bins over the finite range of colours and luma,
///               result in [0, 1]; a population within one bin is left as it is.
///   zscore      (v − mean) / std in double, rounded to f32; std is the population's.
/// A constant channel is left as it is (zscore: becomes 0), and so is one without a finite sample. NaN stays NaN; ±Inf
/// follow the formula in IEEE arithmetic.
enum class NormalizeMode : std::uint8_t { minmax, percentile, equalize, zscore };

struct Normalization {
    NormalizeMode mode = NormalizeMode::minmax;
    double low = 1;  ///< percentile: in percent, 0 ≤ low < high ≤ 100, resolved to 1e-6 percent
    double high = 99;
    bool joint = true;  ///< one table for all colour channels, so that colours keep their hue; false: one a channel
};

/// The depth of the normalised image: that of the input, f32 for zscore. Alpha is copied (zscore: converted to f32).
constexpr Depth normalized_depth(Depth input, NormalizeMode mode) {
    return mode == NormalizeMode::zscore ? Depth::f32 : input;
}

}  // namespace gpuhist
