// 16-bit images: the kernel of a single image, a batch or a list, and of a single image with a mask.
#pragma once

#include <algorithm>

#include "cuda/histogram/u16_merge.cuh"

namespace gpuhist::cuda {
namespace {

/// Counts of an image in device memory, as build_luts asks for them.
template <int C>
struct ImageCounts {
    const Common& common;
    std::int64_t image;
    const Word (*pages)[page_count];

    __device__ int channel_of(int channel) const { return counted_channel(channel, C, common.rgb); }
    __device__ Word count(int channel, int value) const {
        return __ldcg(counts_of(common, image, channel_of(channel)) + value);
    }
    __device__ Word count_page(int channel, int page) const { return __ldcg(&pages[channel][page]); }
    __device__ LutNumbers numbers(const LutChannels<C>& channels) const {
        LutNumbers numbers{values - 1, 0, 0, 0, 0};
        for (int c = channels.first; c < channels.first + (channels.together ? 3 : 1); ++c) {
            const ChannelResult& channel = result_of(common, image)->channels[channel_of(c)];
            numbers.low = min(numbers.low, static_cast<std::uint32_t>(__ldcg(&channel.minimum)));
            numbers.high = max(numbers.high, static_cast<std::uint32_t>(__ldcg(&channel.maximum)));
            numbers.samples += __ldcg(&channel.samples);
            numbers.sum += __ldcg(&channel.sum);
            numbers.squares += static_cast<core::u128>(
                core::from_public({__ldcg(&channel.sum_squares.low), __ldcg(&channel.sum_squares.high)}));
        }
        return numbers;
    }
};
/// Calls `function` with a mode and a sample of its copies. A mode that writes u16 may write u8 instead.
template <class Function>
__device__ inline void with_written(const KernelNormalization& normalization, const Function& function) {
    core::with_mode(normalization.mode, [&](auto mode) {
        using O = Written<decltype(mode), std::uint16_t>;
        if constexpr (std::is_same_v<O, std::uint16_t>)
            if (normalization.copies == Depth::u8) return function(mode, std::uint8_t{});
        function(mode, O{});
    });
}
/// Builds an image's LUTs by `blocks` blocks, this one with the given rank.
template <int C>
__device__ __noinline__ void make_luts(const Common& common, std::int64_t i, const Word (*pages)[page_count],
                                       core::Line<std::uint16_t>* lines, int rank, int blocks) {
    __shared__ TableRoom room[3];
    with_written(common.normalization, [&](auto mode, auto sample) {
        build_luts<decltype(mode), std::uint16_t, C>(common.normalization, ImageCounts<C>{common, i, pages}, room,
                                                     lines, luts_of<decltype(sample)>(common, i), rank, blocks);
    });
}

/// Steps of u16_kernel.
template <int C, class L, class Images, class OfImage>
struct U16Steps {
    using Counters = typename L::Counters;
    using HotBins = typename L::HotBins;
    const Images& images;
    const CountParameters& p;
    ChannelSums* sums;                 ///< of the image's channels, in shared memory, as the next two
    core::Line<std::uint16_t>* lines;  ///< one per color, of the image that is normalized
    bool* carried;                     ///< whether any counter wrapped
    int channels = C == 1 ? 1 : C + p.count_luma;
    U16Workspace<L>& workspace = *static_cast<U16Workspace<L>*>(p.workspace);

    __device__ bool alone(std::int64_t i) const { return images.image(i).pixels() <= p.alone_pixels; }
    __device__ std::int64_t units(std::int64_t i) const { return images.units_before(i + 1) - images.units_before(i); }
    /// Analyzes an image by this block alone.
    __device__ void do_alone(std::int64_t i) const {
        const Image image = images.image(i);
        BlockPartial<L>& partial = workspace.blocks[blockIdx.x];
        if (threadIdx.x < 5) sums[threadIdx.x] = ChannelSums{};
        for (int role = 0; role < L::roles; ++role) {
            count(role, image, dealt(units(i), 0, 1), partial);
            for (int channel = role * L::channels; channel < min((role + 1) * L::channels, channels); ++channel) {
                const int at = channel - role * L::channels;
                ChannelSums own = write_counts<C, L>(p.common, dynamic_shared + at * Counters::words,
                                                     *carried ? partial.carries[at] : nullptr,
                                                     counts_of(p.common, i, counted_channel(channel, C, p.common.rgb)));
                own.reduce_over_warp();
                if (threadIdx.x % warp_lanes == 0) own.add_to(sums[channel]);
            }
            __syncthreads();  // the counters and the flag may be written again
        }
        write_channels<C>(p, i, image.pixels(), sums);
        __syncthreads();
        if (p.common.normalize) {
            for (int channel = 0; needs_pages(p.common.needs) && channel < channels; ++channel)
                write_pages(counts_of(p.common, i, counted_channel(channel, C, p.common.rgb)), partial.pages[channel]);
            __syncthreads();  // the pages, for all
            make_luts<C>(p.common, i, partial.pages, lines, 0, 1);
        }
        __syncthreads();
        if (threadIdx.x == 0) publish(result_of(p.common, i));
        if (p.common.normalize) apply(i, 0, 1);
        __syncthreads();  // shared memory may be written again
    }
    // Images of all blocks together: count, merge, normalize, with all blocks at the same step.
    __device__ void count_shared(std::int64_t i) const {
        const int role = Crew::role_of(blockIdx.x, L::roles, p.count_luma);
        const Crew crew(role, L::roles, p.count_luma);
        const int rank = crew.rank(blockIdx.x);
        BlockPartial<L>& carrier = workspace.blocks[crew.block(rank % carriers)];
        if (threadIdx.x < 5) sums[threadIdx.x] = ChannelSums{};
        if (blockIdx.x == 0 && p.common.normalize)  // before any block adds to them
            for (int k = threadIdx.x; k < 5 * page_count; k += blockDim.x)
                workspace.blocks[0].pages[k / page_count][k % page_count] = 0;
        count(role, images.image(i), dealt(units(i), rank, crew.blocks()), carrier);
        auto* to = reinterpret_cast<uint4*>(workspace.blocks[blockIdx.x].words);
        const auto* from = reinterpret_cast<const uint4*>(dynamic_shared);
        for (int w = threadIdx.x; w < L::counter_words / 4; w += blockDim.x) to[w] = from[w];
        if (threadIdx.x != 0) return;
        if (*carried) carrier.carried = true;
        if (C > 1 && channels == C && role == L::roles - 1) sums[C].add_to(workspace.sums[C]);
    }
    __device__ void merge_shared(std::int64_t i, bool* last) const {
        add_up_blocks<C, L>(p, i, sums);
        if (!arrive_last(&workspace.arrived, gridDim.x, last)) return;
        if (threadIdx.x < 5) {
            ChannelSums& all = workspace.sums[threadIdx.x];
            sums[threadIdx.x] = {__ldcg(&all.sum),          __ldcg(&all.squares_low),
                                 __ldcg(&all.squares_high), __ldcg(&all.complement_minimum),
                                 __ldcg(&all.maximum),      __ldcg(&all.samples)};
            all = ChannelSums{};
        }
        for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x)
            workspace.blocks[block].carried = false;
        __syncthreads();  // the image's sums, for all
        write_channels<C>(p, i, images.image(i).pixels(), sums);
        __syncthreads();
        if (threadIdx.x == 0 && !p.common.normalize) publish(result_of(p.common, i));
    }
    /// Builds the LUTs and writes the copy. Lines each block has for itself: none waits for the LUTs of others.
    __device__ void normalize_shared(std::int64_t i) const {
        make_luts<C>(p.common, i, workspace.blocks[0].pages, lines, blockIdx.x, gridDim.x);
        bool last = threadIdx.x == 0;
        if (p.common.normalization.copies == Depth::u16 &&
            core::with_mode(p.common.normalization.mode, [](auto mode) { return is_stretch<decltype(mode)>; })) {
            __syncthreads();  // this block's part of the LUTs
            last = last && arrives_last(&workspace.arrived, gridDim.x);
        } else {
            wait_for_grid();
            last = last && blockIdx.x == 0;
        }
        if (last) publish(result_of(p.common, i));
        apply(i, blockIdx.x, gridDim.x);
    }
    /// Counts one role's channels of a partition in shared memory; luma that is not counted is added to sums[C].
    __device__ void count(int role, const Image& image, const WorkPartition& partition,
                          BlockPartial<L>& carrier) const {
        std::uint32_t* hot_bins = dynamic_shared + L::counter_words;
        auto* words = reinterpret_cast<uint4*>(dynamic_shared);
        for (int w = threadIdx.x; w < L::counter_words / 4; w += blockDim.x) words[w] = uint4{};
        for (int w = threadIdx.x; w < L::channels * HotBins::words; w += blockDim.x)
            hot_bins[w] = HotBins::initial(w % HotBins::words);
        if (threadIdx.x == 0) *carried = false;
        __syncthreads();  // counters, sums and the flag, for all
        const std::uint32_t rings = p.rings ? shared_address(dynamic_shared + L::words) : 0;
        const Counting counting{shared_address(dynamic_shared),
                                shared_address(hot_bins),
                                shared_address(carried),
                                rings,
                                carrier.carries[0],
                                p.common.rgb,
                                p.common.depth != Depth::u16,
                                p.common.depth == Depth::f16};
        const auto mask = [&] {
            if constexpr (std::is_same_v<OfImage, Mask>)
                return p.mask;
            else
                return NoMask{};
        }();
        BrightnessSums luma = count_role<C, L>(role, image, mask, partition, counting, p.count_luma);
        if (C > 1 && channels == C && role == L::roles - 1) {
            luma.reduce_over_warp();
            if (threadIdx.x % warp_lanes == 0)
                ChannelSums{
                    luma.sum, luma.squares & 0xFFFFFFFFu, luma.squares >> 32, luma.complement_minimum, luma.maximum, 0}
                    .add_to(sums[C]);
        }
        __syncthreads();  // all samples are counted
        for (int at = 0; at < L::channels; ++at)
            HotBins::template merge<Counters>(hot_bins + at * HotBins::words,
                                              counting.counters + at * Counters::words * 4,
                                              Carries{carrier.carries[at], counting.carried});
        __syncthreads();
    }
    __device__ void apply(std::int64_t i, int rank, int blocks) const {
        const Image image = images.image(i);
        const Output output = images.output_of(i);
        const WorkPartition partition = dealt(units_of_samples<std::uint16_t, C>(image), rank, blocks);
        const bool separate = lut_count(C, p.common.normalization) > 1;
        with_written(p.common.normalization, [&](auto mode, auto sample) {
            using Mode = decltype(mode);
            using O = decltype(sample);
            auto write = [&](auto map) {
                write_mapped(image, partition, MappedWriter<std::uint16_t, C, O, decltype(map)>{map, output});
            };
            const O* luts = luts_of<O>(p.common, i);
            constexpr int words = values * sizeof(O) / 4;
            if constexpr (is_stretch<Mode> && std::is_same_v<O, std::uint16_t>) {
                write(LineMap<std::uint16_t, Mode>{lines});
            } else if (separate || L::words < words) {
                write(LutMap<std::uint16_t, O, false>(luts, separate));
            } else if constexpr (L::words >= words) {
                // One LUT for all is copied into shared memory where it fits; others are read through the caches.
                const auto* from = reinterpret_cast<const uint4*>(luts);
                auto* near = reinterpret_cast<uint4*>(dynamic_shared);
                for (int w = threadIdx.x; w < words / 4; w += blockDim.x) near[w] = __ldcg(from + w);
                __syncthreads();
                write(LutMap<std::uint16_t, O, true>(reinterpret_cast<const O*>(dynamic_shared), separate));
            }
        });
    }
};

/// Kernel of all 16-bit images: counts every channel and luma, or sums luma up, and writes the normalized copy where
/// the launch asks for it. Launch: one block per multiprocessor of whole warps, at least as many as roles; cooperative
/// where images are shared. A block has the counters of few channels, see Layout. Small images are dealt to the blocks,
/// each alone, a role after the other. Large ones follow one by one: blocks are dealt to the roles, see Crew; the
/// blocks of a role count the pixels together, and each leaves its counters in its partial. After a grid barrier all
/// add up the partials, a stretch of words each, and the last to finish writes the numbers. Limit: fewer than 2^32
/// pixels per block. Barriers in a block: after clearing and before reading counters, since any thread may count any
/// value. Bytes: each pixel is read once per role, and its byte of a mask; for the copy once more.
template <int C, class L, class Images, class OfImage = NoMask>
__global__ void __launch_bounds__(L::threads, 1)
    u16_kernel(const __grid_constant__ Images images, const __grid_constant__ CountParameters p) {
    __shared__ ChannelSums sums[5];
    __shared__ core::Line<std::uint16_t> lines[3];
    __shared__ bool carried, last_block;
    const U16Steps<C, L, Images, OfImage> kernel{images, p, sums, lines, &carried};
    if constexpr (std::is_same_v<OfImage, Mask>) {  // a single image without a copy
        kernel.count_shared(0);
        wait_for_grid();
        kernel.merge_shared(0, &last_block);
    } else {
        if constexpr (L::ringed)
            if (p.rings) typename L::Rings{shared_address(dynamic_shared + L::words)}.begin();
        if (p.shared_images < images.count)
            for (std::int64_t i = blockIdx.x; i < images.count; i += gridDim.x)
                if (kernel.alone(i)) kernel.do_alone(i);

        std::int64_t i = -1;
        for (std::int64_t seen = 0; seen < p.shared_images; ++seen) {
            while (kernel.alone(++i)) continue;                               // on to the next shared image
            if (seen > 0 || p.shared_images < images.count) wait_for_grid();  // the images before
            kernel.count_shared(i);
            wait_for_grid();
            kernel.merge_shared(i, &last_block);
            if (!p.common.normalize) continue;
            wait_for_grid();
            kernel.normalize_shared(i);
        }
    }
}

/// Calls `function` with the Layout that a GPU has room for.
template <int C, class Function>
auto with_layout(const Launch& launch, Function function) {
    if (Layout<C, true>::words * sizeof(std::uint32_t) + static_shared_bytes <= launch.shared_bytes)
        return function(Layout<C, true>{});
    return function(Layout<C, false>{});
}

}  // namespace

/// Enqueues the analysis of a single image with a mask, of launch_u16's parameters.
template <int C>
void launch_masked_u16(const Tensor& images, const CountParameters& p, const Launch& launch);

}  // namespace gpuhist::cuda
