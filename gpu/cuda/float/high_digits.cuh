// High digits: the upper 16 bits of keys, counted in sweep 1 of full analyses; and 65536 counters for this and the
// like.
#pragma once

#include "cuda/block/hot_bins.cuh"
#include "cuda/float/extremes.cuh"

namespace gpuhist::cuda {
namespace {

using Counters = PackedCounters<16>;
using HotBins = CrowdedPlaces<4>;
constexpr std::size_t hot_bins_bytes = HotBins::words * sizeof(std::uint32_t);

/// Counts a row's 65536 places, or a slice of them. `Carry` adds to the counts in device memory.
template <class Carry>
struct PlaceCounter {
    std::uint32_t words, hot;  ///< shared addresses: of place 0 (before those of a slice), and of HotBins
    std::uint32_t first, places;
    Carry carry;

    template <int N>
    __device__ void add(const std::uint32_t (&place)[N]) const {
        if (places == Counters::places) return add_samples<Counters, HotBins>(words, hot, place, carry);
#pragma unroll
        for (std::uint32_t p : place) add_one(p);
    }
    __device__ void add_one(std::uint32_t place) const {
        const std::uint32_t one[1] = {place};
        if (place - first < places) Counters::add(words, one, carry);
    }
};

/// Places of the 65536 high digits of finite values' keys: both signs of a magnitude share a word, and magnitudes that
/// are close use different banks.
struct DigitPlace {
    __device__ static std::uint32_t of_value(float value) {
        const std::uint32_t bits = __float_as_uint(value + 0.0f);  // −0 counts as +0
        return (bits >> 15 & 0xFFFEu) | bits >> 31;
    }
    __device__ static std::uint32_t digit(std::uint32_t place) {
        return place & 1u ? 0x7FFFu - (place >> 1) : place >> 1 | 0x8000u;
    }
};

/// Adds to the counts of places in device memory: those of high digits, or each its own place.
template <bool Digits>
struct AddPlaces {
    Word* counts;

    __device__ void add(std::uint32_t place, Word samples) const {
        global_add(counts + (Digits ? DigitPlace::digit(place) : place), samples);
    }
    /// Books a carry. The second counter of a word was carried into by the first.
    __device__ void operator()(std::uint32_t place, std::uint32_t times) const {
        add(place, Word{times} << 16);
        if (place % 2 == 0) add(place + 1, Word{0} - times);
    }
    __device__ void noted() const {}
};

/// Counts 65536 places of one row in shared memory, in slices where it is small, `counter` telling them, and adds them
/// up in device memory by its `carry`. Barriers: any thread may count any place, and merge it.
template <int C, bool Full, class Counter, class Carry>
__device__ inline void count_places(const Task<C, Full>& task, const Share& share, Counter& counter, Carry carry) {
    const int places = 65536 >> task.work->parts_log2, words = places / Counters::per_word;
    std::uint32_t* hot = dynamic_shared + words;
    for (int first = 0; first < 65536; first += places) {
        for (int w = threadIdx.x; w < words / 4; w += blockDim.x) reinterpret_cast<uint4*>(dynamic_shared)[w] = uint4{};
        for (int w = threadIdx.x; w < HotBins::words; w += blockDim.x) hot[w] = HotBins::initial(w);
        __syncthreads();
        const std::uint32_t address = shared_address(dynamic_shared) - first / Counters::per_word * 4;
        counter.counters = {address, shared_address(hot), static_cast<std::uint32_t>(first),
                            static_cast<std::uint32_t>(places), carry};
        sweep_floats<C, 2>(task.image, share, counter);
        __syncthreads();
        HotBins::merge<Counters>(hot, address, carry);
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

/// Extremes of one row, and counts of the high digits of its keys.
template <int C>
struct HighDigitCounter {
    PlaceCounter<AddPlaces<true>> counters;
    NonFiniteCounts* non_finite;
    int row;
    bool rgb;
    float minimum = INFINITY, maximum = -INFINITY;

    template <class Pixels, class Valid = EveryPixel>
    __device__ void look_at(const Pixels& pixels, Valid valid = {}) {
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
        notice_invalid<N>(valid, all);
        if (all == 0) {
            minimum = fminf(minimum, low);
            maximum = fmaxf(maximum, high);
            std::uint32_t place[N];
#pragma unroll
            for (int i = 0; i < N; ++i) place[i] = DigitPlace::of_value(value[i]);
            counters.add(place);
            return;
        }
#pragma unroll 1
        for (int i = 0; i < N; ++i) {
            if constexpr (!Valid::every)
                if (!valid[i]) continue;
            const float of = picked(value, i);
            if (is_finite(of)) {
                minimum = fminf(minimum, of);
                maximum = fmaxf(maximum, of);
                counters.add_one(DigitPlace::of_value(of));
            } else if (counters.first == 0) {  // every slice looks at it
                NonFiniteCounts::count(non_finite, of);
            }
        }
    }
};

template <int C>
__device__ __noinline__ void count_high_digits(const Task<C, true>& task, int row, Share share) {
    __shared__ BlockExtremes<1> extremes;
    extremes.clear();
    HighDigitCounter<C> counter{{}, extremes.non_finite, row, task.common().rgb};
    count_places(task, share, counter, AddPlaces<true>{task.high(row)});
    extremes.add(0, counter.minimum, counter.maximum);
    __syncthreads();  // every warp's have come
    if (threadIdx.x == 0) extremes.merge(0, task.row(row).found);
    __syncthreads();  // shared memory may be written again
}

/// Clears the counts of one row's high digits, which lie between its extremes. By all blocks, once the ranks are
/// planned.
template <int C>
__device__ inline void clear_high_digits(const Task<C, true>& task, int row, const RowFacts& facts) {
    if (facts.finite == 0) return;
    const Share all = task.share_of_grid();
    const std::int64_t first = core::float_key(facts.minimum) >> 16, end = (core::float_key(facts.maximum) >> 16) + 1;
    for (std::int64_t digit = first + all.first; digit < end; digit += all.step) task.high(row)[digit] = 0;
}

/// High digits that are chosen for a row, in shared memory.
struct ChosenDigits {
    int count;
    std::uint32_t high[core::max_ranks];

    __device__ int slot_of(std::uint32_t digit) const {
        for (int slot = 0; slot < count; ++slot)
            if (high[slot] == digit) return slot;
        return -1;
    }
};

/// Ranks that lie under one high digit of a row. A warp holds them.
struct SlotRanks {
    int first, count;
    std::uint64_t within;  ///< this lane's

    __device__ SlotRanks(const core::RankPlan& plan, int slot) {
        const int lane = threadIdx.x % warp_lanes, place = min(lane, core::max_ranks - 1);
        const bool own = fresh(plan.slot[place]) == slot;
        within = fresh(plan.within[place]);
        const std::uint32_t of_slot = __ballot_sync(0xFFFFFFFFu, own && lane < fresh(plan.ranks));
        first = __ffs(of_slot) - 1;
        count = __popc(of_slot);
    }
    /// Rank r among the samples of the digit; the same for all lanes.
    __device__ std::uint64_t operator[](int r) const { return __shfl_sync(0xFFFFFFFFu, within, first + r); }
};

}  // namespace
}  // namespace gpuhist::cuda
