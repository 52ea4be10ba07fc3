// Groups: neighboring pixels that one thread loads at once, and the boundaries on which they begin in a row.
#pragma once

#include "cuda/host/parameters.hpp"

namespace gpuhist::cuda {

/// Pixels that one thread loads at once, as they lie in memory.
template <typename T, int C>
struct Group {
    static constexpr int words = group_words(sizeof(T), C);
    static constexpr int pixels = group_pixels(sizeof(T), C);
    static constexpr int samples = pixels * C;
    static constexpr int bytes = words * 16;

    uint4 word[words];

    /// Loads from device memory: volatile, and not through the read-only path, whose loads the compiler moves down to
    /// their use, so that it waits for one after the other.
    __device__ void load(const char* source) {
#pragma unroll
        for (int w = 0; w < words; ++w)
            asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(word[w].x), "=r"(word[w].y), "=r"(word[w].z), "=r"(word[w].w)
                         : "l"(source + 16 * w));
    }
    __device__ void load_shared(std::uint32_t source) {
#pragma unroll
        for (int w = 0; w < words; ++w)
            asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(word[w].x), "=r"(word[w].y), "=r"(word[w].z), "=r"(word[w].w)
                         : "r"(source + 16 * w)
                         : "memory");
    }
    /// Sets sample i, a constant, which is zero before.
    __device__ void set(int i, T sample) {
        uint4& four = word[i * sizeof(T) / 16];
        const int at = i * sizeof(T) % 16 / 4;
        std::uint32_t& in = at == 0 ? four.x : at == 1 ? four.y : at == 2 ? four.z : four.w;
        if constexpr (sizeof(T) == 4)
            in = __float_as_uint(sample);
        else
            in |= static_cast<std::uint32_t>(sample) << 8 * (i * sizeof(T) % 4);
    }
    /// Inverts bits, the same of each word.
    __device__ void flip(std::uint32_t bits) {
#pragma unroll
        for (uint4& four : word) four = {four.x ^ bits, four.y ^ bits, four.z ^ bits, four.w ^ bits};
    }
    /// Clears the samples of excluded pixels, of 8 bits. `mask`: a byte per pixel, zero or all ones.
    template <int Words>
    __device__ void blacken(const std::uint32_t (&mask)[Words]) {
        static_assert(sizeof(T) == 1 && Words * 4 == pixels);
        auto of = [&](int i) {  // whose pixels share one word of the mask
            std::uint32_t selector = 0;
#pragma unroll
            for (int k = 0; k < 4; ++k) selector |= static_cast<std::uint32_t>((4 * i + k) / C % 4) << 4 * k;
            return __byte_perm(mask[4 * i / C / 4], 0, selector);
        };
        keep_bits(of);
    }
    /// Clears the samples before `first` and from `end` on; either may lie outside.
    __device__ void keep(int first, int end) {
        constexpr int sample_bits = 8 * sizeof(T);
        auto from = [](int bit) { return __funnelshift_lc(0, ~0u, static_cast<unsigned>(max(bit, 0))); };
        keep_bits([&](int i) { return from(first * sample_bits - 32 * i) & ~from(end * sample_bits - 32 * i); });
    }
    /// Clears bits: 32-bit word i keeps `bits(i)`.
    template <class Bits>
    __device__ void keep_bits(Bits bits) {
#pragma unroll
        for (int w = 0; w < words; ++w) {
            word[w].x &= bits(4 * w);
            word[w].y &= bits(4 * w + 1);
            word[w].z &= bits(4 * w + 2);
            word[w].w &= bits(4 * w + 3);
        }
    }
    /// The four bytes in which sample i lies, a constant where it is used.
    __device__ std::uint32_t word_of(int i) const {
        const uint4& four = word[i * sizeof(T) / 16];
        const int at = i * sizeof(T) % 16 / 4;
        return at == 0 ? four.x : at == 1 ? four.y : at == 2 ? four.z : four.w;
    }
    /// Sample i, a constant where it is used; u8 and u16 are widened to 32 bits.
    __device__ auto operator[](int i) const {
        const std::uint32_t bits = word_of(i);
        if constexpr (sizeof(T) == 1)
            return __byte_perm(bits, 0, 0x4440 | i % 4);
        else if constexpr (sizeof(T) == 2)
            return i % 2 ? bits >> 16 : bits & 0xFFFFu;
        else
            return __uint_as_float(bits);
    }
};

/// Boundaries of 16 bytes, on which groups start and which a row of pixels may meet.
template <typename T, int C>
struct Boundaries {
    static constexpr unsigned pixel = sizeof(T) * C, power = pixel & (0 - pixel), steps = power >= 16 ? 1 : 16 / power;
    static constexpr int most = steps - 1;  ///< pixels before the first one

    GPUHIST_HD static bool met(std::uintptr_t address) { return address % (power >= 16 ? 16 : power) == 0; }
    GPUHIST_HD static bool met(const void* row) { return met(reinterpret_cast<std::uintptr_t>(row)); }
    /// Pixels before the first one of a row that meets any.
    __device__ static int head(const char* row) {
        // address + k · pixel ≡ 0 (mod 16): the odd part of a pixel's bytes is 1 or 3, and 3 · 5 ≡ −1 (mod 16).
        const auto address = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row));
        return static_cast<int>(address / power * (pixel / power == 3 ? 5u : 0u - 1u) % steps);
    }
};

/// Whether all groups of an image lie in one row, one behind the other.
template <typename T, int C>
__device__ inline bool in_one_row(const Image& image) {
    using B = Boundaries<T, C>;
    const char* data = static_cast<const char*>(image.data);
    return image.height == 1 && B::met(data) && B::head(data) + Group<T, C>::pixels <= image.width;
}

/// Whether all of a tensor's images surely are in one row, wherever each begins.
template <typename T, int C>
GPUHIST_HD inline bool all_in_one_row(const Tensor& images) {
    using B = Boundaries<T, C>;
    return images.first.height == 1 && B::most + Group<T, C>::pixels <= images.first.width &&
           B::met(reinterpret_cast<std::uintptr_t>(images.first.data) |
                  static_cast<std::uintptr_t>(images.image_bytes));
}

}  // namespace gpuhist::cuda
