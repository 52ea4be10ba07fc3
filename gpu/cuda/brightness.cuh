// Brightness of pixels: luma, and its sums reduced by warp shuffles.
#pragma once

#include <cstdint>

#include "core/luma.hpp"
#include "cuda/parameters.hpp"
#include "cuda/reduce.cuh"

namespace gpuhist::cuda {

/// Brightness of the values that one thread looks after, in registers.
struct ThreadBrightness {
    std::uint64_t sum = 0, squares = 0;
    std::uint32_t minimum = 0xFFFFFFFFu, maximum = 0;
    std::uint32_t group_sum = 0, group_squares = 0;

    /// A pixel of 8 bits; `fold` comes before 2^16 of them, while their sums fit 32 bits.
    __device__ void add_byte(std::uint32_t value) {
        group_sum += value;
        group_squares += value * value;
        minimum = min(minimum, value);
        maximum = max(maximum, value);
    }
    __device__ void fold() {
        sum += group_sum;
        squares += group_squares;
        group_sum = group_squares = 0;
    }
    /// A value that occurs `times`.
    __device__ void add(std::uint32_t value, std::uint64_t times = 1) {
        sum += times * value;
        squares += times * (static_cast<std::uint64_t>(value) * value);
        minimum = min(minimum, value);
        maximum = max(maximum, value);
    }
    /// All threads of the block take part: warp shuffles, then one atomic a block and quantity. Bound: a block sees
    /// fewer than 2^32 pixels, so its Σ x² < 2^64.
    __device__ void store(BrightnessSums* result, std::uint64_t* scratch) {
        fold();
        const std::uint64_t block_sum = reduce_block(sum, scratch, std::uint64_t{0}, Sum{});
        const std::uint64_t block_squares = reduce_block(squares, scratch, std::uint64_t{0}, Sum{});
        const std::uint64_t low = reduce_block(std::uint64_t{~minimum}, scratch, std::uint64_t{0}, Max{});
        const std::uint64_t high = reduce_block(std::uint64_t{maximum}, scratch, std::uint64_t{0}, Max{});
        if (threadIdx.x == 0 && low != 0) {  // without a pixel the complement of the minimum is 0
            atomicAdd(&result->sum, Word{block_sum});
            atomicAdd(&result->squares_low, Word{block_squares & 0xFFFFFFFFu});
            atomicAdd(&result->squares_high, Word{block_squares >> 32});
            atomicMax(&result->complement_minimum, static_cast<std::uint32_t>(low));
            atomicMax(&result->maximum, static_cast<std::uint32_t>(high));
        }
    }
};

template <typename T>
__device__ inline std::uint32_t luma_of(const T* pixel, bool rgb) {
    return core::luma(static_cast<std::uint32_t>(rgb ? pixel[0] : pixel[2]), static_cast<std::uint32_t>(pixel[1]),
                      static_cast<std::uint32_t>(rgb ? pixel[2] : pixel[0]));
}

}  // namespace gpuhist::cuda
