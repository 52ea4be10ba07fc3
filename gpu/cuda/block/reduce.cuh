// Reductions: lanes by shuffles, then warps through shared memory, so that a block ends in one value.
#pragma once

#include <cstdint>

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

/// Sum over a warp's lanes, for all of them, where it is under 2^32: on Ampere and later one instruction.
__device__ inline std::uint32_t narrow_sum_over_warp(std::uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xFFFFFFFFu, value);
#else
#pragma unroll 1
    for (int offset = warp_lanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, offset);
    return value;
#endif
}
/// Sum over a warp's lanes, of any: three instructions, each of which adds up 27 bits.
__device__ inline std::uint64_t sum_over_warp(std::uint64_t value) {
#if __CUDA_ARCH__ >= 800
    constexpr int bits = 27;  // 32 of these fit 32 bits
    constexpr std::uint32_t mask = (1u << bits) - 1;
    std::uint64_t sum = 0;
#pragma unroll
    for (int shift = 0; shift < 64; shift += bits)
        sum += static_cast<std::uint64_t>(narrow_sum_over_warp(static_cast<std::uint32_t>(value >> shift) & mask))
               << shift;
    return sum;
#else
#pragma unroll 1
    for (int offset = warp_lanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, offset);
    return value;
#endif
}
/// Sum over a warp's lanes of numbers under 2^107 in size: four instructions.
__device__ inline core::i128 wide_sum_over_warp(core::i128 value) {
#if __CUDA_ARCH__ >= 800
    constexpr int bits = 27;
    constexpr std::uint32_t mask = (1u << bits) - 1;
    core::i128 sum =
        static_cast<core::i128>(__reduce_add_sync(0xFFFFFFFFu, static_cast<std::int32_t>(value >> 3 * bits)))
        << 3 * bits;
#pragma unroll
    for (int shift = 0; shift < 3 * bits; shift += bits)
        sum +=
            static_cast<core::i128>(__reduce_add_sync(0xFFFFFFFFu, static_cast<std::uint32_t>(value >> shift) & mask))
            << shift;
    return sum;
#else
#pragma unroll 1
    for (int offset = warp_lanes / 2; offset > 0; offset /= 2) {
        const auto bits = static_cast<core::u128>(value);
        const std::uint64_t low = __shfl_xor_sync(0xFFFFFFFFu, static_cast<std::uint64_t>(bits), offset),
                            high = __shfl_xor_sync(0xFFFFFFFFu, static_cast<std::uint64_t>(bits >> 64), offset);
        value += static_cast<core::i128>(static_cast<core::u128>(high) << 64 | low);
    }
    return value;
#endif
}
__device__ inline std::uint32_t max_over_warp(std::uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xFFFFFFFFu, value);
#else
#pragma unroll 1
    for (int offset = warp_lanes / 2; offset > 0; offset /= 2)
        value = max(value, __shfl_xor_sync(0xFFFFFFFFu, value, offset));
    return value;
#endif
}

/// Reduction over a block, by all its threads; the result is valid in thread 0. `scratch` holds a T a warp. The
/// barriers: the first protects scratch from its last use, the second shows every warp's value to the first warp.
template <typename T, class Combine>
__device__ inline T reduce_block(T value, T* scratch, T identity, Combine combine) {
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
    value = reduce_warp(value, combine);
    __syncthreads();
    if (lane == 0) scratch[warp] = value;
    __syncthreads();
    return warp == 0 ? reduce_warp(lane < warps ? scratch[lane] : identity, combine) : identity;
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

/// Exclusive prefix sum over the block's warps, of a value that each warp's last lane holds; `total` is the sum of all.
/// `scratch` holds a value a warp.
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
