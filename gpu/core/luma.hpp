// Brightness of a pixel.
#pragma once

#include <cstdint>

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

/// f32: each product and sum rounded to float, from left to right.
GPUHIST_HD constexpr float luma(float red, float green, float blue) {
    return (0.299f * red + 0.587f * green) + 0.114f * blue;
}

}  // namespace gpuhist::core
