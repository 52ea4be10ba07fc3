// 8-bit images: the kernel of several images by the same blocks, and of a single one with a mask.
#pragma once

#include <type_traits>

#include "cuda/histogram/u8_results.cuh"

namespace gpuhist::cuda {
namespace {

/// Part of one image that a block has, beside the other blocks of that image.
struct ImagePart {
    std::int64_t image;
    std::int64_t first, last;  ///< the block's units of the image; of a single image: all
    int first_block, blocks;   ///< of the image
    int rank;                  ///< this block's place among them
    bool dealt;                ///< the units are dealt to the blocks in turn

    __device__ bool whole() const { return blocks == 1; }
    /// Partition of this thread; and of other units of the same image, dealt in turn.
    __device__ WorkPartition partition() const {
        return dealt ? dealt_partition(last) : WorkPartition{first + threadIdx.x, last, blockDim.x, first};
    }
    __device__ WorkPartition dealt_partition(std::int64_t units) const { return cuda::dealt(units, rank, blocks); }
};

/// Partition of a launch's pixels: one block's. A single image is dealt to all blocks in turn, so that they walk
/// through memory side by side: 2 % faster than one stretch each. Several are laid end to end and cut into as many
/// equal stretches as there are blocks, so that none waits for another: a block has whole images, and parts of two at
/// most.
template <class Images>
class BlockPartition {
  public:
    __device__ BlockPartition(const Images& images, int rank, int blocks)
        : images_(images), rank_(rank), blocks_(blocks), units_(images.units_before(images.count)) {
        begin_ = images.count == 1 ? 0 : begin_of(rank);
        end_ = images.count == 1 ? units_ : begin_of(rank + 1);
        first_image_ = images.count == 1 ? 0 : images.image_of(begin_);
        last_image_ = images.count == 1 ? 0 : images.image_of(end_ - 1);
    }
    __device__ int count() const { return static_cast<int>(last_image_ - first_image_) + 1; }
    __device__ std::int64_t image(int i) const { return first_image_ + i; }
    __device__ ImagePart operator[](int i) const {
        ImagePart part;
        part.image = first_image_ + i;
        const std::int64_t before = images_.units_before(part.image), after = images_.units_before(part.image + 1);
        part.dealt = images_.count == 1;
        part.first = max(begin_, before) - before;
        part.last = min(end_, after) - before;
        const bool own = begin_ <= before && after <= end_ && !part.dealt;
        part.first_block = own ? rank_ : part.dealt ? 0 : block_of(before);
        part.blocks = own ? 1 : part.dealt ? blocks_ : block_of(after - 1) - part.first_block + 1;
        part.rank = rank_ - part.first_block;
        return part;
    }

  private:
    __device__ std::int64_t begin_of(int rank) const { return units_ * rank / blocks_; }
    /// Last block that begins at `unit` or before: (u + 1) · blocks − 1 over the units, rounded down.
    __device__ int block_of(std::int64_t unit) const { return static_cast<int>(((unit + 1) * blocks_ - 1) / units_); }

    const Images& images_;
    int rank_, blocks_;
    std::int64_t units_, begin_, end_, first_image_, last_image_;
};

/// Steps of u8_list_kernel. A block has its first and its last image together with others, at most.
template <int C, typename O, class Images, class OfImage>
struct BlockOfImages {
    static constexpr bool masked = std::is_same_v<OfImage, Mask>;
    static constexpr int wanted = blocks_wanted<C, O, OfImage>;
    const Images& images;
    const CountParameters& p;
    Kept<C, O>& kept;

    __device__ int channels() const { return C == 1 ? 1 : C + p.count_luma; }
    __device__ Meeting<C>& meeting_of(const ImagePart& part) const {
        return static_cast<U8Workspace<C>*>(p.workspace)->meetings[part.first_block];
    }

    /// Counts a partition. Ends in a barrier: the replicas hold all.
    __device__ void count(const Image& image, const WorkPartition& partition) const {
        if (channels() > C) {
            count_channels<C != 1>(image, partition);
        } else {
            const auto luma = count_channels<false>(image, partition);
            if constexpr (C > 1) keep_luma(kept, luma);
        }
        __syncthreads();
    }
    template <bool CountLuma>
    __device__ BrightnessSums count_channels(const Image& image, const WorkPartition& partition) const {
        if constexpr (masked)
            return count_masked<C, CountLuma>(image, p.mask, partition, p.replicas_log2, p.colors());
        else
            return count_by_replicas<C, CountLuma, wanted>(image, partition, p.replicas_log2, p.colors());
    }
    /// Writes a result from `counted(bin)` and this thread's part of luma's sums.
    template <class Counted>
    __device__ void complete(std::int64_t index, const BrightnessSums& luma, Counted counted) const {
        const std::int64_t pixels = images.image(index).pixels();
        write_counts<C>(p.common, index, pixels, channels(), kept.partial, [&](std::uint32_t bin) {
            const Word samples = counted(bin);
            if (masked && bin < values) {  // a warp has neighboring bins
                const Word of_warp = reduce_warp(samples, Sum{});
                if (bin % warp_lanes == 0) kept.samples[bin / warp_lanes] = of_warp;
            }
            if constexpr (!std::is_void_v<O>) kept.counts[bin] = samples;
            return samples;
        });
        __syncthreads();  // the warps' parts of the sums
        Word samples = masked ? 0 : pixels;
        for (int warp = 0; masked && warp < warps_of_channel; ++warp) samples += kept.samples[warp];
        write_sums<C>(p.common, index, pixels, static_cast<std::int64_t>(samples), channels(), kept.partial, luma);
        if constexpr (!std::is_void_v<O>) {
            make_luts<C>(p.common.normalization, {kept.counts, kept.partial, pixels}, kept.luts);
            write_luts<C>(p.common, index, kept.luts);
        }
    }
    /// Analyzes an image by this block alone. No barrier at the end, as in u8_batch_kernel.
    __device__ void analyze_whole(std::int64_t index) const {
        const std::int64_t units = images.units_before(index + 1) - images.units_before(index);
        count(images.image(index), {threadIdx.x, units, blockDim.x});
        complete(index, luma_part<C>(kept.warp_luma),
                 [&](std::uint32_t bin) { return gather_any<C>(bin, channels(), p.replicas_log2); });
    }
    /// Analyzes a part of an image. Returns the meeting's generation before this block arrived.
    __device__ __noinline__ std::uint32_t analyze_shared(const ImagePart part) const {
        Meeting<C>& meeting = meeting_of(part);
        __syncthreads();  // the sums of the image before are written
        count(images.image(part.image), part.partition());
#pragma unroll 1
        for (std::uint32_t bin = threadIdx.x; bin < channels() * values; bin += blockDim.x)
            if (const Word samples = gather_any<C>(bin, channels(), p.replicas_log2))
                global_add(&meeting.counts[bin], samples);
        if (C > 1 && channels() == C) add_luma(kept.warp_luma, meeting.luma);
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
    __device__ void apply(const ImagePart& part) const {
        if constexpr (!std::is_void_v<O>) {
            const Image image = images.image(part.image);
            apply_luts<C>(p.common, kept.luts, image, part.dealt_partition(units_of_samples<std::uint8_t, C>(image)),
                          images.output_of(part.image));
            __syncthreads();  // the LUTs may be written again
        }
    }
    /// Waits for the block that writes the result, and reads its LUTs.
    __device__ void apply_shared(const ImagePart& part, std::uint32_t generation) const {
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

/// Kernel of several images, see BlockPartition, for any number of replicas, of images of 2^32 pixels and more, and of
/// a single image with a mask. The blocks of an image add to a meeting's counts in device memory; the last to arrive
/// writes the result and leaves the meeting empty. Limit: fewer than 2^32 pixels per block, for the 32-bit counters.
template <int C, typename O, class Images, class OfImage = NoMask>
__global__ void __launch_bounds__(block_threads, blocks_wanted<C, O, OfImage>)
    u8_list_kernel(const __grid_constant__ Images images, const __grid_constant__ CountParameters p) {
    __shared__ Kept<C, O> kept;
    const BlockOfImages<C, O, Images, OfImage> block{images, p, kept};
    const BlockPartition<Images> parts(images, blockIdx.x, gridDim.x);
    clear_replicas(block.channels() * values << p.replicas_log2);
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
    if (threadIdx.x == 0 && whole < whole_end) {  // one fence for all images of this block alone
        __threadfence_system();
        for (std::int64_t index = whole; index < whole_end; ++index) set_ready(result_of(p.common, index));
    }
    if constexpr (!std::is_void_v<O>) {
        if (first_shared) block.apply_shared(parts[0], first_generation);
        if (last_shared) block.apply_shared(parts[end - 1], last_generation);
    }
}

}  // namespace

/// Enqueues the analysis of a single image with a mask, of launch_u8's parameters.
template <int C>
void launch_masked_u8(const Tensor& images, const CountParameters& p, std::size_t shared_bytes, const Launch& launch);

}  // namespace gpuhist::cuda
