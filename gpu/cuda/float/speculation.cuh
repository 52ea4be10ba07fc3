// What a sample of an f32 image's pixels lets expect of all of them: where it is right, sweep 1 finds all that sweep 2
// would, and there is none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/block/shared_memory.cuh"
#include "cuda/float/counters.cuh"
#include "cuda/float/first_sweep.cuh"
#include "cuda/float/state.cuh"

namespace gpuhist::cuda {
namespace {

/// Of an image whose range is looked for, in brief analyses. In shared memory, from a sweep 1 that relies on it to the
/// sweep 2 that it may spare.
///
/// Parts of a sample whose extremes are the same have found those of the image: pixels that are clipped, or of few
/// values, as those of pictures with 8 bits. Where parts differ, they tell how far beyond the sample's the image's
/// extreme may be, and so between which two positions each edge of the bins, which is its window. What lies in one is
/// counted as if the edge were at its lower end, and listed, so that it can be counted right once the edges are known.
/// Every sample is then expected to lie within those bounds, and no row's largest magnitude to reach the next power of
/// two, on which its sums depend. What the block counts and sums up by that stays in its shared memory until all blocks
/// know whether it was right.
struct Guess {
    static constexpr int most_rows = 5;

    bool made;                                  ///< and, after sweep 2, right
    float lowest, highest;                      ///< every sample is expected to lie between
    BinPosition position;                       ///< that samples are counted by: a window begins with a whole number
    std::uint32_t window;                       ///< and ends at this low word; 0: there are none
    std::int32_t exponents[most_rows];          ///< of each row's sums
    std::uint32_t listed[most_rows], capacity;  ///< fours of samples, of each row
    uint4* list;                                ///< this block's, in device memory: row after row
    std::uint32_t* belied;                      ///< in device memory: a sample of any block is not as expected
    BlockExtremes<most_rows> extremes;
    PartSums sums[most_rows];

    /// Whether a sample of a row may be counted that may go beyond those of the sample, or be not finite. By the
    /// guess's shared address: of a generic pointer made in the sweep's loop the compiler looks for the origin for
    /// hours.
    static __device__ __noinline__ bool allows(std::uint32_t address, int row, float value) {
        Guess& guess = *static_cast<Guess*>(__cvta_shared_to_generic(address));
        if (is_finite(value)) {
            const std::uint32_t key = core::float_key(value);
            atomicMax(&guess.extremes.keys[row][0], ~key);
            atomicMax(&guess.extremes.keys[row][1], key);
            if (value >= guess.lowest && value <= guess.highest) return true;
        } else {
            OddCounts::count(guess.extremes.odd + row, value);
        }
        *static_cast<volatile std::uint32_t*>(guess.belied) = 1;
        return false;
    }
    static __device__ std::uint32_t window_of(std::uint32_t address) {
        return shared_load(address + static_cast<std::uint32_t>(offsetof(Guess, window)), 0.0f);
    }
    /// Lists samples of a row, up to four, some of which lie in a window; by the guess's shared address.
    template <int N>
    static __device__ void note(std::uint32_t address, int row, const float (&values)[N]) {
        static_assert(N == 1 || N == 4);
        const std::uint32_t at = shared_add(address + static_cast<std::uint32_t>(offsetof(Guess, listed)) + row * 4, 1),
                            capacity = shared_load(address + static_cast<std::uint32_t>(offsetof(Guess, capacity)), 0u);
        if (at >= capacity) return;  // which the count tells
        std::uint64_t list;
        asm volatile("ld.shared.u64 %0, [%1];"
                     : "=l"(list)
                     : "r"(address + static_cast<std::uint32_t>(offsetof(Guess, list))));
        list += (static_cast<std::uint64_t>(row) * capacity + at) * sizeof(uint4);
        const float none = NAN;
        asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(list), "f"(values[0]),
                     "f"(N > 1 ? values[N > 1] : none), "f"(N > 2 ? values[N > 2 ? 2 : 0] : none),
                     "f"(N > 3 ? values[N > 3 ? 3 : 0] : none)
                     : "memory");
    }
    /// The first fours of a row, and how many are listed there.
    __device__ uint4* list_of(int row) const { return list + static_cast<std::size_t>(row) * capacity; }
    __device__ std::uint32_t listed_of(int row) const { return min(listed[row], capacity); }
    __device__ bool overflowed(int row) const { return listed[row] > capacity; }
    /// Whether what is not listed is on the right side of the edge that bin i begins with: no float at or over the edge
    /// is below the window, and none below the edge is over the window. Positions rise with values.
    __device__ bool expects_edge(const core::FloatBins& bins, std::uint32_t i) const {
        const float here = BinPosition::edge(bins, i);
        const std::uint64_t begin = bits_of(BinPosition::whole) + (std::uint64_t{i} << 32);
        return bits_of(position.of(here)) >= begin && bits_of(position.of(BinPosition::before(here))) < begin + window;
    }
};

}  // namespace
}  // namespace gpuhist::cuda
