// Hashes of an image, strip after strip: less than a block of samples is kept from one strip to the next.
#pragma once

#include <memory>

#include "cpu/measures.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/measures.hpp"

namespace gpuhist::cpu {

/// Begins to hash an image, as in the list of cpu/measures.cpp. Masks are ignored. The findings are the hash of the
/// pixels and, unless all samples are bands, the two of luma.
std::unique_ptr<StripAnalysis> make_hashes(const MeasuredImage& image);

}  // namespace gpuhist::cpu
