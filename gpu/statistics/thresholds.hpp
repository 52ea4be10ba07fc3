// Thresholds between dark and bright samples, from their counts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gpuhist::core {

/// Thresholds as codes: samples over them are bright.
struct Thresholds {
    double otsu, triangle, li;
};

/// Thresholds of samples, from their counts by code. Absent unless at least two codes occur. Sources: cv::THRESH_OTSU,
/// cv::THRESH_TRIANGLE, skimage.filters.threshold_li.
std::optional<Thresholds> thresholds_of(const std::vector<std::uint64_t>& counts);

}  // namespace gpuhist::core
