// Extremes: the smallest and largest finite sample of every channel, and counts of non-finite ones; in full first
// digits.
#pragma once

#include <type_traits>

#include "cuda/float/digits.cuh"

namespace gpuhist::cuda {
namespace {

/// Non-finite samples of one channel, counted in shared memory.
struct NonFiniteCounts {
    std::uint32_t nan, positive_infinite, negative_infinite;

    __device__ static void count(NonFiniteCounts* counts, float value) {
        shared_increment(shared_address(value != value ? &counts->nan
                                        : value > 0    ? &counts->positive_infinite
                                                       : &counts->negative_infinite));
    }
};

/// Extremes and non-finite samples of a block, in shared memory.
template <int channels>
struct BlockExtremes {
    NonFiniteCounts non_finite[channels];
    std::uint32_t keys[channels][2];  ///< minimum, as the complement, and maximum

    __device__ void clear() {
        if (threadIdx.x < channels) {
            non_finite[threadIdx.x] = {};
            keys[threadIdx.x][0] = keys[threadIdx.x][1] = 0;
        }
        __syncthreads();
    }
    /// Adds every lane's extremes of one channel; minimum > maximum where it has none.
    __device__ void add(int channel, float minimum, float maximum) {
        const bool any = minimum <= maximum;
        const std::uint32_t low = max_over_warp(any ? ~core::float_key(minimum) : 0u),
                            high = max_over_warp(any ? core::float_key(maximum) : 0u);
        if (threadIdx.x % warp_lanes != 0) return;
        atomicMax(&keys[channel][0], low);
        atomicMax(&keys[channel][1], high);
    }
    /// Adds one channel's extremes to the image's. By one thread, behind a barrier.
    __device__ void merge(int channel, Extremes& found) const {
        const NonFiniteCounts& own = non_finite[channel];
        global_max(&found.complement_minimum_key, keys[channel][0]);
        global_max(&found.maximum_key, keys[channel][1]);
        if (own.nan) global_add(&found.nan, Word{own.nan});
        if (own.positive_infinite) global_add(&found.positive_infinite, Word{own.positive_infinite});
        if (own.negative_infinite) global_add(&found.negative_infinite, Word{own.negative_infinite});
    }
};

/// Finder of all channels' extremes among one thread's samples; where `Full`, it counts their first digits.
template <int C, bool Full>
struct ExtremeFinder {
    static constexpr int channels = measured_channels(C);
    float minimum[channels], maximum[channels];
    NonFiniteCounts* non_finite;
    bool rgb;
    std::conditional_t<Full, FirstDigitCounter, int> digits;
    std::uint32_t masked = 0;  ///< pixels

    __device__ ExtremeFinder(NonFiniteCounts* counts, bool red_first, int digits_log2)
        : non_finite(counts), rgb(red_first), digits(digits_log2) {
#pragma unroll
        for (int c = 0; c < channels; ++c) {
            minimum[c] = INFINITY;
            maximum[c] = -INFINITY;
        }
    }
    template <class Pixels, class Valid = EveryPixel>
    __device__ void accumulate(const Pixels& pixels, Valid valid = {}) {
        constexpr int N = pixels_of<C, Pixels>;
        float low[channels], high[channels], all = 0;  // the sum of 0 · x: NaN where a sample is non-finite or excluded
#pragma unroll
        for (int c = 0; c < channels; ++c)
#pragma unroll
            for (int p = 0; p < N; ++p) {
                const float value = channel_value<C>(pixels, p, c, rgb);
                low[c] = p == 0 ? value : fminf(low[c], value);
                high[c] = p == 0 ? value : fmaxf(high[c], value);
                if (C == 1 || c >= luma_channel) all = fmaf(value, 0.0f, all);  // luma is non-finite where a color is
            }
#pragma unroll
        for (int p = 0; p < N; ++p) {
            if (valid[p]) continue;
            all = NAN;
            ++masked;
        }
        if (all == 0) {
#pragma unroll
            for (int c = 0; c < channels; ++c) {
                minimum[c] = fminf(minimum[c], low[c]);
                maximum[c] = fmaxf(maximum[c], high[c]);
#pragma unroll
                for (int p = 0; p < N; ++p)
                    if constexpr (Full) digits.add(c, channel_value<C>(pixels, p, c, rgb));
            }
            return;
        }
#pragma unroll
        for (int c = 0; c < channels; ++c)
#pragma unroll
            for (int p = 0; p < N; ++p) {
                if (!valid[p]) continue;
                const float value = channel_value<C>(pixels, p, c, rgb);
                if (is_finite(value)) {
                    minimum[c] = fminf(minimum[c], value);
                    maximum[c] = fmaxf(maximum[c], value);
                    if constexpr (Full) digits.add(c, value);
                } else {
                    NonFiniteCounts::count(non_finite + c, value);
                }
            }
    }
};

/// Groups that a thread loads together, so that few threads keep the memory busy.
template <int C, bool Full>
constexpr int extremes_unroll = Full ? (C == 1 ? 6 : 2) : (C == 3 ? 4 : (C == 1 ? 6 : 8));

/// Finds the extremes of a partition, or of a ResidentImage as it comes. `found`: the first channel's; `stride`: bytes
/// to the next.
template <int C, bool Full, class OfImage>
__device__ __noinline__ void find_extremes(const Task<C, Full>& task, WorkPartition partition, Extremes* found,
                                           int stride, OfImage of_image) {
    constexpr int channels = measured_channels(C), digits = channels * digit_values<0>;
    __shared__ BlockExtremes<channels> extremes;
    const int log2 = task.work->first_digits_log2;
    if constexpr (Full) clear_replicas(dynamic_shared, digits, log2);
    extremes.clear();
    ExtremeFinder<C, Full> finder(extremes.non_finite, task.common().rgb, log2);
    if constexpr (is_resident<OfImage>) {
        of_image.sweep_coming(finder);
        of_image.template sweep_end<C>(task.image, finder);
    } else {
        sweep_f32<C, extremes_unroll<C, Full>>(task.image, partition, finder, of_image);
    }
    if constexpr (std::is_same_v<OfImage, Mask>) {
        const Word masked = reduce_warp(Word{finder.masked}, Sum{});
        const bool of_sample = found != &task.channel(0).found;
        if (threadIdx.x % warp_lanes == 0 && masked != 0 && !of_sample) global_add(&task.state().masked, masked);
    }
#pragma unroll
    for (int c = 0; c < channels; ++c) extremes.add(c, finder.minimum[c], finder.maximum[c]);
    __syncthreads();  // every warp's have come
    if (threadIdx.x < channels)
        extremes.merge(threadIdx.x,
                       *reinterpret_cast<Extremes*>(reinterpret_cast<char*>(found) + threadIdx.x * stride));
    if constexpr (Full)
        merge_replicas(dynamic_shared, digits, log2,
                       [&](int i, std::uint32_t samples) { add_digits<0>(task.template digits<0>(0), i, samples); });
    __syncthreads();  // shared memory may be written again
}

}  // namespace
}  // namespace gpuhist::cuda
