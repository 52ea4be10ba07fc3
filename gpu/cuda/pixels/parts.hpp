// Parts on the GPU: the colors of an image, and each of its bands, apart from the others. Plain C++.
#pragma once

#include "cuda/host/parameters.hpp"

namespace gpuhist::cuda {

/// Enqueues the taking apart of interleaved samples: `colors` of each pixel, which may be none, go to `colors_to`, and
/// each other sample to a plane of its own, `plane_bytes` apart. Throws CudaError.
void launch_parts(const Image& image, int channels, int sample_bytes, int colors, void* colors_to, void* planes,
                  std::int64_t plane_bytes, cudaStream_t stream);

}  // namespace gpuhist::cuda
