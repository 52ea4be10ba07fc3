// background: the surface through the medians of tiles. Host only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace gpuhist::core {

/// Tiles along one side of an image, as many as fit in pixels, and where each pixel lies between their centers.
struct Knots {
    std::int64_t tiles;
    std::vector<std::int64_t> edges;  ///< first pixel of each tile, and the end
    std::vector<std::int64_t> first;  ///< tile whose center is the last one before a pixel's
    std::vector<double> to_second;    ///< weight of the next tile

    Knots(std::int64_t side, double asked) : tiles(std::min(side, static_cast<std::int64_t>(asked))) {
        for (std::int64_t i = 0; i <= tiles; ++i) edges.push_back(i * side / tiles);
        const auto twice_center = [&](std::int64_t tile) {
            return edges[static_cast<std::size_t>(tile)] + edges[static_cast<std::size_t>(tile + 1)];
        };
        std::int64_t tile = 0;
        for (std::int64_t at = 0; at < side; ++at) {
            const std::int64_t twice = 2 * at + 1;
            while (tile + 2 < tiles && twice_center(tile + 1) <= twice) ++tile;
            const std::int64_t before = twice_center(tile);
            first.push_back(tile);
            if (tile + 1 == tiles || twice <= before) {
                to_second.push_back(0);
                continue;
            }
            const std::int64_t after = twice_center(tile + 1);
            to_second.push_back(
                std::min(1.0, static_cast<double>(twice - before) / static_cast<double>(after - before)));
        }
    }
};

/// Median of values as numpy.median, at least one. The values are rearranged.
inline double median_of(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    const double below = *std::max_element(values.begin(), middle);
    return below / 2 + *middle / 2;
}

/// Gives tiles without a valid sample, whose median is NaN, the median of the other medians. Without any, none is left.
inline void complete_medians(std::vector<double>& medians) {
    std::vector<double> known;
    std::copy_if(medians.begin(), medians.end(), std::back_inserter(known),
                 [](double median) { return median == median; });
    if (known.empty()) return medians.clear();
    const double others = median_of(known);
    for (double& median : medians)
        if (median != median) median = others;
}

}  // namespace gpuhist::core
