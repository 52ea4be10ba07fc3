// 16-bit images, accumulate: one bin per possible value, and the brightness sums, in one sweep of the pixels.
#pragma once

#include <type_traits>

#include "core/luma.hpp"
#include "cuda/block/packed_counters.cuh"
#include "cuda/histogram/brightness.cuh"
#include "cuda/pixels/ring.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int values = 65536;

/// Layout of a block's shared memory: `channels` channels of counts at a time, in counters of `bits` bits. Wide, from
/// 160 KiB: two channels fit, so that pixels are read half as often, and 8 bits wrap rarely enough. Other GPUs have one
/// channel of 6 bits.
template <int C, bool Wide>
struct Layout {
    static constexpr bool wide = Wide;
    static constexpr int bits = Wide ? (C == 1 ? 16 : 8) : 6;
    static constexpr int channels = Wide && C > 1 ? 2 : 1;
    static constexpr int roles = C == 1 ? 1 : (C + channels) / channels;  ///< of channels and luma
    static constexpr int threads = C == 1 ? 1024 : 768;                   ///< colors take more registers
    using Counters = PackedCounters<bits>;
    using HotBins = HotBinTable<Wide ? 5 : 4>;
    using Rings = Ring<std::uint16_t, C, C == 3 ? 1 : 2, C == 3 ? 2 : 3>;  ///< of a warp, where there is room
    static constexpr bool ringed = has_copy_engine && Wide && C > 1;
    static constexpr int counter_words = channels * Counters::words, words = counter_words + channels * HotBins::words;
};

/// Code of luma from codes of integers in memory order, see core::luma_code.
struct IntegerLuma {
    std::uint32_t first, last;  ///< factors of a pixel's first and third sample

    __device__ explicit IntegerLuma(bool rgb)
        : first(rgb ? core::luma_red : core::luma_blue), last(rgb ? core::luma_blue : core::luma_red) {}
    __device__ std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
        return core::luma_weighted(first * a + core::luma_green * b + last * c);
    }
};

/// Luma of f16 and of s16, samples and luma as they lie in memory. The conversions of f16 are those of core/half.hpp,
/// but for NaN's digits.
struct OtherLuma {
    bool rgb, half;
    IntegerLuma of_codes;

    __device__ OtherLuma(bool red_first, bool halves) : rgb(red_first), half(halves), of_codes(red_first) {}
    static __device__ float value(std::uint32_t bits) {
        float v;
        asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(static_cast<std::uint16_t>(bits)));
        return v;
    }
    __device__ std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
        constexpr std::uint32_t top = 0x8000;
        if (!half) return of_codes(a ^ top, b ^ top, c ^ top) ^ top;
        const float luma = core::luma(value(rgb ? a : c), value(b), value(rgb ? c : a));
        std::uint16_t bits;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(luma));
        return bits;
    }
};

/// Carries of packed counters, counted per place.
struct Carries {
    std::uint32_t* counts;  ///< in device memory
    std::uint32_t any;      ///< shared address of a bool: set when there is one

    __device__ void operator()(std::uint32_t place, std::uint32_t times) const { global_add(counts + place, times); }
    __device__ void noted() const { shared_set(any); }
};

/// Memory of a block that counts.
struct Counting {
    std::uint32_t counters, hot_bins, carried;  ///< shared addresses
    std::uint32_t rings;                        ///< likewise; 0: there are none
    std::uint32_t* carries;                     ///< of the first channel
    bool rgb;
    bool other, half;  ///< samples are f16 or s16; are f16
};

/// Accumulator of channels [First, Last) of each pixel, channel C being luma; where luma is not counted, it adds luma
/// up. Limit: fewer than 2^32 pixels per block, whose Σ luma² < 2^64.
template <int C, class L, int First, int Last, bool CountLuma, class Luma>
struct U16Counter {
    using Pixels = Group<std::uint16_t, C>;
    Counting counting;
    Luma luma;
    BrightnessSums sums;

    template <int channel, int N, class Valid>
    __device__ void count(const std::uint32_t (&place)[N], const Valid& valid) const {
        constexpr int at = channel - First;
        add_samples<typename L::Counters, typename L::HotBins>(
            counting.counters + at * L::Counters::words * 4, counting.hot_bins + at * L::HotBins::words * 4, place,
            valid, Carries{counting.carries + at * values, counting.carried});
        asm volatile("" ::: "memory");  // one channel after the other: together they take up registers
    }
    template <int N, class Valid>
    __device__ void accumulate_luma(std::uint32_t (&value)[N], const Valid& valid) {
        if constexpr (CountLuma) {
#pragma unroll
            for (std::uint32_t& v : value) v = spread(v);
            count<C>(value, valid);
        } else {
#pragma unroll
            for (int p = 0; p < N; ++p)
                if (valid[p]) sums.add(value[p]);
        }
    }
    /// Counts the channels from `channel` on of N pixels, whose sample i is `spread_sample(i)`.
    template <int channel, int N, class Valid, class SpreadSample>
    __device__ void count_channels(const Valid& valid, SpreadSample spread_sample) const {
        if constexpr (channel < C && channel < Last) {
            std::uint32_t place[N];
#pragma unroll
            for (int p = 0; p < N; ++p) place[p] = spread_sample(p * C + channel);
            count<channel>(place, valid);
            count_channels<channel + 1, N>(valid, spread_sample);
        }
    }
    template <class Valid = EveryPixel>
    __device__ void accumulate(const Pixels& loaded, const Valid& valid = {}) {
        if constexpr (!Valid::every) {  // a warp's pixels mostly are excluded together
            const unsigned lanes = __activemask();
            if (!__any_sync(lanes, valid.any())) return;
        }
        Pixels pixels = loaded;
        if constexpr (C > 1 && Last > C) {
            std::uint32_t value[Pixels::pixels];
#pragma unroll
            for (int p = 0; p < Pixels::pixels; ++p)
                value[p] = luma(pixels[p * C], pixels[p * C + 1], pixels[p * C + 2]);
            accumulate_luma(value, valid);
        }
#pragma unroll
        for (uint4& word : pixels.word)
            word = {spread_both(word.x), spread_both(word.y), spread_both(word.z), spread_both(word.w)};
        count_channels<First, Pixels::pixels>(valid, [&](int i) { return pixels[i]; });
    }
    template <class Valid = EveryPixel>
    __device__ void accumulate(const std::uint16_t (&sample)[C], const Valid& valid = {}) {
        if constexpr (!Valid::every)
            if (!valid[0]) return;
        if constexpr (C > 1 && Last > C) {
            std::uint32_t value[1] = {luma(sample[0], sample[1], sample[2])};
            accumulate_luma(value, EveryPixel{});
        }
        count_channels<First, 1>(EveryPixel{}, [&](int i) { return spread(sample[i]); });
    }
};

/// Groups that a thread loads together.
template <int C>
constexpr int u16_unroll = C == 1 ? 4 : 1;

/// Hot loop as a function of its own, so that the kernel's variables do not take up its registers. `OfImage`: Mask, or
/// NoMask.
template <int C, class L, int Role, bool CountLuma, class Luma, bool OneRow, bool Ringed, class OfImage>
__device__ __noinline__ BrightnessSums count_role(Image image, OfImage mask, WorkPartition partition,
                                                  Counting counting) {
    constexpr int first = Role * L::channels, all = C == 1 ? 1 : C + 1,
                  last = first + L::channels < all ? first + L::channels : all;
    const Luma luma = [&] {
        if constexpr (std::is_same_v<Luma, OtherLuma>)
            return Luma(counting.rgb, counting.half);
        else
            return Luma(counting.rgb);
    }();
    using Counter = U16Counter<C, L, first, last, CountLuma, Luma>;
    Counter counter{counting, luma, BrightnessSums{}};
    auto sweep = [&](const auto& by, auto& visit) {
        if constexpr (OneRow)
            sweep_one_row<std::uint16_t, C>(image, partition, by, visit);
        else
            sweep_rows<std::uint16_t, C>(image, partition, by, visit);
    };
    if constexpr (std::is_same_v<OfImage, Mask>) {
        Masked<std::uint16_t, C, Counter> masked{counter, mask};
        sweep(Loads<u16_unroll<C>, C == 3>{}, masked);
    } else if constexpr (Ringed) {
        sweep(typename L::Rings{counting.rings}, counter);
    } else {
        sweep(Loads<u16_unroll<C>, C == 3>{}, counter);
    }
    __syncwarp();  // a barrier may follow the call
    return counter.sums;
}
template <int C, class L, int Role, bool CountLuma, class OfImage, class Luma = IntegerLuma>
__device__ inline BrightnessSums count_role(const Image& image, const OfImage& mask, const WorkPartition& partition,
                                            const Counting& counting) {
    constexpr bool ringed = L::ringed && !std::is_same_v<OfImage, Mask>;
    if constexpr (ringed)
        if (counting.rings != 0)
            return in_one_row<std::uint16_t, C>(image)
                       ? count_role<C, L, Role, CountLuma, Luma, true, true>(image, mask, partition, counting)
                       : count_role<C, L, Role, CountLuma, Luma, false, true>(image, mask, partition, counting);
    if constexpr (L::wide && !ringed)  // others use sweep_rows, which takes any image
        if (in_one_row<std::uint16_t, C>(image))
            return count_role<C, L, Role, CountLuma, Luma, true, false>(image, mask, partition, counting);
    return count_role<C, L, Role, CountLuma, Luma, false, false>(image, mask, partition, counting);
}
template <int C, class L, int Role = 0, class OfImage>
__device__ inline BrightnessSums count_role(int role, const Image& image, const OfImage& mask,
                                            const WorkPartition& partition, const Counting& counting, bool count_luma) {
    if constexpr (Role + 1 < L::roles) {
        if (role != Role) return count_role<C, L, Role + 1>(role, image, mask, partition, counting, count_luma);
        return count_role<C, L, Role, true, OfImage>(image, mask, partition, counting);
    } else {                  // the role of luma
        if constexpr (C > 1)  // f16 and s16 always count it
            if (counting.other)
                return count_role<C, L, Role, true, OfImage, OtherLuma>(image, mask, partition, counting);
        if (C == 1 || count_luma) return count_role<C, L, Role, true, OfImage>(image, mask, partition, counting);
        return count_role<C, L, Role, C == 1, OfImage>(image, mask, partition, counting);
    }
}

}  // namespace

}  // namespace gpuhist::cuda
