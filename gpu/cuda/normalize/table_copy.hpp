// Copies of images of 8 and 16 bits by tables of the CPU. Plain C++.
#pragma once

#include "cuda/normalize/pixel_copy.hpp"

namespace gpuhist::cuda {

/// Copy by a table for each position in the pixel: a sample of the copy for each sample, in the order of their bits.
struct TableCopy : PixelCopy {
    const void* tables[4];
};

/// Enqueues the copy. Throws CudaError; does not synchronize.
void launch_table_copy(const TableCopy& copy, const Launch& launch);

}  // namespace gpuhist::cuda
