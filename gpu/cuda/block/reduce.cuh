// Reductions: lanes by shuffles, then warps through shared memory, so that a block ends in one value.
#pragma once

#include "core/integers.hpp"

namespace gpuhist::cuda {

inline constexpr int warp_lanes = 32;

template <typename T, class Combine>
__device__ inline T reduce_warp(T value, Combine combine) {
#pragma unroll
    for (int offset = warp_lanes / 2; offset > 0; offset /= 2)
        value = combine(value, __shfl_xor_sync(0xFFFFFFFFu, value, offset));
    return value;
}

struct Sum {
    template <typename T>
    __device__ T operator()(T a, T b) const {
        return a + b;
    }
};
struct Max {
    template <typename T>
    __device__ T operator()(T a, T b) const {
        return a > b ? a : b;
    }
};

// Sums and maxima over a warp's lanes, for all of them: on Ampere and later a single instruction of 32 bits. Of more,
// 27 bits are added up at a time, since 32 such numbers fit 32 bits.

/// Sum that is under 2^32.
__device__ inline std::uint32_t narrow_sum_over_warp(std::uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xFFFFFFFFu, value);
#else
    return reduce_warp(value, Sum{});
#endif
}
/// Sum of the parts of `value` below bit `End`.
template <int End, class Integer>
__device__ inline Integer sum_of_parts(Integer value) {
    constexpr int bits = 27;
    Integer sum = 0;
#pragma unroll
    for (int shift = 0; shift < End; shift += bits)
        sum += Integer{narrow_sum_over_warp(static_cast<std::uint32_t>(value >> shift) & ((1u << bits) - 1))} << shift;
    return sum;
}
__device__ inline std::uint64_t sum_over_warp(std::uint64_t value) {
    return sum_of_parts<64>(value);
}
/// Sum of numbers under 2^107 in size.
__device__ inline core::i128 wide_sum_over_warp(core::i128 value) {
    constexpr int top = 81;
    const std::uint32_t highest = narrow_sum_over_warp(static_cast<std::uint32_t>(value >> top));
    return (core::i128{static_cast<std::int32_t>(highest)} << top) + sum_of_parts<top>(value);
}
__device__ inline std::uint32_t max_over_warp(std::uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xFFFFFFFFu, value);
#else
    return reduce_warp(value, Max{});
#endif
}

/// Reduction over a block, by all its threads; the result is valid in thread 0. `scratch` holds a T per warp. Barriers:
/// the first protects scratch from its last use, the second shows it to the first warp.
template <typename T, class Combine>
__device__ inline T reduce_block(T value, T* scratch, T identity, Combine combine) {
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
    value = reduce_warp(value, combine);
    __syncthreads();
    if (lane == 0) scratch[warp] = value;
    __syncthreads();
    return warp == 0 ? reduce_warp(lane < warps ? scratch[lane] : identity, combine) : identity;
}

/// Inclusive prefix sum over a warp's lanes.
__device__ inline std::uint64_t scan_lanes(std::uint64_t value) {
    const int lane = threadIdx.x % warp_lanes;
#pragma unroll
    for (int offset = 1; offset < warp_lanes; offset *= 2) {
        const std::uint64_t left = __shfl_up_sync(0xFFFFFFFFu, value, offset);
        if (lane >= offset) value += left;
    }
    return value;
}

/// Exclusive prefix sum over a block's warps, of their last lanes' values; and the sum. `scratch`: a value per warp.
__device__ inline std::uint64_t scan_warps(std::uint64_t value, std::uint64_t* scratch, std::uint64_t& total) {
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
    __syncthreads();
    if (lane == warp_lanes - 1) scratch[warp] = value;
    __syncthreads();
    std::uint64_t before = 0;
    total = 0;
    for (int w = 0; w < warps; ++w) {
        if (w < warp) before += scratch[w];
        total += scratch[w];
    }
    return before;
}

}  // namespace gpuhist::cuda
