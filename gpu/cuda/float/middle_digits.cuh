// Clustered images, many of whose samples, of many values, share the high digits that are wanted (see clustered_part).
// A sweep between the two counts the upper ten bits of the low digits under all of these, the middle digits, so that of
// the low digits few need be counted: that is done in device memory, at a quarter of shared memory's speed.
// Removable: kernel.cuh calls count_middle_digits(), selection.cuh find_clustered(), MiddleDigitCounts and
// clear_middle_digits(), low_digits.cuh want_middle_digits() and DigitFilter; all but the first two where
// is_clustered().
#pragma once

#include "cuda/block/rank_search.cuh"
#include "cuda/float/high_digits.cuh"

namespace gpuhist::cuda {
namespace {

/// Filter tells of the bits of a value, of which −0 has none, which of up to 32 high digits they begin with; and by a
/// table of bits which middle digits under each are wanted, for a row and for the pooled row. In shared memory: by the
/// upper twelve bits a group, from 1 on; by group and the next four bits a slot. Two small tables, where one of 65536
/// would leave no room for what is counted by them.
struct DigitFilter {
    static constexpr std::uint32_t most_digits = 2 * core::max_ranks, most_slots = most_digits + 1;
    static constexpr std::uint32_t none = most_digits;  ///< the slot of all other values
    static constexpr std::uint32_t groups_bytes = 4096, bytes = groups_bytes + most_slots * 16,
                                   wanted_bytes = most_slots * middle_digits / 8, all_bytes = bytes + 2 * wanted_bytes;
    static_assert(bytes % 16 == 0 && most_digits == warp_lanes);

    std::uint32_t address;

    __device__ std::uint32_t slot(std::uint32_t value_bits) const {
        const std::uint32_t group = shared_load(address + (value_bits >> 20), std::uint8_t{});
        return shared_load(address + groups_bytes + group * 16 + (value_bits >> 16 & 15), std::uint8_t{});
    }
    /// Middle digit in the order of values' bits: that of keys, or for negative ones its reverse.
    __device__ static std::uint32_t middle(std::uint32_t value_bits) {
        return value_bits / lows_of_middle % middle_digits;
    }
    /// Place where the bits of a slot's middle digits begin. `of`: 0 the row's, 1 the pooled row's.
    __device__ static std::uint32_t wanted_at(int of, std::uint32_t slot) {
        return bytes + of * wanted_bytes + slot * (middle_digits / 8);
    }
    __device__ bool wants(int of, std::uint32_t value_bits) const {
        const std::uint32_t digit = middle(value_bits);
        return shared_load(address + wanted_at(of, slot(value_bits)) + digit / 32 * 4, 0u) >> digit % 32 & 1;
    }
    /// Bits tell which of four are wanted for either row.
    static __device__ __noinline__ std::uint32_t wants_any(DigitFilter filter, float a, float b, float c, float d) {
        const float values[] = {a, b, c, d};
        std::uint32_t wanted = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const std::uint32_t bits = __float_as_uint(values[i] + 0.0f), digit = middle(bits),  // −0 counts as +0
                slot = filter.slot(bits), at = filter.address + digit / 32 * 4,
                                words =
                                    shared_load(at + wanted_at(0, slot), 0u) | shared_load(at + wanted_at(1, slot), 0u);
            wanted |= (words >> digit % 32 & 1) << i;
        }
        return wanted;
    }
};

/// High digits that are wanted of one row's samples, each in a slot of its own: those of its own ranks, then those of
/// the pooled row's that are not among them. A warp holds them: each lane one, or none.
struct WantedDigits {
    std::uint32_t digit, mask;  ///< mask: lanes that hold one

    template <int C>
    __device__ WantedDigits(const Task<C, true>& task, int row) {
        const int lane = threadIdx.x % warp_lanes, place = lane % core::max_ranks;
        const bool pooled = lane >= core::max_ranks, feeds = C > 1 && row < luma_row;
        const core::RankPlan& ranks = task.row(pooled ? core::pooled_row : row).ranks;
        const bool any = (!pooled || feeds) && place < fresh(ranks.selected);
        digit = any ? fresh(ranks.high[place]) : ~0u;
        mask = __ballot_sync(0xFFFFFFFFu, any);
        bool again = false;  // the pooled row's that is the row's own as well
        for (int own = 0; own < core::max_ranks; ++own) again = __shfl_sync(0xFFFFFFFFu, digit, own) == digit || again;
        mask &= ~__ballot_sync(0xFFFFFFFFu, pooled && again);
    }
    /// Slot of one that is held; the same for all lanes.
    __device__ int slot_of(std::uint32_t wanted) const {
        const std::uint32_t holders = mask & __ballot_sync(0xFFFFFFFFu, digit == wanted);
        return __popc(mask & ((holders & -holders) - 1));
    }
    /// Makes a filter that knows these, and wants no middle digit. By all threads.
    __device__ void make_filter(std::uint8_t* memory) const {
        __shared__ std::uint32_t digits[DigitFilter::most_digits];
        const std::uint32_t lane = threadIdx.x % warp_lanes;
        for (std::uint32_t i = threadIdx.x; i < DigitFilter::bytes; i += blockDim.x)
            memory[i] = i < DigitFilter::groups_bytes ? 0 : DigitFilter::none;
        if (threadIdx.x < warp_lanes && mask >> lane & 1) digits[__popc(mask & ((1u << lane) - 1))] = digit;
        __syncthreads();  // digits, and clear tables
        std::uint8_t groups = 0;
        for (int slot = 0; threadIdx.x == 0 && slot < __popc(mask); ++slot) {
            const std::uint32_t bits = __float_as_uint(core::key_float(digits[slot] << 16)) >> 16;
            std::uint8_t& group = memory[bits >> 4];
            if (group == 0) group = ++groups;
            memory[DigitFilter::groups_bytes + group * 16 + (bits & 15)] = static_cast<std::uint8_t>(slot);
        }
        __syncthreads();  // the filter, for all
    }
};

template <int C>
__device__ inline bool is_clustered(const Task<C, true>& task) {
    return task.work->refines && fresh(task.state().clustered) != 0;
}

/// Marks the image where a row, `under` of whose `finite` samples lie under the high digits wanted, has so many values
/// that a LowDigitCounter cannot keep them near: that is told by a value a thread from all over the image. By a block.
template <int C>
__device__ __noinline__ void find_clustered(const Task<C, true>& task, int row, std::uint64_t under,
                                            std::uint64_t finite) {
    if (!task.work->refines || under <= finite / clustered_part) return;
    constexpr std::uint32_t places = 2048;
    const Image& image = task.image;
    __syncthreads();  // shared memory may be written again
    for (std::uint32_t i = threadIdx.x; i < places; i += blockDim.x) dynamic_shared[i] = 0;
    __syncthreads();  // an empty table
    const std::int64_t at = image.pixels() / blockDim.x * threadIdx.x, y = at / image.width, x = at - y * image.width;
    const auto* pixel =
        reinterpret_cast<const float*>(static_cast<const char*>(image.data) + y * image.row_bytes) + x * C;
    float samples[C];
    for (int c = 0; c < C; ++c) samples[c] = pixel[c];
    const std::uint32_t key = core::float_key(row_value<C>(samples, 0, row, task.common().rgb));  // 0 only of a NaN
    std::uint32_t place = key * 2654435761u >> 21, there = 1;
    while ((there = atomicCAS(dynamic_shared + place, 0u, key)) != 0 && there != key) place = (place + 1) % places;
    const bool many = __syncthreads_count(there == 0) > static_cast<int>(blockDim.x / 4);
    if (many && threadIdx.x == 0) task.state().clustered = 1;
}

/// Counts one row's middle digits under all of its wanted high digits: a place is a slot and a middle digit.
template <int C>
struct MiddleDigitCounter {
    PlaceCounter<AddPlaces<false>> counters;
    DigitFilter filter;
    int row;
    bool rgb;

    template <class Pixels, class Valid = EveryPixel>
    __device__ void look_at(const Pixels& pixels, Valid valid = {}) {
        constexpr int N = pixels_of<C, Pixels>;
        float value[N];
        row_values<C>(pixels, row, rgb, value);
        std::uint32_t place[N];
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const std::uint32_t bits = __float_as_uint(value[i] + 0.0f);  // −0 counts as +0
            const std::uint32_t slot = Valid::every || valid[i] ? filter.slot(bits) : DigitFilter::none;
            place[i] = slot * middle_digits + DigitFilter::middle(bits);
        }
        counters.add(place);
    }
};
template <int C>
__device__ __noinline__ void count_middle_digits(const Task<C, true>& task, int row, Share share) {
    auto* memory = reinterpret_cast<std::uint8_t*>(
        dynamic_shared + (65536 >> task.work->parts_log2) / Counters::per_word + HotBins::words);
    __syncthreads();  // shared memory may be written again
    WantedDigits(task, row).make_filter(memory);
    MiddleDigitCounter<C> counter{{}, {shared_address(memory)}, row, task.common().rgb};
    count_places(task, share, counter, AddPlaces<false>{task.middle(row)});
}

/// Counts of middle digits under one high digit, of one row or of the pooled row: those of its colors together. A warp
/// holds it.
template <int C>
struct MiddleDigitCounts {
    const Word* from[3] = {};
    bool reversed;  ///< the order of values' bits is that of keys

    __device__ MiddleDigitCounts(const Task<C, true>& task, int index, std::uint32_t digit)
        : reversed(digit < 0x8000u) {
        const bool pooled = index == core::pooled_row;
        for (int i = 0; i < (pooled ? 3 : 1); ++i) {
            const int row = pooled ? i : index;
            from[i] = task.middle(row) + WantedDigits(task, row).slot_of(digit) * middle_digits;
        }
    }
    /// Count of a middle digit, in the order of keys.
    __device__ std::uint64_t operator()(std::uint32_t middle) const {
        const std::uint32_t at = reversed ? middle_digits - 1 - middle : middle;
        std::uint64_t sum = 0;
#pragma unroll
        for (const Word* counts : from)
            if (counts) sum += fresh_word(counts + at);
        return sum;
    }
};

/// Makes the filter of this row's counter: finds the middle digits that hold the ranks of the row and, where `rows` is
/// 2, of the pooled row. By all threads: a warp for each digit of each row.
template <int C>
__device__ __noinline__ void want_middle_digits(const Task<C, true>& task, std::uint8_t* memory,
                                                const ChosenDigits* chosen, int rows, int row) {
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
    const WantedDigits digits(task, row);
    digits.make_filter(memory);
    for (int i = warp; i < rows * core::max_ranks; i += warps) {
        const int of = i / core::max_ranks, slot = i % core::max_ranks;
        if (slot >= chosen[of].count) continue;
        const int index = of == 0 ? row : core::pooled_row;
        const std::uint32_t digit = chosen[of].high[slot];
        const MiddleDigitCounts<C> counts(task, index, digit);
        constexpr std::uint32_t each = middle_digits / warp_lanes;
        static_assert(each == 32);  // a word of bits a lane
        const WarpBins<each, MiddleDigitCounts<C>> bins(counts);
        const SlotRanks ranks(task.row(index).ranks, slot);
        std::uint32_t wanted = 0;  // of this lane's middle digits
        for (int r = 0; r < ranks.count; ++r)
            if (const std::uint32_t middle = bins.locate(ranks[r]).bin; static_cast<int>(middle / each) == lane)
                wanted |= 1u << middle % each;
        __syncwarp();
        auto* bits = reinterpret_cast<std::uint32_t*>(memory + DigitFilter::wanted_at(of, digits.slot_of(digit)));
        bits[counts.reversed ? warp_lanes - 1 - lane : lane] = counts.reversed ? __brev(wanted) : wanted;
    }
    __syncthreads();  // the bits, for all
}

/// Clears the counts of middle digits. By all blocks.
template <int C>
__device__ inline void clear_middle_digits(const Task<C, true>& task) {
    if (!is_clustered(task)) return;
    auto* pairs = reinterpret_cast<ulonglong2*>(task.middle(0));
    const int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < rows_of(C) * 65536 / 2; i += gridDim.x * blockDim.x) pairs[i] = ulonglong2{};
}

}  // namespace
}  // namespace gpuhist::cuda
