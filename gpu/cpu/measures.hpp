// Measures of neighborhoods, strip after strip: two rows are kept from one strip to the next.
#pragma once

#include <memory>

#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/measures.hpp"

namespace gpuhist::cpu {

/// Begins to measure an image with colors or gray, of which `image` has the sides and the depth. Masked pixels and
/// non-finite samples are excluded. The result has `measured` alone, after the only pass.
std::unique_ptr<StripAnalysis> measure_strips(Workers& workers, const Measures& measures, const ImageView& image,
                                              Analysis& result);

}  // namespace gpuhist::cpu
