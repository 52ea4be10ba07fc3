// Measures of the colors of pixels.
#pragma once

#include <memory>

#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/measures.hpp"

namespace gpuhist::cpu {

/// Measures that are sums over the colors of pixels.
Measures measures_of_colors();

/// Their accumulator: see cpu/measures.hpp.
std::unique_ptr<StripAnalysis> color_strips(Workers& workers, const Measures& measures, const ImageView& image,
                                            Analysis& result);

}  // namespace gpuhist::cpu
