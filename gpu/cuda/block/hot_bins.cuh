// Hot bins: counters of their own for the few values that crowds of pixels have.
#pragma once

#include <cstdint>

#include "cuda/block/packed_counters.cuh"
#include "cuda/block/reduce.cuh"
#include "cuda/block/shared_memory.cuh"

namespace gpuhist::cuda {

/// Hot bins: beside packed counters, a few places that have a counter for each lane, so that a warp whose pixels are
/// all alike (flat areas, drawings) need not wait for its own additions. The first place to come to a slot has it for
/// good.
template <int SlotsLog2>
struct CrowdedPlaces {
    static constexpr int slots = 1 << SlotsLog2, words = slots * (1 + warp_lanes);
    static constexpr std::uint32_t nobody = 0xFFFFFFFFu;

    /// The initial word i of the shared memory that it takes: whose the slots are, then the counts of each.
    static __device__ std::uint32_t initial(int i) { return i < slots ? nobody : 0; }

    /// Adds one sample of each place, as Counters::add. `table` is the shared address.
    template <class Counters, int N, class Carry>
    static __device__ void add(std::uint32_t table, std::uint32_t first, const std::uint32_t (&place)[N], Carry carry) {
        std::uint32_t owner[N];
        bool vacant = false;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            owner[i] = shared_load(table + slot_of(place[i]) * 4, std::uint32_t{});
            vacant = vacant || owner[i] == nobody;
        }
        if (vacant) {
#pragma unroll
            for (int i = 0; i < N; ++i)
                if (owner[i] == nobody) {
                    const std::uint32_t slot = table + slot_of(place[i]) * 4;
                    shared_exchange_if(slot, nobody, place[i]);
                    owner[i] = shared_load(slot, std::uint32_t{});
                }
        }
        const std::uint32_t column = table + (slots + threadIdx.x % warp_lanes) * 4;
        bool others = false;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            shared_increment_if(owner[i] == place[i], column + slot_of(place[i]) * warp_lanes * 4);
            others = others || owner[i] != place[i];
        }
        if (!others) return;
        std::uint32_t old[N];
#pragma unroll
        for (int i = 0; i < N; ++i)  // what was not added to carries nothing
            old[i] =
                shared_add_if(owner[i] != place[i], first + Counters::word_of(place[i]) * 4, Counters::one(place[i]));
        Counters::book(place, old, carry);
    }
    /// Adds `times` samples of one place for each lane of a warp.
    template <class Counters, class Carry>
    static __device__ void add(std::uint32_t table, std::uint32_t first, std::uint32_t place, std::uint32_t times,
                               Carry carry) {
        const std::uint32_t slot = table + slot_of(place) * 4, lane = threadIdx.x % warp_lanes;
        if (shared_load(slot, std::uint32_t{}) == nobody) shared_exchange_if(slot, nobody, place);
        if (shared_load(slot, std::uint32_t{}) == place)
            shared_add(table + (slots + slot_of(place) * warp_lanes + lane) * 4, times);
        else if (lane == 0)
            Counters::add(first, place, times * warp_lanes, carry);
    }
    /// Adds what was counted to the packed counters. By all threads, after a barrier.
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

/// Adds a sample of each place, which are neighbouring pixels'.
template <class Counters, class Crowded, int N, class Carry>
__device__ inline void add_samples(std::uint32_t first, std::uint32_t crowded, const std::uint32_t (&place)[N],
                                   Carry carry) {
    constexpr int crowd = 6;  // lanes with the same place that hot bins are worth
    constexpr unsigned all = 0xFFFFFFFFu;
    if (__activemask() != all) return Counters::add(first, place, carry);  // the last ones
    const std::uint32_t any = __shfl_sync(all, place[0], 0);
    if (__popc(__ballot_sync(all, place[0] == any)) < crowd) return Counters::add(first, place, carry);
    std::uint32_t differ = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) differ |= place[i] ^ any;
    if (__any_sync(all, differ != 0)) return Crowded::template add<Counters>(crowded, first, place, carry);
    Crowded::template add<Counters>(crowded, first, any, N, carry);
}

}  // namespace gpuhist::cuda
