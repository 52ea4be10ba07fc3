// Details that lie behind an f32 ImageResult, for read_result() alone.
#pragma once

#include <cstdint>

#include "gpuhist/stream.hpp"
#include "statistics/float_analysis.hpp"

namespace gpuhist::core {

/// Order statistics of one row, at ascending ranks.
struct FloatRanks {
    std::int32_t count;  ///< 0 in brief analyses
    std::uint64_t rank[max_ranks];
    float value[max_ranks];
};

/// Rows as in ImageResult, red first; of the ranks the pooled row too.
struct FloatDetails {
    FloatMoments moments[5];
    FloatRanks ranks[float_rows];
};

}  // namespace gpuhist::core
