// Details that lie behind an f32 ImageResult, for read_result() alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuhist/stream.hpp"
#include "statistics/float_analysis.hpp"

namespace gpuhist::core {

/// Order statistics of one row, at ranks in no order, some of them more than once.
struct FloatRanks {
    std::int32_t count;  ///< 0 in brief analyses
    std::uint64_t rank[max_ranks];
    float value[max_ranks];
};

/// Order statistics at the ranks of one group, see RankRequest. Rows as in ImageResult, red first; and the pooled row.
struct FloatRankGroup {
    FloatRanks ranks[float_rows];
};

struct FloatDetails {
    FloatMoments moments[5];
    std::int32_t groups;
    FloatRankGroup group[1];  ///< as many as `groups` follow each other in memory
};

inline constexpr std::size_t float_details_bytes(int groups) {
    return sizeof(FloatDetails) + static_cast<std::size_t>(groups - 1) * sizeof(FloatRankGroup);
}

}  // namespace gpuhist::core
