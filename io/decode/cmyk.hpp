// Inks as colors.
#pragma once

#include <cstdint>

namespace gpuhist::io {

/// Converts pixels of cyan, magenta, yellow and black, 8 bits each, to B, G, R by the formula of OpenCV's decoders,
/// light − (ink · light >> 8) where light is 255 − black. `inverted`: 255 is no ink, as in JPEG files.
inline void convert_cmyk(const unsigned char* from, unsigned char* to, std::uint64_t pixels, bool inverted) {
    const int flip = inverted ? 255 : 0;
    for (std::uint64_t i = 0; i < pixels; ++i, from += 4, to += 3) {
        const int light = 255 - (from[3] ^ flip);
        for (int ink = 0; ink < 3; ++ink)
            to[2 - ink] = static_cast<unsigned char>(light - ((from[ink] ^ flip) * light >> 8));
    }
}

}  // namespace gpuhist::io
