// Copies of u8 and u16 images with excluded samples: LUTs from the counts of a result, and the writing.

#include <type_traits>

#include "cuda/block/reduce.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/normalize/lut.cuh"
#include "cuda/normalize/valid_copy.cuh"
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

/// Kernel that builds an image's LUTs from the counts of its result, and publishes that. Launch: lut_blocks.
template <typename T, int C>
__global__ void __launch_bounds__(lut_threads)
    lut_kernel(const __grid_constant__ Common common, std::uint32_t each, std::uint32_t* arrived) {
    __shared__ Word pages[measured_channels(C)][pages_of<T>];
    __shared__ TableRoom room[3];
    __shared__ core::Line<T> lines[3];
    __shared__ bool last;
    const ResultCounts<T, C> counts{common, each, pages};
    core::with_mode(common.normalization.mode, [&](auto mode) {
        using Mode = decltype(mode);
        if constexpr (sizeof(T) > 1 && needs_pages(traits_of(Mode::mode).needs)) {
            const LutChannels<C> channels(common.normalization, traits_of(Mode::mode).joint_by_luma, 0);
            const int end = channels.first == luma_channel ? luma_channel + 1 : colors_of(C);
            for (int channel = channels.first; channel < end; ++channel)
                add_up_pages<T>(counts_of(common, 0, counts.channel_of(channel)), pages[channel]);
            __syncthreads();  // the pages, for all
        }
        build_luts<Mode, T, C>(common.normalization, counts, room, lines, luts_of<Written<Mode, T>>(common, 0),
                               static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x), common.levels);
    });
    if (arrive_last(arrived, gridDim.x, &last) && threadIdx.x == 0) publish(result_of(common, 0));
}

template <typename T>
void launch_luts(const Common& common, int channels, std::uint32_t each, std::uint32_t* arrived, const Launch& launch) {
    const LaunchConfiguration configuration{lut_blocks<T>, lut_threads, 0, 1};
    if (channels == 1)
        launch_kernel(launch, lut_kernel<T, 1>, false, configuration, common, each, arrived);
    else
        launch_kernel(launch, lut_kernel<T, 3>, false, configuration, common, each, arrived);
}

/// Kernel of a copy by LUTs. Launch: any grid. Bytes: each pixel is read once, and written once.
template <typename T, typename O, int C>
__global__ void __launch_bounds__(copy_threads) lut_copy_kernel(const __grid_constant__ ValidCopy p) {
    const O* luts = luts_of<O>(p.common, 0);
    const int stride = lut_count(C, p.common.normalization) > 1 ? 1 << 8 * sizeof(T) : 0;
    write_copy<C, T, O>(p, [&](const T(&pixel)[C], O(&written)[C]) {
#pragma unroll
        for (int c = 0; c < C; ++c)
            written[c] = c == 3 ? static_cast<O>(pixel[c]) : __ldg(luts + c * stride + pixel[c]);
    });
}

template <typename T>
void launch_copy(const ValidCopy& copy, int channels, const Launch& launch) {
    with_output<T>(copy.common, [&](auto* output) {
        using O = std::remove_pointer_t<decltype(output)>;
        if constexpr (!std::is_void_v<O>)
            with_channels(channels, [&](auto c) {
                launch_kernel(launch, lut_copy_kernel<T, O, c()>, false, copy_configuration(copy.image), copy);
            });
    });
}

}  // namespace

void launch_valid_luts(const Common& common, int channels, std::uint32_t each, std::uint32_t* arrived,
                       const Launch& launch) {
    if (sample_bytes(common.depth) == 1)
        launch_luts<std::uint8_t>(common, channels, each, arrived, launch);
    else
        launch_luts<std::uint16_t>(common, channels, each, arrived, launch);
}

void launch_valid_copy(const ValidCopy& copy, int channels, const Launch& launch) {
    if (sample_bytes(copy.common.depth) == 1)
        launch_copy<std::uint8_t>(copy, channels, launch);
    else
        launch_copy<std::uint16_t>(copy, channels, launch);
}

}  // namespace gpuhist::cuda
