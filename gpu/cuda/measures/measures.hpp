// Measures on the GPU: parameters of the kernels. Plain C++.
#pragma once

#include <cstdint>

#include "cuda/host/parameters.hpp"

namespace gpuhist::cuda {

/// Parameters of the kernels: an image, and the measures to find.
struct MeasureParameters {
    Image image;  ///< not packed into one row
    Mask mask;
    Depth depth;  ///< integers of 8 or 16 bits
    int channels;
    int red, green, blue;  ///< positions in the pixel; of gray, all are the first
    bool colors;           ///< whether there are colors, and measures of them
    bool neighborhoods;    ///< whether there are neighborhoods, and measures of them
    Word* sums;            ///< measure_words, zero before

    /// Parts of the image, one per warp: strips of columns, cut into segments of rows.
    std::int64_t strips, segments, rows;
};

/// Enqueues that measures are found in the pixels of an image. Throws CudaError; does not synchronize.
void launch_measures(const MeasureParameters& parameters, const Launch& launch);

/// The same for u8 of 1, 3 or 4 channels without a mask, and sides of at least 3. All measures are found.
void launch_byte_measures(const MeasureParameters& parameters, const Launch& launch);

}  // namespace gpuhist::cuda
