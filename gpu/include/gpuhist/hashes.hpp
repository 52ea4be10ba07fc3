/// Hashes of images, by which equal and similar images are found: Measure::hashes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhist {

/// Hash of 128 bits.
struct Hash128 {
    std::uint64_t high = 0, low = 0;
    friend constexpr bool operator==(const Hash128& a, const Hash128& b) { return a.high == b.high && a.low == b.low; }
    friend constexpr bool operator!=(const Hash128& a, const Hash128& b) { return !(a == b); }
    friend constexpr bool operator<(const Hash128& a, const Hash128& b) {
        return a.high != b.high ? a.high < b.high : a.low < b.low;
    }
};

/// Text of a hash in files: 32 or 16 hexadecimal digits.
std::string hash_text(const Hash128& hash);
std::string hash_text(std::uint64_t hash);

/// Hash from such a text. Absent for any other text.
std::optional<Hash128> hash128_of(std::string_view text);
std::optional<std::uint64_t> hash64_of(std::string_view text);

}  // namespace gpuhist
