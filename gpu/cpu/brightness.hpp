// Percentiles of the brightness of pixels with colors.
#pragma once

#include <memory>

#include "cpu/measures.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/measures.hpp"

namespace gpuhist::cpu {

/// Accumulator of brightness: see cpu/measures.hpp. It has two passes over bytes, three over integers of 16 bits and
/// four over others. Gray has none, because its percentiles follow from its counts.
std::unique_ptr<StripAnalysis> brightness_strips(const MeasuredImage& image);

}  // namespace gpuhist::cpu
