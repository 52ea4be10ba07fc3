// Search for the places of ranks among counts, by warps.
#pragma once

#include "cuda/block/reduce.cuh"

namespace gpuhist::cuda {

/// Position of a rank: the bin that holds it, the rank inside it, and the samples in it.
struct Located {
    std::uint32_t bin;
    std::uint64_t within, samples;
};

/// Lane that holds a rank: the first whose sum, up to and with it, is over the rank; the last where none is.
__device__ inline int lane_of_rank(std::uint64_t rank, std::uint64_t through) {
    return (__ffs(__ballot_sync(0xFFFFFFFFu, rank < through)) - 1) & (warp_lanes - 1);
}

/// Bin of [first, last), counted by `count`, that holds the rank, for all lanes of a warp; the last where none does, as
/// of pixels that change meanwhile.
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

/// Counts of a warp's bins, `each` neighbors per lane, summed up once for all ranks that are located among them.
template <std::uint32_t each, class Count>
class WarpBins {
  public:
    __device__ explicit WarpBins(Count count) : count_(count) {
        const std::uint32_t first = threadIdx.x % warp_lanes * each;
#pragma unroll 16
        for (std::uint32_t i = 0; i < each; ++i) own_ += count(first + i);
        through_ = scan_lanes(own_);
    }
    /// Position of a rank, for all lanes.
    __device__ Located locate(std::uint64_t rank) const {
        const int holder = lane_of_rank(rank, through_);
        return locate_by_warp(count_, holder * each, (holder + 1) * each,
                              rank - __shfl_sync(0xFFFFFFFFu, through_ - own_, holder));
    }

  private:
    Count count_;
    std::uint64_t own_ = 0, through_;
};

}  // namespace gpuhist::cuda
