#include "cpu/simd/avx2.hpp"

#include <algorithm>

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

GPUHIST_AVX2 Weights weights_of(int channels, ChannelOrder order) {
    const Positions at(order);
    return {Shuffle(channels, at.green, at.blue).load(), Shuffle(channels, at.red, -1).load(),
            _mm256_set1_epi32(3735 << 16 | 19235), _mm256_set1_epi32(9798), _mm256_set1_epi32(16384)};
}

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

/// `gather` for pixels of one size: as many pixels at a time as 8 or 16 bytes hold.
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

// ---- measures
// ---------------------------------------------------------------------------------------------------------

/// Sum of the eight numbers of 32 bits.
GPUHIST_AVX2 std::int64_t sum_of(__m256i numbers) {
    const __m256i wide = _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(numbers)),
                                          _mm256_cvtepi32_epi64(_mm256_extracti128_si256(numbers, 1)));
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    return _mm_cvtsi128_si64(two) + _mm_extract_epi64(two, 1);
}

GPUHIST_AVX2 __m256i words_at(const std::int16_t* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

/// Eight pixels of 3 or 4 channels from p; reads 16 bytes at the fifth.
GPUHIST_AVX2 __m256i eight_pixels(const std::uint8_t* p, int channels) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
                                   _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 4 * channels)), 1);
}

/// Shuffle that brings bytes of each of four pixels together, in each half of a register.
struct alignas(32) FourBytes {
    std::int8_t at[32];

    FourBytes(int channels, int a, int b, int c, int d) {
        const int places[] = {a, b, c, d};
        for (int i = 0; i < 32; ++i)
            at[i] = static_cast<std::int8_t>(places[i % 4] < 0 ? -1 : i % 16 / 4 * channels + places[i % 4]);
    }
    GPUHIST_AVX2 __m256i load() const { return _mm256_load_si256(reinterpret_cast<const __m256i*>(at)); }
};

/// Places of the numbers, of eight, whose bits are set.
struct Eights {
    std::uint8_t at[256][8];

    constexpr Eights() : at() {
        for (int bits = 0; bits < 256; ++bits)
            for (int i = 0, filled = 0; i < 8; ++i)
                if (bits >> i & 1) at[bits][filled++] = static_cast<std::uint8_t>(i);
    }
};

/// The numbers whose bits are set, followed by others.
GPUHIST_AVX2 __m256i compressed(__m256i numbers, unsigned bits) {
    static constexpr Eights eights;
    return _mm256_permutevar8x32_epi32(
        numbers, _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(eights.at[bits]))));
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
    const Weights weights = weights_of(channels, order);
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

namespace {

/// Sums of 32 bits over neighborhoods, in lanes.
struct NeighborLanes {
    __m256i laplacian, squares, gradients, noise;
};

/// Adds the neighborhoods of 16 pixels; `masked`: of those that `keep` has.
template <bool masked>
[[gnu::always_inline]] GPUHIST_AVX2 inline void add_neighbors(const std::int16_t* above, const std::int16_t* own,
                                                              const std::int16_t* below, __m256i keep,
                                                              NeighborLanes& sums) {
    const __m256i one = _mm256_set1_epi16(1);
    const __m256i a0 = words_at(above - 1), a1 = words_at(above), a2 = words_at(above + 1), b0 = words_at(own - 1),
                  b1 = words_at(own), b2 = words_at(own + 1), c0 = words_at(below - 1), c1 = words_at(below),
                  c2 = words_at(below + 1);
    const __m256i edges = _mm256_add_epi16(_mm256_add_epi16(a1, c1), _mm256_add_epi16(b0, b2)),
                  middle = _mm256_slli_epi16(b1, 2),
                  corners = _mm256_add_epi16(_mm256_add_epi16(a0, a2), _mm256_add_epi16(c0, c2));
    __m256i l = _mm256_sub_epi16(edges, middle);
    __m256i n = _mm256_sub_epi16(_mm256_add_epi16(corners, middle), _mm256_add_epi16(edges, edges));
    const __m256i rising = _mm256_sub_epi16(c2, a0), falling = _mm256_sub_epi16(c0, a2),
                  across = _mm256_sub_epi16(b2, b0), down = _mm256_sub_epi16(c1, a1);
    // rising - falling is (a2 - a0) + (c2 - c0)
    __m256i gx = _mm256_add_epi16(_mm256_sub_epi16(rising, falling), _mm256_add_epi16(across, across)),
            gy = _mm256_add_epi16(_mm256_add_epi16(rising, falling), _mm256_add_epi16(down, down));
    if (masked) {
        l = _mm256_and_si256(l, keep);
        n = _mm256_and_si256(n, keep);
        gx = _mm256_and_si256(gx, keep);
        gy = _mm256_and_si256(gy, keep);
    }
    sums.laplacian = _mm256_add_epi32(sums.laplacian, _mm256_madd_epi16(l, one));
    sums.squares = _mm256_add_epi32(sums.squares, _mm256_madd_epi16(l, l));
    sums.gradients =
        _mm256_add_epi32(sums.gradients, _mm256_add_epi32(_mm256_madd_epi16(gx, gx), _mm256_madd_epi16(gy, gy)));
    sums.noise = _mm256_add_epi32(sums.noise, _mm256_madd_epi16(_mm256_abs_epi16(n), one));
}

}  // namespace

GPUHIST_AVX2 int neighbors(const std::int16_t* above, const std::int16_t* own, const std::int16_t* below, int pixels,
                           NeighborSums& sums) {
    constexpr int iterations = 512;  // sums of 32 bits: two squares of gradients each add up to 4 * 1020^2
    const __m256i zero = _mm256_setzero_si256();
    for (int x = 0; x < pixels;) {
        NeighborLanes lanes{zero, zero, zero, zero};
        for (int i = 1; i < iterations && x + 16 <= pixels; ++i, x += 16)
            add_neighbors<false>(above + x, own + x, below + x, zero, lanes);
        if (const int rest = pixels - x; rest < 16) {
            std::int16_t last[3][18] = {}, keep[16] = {};
            std::copy_n(above + x - 1, rest + 2, last[0]);
            std::copy_n(own + x - 1, rest + 2, last[1]);
            std::copy_n(below + x - 1, rest + 2, last[2]);
            std::fill_n(keep, rest, std::int16_t{-1});
            add_neighbors<true>(last[0] + 1, last[1] + 1, last[2] + 1, words_at(keep), lanes);
            x = pixels;
        }
        sums.laplacian += sum_of(lanes.laplacian);
        sums.laplacian_squares += sum_of(lanes.squares);
        sums.gradients += sum_of(lanes.gradients);
        sums.noise += sum_of(lanes.noise);
    }
    return pixels;
}

GPUHIST_AVX2 int luma_words(const std::uint8_t* samples, int pixels, int channels, ChannelOrder order,
                            std::int16_t* out) {
    const Weights weights = weights_of(channels, order);
    int i = 0;
    for (; i + 18 <= pixels; i += 16) {
        const std::uint8_t* const p = samples + i * channels;
        const int four = 4 * channels;
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                            _mm256_packus_epi32(weights.luma(p, p + 2 * four), weights.luma(p + four, p + 3 * four)));
    }
    return i;
}

GPUHIST_AVX2 int swap_colors(const std::byte* from, int pixels, int channels, int sample_bytes, std::byte* to) {
    const int pixel_bytes = channels * sample_bytes, together = 16 / pixel_bytes;
    alignas(16) std::int8_t at[16];
    for (int i = 0; i < 16; ++i) {
        const int pixel = i / pixel_bytes, sample = i % pixel_bytes / sample_bytes;
        at[i] = static_cast<std::int8_t>(pixel < together && sample < 3
                                             ? i + 2 * (1 - sample) * sample_bytes
                                             : i);  // bytes behind the last whole pixel are written again
    }
    const __m128i shuffle = _mm_load_si128(reinterpret_cast<const __m128i*>(at));
    const int step = together * pixel_bytes, bytes = pixels * pixel_bytes;
    const auto swap = [&](int at_byte) __attribute__((target("avx2,popcnt"), always_inline)) {
        const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at_byte));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at_byte), _mm_shuffle_epi8(some, shuffle));
    };
    int done = 0;
    for (; done + 3 * step + 16 <= bytes; done += 4 * step)
        for (int k = 0; k < 4; ++k) swap(done + k * step);
    for (; done + 16 <= bytes; done += step) swap(done);
    return done / pixel_bytes;
}

GPUHIST_AVX2 ColorSums colors(const std::uint8_t* samples, int pixels, int channels, ChannelOrder order) {
    ColorSums sums;
    constexpr int iterations = 1024;
    const Positions at(order);
    const __m256i place = FourBytes(channels, at.red, at.green, at.blue, at.blue).load(),
                  less = _mm256_set1_epi32(0x0000FF01),              // red - green
        opposed = _mm256_set1_epi32(static_cast<int>(0xFFFF0101u)),  // red + green, and -2 blue
        one = _mm256_set1_epi16(1), zero = _mm256_setzero_si256();
    int i = 0;
    while (i + 18 <= pixels) {
        const int end = std::min(pixels, i + 16 * iterations);
        __m256i red_green = zero, red_green_squares = zero, yellow_blue = zero, yellow_blue_squares = zero, gray = zero;
        for (; i + 18 <= end; i += 16) {
            const std::uint8_t* const p = samples + i * channels;
            const __m256i first = _mm256_shuffle_epi8(eight_pixels(p, channels), place),
                          second = _mm256_shuffle_epi8(eight_pixels(p + 8 * channels, channels), place);
            const __m256i rg = _mm256_or_si256(_mm256_maddubs_epi16(first, less),
                                               _mm256_slli_epi32(_mm256_maddubs_epi16(second, less), 16));
            const __m256i yb_first = _mm256_madd_epi16(_mm256_maddubs_epi16(first, opposed), one),
                          yb_second = _mm256_madd_epi16(_mm256_maddubs_epi16(second, opposed), one);
            const __m256i yb = _mm256_or_si256(_mm256_and_si256(yb_first, _mm256_set1_epi32(0xFFFF)),
                                               _mm256_slli_epi32(yb_second, 16));
            red_green = _mm256_add_epi32(red_green, _mm256_madd_epi16(rg, one));
            red_green_squares = _mm256_add_epi32(red_green_squares, _mm256_madd_epi16(rg, rg));
            yellow_blue = _mm256_add_epi32(yellow_blue, _mm256_madd_epi16(yb, one));
            yellow_blue_squares = _mm256_add_epi32(yellow_blue_squares, _mm256_madd_epi16(yb, yb));
            gray = _mm256_sub_epi16(gray, _mm256_cmpeq_epi16(_mm256_or_si256(rg, yb), zero));
        }
        sums.red_green += sum_of(red_green);
        sums.red_green_squares += sum_of(red_green_squares);
        sums.yellow_blue += sum_of(yellow_blue);
        sums.yellow_blue_squares += sum_of(yellow_blue_squares);
        sums.gray += sum_of(_mm256_madd_epi16(gray, one));
    }
    sums.pixels = i;
    return sums;
}

GPUHIST_AVX2 int brightness_keys(const std::uint8_t* samples, int pixels, int channels, ChannelOrder order,
                                 std::uint32_t* out) {
    const Positions at(order);
    const __m256i green_blue_at = Shuffle(channels, at.green, at.blue).load(),
                  red_at = Shuffle(channels, at.red, -1).load(), green_blue = _mm256_set1_epi32(68 << 16 | 691),
                  red = _mm256_set1_epi32(241), flip = _mm256_set1_epi16(-32768), all = _mm256_set1_epi32(32768 * 1000);
    int i = 0;
    for (; i + 10 <= pixels; i += 8) {
        const __m256i eight = eight_pixels(samples + i * channels, channels);
        const __m256i gb = _mm256_shuffle_epi8(eight, green_blue_at), r = _mm256_shuffle_epi8(eight, red_at);
        // Squares have 16 bits without a sign: less 32768, they have one.
        const __m256i key =
            _mm256_add_epi32(_mm256_madd_epi16(_mm256_xor_si256(_mm256_mullo_epi16(gb, gb), flip), green_blue),
                             _mm256_madd_epi16(_mm256_xor_si256(_mm256_mullo_epi16(r, r), flip), red));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_add_epi32(key, all));
    }
    return i;
}

GPUHIST_AVX2 int in_windows(const std::uint32_t* keys, int count, const KeyWindows& windows, std::uint64_t* below,
                            std::uint32_t* out) {
    constexpr int most = KeyWindows::most;
    static_assert(most == 7, "a shuffle looks ends up among 8 words");
    const auto with_sign = [](int number) { return static_cast<std::int16_t>(number - 32767); };  // up to 63500
    __m256i before[most], from[most];
    alignas(16) std::int16_t ends[8] = {-32768};  // of the window that began last; before the first, no key is in one
    for (int k = 0; k < most; ++k) {
        const bool any = k < windows.numbers;
        before[k] = _mm256_set1_epi16(any ? with_sign(windows.low[k] - 1) : std::int16_t{32767});
        from[k] = _mm256_setzero_si256();
        ends[k + 1] = any ? with_sign(windows.high[k] + 1) : std::int16_t{-32768};
    }
    const __m256i half = _mm256_set1_epi16(32767), of_word = _mm256_set1_epi16(-0x0202),
                  two_bytes = _mm256_set1_epi16(0x0100),
                  end_of = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(ends)));
    std::uint32_t* end = out;
    int i = 0;
    for (; i + 16 <= count; i += 16) {
        const __m256i first = words_at(reinterpret_cast<const std::int16_t*>(keys + i)),
                      second = words_at(reinterpret_cast<const std::int16_t*>(keys + i + 8));
        const __m256i number = _mm256_sub_epi16(_mm256_packus_epi32(_mm256_srli_epi32(first, KeyWindows::shift),
                                                                    _mm256_srli_epi32(second, KeyWindows::shift)),
                                                half);
        __m256i begun = _mm256_setzero_si256();  // less the number of windows that begin at the key or below it
        for (int k = 0; k < most; ++k) {
            const __m256i is_from = _mm256_cmpgt_epi16(number, before[k]);
            from[k] = _mm256_sub_epi16(from[k], is_from);
            begun = _mm256_add_epi16(begun, is_from);
        }
        const __m256i place = _mm256_add_epi16(_mm256_mullo_epi16(begun, of_word), two_bytes),
                      inside = _mm256_cmpgt_epi16(_mm256_shuffle_epi8(end_of, place), number);
        // Packing and unpacking both keep to the halves of a register: the order is that of the keys.
        const __m256i keys_of[2] = {first, second},
                      inside_of[2] = {_mm256_unpacklo_epi16(inside, inside), _mm256_unpackhi_epi16(inside, inside)};
        for (int eight = 0; eight < 2; ++eight) {
            const auto bits = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(inside_of[eight])));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(end), compressed(keys_of[eight], bits));
            end += __builtin_popcount(bits);
        }
    }
    for (int k = 0; k < windows.numbers; ++k)
        below[k] += static_cast<std::uint64_t>(i - sum_of(_mm256_madd_epi16(from[k], _mm256_set1_epi16(1))));
    return static_cast<int>(end - out);
}

GPUHIST_AVX2 int select(const std::uint32_t* keys, int count, int shift, const std::uint32_t* wanted, int numbers,
                        std::uint32_t* out) {
    const __m128i by = _mm_cvtsi32_si128(shift);
    std::uint32_t* end = out;
    for (int i = 0; i + 8 <= count; i += 8) {
        const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys + i));
        const __m256i high = _mm256_srl_epi32(some, by);
        __m256i found = _mm256_setzero_si256();
        for (int k = 0; k < numbers; ++k)
            found = _mm256_or_si256(found, _mm256_cmpeq_epi32(high, _mm256_set1_epi32(static_cast<int>(wanted[k]))));
        const auto bits = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(found)));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(end), compressed(some, bits));
        end += __builtin_popcount(bits);
    }
    return static_cast<int>(end - out);
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
int luma_words(const std::uint8_t*, int, int, ChannelOrder, std::int16_t*) {
    return 0;
}
int neighbors(const std::int16_t*, const std::int16_t*, const std::int16_t*, int, NeighborSums&) {
    return 0;
}
ColorSums colors(const std::uint8_t*, int, int, ChannelOrder) {
    return {};
}
int brightness_keys(const std::uint8_t*, int, int, ChannelOrder, std::uint32_t*) {
    return 0;
}
int in_windows(const std::uint32_t*, int, const KeyWindows&, std::uint64_t*, std::uint32_t*) {
    return 0;
}
int select(const std::uint32_t*, int, int, const std::uint32_t*, int, std::uint32_t*) {
    return 0;
}
int swap_colors(const std::byte*, int, int, int, std::byte*) {
    return 0;
}
}  // namespace gpuhist::cpu::avx2

#endif
