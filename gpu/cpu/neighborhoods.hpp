// Measures of neighborhoods: two rows are kept from one strip to the next.
#pragma once

#include <memory>

#include "cpu/measures.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/measures.hpp"

namespace gpuhist::cpu {

/// Measures that are sums over the neighborhoods of pixels.
Measures measures_of_neighborhoods();

/// Their accumulator: see cpu/measures.hpp.
std::unique_ptr<StripAnalysis> neighborhood_strips(const MeasuredImage& image);

}  // namespace gpuhist::cpu
