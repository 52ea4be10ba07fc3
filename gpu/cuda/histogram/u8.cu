// 8-bit images, many a launch, and those that bytes_image.cu does not take: equal ones, a list, any number of pixels.

#include <cstdint>
#include <type_traits>

#include "cuda/histogram/u8_results.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/pixels/partition.cuh"

namespace gpuhist::cuda {
namespace {

/// As image_kernel, for a batch of equal images, which are dealt to the blocks in turn: each is one block's. There is
/// no barrier between an image and the next: while the last warps write the sums of one, the others sweep the other.
/// Counters go on counting from one image to the next: each thread remembers what its bins had come to, modulo 2^32.
/// Launch: any grid of batch_threads_of(rows) threads a block, never cooperative.
/// `OneRow`: all_in_one_row.
template <int C, bool CountLuma, bool OneRow, typename O>
__global__ void __launch_bounds__(batch_threads_of(counted_rows<C, CountLuma>),
                                  batch_blocks(counted_rows<C, CountLuma>))
    batch_kernel(const __grid_constant__ Tensor images, const __grid_constant__ CountParameters p, int steps) {
    constexpr int rows = counted_rows<C, CountLuma>, threads = batch_threads_of(rows),
                  bins_of_thread = (rows * values + threads - 1) / threads;
    __shared__ Kept<C, O, rows, threads> kept;
    static_assert(rows != 3 || !std::is_void_v<O> || sizeof(kept) <= 1024, "see batch_blocks");
    const Common& common = p.common;
    const bool analyze = std::is_void_v<O> || (steps & analyze_step);
    if (analyze) {
        clear_columns(rows * values * 32);
        __syncthreads();
    }
    std::uint32_t before[bins_of_thread]{};
#pragma unroll 1
    for (std::int64_t index = blockIdx.x; index < images.count; index += gridDim.x) {
        const Image image = images.image(index);
        if (analyze) {
            const bool narrow = is_narrow(image.pixels());
            const Share share{threadIdx.x, images.pieces, threads};
            BrightnessSums luma = count_share<C, 32, CountLuma, OneRow, 1, false>(image, share, 5, common.rgb, 0);
            if (index + gridDim.x < images.count)
                fetch_ahead<std::uint8_t, C>(images.image(index + gridDim.x), threadIdx.x);
            if constexpr (rows == C && C > 1) {
                luma.reduce_over_warp(narrow);
                if (threadIdx.x % warp_lanes == 0) kept.warp_luma[threadIdx.x / warp_lanes] = luma;
            }
            __syncthreads();
            if constexpr (rows == C) luma = luma_part<C>(kept.warp_luma);
#pragma unroll
            for (int i = 0; i < bins_of_thread; ++i) {
                const std::uint32_t bin = threadIdx.x + i * threads;
                if (bin >= rows * values) break;
                const std::uint32_t now = gather<rows>(bin, false), samples = now - before[i];
                before[i] = now;
                if constexpr (!std::is_void_v<O>) kept.counts[bin] = samples;
                write_count<C>(common, index, narrow, bin, samples, kept.partial);
            }
            __syncthreads();  // the warps' parts of the sums
            write_sums<C>(common, index, image.pixels(), rows, kept.partial, luma);
        }
        if constexpr (!std::is_void_v<O>) {
            if (analyze) {
                build_tables<C>(common.normalization, kept.counts, kept.partial, kept.tables);
                write_tables<C>(common, index, kept.tables);
            } else {
                __syncthreads();  // the image before has been written
                read_tables<C>(common, index, kept.tables);
            }
            if (steps & apply_step)
                apply_luts<C>(common, kept.tables, image,
                              {threadIdx.x, pieces_of_samples<std::uint8_t, C>(image), blockDim.x},
                              images.output_of(index));
        }
    }
    __syncthreads();
    if (threadIdx.x == 0 && analyze) {
        __threadfence_system();
        for (std::int64_t index = blockIdx.x; index < images.count; index += gridDim.x)
            set_ready(result_of(common, index));
    }
}

/// The steps of images_kernel. A block has whole images, and shares its first and its last one at most.
template <int C, typename O, class Images>
struct BlockOfImages {
    static constexpr int wanted = blocks_wanted<C, O>;
    const Images& images;
    const CountParameters& p;
    Kept<C, O>& kept;

    __device__ int rows() const { return C == 1 ? 1 : C + p.count_luma; }
    __device__ Meeting<C>& meeting_of(const Part& part) const {
        return static_cast<ByteWorkspace<C>*>(p.workspace)->meetings[part.first_block];
    }

    /// Luma's sums, where it is not counted, to `kept`. Ends in a barrier, behind which the columns hold all.
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
            build_tables<C>(p.common.normalization, kept.counts, kept.partial, kept.tables);
            write_tables<C>(p.common, index, kept.tables);
        }
    }
    /// An image that this block has alone. No barrier at the end: while the last warps write the sums the others go on
    /// with the next image.
    __device__ void analyze_whole(std::int64_t index) const {
        const std::int64_t pieces = images.pieces_before(index + 1) - images.pieces_before(index);
        count(images.image(index), {threadIdx.x, pieces, blockDim.x});
        complete(index, luma_part<C>(kept.warp_luma),
                 [&](std::uint32_t bin) { return gather_any<C>(bin, rows(), p.columns_log2); });
    }
    /// A part of an image. Returns the meeting's generation before this block arrived.
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
            apply_luts<C>(p.common, kept.tables, image, part.dealt_share(pieces_of_samples<std::uint8_t, C>(image)),
                          images.output_of(part.image));
            __syncthreads();  // the tables may be written again
        }
    }
    /// Through tables that a block has written, in this launch or the one before.
    __device__ void apply_written(const Part& part) const {
        if constexpr (!std::is_void_v<O>) {
            __syncthreads();
            read_tables<C>(p.common, part.image, kept.tables);
            apply(part);
        }
    }
    __device__ void apply_shared(const Part& part, std::uint32_t generation) const {
        if (threadIdx.x == 0) {
            auto* now = static_cast<volatile std::uint32_t*>(&meeting_of(part).generation);
            while (*now == generation) __nanosleep(100);
            __threadfence();
        }
        apply_written(part);
    }
};

/// The same for several images, for any number of copies of each bin (`1 << columns_log2`), and of 2^32 pixels and
/// more. See Parts for who reads which pixels. Of an image that it has alone a block writes the result. Blocks that
/// share one add to a meeting's counts in device memory; the last to arrive writes the result and leaves the meeting
/// empty for the next launch. Limit: fewer than 2^32 pixels a block, for the 32-bit counters.
template <int C, typename O, class Images>
__global__ void __launch_bounds__(block_threads, blocks_wanted<C, O>)
    images_kernel(const __grid_constant__ Images images, const __grid_constant__ CountParameters p, int steps) {
    __shared__ Kept<C, O> kept;
    const BlockOfImages<C, O, Images> block{images, p, kept};
    const Parts<Images> parts(images, blockIdx.x, gridDim.x);
    if (!(steps & analyze_step)) {
        for (int i = 0; i < parts.count(); ++i) block.apply_written(parts[i]);
        return;
    }

    clear_columns(block.rows() * values << p.columns_log2);
    __syncthreads();
    const int end = parts.count();
    const bool first_shared = !parts[0].whole(), last_shared = end > 1 && !parts[end - 1].whole();
    std::uint32_t first_generation = 0, last_generation = 0;
    if (first_shared) first_generation = block.analyze_shared(parts[0]);
    const std::int64_t whole = parts.image(first_shared), whole_end = parts.image(end - last_shared);
    for (std::int64_t index = whole; index < whole_end; ++index) {
        block.analyze_whole(index);
        if (steps & apply_step) block.apply(parts[static_cast<int>(index - parts.image(0))]);
    }
    if (last_shared) last_generation = block.analyze_shared(parts[end - 1]);
    __syncthreads();
    if (threadIdx.x == 0 && whole < whole_end) {  // one fence for all images that were this block's own
        __threadfence_system();
        for (std::int64_t index = whole; index < whole_end; ++index) set_ready(result_of(p.common, index));
    }
    if (steps & apply_step) {
        if (first_shared) block.apply_shared(parts[0], first_generation);
        if (last_shared) block.apply_shared(parts[end - 1], last_generation);
    }
}

/// Where at least two thirds of the blocks have an image at any time; false: nothing is launched.
template <int C, bool CountLuma, typename O>
bool launch_batch(Launch launch, std::size_t shared_bytes, const Tensor& images, const CountParameters& p) {
    constexpr int rows = counted_rows<C, CountLuma>;
    const Shape shape{images.count, batch_threads_of(rows), shared_bytes, batch_blocks(rows)};
    const auto kernel = all_in_one_row<std::uint8_t, C>(images) ? batch_kernel<C, CountLuma, true, O>
                                                                : batch_kernel<C, CountLuma, false, O>;
    const std::int64_t blocks =
        std::int64_t{launch.multiprocessors} * resident_blocks(launch, reinterpret_cast<const void*>(kernel), shape);
    const std::int64_t rounds = (images.count + blocks - 1) / blocks;
    if (images.count * 3 < rounds * blocks * 2) return false;
    launch_kernel(launch, kernel, false, shape, images, p,
                  std::is_void_v<O> ? analyze_step : analyze_step | apply_step);
    return true;
}

}  // namespace

template <int C>
std::size_t bytes_workspace(const Launch& launch) {
    return sizeof(ByteWorkspace<C>) + sizeof(Meeting<C>) * blocks_per_multiprocessor * launch.multiprocessors;
}

template <int C, class Images>
void launch_bytes(const Images& images, CountParameters p, const Launch& launch) {
    const std::size_t copy_bytes = (C == 1 ? 1 : C + p.count_luma) * values * sizeof(std::uint32_t);
    p.columns_log2 = columns_log2(launch, copy_bytes);
    const std::size_t shared_bytes = copy_bytes << p.columns_log2;
    const bool all_columns = p.columns_log2 == 5 && images.image(0).pixels() < std::int64_t{1} << 32;
    if constexpr (std::is_same_v<Images, Tensor>)
        if (all_columns && images.count == 1) return launch_byte_image<C>(images, p, shared_bytes, launch);
    with_output<std::uint8_t>(p.common, [&](auto* output) {
        using O = std::remove_pointer_t<decltype(output)>;
        if constexpr (std::is_same_v<Images, Tensor>)
            if (all_columns && with_luma<C>(p, [&](auto counted) {
                    return launch_batch<C, counted(), O>(launch, shared_bytes, images, p);
                }))
                return;
        const std::int64_t pieces = images.pieces_before(images.count);
        const std::int64_t blocks = blocks_for(pieces, byte_pixels_per_block / group_pixels(1, C));
        const Shape shape{blocks, images.count > 1 && C > 1 ? batch_threads_of(C + p.count_luma) : block_threads,
                          shared_bytes};
        launch_steps(launch, images_kernel<C, O, Images>, shape, !std::is_void_v<O>, images, p);
    });
}

template std::size_t bytes_workspace<GPUHIST_CHANNELS>(const Launch&);
template void launch_bytes<GPUHIST_CHANNELS>(const Tensor&, CountParameters, const Launch&);
template void launch_bytes<GPUHIST_CHANNELS>(const List&, CountParameters, const Launch&);

}  // namespace gpuhist::cuda
