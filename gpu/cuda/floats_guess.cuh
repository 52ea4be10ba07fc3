// What a sample of an f32 image's pixels lets expect of all of them: where it is right, sweep 1 finds all that sweep 2
// would, and there is none.
#pragma once

#include <cstdint>

#include "cuda/floats_counters.cuh"
#include "cuda/floats_first_sweep.cuh"
#include "cuda/floats_state.cuh"

namespace gpuhist::cuda {
namespace {

/// Of an image whose range is looked for, in brief analyses. In shared memory, from a sweep 1 that relies on it to the
/// sweep 2 that it may spare.
///
/// Two halves of a sample that have the same extremes have found those of the image: pixels that are clipped, or of few
/// values, as those of pictures with 8 bits. Every sample is then expected to lie between them, and no row's largest
/// magnitude to reach the next power of two, on which its sums depend. What the block counts and sums up by that stays
/// in its shared memory until all blocks know whether it was right.
struct Guess {
    static constexpr int most_rows = 5;

    bool made;              ///< and, after sweep 2, right
    float lowest, highest;  ///< of all rows' samples
    std::uint32_t* belied;  ///< in device memory: a sample of any block is not as expected
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
};

}  // namespace
}  // namespace gpuhist::cuda
