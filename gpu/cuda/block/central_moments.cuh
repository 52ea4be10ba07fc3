// Central moments of floats, by a warp.
#pragma once

#include "cuda/block/reduce.cuh"
#include "statistics/moments.hpp"

namespace gpuhist::cuda {

/// Central moments, whose means the lanes of a warp find side by side.
__device__ inline core::CentralMoments central_moments_of(std::uint64_t n, const FloatMoments& moments) {
    if (n == 0) return {};
    const double own = core::RawMeans(n, moments)[min(threadIdx.x % warp_lanes, core::RawMeans::count - 1)];
    double raw[core::RawMeans::count];
#pragma unroll
    for (int i = 0; i < core::RawMeans::count; ++i) raw[i] = __shfl_sync(0xFFFFFFFFu, own, i);
    return core::central_moments(n, moments, raw);
}

}  // namespace gpuhist::cuda
