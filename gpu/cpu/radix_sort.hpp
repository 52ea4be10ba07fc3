// Radix sort of keys, on one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace gpuhist::cpu {

/// Sorts n > 0 keys below 2^bits, of at most `Digits` digits of `DigitBits` bits. The result is in `keys` or in
/// `other`, which has the same size. Returns the one with the result.
template <int DigitBits, std::size_t Digits>
std::uint32_t* radix_sort(std::uint32_t* keys, std::uint32_t* other, std::size_t n, int bits) {
    constexpr std::uint32_t values = 1U << DigitBits;
    std::array<std::array<std::uint32_t, values>, Digits> counts{};
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t digit = 0; digit < Digits; ++digit)
            ++counts[digit][keys[i] >> digit * DigitBits & (values - 1)];
    for (int pass = 0; pass * DigitBits < bits; ++pass) {
        const int shift = pass * DigitBits;
        auto& places = counts[static_cast<std::size_t>(pass)];
        if (places[keys[0] >> shift & (values - 1)] == n) continue;  // all the same
        std::uint32_t place = 0;
        for (std::uint32_t& count : places) place += std::exchange(count, place);
        for (std::size_t i = 0; i < n; ++i) other[places[keys[i] >> shift & (values - 1)]++] = keys[i];
        std::swap(keys, other);
    }
    return keys;
}

}  // namespace gpuhist::cpu
