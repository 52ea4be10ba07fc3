// Parts: interleaved samples taken apart through shared memory, so that reads and writes both lie side by side.

#include "cuda/pixels/parts.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/codes.hpp"
#include "cuda/host/device.hpp"
#include "cuda/pixels/walk.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int threads = 256, tile_bytes = 32768, line_bytes = 128;

/// Place of sample i of a tile in shared memory: lines of banks are moved by one against each other, so that the same
/// channel of neighboring pixels lies in different banks.
template <typename T>
__device__ inline int moved(int i) {
    constexpr int line = line_bytes / sizeof(T), by = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
    return i + i / line * by;
}

/// Word that small samples are moved in together.
template <typename T>
using Word = std::conditional_t<sizeof(T) < 4, std::uint32_t, T>;
template <typename T>
constexpr int per_word = sizeof(Word<T>) / sizeof(T);

/// Reads samples by a block, 16 bytes at once where they lie so.
template <typename T>
__device__ inline void read_tile(const T* from, int samples, T* to) {
    constexpr int together = 16 / sizeof(T);
    int done = 0;
    if (reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
        done = samples / together * together;
        for (int i = threadIdx.x * together; i < done; i += threads * together) {
            Word<T> words[16 / sizeof(Word<T>)];
            const uint4 loaded = *reinterpret_cast<const uint4*>(from + i);
            memcpy(words, &loaded, sizeof words);
            auto* at = reinterpret_cast<Word<T>*>(to + moved<T>(i));  // they lie in one line
#pragma unroll
            for (int w = 0; w < static_cast<int>(16 / sizeof(Word<T>)); ++w) at[w] = words[w];
        }
    }
    for (int i = done + threadIdx.x; i < samples; i += threads) to[moved<T>(i)] = from[i];
}

/// Writes one band of a tile by a warp, a word per lane where the plane's samples lie so.
template <typename T>
__device__ inline void write_band(const T* samples, int pixels, int channels, int band, T* plane) {
    const int lane = threadIdx.x % warp_lanes;
    int done = 0;
    if (per_word < T >> 1 && reinterpret_cast<std::uintptr_t>(plane) % sizeof(Word<T>) == 0) {
        done = pixels / per_word<T> * per_word<T>;
#pragma unroll 4
        for (int p = lane * per_word<T>; p < done; p += warp_lanes * per_word<T>) {
            Word<T> word = 0;
#pragma unroll
            for (int k = 0; k < per_word<T>; ++k)
                word |= static_cast<Word<T>>(samples[moved<T>((p + k) * channels + band)]) << (8 * sizeof(T) * k % 32);
            *reinterpret_cast<Word<T>*>(plane + p) = word;
        }
    }
#pragma unroll 4
    for (int p = done + lane; p < pixels; p += warp_lanes) plane[p] = samples[moved<T>(p * channels + band)];
}

/// Kernel that takes tiles of pixels apart, neighbors of one row. Launch: any grid. `tile`: pixels.
template <typename T>
__global__ void __launch_bounds__(threads)
    parts_kernel(const __grid_constant__ Image image, int channels, int colors, T* colors_to, char* planes,
                 std::int64_t plane_bytes, int tile) {
    __shared__ alignas(16) T samples[(tile_bytes + tile_bytes / line_bytes * 8) / sizeof(T)];
    const int warp = threadIdx.x / warp_lanes;
    const std::int64_t in_row = (image.width + tile - 1) / tile, tiles = in_row * image.height;
    for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        const std::int64_t y = divide(t, in_row), x = (t - y * in_row) * tile, place = y * image.width + x;
        const auto pixels = static_cast<int>(min(std::int64_t{tile}, image.width - x));
        const T* from =
            reinterpret_cast<const T*>(static_cast<const char*>(image.data) + y * image.row_bytes) + x * channels;
        read_tile(from, pixels * channels, samples);
        __syncthreads();  // the tile, for all
        for (int i = threadIdx.x; i < pixels * colors; i += threads)
            colors_to[place * colors + i] = samples[moved<T>(i / colors * channels + i % colors)];
        for (int c = colors + warp; c < channels; c += threads / warp_lanes)
            write_band(samples, pixels, channels, c, reinterpret_cast<T*>(planes + (c - colors) * plane_bytes) + place);
        __syncthreads();  // the tile may be written again
    }
}

}  // namespace

void launch_parts(const Image& image, int channels, int sample_bytes, int colors, void* colors_to, void* planes,
                  std::int64_t plane_bytes, cudaStream_t stream) {
    const int tile = std::min(1024, tile_bytes / (channels * sample_bytes));
    const std::int64_t tiles = (image.width + tile - 1) / tile * image.height;
    const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(tiles, 1 << 16));
    const auto launch = [&](auto sample) {
        using T = decltype(sample);
        parts_kernel<T><<<blocks, threads, 0, stream>>>(image, channels, colors, static_cast<T*>(colors_to),
                                                        static_cast<char*>(planes), plane_bytes, tile);
    };
    switch (sample_bytes) {
        case 1:
            launch(std::uint8_t{});
            break;
        case 2:
            launch(std::uint16_t{});
            break;
        case 4:
            launch(std::uint32_t{});
            break;
        default:
            launch(std::uint64_t{});
    }
    GPUHIST_CUDA(cudaGetLastError());
}

}  // namespace gpuhist::cuda
