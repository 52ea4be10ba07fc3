// Sweep 1: extremes and what is not finite, and in full analyses counts of the high halves of keys.
#pragma once

#include <cstdint>

#include "cuda/block/hot_bins.cuh"
#include "cuda/block/packed_counters.cuh"
#include "cuda/float/counters.cuh"
#include "cuda/float/state.cuh"
#include "cuda/host/launcher.cuh"

namespace gpuhist::cuda {
namespace {

/// A block's extremes and odd samples, in shared memory.
template <int rows>
struct BlockExtremes {
    OddCounts odd[rows];
    std::uint32_t keys[rows][2];  ///< minimum, as the complement, and maximum

    __device__ void clear() {
        if (threadIdx.x < rows) {
            odd[threadIdx.x] = {};
            keys[threadIdx.x][0] = keys[threadIdx.x][1] = 0;
        }
        __syncthreads();
    }
    /// Every lane's extremes of one row; the lower is over the higher one where there is none.
    __device__ void add(int row, float minimum, float maximum) {
        const bool any = minimum <= maximum;
        const std::uint32_t low = max_over_warp(any ? ~core::float_key(minimum) : 0u),
                            high = max_over_warp(any ? core::float_key(maximum) : 0u);
        if (threadIdx.x % warp_lanes != 0) return;
        atomicMax(&keys[row][0], low);
        atomicMax(&keys[row][1], high);
    }
    /// One row's, by one thread, behind a barrier.
    __device__ void merge(int row, Extremes& found) const {
        global_max(&found.complement_minimum_key, keys[row][0]);
        global_max(&found.maximum_key, keys[row][1]);
        if (odd[row].nan) global_add(&found.nan, Word{odd[row].nan});
        if (odd[row].positive_infinite) global_add(&found.positive_infinite, Word{odd[row].positive_infinite});
        if (odd[row].negative_infinite) global_add(&found.negative_infinite, Word{odd[row].negative_infinite});
    }
};

/// Brief: extremes of all rows.
template <int C>
struct ExtremeFinder {
    static constexpr int rows = rows_of(C);
    float minimum[rows], maximum[rows];
    OddCounts* odd;
    bool rgb;

    template <class Pixels>
    __device__ void look_at(const Pixels& pixels) {
        constexpr int N = pixels_of<C, Pixels>;
        float low[rows], high[rows], all = 0;
#pragma unroll
        for (int r = 0; r < rows; ++r)
#pragma unroll
            for (int p = 0; p < N; ++p) {
                const float value = row_value<C>(pixels, p, r, rgb);
                low[r] = p == 0 ? value : fminf(low[r], value);
                high[r] = p == 0 ? value : fmaxf(high[r], value);
                if (C == 1 || r >= luma_row) notice(value, all);  // luma is not finite where a colour is not
            }
        if (all == 0) {
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                minimum[r] = fminf(minimum[r], low[r]);
                maximum[r] = fmaxf(maximum[r], high[r]);
            }
            return;
        }
#pragma unroll
        for (int r = 0; r < rows; ++r)
#pragma unroll
            for (int p = 0; p < N; ++p) {
                const float value = row_value<C>(pixels, p, r, rgb);
                if (is_finite(value)) {
                    minimum[r] = fminf(minimum[r], value);
                    maximum[r] = fmaxf(maximum[r], value);
                } else {
                    OddCounts::count(odd + r, value);
                }
            }
    }
};

/// Groups that a thread loads together, so that few threads keep the memory busy.
template <int C>
constexpr int extremes_unroll = C == 3   ? 4
                                : C == 1 ? 6
                                         : 8;

/// Those of a share, or of a Tile as it comes. `found`: of the first row; the next ones' are `stride` bytes apart.
template <int C, class OfImage>
__device__ __noinline__ void find_extremes(const Task<C, false>& task, Share share, Extremes* found, int stride,
                                           OfImage tile) {
    constexpr int rows = rows_of(C);
    __shared__ BlockExtremes<rows> extremes;
    extremes.clear();
    ExtremeFinder<C> finder;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        finder.minimum[r] = INFINITY;
        finder.maximum[r] = -INFINITY;
    }
    finder.odd = extremes.odd;
    finder.rgb = task.common().rgb;
    if constexpr (is_kept<OfImage>) {
        tile.sweep_coming(finder);
        tile.template sweep_end<C>(task.image, finder);
    } else {
        sweep_floats<C, extremes_unroll<C>>(task.image, share, finder);
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) extremes.add(r, finder.minimum[r], finder.maximum[r]);
    __syncthreads();  // every warp's have come
    if (threadIdx.x < rows)
        extremes.merge(threadIdx.x,
                       *reinterpret_cast<Extremes*>(reinterpret_cast<char*>(found) + threadIdx.x * stride));
    __syncthreads();  // shared memory may be written again
}

using Counters = PackedCounters<16>;
using Crowded = CrowdedPlaces<4>;
constexpr std::size_t crowded_bytes = Crowded::words * sizeof(std::uint32_t);

/// Counts a row's 65536 places, or a slice of them: high halves, or bins of an equalisation. Neighbours lie in
/// different banks as they are. `Carry` adds to the counts in device memory.
template <class Carry>
struct PlaceCounter {
    std::uint32_t words, crowded;  ///< shared addresses: of place 0 (before those of a slice), and of Crowded
    std::uint32_t first, places;
    Carry carry;

    template <int N>
    __device__ void add(const std::uint32_t (&place)[N]) const {
        if (places == Counters::places) return add_samples<Counters, Crowded>(words, crowded, place, carry);
#pragma unroll
        for (std::uint32_t p : place) add_one(p);
    }
    __device__ void add_one(std::uint32_t place) const {
        const std::uint32_t one[1] = {place};
        if (place - first < places) Counters::add(words, one, carry);
    }
};

/// Adds to the counts of places in device memory: those of high halves, or of bins, each its own place.
template <bool Halves>
struct AddPlaces {
    Word* counts;

    __device__ void add(std::uint32_t place, Word samples) const {
        global_add(counts + (Halves ? HalfPlace::half(place) : place), samples);
    }
    /// The second counter of a word was carried into by the first.
    __device__ void operator()(std::uint32_t place, std::uint32_t times) const {
        add(place, Word{times} << 16);
        if (place % 2 == 0) add(place + 1, Word{0} - times);
    }
    __device__ void noted() const {}
};

/// Full: extremes of one row, and counts of the high halves of its keys.
template <int C>
struct HalfCounter {
    PlaceCounter<AddPlaces<true>> counters;
    float minimum, maximum;
    OddCounts* odd;
    int row;
    bool rgb;

    template <class Pixels>
    __device__ void look_at(const Pixels& pixels) {
        constexpr int N = pixels_of<C, Pixels>;
        float value[N];
        row_values<C>(pixels, row, rgb, value);
        float low = value[0], high = value[0], all = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            low = fminf(low, value[i]);
            high = fmaxf(high, value[i]);
            notice(value[i], all);
        }
        if (all == 0) {
            minimum = fminf(minimum, low);
            maximum = fmaxf(maximum, high);
            std::uint32_t place[N];
#pragma unroll
            for (int i = 0; i < N; ++i) place[i] = HalfPlace::of_value(value[i]);
            counters.add(place);
            return;
        }
#pragma unroll 1
        for (int i = 0; i < N; ++i) {
            float of = value[0];
#pragma unroll
            for (int j = 1; j < N; ++j) of = i == j ? value[j] : of;
            if (is_finite(of)) {
                minimum = fminf(minimum, of);
                maximum = fmaxf(maximum, of);
                counters.add_one(HalfPlace::of_value(of));
            } else {
                OddCounts::count(odd, of);
            }
        }
    }
};

/// Counts 65536 places of one row in shared memory, in slices where it is small, `counter` telling them, and adds them
/// up in device memory by its `carry`. Barriers: any thread may count any place, and merge it.
template <int C, bool Full, class Counter, class Carry>
__device__ inline void count_places(const Task<C, Full>& task, const Share& share, Counter& counter, Carry carry) {
    const int places = 65536 >> task.work->parts_log2, words = places / Counters::per_word;
    std::uint32_t* crowded = dynamic_shared + words;
    for (int first = 0; first < 65536; first += places) {
        for (int w = threadIdx.x; w < words / 4; w += blockDim.x) reinterpret_cast<uint4*>(dynamic_shared)[w] = uint4{};
        for (int w = threadIdx.x; w < Crowded::words; w += blockDim.x) crowded[w] = Crowded::initial(w);
        __syncthreads();
        const std::uint32_t address = shared_address(dynamic_shared) - first / Counters::per_word * 4;
        counter.counters = {address, shared_address(crowded), static_cast<std::uint32_t>(first),
                            static_cast<std::uint32_t>(places), carry};
        sweep_floats<C, 2>(task.image, share, counter);
        __syncthreads();
        Crowded::merge<Counters>(crowded, address, carry);
        __syncthreads();
        for (int i = threadIdx.x; i < words / 4; i += blockDim.x) {
            const uint4 four = reinterpret_cast<const uint4*>(dynamic_shared)[i];
            if ((four.x | four.y | four.z | four.w) == 0) continue;
            const std::uint32_t word[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (int p = 0; p < 4 * Counters::per_word; ++p)
                if (const std::uint32_t n = Counters::counter(word[p / Counters::per_word], p % Counters::per_word);
                    n != 0)
                    carry.add(first + i * 4 * Counters::per_word + p, n);
        }
        __syncthreads();
    }
}

template <int C>
__device__ __noinline__ void count_high_halves(const Task<C, true>& task, int row, Share share) {
    __shared__ BlockExtremes<1> extremes;
    extremes.clear();
    HalfCounter<C> counter;
    counter.minimum = INFINITY;
    counter.maximum = -INFINITY;
    counter.odd = extremes.odd;
    counter.row = row;
    counter.rgb = task.common().rgb;
    count_places(task, share, counter, AddPlaces<true>{task.high(row)});
    extremes.add(0, counter.minimum, counter.maximum);
    if (threadIdx.x == 0 && task.work->parts_log2) {  // every slice looked at them
        OddCounts& odd = extremes.odd[0];
        odd = {odd.nan >> task.work->parts_log2, odd.positive_infinite >> task.work->parts_log2,
               odd.negative_infinite >> task.work->parts_log2};
    }
    __syncthreads();  // every warp's have come
    if (threadIdx.x == 0) extremes.merge(0, task.row(row).found);
    __syncthreads();  // shared memory may be written again
}

}  // namespace
}  // namespace gpuhist::cuda
