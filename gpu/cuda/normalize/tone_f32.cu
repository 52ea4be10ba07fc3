// Copies of f32 images of GPUHIST_CHANNELS channels by curves: by the findings of a result.

#include <type_traits>

#include "cuda/float/moments.cuh"
#include "cuda/float/selection.cuh"
#include "cuda/normalize/tone.hpp"
#include "cuda/normalize/valid_copy.cuh"
#include "normalize/curves/map.hpp"

namespace gpuhist::cuda {
namespace {

/// Numbers of the curves of the colors, in the order of the pixel. By a block.
template <int C>
__device__ void find_numbers(const F32Work& work, const core::CurveParameters& curve, bool per_color,
                             core::CurveNumbers* numbers, bool* keep) {
    constexpr int colors = colors_of(C);
    __shared__ core::CentralMoments moments[colors];
    const Common& common = work.common;
    const KernelNormalization& normalization = common.normalization;
    const bool joint = C > 1 && normalization.joint;
    const ImageResult& result = *result_of(common, 0);
    const auto& details = *reinterpret_cast<const core::FloatDetails*>(common.results + common.layout.details_offset);
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;
    if (warp < colors && common.needs == NormalizeNeeds::mean_std) {
        const int channel = result_channel(warp, C, common.rgb);
        const core::CentralMoments central =
            central_moments_of(result.channels[channel].samples, details.moments[channel]);
        if (lane == 0) moments[warp] = central;
    }
    __syncthreads();  // the moments, for all
    if (threadIdx.x < colors) {
        const int c = static_cast<int>(threadIdx.x);
        core::CurveNumbers found(0, 1, curve);
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < colors; ++i) {
            const ChannelResult& one = result.channels[result_channel(i, C, common.rgb)];
            if (!(joint || i == c) || one.samples == 0) continue;
            found.samples += one.samples;
            low = fmin(low, one.minimum);
            high = fmax(high, one.maximum);
        }
        found.low = low;
        found.high = high;
        found.threshold = curve.threshold;
        if (found.samples > 0 && common.needs == NormalizeNeeds::ranks) {
            const Task<C, true> task{&work, 0, {}, {}};
            const F32Channel& source = task.channel(joint ? core::pooled_channel : c);
            found.low = order_statistic(source, core::first_of_stretch);
            found.high = order_statistic(source, core::first_of_stretch + 1);
        }
        if (found.samples > 0 && common.needs == NormalizeNeeds::mean_std) {
            core::CentralMoments parts[colors], all = moments[c];
            for (int i = 0; i < colors; ++i) parts[result_channel(i, C, common.rgb)] = moments[i];
            if (joint) all = core::combine(parts, colors);
            found.mean = all.mean;
            found.std = sqrt(all.m2);
            core::set_interval(found);
        }
        numbers[c] = found;
    }
    __syncthreads();  // the numbers, for the balance
    if (threadIdx.x == 0) {
        const int red = common.rgb ? 0 : 2;
        if (C > 1 && per_color) core::balance(numbers[red], numbers[1], numbers[2 - red]);
        for (int c = 0; c < colors; ++c) keep[c] = core::keeps(numbers[c], common.needs);
    }
    __syncthreads();  // factors and verdicts, for all
}

/// Kernel of a copy by curves. Launch: any grid. Bytes: each pixel is read once, and written once.
template <int C, class Out>
__global__ void __launch_bounds__(copy_threads)
    curve_copy_kernel(const __grid_constant__ ValidCopy p, const __grid_constant__ F32Work work,
                      const __grid_constant__ core::CurveParameters curve, ToneTraits traits) {
    __shared__ __align__(16) char room[colors_of(C) * sizeof(core::CurveNumbers)];
    __shared__ bool keep[3];
    auto* const numbers = reinterpret_cast<core::CurveNumbers*>(room);
    find_numbers<C>(work, curve, traits.per_color, numbers, keep);
    core::with_numeric_curve(numbers[0], [&](const auto& first) {
        using Curve = std::decay_t<decltype(first)>;
        const Curve curves[] = {first, Curve(numbers[C > 1 ? 1 : 0]), Curve(numbers[C > 1 ? 2 : 0])};
        write_copy<C, float, Out>(p, [&](const float(&pixel)[C], Out(&written)[C]) {
#pragma unroll
            for (int c = 0; c < C; ++c) {
                const core::Levels levels = c < 3 ? p.common.levels : core::levels_of_type<Out>();
                if (c == 3 || keep[c]) {
                    written[c] = core::to_depth<Out>(pixel[c], levels);
                    continue;
                }
                written[c] =
                    core::written<Out>(curves[c < 3 ? c : 0](static_cast<double>(pixel[c])), 1, traits.real, levels);
            }
        });
    });
}

}  // namespace

template <int C>
void launch_tone_f32(const ValidCopy& copy, const core::CurveParameters& curve, void* workspace, const Launch& launch) {
    F32Work work{};
    work.common = copy.common;
    work.workspace = workspace;
    with_copies(copy, [&](auto* output) {
        using Out = std::remove_pointer_t<decltype(output)>;
        launch_kernel(launch, curve_copy_kernel<C, Out>, false, copy_configuration(copy.image), copy, work, curve,
                      ToneTraits(curve.mode));
    });
}

template void launch_tone_f32<GPUHIST_CHANNELS>(const ValidCopy&, const core::CurveParameters&, void*, const Launch&);

}  // namespace gpuhist::cuda
