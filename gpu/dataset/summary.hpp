// Summaries: numbers in addition to their rows.
#pragma once

#include "gpuhist/dataset.hpp"

namespace gpuhist::core {

/// Adds all of the other, of the same depth, counts and values too.
void add(Depth depth, ChannelSummary& sum, const ChannelSummary& more);

/// Counts of a channel that is counted by value, one per value, whatever stands for them.
std::vector<std::uint64_t> counts_of(const ChannelSummary& channel, Depth depth);

/// Channels that `pooled` takes, of those there are, as one population. An image is counted once.
ChannelSummary sum_of(const DepthSummary& summary, bool (*pooled)(Channel));

}  // namespace gpuhist::core
