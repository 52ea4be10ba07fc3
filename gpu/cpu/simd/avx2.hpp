// Loops on processors with AVX2: luma of bytes, of which compilers' code for samples that lie three apart took a third
// of the time of all counting; unmasked pixels, brought together; and colors in the other order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuhist/image.hpp"

namespace gpuhist::cpu::avx2 {

/// Support: whether this processor can run the rest, and this build holds it.
bool supported();

/// core::luma of the first pixels of `pixels` interleaved ones of 3 or 4 channels. Returns how many they are: a
/// multiple of 32, all but fewer than 34.
int luma(const std::uint8_t* samples, int pixels, int channels, ChannelOrder order, std::uint8_t* out);

/// Copies those of the first pixels, of 1 to 4 bytes, whose bytes in `mask` are not 0, and counts them in `filled`;
/// there is room for all pixels and 16 bytes. Returns how many of `pixels` were looked at: all but fewer than 16.
int gather(const std::byte* from, const std::uint8_t* mask, int pixels, int pixel_bytes, std::byte* to, int& filled);

/// core::luma of the first pixels, likewise, as words. Returns how many they are: a multiple of 16, all but fewer
/// than 18.
int luma_words(const std::uint8_t* samples, int pixels, int channels, ChannelOrder order, std::int16_t* out);

/// Sums over 3 x 3 neighborhoods of bytes: of the Laplacian and its squares, of squared Sobel gradients, and of
/// magnitudes of the operator of noise (gpu/measures).
struct NeighborSums {
    std::int64_t laplacian = 0, laplacian_squares = 0, gradients = 0, noise = 0;
};

/// Adds these of the pixels of a row, whose pixels from -1 to `pixels` there are. Returns how many they are: all, or
/// none without AVX2.
int neighbors(const std::int16_t* above, const std::int16_t* own, const std::int16_t* below, int pixels,
              NeighborSums& sums);

/// Sums over pixels of R - G, R + G - 2 B and their squares, and the number of pixels with R = G = B.
struct ColorSums {
    std::int64_t red_green = 0, red_green_squares = 0, yellow_blue = 0, yellow_blue_squares = 0, gray = 0, pixels = 0;
};

/// Sums over the first pixels: all but fewer than 18.
ColorSums colors(const std::uint8_t* samples, int pixels, int channels, ChannelOrder order);

/// 241 R^2 + 691 G^2 + 68 B^2 of the first pixels. Returns how many they are: a multiple of 8, all but fewer than 10.
int brightness_keys(const std::uint8_t* samples, int pixels, int channels, ChannelOrder order, std::uint32_t* out);

/// Windows of the highest 16 bits of keys of 26, up to 1000 * 255^2, ascending and apart. Those from `numbers` on
/// contain nothing.
struct KeyWindows {
    static constexpr int most = 7, shift = 10;
    int numbers = 0;
    std::uint16_t low[most], high[most];  ///< the first and the last that each contains
};

/// Copies the keys in these windows, and adds to `below` how many keys are below each of them. Returns the number of
/// copied keys; there is room for 8 more. Of `count`, at most 2^16, a multiple of 16 is looked at: all but fewer
/// than 16.
int in_windows(const std::uint32_t* keys, int count, const KeyWindows& windows, std::uint64_t* below,
               std::uint32_t* out);

/// Copies those of the first keys whose bits from `shift` on are one of the wanted numbers. Returns how many they are;
/// there is room for 8 more. A multiple of 8 keys is looked at: all but fewer than 8.
int select(const std::uint32_t* keys, int count, int shift, const std::uint32_t* wanted, int numbers,
           std::uint32_t* out);

/// Copies the first of `pixels` interleaved ones of 3 or 4 samples of 1 or 2 bytes, with their first and third sample
/// swapped. Returns how many they are: all but fewer than 6.
int swap_colors(const std::byte* from, int pixels, int channels, int sample_bytes, std::byte* to);

}  // namespace gpuhist::cpu::avx2
