// One pass over an f32 image that keeps several loads in flight.
#pragma once

#include <cstdint>

#include "cuda/sweep.cuh"

namespace gpuhist::cuda {

/// The threads that share an image, and this one's place among them.
struct Crew {
    std::int64_t rank, workers;
};

/// The four floats of a 16-byte word. Volatile, since the compiler would else move each load down to its first use, so
/// that only one is ever in flight.
__device__ inline void load_word(const char* source, float* to) {
    asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "l"(source));
}

/// Where the groups of samples lie that are looked at together: the first one's first pixel, and pixels from one group
/// to the next.
struct Where {
    std::int64_t y, x, apart;
};

/// Calls `visit(samples, where)` for arrays of whole pixels, samples in memory order, so that every pixel of the image
/// is seen once by one of the crew. `Unroll` groups are loaded before any is looked at; `Ahead`: and the next ones
/// before these are. `backwards`: from the image's end, where an earlier sweep has left it in the cache.
template <int C, int Unroll, bool Ahead, class Visit>
__device__ __forceinline__ void sweep_floats(const Image& image, const Crew& crew, bool backwards, Visit& visit) {
    using G = Group<float, C>;
    constexpr int samples = G::samples * Unroll;
    const char* data = static_cast<const char*>(image.data);
    std::int64_t done = 0;  // groups

    const int head = head_pixels<float, C>(data);
    if (image.height == 1 && head >= 0 && head < image.width) {
        const std::int64_t groups = (image.width - head) / G::pixels;
        std::int64_t rounds = groups / (Unroll * crew.workers);
        done = rounds * Unroll * crew.workers;
        const std::int64_t step = (backwards ? -crew.workers : crew.workers) * G::bytes;
        const std::int64_t apart = (backwards ? -crew.workers : crew.workers) * G::pixels;
        Where where{0, head + (backwards ? groups - 1 - crew.rank : crew.rank) * G::pixels, apart};
        const char* at = data + where.x * static_cast<std::int64_t>(C * sizeof(float));
        auto look_at = [&](const float(&values)[samples]) {
            visit(values, where);
            where.x += Unroll * apart;
        };
        auto load = [&](float(&to)[samples], const char* from) {
#pragma unroll
            for (int u = 0; u < Unroll; ++u)
#pragma unroll
                for (int w = 0; w < G::words; ++w) load_word(from + u * step + w * 16, to + u * G::samples + w * 4);
            __syncwarp();  // none of the loads moves below
        };
        if constexpr (Ahead) {
            float now[samples], next[samples];
            if (rounds > 0) load(now, at);
            for (; rounds > 0; rounds -= 2) {
                if (rounds > 1) at += Unroll * step;  // else the same once more: cheaper than a branch
                load(next, at);
                look_at(now);
                if (rounds == 1) break;
                if (rounds > 2) at += Unroll * step;
                load(now, at);
                look_at(next);
            }
        } else {
            for (; rounds > 0; --rounds, at += Unroll * step) {
                float now[samples];
                load(now, at);
                look_at(now);
            }
        }
    }

    // What is left; rows with gaps; images whose pixels never meet a 16-byte boundary.
    const std::int64_t in_row = pieces_in_row(image.width, G::pixels);
    const bool one_row = image.height == 1;
    const std::int64_t first = done + crew.rank, row_step = one_row ? 0 : crew.workers / in_row,
                       piece_step = one_row ? crew.workers : crew.workers % in_row;
    std::int64_t y = one_row ? first >= in_row : first / in_row, piece = one_row ? first : first % in_row;
    while (y < image.height) {
        const char* row = data + y * image.row_bytes;
        const int before = head_pixels<float, C>(row);
        const std::int64_t groups = before < 0 ? 0 : max((image.width - before) / G::pixels, std::int64_t{0});
        if (piece < groups) {
            const std::int64_t x = before + (backwards ? piece - done : piece) * G::pixels;
            const char* at = row + x * static_cast<std::int64_t>(C * sizeof(float));
            float group[G::samples];
#pragma unroll
            for (int w = 0; w < G::words; ++w) load_word(at + w * 16, group + w * 4);
            visit(group, Where{y, x, 0});
        } else {
            std::int64_t x = 0, last = 0;
            if (before < 0) {
                x = piece * G::pixels;
                last = min(x + G::pixels, image.width);
            } else if (piece == groups) {
                last = min(std::int64_t{before}, image.width);
            } else if (piece == groups + 1) {
                x = before + groups * G::pixels;
                last = image.width;
            }
            for (; x < last; ++x) {
                float pixel[C];
#pragma unroll
                for (int c = 0; c < C; ++c) pixel[c] = reinterpret_cast<const float*>(row)[x * C + c];
                visit(pixel, Where{y, x, 0});
            }
        }
        y += row_step;
        piece += piece_step;
        if (piece >= in_row) {
            piece -= in_row;
            ++y;
        }
    }
}

}  // namespace gpuhist::cuda
