// Sorting on the GPU: samples that are counted by sorting become a frequency table, values with one count each. Plain
// C++.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/codes.hpp"
#include "cuda/host/parameters.hpp"

namespace gpuhist::cuda {

/// Dispatch on a depth whose samples a GPU can sort: f32 too. Calls `function` with a value of its sample type.
template <class Function>
void with_sortable(Depth depth, const Function& function) {
    if (depth == Depth::f32) return function(float{});
    core::with_sorted(depth, function);
}

/// Channel whose samples are sorted: one of a pixel, or luma of its colors.
struct SortedChannel {
    Image image;
    Mask mask;
    int pixel_samples;       ///< of all channels
    int first, green, last;  ///< places of red, green and blue in a pixel; a channel has `first` alone
    bool luma;
};

/// Codes of a warp, which finds the first of each value among them.
inline constexpr std::int64_t chunk_codes = 1024;
constexpr std::int64_t chunks_of(std::int64_t codes) {
    return (codes + chunk_codes - 1) / chunk_codes;
}

/// Device memory for sorting `most` codes of a depth at a time.
struct SortMemory {
    void* codes;            ///< `most`: afterwards the values that occur, ascending
    void* sorted;           ///< `most`
    std::uint32_t* starts;  ///< `most`: afterwards the codes before the first of each value
    std::uint32_t* chunks;  ///< chunks_of(most) + 1: values that begin before each chunk; the last: all
    std::uint32_t* masked;  ///< excluded samples: the highest code stands for each
    void* temporary;
    std::size_t temporary_bytes;  ///< see sort_temporary
};

/// Bytes of temporary memory for sorting as many codes, or keys of regions. Throw CudaError.
std::size_t sort_temporary(Depth depth, std::int64_t most);
template <class Key>
std::size_t sort_temporary(std::int64_t most);

/// Enqueues the sorting of codes, or keys of regions, by their bits [first, last). Throws CudaError; does not
/// synchronize.
template <class Key>
void launch_radix_sort(void* temporary, std::size_t temporary_bytes, const Key* keys, Key* sorted, std::int64_t count,
                       int first, int last, cudaStream_t stream);
/// Enqueues the replacement of each number by the sum of those before it, likewise.
void launch_running_sums(void* temporary, std::size_t temporary_bytes, std::uint32_t* numbers, std::int64_t count,
                         cudaStream_t stream);

/// Enqueues the counting of the samples of pixels [begin, begin + count), row after row. Throws CudaError; does not
/// synchronize.
void launch_sort(Depth depth, const SortedChannel& channel, std::int64_t begin, std::int64_t count,
                 const SortMemory& memory, cudaStream_t stream);

}  // namespace gpuhist::cuda
