// Copies whose pixels are written one by one: a pixel per thread. Depths are known at run time, so that a kernel is
// compiled once, and not for each pair of them.
#pragma once

#include "cuda/normalize/pixel_copy.hpp"
#include "cuda/normalize/valid_copy.cuh"

namespace gpuhist::cuda {
namespace {

/// Bits of a sample of up to 64 bits.
using Bits = std::uint64_t;

__device__ inline int bytes_of(Depth depth) {
    switch (depth) {
        case Depth::u8:
        case Depth::s8:
            return 1;
        case Depth::u16:
        case Depth::s16:
        case Depth::f16:
            return 2;
        case Depth::f64:
            return 8;
        default:
            return 4;
    }
}
__device__ inline Bits load_bits(const char* at, int bytes) {
    switch (bytes) {
        case 1:
            return *reinterpret_cast<const std::uint8_t*>(at);
        case 2:
            return *reinterpret_cast<const std::uint16_t*>(at);
        case 4:
            return *reinterpret_cast<const std::uint32_t*>(at);
        default:
            return *reinterpret_cast<const std::uint64_t*>(at);
    }
}
__device__ inline void store_bits(char* at, Bits bits, int bytes) {
    switch (bytes) {
        case 1:
            *reinterpret_cast<std::uint8_t*>(at) = static_cast<std::uint8_t>(bits);
            break;
        case 2:
            *reinterpret_cast<std::uint16_t*>(at) = static_cast<std::uint16_t>(bits);
            break;
        case 4:
            *reinterpret_cast<std::uint32_t*>(at) = static_cast<std::uint32_t>(bits);
            break;
        default:
            *reinterpret_cast<std::uint64_t*>(at) = bits;
    }
}

template <class Sample>
__device__ inline Sample sample_of(Bits bits) {
    const auto code = static_cast<core::Code<Sample>>(bits);
    Sample sample;
    memcpy(&sample, &code, sizeof sample);
    return sample;
}
template <class Sample>
__device__ inline Bits bits_of(Sample sample) {
    core::Code<Sample> code;
    memcpy(&code, &sample, sizeof sample);
    return code;
}
__device__ inline double value_of_bits(Depth depth, Bits bits) {
    return with_depth(depth, [&](auto type) { return core::value_of(sample_of<decltype(type)>(bits)); });
}
/// Code of a sample, see core::code_of.
__device__ inline Bits code_of_bits(Depth depth, Bits bits) {
    return with_depth(depth, [&](auto type) -> Bits { return core::code_of(sample_of<decltype(type)>(bits)); });
}

/// Calls `map(x, y, pixel, written)` for each pixel, with the bits of its samples, and writes what it has written, and
/// the excluded samples. By all threads of a grid. A pixel is read before it is written.
template <class Map>
__device__ inline void write_pixels(const PixelCopy& p, const Map& map) {
    const std::int64_t pixels = p.image.pixels(), step = std::int64_t{gridDim.x} * copy_threads;
    const int from_bytes = bytes_of(p.depth), to_bytes = bytes_of(p.copy);
    for (std::int64_t i = std::int64_t{blockIdx.x} * copy_threads + threadIdx.x; i < pixels; i += step) {
        const std::int64_t y = p.image.height > 1 ? divide(i, p.image.width) : 0, x = i - y * p.image.width;
        const char* const from =
            static_cast<const char*>(p.image.data) + y * p.image.row_bytes + x * p.channels * from_bytes;
        char* const to = static_cast<char*>(p.output.data) + y * p.output.row_bytes + x * p.channels * to_bytes;
        Bits pixel[4] = {}, written[4] = {};
#pragma unroll
        for (int c = 0; c < 4; ++c)
            if (c < p.channels) pixel[c] = load_bits(from + c * from_bytes, from_bytes);
        map(x, y, pixel, written);
        if (p.settles) {
            double values[4];
#pragma unroll
            for (int c = 0; c < 4; ++c) values[c] = value_of_bits(p.depth, pixel[c]);
            settle(p, p.mask.keeps(x, y), values, pixel, written);
        }
#pragma unroll
        for (int c = 0; c < 4; ++c)
            if (c < p.channels) store_bits(to + c * to_bytes, written[c], to_bytes);
    }
}

}  // namespace
}  // namespace gpuhist::cuda
