// Copies of images with excluded samples, a pixel per thread.
#pragma once

#include <type_traits>

#include "cuda/host/launcher.cuh"
#include "cuda/normalize/valid_copy.hpp"
#include "cuda/pixels/walk.cuh"
#include "cuda/rules/pixel_classes.cuh"

namespace gpuhist::cuda {
namespace {

/// Threads of a block that copies.
constexpr int copy_threads = 256;

/// Launch configuration of a copy.
inline LaunchConfiguration copy_configuration(const Image& image) {
    return {blocks_for(image.pixels(), copy_threads), copy_threads, 0, 8};
}

/// Calls `function` with a null pointer to the samples of a copy.
template <class Function>
void with_copies(const ValidCopy& copy, Function function) {
    switch (copy.common.normalization.copies) {
        case Depth::u8:
            return function(static_cast<std::uint8_t*>(nullptr));
        case Depth::u16:
            return function(static_cast<std::uint16_t*>(nullptr));
        default:
            return function(static_cast<float*>(nullptr));
    }
}

/// Sample of these bits.
template <class Out>
__device__ inline Out sample_of_bits(std::uint64_t bits) {
    if constexpr (std::is_same_v<Out, float>)
        return __uint_as_float(static_cast<std::uint32_t>(bits));
    else
        return static_cast<Out>(bits);
}

/// Writes the excluded samples of a copy's pixel, as Normalization says. `values`: of its samples; `same`: samples of
/// the copy that stay as they are.
template <int C, class Value, class Out>
__device__ inline void settle(const Settling& p, bool unmasked, const Value (&values)[C], const Out (&same)[C],
                              Out (&written)[C]) {
    const bool converted = p.converted;
    const PixelClasses classes(p.rules, unmasked, values);
    const std::uint64_t named = named_nodata(p.rules, values);
    bool all = true;
#pragma unroll
    for (int c = 0; c < C; ++c) {
        const bool nodata = (named >> c & 1) != 0, alpha = C == 4 && c == 3 && p.has_alpha;
        if (classes.valid_at(c) && !nodata) continue;
        if (alpha) {
            if (converted) written[c] = Out{0};
            continue;
        }
        all = false;
        if (converted || (nodata && p.filled))
            written[c] = sample_of_bits<Out>(nodata ? p.nodata : p.others);
        else if (nodata || p.valid_only)
            written[c] = same[c];
    }
    if (C == 4 && p.has_alpha && converted && !all) written[C - 1] = Out{0};
}

/// Writes a copy: `map(pixel, written)` maps a pixel's samples. By all threads of a grid. A pixel is read before it is
/// written, so that the copy may lie where the image does.
template <int C, class Sample, class Out, class Map>
__device__ inline void write_copy(const ValidCopy& p, const Map& map) {
    const std::int64_t pixels = p.image.pixels(), step = std::int64_t{gridDim.x} * copy_threads;
    for (std::int64_t i = std::int64_t{blockIdx.x} * copy_threads + threadIdx.x; i < pixels; i += step) {
        const std::int64_t y = p.image.height > 1 ? divide(i, p.image.width) : 0, x = i - y * p.image.width;
        const auto* from =
            reinterpret_cast<const Sample*>(static_cast<const char*>(p.image.data) + y * p.image.row_bytes) + x * C;
        auto* to = reinterpret_cast<Out*>(static_cast<char*>(p.output.data) + y * p.output.row_bytes) + x * C;
        Sample pixel[C];
        Out written[C];
#pragma unroll
        for (int c = 0; c < C; ++c) pixel[c] = from[c];
        map(pixel, written);
        if (p.settles) {
            Out same[C];
#pragma unroll
            for (int c = 0; c < C; ++c) same[c] = static_cast<Out>(pixel[c]);
            settle(p, p.mask.keeps(x, y), pixel, same, written);
        }
#pragma unroll
        for (int c = 0; c < C; ++c) to[c] = written[c];
    }
}

}  // namespace
}  // namespace gpuhist::cuda
