// Floats that are narrower than those of C++. They convert exactly to float and double, and back with one rounding to
// the nearest, ties to even. Everything that depends on such a type is in this file.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/portable.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::core {

/// Binary digits of a float type after the point; 0 for integers.
template <class Sample>
inline constexpr int fraction_digits = std::is_floating_point_v<Sample> ? std::numeric_limits<Sample>::digits - 1 : 0;
template <>
inline constexpr int fraction_digits<Half> = 10;

/// Whether a sample type is an IEEE float.
template <class Sample>
inline constexpr bool is_real = fraction_digits<Sample> > 0;

/// Whether a sample type is an IEEE float with which C++ cannot compute.
template <class Sample>
inline constexpr bool is_narrow = is_real<Sample> && !std::is_floating_point_v<Sample>;

/// Float with the same value. Loops over it are vectorized.
GPUHIST_HD inline float to_float(Half half) {
    const std::uint32_t magnitude = half.bits & 0x7FFFu, sign = std::uint32_t{half.bits} << 16 & 0x80000000u;
    // Digits and exponent give a float that is too small by 2^112. The product, which is exact, mends that, and
    // subnormal numbers too. NaN and infinity keep the highest exponent.
    std::uint32_t bits = magnitude << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    memcpy(&bits, &value, sizeof bits);
    bits = magnitude >= 0x7C00u ? 0x7F800000u | magnitude << 13 : bits;
    bits |= sign;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/// Narrow float nearest to a float.
template <class Narrow>
GPUHIST_HD Narrow narrowed(float value);

/// Half: infinite from 65520 on.
template <>
GPUHIST_HD inline Half narrowed<Half>(float value) {
    std::uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
    // Normal numbers: the exponent has another bias, and the extra digits are rounded.
    const std::uint32_t normal = (magnitude - (112u << 23) + 0x0FFFu + (magnitude >> 13 & 1u)) >> 13;
    // Subnormal numbers: a sum whose last digit is theirs.
    float small;
    memcpy(&small, &magnitude, sizeof small);
    small += 0.5f;
    std::uint32_t subnormal;
    memcpy(&subnormal, &small, sizeof subnormal);
    subnormal -= 0x3F000000u;
    std::uint32_t half = magnitude < 0x38800000u ? subnormal : normal;
    half = magnitude >= 0x477FF000u ? 0x7C00u : half;
    half = magnitude > 0x7F800000u ? 0x7E00u | (magnitude >> 13 & 0x3FFu) : half;
    return {static_cast<std::uint16_t>(half | sign)};
}

/// Narrow float nearest to a double. To round only once, an inexact value first becomes a float with an odd last digit.
template <class Narrow>
GPUHIST_HD Narrow narrowed(double value) {
    const auto single = static_cast<float>(value);
    const double rounded = single;
    if (rounded == value || value != value) return narrowed<Narrow>(single);
    auto bits = std::bit_cast<std::uint32_t>(single);
    if (fabs(rounded) > fabs(value)) --bits;  // toward zero
    return narrowed<Narrow>(std::bit_cast<float>(bits | 1));
}

}  // namespace gpuhist::core
