// Order statistics of f32 images: the plan between the sweeps, and the values behind the second.
#pragma once

#include <cstdint>

#include "cuda/block/rank_search.cuh"
#include "cuda/block/reduce.cuh"
#include "cuda/float/counters.cuh"
#include "cuda/float/middle_digits.cuh"
#include "cuda/float/state.cuh"
#include "statistics/float_analysis.hpp"

namespace gpuhist::cuda {
namespace {

/// Whether a row's values are so many that a LowCounter cannot keep them near, by a value a thread from all over the
/// image. By all threads.
template <int C>
__device__ __noinline__ bool many_values(const Task<C, true>& task, int row) {
    constexpr std::uint32_t places = 2048;
    const Image& image = task.image;
    __syncthreads();  // shared memory may be written again
    for (std::uint32_t i = threadIdx.x; i < places; i += blockDim.x) dynamic_shared[i] = 0;
    __syncthreads();  // an empty table
    const std::int64_t at = image.pixels() / blockDim.x * threadIdx.x, y = at / image.width, x = at - y * image.width;
    const auto* pixel =
        reinterpret_cast<const float*>(static_cast<const char*>(image.data) + y * image.row_bytes) + x * C;
    float samples[C];
    for (int c = 0; c < C; ++c) samples[c] = pixel[c];
    const std::uint32_t key = core::float_key(row_value<C>(samples, 0, row, task.common().rgb));  // 0 only of a NaN
    std::uint32_t place = key * 2654435761u >> 21, there = 1;
    while ((there = atomicCAS(dynamic_shared + place, 0u, key)) != 0 && there != key) place = (place + 1) % places;
    return __syncthreads_count(there == 0) > static_cast<int>(blockDim.x / 4);
}

/// The ranks that n > 0 samples need, ascending, each once; returns how many. By a warp.
__device__ inline int require_ranks(std::uint64_t n, const core::RankRequest& request, std::uint64_t* ranks) {
    const int lane = threadIdx.x % warp_lanes;
    const std::uint64_t own = core::required_rank(min(lane, core::max_ranks - 1), n, request);
    bool again = lane >= core::max_ranks;
    int lower = 0;
#pragma unroll
    for (int other = 0; other < core::max_ranks; ++other)
        again = (__shfl_sync(0xFFFFFFFFu, own, other) == own && other < lane) || again;
    const std::uint32_t once = __ballot_sync(0xFFFFFFFFu, !again);
#pragma unroll
    for (int other = 0; other < core::max_ranks; ++other)
        lower += __shfl_sync(0xFFFFFFFFu, own, other) < own && (once >> other & 1);
    if (!again) ranks[lower] = own;
    __syncwarp();
    return __popc(once);
}

/// Ranks, high halves and pivot of one row, by one block. Reads the row's counts of the high halves between its
/// extremes.
template <int C>
__device__ __noinline__ void plan_row(const Task<C, true>& task, int index) {
    __shared__ std::uint64_t ranks[core::max_ranks + 1];
    __shared__ Located located[core::max_ranks + 1];
    __shared__ int wanted;
    __shared__ bool narrow;
    const bool pooled = C > 1 && index == core::pooled_row;
    const int lane = threadIdx.x % warp_lanes;
    FloatRow& row = task.row(index);
    std::uint64_t finite = 0;
    std::uint32_t minimum_key = ~0u, maximum_key = 0;
    for (int r = pooled ? 0 : index; r < (pooled ? 3 : index + 1); ++r) {
        const RowFacts facts = facts_of(task, r);
        if (facts.finite == 0) continue;
        finite += facts.finite;
        minimum_key = min(minimum_key, core::float_key(facts.minimum));
        maximum_key = max(maximum_key, core::float_key(facts.maximum));
    }
    core::RankPlan& plan = row.ranks;
    if (finite == 0) {
        if (threadIdx.x == 0) {
            plan.ranks = plan.selected = 0;
            row.pivot = 0;
            row.exponent = core::moment_exponent(0, 0, 0);
        }
        return;
    }
    __syncthreads();  // shared memory may be written again
    if (threadIdx.x < warp_lanes) {
        const int different = require_ranks(finite, task.work->ranks, ranks);
        if (lane == 0) {
            wanted = different;
            ranks[different] = finite / 2;  // the median's high half, for the pivot
        }
    }
    __syncthreads();  // ranks, for all
    const auto locate_by = [&](auto count) {
        locate(count, minimum_key >> 16, (maximum_key >> 16) + 1, ranks, wanted + 1, located,
               reinterpret_cast<std::uint64_t*>(dynamic_shared));
    };
    const Word* counts = task.high(pooled ? 0 : index);
    const auto of_row = [=](std::uint32_t half) -> std::uint64_t { return fresh_word(counts + half); };
    if (pooled)
        locate_by([=](std::uint32_t half) { return of_row(half) + of_row(65536 + half) + of_row(2 * 65536 + half); });
    else
        locate_by(of_row);
    if (threadIdx.x < warp_lanes) {
        const bool any = lane < wanted;
        const Located& own = located[any ? lane : 0];
        const bool begins = any && (lane == 0 || own.bin != located[lane - 1].bin);
        const std::uint32_t halves = __ballot_sync(0xFFFFFFFFu, begins);
        const int slot = __popc(halves << (warp_lanes - 1 - lane)) - 1;
        const std::uint64_t under = sum_over_warp(begins ? own.samples : 0);  // these high halves
        if (any) {
            plan.rank[lane] = ranks[lane];
            plan.within[lane] = own.within;
            plan.slot[lane] = static_cast<std::uint8_t>(slot);
        }
        if (begins) plan.high[slot] = own.bin;
        if (lane == 0) {
            plan.ranks = wanted;
            plan.selected = __popc(halves);
            narrow = !pooled && minimum_key < maximum_key && under > finite / narrow_part;
        }
    } else if (threadIdx.x == warp_lanes && !pooled) {
        const float minimum = core::key_float(minimum_key), maximum = core::key_float(maximum_key);
        const double pivot = core::middle_of_high_digit(located[wanted].bin, minimum, maximum);
        row.pivot = pivot;
        row.exponent = core::moment_exponent(pivot, minimum, maximum);
    }
    __syncthreads();  // narrow, for all
    if (task.work->refines && narrow && many_values(task, index) && threadIdx.x == 0) task.state().narrow = 1;
}

/// The high halves that hold ranks, of all rows, one after the other.
template <int C>
struct RankedHalves {
    static constexpr int rows = C == 1 ? 1 : core::float_rows;
    int before[rows + 1];  ///< those of the rows before

    __device__ explicit RankedHalves(const Task<C, true>& task) {
        int selected[rows];
#pragma unroll
        for (int row = 0; row < rows; ++row)
            selected[row] = is_ranked<C>(row) ? fresh(task.row(row).ranks.selected) : 0;
        before[0] = 0;
#pragma unroll
        for (int row = 0; row < rows; ++row) before[row + 1] = before[row] + selected[row];
    }
    __device__ int count() const {
        return before[rows];
    }
    struct Place {
        int row, slot;
    };
    __device__ Place operator[](int i) const {
        Place found{0, i};
#pragma unroll
        for (int row = 1; row < rows; ++row)
            if (i >= before[row]) found = {row, i - before[row]};
        return found;
    }
};

/// What the low halves of all of them come to under each middle, by the first `blocks` blocks: a warp sums up four
/// middles at a time, or copies what was counted where they have been.
template <int C>
__device__ __noinline__ void sum_lows(const Task<C, true>& task, int blocks) {
    constexpr int together = 4, of_half = middles / together;
    static_assert(middle_lows * sizeof(Word) == warp_lanes * sizeof(ulonglong2));
    const RankedHalves<C> halves(task);
    const bool narrow = task.narrow();
    const int lane = threadIdx.x % warp_lanes, warps = blockDim.x / warp_lanes;
#pragma unroll 1
    for (int i = blockIdx.x * warps + threadIdx.x / warp_lanes; i < halves.count() * of_half; i += blocks * warps) {
        const auto [row, slot] = halves[i / of_half];
        const std::uint32_t middle = i % of_half * together;
        Word own = 0;
        if (narrow) {
            const MiddleCounts<C> counts(task, row, fresh(task.row(row).ranks.high[slot]));
            if (lane < together) own = counts(middle + lane);
        } else {
            const auto* pairs =
                reinterpret_cast<const ulonglong2*>(task.low(row) + slot * 65536 + middle * middle_lows);
            ulonglong2 pair[together];
#pragma unroll
            for (int m = 0; m < together; ++m) pair[m] = __ldcg(pairs + m * warp_lanes + lane);
#pragma unroll
            for (int m = 0; m < together; ++m)
                if (const Word sum = sum_over_warp(pair[m].x + pair[m].y); lane == m) own = sum;
        }
        if (lane < together) task.summed(row)[slot * middles + middle + lane] = own;
    }
}

/// The order statistics of one row under one high half, so far as they lie in part `part` of `parts` of its middles, by
/// one block; leaves the counts of these middles' low halves zero, which those of no sample are already.
template <int C>
__device__ __noinline__ void finish_ranks(const Task<C, true>& task, int index, int slot, int part, int parts) {
    FloatRow& row = task.row(index);
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
    const std::uint32_t begin = middles * part / parts, end = middles * (part + 1) / parts;
    const SlotRanks ranks(row.ranks, slot);
    const std::uint32_t half = fresh(row.ranks.high[slot]);
    const Word* summed = task.summed(index) + slot * middles;
    Word* lows = task.low(index) + slot * 65536;
    const auto in_middle = [=](std::uint32_t m) { return fresh_word(summed + m); };
    const auto in_low = [=](std::uint32_t low) { return fresh_word(lows + low); };
    for (int r = warp; r < ranks.count; r += warps) {
        const WarpBins<middles / warp_lanes, decltype(in_middle)> bins(in_middle);
        const Located middle = bins.locate(ranks[r]);
        if (middle.bin < begin || middle.bin >= end) continue;
        const std::uint32_t first = middle.bin * middle_lows;
        const Located low = locate_by_warp(in_low, first, first + middle_lows, middle.within);
        if (lane == 0) row.order[ranks.first + r] = core::key_float(half << 16 | low.bin);
    }
    __syncthreads();  // what is cleared has been read
    auto* pairs = reinterpret_cast<ulonglong2*>(lows);
    for (std::uint32_t first = begin + warp * warp_lanes; first < end; first += blockDim.x) {
        const std::uint32_t middle = first + lane;
        std::uint32_t counted = __ballot_sync(0xFFFFFFFFu, middle < end && in_middle(middle) != 0);
        for (; counted != 0; counted &= counted - 1)
            pairs[(first + __ffs(counted) - 1) * warp_lanes + lane] = ulonglong2{};
    }
}

/// All order statistics. Blocks share the high halves, and those of one half its middles.
template <int C>
__device__ void finish_all_ranks(const Task<C, true>& task) {
    const RankedHalves<C> halves(task);
    const int blocks = gridDim.x, parts = max(blocks / max(halves.count(), 1), 1);
    for (int i = blockIdx.x; i < halves.count() * parts; i += blocks) {
        const auto [row, slot] = halves[i / parts];
        finish_ranks(task, row, slot, i % parts, parts);
    }
    if (!task.narrow()) return;
    auto* pairs = reinterpret_cast<ulonglong2*>(task.middle(0));
    const int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < rows_of(C) * 65536 / 2; i += blocks * blockDim.x) pairs[i] = ulonglong2{};
}

}  // namespace
}  // namespace gpuhist::cuda
