// Parts of an image that warps measure, and their sums merged.
#pragma once

#include <algorithm>

#include "cuda/block/reduce.cuh"
#include "cuda/block/shared_memory.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/measures/measures.hpp"
#include "cuda/measures/sums.hpp"

namespace gpuhist::cuda {

/// Sums of a block, in shared memory.
struct BlockMeasures {
    Word words[measure_words];

    /// By all threads, before a barrier.
    __device__ void clear() {
        for (int i = static_cast<int>(threadIdx.x); i < measure_words; i += static_cast<int>(blockDim.x)) words[i] = 0;
    }
    /// Adds a sum of each lane of a warp. Not inlined: additions of 64 bits are loops.
    __device__ __noinline__ void add(int sum, std::int64_t value) {
        value = reduce_warp(value, Sum{});
        if (threadIdx.x % warp_lanes != 0 || value == 0) return;
        atomicAdd(words + 2 * sum, static_cast<Word>(value) & 0xFFFFFFFFu);
        atomicAdd(words + 2 * sum + 1, static_cast<Word>(value >> 32));
    }
    /// Adds all sums of the lanes, and clears them.
    __device__ void add(ThreadSums& sums) {
#pragma unroll
        for (int i = 0; i < measure_sums; ++i) {
            add(i, sums.of[i]);
            sums.of[i] = 0;
        }
    }
    /// By all threads.
    __device__ void add_to(Word* sums) const {
        __syncthreads();  // the sums of all warps
        for (int i = static_cast<int>(threadIdx.x); i < measure_words; i += static_cast<int>(blockDim.x))
            if (words[i] != 0) global_add(sums + i, words[i]);
    }
};

/// Cuts an image into parts for the warps of a launch: strips of so many columns, and segments of rows.
inline MeasureParameters cut(MeasureParameters parameters, int columns, std::int64_t least_rows, std::int64_t most_rows,
                             std::int64_t warps) {
    constexpr std::int64_t parts_per_warp = 8;
    const std::int64_t height = parameters.image.height;
    parameters.strips = (parameters.image.width + columns - 1) / columns;
    parameters.rows = std::clamp(height * parameters.strips / (warps * parts_per_warp), least_rows, most_rows);
    parameters.segments = (height + parameters.rows - 1) / parameters.rows;
    return parameters;
}

}  // namespace gpuhist::cuda
