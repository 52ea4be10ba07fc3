// Exact sums of powers of floats: adding the moments of an image, and the numbers that follow.
#pragma once

#include <cstdint>

#include "gpuhist/dataset.hpp"

namespace gpuhist::core {

/// Sums of an image's channel with n finite samples. Throws InvalidArgument for a pivot or an exponent that no image
/// has, beyond which the sums would not be exact.
PowerSums power_sums(std::uint64_t n, const FloatMoments& moments);

/// The first of these sums alone, which is all that `rounded_sum` asks for; the others are zero. Throws as they do.
PowerSums first_power_sum(std::uint64_t n, const FloatMoments& moments);
/// Σx, rounded once.
double rounded_sum(const PowerSums& sums);

/// sums += more
void add(PowerSums& sums, const PowerSums& more);

/// Verdict on sums: whether each is no larger than n floats allow, so that summaries cannot overflow.
bool plausible(const PowerSums& sums, std::uint64_t n);

/// Mean, std, std_sample and, where full, skewness and kurtosis of n > 0 samples. The differences that cancel are taken
/// in exact integers; only their results are rounded.
void set_moments(Statistics& row, std::uint64_t n, const PowerSums& sums, Detail detail);

}  // namespace gpuhist::core
