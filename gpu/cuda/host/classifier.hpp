// Classifier on the GPU: what is measured in the place of an image of which not all samples count.
#pragma once

#include "cpu/validity.hpp"
#include "cuda/host/device.hpp"
#include "cuda/validity/classes.hpp"

namespace gpuhist::cuda {

/// Bits of the positions in a pixel of which none may be nodata.
std::uint64_t bits_of(cpu::PixelsOf which, const ClassRules& rules);

/// View of a packed copy of an image, of so many channels, or of the image with a packed mask, in device memory.
ImageView with_copy(ImageView image, const void* copy, int channels);
ImageView with_mask(ImageView image, const void* mask);

}  // namespace gpuhist::cuda
