// Digits: the counts of each sweep of a full analysis, under the prefixes that hold ranks.
#pragma once

#include "cuda/float/bins.cuh"
#include "cuda/float/state.cuh"

namespace gpuhist::cuda {
namespace {

/// Bits of a finite value; −0 has +0's. Digits are counted as values have them, not keys.
__device__ inline std::uint32_t bits_of_value(float value) {
    return __float_as_uint(value + 0.0f);
}
/// Prefix of a key, its first `bits` bits, as values have it: the sign not flipped, of negative ones no complement.
__device__ inline std::uint32_t as_in_value(std::uint32_t prefix, int bits) {
    const std::uint32_t sign = 1u << (bits - 1);
    return prefix & sign ? prefix ^ sign : ~prefix & (2 * sign - 1);
}

/// Adds to the counts of digits (i: slot after slot) and of lines. By whole warps, one line each.
template <int level>
__device__ inline void add_digits(Word* counts, int i, std::uint32_t samples) {
    const std::uint32_t of_line = narrow_sum_over_warp(samples);
    counts += i / digit_values<level> * digit_words<level>;
    i %= digit_values<level>;
    if (samples != 0) global_add(counts + i, Word{samples});
    if (i % warp_lanes == 0 && of_line != 0) global_add(counts + digit_values<level> + i / warp_lanes, Word{of_line});
}

/// Counter of first digits, in lane replicas.
struct FirstDigitCounter {
    std::uint32_t replica;  ///< shared address of this lane's replicas
    int replicas_log2;

    __device__ explicit FirstDigitCounter(int log2)
        : replica(shared_address(dynamic_shared) + threadIdx.x % (1u << log2) * 4), replicas_log2(log2) {}
    __device__ void add(int channel, float value) const {
        const std::uint32_t digit = bits_of_value(value) >> bits_below<0>;
        shared_increment(replica + ((channel * digit_values<0> + digit) << (replicas_log2 + 2)));
    }
};

/// Prefixes under which a level's digits of one channel are counted, each in a slot of its own: the prefixes of its
/// ranks at the level before, of the pooled channel's ranks, and of its median. A warp holds them, each lane one.
template <int C>
struct WantedPrefixes {
    std::uint32_t prefix, of_median;
    std::uint32_t first;  ///< lanes with a prefix that no lane before has

    __device__ WantedPrefixes(const Task<C, true>& task, int channel, int level) {
        static_assert(2 * core::max_ranks == warp_lanes);
        const int lane = threadIdx.x % warp_lanes;
        const bool pooled = C > 1 && channel < luma_channel && lane >= core::max_ranks;
        const auto& prefixes = task.channel(pooled ? core::pooled_channel : channel).selection.prefix[level - 1];
        prefix = fresh(prefixes[lane % core::max_ranks]);
        of_median = fresh(task.channel(channel).selection.prefix[level - 1][median]);
        first = __ballot_sync(0xFFFFFFFFu, __ffs(__match_any_sync(0xFFFFFFFFu, prefix)) - 1 == lane);
    }
    /// Slot of a wanted prefix; the same for all lanes.
    __device__ int slot_of(std::uint32_t wanted) const {
        const std::uint32_t holders = __ballot_sync(0xFFFFFFFFu, prefix == wanted);
        return __popc(first & ((holders & -holders) - 1));  // the median's is the last, if it is no other's
    }
    __device__ int count() const { return max(__popc(first), slot_of(of_median) + 1); }
};

/// Table of the prefixes whose digits a block counts in one sweep, in shared memory. A factor gives each its own place.
struct DigitTable {
    static constexpr int places_log2 = 9, slot_bits = 6;

    std::uint32_t prefix_and_slot[1 << places_log2];
    std::uint32_t not_wanted[warp_lanes];  ///< of samples without a slot: a branch would cost more
    std::uint32_t factor;
    std::uint32_t* counters;
    Word* counts;  ///< in device memory
    int slots;

    /// Makes the table for `count` slots of a channel from `begin` on, and clears their counters. By all threads.
    template <int level, int C>
    __device__ __noinline__ void prepare(const Task<C, true>& task, int channel, int begin, int count,
                                         std::uint32_t* memory) {
        __syncthreads();  // shared memory may be written again
        for (int i = threadIdx.x; i < 1 << places_log2; i += blockDim.x) prefix_and_slot[i] = ~0u;
        for (int i = threadIdx.x; i < count * digit_values<level> / 4; i += blockDim.x)
            reinterpret_cast<uint4*>(memory)[i] = uint4{};
        __syncthreads();  // a clear table
        if (threadIdx.x < warp_lanes) {
            const WantedPrefixes<C> wanted(task, channel, level);
            const std::uint32_t own = as_in_value(wanted.prefix, 32 - bits_below<level - 1>),
                                other = as_in_value(wanted.of_median, 32 - bits_below<level - 1>);
            std::uint32_t by = 0x9E3779B1;
            const auto place_of = [&](std::uint32_t prefix) { return prefix * by >> (32 - places_log2); };
            while (!__all_sync(0xFFFFFFFFu,
                               __match_any_sync(0xFFFFFFFFu, place_of(own)) == __match_any_sync(0xFFFFFFFFu, own) &&
                                   (own == other || place_of(own) != place_of(other))))
                by = (by * 0x2C9277B5 + 0x5F356496) | 1;
            const auto enter = [&](std::uint32_t prefix, int slot) {
                if (slot >= begin && slot < begin + count)
                    prefix_and_slot[place_of(prefix)] = prefix << slot_bits | (slot - begin);
            };
            const int lane = threadIdx.x, of_median = wanted.slot_of(wanted.of_median);
            if (wanted.first >> lane & 1) enter(own, __popc(wanted.first & ((1u << lane) - 1)));
            if (lane == 0) {
                enter(other, of_median);
                factor = by;
                counters = memory;
                counts = task.template digits<level>(channel, begin);
                slots = count;
            }
        }
        __syncthreads();  // the table, for all
    }
    /// Adds the counters to the counts. By all threads, behind a barrier.
    template <int level>
    __device__ void merge() const {
        for (int i = threadIdx.x; i < slots * digit_values<level>; i += blockDim.x)
            add_digits<level>(counts, i, counters[i]);
    }
    /// Counts `times` samples of one value, fewer than none where they are taken back. By one thread.
    template <int level>
    __device__ void count(float value, std::int64_t times) const {
        const std::uint32_t bits = bits_of_value(value), prefix = bits >> bits_below<level - 1>,
                            found = prefix_and_slot[prefix * factor >> (32 - places_log2)];
        if (found >> slot_bits != prefix) return;
        Word* of_slot = counts + (found % (1u << slot_bits)) * digit_words<level>;
        const std::uint32_t digit = (bits >> bits_below<level>) % digit_values<level>;
        global_add(of_slot + digit, static_cast<Word>(times));
        global_add(of_slot + digit_values<level> + digit / warp_lanes, static_cast<Word>(times));
    }
};

/// Counter of a level's digits by a DigitTable, of one channel.
template <int level>
struct DigitCounter {
    std::uint32_t factor, table, not_wanted, counters;  ///< shared addresses but for the factor

    __device__ explicit DigitCounter(const DigitTable& by)
        : factor(by.factor),
          table(shared_address(by.prefix_and_slot)),
          not_wanted(shared_address(by.not_wanted + threadIdx.x % warp_lanes)),
          counters(shared_address(by.counters)) {}

    /// Third digits are seldom wanted: most threads, and warps, have none.
    template <int N>
    __device__ void add(const float (&values)[N]) const {
        std::uint32_t bits[N], found[N];
        bool wanted[N], any = false;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            bits[i] = bits_of_value(values[i]);
            const std::uint32_t prefix = bits[i] >> bits_below<level - 1>;
            found[i] = shared_load(table + (prefix * factor >> (32 - DigitTable::places_log2)) * 4, 0u);
        }
#pragma unroll
        for (int i = 0; i < N; ++i) {
            wanted[i] = found[i] >> DigitTable::slot_bits == bits[i] >> bits_below<level - 1>;
            any = any || wanted[i];
        }
        if (!any) return;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const std::uint32_t slot = found[i] % (1u << DigitTable::slot_bits),
                                digit = (bits[i] >> bits_below<level>) % digit_values<level>;
            shared_increment(wanted[i] ? counters + (slot * digit_values<level> + digit) * 4 : not_wanted);
        }
    }
};

/// Calls `sweep(again)` for as many slots of a channel at a time as a block has counters for, from word `at` of its
/// dynamic shared memory on; `again`: for further slots. Then counts `times` more samples of `value`, see
/// ChannelPlan::in_fill.
template <int level, int C, class Sweep>
__device__ void count_digits(const Task<C, true>& task, DigitTable& table, int channel, const WorkPartition& partition,
                             std::uint32_t at, float value, std::int64_t times, Sweep sweep) {
    const int slots = WantedPrefixes<C>(task, channel, level).count(), together = task.work->slots[level - 1];
    for (int begin = 0; begin < slots; begin += together) {
        table.template prepare<level>(task, channel, begin, min(slots - begin, together), dynamic_shared + at);
        sweep(begin > 0);
        table.template merge<level>();
        if (partition.first == 0 && times != 0) table.template count<level>(value, times);
    }
}

/// Clears a level's counts. By all blocks.
template <int level, int C>
__device__ inline void clear_digits(const Task<C, true>& task) {
    const WorkPartition all = task.partition_of_grid();
    constexpr std::int64_t pairs = Places<C>::template digit_bytes<level> / sizeof(ulonglong2);
    for (std::int64_t i = all.first; i < pairs; i += all.step)
        reinterpret_cast<ulonglong2*>(task.template digits<level>(0))[i] = ulonglong2{};
}

}  // namespace
}  // namespace gpuhist::cuda
