// Thresholds between dark and bright samples, from their counts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpuhist/normalize.hpp"

namespace gpuhist::core {

/// Threshold of samples as a code, from their counts by code: samples over it are bright. Absent unless at least two
/// codes occur. Sources: cv::THRESH_OTSU, cv::THRESH_TRIANGLE, skimage.filters.threshold_li.
std::optional<double> threshold_by(ThresholdRule rule, const std::vector<std::uint64_t>& counts);

}  // namespace gpuhist::core
