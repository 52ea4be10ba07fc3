// Results in memory that the GPU filled, read into an Analysis.
#pragma once

#include "gpuhist/stream.hpp"

namespace gpuhist::core {

/// read_result() into an Analysis whose storage is reused; `ready` is not looked at.
void read(const ImageResult& result, Analysis& analysis);

}  // namespace gpuhist::core
