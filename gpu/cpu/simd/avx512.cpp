#include "cpu/simd/avx512.hpp"

#include "core/luma.hpp"
#include "cpu/pixel_source.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#if !defined(__clang__)  // GCC 12 takes its own intrinsics' "undefined" operands for mistakes
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define GPUHIST_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,gfni")))

namespace gpuhist::cpu::avx512 {
namespace {

/// 64 bytes known at compile time.
struct alignas(64) Bytes {
    std::uint8_t at[64];
    GPUHIST_AVX512 __m512i load() const { return _mm512_load_si512(at); }
};

// ---- planes -------------------------------------------------------------------------------------------------------

/// Place of channel c of pixel i in the registers with 64 pixels.
constexpr Bytes positions(int channels, int c) {
    Bytes result{};
    for (int i = 0; i < 64; ++i) result.at[i] = static_cast<std::uint8_t>(channels * i + c);
    return result;
}
constexpr Bytes of_three[3] = {positions(3, 0), positions(3, 1), positions(3, 2)};
constexpr Bytes of_four[4] = {positions(4, 0), positions(4, 1), positions(4, 2), positions(4, 3)};

/// Channel c of 64 pixels of three channels: bytes 0 to 127 from the first two registers, those up to 191 from the
/// third.
GPUHIST_AVX512 inline __m512i channel_of_three(const __m512i (&pixels)[4], int c) {
    const __m512i position = of_three[c].load();
    const __m512i first = _mm512_permutex2var_epi8(pixels[0], position, pixels[1]);
    return _mm512_mask_permutexvar_epi8(first, _mm512_movepi8_mask(position), position, pixels[2]);
}

/// Channel c of 64 pixels of four channels: the first 32 lie in the first two registers.
GPUHIST_AVX512 inline __m512i channel_of_four(const __m512i (&pixels)[4], int c) {
    const __m512i position = of_four[c].load();
    const __m512i first = _mm512_permutex2var_epi8(pixels[0], position, pixels[1]);
    const __m512i second = _mm512_permutex2var_epi8(pixels[2], position, pixels[3]);
    return _mm512_inserti64x4(first, _mm512_castsi512_si256(second), 1);
}

/// Σ of two products and of a third with the rounding half: core::luma of 16 pixels.
GPUHIST_AVX512 inline __m512i luma_of_words(__m512i green_blue, __m512i red_one) {
    const __m512i green_blue_weights = _mm512_set1_epi32(3735 << 16 | 19235);
    const __m512i red_half = _mm512_set1_epi32(16384 << 16 | 9798);
    return _mm512_srli_epi32(
        _mm512_add_epi32(_mm512_madd_epi16(green_blue, green_blue_weights), _mm512_madd_epi16(red_one, red_half)), 15);
}
// The weights above are those of core::luma.
static_assert(core::luma(1u << 16, 0u, 0u) == 2 * 9798 && core::luma(0u, 1u << 16, 0u) == 2 * 19235 &&
              core::luma(0u, 0u, 1u << 16) == 2 * 3735);

/// core::luma of 64 pixels. Unpacking and packing both stay in the 128-bit lanes, so the order does not change.
GPUHIST_AVX512 inline __m512i luma_of(__m512i red, __m512i green, __m512i blue) {
    const __m512i zero = _mm512_setzero_si512(), one = _mm512_set1_epi8(1);
    __m512i words[2];
    for (int half = 0; half < 2; ++half) {
        const __m512i green_blue = half ? _mm512_unpackhi_epi8(green, blue) : _mm512_unpacklo_epi8(green, blue);
        const __m512i red_one = half ? _mm512_unpackhi_epi8(red, one) : _mm512_unpacklo_epi8(red, one);
        words[half] = _mm512_packus_epi32(
            luma_of_words(_mm512_unpacklo_epi8(green_blue, zero), _mm512_unpacklo_epi8(red_one, zero)),
            luma_of_words(_mm512_unpackhi_epi8(green_blue, zero), _mm512_unpackhi_epi8(red_one, zero)));
    }
    return _mm512_packus_epi16(words[0], words[1]);
}

/// Mask of the lowest n bits, 0 ≤ n ≤ 64.
inline __mmask64 lowest(int n) {
    return n <= 0 ? 0 : n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

template <int channels>
GPUHIST_AVX512 inline void split_pixels(const std::uint8_t* samples, int pixels, ChannelOrder order, Scratch& scratch,
                                        int first) {
    const Positions at(order);
    for (int i = 0; i < pixels; i += 64) {
        const int bytes = (pixels - i) * channels;
        __m512i in[4], out[4];
        for (int part = 0; part < channels; ++part)
            in[part] = _mm512_maskz_loadu_epi8(lowest(bytes - 64 * part), samples + i * channels + 64 * part);
        for (int c = 0; c < channels; ++c) {
            out[c] = channels == 1 ? in[0] : channels == 3 ? channel_of_three(in, c) : channel_of_four(in, c);
            _mm512_storeu_si512(scratch.planes[c] + first + i, out[c]);
        }
        if constexpr (channels >= 3)
            _mm512_storeu_si512(scratch.planes[4] + first + i, luma_of(out[at.red], out[at.green], out[at.blue]));
    }
}

// ---- counts -------------------------------------------------------------------------------------------------------

/// Entry x of table t has bit x mod 8 set where x div 8 is t: looked up with bytes, whose two highest bits the lookup
/// ignores, it says in 8 bits which of 8 values each of them is.
struct Flags {
    Bytes table[8];
};
constexpr Flags make_flags() {
    Flags result{};
    for (int x = 0; x < 64; ++x) result.table[x / 8].at[x] = static_cast<std::uint8_t>(1 << x % 8);
    return result;
}
constexpr Flags flags = make_flags();

/// Number of a register's bytes that have each bit set, for each 8 bytes apart: byte k of a quadword counts bit k. The
/// 8 × 8 bits of a quadword are transposed (as a matrix times the unit vectors), then counted bytewise.
GPUHIST_AVX512 inline __m512i count_bits(__m512i bits) {
    const __m512i unit_vectors = _mm512_set1_epi64(0x8040201008040201);
    return _mm512_popcnt_epi8(_mm512_gf2p8affine_epi64_epi8(unit_vectors, bits, 0));
}

/// Carry-save adder: three bits of one weight become one of that weight, in `sum`, and one of twice it: their majority,
/// read off the new sum so that no register need be copied.
GPUHIST_AVX512 inline __m512i carry(__m512i& sum, __m512i a, __m512i b) {
    sum = _mm512_ternarylogic_epi64(sum, a, b, 0x96);
    return _mm512_ternarylogic_epi64(a, b, sum, 0xD4);
}

/// Counts 8 of 64 values, bit by bit, in carry-save form.
struct FlagCounter {
    __m512i table, ones, twos, fours, eights;
    __m512i sixteens;  ///< counted in bytes: 16384/1024 · 8 at most
    __m512i single;    ///< likewise, what came by itself: 16 · 8 at most

    GPUHIST_AVX512 explicit FlagCounter(const Bytes& flags_of) {
        table = flags_of.load();
        ones = twos = fours = eights = sixteens = single = _mm512_setzero_si512();
    }
    GPUHIST_AVX512 __m512i add2(const std::uint8_t* samples) {
        return carry(ones, _mm512_permutexvar_epi8(_mm512_load_si512(samples), table),
                     _mm512_permutexvar_epi8(_mm512_load_si512(samples + 64), table));
    }
    GPUHIST_AVX512 __m512i add4(const std::uint8_t* samples) {
        const __m512i first = add2(samples), second = add2(samples + 128);
        return carry(twos, first, second);
    }
    GPUHIST_AVX512 __m512i add8(const std::uint8_t* samples) {
        const __m512i first = add4(samples), second = add4(samples + 256);
        return carry(fours, first, second);
    }
    /// 16 registers of samples.
    GPUHIST_AVX512 void add(const std::uint8_t* samples) {
        const __m512i first = add8(samples), second = add8(samples + 512);
        sixteens = _mm512_add_epi8(sixteens, count_bits(carry(eights, first, second)));
    }
    /// Chosen samples of one register.
    GPUHIST_AVX512 void add(const std::uint8_t* samples, __mmask64 chosen) {
        single = _mm512_add_epi8(single,
                                 count_bits(_mm512_maskz_permutexvar_epi8(chosen, _mm512_load_si512(samples), table)));
    }
    /// Adds to the 8 counts.
    GPUHIST_AVX512 void finish(std::uint32_t* counts) const {
        __m512i few = count_bits(eights);  // with what was not carried: 15 · 8 more at most
        for (const __m512i* lower : {&fours, &twos, &ones})
            few = _mm512_add_epi8(_mm512_add_epi8(few, few), count_bits(*lower));
        few = _mm512_add_epi8(few, single);
        // Words: 16 · sixteens + few, then the eight quadwords' together, at most 16384.
        const __m512i first =
            _mm512_add_epi16(_mm512_slli_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(sixteens)), 4),
                             _mm512_cvtepu8_epi16(_mm512_castsi512_si256(few)));
        const __m512i second =
            _mm512_add_epi16(_mm512_slli_epi16(_mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(sixteens, 1)), 4),
                             _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(few, 1)));
        const __m512i sum = _mm512_add_epi16(first, second);
        const __m256i quads = _mm256_add_epi16(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1));
        const __m128i total = _mm_add_epi16(_mm256_castsi256_si128(quads), _mm256_extracti128_si256(quads, 1));
        __m256i* to = reinterpret_cast<__m256i*>(counts);
        _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), _mm256_cvtepu16_epi32(total)));
    }
};

/// Adds samples that share their two highest bits to the 64 counts of those.
GPUHIST_AVX512 inline void count_quarter(const std::uint8_t* samples, int count, std::uint32_t* counts) {
    const std::uint8_t* const groups_end = samples + count / 1024 * 1024;
    const std::uint8_t* const registers_end = samples + count / 64 * 64;
    const __mmask64 rest = lowest(count % 64);
    for (int t = 0; t < 8; t += 2) {  // two at a time: one's additions fill the other's waits
        FlagCounter even(flags.table[t]), odd(flags.table[t + 1]);
        const std::uint8_t* next = samples;
        for (; next < groups_end; next += 1024) {
            even.add(next);
            odd.add(next);
        }
        for (; next < registers_end; next += 64) {
            even.add(next, ~std::uint64_t{0});
            odd.add(next, ~std::uint64_t{0});
        }
        even.add(next, rest);
        odd.add(next, rest);
        even.finish(counts + 8 * t);
        odd.finish(counts + 8 * t + 8);
    }
}

}  // namespace

bool supported() {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
           __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("gfni");
}

GPUHIST_AVX512 void split(const std::uint8_t* samples, int pixels, int channels, ChannelOrder order, Scratch& scratch,
                          int first) {
    switch (channels) {
        case 1:
            return split_pixels<1>(samples, pixels, order, scratch, first);
        case 3:
            return split_pixels<3>(samples, pixels, order, scratch, first);
        default:
            return split_pixels<4>(samples, pixels, order, scratch, first);
    }
}

GPUHIST_AVX512 void count(Scratch& scratch, int plane, int samples, const std::uint8_t* ahead, std::uint32_t* counts) {
    std::uint8_t* ends[4] = {scratch.quarters[0], scratch.quarters[1], scratch.quarters[2], scratch.quarters[3]};
    const __m512i top_bits = _mm512_set1_epi8(static_cast<char>(0xC0));
    const std::uint8_t* values = scratch.planes[plane];
    for (int i = 0; i < samples; i += 64, ahead += 64) {
        _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
        const __m512i v = _mm512_load_si512(values + i), top = _mm512_and_si512(v, top_bits);
        const int left = samples - i;
        for (int quarter = 0; quarter < 4; ++quarter) {
            __mmask64 chosen = _mm512_cmpeq_epi8_mask(top, _mm512_set1_epi8(static_cast<char>(quarter << 6)));
            if (left < 64) chosen &= lowest(left);
            _mm512_storeu_si512(ends[quarter], _mm512_maskz_compress_epi8(chosen, v));
            ends[quarter] += _mm_popcnt_u64(chosen);
        }
    }
    for (int quarter = 0; quarter < 4; ++quarter)
        if (const auto size = static_cast<int>(ends[quarter] - scratch.quarters[quarter]))
            count_quarter(scratch.quarters[quarter], size, counts + 64 * quarter);
}

}  // namespace gpuhist::cpu::avx512

#else

namespace gpuhist::cpu::avx512 {
bool supported() {
    return false;
}
void split(const std::uint8_t*, int, int, ChannelOrder, Scratch&, int) {}
void count(Scratch&, int, int, const std::uint8_t*, std::uint32_t*) {}
}  // namespace gpuhist::cpu::avx512

#endif
