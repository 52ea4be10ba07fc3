// Sorting on the GPU: samples that are counted by sorting become values with a count each. Plain C++.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/codes.hpp"
#include "cuda/host/parameters.hpp"

namespace gpuhist::cuda {

/// Row of results that is to be sorted: a channel of an image, or luma of its colours.
struct SortedRow {
    Image image;
    Mask mask;
    int channels;
    int first, green, last;  ///< places of red, green and blue in a pixel; of a channel `first` alone is
    bool luma;
};

/// Codes that a warp looks through for the first of each value.
inline constexpr std::int64_t chunk_codes = 1024;
constexpr std::int64_t chunks_of(std::int64_t codes) {
    return (codes + chunk_codes - 1) / chunk_codes;
}

/// Device memory for sorting `most` codes at a time.
template <class Code>
struct SortMemory {
    Code* codes;            ///< `most`: afterwards the values that occur, ascending
    Code* sorted;           ///< `most`
    std::uint32_t* starts;  ///< `most`: afterwards how many of the codes lie before the first of each value
    std::uint32_t* chunks;  ///< chunks_of(most) + 1: values that begin before each chunk; the last: all
    std::uint32_t* masked;  ///< samples that do not count: the highest code stands for each
    void* temporary;
    std::size_t temporary_bytes;  ///< see sort_temporary
};

/// Bytes of temporary memory for sorting as many codes. Throws CudaError.
template <class Code>
std::size_t sort_temporary(std::int64_t most);

/// Enqueues that the samples of pixels [begin, begin + count), row after row, are counted. Throws CudaError; does not
/// synchronise.
template <class Sample>
void launch_sort(const SortedRow& row, std::int64_t begin, std::int64_t count,
                 const SortMemory<core::Code<Sample>>& memory, cudaStream_t stream);

}  // namespace gpuhist::cuda
