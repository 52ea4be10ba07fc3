// Measures of the colors of pixels.
#pragma once

#include <memory>

#include "cpu/measures.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/measures.hpp"

namespace gpuhist::cpu {

/// Measures that are sums over the colors of pixels.
Measures measures_of_colors();

/// Their accumulator: see cpu/measures.hpp.
std::unique_ptr<StripAnalysis> color_strips(const MeasuredImage& image);

}  // namespace gpuhist::cpu
