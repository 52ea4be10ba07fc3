// 8-bit images of GPUHIST_CHANNELS channels: the kernel of batches, and the launch; see also u8_image.cu.

#include <type_traits>

#include "cuda/histogram/u8_list.cuh"

namespace gpuhist::cuda {
namespace {

/// Kernel of a batch of equal images, dealt to the blocks in turn: each is one block's. No barrier stands between
/// images: while the last warps write the sums of one, the others sweep the next. Counters go on counting: each thread
/// remembers the earlier counts of its bins, modulo 2^32. Launch: any grid of batch_threads_of(channels) threads per
/// block. `OneRow`: all_in_one_row.
template <int C, bool CountLuma, bool OneRow, typename O>
__global__ void __launch_bounds__(batch_threads_of(counted_channels<C, CountLuma>),
                                  batch_blocks(counted_channels<C, CountLuma>))
    u8_batch_kernel(const __grid_constant__ Tensor images, const __grid_constant__ CountParameters p) {
    constexpr int channels = counted_channels<C, CountLuma>, threads = batch_threads_of(channels),
                  bins_of_thread = (channels * values + threads - 1) / threads;
    __shared__ Kept<C, O, channels, threads> kept;
    static_assert(channels != 3 || !std::is_void_v<O> || sizeof(kept) <= 1024, "see batch_blocks");
    const Common& common = p.common;
    clear_replicas(channels * values * 32);
    __syncthreads();
    std::uint32_t before[bins_of_thread]{};
#pragma unroll 1
    for (std::int64_t index = blockIdx.x; index < images.count; index += gridDim.x) {
        const Image image = images.image(index);
        const bool narrow = is_narrow(image.pixels());
        const WorkPartition partition{threadIdx.x, images.units, threads};
        BrightnessSums luma = count_partition<C, 32, CountLuma, OneRow, 1>(image, partition, 5, p.colors());
        if (index + gridDim.x < images.count)
            fetch_ahead<std::uint8_t, C>(images.image(index + gridDim.x), threadIdx.x);
        if constexpr (channels == C && C > 1) keep_luma(kept, luma, narrow);
        __syncthreads();
        if constexpr (channels == C) luma = luma_part<C>(kept.warp_luma);
#pragma unroll
        for (int i = 0; i < bins_of_thread; ++i) {
            const std::uint32_t bin = threadIdx.x + i * threads;
            if (bin >= channels * values) break;
            const std::uint32_t now = gather<channels>(bin, false), samples = now - before[i];
            before[i] = now;
            if constexpr (!std::is_void_v<O>) kept.counts[bin] = samples;
            write_count<C>(common, index, narrow, bin, samples, kept.partial);
        }
        __syncthreads();  // the warps' parts of the sums
        write_sums<C>(common, index, image.pixels(), image.pixels(), channels, kept.partial, luma);
        if constexpr (!std::is_void_v<O>) {
            make_luts<C>(common.normalization, {kept.counts, kept.partial, image.pixels()}, kept.luts);
            write_luts<C>(common, index, kept.luts);
            apply_luts<C>(common, kept.luts, image, {threadIdx.x, units_of_samples<std::uint8_t, C>(image), blockDim.x},
                          images.output_of(index));
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence_system();
        for (std::int64_t index = blockIdx.x; index < images.count; index += gridDim.x)
            set_ready(result_of(common, index));
    }
}

/// Launches where at least two thirds of the blocks have an image at any time; false: nothing is launched.
template <int C, bool CountLuma, typename O>
bool launch_batch(Launch launch, std::size_t shared_bytes, const Tensor& images, const CountParameters& p) {
    constexpr int channels = counted_channels<C, CountLuma>;
    const LaunchConfiguration configuration{images.count, batch_threads_of(channels), shared_bytes,
                                            batch_blocks(channels)};
    const auto kernel = all_in_one_row<std::uint8_t, C>(images) ? u8_batch_kernel<C, CountLuma, true, O>
                                                                : u8_batch_kernel<C, CountLuma, false, O>;
    const std::int64_t blocks = std::int64_t{launch.multiprocessors} *
                                resident_blocks(launch, reinterpret_cast<const void*>(kernel), configuration);
    const std::int64_t rounds = (images.count + blocks - 1) / blocks;
    if (images.count * 3 < rounds * blocks * 2) return false;
    launch_kernel(launch, kernel, false, configuration, images, p);
    return true;
}

}  // namespace

template <int C>
std::size_t u8_workspace(const Launch& launch) {
    return sizeof(U8Workspace<C>) + sizeof(Meeting<C>) * blocks_per_multiprocessor * launch.multiprocessors;
}

template <int C, class Images>
void launch_u8(const Images& images, CountParameters p, const Launch& launch) {
    const std::size_t replica_bytes = (C == 1 ? 1 : C + p.count_luma) * values * sizeof(std::uint32_t);
    p.replicas_log2 = replicas_log2(launch, replica_bytes);
    const std::size_t shared_bytes = replica_bytes << p.replicas_log2;
    const bool replica_per_lane = p.replicas_log2 == 5 && images.image(0).pixels() < std::int64_t{1} << 32;
    if constexpr (std::is_same_v<Images, Tensor>) {
        if (p.mask.data) return launch_masked_u8<C>(images, p, shared_bytes, launch);
        if (replica_per_lane && images.count == 1) return launch_u8_image<C>(images, p, shared_bytes, launch);
    }
    with_output<std::uint8_t>(p.common, [&](auto* output) {
        using O = std::remove_pointer_t<decltype(output)>;
        if constexpr (std::is_same_v<Images, Tensor>)
            if (replica_per_lane && with_luma<C>(p, [&](auto counted) {
                    return launch_batch<C, counted(), O>(launch, shared_bytes, images, p);
                }))
                return;
        const std::int64_t units = images.units_before(images.count);
        const std::int64_t blocks = blocks_for(units, u8_pixels_per_block / group_pixels(1, C));
        const LaunchConfiguration configuration{
            blocks, images.count > 1 && C > 1 ? batch_threads_of(C + p.count_luma) : block_threads, shared_bytes};
        launch_kernel(launch, u8_list_kernel<C, O, Images>, !std::is_void_v<O>, configuration, images, p);
    });
}

template std::size_t u8_workspace<GPUHIST_CHANNELS>(const Launch&);
template void launch_u8<GPUHIST_CHANNELS>(const Tensor&, CountParameters, const Launch&);
template void launch_u8<GPUHIST_CHANNELS>(const List&, CountParameters, const Launch&);

}  // namespace gpuhist::cuda
