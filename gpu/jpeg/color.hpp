// Colors of pixels: libjpeg's fixed-point conversion, 16 bits behind the point, as its tables have it.
#pragma once

#include <cstdint>

#include "core/portable.hpp"
#include "jpeg/image.hpp"
#include "jpeg/upsample.hpp"

namespace gpuhist::jpeg {

GPUHIST_HD inline std::uint8_t clamped(std::int32_t sample) {
    return static_cast<std::uint8_t>(sample < 0 ? 0 : sample > 255 ? 255 : sample);
}

/// Blue, green and red of luma and chroma.
GPUHIST_HD inline void convert_ycc(std::int32_t y, std::int32_t blue, std::int32_t red, std::uint8_t bgr[3]) {
    constexpr std::int32_t half = 1 << 15;
    const std::int32_t cb = blue - 128, cr = red - 128;
    bgr[0] = clamped(y + ((116130 * cb + half) >> 16));
    bgr[1] = clamped(y + ((-22554 * cb - 46802 * cr + half) >> 16));
    bgr[2] = clamped(y + ((91881 * cr + half) >> 16));
}

/// Makes 4 pixels of row y from column x on, a multiple of 4: gray, or blue, green, red. Those behind the last column
/// mean nothing. `planes`: the batch's.
GPUHIST_HD inline void make_pixels(const Image& image, const std::uint8_t* planes, std::int32_t x, std::int32_t y,
                                   std::uint8_t pixels[together * most_components]) {
    std::int32_t samples[most_components][together];
    for (int c = 0; c < most_components; ++c)
        if (c < image.components) upsample(image.component[c], planes + image.component[c].plane, x, y, samples[c]);
    for (int i = 0; i < together; ++i) {
        if (image.color == Color::gray) {
            pixels[i] = static_cast<std::uint8_t>(samples[0][i]);
        } else if (image.color == Color::ycc) {
            convert_ycc(samples[0][i], samples[1][i], samples[2][i], pixels + 3 * i);
        } else {
            for (int c = 0; c < 3; ++c) pixels[3 * i + c] = static_cast<std::uint8_t>(samples[2 - c][i]);
        }
    }
}

}  // namespace gpuhist::jpeg
