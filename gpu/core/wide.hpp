// Integers of a fixed number of words, for sums of powers of floats that must not be rounded. Host only.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/integers.hpp"

namespace gpuhist::core {

/// Integer in two's complement, the least significant word first. Arithmetic is modulo 2^(64 · words).
template <int words>
class Wide {
  public:
    using Words = std::array<std::uint64_t, words>;

    Wide() = default;
    explicit Wide(const Words& value) : words_(value) {}
    Wide(std::uint64_t value) { words_[0] = value; }
    Wide(i128 value) {
        words_.fill(value < 0 ? ~std::uint64_t{0} : 0);
        words_[0] = static_cast<std::uint64_t>(value);
        words_[1] = static_cast<std::uint64_t>(value >> 64);
    }
    Wide(u128 value) {
        words_[0] = static_cast<std::uint64_t>(value);
        words_[1] = static_cast<std::uint64_t>(value >> 64);
    }
    /// Widens a number.
    template <int fewer>
    explicit Wide(const Wide<fewer>& value) {
        static_assert(fewer < words);
        words_.fill(value.negative() ? ~std::uint64_t{0} : 0);
        std::copy(value.to_words().begin(), value.to_words().end(), words_.begin());
    }

    const Words& to_words() const { return words_; }
    bool negative() const { return words_.back() >> 63 != 0; }

    /// value|, as an unsigned number.
    Wide magnitude() const { return negative() ? -*this : *this; }
    /// Number of bits of |value|; 0 for 0.
    int bits() const {
        const Words digits = magnitude().words_;
        for (int i = words - 1; i >= 0; --i)
            if (digits[i] != 0) return 64 * i + static_cast<int>(std::bit_width(digits[i]));
        return 0;
    }

    Wide& operator+=(const Wide& other) {
        std::uint64_t carry = 0;
        for (int i = 0; i < words; ++i) {
            const u128 sum = static_cast<u128>(words_[i]) + other.words_[i] + carry;
            words_[i] = static_cast<std::uint64_t>(sum);
            carry = static_cast<std::uint64_t>(sum >> 64);
        }
        return *this;
    }
    Wide operator-() const {
        Wide negated;
        for (int i = 0; i < words; ++i) negated.words_[i] = ~words_[i];
        return negated += Wide(std::uint64_t{1});
    }
    friend Wide operator+(Wide a, const Wide& b) { return a += b; }
    friend Wide operator-(Wide a, const Wide& b) { return a += -b; }
    friend Wide operator*(const Wide& a, const Wide& b) {
        Wide product;
        for (int i = 0; i < words; ++i) {
            if (a.words_[i] == 0) continue;
            std::uint64_t carry = 0;
            for (int j = 0; i + j < words; ++j) {
                const u128 sum = static_cast<u128>(a.words_[i]) * b.words_[j] + product.words_[i + j] + carry;
                product.words_[i + j] = static_cast<std::uint64_t>(sum);
                carry = static_cast<std::uint64_t>(sum >> 64);
            }
        }
        return product;
    }
    /// 0 ≤ shift < 64 · words.
    friend Wide operator<<(const Wide& value, int shift) {
        Wide shifted;
        const int whole = shift / 64, part = shift % 64;
        for (int i = words - 1; i >= whole; --i) {
            shifted.words_[i] = value.words_[i - whole] << part;
            if (part != 0 && i > whole) shifted.words_[i] |= value.words_[i - whole - 1] >> (64 - part);
        }
        return shifted;
    }
    friend bool operator==(const Wide& a, const Wide& b) { return a.words_ == b.words_; }

    /// value / divisor, rounded toward zero, and whether there is a remainder.
    std::pair<Wide, bool> divided_by(std::uint64_t divisor) const {
        Wide quotient = magnitude();
        std::uint64_t remainder = 0;
        for (int i = words - 1; i >= 0; --i) {
            const u128 part = static_cast<u128>(remainder) << 64 | quotient.words_[i];
            quotient.words_[i] = static_cast<std::uint64_t>(part / divisor);
            remainder = static_cast<std::uint64_t>(part % divisor);
        }
        return {negative() ? -quotient : quotient, remainder != 0};
    }

  private:
    Words words_{};
};

/// value · 2^exponent rounded to the nearest double, ties to even, unless the result is subnormal. `more` says that
/// the magnitude is larger than that of the value by less than 1.
template <int words>
double to_double(const Wide<words>& value, int exponent = 0, bool more = false) {
    const typename Wide<words>::Words digits = value.magnitude().to_words();
    const int dropped = std::max(value.bits() - 64, 0), whole = dropped / 64, part = dropped % 64;
    // 64 bits are more than 53 + guard, so of the dropped bits it only matters whether any was set.
    std::uint64_t top = digits[whole] >> part;
    if (part != 0) top |= digits[whole + 1] << (64 - part);
    bool sticky = more || (part != 0 && digits[whole] << (64 - part) != 0);
    for (int i = 0; i < whole; ++i) sticky = sticky || digits[i] != 0;
    const double rounded = std::ldexp(static_cast<double>(top | (sticky ? 1u : 0u)), exponent + dropped);
    return value.negative() ? -rounded : rounded;
}

/// numerator · 2^exponent / denominator rounded once; denominator > 0.
template <int words>
double ratio(const Wide<words>& numerator, std::uint64_t denominator, int exponent = 0) {
    // 128 more bits give the quotient at least 64, so the remainder only decides ties.
    const auto [quotient, remainder] = (Wide<words + 2>(numerator) << 128).divided_by(denominator);
    return to_double(quotient, exponent - 128, remainder);
}

}  // namespace gpuhist::core
