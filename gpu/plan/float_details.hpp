// Details that follow an f32 ImageResult in memory, for read_result() only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuhist/stream.hpp"
#include "statistics/float_analysis.hpp"

namespace gpuhist::core {

/// Order statistics of one channel. The ranks are in no order, and some occur more than once.
struct FloatRanks {
    std::int32_t count;  ///< 0 in brief analyses
    std::uint64_t rank[max_ranks];
    float value[max_ranks];
};

/// Order statistics at the ranks of one group: see RankRequest. The channels are as in ImageResult, red first, followed
/// by the pooled channel.
struct FloatRankGroup {
    FloatRanks ranks[float_channels];
};

struct FloatDetails {
    FloatMoments moments[5];
    std::int32_t groups;
    FloatRankGroup group[1];  ///< `groups` of them follow each other in memory
};

inline constexpr std::size_t float_details_bytes(int groups) {
    return sizeof(FloatDetails) + static_cast<std::size_t>(groups - 1) * sizeof(FloatRankGroup);
}

}  // namespace gpuhist::core
