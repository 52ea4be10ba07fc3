// Summaries: what is read from them beside their rows.
#pragma once

#include <cstdint>

#include "gpuhist/dataset.hpp"

namespace gpuhist::core {

/// Samples that are neither NaN nor infinite.
inline std::uint64_t finite(const ChannelSummary& channel) {
    return channel.samples - channel.nan - channel.infinite;
}

/// All samples of the images.
inline std::uint64_t pixels(const ChannelSummary& channel) {
    return channel.samples + channel.masked + channel.nodata;
}

/// Adds the other's samples, by their kinds, and its extremes, but none of its counts.
void add_extremes(ChannelSummary& sum, const ChannelSummary& more);

/// Adds all of the other, counts and values too.
void add(ChannelSummary& sum, const ChannelSummary& more);

/// Channels that `pooled` takes, of those there are, as one population. An image is counted once.
ChannelSummary sum_of(const DepthSummary& summary, bool (*pooled)(Channel));

}  // namespace gpuhist::core
