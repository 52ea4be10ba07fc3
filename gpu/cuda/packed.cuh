// 65536 counters in a block's shared memory.
#pragma once

#include <cstdint>

#include "cuda/parameters.hpp"

namespace gpuhist::cuda {

/// 16-bit counters, two to a word of shared memory, whose overflows go to the 64-bit counts in device memory.
/// The words are arithmetic modulo 2^32: whichever addition makes a half wrap sees so in the value that it replaces,
/// and books 65536 for it (a carry out of the low half that the next lane takes back books minus 65536 where it wraps
/// down).
struct PackedCounters {
    std::uint32_t* words;
    std::uint32_t first, values;  ///< the slice of values counted here
    Word* counts;                 ///< of value `first`
    BrightnessSums* brightness;   ///< to which overflows are booked too; may be null

    __device__ void clear() const {
        for (std::uint32_t i = threadIdx.x; i < values / 2; i += blockDim.x) words[i] = 0;
    }
    /// Counts `times` ≤ 65535 samples of `first` + `offset`.
    __device__ void add(std::uint32_t offset, std::uint32_t times) const {
        const int shift = (offset & 1) * 16;
        const std::uint32_t old = atomicAdd(words + (offset >> 1), times << shift);
        if ((old >> shift & 0xFFFFu) + times > 0xFFFFu) overflow(words, offset, old, first, counts, brightness);
    }
    /// Adds all to the counts in device memory. Calls `merged(value, samples)` for each that is not zero.
    template <class Merged>
    __device__ void merge(Merged merged) const {
        for (std::uint32_t i = threadIdx.x; i < values / 2; i += blockDim.x) {
            const std::uint32_t word = words[i];
            for (int half = 0; half < 2; ++half) {
                const std::uint32_t samples = word >> 16 * half & 0xFFFFu;
                if (samples == 0) continue;
                atomicAdd(counts + 2 * i + half, Word{samples});
                merged(first + 2 * i + half, samples);
            }
        }
    }

  private:
    /// Rare, and kept out of the loops around `add`, which it would swell.
    static __device__ __noinline__ void overflow(std::uint32_t* words, std::uint32_t offset, std::uint32_t old,
                                                 std::uint32_t first, Word* counts, BrightnessSums* brightness) {
        auto book = [&](std::uint32_t at, bool negative) {
            const std::uint64_t samples = negative ? ~std::uint64_t{65535} : std::uint64_t{65536};
            atomicAdd(counts + at, Word{samples});
            if (!brightness) return;
            const std::uint64_t value = first + at, squares = 65536 * value * value, sign = negative ? ~0ull : 1ull;
            atomicAdd(&brightness->sum, Word{samples * value});
            atomicAdd(&brightness->squares_low, Word{sign * (squares & 0xFFFFFFFFu)});
            atomicAdd(&brightness->squares_high, Word{sign * (squares >> 32)});
            atomicMax(&brightness->complement_minimum, ~static_cast<std::uint32_t>(value));
            atomicMax(&brightness->maximum, static_cast<std::uint32_t>(value));
        };
        book(offset, false);
        if (offset & 1) return;  // the carry left the word
        if (old >> 16 == 0xFFFFu) book(offset + 1, false);
        if (atomicSub(words + (offset >> 1), 0x10000u) >> 16 == 0) book(offset + 1, true);
    }
};

/// Adds equal neighbours at once: a flat area costs one atomic a run, not one a pixel.
struct RunCounter {
    PackedCounters counters;
    std::uint32_t offset = 0, run = 0;

    __device__ void add(std::uint32_t value) {
        const std::uint32_t next = value - counters.first;
        if (next == offset && run < 65535) {
            ++run;
            return;
        }
        flush();
        offset = next;
        run = 1;
    }
    __device__ void flush() {
        if (run != 0 && offset < counters.values) counters.add(offset, run);
    }
};

}  // namespace gpuhist::cuda
