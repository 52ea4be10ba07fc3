#include "cpu/planes.hpp"

#include <bit>
#include <type_traits>
#include <utility>

#include "core/luma.hpp"

namespace gpuhist::cpu {
namespace {

constexpr std::uint32_t exponent_bits = 0x7F800000u;  ///< all set where a float is not finite

GPUHIST_SIMD void split_loop(const float* samples, int pixels, int channels, ChannelOrder order, Planes& planes) {
    auto& to = planes.values;
    if (channels == 1) {
        std::copy_n(samples, pixels, to[0]);
        return;
    }
    const Positions at(order);
    auto colors = [&](auto stride) {
        for (int i = 0; i < pixels; ++i) {
            const float red = samples[i * stride + at.red], green = samples[i * stride + at.green],
                        blue = samples[i * stride + at.blue];
            to[red_channel][i] = red;
            to[green_channel][i] = green;
            to[blue_channel][i] = blue;
            to[luma_channel][i] = core::luma(red, green, blue);
        }
    };
    if (channels == 3) return colors(std::integral_constant<int, 3>{});
    colors(std::integral_constant<int, 4>{});
    for (int i = 0; i < pixels; ++i) to[alpha_channel][i] = samples[i * 4 + 3];
}

/// Lowest and highest key.
GPUHIST_SIMD std::pair<std::uint32_t, std::uint32_t> extremes_loop(const float* values, int pixels) {
    std::uint32_t minimum = ~0u, maximum = 0;
    for (int i = 0; i < pixels; ++i) {
        const std::uint32_t key = core::float_key(values[i]);
        minimum = key < minimum ? key : minimum;
        maximum = key > maximum ? key : maximum;
    }
    return {minimum, maximum};
}

bool all_finite(const std::pair<std::uint32_t, std::uint32_t>& extremes) {
    return extremes.first >= lowest_finite_key && extremes.second <= highest_finite_key;
}

/// Extremes where some samples are not finite.
GPUHIST_SIMD Extremes finite_extremes_loop(const float* values, int pixels) {
    std::uint32_t minimum = ~0u, maximum = 0, finite = 0, minus_infinity = 0, plus_infinity = 0;
    for (int i = 0; i < pixels; ++i) {
        const std::uint32_t key = core::float_key(values[i]);
        const std::uint32_t is_finite = key - lowest_finite_key <= highest_finite_key - lowest_finite_key;
        const std::uint32_t none = is_finite - 1, low = key | none, high = key & ~none;  // no branch
        minimum = low < minimum ? low : minimum;
        maximum = high > maximum ? high : maximum;
        finite += is_finite;
        minus_infinity += key == minus_infinity_key;
        plus_infinity += key == plus_infinity_key;
    }
    const auto rest = static_cast<std::uint32_t>(pixels) - finite - minus_infinity - plus_infinity;
    return {minimum, maximum, rest, minus_infinity, plus_infinity};
}

GPUHIST_SIMD void high_loop(const float* values, int pixels, std::uint16_t* high) {
    for (int i = 0; i < pixels; ++i) high[i] = core::high_digit(core::float_key(values[i]));
}

}  // namespace

void split(const float* samples, int pixels, int channels, ChannelOrder order, Planes& planes) {
    split_loop(samples, pixels, channels, order, planes);
}

Extremes extremes_of(const float* values, int pixels) {
    const auto extremes = extremes_loop(values, pixels);
    if (all_finite(extremes)) return {extremes.first, extremes.second};
    return finite_extremes_loop(values, pixels);
}

void find_high_digits(const float* values, int pixels, std::uint16_t* high) {
    high_loop(values, pixels, high);
}

Finite finite_of(const float* plane, int pixels, bool known_finite, float* storage) {
    if (known_finite || all_finite(extremes_loop(plane, pixels))) return {plane, pixels};
    int samples = 0;
    for (int i = 0; i < pixels; ++i) {
        storage[samples] = plane[i];
        const auto bits = std::bit_cast<std::uint32_t>(plane[i]);
        samples += (bits & exponent_bits) != exponent_bits;
    }
    return {storage, samples};
}

}  // namespace gpuhist::cpu
