// 8-bit images: the kernel of a list, and of all images that the other two do not take.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/histogram/u8_results.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/pixels/partition.cuh"

namespace gpuhist::cuda {
namespace {

/// Steps of u8_list_kernel. A block has whole images, and shares its first and its last one at most.
template <int C, typename O, class Images>
struct BlockOfImages {
    static constexpr int wanted = blocks_wanted<C, O>;
    const Images& images;
    const CountParameters& p;
    Kept<C, O>& kept;

    __device__ int rows() const { return C == 1 ? 1 : C + p.count_luma; }
    __device__ Meeting<C>& meeting_of(const Part& part) const {
        return static_cast<U8Workspace<C>*>(p.workspace)->meetings[part.first_block];
    }

    /// Counts a share; sums of luma that is not counted go to `kept`. Ends in a barrier: the columns hold all.
    __device__ void count(const Image& image, const Share& share) const {
        if (rows() > C) {
            count_columns<C, C != 1, wanted>(image, share, p.columns_log2, p.common.rgb);
        } else {
            BrightnessSums luma = count_columns<C, false, wanted>(image, share, p.columns_log2, p.common.rgb);
            if constexpr (C > 1) {
                luma.reduce_over_warp();
                if (threadIdx.x % warp_lanes == 0) kept.warp_luma[threadIdx.x / warp_lanes] = luma;
            }
        }
        __syncthreads();
    }
    /// Writes a result from `counted(bin)` and this thread's part of luma's sums.
    template <class Counted>
    __device__ void complete(std::int64_t index, const BrightnessSums& luma, Counted counted) const {
        write_counts<C>(p.common, index, images.image(index).pixels(), rows(), kept.partial, [&](std::uint32_t bin) {
            const Word samples = counted(bin);
            if constexpr (!std::is_void_v<O>) kept.counts[bin] = samples;
            return samples;
        });
        __syncthreads();  // the warps' parts of the sums
        write_sums<C>(p.common, index, images.image(index).pixels(), rows(), kept.partial, luma);
        if constexpr (!std::is_void_v<O>) {
            make_luts<C>(p.common.normalization, {kept.counts, kept.partial, images.image(index).pixels()}, kept.luts);
            write_luts<C>(p.common, index, kept.luts);
        }
    }
    /// Analyses an image that this block has alone. No barrier at the end: while the last warps write the sums the
    /// others go on with the next image.
    __device__ void analyze_whole(std::int64_t index) const {
        const std::int64_t pieces = images.pieces_before(index + 1) - images.pieces_before(index);
        count(images.image(index), {threadIdx.x, pieces, blockDim.x});
        complete(index, luma_part<C>(kept.warp_luma),
                 [&](std::uint32_t bin) { return gather_any<C>(bin, rows(), p.columns_log2); });
    }
    /// Analyses a part of an image. Returns the meeting's generation before this block arrived.
    __device__ __noinline__ std::uint32_t analyze_shared(const Part part) const {
        Meeting<C>& meeting = meeting_of(part);
        __syncthreads();  // the sums of the image before are written
        count(images.image(part.image), part.share());
#pragma unroll 1
        for (std::uint32_t bin = threadIdx.x; bin < rows() * values; bin += blockDim.x)
            if (const Word samples = gather_any<C>(bin, rows(), p.columns_log2))
                global_add(&meeting.counts[bin], samples);
        if (C > 1 && rows() == C) add_luma(kept.warp_luma, meeting.luma);
        const std::uint32_t generation = *static_cast<volatile std::uint32_t*>(&meeting.generation);
        if (!arrive_last(&meeting.arrived, part.blocks, &kept.completes)) return generation;
        complete(part.image, luma_part<C>(meeting.luma), [&](std::uint32_t bin) {
            const Word samples = __ldcg(&meeting.counts[bin]);
            meeting.counts[bin] = 0;
            return samples;
        });
        __syncthreads();
        if (threadIdx.x == 0) {
            meeting.luma = BrightnessSums{};
            publish(result_of(p.common, part.image));
            atomicAdd(&meeting.generation, 1u);  // publish's fence stands before it
        }
        return generation;
    }
    __device__ void apply(const Part& part) const {
        if constexpr (!std::is_void_v<O>) {
            const Image image = images.image(part.image);
            apply_luts<C>(p.common, kept.luts, image, part.dealt_share(pieces_of_samples<std::uint8_t, C>(image)),
                          images.output_of(part.image));
            __syncthreads();  // the LUTs may be written again
        }
    }
    /// Waits for the block that writes the result, and reads its LUTs.
    __device__ void apply_shared(const Part& part, std::uint32_t generation) const {
        if (threadIdx.x == 0) {
            auto* now = static_cast<volatile std::uint32_t*>(&meeting_of(part).generation);
            while (*now == generation) __nanosleep(100);
            __threadfence();
        }
        __syncthreads();
        read_luts<C>(p.common, part.image, kept.luts);
        apply(part);
    }
};

/// Kernel of several images, for any number of copies of each bin (`1 << columns_log2`), and of 2^32 pixels and
/// more. See Partition for who reads which pixels. Of an image that it has alone a block writes the result. Blocks that
/// share one add to a meeting's counts in device memory; the last to arrive writes the result and leaves the meeting
/// empty for the next launch. Limit: fewer than 2^32 pixels a block, for the 32-bit counters.
template <int C, typename O, class Images>
__global__ void __launch_bounds__(block_threads, blocks_wanted<C, O>)
    u8_list_kernel(const __grid_constant__ Images images, const __grid_constant__ CountParameters p) {
    __shared__ Kept<C, O> kept;
    const BlockOfImages<C, O, Images> block{images, p, kept};
    const Partition<Images> parts(images, blockIdx.x, gridDim.x);
    clear_columns(block.rows() * values << p.columns_log2);
    __syncthreads();
    const int end = parts.count();
    const bool first_shared = !parts[0].whole(), last_shared = end > 1 && !parts[end - 1].whole();
    std::uint32_t first_generation = 0, last_generation = 0;
    if (first_shared) first_generation = block.analyze_shared(parts[0]);
    const std::int64_t whole = parts.image(first_shared), whole_end = parts.image(end - last_shared);
    for (std::int64_t index = whole; index < whole_end; ++index) {
        block.analyze_whole(index);
        block.apply(parts[static_cast<int>(index - parts.image(0))]);
    }
    if (last_shared) last_generation = block.analyze_shared(parts[end - 1]);
    __syncthreads();
    if (threadIdx.x == 0 && whole < whole_end) {  // one fence for all images that were this block's own
        __threadfence_system();
        for (std::int64_t index = whole; index < whole_end; ++index) set_ready(result_of(p.common, index));
    }
    if constexpr (!std::is_void_v<O>) {
        if (first_shared) block.apply_shared(parts[0], first_generation);
        if (last_shared) block.apply_shared(parts[end - 1], last_generation);
    }
}

}  // namespace
}  // namespace gpuhist::cuda
