// Numbers from counts, for one image and for many.
#pragma once

#include <cstdint>
#include <vector>

#include "core/integers.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::core {

/// A row of everything that follows from one count per value; below 2^62 samples.
Statistics from_counts(Channel channel, const std::vector<std::uint64_t>& counts, const Percentiles& percentiles);

/// `mean_std` with the same bits, for up to 2^62 samples of 16 bits. Host only.
MeanStd pooled_mean_std(std::uint64_t n, u128 sum, u128 sum_squares);

}  // namespace gpuhist::core
