// Numbers from counts, for one image and for many.
//
// A statistic from counts is a class in its family's file:
//
//     explicit Entropy(const Population&);
//     void accumulate(double value, std::uint64_t count);
//     void finish(Statistics& row) const;
//
// and a name in a list of statistics.cpp: of all samples, or of integers. There is a sample at least. `accumulate`,
// which may be missing, is shown each value that occurs, ascending; all statistics accumulate in one walk over the
// counts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpuhist/frequency_table.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::core {

/// Channel of one or many images, its samples counted by value: in `counts` or, of depths that are sorted, in `values`.
struct CountedChannel {
    const std::vector<std::uint64_t>& counts;
    const FrequencyTable& values;
    const SampleCounts& samples;
    bool weighted = false;  ///< as Analysis::weighted
};

/// Row in which nothing is known yet but the samples by class and the percentiles' names.
Statistics empty_row(Channel channel, const SampleCounts& samples, const Percentiles& percentiles);

/// Row of everything that follows from a count for each value of a depth; below 2^62 samples. Without `white`, which
/// images of several have together, what refers to it stays empty. Throws what a FrequencyStorage throws.
Statistics from_counts(Channel name, Depth depth, const CountedChannel& channel, std::optional<double> white,
                       const Percentiles& percentiles);

}  // namespace gpuhist::core
