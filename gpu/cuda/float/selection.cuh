// Selection of f32 order statistics: behind each sweep a digit of every rank, under which the next sweep counts.
#pragma once

#include "cuda/block/rank_search.cuh"
#include "cuda/float/digits.cuh"

namespace gpuhist::cuda {
namespace {

/// Counts of a level's digits under one prefix, of a channel, or of the pooled channel's colors together. A warp holds
/// them.
template <int C, int level>
struct DigitCounts {
    const Word* counts[3] = {};
    std::uint32_t prefix;

    __device__ DigitCounts(const Task<C, true>& task, int index, std::uint32_t under) : prefix(under) {
        const bool pooled = index == core::pooled_channel;
#pragma unroll
        for (int i = 0; i < 3; ++i) {
            const int channel = pooled ? i : index;
            if (i > 0 && !pooled) break;
            const int slot = level == 0 ? 0 : WantedPrefixes<C>(task, channel, level).slot_of(prefix);
            counts[i] = task.template digits<level>(channel, slot);
        }
    }
    /// Locates a rank among lines, and in one among digits, in the order of keys.
    __device__ Located locate(std::uint64_t rank) const {
        const auto line = [this](auto i) { return sum(digit_values<level> + place(i * warp_lanes) / warp_lanes); };
        const auto digit = [this](auto i) { return sum(place(i)); };
        const Located found = locate_by_warp(line, 0, digit_values<level> / warp_lanes, rank);
        const std::uint32_t first = found.bin * warp_lanes;
        return locate_by_warp(digit, first, first + warp_lanes, found.within);
    }
    __device__ std::uint32_t place(std::uint32_t digit) const {
        return as_in_value(prefix << digit_bits<level> | digit, 32 - bits_below<level>) % digit_values<level>;
    }
    __device__ std::uint64_t sum(std::uint32_t at) const {
        Word sum = fresh_word(counts[0] + at);
        if (C > 1 && counts[1]) sum += fresh_word(counts[1] + at) + fresh_word(counts[2] + at);
        return sum;
    }
};

/// Locates a channel's ranks; at level 1 its pivot too, from the median's high digit of 16 bits. By a block: a warp per
/// rank.
template <int level, int C>
__device__ __noinline__ void locate_channel(const Task<C, true>& task, int index) {
    const bool pooled = index == core::pooled_channel;
    const int lane = threadIdx.x % warp_lanes, warps = blockDim.x / warp_lanes;
    F32Channel& channel = task.channel(index);
    Selection& to = channel.selection;
    const std::uint64_t finite = level == 0 ? task.finite_samples(index) : 0;
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
            const ChannelFacts facts = task.facts(index);
            const std::uint32_t high = prefix >> (16 - bits_below<level>);
            channel.pivot = facts.finite == 0 ? 0 : core::middle_of_high_digit(high, facts.minimum, facts.maximum);
            channel.exponent = core::moment_exponent(channel.pivot, facts.minimum, facts.maximum);
        }
    }
    __syncwarp();
}

/// Locates all channels' ranks. The channels are dealt to all blocks.
template <int level, int C>
__device__ void locate(const Task<C, true>& task) {
    for (int channel = blockIdx.x; channel < core::float_channels; channel += gridDim.x)
        if (task.is_ranked(channel)) locate_channel<level>(task, channel);
}

/// Order statistic r of a channel, see core::required_rank.
__device__ inline float order_statistic(const F32Channel& channel, int r) {
    return core::key_float(fresh(channel.selection.prefix[levels - 1][r]));
}

}  // namespace
}  // namespace gpuhist::cuda
