#include "cpu/simd/avx2.hpp"

#include "core/luma.hpp"
#include "cpu/pixel_source.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define GPUHIST_AVX2 __attribute__((target("avx2,popcnt")))

namespace gpuhist::cpu::avx2 {
namespace {

/// Shuffle of four pixels, in each half of a register: where a shuffle finds two channels, as words, or one and zeros.
struct alignas(32) Shuffle {
    std::int8_t at[32];

    Shuffle(int channels, int first, int second) {
        for (int i = 0; i < 32; ++i) {
            const int channel = i % 4 == 0 ? first : i % 4 == 2 ? second : -1;
            at[i] = static_cast<std::int8_t>(channel < 0 ? -1 : i % 16 / 4 * channels + channel);
        }
    }
    GPUHIST_AVX2 __m256i load() const { return _mm256_load_si256(reinterpret_cast<const __m256i*>(at)); }
};

/// Constants with which core::luma of eight pixels is made.
struct Weights {
    __m256i green_blue_at, red_at, green_blue, red, half;

    /// Luma of four pixels from each pointer; reads 16 bytes.
    GPUHIST_AVX2 __m256i luma(const std::uint8_t* low, const std::uint8_t* high) const {
        const __m256i pixels =
            _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low))),
                                    _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
        const __m256i of_green_blue = _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, green_blue_at), green_blue),
                      of_red = _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, red_at), red);
        return _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(of_green_blue, of_red), half), 15);
    }
};
// The weights below are those of core::luma.
static_assert(core::luma(1u << 16, 0u, 0u) == 2 * 9798 && core::luma(0u, 1u << 16, 0u) == 2 * 19235 &&
              core::luma(0u, 0u, 1u << 16) == 2 * 3735);

/// Shuffles that bring the pixels together whose bits are set, for each pattern of bits.
template <int PixelBytes, int Pixels>
struct Compressions {
    alignas(16) std::uint8_t at[1 << Pixels][16];

    constexpr Compressions() : at() {
        for (int bits = 0; bits < 1 << Pixels; ++bits) {
            int filled = 0;
            for (int p = 0; p < Pixels; ++p)
                for (int b = 0; b < PixelBytes && bits >> p & 1; ++b)
                    at[bits][filled++] = static_cast<std::uint8_t>(p * PixelBytes + b);
        }
    }
};

/// Does what `gather` says for pixels of a size: as many of them at a time as lie in 8 or 16 bytes.
template <int PixelBytes>
GPUHIST_AVX2 int gather_pixels(const std::byte* from, const std::uint8_t* mask, int pixels, std::byte* to,
                               int& filled) {
    constexpr int together = PixelBytes <= 2 ? 8 : 4;
    static constexpr Compressions<PixelBytes, together> compressions;
    const __m128i zero = _mm_setzero_si128();
    std::byte* end = to;
    int i = 0;
    for (; i + 16 <= pixels; i += 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(mask + i));
        unsigned set = ~static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, zero))) & 0xFFFFu;
        if (PixelBytes == 3 && i + 18 > pixels) break;  // four pixels are read with the next one and a third
        for (int k = 0; k < 16; k += together, set >>= together) {
            const unsigned some = set & ((1u << together) - 1);
            const auto* const samples = reinterpret_cast<const __m128i*>(from + (i + k) * PixelBytes);
            const __m128i values = PixelBytes == 1 ? _mm_loadl_epi64(samples) : _mm_loadu_si128(samples);
            const __m128i order = _mm_load_si128(reinterpret_cast<const __m128i*>(compressions.at[some]));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(end), _mm_shuffle_epi8(values, order));
            end += __builtin_popcount(some) * PixelBytes;
        }
    }
    filled += static_cast<int>(end - to) / PixelBytes;
    return i;
}

}  // namespace

bool supported() {
    return __builtin_cpu_supports("avx2");
}

int gather(const std::byte* from, const std::uint8_t* mask, int pixels, int pixel_bytes, std::byte* to, int& filled) {
    switch (pixel_bytes) {
        case 1:
            return gather_pixels<1>(from, mask, pixels, to, filled);
        case 2:
            return gather_pixels<2>(from, mask, pixels, to, filled);
        case 3:
            return gather_pixels<3>(from, mask, pixels, to, filled);
        case 4:
            return gather_pixels<4>(from, mask, pixels, to, filled);
        default:
            return 0;
    }
}

GPUHIST_AVX2 int luma(const std::uint8_t* samples, int pixels, int channels, ChannelOrder order, std::uint8_t* out) {
    const Positions at(order);
    const Weights weights{Shuffle(channels, at.green, at.blue).load(), Shuffle(channels, at.red, -1).load(),
                          _mm256_set1_epi32(3735 << 16 | 19235), _mm256_set1_epi32(9798), _mm256_set1_epi32(16384)};
    int i = 0;
    for (; i + 34 <= pixels; i += 32) {  // four pixels of three channels are read with the next one's and a half
        const std::uint8_t* const p = samples + i * channels;
        const int four = 4 * channels;
        // Packing keeps to the halves of a register.
        const __m256i first = _mm256_packus_epi32(weights.luma(p, p + 2 * four), weights.luma(p + four, p + 3 * four));
        const __m256i second =
            _mm256_packus_epi32(weights.luma(p + 4 * four, p + 6 * four), weights.luma(p + 5 * four, p + 7 * four));
        const __m256i all = _mm256_permute4x64_epi64(_mm256_packus_epi16(first, second), 0xD8);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), all);
    }
    return i;
}

}  // namespace gpuhist::cpu::avx2

#else

namespace gpuhist::cpu::avx2 {
bool supported() {
    return false;
}
int luma(const std::uint8_t*, int, int, ChannelOrder, std::uint8_t*) {
    return 0;
}
int gather(const std::byte*, const std::uint8_t*, int, int, std::byte*, int&) {
    return 0;
}
}  // namespace gpuhist::cpu::avx2

#endif
