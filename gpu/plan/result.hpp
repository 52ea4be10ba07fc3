// Results in memory that the GPU filled, read into an Analysis.
#pragma once

#include "gpuhist/stream.hpp"

namespace gpuhist::core {

/// Reads a result as read_result(), into an Analysis whose storage is reused. Does not check `ready`.
void read(const ImageResult& result, Analysis& analysis);

}  // namespace gpuhist::core
