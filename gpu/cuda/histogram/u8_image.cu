// 8-bit images, one per launch. In a unit of its own, as a kernel keeps more in registers the fewer share its
// functions.

#include <algorithm>
#include <type_traits>

#include "cuda/histogram/u8_results.cuh"

namespace gpuhist::cuda {
namespace {

/// Writes the result of a single image from the total of all blocks.
template <int C, typename O>
__device__ __noinline__ void complete_image(const Common& common, std::int64_t pixels, int channels,
                                            const Total<C>& total, Kept<C, O>& kept) {
    const BrightnessSums luma = luma_part<C>(total.luma);
    write_counts<C>(common, 0, pixels, channels, kept.partial, [&](std::uint32_t bin) { return counted(total, bin); });
    __syncthreads();  // the warps' parts of the sums
    write_sums<C>(common, 0, pixels, pixels, channels, kept.partial, luma);
    __syncthreads();
    if (threadIdx.x == 0) publish(result_of(common, 0));
}

/// Kernel of a single image under 2^32 pixels: counts every channel and, with CountLuma, luma; else sums luma up. Then,
/// for O not void, writes the normalized copy. Launch: any grid of 1024 threads per block; cooperative where a copy is
/// written. Each block adds its counts to a total in device memory, and the last to arrive writes the result. Where all
/// normalize, they wait for it, each builds the LUTs for itself, and the first with its pixels done writes the result.
/// Barriers: after clearing and before gathering, since any lane may count into any bin. Bytes: each pixel is read
/// once; for the copy, where it is not resident, once more.
template <int C, bool CountLuma, typename O>
__global__ void __launch_bounds__(block_threads, blocks_wanted<C, O>)
    u8_image_kernel(const __grid_constant__ Image image, const __grid_constant__ Output output,
                    const __grid_constant__ CountParameters p) {
    constexpr int channels = counted_channels<C, CountLuma>;
    constexpr bool sums_luma = C > 1 && !CountLuma, normalize = !std::is_void_v<O>;
    __shared__ Kept<C, O> kept;
    const Common& common = p.common;

    // Initialize.
    const ResidentImage<std::uint8_t, C> resident(image, shared_address(dynamic_shared + channels * values * 32),
                                                  std::is_void_v<O> ? 0 : p.resident_rounds);
    resident.begin();
    auto& workspace = *static_cast<U8Workspace<C>*>(p.workspace);
    auto* generation = static_cast<volatile std::uint32_t*>(&workspace.generation);
    clear_replicas(channels * values * 32);
    __syncthreads();
    if (threadIdx.x == 0) kept.launch = *generation;  // one warp waits for it, while the others sweep

    // Accumulate.
    constexpr int wanted = blocks_wanted<C, O>;
    const WorkPartition partition =
        dealt(units_in_row(image.width, Group<std::uint8_t, C>::pixels) * image.height, blockIdx.x, gridDim.x);
    const BrightnessSums luma = resident.empty()
                                    ? count_by_replicas<C, CountLuma, wanted>(image, partition, 5, p.colors())
                                    : count_resident<C, CountLuma, wanted>(image, partition, resident, p.colors());
    if constexpr (sums_luma) keep_luma(kept, luma);
    __syncthreads();

    // Merge.
    Total<C>& total = workspace.totals[kept.launch % 2];
#pragma unroll 1
    for (std::uint32_t bin = threadIdx.x; bin < channels * values; bin += blockDim.x) {
        const std::uint32_t samples = gather<channels>(bin, false);
        const Word pair = samples | Word{__shfl_down_sync(0xFFFFFFFFu, samples, 1)} << 32;
        if (bin % 2 == 0 && pair != 0) atomicAdd(&total.pairs[bin / 2], pair);
    }
    if (sums_luma) add_luma(kept.warp_luma, total.luma);

    const bool last = arrive_last(&workspace.arrived, gridDim.x, &kept.completes);
    if (last) {
        if (threadIdx.x == 0) *generation = kept.launch + 1;  // behind arrive_last's fence
        Total<C>& next = workspace.totals[(kept.launch + 1) % 2];
#pragma unroll 1
        for (int i = threadIdx.x; i < measured_channels(C) * values / 2; i += blockDim.x) next.pairs[i] = 0;
        if (threadIdx.x == 0) next.luma = BrightnessSums{};
    }

    // Finish: by the last block; a copy by all.
    if constexpr (normalize) {
        if (threadIdx.x == 0 && !last) {
            while (*generation == kept.launch) __nanosleep(20);
            __threadfence();
        }
        __syncthreads();
        const bool narrow = is_narrow(image.pixels());
        for (std::uint32_t bin = threadIdx.x; bin < channels * values; bin += blockDim.x) {
            const Word samples = counted(total, bin);
            kept.counts[bin] = samples;
            sum_up(narrow, bin, bin % values, samples, kept.partial);
        }
        make_luts<C>(common.normalization, {kept.counts, kept.partial, image.pixels()}, kept.luts);
        apply_luts<C>(common, kept.luts, image, dealt(units_of_samples<std::uint8_t, C>(image), blockIdx.x, gridDim.x),
                      output, resident);
        if (threadIdx.x == 0) kept.completes = atomicExch(&workspace.completed, kept.launch + 1) != kept.launch + 1;
        __syncthreads();
        if (!kept.completes) return;
        write_luts<C>(common, 0, kept.luts);
    } else if (!last) {
        return;
    }
    complete_image<C>(common, image.pixels(), channels, total, kept);
}

template <int C, bool CountLuma, typename O>
void launch_image(const Launch& launch, std::size_t shared_bytes, const Tensor& images, CountParameters p) {
    const std::int64_t blocks = blocks_for(images.units, u8_pixels_per_block / group_pixels(1, C));
    if constexpr (!std::is_void_v<O>) {
        using Resident = ResidentImage<std::uint8_t, C>;
        const std::size_t taken = shared_bytes + sizeof(Kept<C, O>);
        p.resident_rounds = Resident::rounds(images.first, std::min<std::int64_t>(blocks, launch.multiprocessors),
                                             block_threads, launch.shared_bytes - taken, least_resident_part);
        shared_bytes += Resident::bytes(p.resident_rounds, block_threads);
    }
    launch_kernel(launch, u8_image_kernel<C, CountLuma, O>, !std::is_void_v<O>, {blocks, block_threads, shared_bytes},
                  images.first, images.output, p);
}

}  // namespace

template <int C>
void launch_u8_image(const Tensor& images, CountParameters p, std::size_t shared_bytes, const Launch& launch) {
    with_output<std::uint8_t>(p.common, [&](auto* output) {
        using O = std::remove_pointer_t<decltype(output)>;
        with_luma<C>(p, [&](auto counted) { launch_image<C, counted(), O>(launch, shared_bytes, images, p); });
    });
}

template void launch_u8_image<GPUHIST_CHANNELS>(const Tensor&, CountParameters, std::size_t, const Launch&);

}  // namespace gpuhist::cuda
