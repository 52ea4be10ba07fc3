// Centroids on the CPU: sums of valid samples, times their coordinates.
#pragma once

#include <cstdint>

#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist::cpu {

/// Coordinates of the pixels of a view: from those of its first pixel on, or of one row, a list.
struct Coordinates {
    std::int64_t x = 0, y = 0;
    const std::uint32_t *xs = nullptr, *ys = nullptr;  ///< null: no list
};

/// Finds ChannelAnalysis::centroid_sums of all channels of an analysis of this view by this request, whose channels
/// have no names yet.
void find_centroids(Workers& workers, const ImageView& image, const Coordinates& at, const AnalysisRequest& request,
                    Analysis& analysis);

}  // namespace gpuhist::cpu
