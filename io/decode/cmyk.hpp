// Inks as colors.
#pragma once

#include <cstdint>
#include <limits>

namespace gpuhist::io {

/// Converts pixels of cyan, magenta, yellow and black, 8 or 16 bits each, to B, G, R by the formula of OpenCV's
/// decoders of 8 bits, light − (ink · light >> bits) where light is 2^bits − 1 − black. `inverted`: the highest value
/// stands for no ink, as in JPEG files.
template <class Sample>
void convert_cmyk(const Sample* from, Sample* to, std::uint64_t pixels, bool inverted) {
    static_assert(sizeof(Sample) <= 2);
    constexpr std::uint32_t highest = std::numeric_limits<Sample>::max();
    const std::uint32_t flip = inverted ? highest : 0;
    for (std::uint64_t i = 0; i < pixels; ++i, from += 4, to += 3) {
        const std::uint32_t light = highest - (from[3] ^ flip);
        for (int ink = 0; ink < 3; ++ink)
            to[2 - ink] = static_cast<Sample>(light - ((from[ink] ^ flip) * light >> 8 * sizeof(Sample)));
    }
}

}  // namespace gpuhist::io
