/// Normalised copies: which table maps the stored values to the written ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "gpuhist/image.hpp"

namespace gpuhist {

/// Modes of normalisation. With lo and hi the chosen extremes, top the type's highest value (1 for f32), n the number
/// of samples:
///   minmax      (v − lo) · top / (hi − lo), lo and hi the smallest and largest value; 8 and 16 bits exact in integers,
///               halves rounded up. As cv::normalize(NORM_MINMAX) but for exact halves.
///   percentile  the minmax formula between two nearest-rank percentiles (smallest v with cum(v) ≥ ceil(q n), at least
///               1), clamped; where the two are equal the image is left as it is.
///   equalize    i0 the first non-empty bin, scale = top / (n − h[i0]) in float,
///               rint(float(Σ h[i0+1..v]) · scale); bit for bit cv::equalizeHist on 8-bit grey. Joint: the table of the
///               luma histogram on every channel. f32: 65536 equal bins over the finite range of colours and luma,
///               result in [0, 1]; a population within one bin is left as it is.
///   zscore      (v − mean) / std in double, rounded to f32; std is the population's.
/// A constant channel is left as it is (zscore: becomes 0), and so is one without a finite sample. NaN stays NaN; ±Inf
/// follow the formula in IEEE arithmetic.
///
/// Copies of another depth than these, of all modes but zscore (`Normalization::depth`):
///   8 and 16 bits to each other  the same formulas with the other type's top, at once: nothing is rounded twice
///   8 and 16 bits to f32         minmax and percentile as of f32 samples of these values; equalize
///                                float(Σ h[i0+1..v]) · (1 / (n − h[i0])), at most 1
///   f32 to 8 and 16 bits         the copy in f32, brought to the depth
/// What is left as it is, and alpha, is brought to the depth: v · top / (top of v's type), to 8 and 16 bits with halves
/// rounded up; f32 samples have top 1, are clamped to [0, 1] before, ±Inf too, and NaN becomes 0.
enum class NormalizeMode : std::uint8_t { minmax, percentile, equalize, zscore };

/// Findings from which a mode's table follows.
enum class NormalizeNeeds : std::uint8_t {
    nothing,   ///< the table is the same for all images
    extremes,  ///< the smallest and the largest value
    ranks,     ///< the values at the two nearest ranks; f32 is then analysed in full
    mean_std,  ///< mean and population std
    counts,    ///< all counts; f32: over equal bins
};

/// Mode's facts, one row of a table: whatever depends on the mode asks here. Its formulas are in one file of
/// gpu/normalize.
struct NormalizeTraits {
    NormalizeMode mode;
    const char* name;  ///< in files and options
    NormalizeNeeds needs;
    bool joint_by_luma;  ///< joint: the luma row decides for all colours; else the colours together, as one population
    bool real;           ///< the copy holds real numbers, of depth DepthTraits::real; else the depth stays
};

inline constexpr NormalizeTraits all_normalize_modes[] = {
    {NormalizeMode::minmax, "minmax", NormalizeNeeds::extremes, false, false},
    {NormalizeMode::percentile, "percentile", NormalizeNeeds::ranks, false, false},
    {NormalizeMode::equalize, "equalize", NormalizeNeeds::counts, true, false},
    {NormalizeMode::zscore, "zscore", NormalizeNeeds::mean_std, false, true},
};

/// Row of a mode. A value outside the enumeration is not allowed.
constexpr const NormalizeTraits& traits_of(NormalizeMode mode) {
    return all_normalize_modes[static_cast<std::size_t>(mode)];
}

/// Name in files and options.
constexpr const char* to_string(NormalizeMode mode) {
    return traits_of(mode).name;
}

/// Mode of this name; absent where there is none.
constexpr std::optional<NormalizeMode> normalize_mode(std::string_view name) {
    for (const NormalizeTraits& traits : all_normalize_modes)
        if (name == traits.name) return traits.mode;
    return std::nullopt;
}

/// Normalisation that is asked for.
struct Normalization {
    NormalizeMode mode = NormalizeMode::minmax;
    double low = 1;  ///< percentile: in percent, 0 ≤ low < high ≤ 100, resolved to 1e-6 percent
    double high = 99;
    bool joint = true;  ///< one table for all colour channels, so that colours keep their hue; false: one a channel
    std::optional<Depth> depth{};  ///< of the copy; absent: the mode's. zscore: f32, if any
};

/// Depth of the normalised image where none is asked for: that of the input, f32 for zscore. Alpha is then copied
/// (zscore: converted to f32).
constexpr Depth normalized_depth(Depth input, NormalizeMode mode) {
    return traits_of(mode).real ? traits_of(input).real : input;
}

/// Depth of the normalised image.
constexpr Depth normalized_depth(Depth input, const Normalization& normalization) {
    return normalization.depth.value_or(normalized_depth(input, normalization.mode));
}

}  // namespace gpuhist
