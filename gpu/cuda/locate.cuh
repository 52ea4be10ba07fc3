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

/// Counts of a warp's bins, `each` in a row a lane, summed up once for all ranks that are located among them.
template <std::uint32_t each, class Count>
class WarpBins {
  public:
    __device__ explicit WarpBins(Count count) : count_(count) {
        const std::uint32_t first = threadIdx.x % warp_lanes * each;
#pragma unroll 16
        for (std::uint32_t i = 0; i < each; ++i) own_ += count(first + i);
        through_ = scan_lanes(own_);
    }
    /// The same for all lanes.
    __device__ Located locate(std::uint64_t rank) const {
        const int holder = lane_of_rank(rank, through_);
        return locate_by_warp(count_, holder * each, (holder + 1) * each,
                              rank - __shfl_sync(0xFFFFFFFFu, through_ - own_, holder));
    }

  private:
    Count count_;
    std::uint64_t own_ = 0, through_;
};

/// What every `step`-th of the bins [first, last) comes to, together. Eight counts are asked for at once, since each is
/// far away; called, since so is code that is run through once.
template <class Count>
__device__ __noinline__ std::uint64_t sum_counts(Count count, std::uint32_t first, std::uint32_t step,
                                                 std::uint32_t last) {
    std::uint64_t sum = 0;
#pragma unroll 1
    for (; first < last; first += 8 * step) {
        std::uint64_t counts[8];
#pragma unroll
        for (std::uint32_t i = 0; i < 8; ++i) counts[i] = first + i * step < last ? count(first + i * step) : 0;
#pragma unroll
        for (std::uint64_t samples : counts) sum += samples;
    }
    return sum;
}

/// Finds, among the bins [first, last) counted by `count`, the ones that hold `n` ranks. A warp looks after a stretch
/// of bins; then after a rank, whose stretch it knows from the sums of all, a lane after a part of that. By all
/// threads; `sums` holds a value a warp.
template <class Count>
__device__ void locate(Count count, std::uint32_t first, std::uint32_t last, const std::uint64_t* ranks, int n,
                       Located* located, std::uint64_t* sums) {
    const std::uint32_t lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes,
                        warps = blockDim.x / warp_lanes, part = (last - first + blockDim.x - 1) / blockDim.x;
    const std::uint32_t begin = first + warp * part * warp_lanes;
    const std::uint64_t sum =
        sum_over_warp(sum_counts(count, begin + lane, warp_lanes, min(begin + part * warp_lanes, last)));
    if (lane == 0) sums[warp] = sum;
    __syncthreads();  // the sums, for all
#pragma unroll 1
    for (int r = warp; r < n; r += warps) {
        const Located stretch = locate_by_warp([&](std::uint32_t w) { return sums[w]; }, 0, warps, ranks[r]);
        const std::uint32_t from = first + (stretch.bin * warp_lanes + lane) * part;
        const std::uint64_t own = sum_counts(count, from, 1, min(from + part, last)), through = scan_lanes(own);
        const int holder = lane_of_rank(stretch.within, through);
        const std::uint32_t at = first + (stretch.bin * warp_lanes + holder) * part;
        const Located found = locate_by_warp(count, at, min(at + part, last),
                                             stretch.within - __shfl_sync(0xFFFFFFFFu, through - own, holder));
        if (lane == 0) located[r] = found;
    }
    __syncthreads();  // what was located, for all
}

}  // namespace gpuhist::cuda
