// Hashes of an image, strip after strip: less than a block of samples is kept from one strip to the next.
#pragma once

#include <memory>

#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/measures.hpp"

namespace gpuhist::cpu {

/// Begins to hash an image, as in the list of cpu/measures.cpp. Masks are ignored. The findings are the hash of the
/// pixels and, unless all samples are bands, the two of luma.
std::unique_ptr<StripAnalysis> make_hashes(Workers& workers, const Measures& measures, const ImageView& image,
                                           Analysis& result);

}  // namespace gpuhist::cpu
