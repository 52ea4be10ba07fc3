// One pass over an image's pixels by any number of workers, with the widest loads that its alignment allows.
#pragma once

#include <cstdint>

#include "cuda/block/reduce.cuh"
#include "cuda/block/shared_memory.cuh"
#include "cuda/host/parameters.hpp"

namespace gpuhist::cuda {

/// Of numbers that are not negative; those under 2^32, which are the most, in a tenth of the time.
__device__ inline std::int64_t divide(std::int64_t number, std::int64_t by) {
    if (((number | by) >> 32) == 0) return static_cast<std::uint32_t>(number) / static_cast<std::uint32_t>(by);
    return number / by;
}

/// What one worker loads at once, as it lies in memory.
template <typename T, int C>
struct Group {
    static constexpr int words = group_words(sizeof(T), C);
    static constexpr int pixels = group_pixels(sizeof(T), C);
    static constexpr int samples = pixels * C;
    static constexpr int bytes = words * 16;

    uint4 word[words];

    /// Volatile, and not through the read-only path: those loads the compiler moves down to where they are used, and
    /// then waits for one after the other.
    __device__ void load(const char* source) {
#pragma unroll
        for (int w = 0; w < words; ++w)
            asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(word[w].x), "=r"(word[w].y), "=r"(word[w].z), "=r"(word[w].w)
                         : "l"(source + 16 * w));
    }
    /// From shared memory, by its own address.
    __device__ void load_shared(std::uint32_t source) {
#pragma unroll
        for (int w = 0; w < words; ++w)
            asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(word[w].x), "=r"(word[w].y), "=r"(word[w].z), "=r"(word[w].w)
                         : "r"(source + 16 * w)
                         : "memory");
    }
    __device__ std::uint32_t bits(int i) const {
        return (*this)[i];
    }  // u8 and u16
    /// Makes sample i, a constant, what it is; before, it is zero.
    __device__ void set(int i, T sample) {
        uint4& four = word[i * sizeof(T) / 16];
        const int at = i * sizeof(T) % 16 / 4;
        std::uint32_t& in = at == 0 ? four.x : at == 1 ? four.y : at == 2 ? four.z : four.w;
        if constexpr (sizeof(T) == 4)
            in = __float_as_uint(sample);
        else
            in |= static_cast<std::uint32_t>(sample) << 8 * (i * sizeof(T) % 4);
    }
    /// Makes all samples zero but those from `first` on that are before `end`, either of which may lie outside.
    __device__ void keep(int first, int end) {
        constexpr int sample_bits = 8 * sizeof(T);
        auto from = [](int bit) { return __funnelshift_lc(0, ~0u, static_cast<unsigned>(max(bit, 0))); };
        auto kept = [&](int bit) { return from(first * sample_bits - bit) & ~from(end * sample_bits - bit); };
#pragma unroll
        for (int w = 0; w < words; ++w) {
            word[w].x &= kept(128 * w);
            word[w].y &= kept(128 * w + 32);
            word[w].z &= kept(128 * w + 64);
            word[w].w &= kept(128 * w + 96);
        }
    }
    /// The four bytes in which sample i lies, a constant where it is used.
    __device__ std::uint32_t word_of(int i) const {
        const uint4& four = word[i * sizeof(T) / 16];
        const int at = i * sizeof(T) % 16 / 4;
        return at == 0 ? four.x : at == 1 ? four.y : at == 2 ? four.z : four.w;
    }
    /// Sample i, a constant where it is used; of u8 and u16 widened to 32 bits.
    __device__ auto operator[](int i) const {
        const std::uint32_t bits = word_of(i);
        if constexpr (sizeof(T) == 1)
            return __byte_perm(bits, 0, 0x4440 | i % 4);
        else if constexpr (sizeof(T) == 2)
            return i % 2 ? bits >> 16 : bits & 0xFFFFu;
        else
            return __uint_as_float(bits);
    }
};

/// Groups start on 16-byte boundaries, which a row of pixels may meet.
template <typename T, int C>
struct Boundaries {
    static constexpr unsigned pixel = sizeof(T) * C, power = pixel & (0 - pixel), steps = power >= 16 ? 1 : 16 / power;
    static constexpr int most = steps - 1;  ///< pixels before the first one

    GPUHIST_HD static bool met(std::uintptr_t address) { return address % (power >= 16 ? 16 : power) == 0; }
    GPUHIST_HD static bool met(const void* row) { return met(reinterpret_cast<std::uintptr_t>(row)); }
    /// Pixels before the first one of a row that meets any.
    __device__ static int head(const char* row) {
        // address + k · pixel ≡ 0 (mod 16): the odd part of a pixel's bytes is 1 or 3, and 3 · 5 ≡ −1 (mod 16).
        const auto address = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row));
        return static_cast<int>(address / power * (pixel / power == 3 ? 5u : 0u - 1u) % steps);
    }
};

/// Brings a group of an image into L2, of its first row and as if that began with one.
template <typename T, int C>
__device__ inline void fetch_ahead(const Image& image, std::int64_t group) {
    if (group * Group<T, C>::pixels >= image.width) return;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(static_cast<const char*>(image.data) + group * Group<T, C>::bytes));
}

/// The pieces first, first + step, … before `last` of an image: what one thread looks at, beside others that share
/// those from `begin` on. `backwards`: of an image that is in_one_row counted from its end, so that what the sweep
/// before has left in L2 is read first.
struct Share {
    std::int64_t first, last, step;
    bool backwards = false;
    std::int64_t begin = 0;

    __device__ int count() const { return first < last ? static_cast<int>(divide(last - first + step - 1, step)) : 0; }
    /// The same of what the pieces consist of, of which `before(piece)` lie before a piece: dealt as they are.
    template <class Before>
    __device__ Share of(const Before& before) const {
        const std::int64_t from = before(begin);
        return {from + first - begin, before(last), step, backwards, from};
    }
};

/// Whether all groups of an image lie in one row, one behind the other.
template <typename T, int C>
__device__ inline bool in_one_row(const Image& image) {
    using B = Boundaries<T, C>;
    const char* data = static_cast<const char*>(image.data);
    return image.height == 1 && B::met(data) && B::head(data) + Group<T, C>::pixels <= image.width;
}

/// Whether all of a tensor's images surely are, wherever each begins.
template <typename T, int C>
GPUHIST_HD inline bool all_in_one_row(const Tensor& images) {
    using B = Boundaries<T, C>;
    return images.first.height == 1 && B::most + Group<T, C>::pixels <= images.first.width &&
           B::met(reinterpret_cast<std::uintptr_t>(images.first.data) |
                  static_cast<std::uintptr_t>(images.image_bytes));
}

/// Where a group or a pixel lies.
struct Place {
    const char* at;
    std::int64_t y, x;
};

/// What pixels are shown to has `look_at(pixels)`, of a group and of a pixel's samples, or, where it wants to know
/// where they lie, `look_at(y, x, pixels)`, x being the first one's place in row y.
template <class Visit, class Pixels>
__device__ inline void show(const Place& place, const Pixels& pixels, Visit& visit) {
    if constexpr (requires { visit.look_at(pixels); })
        visit.look_at(pixels);
    else
        visit.look_at(place.y, place.x, pixels);
}
template <typename T, int C, class Visit>
__device__ inline void show_pixel(const Place& place, Visit& visit) {
    T pixel[C];
#pragma unroll
    for (int c = 0; c < C; ++c) pixel[c] = reinterpret_cast<const T*>(place.at)[c];
    show(place, pixel, visit);
}

/// Of an image that is in_one_row, what lies before its groups and behind, which is the piece after the last group's:
/// by the warp that has it, a pixel a lane. `piece`: this thread's first that may be it.
template <typename T, int C, class Visit>
__device__ inline void sweep_ends(const Image& image, std::int64_t groups, std::int64_t piece, const Share& share,
                                  Visit& visit) {
    static_assert(Boundaries<T, C>::most + Group<T, C>::pixels - 1 < 32);
    if (!__any_sync(0xFFFFFFFFu, piece == groups && piece < share.last)) return;
    const char* data = static_cast<const char*>(image.data);
    const int lane = threadIdx.x % 32;
    const std::int64_t x = lane < Boundaries<T, C>::head(data) ? lane : lane + groups * Group<T, C>::pixels;
    if (x < image.width) show_pixel<T, C>({data + x * static_cast<std::int64_t>(sizeof(T) * C), 0, x}, visit);
}

/// `Visit::few`, or 0: see Loads.
template <class Visit>
constexpr int few_of() {
    if constexpr (requires { Visit::few; })
        return Visit::few;
    else
        return 0;
}

/// Shows `visit` so many groups from where `walk` stands.
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

/// Several groups: all of them by `visit.look_at_all(groups)` where there is such a function.
template <int Count, class G, class Visit>
__device__ inline void show_all(const Place (&place)[Count], const G (&group)[Count], Visit& visit) {
    if constexpr (requires { visit.look_at_all(group); }) {
        visit.look_at_all(group);
    } else {
#pragma unroll
        for (int u = 0; u < Count; ++u) show(place[u], group[u], visit);
    }
}

/// Loads so many groups from where `walk` stands, and goes on, before it shows `visit` any. By whole warps.
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

/// One way for groups to reach the threads that look at them: each loads its own, `Unroll` of them before it looks at
/// any; `Ahead`: one, and the next before it looks at that. The other ways are a Ring and a Tile.
template <int Unroll, bool Ahead = false>
struct Loads {
    /// As sweep_one_by_one, but that the threads of a warp must take neighbouring groups. Fewer than `Visit::few`,
    /// where there is that, are looked at one by one: the unrolled loop's instructions take longer to fetch than it
    /// saves. What the visitor keeps in registers must not be crowded out: so in the loop lives little else.
    template <class Walk, class Visit>
    __device__ void sweep(Walk walk, int count, Visit& visit) const {
        [[maybe_unused]] constexpr int few = few_of<Visit>();
        // As many as every thread of the warp has: so far it stays together. The last lane has the fewest.
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
            const bool unrolled = few == 0 || together >= few;
#pragma unroll 1
            for (; unrolled && together >= Unroll; together -= Unroll) sweep_together<Unroll>(walk, visit);
        }
        sweep_one_by_one(walk, left + together, visit);
    }
};

/// A share of the groups of an image that is in_one_row.
template <typename T, int C>
struct RowWalk {
    using G = Group<T, C>;
    const char* at;
    std::int64_t x;
    int step_bytes, x_step;

    __device__ RowWalk(const Image& image, int head, std::int64_t groups, const Share& share) {
        const int step = static_cast<int>(share.backwards ? -share.step : share.step);
        x = head + (share.backwards ? groups - 1 - share.first : share.first) * G::pixels;
        at = static_cast<const char*>(image.data) + x * static_cast<std::int64_t>(sizeof(T) * C);
        step_bytes = step * G::bytes;
        x_step = step * G::pixels;
    }
    __device__ Place place() const { return {at, 0, x}; }
    /// Of the groups that the lanes of a warp take: whether this one does not lie behind the one before it, and how
    /// many from this one on lie side by side, at most.
    __device__ bool apart() const { return false; }
    __device__ int side_by_side() const { return warp_lanes; }
    __device__ void next() {
        at += step_bytes;
        x += x_step;
    }
};

/// Shows `visit` every pixel of a share once, in a group or alone, of an image that is in_one_row. `by`: Loads or a
/// Ring.
template <typename T, int C, class By, class Visit>
__device__ inline void sweep_one_row(const Image& image, const Share& share, const By& by, Visit& visit) {
    const int head = Boundaries<T, C>::head(static_cast<const char*>(image.data));
    const std::int64_t groups = (image.width - head) / Group<T, C>::pixels;
    Share whole = share;
    whole.last = min(share.last, groups);
    const int count = whole.count();
    by.sweep(RowWalk<T, C>(image, head, groups, share), count, visit);
    sweep_ends<T, C>(image, groups, share.first + count * share.step, share, visit);
}

/// As sweep_one_row, of shares that are dealt to all blocks from the first piece on; the visitor is not told where
/// groups lie. Of a large image the warps of each block take its last eighth as they come: memory does not serve all of
/// them alike, and a block must wait for its last one. `taken`: the shared address of a counter, zero before.
template <typename T, int C, int Unroll, class Visit>
__device__ inline void sweep_in_turns(const Image& image, const Share& share, std::uint32_t taken, Visit& visit) {
    using G = Group<T, C>;
    constexpr int groups_of_turn = Unroll * warp_lanes;
    constexpr unsigned worth_it = 2;  // turns of each warp
    const int head = Boundaries<T, C>::head(static_cast<const char*>(image.data)), lane = threadIdx.x % warp_lanes;
    const std::int64_t groups = (image.width - head) / G::pixels;
    auto turns = static_cast<unsigned>((groups / 8) / groups_of_turn);
    if (turns < worth_it * static_cast<unsigned>(share.step) / 32) turns = 0;
    const std::int64_t dealt = groups - static_cast<std::int64_t>(turns) * groups_of_turn;
    Share before = share;
    if (turns > 0) before.last = dealt;
    sweep_one_row<T, C>(image, before, Loads<Unroll>{}, visit);
    if (turns == 0) return;

    __syncwarp();
    const unsigned blocks = static_cast<unsigned>(share.step) / blockDim.x,
                   rank = static_cast<unsigned>(share.first) / blockDim.x;
#pragma unroll 1
    for (;;) {
        std::uint32_t own = 0;
        if (lane == 0) own = shared_add(taken, 1);
        const unsigned turn = __shfl_sync(0xFFFFFFFFu, own, 0) * blocks + rank;
        if (turn >= turns) break;
        const std::int64_t first = dealt + std::int64_t{turn} * groups_of_turn + lane;
        RowWalk<T, C> walk(image, head, groups, {first, groups, warp_lanes});
        sweep_together<Unroll>(walk, visit);
    }
    sweep_ends<T, C>(image, groups, groups + share.first, share, visit);
}

/// Steps through items of so many bytes, of which every row of an image has `each` side by side.
struct RowsWalk {
    int each, item, item_step;
    std::int64_t y, y_step;
    const char* at;
    std::int64_t step_bytes, wrap_bytes;

    __device__ RowsWalk(const Image& image, int each, int bytes, std::int64_t first, std::int64_t step) : each(each) {
        y = divide(first, each);
        item = static_cast<int>(first - y * each);
        y_step = divide(step, each);
        item_step = static_cast<int>(step - y_step * each);
        at = static_cast<const char*>(image.data) + y * image.row_bytes + std::int64_t{item} * bytes;
        step_bytes = y_step * image.row_bytes + std::int64_t{item_step} * bytes;
        wrap_bytes = image.row_bytes - std::int64_t{each} * bytes;
    }
    __device__ void next() {
        item += item_step;
        y += y_step;
        at += step_bytes;
        if (item >= each) {
            item -= each;
            ++y;
            at += wrap_bytes;
        }
    }
};
/// Groups: `at` is as if rows began with one.
template <typename T, int C>
struct GroupsWalk : RowsWalk {
    using G = Group<T, C>;
    __device__ GroupsWalk(const Image& image, int each, std::int64_t first, std::int64_t step)
        : RowsWalk(image, each, G::bytes, first, step) {}
    __device__ Place place() const {
        const int head = Boundaries<T, C>::head(at);  // as the row's, since groups are whole 16 bytes
        return {at + head * static_cast<int>(sizeof(T) * C), y, head + std::int64_t{item} * G::pixels};
    }
    __device__ bool apart() const { return item == 0; }
    __device__ int side_by_side() const { return each - item; }
};
/// Pixels that no group of theirs holds: `groups` groups lie somewhere between them, or none.
template <typename T, int C>
struct RestWalk : RowsWalk {
    using G = Group<T, C>;
    static constexpr int pixel_bytes = sizeof(T) * C;
    int groups;

    __device__ RestWalk(const Image& image, int groups, int each, std::int64_t first, std::int64_t step)
        : RowsWalk(image, each, pixel_bytes, first, step), groups(groups) {}
    __device__ Place place() const {
        const bool behind = item >= Boundaries<T, C>::head(at - std::int64_t{item} * pixel_bytes);
        const std::int64_t between = behind ? groups : 0;
        return {at + between * G::bytes, y, item + between * G::pixels};
    }
};

/// Pixels one by one, gathered to groups where it does not matter where they lie.
template <typename T, int C, class Visit>
__device__ inline void sweep_rest(RestWalk<T, C> walk, int left, Visit& visit) {
    using G = Group<T, C>;
    if constexpr (requires(G group) { visit.look_at(group); }) {
#pragma unroll 1
        for (; left >= G::pixels; left -= G::pixels) {
            G group{};
#pragma unroll
            for (int p = 0; p < G::pixels; ++p, walk.next()) {
                const T* pixel = reinterpret_cast<const T*>(walk.place().at);
#pragma unroll
                for (int c = 0; c < C; ++c) group.set(p * C + c, pixel[c]);
            }
            visit.look_at(group);
        }
    }
#pragma unroll 1
    for (; left > 0; --left, walk.next()) show_pixel<T, C>(walk.place(), visit);
}

/// Of any image: rows with gaps between, and pixels that never meet a boundary. All rows have as many groups as surely
/// fit; the pixels that no group holds follow. Limit: rows of fewer than 2^30 samples.
template <typename T, int C, class By, class Visit>
__device__ inline void sweep_rows(const Image& image, const Share& share, const By& by, Visit& visit) {
    using G = Group<T, C>;
    using B = Boundaries<T, C>;
    const char* data = static_cast<const char*>(image.data);
    const auto row_bytes = static_cast<std::uintptr_t>(image.row_bytes);
    const int head = row_bytes % 16 == 0 ? B::head(data) : B::most;
    const int groups = B::met(data) && B::met(row_bytes) && image.width > head
                           ? static_cast<int>((image.width - head) / G::pixels)
                           : 0;
    const auto rest = static_cast<int>(image.width - std::int64_t{groups} * G::pixels);
    // A row's first pieces are its groups; the one after them is the rest.
    const std::int64_t in_row = pieces_in_row(image.width, G::pixels);
    auto groups_before = [&](std::int64_t piece) {
        const std::int64_t y = divide(piece, in_row);
        return y * groups + min(piece - y * in_row, std::int64_t{groups});
    };
    auto rest_before = [&](std::int64_t piece) {
        const std::int64_t y = divide(piece, in_row);
        return (piece - y * in_row > groups ? y + 1 : y) * rest;
    };
    if (groups > 0) {
        const Share own = share.of(groups_before);
        by.sweep(GroupsWalk<T, C>(image, groups, own.first, own.step), own.count(), visit);
    }
    if (rest == 0) return;
    const Share own = share.of(rest_before);
    sweep_rest(RestWalk<T, C>(image, groups, rest, own.first, own.step), own.count(), visit);
}

/// Of one channel, the groups that cover a row, wherever it begins: those at its ends hold others' samples too, or
/// none of its own. `at` is as if rows began with one.
template <typename T>
struct CoverWalk : RowsWalk {
    using G = Group<T, 1>;
    __device__ CoverWalk(const Image& image, int each, std::int64_t first, std::int64_t step)
        : RowsWalk(image, each, G::bytes, first, step) {}
    __device__ Place place() const {
        const unsigned before = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at)) % G::bytes;
        return {at - before, y, item * G::pixels - static_cast<int>(before / sizeof(T))};
    }
};
/// Shows `visit` groups of a CoverWalk, with zeros for what is not the row's.
template <typename T, class Visit>
struct Covering {
    using G = Group<T, 1>;
    Visit& visit;
    int width, zeros = 0;

    __device__ void look_at(std::int64_t, std::int64_t x, const G& loaded) {
        G group = loaded;
        const int first = -static_cast<int>(x), end = first + width;
        if (first > 0 || end < G::pixels) {
            group.keep(first, end);
            zeros += G::pixels - max(min(end, G::pixels) - max(first, 0), 0);
        }
        visit.look_at(group);
    }
};

/// Of an image of one channel that is not in_one_row, by a visitor that takes zeros back: the groups that cover its
/// rows, so that no sample is loaded twice. Beyond the first row and the last there may be no memory: their pixels
/// follow one by one, as do all those of narrow images. Limit: as sweep_rows.
template <typename T, class By, class Visit>
__device__ inline void sweep_covered(const Image& image, const Share& share, const By& by, Visit& visit) {
    using G = Group<T, 1>;
    const char* data = static_cast<const char*>(image.data);
    const auto width = static_cast<int>(image.width);
    const std::int64_t in_row = pieces_in_row(width, G::pixels), last_row = image.height - 1;
    const bool covers = last_row > 1 && width >= 2 * G::pixels;
    const int before = image.row_bytes % G::bytes == 0
                           ? static_cast<int>(reinterpret_cast<std::uintptr_t>(data) % G::bytes / sizeof(T))
                           : G::pixels - 1;  // samples in a row's first group, at most
    const int each = (before + width + G::pixels - 1) / G::pixels;
    auto groups_before = [&](std::int64_t piece) {
        const std::int64_t y = divide(piece, in_row);
        if (y == 0) return std::int64_t{0};
        return (min(y, last_row) - 1) * each + (y < last_row ? min(piece - y * in_row, std::int64_t{each}) : 0);
    };
    auto pixels_before = [&](std::int64_t piece) {
        const std::int64_t y = divide(piece, in_row);
        return (covers ? (y > 0) + (y > last_row) : y) * width;
    };
    if (covers) {
        const Image inner{data + image.row_bytes, width, last_row - 1, image.row_bytes};
        const Share own = share.of(groups_before);
        Covering<T, Visit> covering{visit, width};
        by.sweep(CoverWalk<T>(inner, each, own.first, own.step), own.count(), covering);
        visit.take_back(covering.zeros);
    }
    const Image rest{data, width, covers ? 2 : image.height, image.row_bytes * (covers ? last_row : 1)};
    const Share own = share.of(pixels_before);
    sweep_rest(RestWalk<T, 1>(rest, 0, width, own.first, own.step), own.count(), visit);
}

}  // namespace gpuhist::cuda
