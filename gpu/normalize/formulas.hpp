// The formulas of the normalised copies. LutSet are derived once an image and channel, from counts.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/portable.hpp"

namespace gpuhist::core {

/// (v − lo) · top / (hi − lo), clamped to [0, top], halves rounded up; lo < hi ≤ 65535.
GPUHIST_HD constexpr std::uint32_t stretch(std::uint32_t v, std::uint32_t lo, std::uint32_t hi, std::uint32_t top) {
    if (v <= lo) return 0;
    if (v >= hi) return top;
    const std::uint64_t width = hi - lo;
    return static_cast<std::uint32_t>((2 * std::uint64_t{v - lo} * top + width) / (2 * width));
}

/// The same of T's values as a product. Its factor, top · 2^digits / (hi − lo), is rounded up, so that what is rounded
/// down at the end is too large by less than (hi − lo) / 2^digits < 1 / (2 · (hi − lo)), of which the exact number is a
/// multiple: both round to the same. Where lo = hi all values stay as they are.
template <typename T>
struct Line {
    using Fixed = std::conditional_t<sizeof(T) == 1, std::uint32_t, std::uint64_t>;
    static constexpr int digits = 8 * (sizeof(Fixed) - sizeof(T));

    Fixed factor, offset;  ///< modulo 2^32 or 2^64, as their products and sums are
    std::uint32_t lo, hi;

    GPUHIST_HD static constexpr Line between(std::uint32_t lo, std::uint32_t hi) {
        constexpr Fixed one = Fixed{1} << digits, top = (Fixed{1} << 8 * sizeof(T)) - 1;
        if (lo == hi) return {one, 0, 0, static_cast<std::uint32_t>(top)};
        const Fixed width = hi - lo, factor = (top * one + width - 1) / width;
        return {factor, one / 2 - lo * factor, lo, hi};
    }
    GPUHIST_HD constexpr std::uint32_t clamp(std::uint32_t v) const {
        const std::uint32_t least = v < lo ? lo : v;
        return least > hi ? hi : least;
    }
    /// Of a value from lo to hi: the mapped one, from bit `digits` on.
    GPUHIST_HD constexpr Fixed operator()(std::uint32_t v) const { return v * factor + offset; }
    /// Of any value.
    GPUHIST_HD constexpr std::uint32_t map(std::uint32_t v) const {
        return static_cast<std::uint32_t>((*this)(clamp(v)) >> digits);
    }
};

/// f32: clamped to [0, 1]; NaN stays NaN.
GPUHIST_HD constexpr float clamp_unit(float v) {
    return v < 0 ? 0 : v > 1 ? 1 : v;
}
/// f32: [lo, hi] to [0, 1]; lo < hi.
GPUHIST_HD inline float stretch(float v, double lo, double hi) {
    return static_cast<float>((v - lo) / (hi - lo));
}

/// Equalisation scale, as cv::equalizeHist: all samples but the `first` non-empty bin's, onto [0, top].
GPUHIST_HD inline float equalize_scale(std::uint64_t total, std::uint64_t first, std::uint32_t top) {
    return static_cast<float>(top) / static_cast<float>(total - first);
}
/// The value for a bin, given the samples after the first non-empty bin up to and including it.
GPUHIST_HD inline std::uint32_t equalize(std::uint64_t cumulative, float scale, std::uint32_t top) {
    const float value = rintf(static_cast<float>(cumulative) * scale);
    return value >= static_cast<float>(top) ? top : static_cast<std::uint32_t>(value);
}
/// f32: the same onto [0, 1], not rounded.
GPUHIST_HD inline float equalize(std::uint64_t cumulative, float scale) {
    return fminf(static_cast<float>(cumulative) * scale, 1.0f);
}

/// (v − mean) / std; 0 where std is 0, NaN staying NaN.
GPUHIST_HD inline float zscore(double v, double mean, double std) {
    return static_cast<float>(std > 0 ? (v - mean) / std : v != v ? v : 0.0);
}

inline constexpr std::uint32_t equalize_float_bins = 65536;

}  // namespace gpuhist::core
