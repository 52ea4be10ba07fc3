// Order statistics of f32 images: the plan between the sweeps, and the values behind the second.
#pragma once

#include <cstdint>

#include "core/float_analysis.hpp"
#include "cuda/floats_counters.cuh"
#include "cuda/floats_middles.cuh"
#include "cuda/floats_state.cuh"
#include "cuda/reduce.cuh"

namespace gpuhist::cuda {
namespace {

/// Finds, among the bins [first, last) counted by `count`, the one that holds each rank, the rank inside it, and the
/// samples in it. Each
/// warp looks after a stretch of bins; where a rank lies in it, each lane after a part of that. By all threads;
/// `scratch` holds a value a warp. Eight counts are asked for at once, since each is far away.
template <class Count>
__device__ void locate(Count count, std::uint32_t first, std::uint32_t last, const std::uint64_t* ranks, int n,
                       std::uint32_t* bins, std::uint64_t* within, std::uint64_t* samples, std::uint64_t* scratch) {
    const std::uint32_t lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;
    const std::uint32_t part = (last - first) / blockDim.x + 1;  // bins of a lane
    const std::uint32_t begin = min(first + warp * part * warp_lanes, last), end = min(begin + part * warp_lanes, last);
    std::uint64_t own = 0, total = 0;
    std::uint64_t counts[8];
    auto eight = [&](std::uint32_t b, std::uint32_t step, std::uint32_t stop) {
#pragma unroll
        for (std::uint32_t i = 0; i < 8; ++i) counts[i] = b + i * step < stop ? count(b + i * step) : 0;
    };
    auto sum_of = [&](std::uint32_t b, std::uint32_t step, std::uint32_t stop) {
        std::uint64_t all = 0;
#pragma unroll 1
        for (; b < stop; b += 8 * step) {
            eight(b, step, stop);
#pragma unroll
            for (std::uint64_t n : counts) all += n;
        }
        return all;
    };
    own = sum_of(begin + lane, warp_lanes, end);
    const std::uint64_t sum = reduce_warp(own, Sum{});
    const std::uint64_t before = scan_warps(sum, scratch, total);
    bool any = false;
    for (int r = 0; r < n; ++r) any = any || (ranks[r] >= before && ranks[r] < before + sum);
    if (any) {
        const std::uint32_t from = min(begin + lane * part, end), to = min(from + part, end);
        own = sum_of(from, 1, to);
        std::uint64_t passed = before + scan_lanes(own) - own;
        const std::uint64_t through = passed + own;
        bool mine = false;
        for (int r = 0; r < n; ++r) mine = mine || (ranks[r] >= passed && ranks[r] < through);
        for (std::uint32_t b = from; mine && b < to; b += 8) {
            eight(b, 1, to);
#pragma unroll
            for (std::uint32_t i = 0; i < 8; ++i) {
                const std::uint64_t next = passed + counts[i];
                for (int r = 0; next != passed && r < n; ++r)
                    if (ranks[r] >= passed && ranks[r] < next) {
                        bins[r] = b + i;
                        within[r] = ranks[r] - passed;
                        samples[r] = counts[i];
                    }
                passed = next;
            }
        }
    }
    __syncthreads();  // bins and within, for all
}

/// What the plan and the finishing of order statistics share.
struct RankScratch {
    std::uint64_t warps[warp_lanes];
    std::uint64_t ranks[core::max_ranks + 1], within[core::max_ranks + 1], samples[core::max_ranks + 1];
    std::uint32_t bins[core::max_ranks + 1];
    int wanted;
    bool narrow;
};

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

/// Ranks, high halves and pivot of one row, by one block. Reads the row's counts of the high halves between its
/// extremes twice.
template <int C>
__device__ __noinline__ void plan_row(const Task<C, true>& task, int index, RankScratch& scratch) {
    const bool pooled = index == core::pooled_row;
    FloatRow& row = task.row(index);
    std::uint64_t finite = 0;
    std::uint32_t first = 0xFFFFu, last = 0;  // high halves
    bool varies = false;
    for (int r = pooled ? 0 : index; r < (pooled ? 3 : index + 1); ++r) {
        const RowFacts facts = facts_of(task, r);
        if (facts.finite == 0) continue;
        finite += facts.finite;
        first = min(first, core::float_key(facts.minimum) >> 16);
        last = max(last, core::float_key(facts.maximum) >> 16);
        varies = varies || facts.minimum < facts.maximum;
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
    auto count = [&](std::uint32_t half) {
        std::uint64_t sum = 0;
#pragma unroll
        for (int r = 0; r < 3; ++r) {
            if (!pooled && r > 0) break;
            sum += fresh_word(task.high(pooled ? r : index) + half);
        }
        return sum;
    };
    __syncthreads();  // scratch may be written again
    if (threadIdx.x == 0) {
        std::uint64_t required[core::max_ranks];
        const Normalization& normalization = task.common().normalization;
        scratch.wanted =
            core::required_ranks(finite, task.work->stretch, normalization.low, normalization.high, required);
        for (int r = 0; r < scratch.wanted; ++r) scratch.ranks[r] = required[r];
        scratch.ranks[scratch.wanted] = finite / 2;  // the median's high half, for the pivot
    }
    __syncthreads();  // ranks, for all
    const int wanted = scratch.wanted;
    locate(count, first, last + 1, scratch.ranks, wanted + 1, scratch.bins, scratch.within, scratch.samples,
           scratch.warps);
    if (threadIdx.x == 0) {
        int selected = 0;
        std::uint64_t under = 0;  // these high halves
        for (int r = 0; r < wanted; ++r) {
            if (r == 0 || scratch.bins[r] != scratch.bins[r - 1]) {
                plan.high[selected++] = scratch.bins[r];
                under += scratch.samples[r];
            }
            plan.rank[r] = scratch.ranks[r];
            plan.within[r] = scratch.within[r];
            plan.slot[r] = static_cast<std::uint8_t>(selected - 1);
        }
        plan.ranks = wanted;
        plan.selected = selected;
        scratch.narrow = !pooled && varies && under > finite / narrow_part;
        if (!pooled) {
            const RowFacts facts = facts_of(task, index);
            const double pivot = core::middle_of_high_half(scratch.bins[wanted], facts.minimum, facts.maximum);
            row.pivot = pivot;
            row.exponent = core::moment_exponent(pivot, facts.minimum, facts.maximum);
        }
    }
    __syncthreads();  // narrow, for all
    if (task.work->refines && scratch.narrow && many_values(task, index) && threadIdx.x == 0) task.state().narrow = 1;
}

/// The order statistics of one row under one high half, by one block; leaves the counts of its low halves zero.
template <int C>
__device__ __noinline__ void finish_ranks(const Task<C, true>& task, int index, int slot, RankScratch& scratch) {
    FloatRow& row = task.row(index);
    const core::RankPlan& plan = row.ranks;
    const int ranks = fresh(plan.ranks);
    int first = 0, end = 0;  // the slot's ranks
    for (int r = 0; r < ranks; ++r) {
        const int of = *static_cast<const volatile std::uint8_t*>(&plan.slot[r]);
        if (of < slot) first = r + 1;
        if (of <= slot) end = r + 1;
    }
    __syncthreads();  // scratch may be written again
    if (static_cast<int>(threadIdx.x) < end - first)
        scratch.ranks[threadIdx.x] = fresh(plan.within[first + threadIdx.x]);
    __syncthreads();  // ranks, for all
    Word* counts = task.low(index) + slot * 65536;
    auto locate_by = [&](auto count) {
        locate(count, 0, 65536, scratch.ranks, end - first, scratch.bins, scratch.within, scratch.samples,
               scratch.warps);
    };
    if (task.narrow()) {  // a middle that is not wanted stands for its low halves
        const MiddleCounts<C> in_middle(task, index, fresh(plan.high[slot]));
        locate_by([&](std::uint32_t b) -> std::uint64_t {
            const std::uint32_t middle = b / middle_lows;
            const bool left_out = b % middle_lows == 0 && !(fresh(row.wanted[slot][middle / 32]) >> middle % 32 & 1);
            return fresh_word(counts + b) + (left_out ? in_middle(middle) : 0);
        });
    } else {
        locate_by([&](std::uint32_t b) -> std::uint64_t { return fresh_word(counts + b); });
    }
    if (static_cast<int>(threadIdx.x) < end - first)
        row.order[first + threadIdx.x] = core::key_float(fresh(plan.high[slot]) << 16 | scratch.bins[threadIdx.x]);
    auto* words = reinterpret_cast<uint4*>(counts);
    for (int i = threadIdx.x; i < 65536 / 2; i += blockDim.x) words[i] = uint4{};
}

}  // namespace
}  // namespace gpuhist::cuda
