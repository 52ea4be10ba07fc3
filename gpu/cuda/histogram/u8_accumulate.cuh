// 8-bit images, accumulate: one bin per possible value of every channel, counted in a block's shared memory in one
// sweep.
#pragma once

#include "core/luma.hpp"
#include "cuda/block/shared_memory.cuh"
#include "cuda/histogram/brightness.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/pixels/resident.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int values = 256;

template <int C, bool CountLuma>
constexpr int counted_channels = C > 1 && CountLuma ? C + 1 : C;

// Lane replicas: copies of each bin side by side in a block's shared memory, usually 32. A lane adds to its own, so
// that no two lanes of a warp meet in a bank. With 32 replicas two channels share 64 KiB: bin b of both begins at 256 b
// and takes 128 bytes in each. So one byte permutation makes a counter's address, which has the sample in its second
// byte and the lane in its first. A single channel takes 128 bytes per bin.
template <int channels>
constexpr bool shares_space(int channel) {
    return (channel | 1) < channels;
}
/// First of a bin's 32 replicas, counted in words.
template <int channels>
__host__ __device__ constexpr int first_replica(int channel, int value) {
    constexpr int words_of_two = 2 * values * 32;
    return channel / 2 * words_of_two + (shares_space<channels>(channel) ? value * 64 + channel % 2 * 32 : value * 32);
}

/// Accumulator of pixels into lane replicas. `Replicas`: their number as a constant where it is 32; 0: `1 <<
/// replicas_log2`.
template <int C, int Replicas, bool CountLuma>
struct U8Counter {
    static constexpr int channels = counted_channels<C, CountLuma>;
    static constexpr bool sums_luma = C > 1 && !CountLuma;
    /// Whether a channel's samples are handled as addresses: 256 times as large, and the lane's place added.
    template <int channel>
    static constexpr bool as_address = Replicas == 32 && shares_space<channels>(channel);
    /// core::luma is the uppermost byte of 2^9 times the sum that it shifts.
    static constexpr std::uint32_t luma_scale = 1u << 9, half = luma_scale << 14;
    static constexpr std::uint32_t bias = 128;  ///< so that no channel's place is 0, see `accumulate`

    std::uint32_t base;     ///< shared address of all replicas, less `bias`
    std::uint32_t lane;     ///< this lane's place among a bin's replicas, in bytes
    std::uint32_t replica;  ///< shared address of this lane's replica of bin 0 of channel 0
    int replicas_log2;
    std::uint32_t first, green, last;  ///< factors of a pixel's colors, in memory order, as they are handled
    std::uint32_t rest;                ///< added to the sum of their products
    std::uint32_t flip;                ///< Colors::flip
    BrightnessSums brightness{};       ///< of luma, where it is not counted
    std::uint32_t group_sum = 0, group_squares = 0;
    std::uint32_t minima = 0xFFFFFFFFu, maxima = 0;  ///< two each, upper halves of accumulate_pixel's results

    __device__ U8Counter(const std::uint32_t* replicas, int log2, const Colors& colors)
        : base(shared_address(replicas) - bias),
          lane(threadIdx.x % (1u << log2) * 4),
          replica(shared_address(replicas) + lane),
          replicas_log2(log2),
          first(factor<0>(colors.rgb ? core::luma_red : core::luma_blue)),
          green(factor<1>(core::luma_green)),
          last(factor<2>(colors.rgb ? core::luma_blue : core::luma_red)),
          rest(half - ((as_address<0> ? first : 0) + (as_address<1> ? green : 0) + (as_address<2> ? last : 0)) * lane),
          flip(colors.flip) {}
    template <int c>
    __device__ static std::uint32_t factor(std::uint32_t weight) {
        return as_address<c> ? luma_scale / 256 * weight : luma_scale * weight;
    }

    template <int channel>
    __device__ void count(std::uint32_t sample) const {
        constexpr std::uint32_t place = first_replica<channels>(channel, 0) * 4;
        if constexpr (as_address<channel>)
            shared_increment(base + (bias + place) + sample);
        else if constexpr (Replicas == 32)
            shared_increment(replica + place + sample * 128);
        else
            shared_increment(replica + ((channel * values + sample) << (replicas_log2 + 2)));
    }
    /// Byte `at` of a word, as a sample of the channel is handled: lane, sample, 0, 0 from the lowest byte up; or
    /// alone.
    template <int channel>
    __device__ std::uint32_t sample_of(std::uint32_t word, int at) const {
        return as_address<channel> ? __byte_perm(word, lane, 0x7604 | at << 4) : __byte_perm(word, 0, 0x4440 | at);
    }
    /// Luma of four pixels, where it is not counted. `valid`: a byte per pixel, ones where it is valid; excluded pixels
    /// are black.
    __device__ void add(const std::uint32_t (&luma)[4], std::uint32_t valid) {
        const std::uint32_t low = __byte_perm(luma[0], luma[1], 0x7632), high = __byte_perm(luma[2], luma[3], 0x7632),
                            bytes = __byte_perm(low, high, 0x7531);
        group_sum = __dp4a(bytes, 0x01010101u, group_sum);
        group_squares = __dp4a(bytes, bytes, group_squares);
        minima =
            __vminu2(__vminu2(minima, low | ~__byte_perm(valid, 0, 0x1100)), high | ~__byte_perm(valid, 0, 0x3322));
        maxima = __vmaxu2(__vmaxu2(maxima, low), high);
    }
    /// Takes back excluded pixels, which were counted as black ones.
    __device__ void take_back(int pixels) const {
#pragma unroll
        for (int channel = 0; channel < channels; ++channel) {
            const std::uint32_t place = Replicas == 32
                                            ? first_replica<channels>(channel, 0) * 4
                                            : static_cast<std::uint32_t>(channel * values) << (replicas_log2 + 2);
            shared_add(replica + place, 0u - static_cast<std::uint32_t>(pixels));
        }
    }
    /// Luma of one pixel, where it is not counted.
    __device__ void add(std::uint32_t luma) {
        const std::uint32_t value = luma >> 24, twice = __byte_perm(luma, 0, 0x3232);
        group_sum += value;
        group_squares += value * value;
        minima = __vminu2(minima, twice);
        maxima = __vmaxu2(maxima, twice);
    }
    /// Ends a stretch of fewer than 2^16 pixels, whose sums fit 32 bits.
    __device__ void fold() {
        if constexpr (sums_luma) {
            brightness.sum += group_sum;
            brightness.squares += group_squares;
            group_sum = group_squares = 0;
        }
    }
    __device__ BrightnessSums found() const {
        BrightnessSums sums = brightness;
        if (maxima == 0) return sums;  // no pixel: a black one has `half` in it
        sums.complement_minimum = ~(min(minima & 0xFFFFu, minima >> 16) >> 8);
        sums.maximum = max(maxima & 0xFFFFu, maxima >> 16) >> 8;
        return sums;
    }
    /// Accumulates a pixel; `sample(c)`: of channel c, a constant. Returns luma_scale times what core::luma shifts.
    template <class Sample>
    __device__ std::uint32_t accumulate_pixel(Sample sample) {
        const std::uint32_t a = sample(std::integral_constant<int, 0>{});
        count<0>(a);
        if constexpr (C > 1) {
            const std::uint32_t b = sample(std::integral_constant<int, 1>{}),
                                c = sample(std::integral_constant<int, 2>{});
            count<1>(b);
            count<2>(c);
            if constexpr (C > 3) count<3>(sample(std::integral_constant<int, 3>{}));
            const std::uint32_t luma = first * a + green * b + last * c + rest;
            if constexpr (CountLuma) count<C>(sample_of<C>(luma, 3));
            return luma;
        }
        return 0;
    }
    /// Excluded pixels are counted as black ones, to be taken back: increments by some lanes of a warp take half as
    /// long again as by all.
    template <class Valid = EveryPixel>
    __device__ void accumulate(const Group<std::uint8_t, C>& loaded, Valid valid = {}) {
        Group<std::uint8_t, C> g = loaded;
        if constexpr (C > 1) g.flip(flip);
        if constexpr (!Valid::every) g.blacken(valid.bytes);
        // Base and lane, as if they changed each time. Otherwise the compiler finds the lane out anew each time, keeps
        // each channel's address in a register and adds it to every sample. So the base, the same for all lanes, and a
        // place other than 0 are part of the address that the increment itself takes.
        asm volatile("" : "+r"(base), "+r"(lane));
#pragma unroll
        for (int i = 0; i < Group<std::uint8_t, C>::samples; i += 4 * C) {
            std::uint32_t luma[4];
#pragma unroll
            for (int p = 0; p < 4; ++p)
                luma[p] = accumulate_pixel(
                    [&](auto c) { return sample_of<c>(g.word_of(i + p * C + c), (i + p * C + c) % 4); });
            if constexpr (sums_luma && Valid::every) add(luma, ~0u);
            if constexpr (sums_luma && !Valid::every) add(luma, valid.bytes[i / C / 4]);
        }
        fold();
    }
    template <class Valid = EveryPixel>
    __device__ void accumulate(const std::uint8_t (&pixel)[C], Valid valid = {}) {
        if constexpr (!Valid::every)
            if (!valid[0]) return;
        const std::uint32_t luma =
            accumulate_pixel([&](auto c) { return sample_of<c>(C > 1 ? pixel[c] ^ (flip & 0xFFu) : pixel[c], 0); });
        if constexpr (sums_luma) add(luma);
        fold();
    }
};

/// Blocks per multiprocessor: gray images want two, of 32 registers per thread; colors, masks and normalized copies
/// want 64.
template <int C, typename O, class OfImage = NoMask>
constexpr int blocks_wanted = C > 1 || !std::is_void_v<O> || std::is_same_v<OfImage, Mask> ? 1 : 2;
/// Groups loaded at once, as many as the registers hold (BGR, whose group is three words: one ahead); and from rows
/// with gaps between, whose steps take up registers themselves.
template <int C, int Wanted>
constexpr int unroll = C == 3                  ? 1
                       : C == 1 && Wanted == 2 ? 3
                                               : 4;
template <int C, int Wanted>
constexpr int rows_unroll = C == 1 && Wanted == 2 ? 2 : unroll<C, Wanted>;

/// Groups loaded at once with their masks: 1 GiB of gray and its mask 0.91 of the sweep, two 0.89.
template <int C>
constexpr int masked_unroll = C == 3 ? 1 : 3;

/// Hot loop: counts a partition of an image.
template <int C, int Replicas, bool CountLuma, bool OneRow, int Wanted>
__device__ __forceinline__ BrightnessSums count_partition(const Image& image, const WorkPartition& partition,
                                                          int replicas_log2, const Colors& colors) {
    U8Counter<C, Replicas, CountLuma> counter(dynamic_shared, replicas_log2, colors);
    if constexpr (OneRow)
        sweep_one_row<std::uint8_t, C>(image, partition, Loads<unroll<C, Wanted>, C == 3>{}, counter);
    else if constexpr (C == 1 && Replicas == 32)
        sweep_covered<std::uint8_t>(image, partition, Loads<rows_unroll<C, Wanted>>{}, counter);
    else
        sweep_rows<std::uint8_t, C>(image, partition, Loads<rows_unroll<C, Wanted>, C == 3>{}, counter);
    return counter.found();
}
/// Hot loop as a function of its own, so that the kernel's variables do not take up its registers.
template <int C, int Replicas, bool CountLuma, bool OneRow, int Wanted>
__device__ __noinline__ BrightnessSums count_apart(Image image, WorkPartition partition, int replicas_log2,
                                                   Colors colors) {
    return count_partition<C, Replicas, CountLuma, OneRow, Wanted>(image, partition, replicas_log2, colors);
}
template <int C, bool CountLuma, int Wanted>
__device__ inline BrightnessSums count_by_replicas(const Image& image, const WorkPartition& partition,
                                                   int replicas_log2, Colors colors) {
    if (replicas_log2 != 5) return count_apart<C, 0, CountLuma, false, Wanted>(image, partition, replicas_log2, colors);
    return in_one_row<std::uint8_t, C>(image)
               ? count_apart<C, 32, CountLuma, true, Wanted>(image, partition, 5, colors)
               : count_apart<C, 32, CountLuma, false, Wanted>(image, partition, 5, colors);
}

/// Hot loop of an image with a mask, as a function of its own likewise. `Aligned`: see mask_is_aligned.
template <int C, int Replicas, bool CountLuma, bool OneRow, bool Aligned>
__device__ __noinline__ BrightnessSums count_masked(Image image, Mask mask, WorkPartition partition, int replicas_log2,
                                                    Colors colors) {
    using Counter = U8Counter<C, Replicas, CountLuma>;
    Counter counter(dynamic_shared, replicas_log2, colors);
    Masked<std::uint8_t, C, Counter, Aligned> masked{counter, mask};
    if constexpr (OneRow)
        sweep_one_row<std::uint8_t, C>(image, partition, Loads<masked_unroll<C>>{}, masked);
    else
        sweep_rows<std::uint8_t, C>(image, partition, Loads<masked_unroll<C>>{}, masked);
    counter.take_back(masked.excluded);
    return counter.found();
}
template <int C, bool CountLuma>
__device__ inline BrightnessSums count_masked(const Image& image, const Mask& mask, const WorkPartition& partition,
                                              int replicas_log2, Colors colors) {
    if (replicas_log2 != 5)
        return count_masked<C, 0, CountLuma, false, false>(image, mask, partition, replicas_log2, colors);
    if (!in_one_row<std::uint8_t, C>(image))
        return count_masked<C, 32, CountLuma, false, false>(image, mask, partition, 5, colors);
    return mask_is_aligned<std::uint8_t, C>(image, mask)
               ? count_masked<C, 32, CountLuma, true, true>(image, mask, partition, 5, colors)
               : count_masked<C, 32, CountLuma, true, false>(image, mask, partition, 5, colors);
}

/// Hot loop of an image that becomes resident.
template <int C, bool CountLuma, int Wanted>
__device__ __noinline__ BrightnessSums count_resident(Image image, WorkPartition partition,
                                                      ResidentImage<std::uint8_t, C> resident, Colors colors) {
    U8Counter<C, 32, CountLuma> counter(dynamic_shared, 5, colors);
    resident.sweep_coming(counter);
    resident.template sweep_behind<C>(image, partition, Loads<unroll<C, Wanted>, C == 3>{}, counter);
    return counter.found();
}

__device__ inline void clear_replicas(int counters) {
#pragma unroll 4
    for (int i = threadIdx.x; i < counters / 4; i += blockDim.x) reinterpret_cast<uint4*>(dynamic_shared)[i] = uint4{};
}

}  // namespace
}  // namespace gpuhist::cuda
