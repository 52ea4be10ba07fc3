// Dark and bright pixels of f32, whose luma is not counted by value.
#pragma once

#include <memory>

#include "cpu/measures.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/measures.hpp"

namespace gpuhist::cpu {

/// Accumulator of exposure: see cpu/measures.hpp. It finds nothing in other types, whose counts are enough.
std::unique_ptr<StripAnalysis> exposure_strips(const MeasuredImage& image);

}  // namespace gpuhist::cpu
