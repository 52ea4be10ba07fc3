// Copies by curves whose facts the CPU has found.

#include "cuda/normalize/curve_copy.hpp"

#include "cuda/normalize/pixel_copy.cuh"
#include "normalize/curves/map.hpp"

namespace gpuhist::cuda {
namespace {

/// Value that is matched, as core::MatchCurve finds it.
__device__ double matched_value(const CurveOfChannel& curve, double v) {
    if (v != v) return v;
    std::int64_t first = 0, end = curve.count;  // the first value above lies in [first, end]
    while (first < end) {
        const std::int64_t middle = (first + end) / 2;
        if (curve.values[middle] > v)
            end = middle;
        else
            first = middle + 1;
    }
    return curve.matched[first > 0 ? first - 1 : 0] - curve.numbers.lowest;
}

/// Result of a curve, and that of a sample at the end of the range.
struct CurveResult {
    double value, unit;
};
__device__ CurveResult result_of_curve(const CurveOfChannel& curve, NormalizeMode mode, double v) {
    if (mode == NormalizeMode::match) return {matched_value(curve, v), curve.numbers.range};
    CurveResult result{0, 1};
    core::with_numeric_curve(curve.numbers, [&](const auto& of) {
        result.value = of(v);
        if (of.in_samples) result.unit = curve.numbers.range;
    });
    return result;
}

/// Calls `use` with a sample of these bits, of a depth of floats or of 32 bits.
template <class Use>
__device__ void with_sample(Depth depth, Bits bits, const Use& use) {
    switch (depth) {
        case Depth::u32:
            return use(sample_of<std::uint32_t>(bits));
        case Depth::s32:
            return use(sample_of<std::int32_t>(bits));
        case Depth::f64:
            return use(sample_of<double>(bits));
        default:
            return use(sample_of<float>(bits));
    }
}

/// Bits of a sample that stays as it is, as core::keep_samples.
__device__ Bits kept_bits(Depth depth, Bits bits, Depth copy, bool real, core::Levels levels) {
    Bits kept = 0;
    with_sample(depth, bits, [&](auto sample) {
        with_depth(copy, [&](auto to) {
            using Out = decltype(to);
            if constexpr (core::is_real<Out>)
                kept =
                    bits_of(real ? core::rounded_to<Out>(core::value_of(sample)) : core::to_depth<Out>(sample, levels));
            else
                kept = bits_of(core::to_depth<Out>(sample, levels));
        });
    });
    return kept;
}

/// Kernel of a copy by curves. Launch: any grid. Bytes: each pixel is read once, and written once.
__global__ void __launch_bounds__(copy_threads) curve_copy_kernel(const __grid_constant__ CurveCopy p) {
    write_pixels(p, [&](std::int64_t, std::int64_t, const Bits(&pixel)[4], Bits(&written)[4]) {
#pragma unroll 1
        for (int c = 0; c < p.channels; ++c) {
            const CurveOfChannel& curve = p.curves[c];
            if (!curve.maps) {
                written[c] = kept_bits(p.depth, pixel[c], p.copy, p.real, curve.levels);
                continue;
            }
            const CurveResult result = result_of_curve(curve, p.mode, value_of_bits(p.depth, pixel[c]));
            with_depth(p.copy, [&](auto to) {
                written[c] = bits_of(core::written<decltype(to)>(result.value, result.unit, p.real, curve.levels));
            });
        }
    });
}

/// Kernel that gathers values. Launch: any grid.
__global__ void __launch_bounds__(copy_threads) gather_kernel(const __grid_constant__ SampleGather p) {
    const int bytes = bytes_of(p.depth);
    for (std::int64_t i = std::int64_t{blockIdx.x} * copy_threads + threadIdx.x; i < p.count;
         i += std::int64_t{gridDim.x} * copy_threads) {
        const std::int64_t sample = i * p.stride, pixel = divide(sample, p.position_count);
        const int position = p.positions[sample - pixel * p.position_count];
        const std::int64_t y = divide(pixel, p.image.width), x = pixel - y * p.image.width;
        const char* const at =
            static_cast<const char*>(p.image.data) + y * p.image.row_bytes + (x * p.channels + position) * bytes;
        p.values[i] = value_of_bits(p.depth, load_bits(at, bytes));
    }
}

}  // namespace

void launch_curve_copy(const CurveCopy& copy, const Launch& launch) {
    launch_kernel(launch, curve_copy_kernel, false, copy_configuration(copy.image), copy);
}

void launch_gather(const SampleGather& gather, const Launch& launch) {
    launch_kernel(launch, gather_kernel, false, {blocks_for(gather.count, copy_threads), copy_threads, 0, 1}, gather);
}

}  // namespace gpuhist::cuda
