// State of an f32 analysis: facts of an image that all blocks know, in device memory, and the task that a block works
// on.
#pragma once

#include <cstring>

#include "core/bins.hpp"
#include "cuda/block/shared_memory.cuh"
#include "cuda/float/samples.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/tuning.hpp"
#include "plan/float_details.hpp"
#include "statistics/float_analysis.hpp"

namespace gpuhist::cuda {

/// Work of a launch: the way through its images.
struct F32Work : F32Parameters {
    int first_digits_log2;            ///< lane replicas of the counters of first digits
    int slots[2];                     ///< of second and third digits, that a block counts in a sweep
    std::uint32_t digits_at;          ///< word of dynamic shared memory at which the slots of second digits begin
    bool slots_fit;                   ///< a block's shared memory has room for the Slots of all channels
    bool wide;                        ///< all blocks write the counts, which are many
    bool speculates;                  ///< see Speculation
    std::uint32_t listed_of_channel;  ///< fours of samples that a block's speculation has room for
    int resident_rounds;              ///< of a ResidentImage
    std::uint32_t resident_at;        ///< where in dynamic shared memory it begins
};

namespace {

/// Sums of the powers 1 to 4, each of the lower and the upper 32 bits of its low word, and of its high word.
using PartSums = Word[4][3];

/// Extremes and non-finite samples of a channel, which blocks add up in sweep 1. All is zero between images.
struct Extremes {
    Word nan, positive_infinite, negative_infinite;
    std::uint32_t complement_minimum_key, maximum_key;
};
/// Findings: with the sums of sweep 2.
struct Findings : Extremes {
    Word below, above;
    PartSums sums;
};

/// Digits by which order statistics are found, the upper bits of keys first: bits of each level's, and bits below it.
inline constexpr int levels = 3;
template <int level>
constexpr int digit_bits = level < 2 ? 11 : 10;
template <int level>
constexpr int bits_below = level == 0 ? 21 : (level == 1 ? 10 : 0);
/// Values of a digit, and words that its counts take under one prefix: of each digit, and of each line of 32.
template <int level>
constexpr int digit_values = 1 << digit_bits<level>;
template <int level>
constexpr int digit_words = digit_values<level> + digit_values<level> / warp_lanes;

/// Ranks that are located in a channel: those of core::required_rank, and its median's, for the pivot.
inline constexpr int located_ranks = core::max_ranks + 1, median = core::max_ranks;
/// Prefixes under which a channel's digits may be wanted: of its own ranks, and of the pooled channel's.
template <int C>
constexpr int most_slots = C == 1 ? located_ranks : located_ranks + core::max_ranks;

struct Selection {
    std::uint64_t rank[located_ranks];
    std::uint64_t within[located_ranks];          ///< rank among the samples of the last prefix
    std::uint32_t prefix[levels][located_ranks];  ///< keys as far as each level knows them
};

struct F32Channel {
    Findings found;
    double pivot;
    std::int32_t exponent;
    std::uint32_t again;           ///< full: the pivot was poor, so the moments are summed once more
    core::CentralMoments central;  ///< full: where it was not
    Selection selection;
};

/// Mapping of a color channel's values to normalized ones: (value − low) / divisor. Aligned for one load by `estimate`.
struct alignas(16) Mapping {
    double low, inverse, divisor;
    bool keep;  ///< constant, or without a finite value: left as it is
    bool flat;  ///< all values become 0

    /// Quotient by a product, which is off by under 8 of its last digit. It is the same float unless the digits beyond
    /// a float's lie that near the middle of two floats, or it is under 2^-120, where `sure` becomes false.
    __device__ float estimate(float value, bool& sure) const {
        constexpr std::uint32_t smallest = 0x38700000, middle = 0x10000000;  // the high word of 2^-120; of 29 digits
        const double product = (value - low) * inverse;
        const auto high = static_cast<std::uint32_t>(__double2hiint(product)),
                   beyond = static_cast<std::uint32_t>(__double2loint(product));
        // Without the sign and with 0 as the largest; without the three digits that a float has.
        sure = sure && high * 2 - 2 >= smallest * 2 - 2 && (beyond - (middle - 8)) * 8 > 16 * 8;
        return static_cast<float>(product);
    }
};

struct SpeculationState {
    Extremes sampled[sample_parts][core::float_channels];  ///< of the parts of a sample of the pixels
    std::uint32_t mispredicted;                            ///< a pixel is not as the sample predicts
    std::uint32_t backoff;                                 ///< images from here on without a speculation; stays
    std::uint32_t last_backoff;                            ///< its initial value, 0 after a success; stays
};

struct F32State {
    F32Channel channels[core::float_channels];
    SpeculationState speculation;
    Mapping maps[3];
    Range equalized;        ///< the range of colors and luma
    Word masked;            ///< pixels that the mask excludes
    std::uint32_t arrived;  ///< blocks that have come to the end of a step
};

/// Places in the workspace. Images use the two states in turn, so that the next one's first sweep may begin while the
/// last block writes a result. Counts are zero between images; the rest is written before it is read.
template <int C>
struct Places {
    static constexpr std::size_t channels = measured_channels(C), mapped = C == 1 ? 1 : 4;
    static constexpr int slots(int level) { return level == 0 ? 1 : most_slots<C>; }
    /// Counts of a level's digits, by channel and slot: their bytes, and where they begin.
    template <int level>
    static constexpr std::size_t digit_bytes = channels * sizeof(Word) * (slots(level) * digit_words<level>);
    template <int level>
    static constexpr std::size_t digits = (2 * sizeof(F32State) + 255) / 256 * 256 + (level > 0) * digit_bytes<0> +
                                          (level > 1) * digit_bytes<1> + (level > 2) * digit_bytes<2>;
    static constexpr std::size_t equalized = digits<levels>;  ///< counts of the bins to equalize by
    static constexpr std::size_t luts = equalized + channels * 65536 * sizeof(Word);
    static constexpr std::size_t listed = luts + mapped * 65536 * sizeof(float);  ///< see Speculation
    static constexpr std::size_t listed_bytes = std::size_t{C == 1 ? 24 : 48} << 20;
    static constexpr std::size_t counts = listed + listed_bytes;  ///< as many as there are bins
};

/// Value that other blocks wrote, not from this multiprocessor's own cache.
template <typename T>
__device__ inline T fresh(const T& value) {
    return __ldcg(&value);
}
/// Word, or several, that other blocks wrote. Loads stay where they are: several are under way before the first is
/// used.
__device__ inline Word fresh_word(const Word* from) {
    Word value;
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(from));
    return value;
}
template <typename T>
__device__ inline T fresh_copy(const T& value) {
    static_assert(sizeof(T) % sizeof(Word) == 0 && alignof(T) % alignof(Word) == 0);
    Word copy[sizeof(T) / sizeof(Word)];
#pragma unroll
    for (int w = 0; w < sizeof(T) / sizeof(Word); ++w) copy[w] = fresh_word(reinterpret_cast<const Word*>(&value) + w);
    T result;
    memcpy(&result, copy, sizeof(T));
    return result;
}

/// Facts of a channel, as sweep 1 found them.
struct ChannelFacts {
    std::uint64_t finite, rejected;  ///< valid samples, and all others of the image
    float minimum, maximum;          ///< 0 without a valid sample

    /// Exponent of a brief analysis's sums, whose pivot is 0.
    __device__ std::int32_t brief_exponent() const { return core::moment_exponent(0, minimum, maximum); }
};

/// Task: to analyze one image of a launch, in full or in brief.
template <int C, bool Full>
struct Task {
    const F32Work* work;
    std::int64_t index;
    Image image;
    Output output;

    __device__ const Common& common() const { return work->common; }
    /// Samples of a channel: one per pixel that the mask includes.
    __device__ std::int64_t samples() const {
        return image.pixels() - (work->mask.data ? static_cast<std::int64_t>(fresh_word(&state().masked)) : 0);
    }

    template <typename T>
    __device__ T* place(std::size_t offset) const {
        return reinterpret_cast<T*>(static_cast<char*>(work->workspace) + offset);
    }
    __device__ F32State& state() const { return place<F32State>(0)[index & 1]; }
    __device__ F32Channel& channel(int channel) const { return state().channels[channel]; }
    template <int level>
    __device__ Word* digits(int channel, int slot = 0) const {
        return place<Word>(Places<C>::template digits<level>) +
               (channel * Places<C>::slots(level) + slot) * digit_words<level>;
    }
    __device__ Word* equalized(int channel) const { return place<Word>(Places<C>::equalized) + channel * 65536; }
    __device__ float* lut(int channel) const { return place<float>(Places<C>::luts) + channel * 65536; }
    __device__ Word* counts(int channel) const {
        return place<Word>(Places<C>::counts) + static_cast<std::uint64_t>(channel) * common().bins;
    }
    /// This thread's partition of the image among `blocks` blocks, this one with the given rank.
    __device__ WorkPartition partition(int rank, int blocks) const {
        return dealt(units_in_row(image.width, Group<float, C>::pixels) * image.height, rank, blocks);
    }
    __device__ WorkPartition partition_of_grid() const { return partition(blockIdx.x, gridDim.x); }

    __device__ ChannelFacts facts(const Extremes& found) const {
        const Word not_finite = found.nan + found.positive_infinite + found.negative_infinite;
        ChannelFacts facts{static_cast<std::uint64_t>(samples()) - not_finite};
        facts.rejected = static_cast<std::uint64_t>(image.pixels()) - facts.finite;
        if (facts.finite == 0) return facts;
        facts.minimum = core::key_float(~found.complement_minimum_key);
        facts.maximum = core::key_float(found.maximum_key);
        return facts;
    }
    __device__ ChannelFacts facts(int c) const {
        return facts(fresh_copy(static_cast<const Extremes&>(channel(c).found)));
    }
    /// Whether a full analysis finds order statistics of a channel.
    __device__ static bool is_ranked(int channel) {
        return channel < measured_channels(C) || (C > 1 && channel == core::pooled_channel);
    }
    /// Valid samples of a channel, or of the pooled channel.
    __device__ std::uint64_t finite_samples(int index) const {
        const bool pooled = index == core::pooled_channel;
        std::uint64_t finite = 0;
        for (int c = pooled ? 0 : index; c < (pooled ? 3 : index + 1); ++c) finite += facts(c).finite;
        return finite;
    }
    /// Range of the finite extremes of channels [0, channels).
    __device__ Range finite_range(int channels) const {
        std::uint32_t low = 0, high = 0;
        for (int c = 0; c < channels; ++c) {
            low = max(low, fresh(channel(c).found.complement_minimum_key));
            high = max(high, fresh(channel(c).found.maximum_key));
        }
        return core::found_range(high != 0, core::key_float(~low), core::key_float(high));
    }
    __device__ core::FloatBins bins() const {
        const Range range = work->has_range ? work->range : finite_range(measured_channels(C));
        return core::FloatBins(range.lower, range.upper, common().bins, !work->has_range);
    }
};

/// Calls `each(channel, partition)` for this block's channels: blocks are dealt to channels in turn, and the pixels to
/// the blocks of a channel.
template <int C, bool Full, class Each>
__device__ inline void for_channels(const Task<C, Full>& task, int channels, Each each) {
    const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    for (int channel = block % channels; channel < channels;
         channel += blocks) {  // several only where there are fewer blocks than channels
        const bool few = blocks < channels;
        each(channel, few ? task.partition(0, 1)
                          : task.partition(block / channels, blocks / channels + (blocks % channels > channel)));
    }
}

}  // namespace
}  // namespace gpuhist::cuda
