// Low digits: the lower 16 bits of keys, counted in sweep 2 of full analyses under the high digits that hold ranks.
#pragma once

#include "cuda/float/middle_digits.cuh"

namespace gpuhist::cuda {
namespace {

/// Counts low digits under chosen high digits, of one row's samples: for that row, and for the pooled row.
///
/// A byte of a map in shared memory says of the leading bits of a value whether it may be wanted. Every value is
/// written to the thread's own queue, and is overwritten by the next unless it was: no branch, which some lane of
/// nearly every warp would take. A warp's queues are counted when one of them is full. Of clustered images a
/// DigitFilter takes the map's place.
///
/// Few values are wanted in most images, and those are counted in device memory. In an image of few different values
/// nearly all are, always the same ones: so the first to come to each place of a small table in shared memory are
/// counted there.
struct LowDigitCounter {
    static constexpr int places_log2 = 10, places = 1 << places_log2, queue = 8;
    static constexpr int table_words = 2 * places;  ///< keys, counts
    static constexpr int clustered_map_log2 = 14;   ///< a map that a DigitFilter fits
    static_assert(DigitFilter::all_bytes <= 1 << clustered_map_log2);

    std::uint32_t* table;    ///< in shared memory: this, the map and the queues
    int map_log2;            ///< leading bits of a value that the map knows; 16 is all that matters
    int rows;                ///< 2: the pooled row too
    ChosenDigits chosen[2];  ///< of each
    Word* counts[2];         ///< of each: slots × 65536
    bool clustered;

    /// Words of shared memory.
    __host__ __device__ static constexpr int words(int map_log2, int threads) {
        return table_words + (1 << map_log2) / 4 + queue * threads;
    }
    __device__ auto* map_bytes() const { return reinterpret_cast<std::uint8_t*>(table + table_words); }
    __device__ std::uint32_t map() const { return shared_address(table + table_words); }
    __device__ std::uint32_t first_in_queue() const { return map() + (1u << map_log2) + threadIdx.x * 4; }

    /// Chooses the digits that hold the ranks of a row and of the pooled row, with no sample counted. By all threads.
    template <int C>
    __device__ void prepare(const Task<C, true>& task, int row) {
        const int feeds = C > 1 && row < luma_row ? 2 : 1, i = threadIdx.x / core::max_ranks,
                  slot = threadIdx.x % core::max_ranks;
        for (int w = threadIdx.x; w < words(task.work->map_log2, blockDim.x) / 4; w += blockDim.x)
            reinterpret_cast<uint4*>(dynamic_shared)[w] = uint4{};
        if (i < feeds) {
            const core::RankPlan& ranks = task.row(i == 0 ? row : core::pooled_row).ranks;
            chosen[i].high[slot] = fresh(ranks.high[slot]);
            if (slot == 0) chosen[i].count = fresh(ranks.selected);
        }
        const bool refined = is_clustered(task);
        if (threadIdx.x == 0) {
            table = dynamic_shared;
            map_log2 = task.work->map_log2;
            rows = feeds;
            counts[0] = task.low(row);
            counts[1] = task.low(core::pooled_row);
            clustered = refined;
        }
        __syncthreads();  // the plan, and clear memory
        if (refined) return want_middle_digits(task, map_bytes(), chosen, rows, row);
        if (i >= rows || slot >= chosen[i].count) return;
        auto* bytes = static_cast<volatile std::uint8_t*>(map_bytes());
        const std::uint32_t digit = chosen[i].high[slot];
        bytes[(digit & 0x8000u ? digit & 0x7FFFu : 0xFFFFu - digit) >> (16 - map_log2)] = 1;
        if (digit == 0x8000u) bytes[0x8000u >> (16 - map_log2)] = 1;  // −0 counts as +0
    }
    /// Adds the table's counts to those in device memory. By all threads, after a barrier.
    __device__ void merge() const {
        for (int i = threadIdx.x; i < places; i += blockDim.x)
            if (table[places + i] != 0) count_in_memory(table[i], table[places + i]);
    }
    /// Whether it was wanted.
    __device__ bool count_in_memory(std::uint32_t key, Word samples) const {
        bool wanted = false;
        for (int row = 0; row < rows; ++row) {
            const int slot = chosen[row].slot_of(key >> 16);
            if (slot < 0 || (clustered && !DigitFilter{map()}.wants(row, __float_as_uint(core::key_float(key)))))
                continue;
            wanted = true;
            if (samples) global_add(counts[row] + slot * 65536 + (key & 0xFFFFu), samples);
        }
        return wanted;
    }
    __device__ void count(float value) const {
        const std::uint32_t key = core::float_key(value), place = key * 2654435761u >> (32 - places_log2);
        std::uint32_t there = *static_cast<volatile std::uint32_t*>(table + place);
        if (there == 0 && count_in_memory(key, 0)) {
            there = atomicCAS(table + place, 0u, key);
            if (there == 0) there = key;
        }
        if (there == key)
            shared_increment(shared_address(table + places + place));
        else
            count_in_memory(key, 1);
    }
};

/// A thread's queue of a LowDigitCounter, in a block of `threads`.
template <int threads>
struct LowDigitQueue {
    static constexpr std::uint32_t stride = threads * 4, to_limit = (LowDigitCounter::queue - 4) * stride;
    const LowDigitCounter* counter;       ///< in shared memory
    std::uint32_t map, shift, at, limit;  ///< shift 0: of a clustered image

    __device__ explicit LowDigitQueue(const LowDigitCounter* of)
        : counter(of),
          map(of->map()),
          shift(of->clustered ? 0 : 32 - of->map_log2),
          at(of->first_in_queue()),
          limit(at + to_limit) {}

    template <int N>
    __device__ void add(const float (&values)[N]) {
        static_assert(N <= 4);
        std::uint32_t wanted[N];
        if (shift == 0) {
            const std::uint32_t all =
                DigitFilter::wants_any({map}, values[0], values[N > 1], values[N > 2 ? 2 : 0], values[N > 3 ? 3 : 0]);
#pragma unroll
            for (int i = 0; i < N; ++i) wanted[i] = all >> i & 1;
        } else {
#pragma unroll
            for (int i = 0; i < N; ++i)
                wanted[i] = shared_load(map + (__float_as_uint(values[i]) >> shift), std::uint8_t{});
        }
#pragma unroll
        for (int i = 0; i < N; ++i) {
            asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(values[i]) : "memory");
            at += wanted[i] * stride;
        }
        if (__any_sync(__activemask(), at > limit)) empty();
    }
    __device__ void empty() {
        count(counter, limit - to_limit, at);
        at = limit - to_limit;
    }

  private:
    static __device__ __noinline__ void count(const LowDigitCounter* counter, std::uint32_t first, std::uint32_t end) {
        for (std::uint32_t at = first; at < end; at += stride) counter->count(__uint_as_float(shared_load(at, 0.0f)));
    }
};

}  // namespace
}  // namespace gpuhist::cuda
