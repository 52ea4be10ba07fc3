// Planes: the separated channels of one block of an f32 image, and the findings in it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/float_keys.hpp"
#include "cpu/pixel_source.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::cpu {

/// Measured channels of an f32 image, as those of its Analysis; gray is the first, alone.
enum MeasuredChannel { red_channel, green_channel, blue_channel, luma_channel, alpha_channel, plane_count };

/// Measured channel of color c < 3, by position in the pixel.
inline int channel_of_color(ChannelOrder order, int c) {
    const Positions at(order);
    return c == at.red ? red_channel : c == at.green ? green_channel : blue_channel;
}

/// Block of an f32 image, one plane per measured channel.
struct Planes {
    alignas(64) float values[plane_count][block_pixels];
};

/// Fills the planes from interleaved samples, luma included; a 1-channel block fills the first alone.
void split(const float* samples, int pixels, int channels, ChannelOrder order, Planes& planes);

/// Walk over the unmasked ones of the pixels [begin, end): calls block(planes, pixels).
template <class Validity, class Block>
void for_planes(const PixelSource<Validity>& source, std::int64_t begin, std::int64_t end, const Block& block) {
    Planes planes;
    for_blocks<float>(source, begin, end, [&](const float* samples, int pixels) {
        split(samples, pixels, source.image.channels, source.image.order, planes);
        block(planes, pixels);
    });
}

/// Keys of the finite floats' ends, and of the infinite ones.
inline constexpr std::uint32_t lowest_finite_key = 0x00800000u, highest_finite_key = 0xFF7FFFFFu;
inline constexpr std::uint32_t minus_infinity_key = 0x007FFFFFu, plus_infinity_key = 0xFF800000u;

/// Extremes of a channel, as keys, and how many samples have none.
struct Extremes {
    std::uint32_t minimum = ~0u, maximum = 0;  ///< of the finite samples
    std::uint64_t nan = 0, minus_infinity = 0, plus_infinity = 0;

    bool any() const { return minimum <= maximum; }
    float lowest() const { return any() ? core::key_float(minimum) : 0; }
    float highest() const { return any() ? core::key_float(maximum) : 0; }
    bool non_finite() const { return nan || minus_infinity || plus_infinity; }
    void operator+=(const Extremes& other) {
        minimum = std::min(minimum, other.minimum);
        maximum = std::max(maximum, other.maximum);
        nan += other.nan;
        minus_infinity += other.minus_infinity;
        plus_infinity += other.plus_infinity;
    }
};

/// Extremes of a plane.
Extremes extremes_of(const float* values, int pixels);

/// High digits of a plane's keys.
void find_high_digits(const float* values, int pixels, std::uint16_t* high);

/// Finite samples of a plane: the plane itself where all are.
struct Finite {
    const float* values;
    int samples;
};
/// `known_finite`: all are. Else they may be copied to `storage`, which has room for `pixels`.
Finite finite_of(const float* plane, int pixels, bool known_finite, float* storage);

}  // namespace gpuhist::cpu
