// Interleaving: neighboring pixels are loaded and stored in words, where they lie at whole words.

#include "cuda/pixels/interleave.hpp"

#include <cstring>

#include "cuda/host/launcher.cuh"
#include "cuda/pixels/walk.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int interleave_threads = 256;

/// Pixels that a thread puts together: the samples of a plane that are a word.
template <typename T>
constexpr int pixels_at_once = sizeof(std::uint32_t) / sizeof(T);

__device__ inline bool at_word(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % sizeof(std::uint32_t) == 0;
}

/// Kernel. Launch: any grid.
template <typename T, int channels>
__global__ void __launch_bounds__(interleave_threads)
    interleave_kernel(const __grid_constant__ Planes planes, char* to, std::int64_t to_bytes) {
    constexpr int together = pixels_at_once<T>;
    const Image& image = planes.first;
    const std::int64_t in_row = (image.width + together - 1) / together, rows = image.height * planes.images;
    for (std::int64_t g = blockIdx.x * std::int64_t{interleave_threads} + threadIdx.x; g < in_row * rows;
         g += gridDim.x * std::int64_t{interleave_threads}) {
        const std::int64_t row = divide(g, in_row), x = (g - row * in_row) * together;
        const std::int64_t n = divide(row, image.height), y = row - n * image.height;
        const char* const from = static_cast<const char*>(image.data) + n * planes.image_bytes + y * image.row_bytes +
                                 x * static_cast<std::int64_t>(sizeof(T));
        T* const pixels = reinterpret_cast<T*>(to + n * to_bytes) + (y * image.width + x) * channels;
        const bool whole = x + together <= image.width;
        T samples[together * channels];
#pragma unroll
        for (int c = 0; c < channels; ++c) {
            const char* const plane = from + c * planes.plane_bytes;
            T loaded[together];
            if (whole && at_word(plane)) {
                const std::uint32_t word = *reinterpret_cast<const std::uint32_t*>(plane);
                memcpy(loaded, &word, sizeof word);
            } else {
#pragma unroll
                for (int k = 0; k < together; ++k)
                    loaded[k] = x + k < image.width ? reinterpret_cast<const T*>(plane)[k] : T{};
            }
#pragma unroll
            for (int k = 0; k < together; ++k) samples[k * channels + c] = loaded[k];
        }
        if (whole && at_word(pixels)) {
            std::uint32_t words[channels];
            memcpy(words, samples, sizeof words);
#pragma unroll
            for (int w = 0; w < channels; ++w) reinterpret_cast<std::uint32_t*>(pixels)[w] = words[w];
        } else {
#pragma unroll
            for (int k = 0; k < together; ++k)
#pragma unroll
                for (int c = 0; c < channels; ++c)
                    if (x + k < image.width) pixels[k * channels + c] = samples[k * channels + c];
        }
    }
}

template <typename T, int channels>
void launch_kernel_of(const Planes& planes, void* to, std::int64_t to_bytes, const Launch& launch) {
    const std::int64_t groups =
        (planes.first.width + pixels_at_once<T> - 1) / pixels_at_once<T> * planes.first.height * planes.images;
    const LaunchConfiguration configuration{blocks_for(groups, interleave_threads), interleave_threads, 0};
    launch_kernel(launch, interleave_kernel<T, channels>, false, configuration, planes, static_cast<char*>(to),
                  to_bytes);
}

template <typename T>
void launch_of(const Planes& planes, int channels, void* to, std::int64_t to_bytes, const Launch& launch) {
    if (channels == 1) return launch_kernel_of<T, 1>(planes, to, to_bytes, launch);
    if (channels == 3) return launch_kernel_of<T, 3>(planes, to, to_bytes, launch);
    launch_kernel_of<T, 4>(planes, to, to_bytes, launch);
}

}  // namespace

void launch_interleave(const Planes& planes, int channels, int sample_bytes, void* to, std::int64_t to_bytes,
                       const Launch& launch) {
    if (sample_bytes == 1) return launch_of<std::uint8_t>(planes, channels, to, to_bytes, launch);
    if (sample_bytes == 2) return launch_of<std::uint16_t>(planes, channels, to, to_bytes, launch);
    launch_of<std::uint32_t>(planes, channels, to, to_bytes, launch);
}

}  // namespace gpuhist::cuda
