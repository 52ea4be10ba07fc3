// Keys of floats: integers in the order of the values, and their digits.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/portable.hpp"

namespace gpuhist::core {

/// Key of a float: an unsigned integer. Keys have the order of the finite floats; −0 is treated as +0.
GPUHIST_HD inline std::uint32_t float_key(float value) {
    value += 0.0f;
    std::uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
/// Float of a key.
GPUHIST_HD inline float key_float(std::uint32_t key) {
    const std::uint32_t bits = key & 0x80000000u ? key & 0x7FFFFFFFu : ~key;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/// Digits of a key: two with 16 bits each. Values with the same high digit are neighbors.
inline constexpr std::uint32_t digit_values = 65536;
GPUHIST_HD constexpr std::uint16_t high_digit(std::uint32_t key) {
    return static_cast<std::uint16_t>(key >> 16);
}
GPUHIST_HD constexpr std::uint16_t low_digit(std::uint32_t key) {
    return static_cast<std::uint16_t>(key);
}
GPUHIST_HD constexpr std::uint32_t key_of_digits(std::uint32_t high, std::uint32_t low) {
    return high << 16 | low;
}

}  // namespace gpuhist::core
