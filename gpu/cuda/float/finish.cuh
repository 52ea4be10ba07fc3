// Finish: the result of an f32 image, which the last block writes.
#pragma once

#include "cuda/float/moments.cuh"
#include "cuda/float/selection.cuh"
#include "cuda/float/speculation.cuh"
#include "cuda/normalize/f32.cuh"
#include "cuda/results.cuh"

namespace gpuhist::cuda {
namespace {

/// Writes the counts of all bins to the result, and clears them. By all blocks, where there are many.
template <int C, bool Full>
__device__ inline void write_counts(const Task<C, Full>& task) {
    const Common& common = task.common();
    const WorkPartition all = task.partition_of_grid();
    const std::int64_t bins = common.bins;
    for (int row = 0; row < rows_of(C); ++row) {
        Word *from = task.counts(row), *to = counts_of(common, task.index, result_row(row, C, common.rgb));
        for (std::int64_t bin = all.first; bin < bins; bin += all.step) {
            to[bin] = __ldcg(from + bin);
            from[bin] = 0;
        }
    }
}

/// Writes the result, and leaves the state as the next image needs it. By the last block.
template <int C, bool Full>
__device__ __noinline__ void complete(const Task<C, Full>& task) {
    constexpr int rows = rows_of(C);
    __shared__ RowFacts facts[rows];
    __shared__ core::CentralMoments moments[rows];
    const Common& common = task.common();
    ImageResult& result = *result_of(common, task.index);
    auto& details =
        *reinterpret_cast<core::FloatDetails*>(reinterpret_cast<char*>(&result) + common.layout.details_offset);
    core::FloatRankGroup& group = details.group[task.work->group];
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;

    if (warp < rows) {
        const Findings found = fresh_copy(task.row(warp).found);
        const int to = result_row(warp, C, common.rgb);
        const RowFacts own = task.facts(found);
        const FloatMoments summed = moments_of(task, warp, found, own);
        const bool decided = Full && fresh(task.row(warp).again) == 0;
        const core::CentralMoments central =
            decided ? fresh_copy(task.row(warp).central) : central_moments_of(own.finite, summed);
        const ChannelResult channel{.samples = own.finite,
                                    .minimum = own.minimum,
                                    .maximum = own.maximum,
                                    .mean = central.mean,
                                    .std = sqrt(central.m2),
                                    .nan = found.nan,
                                    .infinite = found.positive_infinite + found.negative_infinite,
                                    .below = found.below + found.negative_infinite,
                                    .above = found.above + found.positive_infinite};
        if (lane == 0) {
            facts[warp] = own;
            moments[warp] = central;
            result.channels[to] = channel;
            details.moments[to] = summed;
        }
    } else if (lane == 0 && warp == rows) {
        const core::FloatBins bins = task.bins();
        write_header(common, task.index, task.image.pixels(), rows);
        result.detail = Full ? Detail::full : Detail::brief;
        result.range = {bins.lower, bins.upper};
        result.upper_closed = bins.upper_closed;
        details.groups = task.work->groups;
        if (common.normalize) task.state().equalized = task.finite_range(C == 1 ? 1 : luma_row + 1);
    }
    const int from_last = blockDim.x - 1 - threadIdx.x;  // the first warps have enough to do already
    if constexpr (Full) {
        for (int i = from_last; i < core::float_rows * core::max_ranks; i += blockDim.x) {
            const int index = i / core::max_ranks, r = i % core::max_ranks;
            const F32Row& row = task.row(index);
            core::FloatRanks& to = group.ranks[index == core::pooled_row ? index : result_row(index, C, common.rgb)];
            const bool any = task.is_ranked(index) && task.finite_samples(index) != 0;
            if (r == 0) to.count = any ? core::max_ranks : 0;
            to.rank[r] = any ? fresh(row.selection.rank[r]) : 0;
            to.value[r] = any ? order_statistic(row, r) : 0;
        }
    } else if (from_last < core::float_rows) {
        group.ranks[from_last].count = 0;
    }
    if (!task.work->wide && warp >= rows)
        for (std::uint32_t i = from_last; i < rows * common.bins; i += blockDim.x - rows * warp_lanes) {
            Word& count = task.counts(0)[i];
            const int to = result_row(static_cast<int>(i / common.bins), C, common.rgb);
            counts_of(common, task.index, to)[i % common.bins] = fresh(count);
            count = 0;
        }
    __syncthreads();  // all is written but the mapping, and read but its inputs
    if (common.normalize && threadIdx.x < colors_of(C)) plan_mapping(task, threadIdx.x, facts, moments);
    if (threadIdx.x < rows) task.row(threadIdx.x).found = Findings{};
    if (threadIdx.x == 0) task.state().masked = 0;
    if constexpr (!Full) clear_sample(task);
    if (threadIdx.x == 0 && task.work->publish) publish(&result);
    __syncthreads();  // shared memory may be written again
}

}  // namespace
}  // namespace gpuhist::cuda
