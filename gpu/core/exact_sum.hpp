// Sums of doubles without rounding. Host only.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "core/wide.hpp"

namespace gpuhist::core {

/// Sum of up to 2^62 finite doubles of any size, in units of 2^-1074. It is exact, so it does not depend on the order.
class ExactSum {
  public:
    /// Adds a value `count` times.
    void add(double value, std::uint64_t count) {
        const auto bits = std::bit_cast<std::uint64_t>(value);
        const std::uint64_t exponent = bits >> 52 & 0x7FF, fraction = bits & ((std::uint64_t{1} << 52) - 1);
        const u128 product = static_cast<u128>(exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52) * count;
        const std::uint64_t shift = exponent == 0 ? 0 : exponent - 1;
        const unsigned part = shift % 64;
        const u128 low = product << part;
        std::uint64_t* to = (bits >> 63 ? below_ : above_).data() + shift / 64;
        std::uint64_t carry = add_word(*to, static_cast<std::uint64_t>(low), 0);
        carry = add_word(*++to, static_cast<std::uint64_t>(low >> 64), carry);
        carry = add_word(*++to, part == 0 ? 0 : static_cast<std::uint64_t>(product >> (128 - part)), carry);
        while (carry != 0) carry = add_word(*++to, 0, carry);
    }
    /// Adds the values of another sum.
    ExactSum& operator+=(const ExactSum& other) {
        std::uint64_t above = 0, below = 0;  // carries
        for (std::size_t i = 0; i < above_.size(); ++i) {
            above = add_word(above_[i], other.above_[i], above);
            below = add_word(below_[i], other.below_[i], below);
        }
        return *this;
    }
    /// Mean of n > 0 values, rounded once.
    double mean(std::uint64_t n) const { return ratio(Wide<words>(above_) - Wide<words>(below_), n, unit_exponent); }

    /// The sum, rounded once; infinite if a double does not hold it.
    double rounded() const { return to_double(Wide<words>(above_) - Wide<words>(below_), unit_exponent); }

    static constexpr int words = 35;  ///< 2^(1024 + 1074 + 62), a sign, and the words that `add` writes
    static constexpr int unit_exponent = -1074;
    /// Word i of the sum, with 64 bits and a sign, the least significant word first. The words of a sum of sums are the
    /// sums of the words.
    Int128 word(int i) const {
        const auto at = static_cast<std::size_t>(i);
        return to_public(static_cast<i128>(above_[at]) - static_cast<i128>(below_[at]));
    }

  private:
    static std::uint64_t add_word(std::uint64_t& to, std::uint64_t word, std::uint64_t carry) {
        const u128 sum = static_cast<u128>(to) + word + carry;
        to = static_cast<std::uint64_t>(sum);
        return static_cast<std::uint64_t>(sum >> 64);
    }

    std::array<std::uint64_t, words> above_{}, below_{};  ///< magnitudes of positive and of negative values
};

}  // namespace gpuhist::core
