// Interleaving on the GPU: channels in planes of their own become the samples of pixels. Plain C++.
#pragma once

#include "cuda/host/parameters.hpp"

namespace gpuhist::cuda {

/// Images of one size whose channels lie in planes. The first plane of the first image is at `first`, which has the
/// sides of an image and the bytes of a plane's row.
struct Planes {
    Image first;
    std::int64_t plane_bytes;  ///< from one plane of an image to the next
    std::int64_t image_bytes, images;
};

/// Enqueues the interleaving of planes: image i goes to `to` + i * `to_bytes`, without gaps between its rows. Throws
/// CudaError.
void launch_interleave(const Planes& planes, int channels, int sample_bytes, void* to, std::int64_t to_bytes,
                       const Launch& launch);

}  // namespace gpuhist::cuda
