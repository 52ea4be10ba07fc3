// Color spaces on the GPU. Plain C++.
#pragma once

#include "cuda/host/parameters.hpp"
#include "gpuhist/color_space.hpp"

namespace gpuhist::cuda {

/// Enqueues the conversion of an image that `core::validate_conversion` accepts. Throws CudaError.
void launch_color_space(const ImageView& image, const ColorEncoding& encoding, ColorSpace space,
                        const MutableImageView& output, const Launch& launch);

}  // namespace gpuhist::cuda
