// Where ranks lie among counts, by warps.
#pragma once

#include <cstdint>

#include "cuda/reduce.cuh"

namespace gpuhist::cuda {

/// Where a rank lies: the bin that holds it, the rank inside it, and the samples in it.
struct Located {
    std::uint32_t bin;
    std::uint64_t within, samples;
};

/// The lane that holds a rank: the first whose sum, of the lanes up to it, is over the rank; the last where none is.
__device__ inline int lane_of_rank(std::uint64_t rank, std::uint64_t through) {
    return (__ffs(__ballot_sync(0xFFFFFFFFu, rank < through)) - 1) & (warp_lanes - 1);
}

/// Which of the bins [first, last), counted by `count`, holds the rank; the last where none does, as of pixels that
/// somebody changes meanwhile. By a warp; the same for all lanes.
template <class Count>
__device__ Located locate_by_warp(Count count, std::uint32_t first, std::uint32_t last, std::uint64_t rank) {
    const std::uint32_t lane = threadIdx.x % warp_lanes;
#pragma unroll 1
    for (; first < last; first += warp_lanes) {
        const std::uint64_t own = first + lane < last ? count(first + lane) : 0, through = scan_lanes(own),
                            all = __shfl_sync(0xFFFFFFFFu, through, warp_lanes - 1);
        if (rank < all) {
            const int holder = lane_of_rank(rank, through);
            return {first + holder, rank - __shfl_sync(0xFFFFFFFFu, through - own, holder),
                    __shfl_sync(0xFFFFFFFFu, own, holder)};
        }
        rank -= all;
    }
    return {last - 1, 0, 0};
}

/// What every `step`-th of the bins [first, last) comes to, together. Eight counts are asked for at once, since each is
/// far away.
template <class Count>
__device__ __forceinline__ std::uint64_t sum_counts(Count count, std::uint32_t first, std::uint32_t step,
                                                    std::uint32_t last) {
    constexpr std::uint32_t together = 8;
    std::uint64_t sum = 0;
#pragma unroll 1
    for (; first < last; first += together * step) {
        std::uint64_t counts[together];
#pragma unroll
        for (std::uint32_t i = 0; i < together; ++i) counts[i] = first + i * step < last ? count(first + i * step) : 0;
#pragma unroll
        for (std::uint64_t samples : counts) sum += samples;
    }
    return sum;
}

/// Counts of the bins [first, last), `part` in a row a lane, summed up once for all ranks that are located among them.
/// By a warp.
template <class Count>
class WarpBins {
  public:
    __device__ WarpBins(Count count, std::uint32_t first, std::uint32_t part, std::uint32_t last)
        : count_(count), first_(first), part_(part), last_(last) {
        const std::uint32_t from = first + threadIdx.x % warp_lanes * part;
        own_ = sum_counts(count, from, 1, min(from + part, last));
        through_ = scan_lanes(own_);
    }
    /// The same for all lanes.
    __device__ Located locate(std::uint64_t rank) const {
        const int holder = lane_of_rank(rank, through_);
        const std::uint32_t from = first_ + holder * part_;
        return locate_by_warp(count_, from, min(from + part_, last_),
                              rank - __shfl_sync(0xFFFFFFFFu, through_ - own_, holder));
    }

  private:
    Count count_;
    std::uint32_t first_, part_, last_;
    std::uint64_t own_, through_;
};

/// Finds, among the bins [first, last) counted by `count`, the ones that hold `n` ranks. A warp looks after a stretch
/// of bins; then after a rank, whose stretch it knows from the sums of all. By all threads; `sums` holds a value a
/// warp.
template <class Count>
__device__ void locate(Count count, std::uint32_t first, std::uint32_t last, const std::uint64_t* ranks, int n,
                       Located* located, std::uint64_t* sums) {
    const std::uint32_t lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes,
                        warps = blockDim.x / warp_lanes, part = (last - first + blockDim.x - 1) / blockDim.x,
                        stretch = part * warp_lanes;
    const std::uint32_t begin = first + warp * stretch;
    const std::uint64_t sum = sum_over_warp(sum_counts(count, begin + lane, warp_lanes, min(begin + stretch, last)));
    if (lane == 0) sums[warp] = sum;
    __syncthreads();  // the sums, for all
#pragma unroll 1
    for (int r = warp; r < n; r += warps) {
        const Located holder = locate_by_warp([&](std::uint32_t w) { return sums[w]; }, 0, warps, ranks[r]);
        const Located found = WarpBins<Count>(count, first + holder.bin * stretch, part, last).locate(holder.within);
        if (lane == 0) located[r] = found;
    }
    __syncthreads();  // what was located, for all
}

}  // namespace gpuhist::cuda
