// Copies of f32 images of GPUHIST_CHANNELS channels with excluded samples: by the findings of a result.

#include <type_traits>

#include "cuda/float/moments.cuh"
#include "cuda/normalize/f32.cuh"
#include "cuda/normalize/valid_copy.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int plan_threads = 128, equalize_threads = 768;

/// Task of the image of the analysis before, by the state in the workspace.
template <int C>
__device__ inline Task<C, true> task_of(const F32Work& work, const Image& image) {
    return {&work, 0, image, {}};
}

/// Kernel that plans the mappings of the colors. Launch: one block, a warp per color and one more.
template <int C>
__global__ void __launch_bounds__(plan_threads) plan_kernel(const __grid_constant__ F32Work work) {
    constexpr int colors = colors_of(C);
    __shared__ ChannelFacts facts[colors];
    __shared__ core::CentralMoments moments[colors];
    const Task<C, true> task = task_of<C>(work, {});
    const Common& common = work.common;
    const ImageResult& result = *result_of(common, 0);
    const auto& details = *reinterpret_cast<const core::FloatDetails*>(common.results + common.layout.details_offset);
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;
    if (warp < colors) {
        const int channel = result_channel(warp, C, common.rgb);
        const ChannelResult& found = result.channels[channel];
        const core::CentralMoments central = central_moments_of(found.samples, details.moments[channel]);
        if (lane == 0) {
            facts[warp] = {found.samples, 0, static_cast<float>(found.minimum), static_cast<float>(found.maximum)};
            moments[warp] = central;
        }
    } else if (lane == 0 && warp == colors) {
        bool any = false;
        double low = INFINITY, high = -INFINITY;
        for (int channel = 0; channel < (C == 1 ? 1 : luma_channel + 1); ++channel) {
            const ChannelResult& found = result.channels[channel];
            if (found.samples == 0) continue;
            any = true;
            low = fmin(low, found.minimum);
            high = fmax(high, found.maximum);
        }
        task.state().equalized = core::found_range(any, low, high);
    }
    __syncthreads();  // the facts, for all
    if (threadIdx.x < colors) plan_mapping(task, threadIdx.x, facts, moments);
}

/// Kernel that counts the bins of an equalization. Launch: one block per multiprocessor; blocks are dealt to the
/// channels. Bytes: each pixel is read once per channel and slice. `OfImage`: Mask, or NoResidentImage where there is
/// none.
template <int C, class OfImage>
__global__ void __launch_bounds__(equalize_threads, 1)
    count_kernel(const __grid_constant__ Image image, const __grid_constant__ F32Work work) {
    __shared__ core::FloatBins bins;
    const Task<C, true> task = task_of<C>(work, image);
    const Range range = task.state().equalized;
    if (threadIdx.x == 0) bins = core::FloatBins(range.lower, range.upper, core::equalize_float_bins, true);
    __syncthreads();  // the bins, for all
    const OfImage valid = [&] {
        if constexpr (std::is_same_v<OfImage, Mask>)
            return work.mask;
        else
            return NoResidentImage{};
    }();
    const EqualizedChannels<C> of(work.common.normalization);
    for_channels(task, of.channels, [&](int channel, const WorkPartition& partition) {
        count_into_bins(task, of.first + channel, partition, bins, valid);
    });
}

/// Kernel that makes the LUTs of an equalization from the counts, which it clears. Launch: a block per LUT.
template <int C>
__global__ void __launch_bounds__(equalize_threads) lut_kernel(const __grid_constant__ F32Work work) {
    equalize(task_of<C>(work, {}));
}

/// Kernel of a copy by the planned mappings. Launch: any grid. Bytes: each pixel is read once, and written once.
template <int C, class Out>
__global__ void __launch_bounds__(copy_threads)
    float_copy_kernel(const __grid_constant__ ValidCopy p, const __grid_constant__ F32Work work) {
    __shared__ Mapping maps[3];
    __shared__ core::FloatBins bins;
    const Task<C, true> task = task_of<C>(work, p.image);
    const F32State& state = task.state();
    if (threadIdx.x < colors_of(C)) maps[threadIdx.x] = state.maps[threadIdx.x];
    if (threadIdx.x == 0)
        bins = core::FloatBins(state.equalized.lower, state.equalized.upper, core::equalize_float_bins, true);
    __syncthreads();  // maps and bins, for all
    bool estimated = true;
    for (int c = 0; c < colors_of(C); ++c) estimated = estimated && !maps[c].keep && !maps[c].flat;
    const EqualizedChannels<C> of(p.common.normalization);
    core::with_mode(p.common.normalization.mode, [&](auto mode) {
        const F32Writer<C, decltype(mode)> writer{
            maps, EstimatedBins(&bins), task.lut(of.first), of.channels == 1 ? 0 : 65536, p.output, estimated};
        write_copy<C, float, Out>(p, [&](const float(&pixel)[C], Out(&written)[C]) {
            float mapped[C];
            writer.map(0, pixel, mapped);
#pragma unroll
            for (int c = 0; c < C; ++c)
                written[c] = core::to_depth<Out>(mapped[c], c < 3 ? p.common.levels : core::levels_of_type<Out>());
        });
    });
}

}  // namespace

template <int C>
void launch_valid_f32(const ValidCopy& copy, const Image& counted, const Mask& mask, void* workspace,
                      const Launch& launch) {
    F32Work work{};
    work.common = copy.common;
    work.workspace = workspace;
    work.mask = mask;
    work.slices_log2 = slices_log2(launch);
    launch_kernel(launch, plan_kernel<C>, false, LaunchConfiguration{1, plan_threads, 0, 1}, work);
    if (copy.common.needs == NormalizeNeeds::counts || launch.only_loads) {
        const LaunchConfiguration configuration{launch.multiprocessors, equalize_threads,
                                                std::size_t{131072} >> work.slices_log2, 1};
        if (mask.data || launch.only_loads)
            launch_kernel(launch, count_kernel<C, Mask>, false, configuration, counted, work);
        if (!mask.data || launch.only_loads)
            launch_kernel(launch, count_kernel<C, NoResidentImage>, false, configuration, counted, work);
        launch_kernel(launch, lut_kernel<C>, false, LaunchConfiguration{colors_of(C), equalize_threads, 0, 1}, work);
    }
    with_copies(copy, [&](auto* output) {
        using Out = std::remove_pointer_t<decltype(output)>;
        launch_kernel(launch, float_copy_kernel<C, Out>, false, copy_configuration(copy.image), copy, work);
    });
}

template void launch_valid_f32<GPUHIST_CHANNELS>(const ValidCopy&, const Image&, const Mask&, void*, const Launch&);

}  // namespace gpuhist::cuda
