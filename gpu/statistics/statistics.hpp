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

/// Makes a row one of samples that together have a weight, in units of their depth.
void set_weight(Statistics& row, Depth depth, std::uint64_t weight);

/// Row of all numbers that follow from one count per value of a depth, for less than 2^62 samples. Without `white`, as
/// for images with different ones, numbers that refer to it are absent. Throws the exceptions of a FrequencyStorage.
Statistics from_counts(Channel name, Depth depth, const CountedChannel& channel, std::optional<double> white,
                       const StatisticsRequest& request);

/// Sets the robust numbers of f32 samples from the values that occur.
void set_robust_from(Statistics& row, const FrequencyTable& values, bool weighted, double clip_sigma);

/// Throws InvalidArgument for numbers that cannot be asked for.
void validate(const StatisticsRequest& request);

/// Row of a channel of an image, which is not `all`.
Statistics row_of(const ChannelAnalysis& channel, const Analysis& image, const Percentiles& percentiles);

}  // namespace gpuhist::core
