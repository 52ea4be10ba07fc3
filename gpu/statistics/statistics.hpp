// Numbers from counts, for one image and for many.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/integers.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::core {

/// A row of everything that follows from one count per value; below 2^62 samples.
Statistics from_counts(Channel channel, const std::vector<std::uint64_t>& counts);

/// The reported percentiles of n > 0 samples, given the value at each zero-based rank; ranks mostly ascend.
void set_percentiles(Statistics& row, std::uint64_t n, const std::function<double(std::uint64_t rank)>& value_at);

/// `mean_std` with the same bits, for up to 2^62 samples of 16 bits. Host only.
MeanStd pooled_mean_std(std::uint64_t n, u128 sum, u128 sum_squares);

}  // namespace gpuhist::core
