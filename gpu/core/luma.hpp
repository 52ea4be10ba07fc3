// Brightness of a pixel.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/codes.hpp"
#include "core/portable.hpp"

namespace gpuhist::core {

/// Rec.601 in 15-bit fixed point on stored values, as cv::cvtColor(BGR2GRAY) of 8U and 16U. Fits 32 bits: 32768 ·
/// 65535.
inline constexpr std::uint32_t luma_red = 9798, luma_green = 19235, luma_blue = 3735;
GPUHIST_HD constexpr std::uint32_t luma_weighted(std::uint32_t sum) {
    return (sum + 16384) >> 15;
}
GPUHIST_HD constexpr std::uint32_t luma(std::uint32_t red, std::uint32_t green, std::uint32_t blue) {
    return luma_weighted(luma_red * red + luma_green * green + luma_blue * blue);
}

/// Luma of floats: each product and sum is rounded, from left to right.
GPUHIST_HD constexpr float luma(float red, float green, float blue) {
    return (0.299f * red + 0.587f * green) + 0.114f * blue;
}
GPUHIST_HD constexpr double luma(double red, double green, double blue) {
    return (0.299 * red + 0.587 * green) + 0.114 * blue;
}

/// Code of luma from the codes of the colors. For integers, it is the luma of the codes, because the weights add up to
/// 1. For narrow floats, luma is computed in float and rounded.
template <class Sample>
GPUHIST_HD inline Code<Sample> luma_code(Code<Sample> red, Code<Sample> green, Code<Sample> blue) {
    if constexpr (is_narrow<Sample>) {
        const auto value = [](Code<Sample> code) { return to_float(sample_at<Sample>(code)); };
        return code_of(narrowed<Sample>(luma(value(red), value(green), value(blue))));
    } else if constexpr (is_real<Sample>) {
        return code_of(luma(sample_at<Sample>(red), sample_at<Sample>(green), sample_at<Sample>(blue)));
    } else if constexpr (sizeof(Sample) <= 2) {
        return static_cast<Code<Sample>>(luma(std::uint32_t{red}, std::uint32_t{green}, std::uint32_t{blue}));
    } else {
        return static_cast<Code<Sample>>((std::uint64_t{luma_red} * red + std::uint64_t{luma_green} * green +
                                          std::uint64_t{luma_blue} * blue + 16384) >>
                                         15);
    }
}

}  // namespace gpuhist::core
