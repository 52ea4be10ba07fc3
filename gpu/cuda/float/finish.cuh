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
    for (int channel = 0; channel < measured_channels(C); ++channel) {
        Word *from = task.counts(channel), *to = counts_of(common, task.index, result_channel(channel, C, common.rgb));
        for (std::int64_t bin = all.first; bin < bins; bin += all.step) {
            to[bin] = __ldcg(from + bin);
            from[bin] = 0;
        }
    }
}

/// Writes the result, and leaves the state as the next image needs it. By the last block.
template <int C, bool Full>
__device__ __noinline__ void complete(const Task<C, Full>& task) {
    constexpr int channels = measured_channels(C);
    __shared__ ChannelFacts facts[channels];
    __shared__ core::CentralMoments moments[channels];
    const Common& common = task.common();
    ImageResult& result = *result_of(common, task.index);
    auto& details =
        *reinterpret_cast<core::FloatDetails*>(reinterpret_cast<char*>(&result) + common.layout.details_offset);
    core::FloatRankGroup& group = details.group[task.work->group];
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;

    if (warp < channels) {
        const Findings found = fresh_copy(task.channel(warp).found);
        const int to = result_channel(warp, C, common.rgb);
        const ChannelFacts own = task.facts(found);
        const FloatMoments summed = moments_of(task, warp, found, own);
        const bool decided = Full && fresh(task.channel(warp).again) == 0;
        const core::CentralMoments central =
            decided ? fresh_copy(task.channel(warp).central) : central_moments_of(own.finite, summed);
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
    } else if (lane == 0 && warp == channels) {
        const core::FloatBins bins = task.bins();
        write_header(common, task.index, task.image.pixels(), channels);
        result.detail = Full ? Detail::full : Detail::brief;
        result.range = {bins.lower, bins.upper};
        result.upper_closed = bins.upper_closed;
        details.groups = task.work->groups;
        if (common.normalize) task.state().equalized = task.finite_range(C == 1 ? 1 : luma_channel + 1);
    }
    const int from_last = blockDim.x - 1 - threadIdx.x;  // the first warps have enough to do already
    if constexpr (Full) {
        for (int i = from_last; i < core::float_channels * core::max_ranks; i += blockDim.x) {
            const int index = i / core::max_ranks, r = i % core::max_ranks;
            const F32Channel& channel = task.channel(index);
            core::FloatRanks& to =
                group.ranks[index == core::pooled_channel ? index : result_channel(index, C, common.rgb)];
            const bool any = task.is_ranked(index) && task.finite_samples(index) != 0;
            if (r == 0) to.count = any ? core::max_ranks : 0;
            to.rank[r] = any ? fresh(channel.selection.rank[r]) : 0;
            to.value[r] = any ? order_statistic(channel, r) : 0;
        }
    } else if (from_last < core::float_channels) {
        group.ranks[from_last].count = 0;
    }
    if (!task.work->wide && warp >= channels)
        for (std::uint32_t i = from_last; i < channels * common.bins; i += blockDim.x - channels * warp_lanes) {
            Word& count = task.counts(0)[i];
            const int to = result_channel(static_cast<int>(i / common.bins), C, common.rgb);
            counts_of(common, task.index, to)[i % common.bins] = fresh(count);
            count = 0;
        }
    __syncthreads();  // all is written but the mapping, and read but its inputs
    if (common.normalize && threadIdx.x < colors_of(C)) plan_mapping(task, threadIdx.x, facts, moments);
    if (threadIdx.x < channels) task.channel(threadIdx.x).found = Findings{};
    if (threadIdx.x == 0) task.state().masked = 0;
    if constexpr (!Full) clear_sample(task);
    if (threadIdx.x == 0 && task.work->publish) publish(&result);
    __syncthreads();  // shared memory may be written again
}

}  // namespace
}  // namespace gpuhist::cuda
