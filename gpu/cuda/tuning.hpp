// Launch shapes, with what was measured when they were chosen: NVIDIA H200, 2026-11-20, 4 GiB of random pixels, GB/s.
#pragma once

#include <cstdint>

namespace gpuhist::cuda {

/// One block of 1024 threads fills its multiprocessor's warps and shares one set of counters.
inline constexpr int block_threads = 1024;

/// f32 grey: 1024 threads 505; 512 threads, whose 128 registers need not spill, 369; 256 threads 207. Warps in flight
/// count for more than spills.
inline constexpr int float_block_threads = 1024;

/// Pixels that are worth a block: fewer blocks than the GPU holds are launched for small images, since every block must
/// clear and merge its counters.
inline constexpr std::int64_t byte_pixels_per_block = 16 * 1024;
inline constexpr std::int64_t word_pixels_per_block = 64 * 1024;  ///< 65536 counters to clear and merge

// Brightness, u8 grey: from each block's counts when they are merged 4051; from the pixels, in 64 bits, 2329.
// u8 BGR without luma histogram: summed in 32 bits a group of pixels 2796; in 64 bits a pixel 2450.

}  // namespace gpuhist::cuda
