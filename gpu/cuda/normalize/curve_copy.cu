// Copies by curves whose facts the CPU has found.

#include "cuda/normalize/curve_copy.hpp"

#include "cuda/normalize/pixel_copy.cuh"
#include "normalize/curves/map.hpp"

namespace gpuhist::cuda {
namespace {

/// Calls `use` with a channel's curve.
template <class Use>
__device__ void with_curve(const CurveOfChannel& of, const Use& use) {
    if (of.numbers.asked.mode == NormalizeMode::match) return use(of.match);
    core::with_numeric_curve(of.numbers, use);
}

/// Calls `use` with a sample of these bits, of a depth of floats or of 32 bits.
template <class Use>
__device__ auto with_sample(Depth depth, Bits bits, const Use& use) {
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

/// Kernel of a copy by curves. Launch: any grid. Bytes: each pixel is read once, and written once.
__global__ void __launch_bounds__(copy_threads) curve_copy_kernel(const __grid_constant__ CurveCopy p) {
    write_pixels(p, [&](std::int64_t, std::int64_t, const Bits(&pixel)[4], Bits(&written)[4]) {
#pragma unroll 1
        for (int c = 0; c < p.channels; ++c) {
            const CurveOfChannel& curve = p.curves[c];
            if (!curve.maps) {
                written[c] = with_sample(p.depth, pixel[c], [&](auto sample) {
                    return with_depth(p.copy, [&](auto to) {
                        return bits_of(core::kept<decltype(to)>(sample, p.real, curve.levels));
                    });
                });
                continue;
            }
            double result = 0, unit = 1;
            with_curve(curve, [&](const auto& of) {
                result = of(value_of_bits(p.depth, pixel[c]));
                unit = core::unit_of(of, curve.numbers);
            });
            written[c] = with_depth(p.copy, [&](auto to) {
                return bits_of(core::written<decltype(to)>(result, unit, p.real, curve.levels));
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
