// Packed counters: a histogram of 65536 values in a block's shared memory, several counters to a word.
#pragma once

#include <cstdint>

#include "cuda/block/shared_memory.cuh"

namespace gpuhist::cuda {

/// Place of a value among packed counters, and value of a place. Neighbouring words lie in different banks of shared
/// memory. Values that leave low bits zero (12 bits stored as 16), or repeat the high byte in the low one (8 as 16),
/// must not all meet in few of them: so the high byte, moved by a bit, changes the low one.
__host__ __device__ constexpr std::uint32_t spread(std::uint32_t value) {
    return value ^ (value >> 7 & 0xFEu);
}
/// Places of the two values that are the halves of a word.
__host__ __device__ constexpr std::uint32_t spread_both(std::uint32_t values) {
    return values ^ (values >> 7 & 0x00FE00FEu);
}

/// 65536 counters of `Bits` bits, as many in a word as it has room for.
///
/// A word is one number, to which a counter's lowest bit is added: exact arithmetic modulo 2^32, whatever other threads
/// do meanwhile. A counter that wraps carries into the next one of its word; the word that an addition replaces tells
/// which did, and `carry(place, times)` is told; `carry.noted()` once more where there was any. So of each place
///     samples = counter + 2^Bits · carries − carries of the place before it in the same word.
template <int Bits>
struct PackedCounters {
    static constexpr int per_word = 32 / Bits;
    static constexpr std::uint32_t most = (1u << Bits) - 1, places = 65536,
                                   words = ((places + per_word - 1) / per_word + 3) / 4 * 4;

    static __host__ __device__ constexpr std::uint32_t word_of(std::uint32_t place) {
        if constexpr (per_word == 5)
            return place * 52429u >> 18;  // exact, since 5 · 52429 = 2^18 + 1
        else
            return place / per_word;
    }
    static __host__ __device__ constexpr std::uint32_t counter(std::uint32_t word, int i) {
        return word >> i * Bits & most;
    }

    /// Adds one sample of each place. `first` is the shared address of the first word. All additions are under way
    /// before the first is looked at.
    template <int N, class Carry>
    static __device__ void add(std::uint32_t first, const std::uint32_t (&place)[N], Carry carry) {
        std::uint32_t old[N];
#pragma unroll
        for (int i = 0; i < N; ++i) old[i] = shared_add(first + word_of(place[i]) * 4, one(place[i]));
        book(place, old, carry);
    }
    /// Adds `times` samples of one place.
    template <class Carry>
    static __device__ void add(std::uint32_t first, std::uint32_t place, std::uint32_t times, Carry carry) {
        int i = static_cast<int>(place - word_of(place) * per_word);
        const std::uint32_t old = shared_add(first + word_of(place) * 4, times << i * Bits);
        for (; i < per_word; ++i, ++place) {
            times = (counter(old, i) + std::uint64_t{times}) >> Bits;
            if (times == 0) return;
            carry(place, times);
            carry.noted();
        }
    }

  private:
    template <int>
    friend struct CrowdedPlaces;

    /// A place's counter begins at the bit of its word that is the place times Bits, modulo 32, and shifts are best
    /// written so. Not of two counters a word: 0.56 of the sweep for 0.65, u16 grey.
    static constexpr bool modular = per_word * Bits == 32 && Bits < 16;

    /// Bits above a place's counter in its word.
    static __device__ std::uint32_t above(std::uint32_t place) {
        return 32 - Bits - Bits * place + Bits * per_word * word_of(place);
    }
    static __device__ std::uint32_t one(std::uint32_t place) {
        if constexpr (modular) return __funnelshift_l(0, 1, Bits * place);
        return (1u << (32 - Bits)) >> above(place);
    }
    static __device__ bool wraps(std::uint32_t place, std::uint32_t old) {
        if constexpr (modular) return (~__funnelshift_r(old, old, Bits * place) & most) == 0;
        return old << above(place) >= most << (32 - Bits);
    }
    /// Books what additions of 1 carried.
    template <int N, class Carry>
    static __device__ void book(const std::uint32_t (&place)[N], const std::uint32_t (&old)[N], Carry carry) {
        bool any = false;
#pragma unroll
        for (int i = 0; i < N; ++i) any = any || wraps(place[i], old[i]);
        if (!any) return;
        carry.noted();
#pragma unroll
        for (int i = 0; i < N; ++i)
            if (wraps(place[i], old[i])) {
                carry(place[i], 1);
                // The next counter was carried into: did it wrap, too?
                if (place[i] + 1 < (word_of(place[i]) + 1) * per_word &&
                    (old[i] >> (32 - above(place[i])) & most) == most)
                    ripple(place[i], old[i], carry);
            }
    }
    template <class Carry>
    static __device__ __noinline__ void ripple(std::uint32_t place, std::uint32_t old, Carry carry) {
        for (int i = static_cast<int>(place - word_of(place) * per_word) + 1; i < per_word && counter(old, i) == most;
             ++i)
            carry(++place, 1);
    }
};

}  // namespace gpuhist::cuda
