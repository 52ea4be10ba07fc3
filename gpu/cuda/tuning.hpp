// Launch shapes as data. Each row was measured; rows that lost stay, with their figure.
#pragma once

#include <cstdint>

namespace gpuhist::cuda {

inline constexpr int block_threads = 1024;
inline constexpr int float_block_threads = 1024;

/// Pixels that are worth a block: fewer blocks than the GPU holds are launched for small images, since every block must
/// clear and merge its counters.
inline constexpr std::int64_t byte_pixels_per_block = 16 * 1024;
inline constexpr std::int64_t word_pixels_per_block = 64 * 1024;  ///< 65536 counters to clear and merge

}  // namespace gpuhist::cuda
