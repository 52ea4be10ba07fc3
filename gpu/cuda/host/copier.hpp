// Copier on the GPU: copies of images in its memory from findings that the CPU has.
#pragma once

#include <memory>
#include <optional>

#include "cuda/normalize/valid_copy.hpp"
#include "plan/executor.hpp"

namespace gpuhist::cuda {

/// Rules for the excluded samples of an image, and the values written for them in a copy of this depth.
Settling settling(const ImageView& image, const ClassRules& rules, Depth copy, bool valid_only,
                  const std::optional<double>& fill, bool has_alpha);

/// Copier of images in GPU memory.
std::unique_ptr<plan::Copier> make_copier(int gpu);

}  // namespace gpuhist::cuda
