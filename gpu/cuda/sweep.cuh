// One pass over an image's pixels by any number of workers, with the widest loads that its alignment allows.
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda/parameters.hpp"

namespace gpuhist::cuda {

/// What one worker loads at once: the fewest whole pixels that are whole 16-byte words.
template <typename T, int C>
struct Group {
    static constexpr int words = C == 3 ? 3 : 1;
    static constexpr int pixels = words * 16 / static_cast<int>(sizeof(T) * C);
    static constexpr int samples = pixels * C;
};

template <typename T, int C>
__device__ inline void load_group(const T* source, T (&samples)[Group<T, C>::samples]) {
    uint4 words[Group<T, C>::words];
#pragma unroll
    for (int w = 0; w < Group<T, C>::words; ++w) words[w] = reinterpret_cast<const uint4*>(source)[w];
    memcpy(samples, words, sizeof words);
}

/// Pixels before the first group of a row that starts on a 16-byte boundary; `width` where no pixel does.
template <typename T, int C>
__device__ inline std::int64_t head_pixels(const T* row, std::int64_t width) {
    auto address = reinterpret_cast<std::uintptr_t>(row);
    std::int64_t pixels = 0;
    while (address % 16 != 0 && pixels < Group<T, C>::pixels) {
        address += sizeof(T) * C;
        ++pixels;
    }
    return address % 16 == 0 && pixels < width ? pixels : width;
}

/// Calls `visit.group(row, x, samples)` or `visit.pixel(row, x, samples)` for every pixel once, x being the (first)
/// pixel's place in its row. Worker `rank` of `workers` takes every workers-th group, so that neighbours read
/// neighbouring memory.
template <typename T, int C, int Unroll, class Visit>
__device__ void sweep(const Image& image, std::int64_t rank, std::int64_t workers, Visit& visit) {
    using G = Group<T, C>;
    auto visit_pixel = [&](std::int64_t y, const T* row, std::int64_t x) {
        T pixel[C];
#pragma unroll
        for (int c = 0; c < C; ++c) pixel[c] = row[x * C + c];
        visit.pixel(y, x, pixel);
    };

    if (image.height == 1) {
        const T* row = static_cast<const T*>(image.data);
        const std::int64_t head = head_pixels<T, C>(row, image.width), groups = (image.width - head) / G::pixels;
        const T* body = row + head * C;
        for (std::int64_t g = rank; g < groups; g += Unroll * workers) {
            T samples[Unroll][G::samples];
#pragma unroll
            for (int u = 0; u < Unroll; ++u)  // several loads in flight
                if (g + u * workers < groups) load_group<T, C>(body + (g + u * workers) * G::samples, samples[u]);
#pragma unroll
            for (int u = 0; u < Unroll; ++u)
                if (g + u * workers < groups) visit.group(0, head + (g + u * workers) * G::pixels, samples[u]);
        }
        const std::int64_t rest = image.width - groups * G::pixels;  // before and after the groups
        for (std::int64_t i = rank; i < rest; i += workers) visit_pixel(0, row, i < head ? i : i + groups * G::pixels);
        return;
    }

    // Rows with gaps: each is cut into a head, whole groups and a tail; work is dealt out over all rows' pieces.
    const std::int64_t pieces = image.width / G::pixels + 2;
    const std::int64_t row_step = workers / pieces, piece_step = workers % pieces;
    std::int64_t y = rank / pieces, piece = rank % pieces;
    while (y < image.height) {
        const T* row = reinterpret_cast<const T*>(static_cast<const char*>(image.data) + y * image.row_bytes);
        const std::int64_t head = head_pixels<T, C>(row, image.width);
        const bool aligned = head < image.width || head < G::pixels;  // else no group is
        const std::int64_t first = !aligned ? piece * G::pixels : piece == 0 ? 0 : head + (piece - 1) * G::pixels;
        const std::int64_t last = aligned && piece == 0 ? head : min(first + G::pixels, image.width);
        if (aligned && piece != 0 && last - first == G::pixels) {
            T samples[G::samples];
            load_group<T, C>(row + first * C, samples);
            visit.group(y, first, samples);
        } else {
            for (std::int64_t x = first; x < last; ++x) visit_pixel(y, row, x);
        }
        y += row_step;
        piece += piece_step;
        if (piece >= pieces) {
            piece -= pieces;
            ++y;
        }
    }
}

/// Turns visits of groups into visits of pixels, and tells when a group is done.
template <class Derived, typename T, int C>
struct PixelVisitor {
    __device__ void group(std::int64_t y, std::int64_t x, const T (&samples)[Group<T, C>::samples]) {
#pragma unroll
        for (int p = 0; p < Group<T, C>::pixels; ++p) {
            T pixel[C];
#pragma unroll
            for (int c = 0; c < C; ++c) pixel[c] = samples[p * C + c];
            static_cast<Derived*>(this)->pixel(y, x + p, pixel);
        }
        static_cast<Derived*>(this)->end_of_group();
    }
    __device__ void end_of_group() {}
};

}  // namespace gpuhist::cuda
