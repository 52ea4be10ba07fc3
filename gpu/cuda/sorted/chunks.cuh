// Chunks of sorted codes: where values begin among them. A warp walks each chunk.
#pragma once

#include <cstdint>

#include "cuda/block/reduce.cuh"
#include "cuda/sorted/sort.hpp"

namespace gpuhist::cuda {
namespace {

constexpr int threads = 256;

/// Code of the lane before this one, and of a lane. Shuffles take 64 bits at most.
template <class Code>
__device__ inline Code of_lane_before(Code code) {
    constexpr unsigned all = 0xFFFFFFFFu;
    if constexpr (sizeof(Code) <= 8)
        return __shfl_up_sync(all, code, 1);
    else
        return static_cast<Code>(__shfl_up_sync(all, static_cast<std::uint64_t>(code >> 64), 1)) << 64 |
               __shfl_up_sync(all, static_cast<std::uint64_t>(code), 1);
}
template <class Code>
__device__ inline Code of_lane(Code code, int lane) {
    constexpr unsigned all = 0xFFFFFFFFu;
    if constexpr (sizeof(Code) <= 8)
        return __shfl_sync(all, code, lane);
    else
        return static_cast<Code>(__shfl_sync(all, static_cast<std::uint64_t>(code >> 64), lane)) << 64 |
               __shfl_sync(all, static_cast<std::uint64_t>(code), lane);
}

/// Calls `visit(i, code, first)` for the codes of this warp's chunk, 32 neighbors at a time; `first`: whether the code
/// is the first of its equals from bit `shift` on. Lanes behind the end take part with first = false.
template <class Code, class Visit>
__device__ inline void for_chunk(const Code* sorted, std::int64_t count, std::int64_t chunk, int shift,
                                 const Visit& visit) {
    constexpr int together = 8;
    const int lane = threadIdx.x % warp_lanes;
    const std::int64_t start = chunk * chunk_codes, end = min(start + chunk_codes, count);
    Code last = start > 0 && start < count ? sorted[start - 1] : Code{};  // of the codes so far
#pragma unroll 1
    for (std::int64_t begin = start; begin < end; begin += together * warp_lanes) {
        Code code[together];
#pragma unroll
        for (int k = 0; k < together; ++k) {
            const std::int64_t i = begin + k * warp_lanes + lane;
            code[k] = i < count ? sorted[i] : Code{};
        }
#pragma unroll
        for (int k = 0; k < together; ++k) {
            const std::int64_t i = begin + k * warp_lanes + lane;
            Code before = of_lane_before(code[k]);
            if (lane == 0) before = last;
            last = of_lane(code[k], warp_lanes - 1);
            visit(i, code[k], i < count && (i == 0 || code[k] >> shift != before >> shift));
        }
    }
}

/// Kernel that counts the values, from bit `shift` on, which begin in each chunk, one per warp; one more is 0. Launch:
/// a warp per chunk and more.
template <class Code>
__global__ void __launch_bounds__(threads)
    count_kernel(const Code* sorted, std::int64_t count, int shift, std::uint32_t* chunks) {
    const std::int64_t chunk = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_lanes;
    if (chunk > chunks_of(count)) return;
    int values = 0;
    for_chunk(sorted, count, chunk, shift,
              [&](std::int64_t, Code, bool first) { values += __popc(__ballot_sync(0xFFFFFFFFu, first)); });
    if (threadIdx.x % warp_lanes == 0) chunks[chunk] = values;
}

/// Blocks of `threads` with a warp for each chunk of `count` codes, and one for the end.
unsigned blocks_of_chunks(std::int64_t count) {
    return static_cast<unsigned>(((chunks_of(count) + 1) * warp_lanes + threads - 1) / threads);
}

}  // namespace
}  // namespace gpuhist::cuda
