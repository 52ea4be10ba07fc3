// Channels of counts that become channels of a result: copied, with the numbers that follow from them.
#pragma once

#include <cstdint>

#include "cuda/block/reduce.cuh"
#include "cuda/results.cuh"

namespace gpuhist::cuda {

/// Threads of a block that copies a channel: a warp for each lane of the one that adds their sums up.
inline constexpr int channel_threads = warp_lanes * warp_lanes;

/// Position in the pixel of a channel's samples; −1: luma.
__device__ inline int position_of(int channel, int channels, bool rgb) {
    if (channels == 1) return 0;
    return channel == luma_channel ? -1 : channel > luma_channel ? 3 : result_channel(channel, channels, rgb);
}

/// Sums of counts, in shared memory.
struct ChannelTotals {
    core::i128 squares[warp_lanes];
    Word samples[warp_lanes], sum[warp_lanes];
    std::uint32_t complement_minimum[warp_lanes], maximum[warp_lanes];
};

/// Copies the counts of a channel of integers, by code, except those for which `left_out(code)` is true, and writes the
/// numbers of the others. Runs on a block of channel_threads; thread 0 writes the numbers.
template <class LeftOut>
__device__ inline void copy_channel(const Common& common, const Word* from, Word* to, ChannelResult& result,
                                    const LeftOut& left_out) {
    __shared__ ChannelTotals totals;
    Word samples = 0, sum = 0;
    core::i128 squares = 0;
    std::uint32_t complement_minimum = 0, maximum = 0;
    for (std::uint32_t code = threadIdx.x; code < common.bins; code += channel_threads) {
        Word n = from[code];
        if (n != 0 && left_out(code)) n = 0;
        to[code] = n;
        if (n == 0) continue;
        samples += n;
        sum += n * code;
        squares += static_cast<core::i128>(n) * (std::uint64_t{code} * code);
        complement_minimum = max(complement_minimum, ~code);
        maximum = max(maximum, code);
    }
    const int warp = threadIdx.x / warp_lanes, lane = threadIdx.x % warp_lanes;
    const auto reduce = [&] {
        samples = reduce_warp(samples, Sum{});
        sum = reduce_warp(sum, Sum{});
        squares = wide_sum_over_warp(squares);
        complement_minimum = max_over_warp(complement_minimum);
        maximum = max_over_warp(maximum);
    };
    reduce();
    if (lane == 0) {
        totals.samples[warp] = samples;
        totals.sum[warp] = sum;
        totals.squares[warp] = squares;
        totals.complement_minimum[warp] = complement_minimum;
        totals.maximum[warp] = maximum;
    }
    __syncthreads();  // all warps' sums
    if (warp != 0) return;
    samples = totals.samples[lane];
    sum = totals.sum[lane];
    squares = totals.squares[lane];
    complement_minimum = totals.complement_minimum[lane];
    maximum = totals.maximum[lane];
    reduce();
    if (lane == 0)
        write_channel(result, common.depth, samples, sum, static_cast<core::u128>(squares), ~complement_minimum,
                      maximum);
}

}  // namespace gpuhist::cuda
