// Brightness sums, reduced over lanes.
#pragma once

#include "cuda/block/reduce.cuh"

namespace gpuhist::cuda {

/// Σ x, Σ x², extremes. A minimum is kept as the maximum of its complement, so that zeros are no samples.
struct BrightnessSums {
    std::uint64_t sum, squares;
    std::uint32_t complement_minimum, maximum;

    __device__ void add(std::uint32_t value, std::uint64_t times = 1) {
        if (times == 0) return;
        sum += times * value;
        squares += times * (static_cast<std::uint64_t>(value) * value);
        complement_minimum = max(complement_minimum, ~value);
        maximum = max(maximum, value);
    }
    __device__ void add(const BrightnessSums& other) {
        sum += other.sum;
        squares += other.squares;
        complement_minimum = max(complement_minimum, other.complement_minimum);
        maximum = max(maximum, other.maximum);
    }
    /// `narrow`: all sums fit 32 bits.
    __device__ void reduce_over_warp(bool narrow = false) {
        if (narrow) {
            sum = narrow_sum_over_warp(static_cast<std::uint32_t>(sum));
            squares = narrow_sum_over_warp(static_cast<std::uint32_t>(squares));
        } else {
            sum = sum_over_warp(sum);
            squares = sum_over_warp(squares);
        }
        complement_minimum = max_over_warp(complement_minimum);
        maximum = max_over_warp(maximum);
    }
    /// Reduces over `lanes` neighboring lanes, a power of two.
    template <int lanes>
    __device__ void reduce_over_lanes() {
#pragma unroll
        for (int offset = lanes / 2; offset > 0; offset /= 2) {
            auto other = [&](auto value) { return __shfl_xor_sync(0xFFFFFFFFu, value, offset); };
            add({other(sum), other(squares), other(complement_minimum), other(maximum)});
        }
    }
};

}  // namespace gpuhist::cuda
