// Direct loads: groups come from device memory into the registers of the thread that looks at them.
#pragma once

#include <cstdint>

#include "cuda/pixels/walk.cuh"

namespace gpuhist::cuda {

/// Brings a group of an image's first row into L2, as if the row began with one.
template <typename T, int C>
__device__ inline void fetch_ahead(const Image& image, std::int64_t group) {
    if (group * Group<T, C>::pixels >= image.width) return;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(static_cast<const char*>(image.data) + group * Group<T, C>::bytes));
}

/// Shows `visit` `count` groups from where `walk` stands.
template <class Walk, class Visit>
__device__ inline void sweep_one_by_one(Walk walk, int count, Visit& visit) {
#pragma unroll 1
    for (; count > 0; --count, walk.next()) {
        typename Walk::G group;
        const Place place = walk.place();
        group.load(place.at);
        show(place, group, visit);
    }
}

/// Loads `Count` groups from where `walk` stands, and goes on, before it shows `visit` any. By whole warps.
template <int Count, class Walk, class Visit>
__device__ inline void sweep_together(Walk& walk, Visit& visit) {
    typename Walk::G group[Count];
    Place place[Count];
#pragma unroll
    for (int u = 0; u < Count; ++u, walk.next()) {
        place[u] = walk.place();
        group[u].load(place[u].at);
    }
    __syncwarp();  // keeps the loads above
    show_all(place, group, visit);
}

/// Loader by registers: each thread loads its own groups, `Unroll` of them before it looks at any; `Ahead`: one, and
/// the next before it looks at that. Fewer than `Few` are looked at one by one: the unrolled loop's instructions take
/// longer to fetch than it saves. The other loaders are a Ring and a Tile.
template <int Unroll, bool Ahead = false, int Few = 0>
struct Loads {
    /// Shows `visit` `count` groups; the threads of a warp must take neighbouring ones. What the visitor keeps in
    /// registers must not be crowded out: so in the loop lives little else.
    template <class Walk, class Visit>
    __device__ void sweep(Walk walk, int count, Visit& visit) const {
        // Groups that every thread of the warp has: so far it stays together. The last lane has the fewest.
        int together = __shfl_sync(0xFFFFFFFFu, count, 31), left = count - together;
        if constexpr (Ahead) {
            typename Walk::G next;
            if (together > 0) next.load(walk.place().at);
#pragma unroll 1
            for (; together > 0; --together) {
                const auto group = next;
                const Place place = walk.place();
                walk.next();
                if (together > 1) next.load(walk.place().at);
                __syncwarp();  // keeps the loads above
                show(place, group, visit);
            }
        } else {
            const bool unrolled = Few == 0 || together >= Few;
#pragma unroll 1
            for (; unrolled && together >= Unroll; together -= Unroll) sweep_together<Unroll>(walk, visit);
        }
        sweep_one_by_one(walk, left + together, visit);
    }
};

}  // namespace gpuhist::cuda
