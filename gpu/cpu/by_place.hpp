// Copies in which the new value of a sample depends on its place: a file per mode.
#pragma once

#include "cpu/normalize.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist::cpu {

/// Writes the copy of gray or colors, of integers of 8 or 16 bits, in their depth. The output may be the image.
void apply_clahe(Workers& workers, const NormalizedPixels& pixels, const Normalization& normalization,
                 const MutableImageView& output);

/// Writes the copy of gray or colors in their depth. The output may be the image.
void apply_background(Workers& workers, const NormalizedPixels& pixels, const Normalization& normalization,
                      const MutableImageView& output);

}  // namespace gpuhist::cpu
