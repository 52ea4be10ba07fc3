// What lies behind an f32 ImageResult for read_result() alone.
#pragma once

#include <cstddef>
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

/// Bytes of the details of an analysis whose ranks are of so many groups, see RankRequest.
inline constexpr std::size_t float_details_bytes(int groups) {
    return sizeof(FloatDetails) + static_cast<std::size_t>(groups - 1) * sizeof(FloatRanks[float_rows]);
}

/// Moments and order statistics into an analysis that has its channels.
void read_float_details(const ImageResult& result, const FloatDetails& details, Analysis& analysis);

}  // namespace gpuhist::core
