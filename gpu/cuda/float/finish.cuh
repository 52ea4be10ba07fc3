// Whether moments must be summed again; and the result, which the last block writes.
#pragma once

#include <cstdint>

#include "core/float_details.hpp"
#include "cuda/float/second_sweep.cuh"
#include "cuda/float/state.cuh"
#include "cuda/results.cuh"

namespace gpuhist::cuda {
namespace {

/// Whether rows' moments are to be summed again, and about what. By a block, of full analyses: a warp a row.
template <int C>
__device__ __noinline__ void decide(const Task<C, true>& task) {
    const int r = threadIdx.x / warp_lanes;
    if (r >= rows_of(C)) return;
    const Findings found = fresh_copy(task.row(r).found);
    const RowFacts facts = facts_of(found, task.image.pixels());
    const FloatMoments moments = moments_of(task, r, found, facts);
    const core::CentralMoments central = central_moments_of(facts.finite, moments);
    const bool again = core::poor_pivot(moments, central);
    __syncwarp();  // all lanes have read the sums
    if (threadIdx.x % warp_lanes != 0) return;
    FloatRow& row = task.row(r);
    row.again = again;
    row.central = central;
    if (!again) return;
    row.pivot = central.mean;
    row.exponent = core::moment_exponent(central.mean, facts.minimum, facts.maximum);
    for (auto& sum : row.found.sums)
        for (Word& part : sum) part = 0;
}

__device__ inline float order_statistic(const FloatRow& row, double percent, std::uint64_t finite) {
    const std::uint64_t rank = core::nearest_rank(percent, finite) - 1;
    const int ranks = fresh(row.ranks.ranks);
    int at = 0;
#pragma unroll
    for (int r = 0; r < core::max_ranks; ++r)
        if (fresh_word(reinterpret_cast<const Word*>(&row.ranks.rank[r])) == rank && r < ranks) at = r;
    return fresh(row.order[at]);
}

/// What colour channel `c`, in memory order, is mapped by. By one thread.
template <int C, bool Full>
__device__ inline void plan_mapping(const Task<C, Full>& task, int c, const RowFacts* facts,
                                    const core::CentralMoments* moments) {
    constexpr int colors = colors_of(C);
    const Normalization& normalization = task.common().normalization;
    const bool joint = C > 1 && normalization.joint;
    Mapping map{};
    std::uint64_t finite = 0;
    float low = INFINITY, high = -INFINITY;
    for (int i = 0; i < colors; ++i) {
        if (!(joint || i == c) || facts[i].finite == 0) continue;
        finite += facts[i].finite;
        low = fminf(low, facts[i].minimum);
        high = fmaxf(high, facts[i].maximum);
    }
    map.keep = finite == 0;
    if (!map.keep) {
        switch (normalization.mode) {
            case NormalizeMode::zscore: {
                core::CentralMoments parts[colors], all = moments[c];
                for (int i = 0; i < colors; ++i) parts[result_row(i, C, task.common().rgb)] = moments[i];
                if (joint) all = core::combine(parts, colors);
                map.low = all.mean;
                map.high = sqrt(all.m2);
                break;
            }
            case NormalizeMode::percentile:
                if constexpr (Full) {
                    const FloatRow& source = task.row(joint ? core::pooled_row : c);
                    map.low = order_statistic(source, normalization.low, finite);
                    map.high = order_statistic(source, normalization.high, finite);
                    map.keep = map.low == map.high;
                }
                break;
            case NormalizeMode::minmax:
                map.low = low;
                map.high = high;
                map.keep = low == high;
                break;
            case NormalizeMode::equalize:  // see equalize_row
                break;
        }
    }
    task.state().maps[c] = map;
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
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;
    const std::int64_t pixels = task.image.pixels();

    if (warp < rows) {
        const Findings found = fresh_copy(task.row(warp).found);
        const int to = result_row(warp, C, common.rgb);
        const RowFacts own = facts_of(found, pixels);
        const FloatMoments summed = moments_of(task, warp, found, own);
        const bool decided = Full && fresh(task.row(warp).again) == 0;
        const core::CentralMoments central =
            decided ? fresh_copy(task.row(warp).central) : central_moments_of(own.finite, summed);
        ChannelResult channel;
        channel.samples = own.finite;
        channel.minimum = own.minimum;
        channel.maximum = own.maximum;
        channel.mean = central.mean;
        channel.std = sqrt(central.m2);
        channel.nan = found.nan;
        channel.infinite = found.positive_infinite + found.negative_infinite;
        channel.below = found.below + found.negative_infinite;
        channel.above = found.above + found.positive_infinite;
        if (lane == 0) {
            facts[warp] = own;
            moments[warp] = central;
            result.channels[to] = channel;
            details.moments[to] = summed;
        }
    } else if (lane == 0 && warp == rows) {
        const core::FloatBins bins = bins_of(task);
        write_header(common, task.index, pixels, Depth::f32, rows);
        result.detail = Full ? Detail::full : Detail::brief;
        result.range = {bins.lower, bins.upper};
        result.upper_closed = bins.upper_closed;
        if (common.normalize) task.state().equalized = finite_range(task, C == 1 ? 1 : luma_row + 1);
    }
    const int from_last = blockDim.x - 1 - threadIdx.x;  // the first warps have enough to do as it is
    if constexpr (Full) {
        for (int i = from_last; i < core::float_rows * core::max_ranks; i += blockDim.x) {
            const int index = i / core::max_ranks, r = i % core::max_ranks;
            const FloatRow& row = task.row(index);
            core::FloatRanks& to = details.ranks[index == core::pooled_row ? index : result_row(index, C, common.rgb)];
            const int ranks = is_ranked<C>(index) ? fresh(row.ranks.ranks) : 0;
            if (r == 0) to.count = ranks;
            if (r >= ranks) continue;
            to.rank[r] = fresh(row.ranks.rank[r]);
            to.value[r] = fresh(row.order[r]);
        }
    } else if (from_last < core::float_rows) {
        details.ranks[from_last].count = 0;
    }
    if (!task.work->wide && warp >= rows)
        for (std::uint32_t i = from_last; i < rows * common.bins; i += blockDim.x - rows * warp_lanes) {
            Word& count = task.counts(0)[i];
            counts_of(common, task.index,
                      result_row(static_cast<int>(i / common.bins), C, common.rgb))[i % common.bins] = fresh(count);
            count = 0;
        }
    __syncthreads();  // everything is written but the mapping, and read but what it needs
    if (common.normalize && threadIdx.x < colors_of(C)) plan_mapping(task, threadIdx.x, facts, moments);
    if (threadIdx.x < rows) task.row(threadIdx.x).found = Findings{};
    if (task.large())
        for (int i = threadIdx.x; i < sample_parts * rows; i += blockDim.x)
            task.state().sampled[i / rows][i % rows] = Extremes{};
    if (threadIdx.x == 0) {
        task.state().belied = task.state().narrow = 0;
        publish(&result);
    }
    __syncthreads();  // shared memory may be written again
}

}  // namespace
}  // namespace gpuhist::cuda
