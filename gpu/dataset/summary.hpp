// Summaries: what is read from them beside their rows.
#pragma once

#include "gpuhist/dataset.hpp"

namespace gpuhist::core {

/// Adds all of the other, counts and values too.
void add(ChannelSummary& sum, const ChannelSummary& more);

/// Channels that `pooled` takes, of those there are, as one population. An image is counted once.
ChannelSummary sum_of(const DepthSummary& summary, bool (*pooled)(Channel));

}  // namespace gpuhist::core
