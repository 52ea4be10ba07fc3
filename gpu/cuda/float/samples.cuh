// Samples of f32 images: a channel's values out of a group, and the sweeps that load groups.
#pragma once

#include <type_traits>

#include "core/luma.hpp"
#include "cuda/pixels/resident.cuh"
#include "cuda/pixels/validity.cuh"

namespace gpuhist::cuda {

/// Pixels of a group, or of an array, which is one pixel.
template <int C, class Pixels>
constexpr int pixels_of = std::is_array_v<Pixels> ? 1 : Group<float, C>::pixels;

/// Value of pixel p in a channel of the results: a color, luma or alpha.
template <int C, class Pixels>
__device__ inline float channel_value(const Pixels& pixels, int p, int channel, bool rgb) {
    const float first = pixels[p * C];
    if constexpr (C == 1) {
        return first;
    } else {
        const float second = pixels[p * C + 1], third = pixels[p * C + 2];
        if (channel == luma_channel) return core::luma(rgb ? first : third, second, rgb ? third : first);
        if constexpr (C == 4)
            if (channel == 4) return pixels[p * C + 3];
        return channel == 0 ? first : channel == 1 ? second : third;
    }
}
/// Values of all pixels in a channel, which need not be a constant.
template <int C, class Pixels, int N>
__device__ inline void channel_values(const Pixels& pixels, int channel, bool rgb, float (&values)[N]) {
    static_assert(N == pixels_of<C, Pixels>);
    const auto sample = [&](int p, int c) { return pixels[p * C + (c < C ? c : C - 1)]; };
    if (C > 1 && channel == luma_channel) {
#pragma unroll
        for (int p = 0; p < N; ++p) values[p] = channel_value<C>(pixels, p, luma_channel, rgb);
        return;
    }
#pragma unroll
    for (int p = 0; p < N; ++p)
        values[p] = C == 4 && channel == 4
                        ? sample(p, 3)
                        : (channel == 0 ? sample(p, 0) : (channel == 1 ? sample(p, 1) : sample(p, 2)));
}

__device__ inline bool is_finite(float value) {
    return fabsf(value) < INFINITY;
}
/// Whether a sample is valid: it is finite, and its pixel is valid.
template <class Valid>
__device__ inline bool is_valid(float value, const Valid& valid, int pixel) {
    return is_finite(value) && valid[pixel];
}

/// Value i, which need not be a constant, out of registers, by the bits of i.
template <int N>
__device__ inline float picked(const float (&values)[N], int i) {
    float left[N];
#pragma unroll
    for (int k = 0; k < N; ++k) left[k] = values[k];
#pragma unroll
    for (int step = 1; step < N; step *= 2)
#pragma unroll
        for (int k = 0; k + step < N; k += 2 * step) left[k] = i & step ? left[k + step] : left[k];
    return left[0];
}

template <int N>
__device__ inline void widen(const float (&values)[N], double (&wide)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) wide[i] = values[i];
}

/// Shows `visit` this thread's partition, see sweep_one_row and, of `Unroll`, Loads; or its part of a ResidentImage;
/// or, with an image's mask, the pixels and which of them are valid.
template <int C, int Unroll, class Visit, class OfImage = NoResidentImage>
__device__ __forceinline__ void sweep_f32(const Image& image, const WorkPartition& partition, Visit& visit,
                                          const OfImage& of_image = {}) {
    if constexpr (is_resident<OfImage>) {
        of_image.template sweep<C, Unroll>(visit);
        of_image.template sweep_end<C>(image, visit);
    } else if constexpr (std::is_same_v<OfImage, Mask>) {
        Masked<float, C, Visit> masked{visit, of_image};
        sweep_f32<C, Unroll>(image, partition, masked);
    } else if (in_one_row<float, C>(image)) {
        sweep_one_row<float, C>(image, partition, Loads<Unroll>{}, visit);
    } else {
        sweep_rows<float, C>(image, partition, Loads<Unroll>{}, visit);
    }
}

}  // namespace gpuhist::cuda
