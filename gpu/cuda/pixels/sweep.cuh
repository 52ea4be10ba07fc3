// Sweeps: one pass over an image's pixels by any number of threads, with the widest loads that its alignment allows.
#pragma once

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

/// Loader by registers: each thread loads `Unroll` groups of its own before it shows any. `Ahead`: it loads one, and
/// the next before it shows that. Others: Ring, ResidentImage.
template <int Unroll, bool Ahead = false>
struct Loads {
    /// Shows `visit` `count` groups; the threads of a warp must take neighboring ones. Little else lives in the loop,
    /// so that the visitor keeps its registers.
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
#pragma unroll 1
            for (; together >= Unroll; together -= Unroll) {
                typename Walk::G group[Unroll];
                Place place[Unroll];
#pragma unroll
                for (int u = 0; u < Unroll; ++u, walk.next()) {
                    place[u] = walk.place();
                    group[u].load(place[u].at);
                }
                __syncwarp();  // keeps the loads above
                show_all(place, group, visit);
            }
        }
        sweep_one_by_one(walk, left + together, visit);
    }
};

/// Sweep of the last unit of an image in_one_row, the pixels before and behind its groups: by the warp that has it, a
/// pixel per lane. `unit`: this thread's first that may be it.
template <typename T, int C, class Visit>
__device__ inline void sweep_ends(const Image& image, std::int64_t groups, std::int64_t unit,
                                  const WorkPartition& partition, Visit& visit) {
    static_assert(Boundaries<T, C>::most + Group<T, C>::pixels - 1 < 32);
    if (!__any_sync(0xFFFFFFFFu, unit == groups && unit < partition.last)) return;
    const char* data = static_cast<const char*>(image.data);
    const int lane = threadIdx.x % 32;
    const std::int64_t x = lane < Boundaries<T, C>::head(data) ? lane : lane + groups * Group<T, C>::pixels;
    if (x < image.width) show_pixel<T, C>({data + x * static_cast<std::int64_t>(sizeof(T) * C), 0, x}, visit);
}

/// Sweep of a partition of an image that is in_one_row. `by`: Loads or a Ring.
template <typename T, int C, class By, class Visit>
__device__ inline void sweep_one_row(const Image& image, const WorkPartition& partition, const By& by, Visit& visit) {
    const int head = Boundaries<T, C>::head(static_cast<const char*>(image.data));
    const std::int64_t groups = (image.width - head) / Group<T, C>::pixels;
    WorkPartition whole = partition;
    whole.last = min(partition.last, groups);
    const int count = whole.count();
    by.sweep(RowWalk<T, C>(image, head, partition), count, visit);
    sweep_ends<T, C>(image, groups, partition.first + count * partition.step, partition, visit);
}

/// Sweep of pixels one by one, gathered to groups where the visitor needs no place.
template <typename T, int C, class Visit>
__device__ inline void sweep_rest(RestWalk<T, C> walk, int left, Visit& visit) {
    using G = Group<T, C>;
    if constexpr (needs_no_place<Visit, G>) {
#pragma unroll 1
        for (; left >= G::pixels; left -= G::pixels) {
            G group{};
#pragma unroll
            for (int p = 0; p < G::pixels; ++p, walk.next()) {
                const T* pixel = reinterpret_cast<const T*>(walk.place().at);
#pragma unroll
                for (int c = 0; c < C; ++c) group.set(p * C + c, pixel[c]);
            }
            visit.accumulate(group);
        }
    }
#pragma unroll 1
    for (; left > 0; --left, walk.next()) show_pixel<T, C>(walk.place(), visit);
}

/// Sweep of any image: rows with gaps between, and pixels that never meet a boundary. All rows have as many groups as
/// surely fit; the pixels that no group holds follow. Limit: rows of fewer than 2^30 samples.
template <typename T, int C, class By, class Visit>
__device__ inline void sweep_rows(const Image& image, const WorkPartition& partition, const By& by, Visit& visit) {
    using G = Group<T, C>;
    using B = Boundaries<T, C>;
    const char* data = static_cast<const char*>(image.data);
    const auto row_bytes = static_cast<std::uintptr_t>(image.row_bytes);
    const int head = row_bytes % 16 == 0 ? B::head(data) : B::most;
    const bool meets = B::met(data) && B::met(row_bytes) && image.width > head;
    const int groups = meets ? static_cast<int>((image.width - head) / G::pixels) : 0;
    const auto rest = static_cast<int>(image.width - std::int64_t{groups} * G::pixels);
    // A row's first units are its groups; the one after them is the rest.
    const std::int64_t in_row = units_in_row(image.width, G::pixels);
    auto groups_before = [&](std::int64_t unit) {
        const std::int64_t y = divide(unit, in_row);
        return y * groups + min(unit - y * in_row, std::int64_t{groups});
    };
    auto rest_before = [&](std::int64_t unit) {
        const std::int64_t y = divide(unit, in_row);
        return (unit - y * in_row > groups ? y + 1 : y) * rest;
    };
    if (groups > 0) {
        const WorkPartition own = partition.of(groups_before);
        by.sweep(GroupsWalk<T, C>(image, groups, own.first, own.step), own.count(), visit);
    }
    if (rest == 0) return;
    const WorkPartition own = partition.of(rest_before);
    sweep_rest(RestWalk<T, C>(image, groups, rest, own.first, own.step), own.count(), visit);
}

/// Visitor of a CoverWalk's groups: shows them to `visit`, with zeros for samples outside the row.
template <typename T, class Visit>
struct Covering {
    using G = Group<T, 1>;
    Visit& visit;
    int width, zeros = 0;

    __device__ void accumulate(std::int64_t, std::int64_t x, const G& loaded) {
        G group = loaded;
        const int first = -static_cast<int>(x), end = first + width;
        if (first > 0 || end < G::pixels) {
            group.keep(first, end);
            zeros += G::pixels - max(min(end, G::pixels) - max(first, 0), 0);
        }
        visit.accumulate(group);
    }
};

/// Sweep of an image of one channel that is not in_one_row, by the groups that cover its rows and a visitor that takes
/// zeros back. Beyond its ends may be no memory: the first row and the last follow pixel by pixel, as do narrow images.
template <typename T, class By, class Visit>
__device__ inline void sweep_covered(const Image& image, const WorkPartition& partition, const By& by, Visit& visit) {
    using G = Group<T, 1>;
    const char* data = static_cast<const char*>(image.data);
    const auto width = static_cast<int>(image.width);
    const std::int64_t in_row = units_in_row(width, G::pixels), last_row = image.height - 1;
    const bool covers = last_row > 1 && width >= 2 * G::pixels;
    const int before = image.row_bytes % G::bytes == 0
                           ? static_cast<int>(reinterpret_cast<std::uintptr_t>(data) % G::bytes / sizeof(T))
                           : G::pixels - 1;  // samples in a row's first group, at most
    const int each = (before + width + G::pixels - 1) / G::pixels;
    auto groups_before = [&](std::int64_t unit) {
        const std::int64_t y = divide(unit, in_row);
        if (y == 0) return std::int64_t{0};
        return (min(y, last_row) - 1) * each + (y < last_row ? min(unit - y * in_row, std::int64_t{each}) : 0);
    };
    auto pixels_before = [&](std::int64_t unit) {
        const std::int64_t y = divide(unit, in_row);
        return (covers ? (y > 0) + (y > last_row) : y) * width;
    };
    if (covers) {
        const Image inner{data + image.row_bytes, width, last_row - 1, image.row_bytes};
        const WorkPartition own = partition.of(groups_before);
        Covering<T, Visit> covering{visit, width};
        by.sweep(CoverWalk<T>(inner, each, own.first, own.step), own.count(), covering);
        visit.take_back(covering.zeros);
    }
    const Image rest{data, width, covers ? 2 : image.height, image.row_bytes * (covers ? last_row : 1)};
    const WorkPartition own = partition.of(pixels_before);
    sweep_rest(RestWalk<T, 1>(rest, 0, width, own.first, own.step), own.count(), visit);
}

}  // namespace gpuhist::cuda
