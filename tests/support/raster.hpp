// Images of any depth, channels and pitch whose samples are read and written as numbers.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "gpuhist/image.hpp"
#include "support/oracle.hpp"
#include "support/picture.hpp"

namespace gpuhist::test {

inline double half_value(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, digits = bits & 1023;
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31) return digits ? std::nan("") : sign * std::numeric_limits<double>::infinity();
    return sign * (exponent == 0 ? std::ldexp(digits, -24) : std::ldexp(1024 + digits, exponent - 25));
}

/// Half nearest to a number, ties to even, by looking through all of them.
inline std::uint16_t half_of(double value) {
    if (std::isnan(value)) return 0x7E00;
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::fabs(value);
    if (magnitude >= 65520) return sign | 0x7C00;
    std::uint16_t low = 0, high = 0x7BFF;  // the largest half not above it
    while (low < high) {
        const auto middle = static_cast<std::uint16_t>((low + high + 1) / 2);
        if (half_value(middle) <= magnitude)
            low = middle;
        else
            high = static_cast<std::uint16_t>(middle - 1);
    }
    const double next = low == 0x7BFF ? 65536 : half_value(static_cast<std::uint16_t>(low + 1));
    const double below = magnitude - half_value(low), above = next - magnitude;
    return static_cast<std::uint16_t>(sign | (below > above || (below == above && low % 2) ? low + 1 : low));
}

inline double read_sample(const std::byte* at, Depth depth) {
    const auto load = [&](auto sample) {
        std::memcpy(&sample, at, sizeof sample);
        return sample;
    };
    switch (depth) {
        case Depth::u8:
            return load(std::uint8_t{});
        case Depth::s8:
            return load(std::int8_t{});
        case Depth::u16:
            return load(std::uint16_t{});
        case Depth::s16:
            return load(std::int16_t{});
        case Depth::u32:
            return load(std::uint32_t{});
        case Depth::s32:
            return load(std::int32_t{});
        case Depth::f16:
            return half_value(load(std::uint16_t{}));
        case Depth::f32:
            return load(float{});
        case Depth::f64:
            return load(double{});
    }
    return 0;
}

inline void write_sample(std::byte* at, Depth depth, double value) {
    const auto save = [&](auto sample) { std::memcpy(at, &sample, sizeof sample); };
    switch (depth) {
        case Depth::u8:
            return save(static_cast<std::uint8_t>(value));
        case Depth::s8:
            return save(static_cast<std::int8_t>(value));
        case Depth::u16:
            return save(static_cast<std::uint16_t>(value));
        case Depth::s16:
            return save(static_cast<std::int16_t>(value));
        case Depth::u32:
            return save(static_cast<std::uint32_t>(value));
        case Depth::s32:
            return save(static_cast<std::int32_t>(value));
        case Depth::f16:
            return save(half_of(value));
        case Depth::f32:
            return save(static_cast<float>(value));
        case Depth::f64:
            return save(value);
    }
}

/// Image of samples, some of them beside it.
struct Raster {
    std::int64_t width, height, row_samples;
    int channels;
    Depth depth;
    ChannelOrder order = ChannelOrder::rgb;
    Samples samples = Samples::color;
    std::vector<std::byte> memory;

    Raster(std::int64_t w, std::int64_t h, int c, Depth d, int padding = 0)
        : width(w), height(h), row_samples(w * c + padding), channels(c), depth(d) {
        memory.resize(static_cast<std::size_t>(row_samples * h) * sample_bytes(d), std::byte{0xA5});
    }
    std::byte* at(std::int64_t x, std::int64_t y, int c) {
        return memory.data() + static_cast<std::size_t>(y * row_samples + x * channels + c) * sample_bytes(depth);
    }
    double value(std::int64_t x, std::int64_t y, int c) const {
        return read_sample(const_cast<Raster*>(this)->at(x, y, c), depth);
    }
    void set(std::int64_t x, std::int64_t y, int c, double v) { write_sample(at(x, y, c), depth, v); }
    MutableImageView mutable_view() {
        return {memory.data(), width,        height,
                channels,      depth,        row_samples * static_cast<std::int64_t>(sample_bytes(depth)),
                order,         Memory::host, samples};
    }
    ImageView view() const { return const_cast<Raster*>(this)->mutable_view(); }
};

enum class Fill { bits, few, ends, constant, gradient };

/// Luma of a color by its definition.
inline double luma_by_definition(Depth depth, double r, double g, double b) {
    if (depth == Depth::f64) return (0.299 * r + 0.587 * g) + 0.114 * b;
    if (traits_of(depth).floating) {
        const float luma =
            (0.299f * static_cast<float>(r) + 0.587f * static_cast<float>(g)) + 0.114f * static_cast<float>(b);
        return depth == Depth::f16 ? half_value(half_of(luma)) : static_cast<double>(luma);
    }
    const double low = traits_of(depth).lowest;
    return low + std::floor((9798 * (r - low) + 19235 * (g - low) + 3735 * (b - low) + 16384) / 32768);
}

/// Raster of bits by chance, or of values that are met often.
inline Raster raster(Depth depth, int channels, Fill fill, std::int64_t width = 37, std::int64_t height = 19,
                     int padding = 5, std::uint64_t seed = 1) {
    Raster image(width, height, channels, depth, padding);
    const DepthTraits& traits = traits_of(depth);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x)
            for (int c = 0; c < channels; ++c) {
                const std::uint64_t random = scramble(seed += 7);
                switch (fill) {
                    case Fill::bits:
                        std::memcpy(image.at(x, y, c), &random, traits.bytes);
                        break;
                    case Fill::few:
                        image.set(x, y, c,
                                  static_cast<double>(random % 11) - (traits.lowest == 0 && !traits.floating ? 0 : 5));
                        break;
                    case Fill::ends:
                        image.set(x, y, c,
                                  traits.floating ? (random % 3 == 0   ? -0.0
                                                     : random % 3 == 1 ? 0.0
                                                                       : 1.0)
                                  : random % 2    ? traits.highest - static_cast<double>(random / 2 % 2)
                                                  : traits.lowest);
                        break;
                    case Fill::constant:
                        image.set(x, y, c, 3);
                        break;
                    case Fill::gradient:
                        image.set(x, y, c, static_cast<double>(x + 2 * y + c) / (traits.floating ? 64 : 1));
                        break;
                }
            }
    return image;
}

}  // namespace gpuhist::test
