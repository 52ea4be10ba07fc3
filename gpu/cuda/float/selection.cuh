// Selection of f32 order statistics: behind each sweep the digit of every rank, and so the prefix that the next sweep
// counts under; behind the last the keys.
#pragma once

#include "cuda/block/rank_search.cuh"
#include "cuda/float/digits.cuh"

namespace gpuhist::cuda {
namespace {

/// Counts of a level's digits under one prefix, of a row, or of the pooled row: those of its colors together. A warp
/// holds them.
template <int C, int level>
struct DigitCounts {
    const Word* counts[3] = {};
    std::uint32_t prefix;

    /// Counts, in the order of keys, of a digit, and of a line.
    __device__ std::uint64_t digit(std::uint32_t i) const { return sum(place(i)); }
    __device__ std::uint64_t line(std::uint32_t i) const {
        return sum(digit_values<level> + place(i * warp_lanes) / warp_lanes);
    }
    __device__ Located locate(std::uint64_t rank) const {
        const Located found =
            locate_by_warp([this](std::uint32_t i) { return line(i); }, 0, digit_values<level> / warp_lanes, rank);
        const std::uint32_t first = found.bin * warp_lanes;
        return locate_by_warp([this](std::uint32_t i) { return digit(i); }, first, first + warp_lanes, found.within);
    }

    __device__ std::uint32_t place(std::uint32_t digit) const {
        return as_in_value(prefix << digit_bits<level> | digit, 32 - bits_below<level>) % digit_values<level>;
    }
    __device__ std::uint64_t sum(std::uint32_t at) const {
        Word sum = fresh_word(counts[0] + at);
        if (C > 1 && counts[1]) sum += fresh_word(counts[1] + at) + fresh_word(counts[2] + at);
        return sum;
    }

    __device__ DigitCounts(const Task<C, true>& task, int index, std::uint32_t under) : prefix(under) {
        const bool pooled = index == core::pooled_row;
#pragma unroll
        for (int i = 0; i < 3; ++i) {
            const int row = pooled ? i : index;
            if (i > 0 && !pooled) break;
            const int slot = level == 0 ? 0 : WantedPrefixes<C>(task, row, level).slot_of(prefix);
            counts[i] = task.template digits<level>(row, slot);
        }
    }
};

/// Locates the ranks of one row among a level's digits; among second digits the pivot, too, from the median's sixteen
/// upper bits. By a block: a warp a rank.
template <int level, int C>
__device__ __noinline__ void locate_row(const Task<C, true>& task, int index) {
    const bool pooled = index == core::pooled_row;
    const int lane = threadIdx.x % warp_lanes, warps = blockDim.x / warp_lanes;
    FloatRow& row = task.row(index);
    Selection& to = row.selection;
    const std::uint64_t finite = level == 0 ? finite_samples(task, index) : 0;
    for (int r = threadIdx.x / warp_lanes; r < located_ranks; r += warps) {
        std::uint32_t prefix = 0;
        std::uint64_t rank;
        if constexpr (level == 0) {
            rank = r == median ? finite / 2 : core::required_rank(r, finite, task.work->ranks);
        } else {
            prefix = fresh(to.prefix[level - 1][r]);
            rank = fresh(to.within[r]);
        }
        const Located found = DigitCounts<C, level>(task, index, prefix).locate(rank);
        if (lane != 0) continue;
        prefix = prefix << digit_bits<level> | found.bin;
        if (level == 0) to.rank[r] = rank;
        to.within[r] = found.within;
        to.prefix[level][r] = prefix;
        if constexpr (level == 1) {
            if (r != median || pooled) continue;
            const RowFacts facts = facts_of(task, index);
            const std::uint32_t high = prefix >> (16 - bits_below<level>);
            row.pivot = facts.finite == 0 ? 0 : core::middle_of_high_digit(high, facts.minimum, facts.maximum);
            row.exponent = core::moment_exponent(row.pivot, facts.minimum, facts.maximum);
        }
    }
    __syncwarp();
}

/// Locates all rows' ranks. Blocks share the rows.
template <int level, int C>
__device__ void locate(const Task<C, true>& task) {
    for (int row = blockIdx.x; row < core::float_rows; row += gridDim.x)
        if (is_ranked<C>(row)) locate_row<level>(task, row);
}

/// Order statistic r of a row, see core::required_rank.
__device__ inline float order_statistic(const FloatRow& row, int r) {
    return core::key_float(fresh(row.selection.prefix[levels - 1][r]));
}

}  // namespace
}  // namespace gpuhist::cuda
