// Weights: a sweep that adds up the weights of samples, value by value, and the result from these sums.

#include "cuda/rules/weights.hpp"

#include <type_traits>

#include "core/codes.hpp"
#include "core/luma.hpp"
#include "cuda/host/launcher.cuh"
#include "cuda/pixels/walk.cuh"
#include "cuda/results.cuh"
#include "cuda/rules/channel.cuh"
#include "cuda/rules/pixel_classes.cuh"

namespace gpuhist::cuda {
namespace {

/// Sums of samples of 8 bits are kept in shared memory, those of 16 bits in device memory.
template <class Sample>
constexpr bool in_shared = sizeof(Sample) == 1;
template <class Sample>
constexpr int threads = in_shared<Sample> ? block_threads : 256;

constexpr int values_of_byte = 256;
/// Rounds of a block, one pixel per thread, after which its sums of 32 bits go to those of 64.
constexpr int rounds_of_sums = (1 << 24) / threads<std::uint8_t>;
static_assert(std::uint64_t{rounds_of_sums} * threads<std::uint8_t> * 255 < std::uint64_t{1} << 32);

/// Adds the sums of a block in shared memory, which have several columns, to those in device memory, and clears them.
/// By all threads, after a barrier. Lanes begin at different columns, which are in different banks.
__device__ inline void move_sums(std::uint32_t* sums, int count, int columns_log2, Word* to) {
    const unsigned columns = 1u << columns_log2;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
        Word weight = 0;
        for (unsigned column = 0; column < columns; ++column) {
            std::uint32_t& one = sums[(i << columns_log2) + ((column + threadIdx.x) & (columns - 1))];
            weight += one;
            one = 0;
        }
        if (weight != 0) global_add(to + i, weight);
    }
}

/// Adds samples of 16 bits to a channel's sums in device memory, by all of a warp: at once where the valid ones are
/// equal, since one sum takes one addition after the other.
__device__ inline void add_weights(Word* sums, bool counts, std::uint32_t code, std::uint32_t weight) {
    const unsigned lanes = __ballot_sync(0xFFFFFFFFu, counts);
    if (lanes == 0) return;
    const int first = __ffs(static_cast<int>(lanes)) - 1;
    const std::uint32_t common = __shfl_sync(0xFFFFFFFFu, code, first);
    if (__all_sync(0xFFFFFFFFu, !counts || code == common)) {
        const std::uint32_t all = narrow_sum_over_warp(counts ? weight : 0);
        if (static_cast<int>(threadIdx.x % warp_lanes) == first) global_add(sums + common, Word{all});
    } else if (counts) {
        global_add(sums + code, Word{weight});
    }
}

/// Kernel of the sums of weights: one thread per pixel. Launch: any grid; for 8 bits, with shared memory for `1 <<
/// columns_log2` columns of sums. Each lane adds to one column. Bytes: each pixel is read once. Limit: fewer than 2^32
/// pixels per block.
template <class Sample, int C>
__global__ void __launch_bounds__(threads<Sample>)
    weight_kernel(const __grid_constant__ WeightParameters p, int columns_log2) {
    __shared__ BlockClassSums classes;
    const int channels = p.channel_count, colors = channels == 1 ? 1 : 3, sums = channels * values_of_byte;
    const std::int64_t pixels = p.image.pixels(), step = std::int64_t{gridDim.x} * threads<Sample>;
    const bool rgb = p.common.rgb;
    std::uint32_t* const column = dynamic_shared + threadIdx.x % (1u << columns_log2);
    classes.clear();
    if constexpr (in_shared<Sample>)
        for (int i = static_cast<int>(threadIdx.x); i < sums << columns_log2; i += threads<Sample>)
            dynamic_shared[i] = 0;
    __syncthreads();  // clear sums
    const auto add = [&](int channel, bool counts, std::uint32_t code, std::uint32_t weight) {
        if constexpr (!in_shared<Sample>)
            add_weights(p.counts + std::int64_t{channel} * p.common.bins, counts, code, weight);
        else if (counts)
            atomicAdd(column + ((channel * values_of_byte + static_cast<int>(code)) << columns_log2), weight);
    };
    int rounds = 0;
    for (std::int64_t begin = std::int64_t{blockIdx.x} * threads<Sample>; begin < pixels; begin += step) {
        const std::int64_t i = begin + threadIdx.x;
        const bool in = i < pixels;
        const std::int64_t y = in && p.image.height > 1 ? divide(i, p.image.width) : 0, x = i - y * p.image.width;
        const auto* pixel =
            reinterpret_cast<const Sample*>(static_cast<const char*>(p.image.data) + y * p.image.row_bytes) + x * C;
        core::Code<Sample> code[C] = {};
        if (in)
#pragma unroll
            for (int c = 0; c < C; ++c) code[c] = core::code_of(pixel[c]);
        const PixelClasses of(p.rules, in && p.mask.keeps(x, y), pixel);
        classes.add(of, C, p.luma_bits);
        const std::uint32_t weight = p.opaque != 0 ? p.opaque : code[C - 1];
#pragma unroll
        for (int c = 0; c < (C == 1 ? 1 : 3); ++c)
            if (c < colors) add(c, of.valid_at(c), code[c], weight);
        if constexpr (C > 1)
            if (channels > 1)
                add(luma_channel, of.unmasked && (of.nodata & p.luma_bits) == 0,
                    core::luma_code<Sample>(rgb ? code[0] : code[2], code[1], rgb ? code[2] : code[0]), weight);
        if constexpr (C > 3)
            if (channels > luma_channel + 1) add(luma_channel + 1, of.valid_at(3), code[3], weight);
        if constexpr (in_shared<Sample>)
            if (++rounds == rounds_of_sums) {
                rounds = 0;
                __syncthreads();  // sums that are full
                move_sums(dynamic_shared, sums, columns_log2, p.counts);
                __syncthreads();  // clear sums
            }
    }
    __syncthreads();  // all sums
    if constexpr (in_shared<Sample>) move_sums(dynamic_shared, sums, columns_log2, p.counts);
    classes.add_to(p.sums);
}

/// Kernel of the result. Launch: one block per channel; the last to end publishes it.
__global__ void __launch_bounds__(channel_threads) weighted_result_kernel(const __grid_constant__ WeightParameters p) {
    __shared__ bool last;
    const Common& common = p.common;
    const int c = static_cast<int>(blockIdx.x), channels = p.channel_count == 1 ? 1 : p.rules.channels,
              position = position_of(c, channels, common.rgb);
    const Word* counts = p.counts + std::int64_t{result_channel(c, channels, common.rgb)} * common.bins;
    ImageResult& to = *result_of(common, 0);
    ChannelResult& channel = to.channels[c];
    copy_channel(common, counts, counts_of(common, 0, c), channel, [](std::uint32_t) { return false; });
    if (threadIdx.x == 0) {
        channel.nodata = position < 0 ? p.sums->color_nodata : p.sums->nodata[position];
        channel.weight = channel.samples;  // of which the channel's counts are sums
        channel.samples = p.sums->unmasked - channel.nodata;
        if (c == 0) {
            write_header(common, 0, p.image.pixels(), p.channel_count);
            to.luma_counted = common.report_luma && p.channel_count > 1;
            to.weighted = true;
        }
    }
    const bool complete = common.layout.tables_offset == 0;
    if (arrive_last(p.arrived, gridDim.x, &last) && threadIdx.x == 0 && complete) publish(&to);
}

}  // namespace

void launch_weights(const WeightParameters& parameters, const Launch& launch) {
    const std::int64_t pixels = parameters.image.pixels();
    with_depth(parameters.common.depth, [&](auto sample) {
        using Sample = decltype(sample);
        if constexpr (std::is_integral_v<Sample> && sizeof(Sample) <= 2)
            with_channels(parameters.rules.channels, [&](auto channels) {
                LaunchConfiguration configuration{blocks_for(pixels, threads<Sample>), threads<Sample>, 0, 8};
                int columns = 0;
                if constexpr (in_shared<Sample>) {
                    const std::size_t bytes =
                        static_cast<std::size_t>(parameters.channel_count) * values_of_byte * sizeof(std::uint32_t);
                    columns = replicas_log2(launch, bytes);
                    configuration = {blocks_for(pixels, u8_pixels_per_block), threads<Sample>, bytes << columns};
                }
                launch_kernel(launch, weight_kernel<Sample, decltype(channels)::value>, false, configuration,
                              parameters, columns);
            });
    });
    launch_kernel(launch, weighted_result_kernel, false,
                  LaunchConfiguration{parameters.channel_count, channel_threads, 0, 1}, parameters);
}

}  // namespace gpuhist::cuda
