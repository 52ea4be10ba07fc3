// What is read from pools beside their rows.
#pragma once

#include <cstdint>

#include "gpuhist/pool.hpp"

namespace gpuhist::core {

/// Samples that are neither NaN nor infinite.
inline std::uint64_t finite(const PooledChannel& channel) {
    return channel.samples - channel.nan - channel.infinite;
}

/// Adds the other's samples, by their kinds, and its extremes, but none of its counts.
void add_extremes(PooledChannel& sum, const PooledChannel& more);

/// Red, green and blue, which are there, as one population.
PooledChannel pool_colours(const PooledDepth& pool);

}  // namespace gpuhist::core
