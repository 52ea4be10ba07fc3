// Exact sums of floats and of their products, in words of two's complement. Host only.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/half.hpp"
#include "core/integers.hpp"

namespace gpuhist::core {

/// Finite float as an integer: its value is ±mantissa · 2^(shift − unit), where `unit` is that of its type.
struct Binary {
    std::uint64_t mantissa;
    int shift;
    bool negative;
};

/// Unit of the floats of a type: its smallest positive number is 2^-unit.
template <class Sample>
inline constexpr int binary_unit = std::is_same_v<Sample, double>  ? 1074
                                   : std::is_same_v<Sample, float> ? 149
                                                                   : 24;

/// Parts of a finite float.
template <class Sample>
Binary binary_of(Sample sample) {
    if constexpr (sizeof(Sample) == 8) {
        const auto bits = std::bit_cast<std::uint64_t>(sample);
        const auto exponent = static_cast<int>(bits >> 52 & 0x7FF);
        const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
        return exponent == 0 ? Binary{fraction, 0, bits >> 63 != 0}
                             : Binary{fraction | std::uint64_t{1} << 52, exponent - 1, bits >> 63 != 0};
    } else {
        static_assert(std::is_same_v<Sample, float>);
        const auto bits = std::bit_cast<std::uint32_t>(sample);
        const auto exponent = static_cast<int>(bits >> 23 & 0xFF);
        const std::uint32_t fraction = bits & ((1u << 23) - 1);
        return exponent == 0 ? Binary{fraction, 0, bits >> 31 != 0}
                             : Binary{fraction | 1u << 23, exponent - 1, bits >> 31 != 0};
    }
}

/// sum ± mantissa · 2^shift, for a sum of `words` words in two's complement, the least significant first. The sum must
/// have room for the result and two words more than the shift skips.
inline void add_shifted(std::uint64_t* sum, int words, u128 mantissa, int shift, bool negative) {
    if (mantissa == 0) return;
    const int part = shift % 64;
    const u128 low = mantissa << part;
    const std::uint64_t terms[3] = {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(low >> 64),
                                    part == 0 ? 0 : static_cast<std::uint64_t>(mantissa >> (128 - part))};
    std::uint64_t carry = 0;
    for (int i = shift / 64, term = 0; i < words && (term < 3 || carry != 0); ++i, ++term) {
        const std::uint64_t more = term < 3 ? terms[term] : 0;
        if (negative) {
            const u128 difference = static_cast<u128>(sum[i]) - more - carry;
            sum[i] = static_cast<std::uint64_t>(difference);
            carry = static_cast<std::uint64_t>(difference >> 64) & 1;
        } else {
            const u128 total = static_cast<u128>(sum[i]) + more + carry;
            sum[i] = static_cast<std::uint64_t>(total);
            carry = static_cast<std::uint64_t>(total >> 64);
        }
    }
}
inline void add_shifted(std::uint64_t* sum, int words, i128 value, int shift) {
    const bool negative = value < 0;
    add_shifted(sum, words, negative ? -static_cast<u128>(value) : static_cast<u128>(value), shift, negative);
}

/// sum += more, for sums of as many words.
inline void add_words(std::uint64_t* sum, const std::uint64_t* more, int words) {
    std::uint64_t carry = 0;
    for (int i = 0; i < words; ++i) {
        const u128 total = static_cast<u128>(sum[i]) + more[i] + carry;
        sum[i] = static_cast<std::uint64_t>(total);
        carry = static_cast<std::uint64_t>(total >> 64);
    }
}

}  // namespace gpuhist::core
