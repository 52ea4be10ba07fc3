// Exact integers and the one rounding that turns them into doubles.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/portable.hpp"
#include "gpuhist/analysis.hpp"

namespace gpuhist::core {

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 i128;

GPUHIST_HD inline Int128 to_public(i128 v) {
    return {static_cast<std::uint64_t>(v), static_cast<std::int64_t>(v >> 64)};
}
GPUHIST_HD inline i128 from_public(Int128 v) {
    return static_cast<i128>(static_cast<u128>(static_cast<std::uint64_t>(v.high)) << 64 | v.low);
}

/// Number of zeros above the highest set bit; v > 0.
GPUHIST_HD inline int leading_zeros(std::uint64_t v) {
#ifdef __CUDA_ARCH__
    return __clzll(static_cast<long long>(v));
#else
    return std::countl_zero(v);
#endif
}

/// 2^exponent, for exponents of normal numbers. To multiply by it is ldexp, except for results that become denormal.
GPUHIST_HD inline double power_of_two(int exponent) {
    const std::uint64_t bits = static_cast<std::uint64_t>(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/// v rounded to the nearest double, ties to even.
GPUHIST_HD inline double to_double(u128 v) {
    const auto high = static_cast<std::uint64_t>(v >> 64);
    if (high == 0) return static_cast<double>(static_cast<std::uint64_t>(v));
    // Keep 64 bits: more than 53 + guard, so of the dropped bits it only matters whether any was set.
    const int shift = 64 - leading_zeros(high);
    const bool sticky = (v & ((static_cast<u128>(1) << shift) - 1)) != 0;
    return static_cast<double>(static_cast<std::uint64_t>(v >> shift) | (sticky ? 1u : 0u)) * power_of_two(shift);
}
GPUHIST_HD inline double to_double(i128 v) {
    const double magnitude = to_double(static_cast<u128>(v < 0 ? -v : v));
    return v < 0 ? -magnitude : magnitude;
}

/// numerator / denominator rounded once; denominator > 0 and below 2^63.
GPUHIST_HD_CALLED inline double ratio(u128 numerator, std::uint64_t denominator) {
    if (numerator == 0) return 0;
    constexpr std::uint64_t exact = std::uint64_t{1} << 53;  // both are exact doubles: dividing rounds once
    if (numerator <= exact && denominator <= exact)
        return static_cast<double>(static_cast<std::uint64_t>(numerator)) / static_cast<double>(denominator);
    // With its highest bit in front, the numerator gives a quotient with more than 64 bits. The remainder decides ties.
    const auto high = static_cast<std::uint64_t>(numerator >> 64);
    const int shift = high ? leading_zeros(high) : 64 + leading_zeros(static_cast<std::uint64_t>(numerator));
    numerator <<= shift;
    u128 quotient = 0;
    std::uint64_t remainder = 0;
    if (denominator >> 32 == 0) {  // digits of 32 bits, because a GPU is slow to divide integers
        const double inverse = 1 / static_cast<double>(denominator);
        for (int at = 96; at >= 0; at -= 32) {
            const std::uint64_t part = remainder << 32 | static_cast<std::uint32_t>(numerator >> at);
            auto digit = static_cast<std::uint64_t>(static_cast<double>(part) * inverse);  // or one beside it
            auto left = static_cast<std::int64_t>(part - digit * denominator);
            if (left < 0) {
                --digit;
                left += static_cast<std::int64_t>(denominator);
            } else if (left >= static_cast<std::int64_t>(denominator)) {
                ++digit;
                left -= static_cast<std::int64_t>(denominator);
            }
            quotient = quotient << 32 | digit;
            remainder = static_cast<std::uint64_t>(left);
        }
    } else {
        quotient = numerator / denominator;
        remainder = static_cast<std::uint64_t>(numerator % denominator);
    }
    return to_double(quotient | (remainder ? 1u : 0u)) * power_of_two(-shift);
}
GPUHIST_HD inline double ratio(i128 numerator, std::uint64_t denominator) {
    // One call: lanes of a warp with different signs would make two calls, one after the other.
    const bool negative = numerator < 0;
    const double magnitude = ratio(static_cast<u128>(negative ? -numerator : numerator), denominator);
    return negative ? -magnitude : magnitude;
}

/// Population mean and standard deviation.
struct MeanStd {
    double mean, std;
};

/// Moments of n > 0 integers, each rounded once.
struct ExactMoments {
    std::uint64_t n;
    double mean, squares;  ///< squares: n Σx² − (Σx)², n² times the variance

    GPUHIST_HD double std() const { return sqrt(squares) / static_cast<double>(n); }
    /// With n − 1 in place of n; n > 1.
    GPUHIST_HD double std_sample() const { return sqrt(squares / static_cast<double>(n) / static_cast<double>(n - 1)); }
    GPUHIST_HD MeanStd mean_std() const { return {mean, std()}; }
};
/// Moments from Σx and Σx², in integers that can hold n Σx²: 128 bits are enough for n < 2^47 samples of 16 bits.
template <class Integer, class Sum>
GPUHIST_HD ExactMoments exact_moments(std::uint64_t n, Sum sum, u128 sum_squares) {
    return {n, ratio(sum, n), to_double(Integer(n) * Integer(sum_squares) - Integer(sum) * Integer(sum))};
}
GPUHIST_HD inline MeanStd mean_std(std::uint64_t n, u128 sum, u128 sum_squares) {
    return exact_moments<u128>(n, sum, sum_squares).mean_std();
}

/// Nearest rank, one-based: ceil(percent/100 · n), at least 1. Percents are resolved to 1e-6, so that 99.9 means 999 of
/// 1000.
GPUHIST_HD inline std::uint64_t nearest_rank(double percent, std::uint64_t n) {
    constexpr std::uint64_t all = 100'000'000;
    const auto micro = static_cast<std::uint64_t>(percent * 1e6 + 0.5);
    const std::uint64_t rank = n / all * micro + (n % all * micro + all - 1) / all;  // without a product of 128 bits
    return rank == 0 ? 1 : rank;
}

}  // namespace gpuhist::core
