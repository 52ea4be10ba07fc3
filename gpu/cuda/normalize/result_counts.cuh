// Counts of a result, as build_luts asks for them.
#pragma once

#include "cuda/block/reduce.cuh"
#include "cuda/normalize/lut.cuh"
#include "cuda/results.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int lut_threads = 1024;

/// Blocks that build the LUTs of an image: of 16 bits each adds up the pages for itself.
template <typename T>
constexpr int lut_blocks = sizeof(T) == 1 ? 1 : 16;

/// Pages of the values of a type, see page_values.
template <typename T>
constexpr int pages_of = (1 << 8 * sizeof(T)) / page_values;

/// Counts of a result, as build_luts asks for them. Alpha, which has no LUT, is not among the C channels.
template <typename T, int C>
struct ResultCounts {
    const Common& common;
    std::uint32_t each;                ///< weight of a sample in the counts
    const Word (*pages)[pages_of<T>];  ///< in shared memory, of the channels that decide

    __device__ int channel_of(int channel) const { return counted_channel(channel, C, common.rgb); }
    __device__ Word count(int channel, int value) const {
        return counts_of(common, 0, channel_of(channel))[value] / each;
    }
    __device__ Word count_page(int channel, int page) const { return pages[channel][page] / each; }
    __device__ LutNumbers numbers(const LutChannels<C>& channels) const {
        LutNumbers numbers{(1u << 8 * sizeof(T)) - 1, 0, 0, 0, 0};
        for (int c = channels.first; c < channels.first + (channels.together ? 3 : 1); ++c) {
            const ChannelResult& channel = result_of(common, 0)->channels[channel_of(c)];
            if (channel.samples == 0) continue;  // it has no extremes
            numbers.low = min(numbers.low, static_cast<std::uint32_t>(channel.minimum));
            numbers.high = max(numbers.high, static_cast<std::uint32_t>(channel.maximum));
            numbers.samples += channel.weight ? channel.weight : channel.samples;
            numbers.sum += channel.sum;
            numbers.squares += static_cast<core::u128>(core::from_public(channel.sum_squares));
        }
        numbers.samples /= each;
        numbers.sum /= each;
        numbers.squares /= each;
        // Channels without samples appear as a single value, mean 0 and std 1: every mode leaves values as they are.
        if (numbers.samples == 0) return {0, 0, 1, 0, 1};
        return numbers;
    }
};

/// Adds up the samples of each page of a channel. By a block.
template <typename T>
__device__ inline void add_up_pages(const Word* counts, Word (&pages)[pages_of<T>]) {
    const int lane = threadIdx.x % warp_lanes;
    for (int page = threadIdx.x / warp_lanes; page < pages_of<T>; page += lut_threads / warp_lanes) {
        Word own = 0;
#pragma unroll
        for (int k = 0; k < page_values / warp_lanes; ++k) own += counts[page * page_values + k * warp_lanes + lane];
        own = reduce_warp(own, Sum{});
        if (lane == 0) pages[page] = own;
    }
}

}  // namespace
}  // namespace gpuhist::cuda
