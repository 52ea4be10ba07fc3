// Exact integers and the one rounding that turns them into doubles.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

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

/// v rounded to the nearest double, ties to even.
GPUHIST_HD inline double to_double(u128 v) {
    const auto high = static_cast<std::uint64_t>(v >> 64);
    if (high == 0) return static_cast<double>(static_cast<std::uint64_t>(v));
        // Keep 64 bits: more than 53 + guard, so the bits dropped matter only as "some were set".
#ifdef __CUDA_ARCH__
    const int shift = 64 - __clzll(static_cast<long long>(high));
#else
    const int shift = 64 - std::countl_zero(high);
#endif
    const bool sticky = (v & ((static_cast<u128>(1) << shift) - 1)) != 0;
    return ldexp(static_cast<double>(static_cast<std::uint64_t>(v >> shift) | (sticky ? 1u : 0u)), shift);
}
GPUHIST_HD inline double to_double(i128 v) {
    return v < 0 ? -to_double(static_cast<u128>(-v)) : to_double(static_cast<u128>(v));
}

/// numerator / denominator rounded once; denominator > 0 and below 2^63.
GPUHIST_HD inline double ratio(u128 numerator, std::uint64_t denominator) {
    if (numerator == 0) return 0;
    constexpr std::uint64_t exact = std::uint64_t{1} << 53;  // both are doubles: dividing rounds once
    if (numerator <= exact && denominator <= exact)
        return static_cast<double>(static_cast<std::uint64_t>(numerator)) / static_cast<double>(denominator);
    u128 quotient = numerator / denominator;
    std::uint64_t remainder = static_cast<std::uint64_t>(numerator % denominator);
    int exponent = 0;
    while (quotient >> 63 == 0) {  // long division until 64 bits are there; the remainder then only decides ties
        quotient <<= 1;
        remainder <<= 1;
        if (remainder >= denominator) {
            remainder -= denominator;
            quotient |= 1;
        }
        --exponent;
    }
    return ldexp(to_double(quotient << 1 | (remainder ? 1u : 0u)), exponent - 1);
}
GPUHIST_HD inline double ratio(i128 numerator, std::uint64_t denominator) {
    return numerator < 0 ? -ratio(static_cast<u128>(-numerator), denominator)
                         : ratio(static_cast<u128>(numerator), denominator);
}

/// Population mean and standard deviation from n > 0, Σx and Σx². Exact in 128 bits for n < 2^47 samples of 16 bits.
struct MeanStd {
    double mean, std;
};
GPUHIST_HD inline MeanStd mean_std(std::uint64_t n, u128 sum, u128 sum_squares) {
    return {ratio(sum, n), sqrt(to_double(static_cast<u128>(n) * sum_squares - sum * sum)) / static_cast<double>(n)};
}

/// ceil(percent/100 · n), at least 1: the nearest rank, one-based. Percents are taken to 1e-6, so that 99.9 means 999
/// of 1000.
GPUHIST_HD inline std::uint64_t nearest_rank(double percent, std::uint64_t n) {
    const std::uint64_t micro = static_cast<std::uint64_t>(percent * 1e6 + 0.5);
    const u128 rank = (static_cast<u128>(n) * micro + 99'999'999) / 100'000'000;
    return rank == 0 ? 1 : static_cast<std::uint64_t>(rank);
}

}  // namespace gpuhist::core
