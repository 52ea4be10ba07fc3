// 65536 counters in a block's shared memory.
#pragma once

#include <cstdint>

#include "cuda/reduce.cuh"
#include "cuda/shared.cuh"

namespace gpuhist::cuda {

/// 16-bit counters, two to a word of shared memory, whose overflows go to carries in device memory: a value was counted
/// counter + 65536 · carry times. The words are arithmetic modulo 2^32: whichever addition makes a half wrap sees so in
/// the value that it replaces, and books a carry for it (one out of the low half that the next lane takes back books
/// minus one where it wraps down). Limit: fewer than 2^32 samples.
///
/// The bank of a pair of values is its lowest five bits: 8-bit data in the high byte would all meet in one. `Mixed`:
/// the pair's higher bits are mixed in, at the price of 15 % where that is not needed.
template <bool Mixed>
struct PackedCounters {
    std::uint32_t words;     ///< shared address; all zero
    std::uint32_t first;     ///< the lowest value counted here,
    std::uint32_t values;    ///< and how many there are
    std::uint32_t* carries;  ///< of value `first`, in device memory
    bool* carried;           ///< in shared memory: set when a carry is booked

    static __device__ std::uint32_t place(std::uint32_t pair) {
        return Mixed ? pair ^ ((pair >> 5 ^ pair >> 10) & 31u) : pair;
    }

    /// Counts `times` ≤ 65535 samples of first + offset.
    __device__ void add(std::uint32_t offset, std::uint32_t times) const {
        const std::uint32_t shift = (offset & 1u) * 16;
        const std::uint32_t word = words + place(offset >> 1) * 4;
        const std::uint32_t old = shared_add(word, times << shift);
        if ((old >> shift & 0xFFFFu) + times > 0xFFFFu) overflow(word, offset, old);
    }

    /// Counts as many values of each lane. Where a warp's lanes mostly hold the same few values (flat areas, drawings),
    /// their additions would wait for each other: those values are added once a warp.
    template <int N>
    __device__ void add(std::uint32_t (&value)[N]) const {
        constexpr int crowd = 6, rounds = 4;
        const unsigned active = __activemask();
        const int lane = threadIdx.x % warp_lanes, leader = __ffs(active) - 1;
        std::uint32_t common = __shfl_sync(active, value[0], leader);
        if (__popc(__ballot_sync(active, value[0] == common)) < crowd) {
            add_all(value);
            return;
        }
        constexpr std::uint32_t counted = 0xFFFFFFFFu;  // no value
        int left = N;
#pragma unroll
        for (int round = 0; round < rounds; ++round) {
            unsigned times = 0;
#pragma unroll
            for (int i = 0; i < N; ++i) {
                const bool equal = value[i] == common;
                times += equal;
                value[i] = equal ? counted : value[i];
            }
            left -= static_cast<int>(times);
            times = sum_over(active, times);
            if (lane == leader && common - first < values) add(common - first, times);
            const unsigned waiting = __ballot_sync(active, left != 0);
            if (waiting == 0) return;
            std::uint32_t any = value[0];
#pragma unroll
            for (int i = 1; i < N; ++i) any = min(any, value[i]);
            common = __shfl_sync(active, any, __ffs(waiting) - 1);
        }
#pragma unroll
        for (int i = 0; i < N; ++i)
            if (value[i] != counted) add_one(value[i]);
    }
    /// All additions are under way before the first overflow is looked for.
    template <int N>
    __device__ void add_all(const std::uint32_t (&value)[N]) const {
        if (values != 65536) {  // a slice
#pragma unroll
            for (int i = 0; i < N; ++i) add_one(value[i]);
            return;
        }
        std::uint32_t old[N];
#pragma unroll
        for (int i = 0; i < N; ++i)
            old[i] = shared_add(words + place(value[i] >> 1) * 4, value[i] & 1u ? 0x10000u : 1u);
        bool full = false;
#pragma unroll
        for (int i = 0; i < N; ++i) full |= (value[i] & 1u ? old[i] >> 16 : old[i] & 0xFFFFu) == 0xFFFFu;
        if (!full) return;
#pragma unroll
        for (int i = 0; i < N; ++i)
            if ((value[i] & 1u ? old[i] >> 16 : old[i] & 0xFFFFu) == 0xFFFFu)
                overflow(words + place(value[i] >> 1) * 4, value[i], old[i]);
    }
    __device__ void add_one(std::uint32_t value) const {
        if (value - first < values) add(value - first, 1);
    }

  private:
    static __device__ unsigned sum_over(unsigned active, unsigned value) {
#if __CUDA_ARCH__ >= 800
        return __reduce_add_sync(active, value);
#else
        unsigned sum = 0;
        for (unsigned left = active; left != 0; left &= left - 1) sum += __shfl_sync(active, value, __ffs(left) - 1);
        return sum;
#endif
    }
    /// Rare, and kept out of the loops around `add`, which it would swell.
    __device__ __noinline__ void overflow(std::uint32_t word, std::uint32_t offset, std::uint32_t old) const {
        *carried = true;
        atomicAdd(carries + offset, 1u);
        if (offset & 1) return;  // the carry left the word
        if (old >> 16 == 0xFFFFu) atomicAdd(carries + offset + 1, 1u);
        if (shared_add(word, 0u - 0x10000u) >> 16 == 0) atomicSub(carries + offset + 1, 1u);
    }
};

}  // namespace gpuhist::cuda
