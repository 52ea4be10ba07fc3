// Search for the places of ranks among counts, by warps.
#pragma once

#include <cstdint>

#include "cuda/block/reduce.cuh"

namespace gpuhist::cuda {

/// Position of a rank: the bin that holds it, the rank inside it, and the samples in it.
struct Located {
    std::uint32_t bin;
    std::uint64_t within, samples;
};

/// The lane that holds a rank: the first whose sum, of the lanes up to it, is over the rank; the last where none is.
__device__ inline int lane_of_rank(std::uint64_t rank, std::uint64_t through) {
    return (__ffs(__ballot_sync(0xFFFFFFFFu, rank < through)) - 1) & (warp_lanes - 1);
}

/// Bin of [first, last), counted by `count`, that holds the rank; the last where none does, as of pixels that
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

/// Finds, among the bins [first, last) counted by `count`, the ones that hold `n` ranks. A warp sums up a stretch of
/// bins by lines, 32 in a row; then it looks after a rank, whose stretch and line it knows from these sums. By all
/// threads; `sums`: shared memory of a value a warp and one a line.
template <class Count>
__device__ void locate(Count count, std::uint32_t first, std::uint32_t last, const std::uint64_t* ranks, int n,
                       Located* located, std::uint64_t* sums) {
    constexpr std::uint32_t together = 8;  // lines asked for at once, since each is far away
    const std::uint32_t lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes,
                        warps = blockDim.x / warp_lanes, lines = (last - first + warp_lanes - 1) / warp_lanes,
                        lines_of_warp = (lines + warps - 1) / warps, end = min((warp + 1) * lines_of_warp, lines),
                        stop = min(first + end * warp_lanes, last);
    std::uint64_t *of_lines = sums + warps, all = 0;
#pragma unroll 1
    for (std::uint32_t line = warp * lines_of_warp; line < end; line += together) {
        std::uint64_t counts[together];
        const std::uint32_t bin = first + line * warp_lanes + lane;
        // Without a branch, which would wait for each.
#pragma unroll
        for (std::uint32_t i = 0; i < together; ++i) counts[i] = count(min(bin + i * warp_lanes, stop - 1));
#pragma unroll
        for (std::uint32_t i = 0; i < together; ++i) {
            const std::uint64_t sum = sum_over_warp(bin + i * warp_lanes < stop ? counts[i] : 0);
            if (lane == 0 && line + i < end) of_lines[line + i] = sum;
            all += sum;
        }
    }
    if (lane == 0) sums[warp] = all;
    __syncthreads();  // the sums, for all
#pragma unroll 1
    for (int r = warp; r < n; r += warps) {
        const Located stretch = locate_by_warp([&](std::uint32_t w) { return sums[w]; }, 0, warps, ranks[r]);
        const std::uint32_t from = stretch.bin * lines_of_warp;
        const Located line = locate_by_warp([&](std::uint32_t l) { return of_lines[l]; }, from,
                                            min(from + lines_of_warp, lines), stretch.within);
        const std::uint32_t bin = first + line.bin * warp_lanes;
        const Located found = locate_by_warp(count, bin, min(bin + warp_lanes, last), line.within);
        if (lane == 0) located[r] = found;
    }
    __syncthreads();  // what was located, for all
}

}  // namespace gpuhist::cuda
