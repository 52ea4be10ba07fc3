// Selection of f32 order statistics: the plan between the sweeps, and the values behind the second.
#pragma once

#include "cuda/block/rank_search.cuh"
#include "cuda/float/middle_digits.cuh"

namespace gpuhist::cuda {
namespace {

/// Finds the ranks that n > 0 samples need, ascending, each once; returns how many. By a warp.
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

/// Plans ranks, high digits and pivot of one row, by its counts of the high digits between its extremes. By a block.
template <int C>
__device__ __noinline__ void plan_row(const Task<C, true>& task, int index) {
    __shared__ std::uint64_t ranks[core::max_ranks + 1];
    __shared__ Located located[core::max_ranks + 1];
    __shared__ int wanted;
    __shared__ std::uint64_t under;  // samples under the high digits wanted
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
            ranks[different] = finite / 2;  // the median's high digit, for the pivot
        }
    }
    __syncthreads();  // ranks, for all
    const auto locate_by = [&](auto count) {
        locate(count, minimum_key >> 16, (maximum_key >> 16) + 1, ranks, wanted + 1, located,
               reinterpret_cast<std::uint64_t*>(dynamic_shared));
    };
    const Word* counts = task.high(pooled ? 0 : index);
    const auto of_row = [=](std::uint32_t digit) -> std::uint64_t { return fresh_word(counts + digit); };
    if (pooled)
        locate_by(
            [=](std::uint32_t digit) { return of_row(digit) + of_row(65536 + digit) + of_row(2 * 65536 + digit); });
    else
        locate_by(of_row);
    if (threadIdx.x < warp_lanes) {
        const bool any = lane < wanted;
        const Located& own = located[any ? lane : 0];
        const bool begins = any && (lane == 0 || own.bin != located[lane - 1].bin);
        const std::uint32_t digits = __ballot_sync(0xFFFFFFFFu, begins);
        const int slot = __popc(digits << (warp_lanes - 1 - lane)) - 1;
        const std::uint64_t samples = sum_over_warp(begins ? own.samples : 0);
        if (any) {
            plan.rank[lane] = ranks[lane];
            plan.within[lane] = own.within;
            plan.slot[lane] = static_cast<std::uint8_t>(slot);
        }
        if (begins) plan.high[slot] = own.bin;
        if (lane == 0) {
            plan.ranks = wanted;
            plan.selected = __popc(digits);
            under = samples;
        }
    } else if (threadIdx.x == warp_lanes && !pooled) {
        const float minimum = core::key_float(minimum_key), maximum = core::key_float(maximum_key);
        const double pivot = core::middle_of_high_digit(located[wanted].bin, minimum, maximum);
        row.pivot = pivot;
        row.exponent = core::moment_exponent(pivot, minimum, maximum);
    }
    __syncthreads();  // under, for all
    if (!pooled && minimum_key < maximum_key) find_clustered(task, index, under, finite);
}

/// High digits that hold ranks, of all rows, one after the other.
template <int C>
struct RankedDigits {
    static constexpr int rows = C == 1 ? 1 : core::float_rows;
    int before[rows + 1];  ///< how many the rows before have

    __device__ explicit RankedDigits(const Task<C, true>& task) {
        before[0] = 0;
#pragma unroll
        for (int row = 0; row < rows; ++row)
            before[row + 1] = before[row] + (is_ranked<C>(row) ? fresh(task.row(row).ranks.selected) : 0);
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

/// Sums up the low digits of all of them under each middle digit, by the first `blocks` blocks: a warp four middle
/// digits at a time, or copies what was counted of a clustered image.
template <int C>
__device__ __noinline__ void sum_low_digits(const Task<C, true>& task, int blocks) {
    constexpr int together = 4, of_digit = middle_digits / together;
    static_assert(lows_of_middle * sizeof(Word) == warp_lanes * sizeof(ulonglong2));
    const RankedDigits<C> digits(task);
    const bool clustered = is_clustered(task);
    const int lane = threadIdx.x % warp_lanes, warps = blockDim.x / warp_lanes;
#pragma unroll 1
    for (int i = blockIdx.x * warps + threadIdx.x / warp_lanes; i < digits.count() * of_digit; i += blocks * warps) {
        const auto [row, slot] = digits[i / of_digit];
        const std::uint32_t middle = i % of_digit * together;
        Word own = 0;
        if (clustered) {
            const MiddleDigitCounts<C> counts(task, row, fresh(task.row(row).ranks.high[slot]));
            if (lane < together) own = counts(middle + lane);
        } else {
            const auto* pairs =
                reinterpret_cast<const ulonglong2*>(task.low(row) + slot * 65536 + middle * lows_of_middle);
            ulonglong2 pair[together];
#pragma unroll
            for (int m = 0; m < together; ++m) pair[m] = __ldcg(pairs + m * warp_lanes + lane);
#pragma unroll
            for (int m = 0; m < together; ++m)
                if (const Word sum = sum_over_warp(pair[m].x + pair[m].y); lane == m) own = sum;
        }
        if (lane < together) task.summed(row)[slot * middle_digits + middle + lane] = own;
    }
}

/// Finds the order statistics of one row under one high digit, so far as they lie in part `part` of `parts` of its
/// middle digits, and clears the counts of these middle digits' low digits. By a block.
template <int C>
__device__ __noinline__ void finish_ranks(const Task<C, true>& task, int index, int slot, int part, int parts) {
    FloatRow& row = task.row(index);
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
    const std::uint32_t begin = middle_digits * part / parts, end = middle_digits * (part + 1) / parts;
    const SlotRanks ranks(row.ranks, slot);
    const std::uint32_t digit = fresh(row.ranks.high[slot]);
    const Word* summed = task.summed(index) + slot * middle_digits;
    Word* lows = task.low(index) + slot * 65536;
    const auto in_middle = [=](std::uint32_t m) { return fresh_word(summed + m); };
    const auto in_low = [=](std::uint32_t low) { return fresh_word(lows + low); };
    for (int r = warp; r < ranks.count; r += warps) {
        const WarpBins<middle_digits / warp_lanes, decltype(in_middle)> bins(in_middle);
        const Located middle = bins.locate(ranks[r]);
        if (middle.bin < begin || middle.bin >= end) continue;
        const std::uint32_t first = middle.bin * lows_of_middle;
        const Located low = locate_by_warp(in_low, first, first + lows_of_middle, middle.within);
        if (lane == 0) row.order[ranks.first + r] = core::key_float(digit << 16 | low.bin);
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

/// Finds all order statistics. Blocks share the high digits, and those of one digit its middle digits.
template <int C>
__device__ void finish_all_ranks(const Task<C, true>& task) {
    const RankedDigits<C> digits(task);
    const int blocks = gridDim.x, parts = max(blocks / max(digits.count(), 1), 1);
    for (int i = blockIdx.x; i < digits.count() * parts; i += blocks) {
        const auto [row, slot] = digits[i / parts];
        finish_ranks(task, row, slot, i % parts, parts);
    }
    clear_middle_digits(task);
}

/// Order statistic at a nearest rank that was asked for.
__device__ inline float order_statistic(const FloatRow& row, double percent, std::uint64_t finite) {
    const std::uint64_t rank = core::nearest_rank(percent, finite) - 1;
    const int ranks = fresh(row.ranks.ranks);
    int at = 0;
#pragma unroll
    for (int r = 0; r < core::max_ranks; ++r)
        if (fresh_word(reinterpret_cast<const Word*>(&row.ranks.rank[r])) == rank && r < ranks) at = r;
    return fresh(row.order[at]);
}

}  // namespace
}  // namespace gpuhist::cuda
