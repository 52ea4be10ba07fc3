// Classifier on the GPU: the masks and copies that passes read in place of an image with excluded samples.
#pragma once

#include <cstdint>
#include <memory>

#include "cuda/host/device.hpp"
#include "cuda/rules/classes.hpp"
#include "plan/executor.hpp"
#include "rules/rules.hpp"

namespace gpuhist::cuda {

/// Rules in the form of a launch parameter. Throws InvalidArgument if there are too many.
ClassRules class_rules(const rules::ImageRules& rules, int channels);

/// Bits of the positions in a pixel at which no sample may be nodata.
std::uint64_t bits_of(rules::PixelsOf which, const ClassRules& rules);

/// View of a packed copy of an image, of so many channels, or of the image with a packed mask, in device memory.
ImageView with_copy(ImageView image, const void* copy, int channels);
ImageView with_mask(ImageView image, const void* mask);

/// Classifier of images in GPU memory, where its masks and copies are too.
std::unique_ptr<plan::Classifier> make_classifier(int gpu);

}  // namespace gpuhist::cuda
