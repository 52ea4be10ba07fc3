// Packed counters: a histogram of 65536 values in a block's shared memory, several counters per word. Hot bins:
// counters of the few values that most pixels have.
#pragma once

#include "cuda/block/reduce.cuh"
#include "cuda/block/shared_memory.cuh"

namespace gpuhist::cuda {

/// Place of a value among packed counters, and value of a place. The high byte, moved by a bit, changes the low one, so
/// that values of 12 bits stored as 16, or of two like bytes, do not all meet in few banks.
__host__ __device__ constexpr std::uint32_t spread(std::uint32_t value) {
    return value ^ (value >> 7 & 0xFEu);
}
/// Places of both 16-bit values of a word.
__host__ __device__ constexpr std::uint32_t spread_both(std::uint32_t values) {
    return values ^ (values >> 7 & 0x00FE00FEu);
}

/// 65536 counters of `Bits` bits, as many per word as fit. A word is one number, to which a counter's lowest bit is
/// added: exact modulo 2^32, whatever other threads do meanwhile. A counter that wraps carries into the next one of its
/// word. The word that an addition replaces tells which did, and `carry(place, times)` is told; `carry.noted()` once
/// more where there was any. So of each place
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

    /// Adds one sample of each place i where `valid[i]`. `first`: shared address of the first word. All additions are
    /// under way before one is read.
    template <int N, class Valid, class Carry>
    static __device__ void add(std::uint32_t first, const std::uint32_t (&place)[N], const Valid& valid, Carry carry) {
        std::uint32_t old[N];
#pragma unroll
        for (int i = 0; i < N; ++i)
            if constexpr (Valid::every)
                old[i] = shared_add(first + word_of(place[i]) * 4, one(place[i]));
            else  // a place without an addition carries nothing
                old[i] = shared_add_if(valid[i], first + word_of(place[i]) * 4, one(place[i]));
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
    friend struct HotBinTable;

    /// Shifts are best written by the place times Bits, modulo 32, the bit at which its counter begins. Not with two
    /// counters per word: 0.56 of the sweep for 0.65, u16 gray.
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
    /// Books the carries of additions of 1.
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

/// Hot bins: a few places with a counter per lane, so that a warp with pixels all alike (flat areas, drawings) need not
/// wait for its own additions. The first place to come to a slot has it for good.
template <int SlotsLog2>
struct HotBinTable {
    static constexpr int slots = 1 << SlotsLog2, words = slots * (1 + warp_lanes);
    static constexpr std::uint32_t nobody = 0xFFFFFFFFu;

    /// Initial word i of the shared memory: the owners of the slots, then the counts of each.
    static __device__ std::uint32_t initial(int i) { return i < slots ? nobody : 0; }

    /// Adds samples of places, as Counters::add; `table`: the shared address.
    template <class Counters, int N, class Valid, class Carry>
    static __device__ void add(std::uint32_t table, std::uint32_t first, const std::uint32_t (&place)[N],
                               const Valid& valid, Carry carry) {
        std::uint32_t owner[N];
        bool vacant = false;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            owner[i] = shared_load(table + slot_of(place[i]) * 4, std::uint32_t{});
            vacant = vacant || (owner[i] == nobody && valid[i]);
        }
        if (vacant) {
#pragma unroll
            for (int i = 0; i < N; ++i)
                if (owner[i] == nobody && valid[i]) {
                    const std::uint32_t slot = table + slot_of(place[i]) * 4;
                    shared_exchange_if(slot, nobody, place[i]);
                    owner[i] = shared_load(slot, std::uint32_t{});
                }
        }
        const std::uint32_t replica = table + (slots + threadIdx.x % warp_lanes) * 4;
        bool others = false;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            shared_increment_if(owner[i] == place[i] && valid[i], replica + slot_of(place[i]) * warp_lanes * 4);
            others = others || (owner[i] != place[i] && valid[i]);
        }
        if (!others) return;
        std::uint32_t old[N];
#pragma unroll
        for (int i = 0; i < N; ++i)  // a place without an addition carries nothing
            old[i] = shared_add_if(owner[i] != place[i] && valid[i], first + Counters::word_of(place[i]) * 4,
                                   Counters::one(place[i]));
        Counters::book(place, old, carry);
    }
    /// Adds `times` samples of one place for each lane of a warp; `of_warp` for all of them.
    template <class Counters, class Carry>
    static __device__ void add(std::uint32_t table, std::uint32_t first, std::uint32_t place, std::uint32_t times,
                               std::uint32_t of_warp, Carry carry) {
        const std::uint32_t slot = table + slot_of(place) * 4, lane = threadIdx.x % warp_lanes;
        if (shared_load(slot, std::uint32_t{}) == nobody) shared_exchange_if(slot, nobody, place);
        if (shared_load(slot, std::uint32_t{}) == place)
            shared_add(table + (slots + slot_of(place) * warp_lanes + lane) * 4, times);
        else if (lane == 0)
            Counters::add(first, place, of_warp, carry);
    }
    /// Adds the counts to the packed counters. By all threads, after a barrier.
    template <class Counters, class Carry>
    static __device__ void merge(const std::uint32_t* table, std::uint32_t first, Carry carry) {
        const int lane = threadIdx.x % warp_lanes;
        for (int slot = threadIdx.x / warp_lanes; slot < slots; slot += blockDim.x / warp_lanes) {
            const std::uint32_t times = reduce_warp(table[slots + slot * warp_lanes + lane], Sum{});
            if (lane == 0 && times != 0) Counters::add(first, table[slot], times, carry);
        }
    }

  private:
    static __device__ std::uint32_t slot_of(std::uint32_t place) {
        return place * 2654435761u >> (32 - SlotsLog2);
    }
};

/// Adds a sample of each place i where `valid[i]`; the places are of neighboring pixels.
template <class Counters, class HotBins, int N, class Valid, class Carry>
__device__ inline void add_samples(std::uint32_t first, std::uint32_t hot_bins, const std::uint32_t (&place)[N],
                                   const Valid& valid, Carry carry) {
    constexpr int least_lanes = 6;  // lanes with the same place from which hot bins pay
    constexpr unsigned all = 0xFFFFFFFFu;
    if (__activemask() != all) return Counters::add(first, place, valid, carry);  // the last ones
    const unsigned lanes = Valid::every ? all : __ballot_sync(all, valid[0]);
    const std::uint32_t any = __shfl_sync(all, place[0], Valid::every ? 0 : __ffs(lanes) - 1);
    if (__popc(__ballot_sync(all, place[0] == any) & lanes) < least_lanes)
        return Counters::add(first, place, valid, carry);
    std::uint32_t differ = 0;
#pragma unroll
    for (int i = 0; i < N; ++i)
        if (valid[i]) differ |= place[i] ^ any;
    if (__any_sync(all, differ != 0)) return HotBins::template add<Counters>(hot_bins, first, place, valid, carry);
    if constexpr (Valid::every) {
        HotBins::template add<Counters>(hot_bins, first, any, N, N * warp_lanes, carry);
    } else {
        const std::uint32_t times = N - valid.excluded();
        HotBins::template add<Counters>(hot_bins, first, any, times, reduce_warp(times, Sum{}), carry);
    }
}

}  // namespace gpuhist::cuda
