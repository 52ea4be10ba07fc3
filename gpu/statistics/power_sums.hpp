// Exact sums of powers of floats: how an image's moments enter them, and what follows from them.
#pragma once

#include <cstdint>

#include "gpuhist/dataset.hpp"

namespace gpuhist::core {

/// Sums of an image's channel with n finite samples. Throws InvalidArgument for a pivot or an exponent that no image
/// has, beyond which the sums would not be exact.
PowerSums power_sums(std::uint64_t n, const FloatMoments& moments);

/// sums += more
void add(PowerSums& sums, const PowerSums& more);

/// Verdict on sums: whether each is no larger than n floats allow, so that summaries cannot overflow.
bool plausible(const PowerSums& sums, std::uint64_t n);

/// Mean, std, std_sample and, where full, skewness and kurtosis of n > 0 samples. The differences that cancel are taken
/// in exact integers; only their results are rounded.
void set_moments(Statistics& row, std::uint64_t n, const PowerSums& sums, Detail detail);

}  // namespace gpuhist::core
