// Narrow images, many of whose samples, of many values, share the high halves that are wanted (see narrow_part): a
// sweep between the two, in full analyses, that counts middles under all of these, so that of the low halves few need
// be counted. These are counted in device memory, which takes a quarter of the samples that shared memory does.
#pragma once

#include <cstdint>

#include "cuda/block/rank_search.cuh"
#include "cuda/block/reduce.cuh"
#include "cuda/float/counters.cuh"
#include "cuda/float/first_sweep.cuh"
#include "cuda/float/state.cuh"

namespace gpuhist::cuda {
namespace {

/// The high halves that are wanted of one row's samples, each in a slot of its own: those of its own ranks, then those
/// of the pooled row's that are not among them. A warp holds them: each lane one, or none.
struct WantedHalves {
    std::uint32_t half, mask;  ///< mask: lanes that hold one

    template <int C>
    __device__ WantedHalves(const Task<C, true>& task, int row) {
        const int lane = threadIdx.x % warp_lanes, place = lane % core::max_ranks;
        const bool pooled = lane >= core::max_ranks, feeds = C > 1 && row < luma_row;
        const core::RankPlan& ranks = task.row(pooled ? core::pooled_row : row).ranks;
        const bool any = (!pooled || feeds) && place < fresh(ranks.selected);
        half = any ? fresh(ranks.high[place]) : ~0u;
        mask = __ballot_sync(0xFFFFFFFFu, any);
        bool again = false;  // the pooled row's that is the row's own as well
        for (int own = 0; own < core::max_ranks; ++own) again = __shfl_sync(0xFFFFFFFFu, half, own) == half || again;
        mask &= ~__ballot_sync(0xFFFFFFFFu, pooled && again);
    }
    __device__ int count() const { return __popc(mask); }
    /// Of this lane's, which is in the mask.
    __device__ int slot() const { return __popc(mask & ((1u << threadIdx.x % warp_lanes) - 1)); }
    /// Of a half that is held; the same for all lanes.
    __device__ int slot_of(std::uint32_t wanted) const {
        const std::uint32_t holders = mask & __ballot_sync(0xFFFFFFFFu, half == wanted);
        return __popc(mask & ((holders & -holders) - 1));
    }
};
static_assert(2 * core::max_ranks == warp_lanes);

/// A filter of these. By all threads.
__device__ inline void make_filter(const WantedHalves& wanted, std::uint8_t* memory) {
    __shared__ std::uint32_t halves[HalfFilter::most_halves];
    HalfFilter::clear(memory);
    if (threadIdx.x < warp_lanes && wanted.mask >> threadIdx.x & 1) halves[wanted.slot()] = wanted.half;
    __syncthreads();  // halves, and clear tables
    if (threadIdx.x == 0) HalfFilter::fill(memory, halves, wanted.count());
    __syncthreads();  // the filter, for all
}

/// One row's middles under all of its wanted halves: a place is a slot and a middle.
template <int C>
struct MiddleCounter {
    PlaceCounter<AddPlaces<false>> counters;
    HalfFilter filter;
    int row;
    bool rgb;

    template <class Pixels>
    __device__ void look_at(const Pixels& pixels) {
        constexpr int N = pixels_of<C, Pixels>;
        float value[N];
        row_values<C>(pixels, row, rgb, value);
        std::uint32_t place[N];
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const std::uint32_t bits = __float_as_uint(value[i] + 0.0f);  // −0 counts as +0
            place[i] = filter.slot(bits) * middles + HalfFilter::middle(bits);
        }
        counters.add(place);
    }
};
template <int C>
__device__ __noinline__ void count_middles_of_row(const Task<C, true>& task, int row, Share share) {
    auto* memory = reinterpret_cast<std::uint8_t*>(
        dynamic_shared + (65536 >> task.work->parts_log2) / Counters::per_word + Crowded::words);
    __syncthreads();  // shared memory may be written again
    make_filter(WantedHalves(task, row), memory);
    MiddleCounter<C> counter{{}, {shared_address(memory)}, row, task.common().rgb};
    count_places(task, share, counter, AddPlaces<false>{task.middle(row)});
}

/// Whether there was something to count.
template <int C, bool Full>
__device__ inline bool count_middles(const Task<C, Full>& task) {
    if constexpr (Full) {
        if (!task.narrow()) return false;
        for_rows(task, rows_of(C), [&](int row, const Share& share) { count_middles_of_row(task, row, share); });
        return true;
    }
    return false;
}

/// The ranks that lie under one high half of a row. A warp holds them.
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
    /// Among the samples of the half; the same for all lanes.
    __device__ std::uint64_t operator[](int r) const { return __shfl_sync(0xFFFFFFFFu, within, first + r); }
};

/// Counts of middles under one half, of one row or of the pooled row: those of its colours together. A warp holds it.
template <int C>
struct MiddleCounts {
    const Word* from[3] = {};
    bool reversed;  ///< the order of values' bits is that of keys

    __device__ MiddleCounts(const Task<C, true>& task, int index, std::uint32_t half) : reversed(half < 0x8000u) {
        const bool pooled = index == core::pooled_row;
        for (int i = 0; i < (pooled ? 3 : 1); ++i) {
            const int row = pooled ? i : index;
            from[i] = task.middle(row) + WantedHalves(task, row).slot_of(half) * middles;
        }
    }
    /// In the order of keys.
    __device__ std::uint64_t operator()(std::uint32_t middle) const {
        const std::uint32_t at = reversed ? middles - 1 - middle : middle;
        std::uint64_t sum = 0;
#pragma unroll
        for (const Word* counts : from)
            if (counts) sum += fresh_word(counts + at);
        return sum;
    }
};

/// Finds the middles that hold the ranks, for this row's counter. By all threads: a warp for each half of each row.
template <int C>
__device__ __noinline__ void want_middles(const Task<C, true>& task, const LowCounter& low, int row) {
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
    const WantedHalves halves(task, row);
    make_filter(halves, reinterpret_cast<std::uint8_t*>(low.table + LowCounter::table_words));
    for (int i = warp; i < low.rows * core::max_ranks; i += warps) {
        const int of = i / core::max_ranks, slot = i % core::max_ranks;
        if (slot >= low.chosen[of].count) continue;
        const int index = of == 0 ? row : core::pooled_row;
        const std::uint32_t half = low.chosen[of].high[slot];
        const MiddleCounts<C> counts(task, index, half);
        constexpr std::uint32_t each = middles / warp_lanes;
        static_assert(each == 32);  // a word of bits a lane
        const WarpBins<each, MiddleCounts<C>> bins(counts);
        const core::RankPlan& plan = task.row(index).ranks;
        const SlotRanks ranks(plan, slot);
        std::uint32_t wanted = 0;  // of this lane's middles
        for (int r = 0; r < ranks.count; ++r)
            if (const std::uint32_t middle = bins.locate(ranks[r]).bin; static_cast<int>(middle / each) == lane)
                wanted |= 1u << middle % each;
        __syncwarp();
        const bool reversed = counts.reversed;
        auto* bits = reinterpret_cast<std::uint32_t*>(
            reinterpret_cast<std::uint8_t*>(low.table + LowCounter::table_words) + HalfFilter::bytes +
            of * LowCounter::bits_bytes + halves.slot_of(half) * (middles / 8));
        bits[reversed ? warp_lanes - 1 - lane : lane] = reversed ? __brev(wanted) : wanted;
    }
    __syncthreads();  // the bits, for all
}

}  // namespace
}  // namespace gpuhist::cuda
