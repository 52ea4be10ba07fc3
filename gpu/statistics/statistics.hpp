// Numbers from counts, for one image and for many.
//
// A statistic from counts is a class in its family's file:
//
//     explicit Entropy(const CountedSamples&);
//     void accumulate(std::int64_t value, std::uint64_t count);
//     void finish(Statistics& row) const;
//
// and a name in the list `FromCounts` of statistics.cpp. There is a sample at least. `accumulate`, which may be
// missing, is shown each value that occurs, ascending; all statistics accumulate in one walk over the counts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpuhist/statistics.hpp"

namespace gpuhist::core {

/// Row of everything that follows from one count per value of a depth; below 2^62 samples. Without `white`, which
/// images of several have together, what refers to it stays empty.
Statistics from_counts(Channel channel, Depth depth, const std::vector<std::uint64_t>& counts,
                       std::optional<double> white, const Percentiles& percentiles);

}  // namespace gpuhist::core
