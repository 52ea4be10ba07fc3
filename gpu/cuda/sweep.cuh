// One pass over an image's pixels by any number of workers, with the widest loads that its alignment allows.
#pragma once

#include <cstdint>

#include "cuda/parameters.hpp"
#include "cuda/shared.cuh"

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

/// Pixels before the first group of a row that starts on a 16-byte boundary; negative where no pixel does.
template <typename T, int C>
__device__ inline int head_pixels(const char* row) {
    constexpr unsigned pixel = sizeof(T) * C, power = pixel & (0 - pixel), steps = power >= 16 ? 1 : 16 / power;
    const auto address = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row));
    if (address % (power >= 16 ? 16 : power) != 0) return -1;
    // address + k · pixel ≡ 0 (mod 16): the odd part of a pixel's bytes is 1 or 3, and 3 · 5 ≡ −1 (mod 16).
    return static_cast<int>(address / power * (pixel / power == 3 ? 5u : 0u - 1u) % steps);
}

/// The pieces first, first + step, … before `last` of an image: what one thread looks at. `backwards`: of an image that
/// is in_one_row counted from its end, so that what the sweep before has left in L2 is read first.
struct Share {
    std::int64_t first, last, step;
    bool backwards = false;
};

/// Whether all groups of an image lie in one row, one behind the other.
template <typename T, int C>
__device__ inline bool in_one_row(const Image& image) {
    const int head = head_pixels<T, C>(static_cast<const char*>(image.data));
    return image.height == 1 && head >= 0 && head + Group<T, C>::pixels <= image.width;
}

template <typename T, int C, class Visit>
__device__ inline void visit_pixels(std::int64_t y, const char* row, std::int64_t first, std::int64_t last,
                                    Visit& visit) {
#pragma unroll 1
    for (std::int64_t x = first; x < last; ++x) {
        T pixel[C];
#pragma unroll
        for (int c = 0; c < C; ++c) pixel[c] = reinterpret_cast<const T*>(row)[x * C + c];
        visit.pixel(y, x, pixel);
    }
}

/// Of an image that is in_one_row, the pieces behind its groups: what lies before the first and after the last one.
/// `piece`: this thread's first that may be one.
template <typename T, int C, class Visit>
__device__ inline void sweep_ends(const Image& image, std::int64_t groups, std::int64_t piece, const Share& share,
                                  Visit& visit) {
    const char* data = static_cast<const char*>(image.data);
    const int head = head_pixels<T, C>(data);
#pragma unroll 1
    for (; piece < share.last && piece <= groups + 1; piece += share.step) {
        const bool tail = piece != groups;
        visit_pixels<T, C>(0, data, tail ? head + groups * Group<T, C>::pixels : 0, tail ? image.width : head, visit);
    }
}

/// `Visit::few`, or 0: see sweep_one_row.
template <class Visit>
constexpr int few_of() {
    if constexpr (requires { Visit::few; })
        return Visit::few;
    else
        return 0;
}

/// Calls `visit.group(y, x, group)` or `visit.pixel(y, x, samples)` for every pixel of a share once, x being the
/// (first) pixel's place in row y. The threads of a warp must take neighbouring pieces. `Unroll` groups are loaded
/// before any is looked at (all of them by `visit.groups(groups)`, where there is such a function; it is not told where
/// they lie); `Ahead`: one is, and the next before it is looked at. Fewer groups than `Visit::few`, where there is
/// that, are looked at one by one: the unrolled loop's instructions take longer to fetch than it saves. Of an image
/// that is in_one_row. In the loop live a pointer and few 32-bit numbers: what the visitor keeps in registers must not
/// be crowded out.
template <typename T, int C, int Unroll, bool Ahead, class Visit>
__device__ inline void sweep_one_row(const Image& image, const Share& share, Visit& visit) {
    using G = Group<T, C>;
    const char* data = static_cast<const char*>(image.data);
    const int head = head_pixels<T, C>(data);
    const std::int64_t groups = (image.width - head) / G::pixels, last = min(share.last, groups);
    // Pieces for this thread, and for every thread of its warp: in those the warp can stay together.
    auto pieces_from = [&](std::int64_t first) {
        return first < last ? static_cast<int>(divide(last - first + share.step - 1, share.step)) : 0;
    };
    const int count = pieces_from(share.first);
    int together = pieces_from(share.first + (31 - threadIdx.x % 32)), left = count - together;
    const int step = static_cast<int>(share.backwards ? -share.step : share.step);
    std::int64_t x = head + (share.backwards ? groups - 1 - share.first : share.first) * G::pixels;
    const char* at = data + x * static_cast<std::int64_t>(sizeof(T) * C);
    const int x_step = step * G::pixels, step_bytes = step * G::bytes;
    if constexpr (Ahead) {
        G next;
        if (together > 0) next.load(at);
#pragma unroll 1
        for (; together > 0; --together, x += x_step) {
            const G group = next;
            at += step_bytes;
            if (together > 1) next.load(at);
            __syncwarp();  // keeps the loads above
            visit.group(0, x, group);
        }
    } else {
        constexpr int few = few_of<Visit>();
        const bool unrolled = few == 0 || together >= few;
#pragma unroll 1
        for (; unrolled && together >= Unroll; together -= Unroll) {
            G group[Unroll];
#pragma unroll
            for (int u = 0; u < Unroll; ++u) group[u].load(at + static_cast<std::int64_t>(u) * step_bytes);
            __syncwarp();  // keeps the loads above
            at += static_cast<std::int64_t>(Unroll) * step_bytes;
            if constexpr (requires { visit.groups(group); }) {
                visit.groups(group);
            } else {
#pragma unroll
                for (int u = 0; u < Unroll; ++u, x += x_step) visit.group(0, x, group[u]);
            }
        }
    }
#pragma unroll 1
    for (left += together; left > 0; --left, at += step_bytes, x += x_step) {
        G group;
        group.load(at);
        visit.group(0, x, group);
    }
    sweep_ends<T, C>(image, groups, share.first + count * share.step, share, visit);
}

/// As sweep_one_row, of shares that are dealt to all blocks from the first piece on; the visitor is not told where
/// groups lie. Of a large image the warps of each block take its last eighth as they come: memory does not serve all of
/// them alike, and a block must wait for its last one. `taken`: the shared address of a counter, zero before.
template <typename T, int C, int Unroll, class Visit>
__device__ inline void sweep_in_turns(const Image& image, const Share& share, std::uint32_t taken, Visit& visit) {
    using G = Group<T, C>;
    constexpr int groups_of_turn = Unroll * 32;
    constexpr unsigned worth_it = 2;  // turns of each warp
    const char* data = static_cast<const char*>(image.data);
    const int head = head_pixels<T, C>(data), lane = threadIdx.x % 32;
    const std::int64_t groups = (image.width - head) / G::pixels;
    auto turns = static_cast<unsigned>((groups / 8) / groups_of_turn);
    if (turns < worth_it * static_cast<unsigned>(share.step) / 32) turns = 0;
    const std::int64_t dealt = groups - static_cast<std::int64_t>(turns) * groups_of_turn;
    Share before = share;
    if (turns > 0) before.last = dealt;
    sweep_one_row<T, C, Unroll, false>(image, before, visit);
    if (turns == 0) return;

    __syncwarp();
    const unsigned blocks = static_cast<unsigned>(share.step) / blockDim.x,
                   rank = static_cast<unsigned>(share.first) / blockDim.x;
    const char* rest = data + head * static_cast<std::int64_t>(sizeof(T) * C) + (dealt + lane) * G::bytes;
#pragma unroll 1
    for (;;) {
        std::uint32_t own = 0;
        if (lane == 0) own = shared_add(taken, 1);
        const unsigned turn = __shfl_sync(0xFFFFFFFFu, own, 0) * blocks + rank;
        if (turn >= turns) break;
        const char* at = rest + static_cast<std::int64_t>(turn) * (groups_of_turn * G::bytes);
        G group[Unroll];
#pragma unroll
        for (int u = 0; u < Unroll; ++u) group[u].load(at + u * 32 * G::bytes);
        __syncwarp();  // keeps the loads above
#pragma unroll
        for (int u = 0; u < Unroll; ++u) visit.group(0, 0, group[u]);
    }
    sweep_ends<T, C>(image, groups, groups + share.first, share, visit);
}

/// Of any image: rows with gaps between, and pixels that never meet a 16-byte boundary.
template <typename T, int C, class Visit>
__device__ inline void sweep_rows(const Image& image, const Share& share, Visit& visit) {
    using G = Group<T, C>;
    const int in_row = static_cast<int>(pieces_in_row(image.width, G::pixels));
    const std::int64_t row_step = divide(share.step, in_row), row_step_bytes = row_step * image.row_bytes;
    const int piece_step = static_cast<int>(share.step - row_step * in_row);
    std::int64_t y = divide(share.first, in_row);
    int piece = static_cast<int>(share.first - y * in_row);
    int left =
        share.first < share.last ? static_cast<int>(divide(share.last - share.first + share.step - 1, share.step)) : 0;
    const char* row = static_cast<const char*>(image.data) + y * image.row_bytes;
    G waiting;
    std::int64_t waiting_x = -1, waiting_y = 0;
#pragma unroll 1
    for (; left > 0; --left) {
        const int head = head_pixels<T, C>(row);
        const int groups = head < 0 || image.width < head ? 0 : static_cast<int>((image.width - head) / G::pixels);
        if (piece < groups) {  // loaded before the one before it is looked at
            const std::int64_t x = head + static_cast<std::int64_t>(piece) * G::pixels;
            G group;
            group.load(row + x * static_cast<std::int64_t>(sizeof(T) * C));
            if (waiting_x >= 0) visit.group(waiting_y, waiting_x, waiting);
            waiting = group;
            waiting_x = x;
            waiting_y = y;
        } else {
            std::int64_t first = 0, last = 0;
            if (head < 0) {
                first = static_cast<std::int64_t>(piece) * G::pixels;
                last = min(first + G::pixels, image.width);
            } else if (piece == groups) {
                last = min(std::int64_t{head}, image.width);
            } else if (piece == groups + 1) {
                first = head + static_cast<std::int64_t>(groups) * G::pixels;
                last = image.width;
            }
            visit_pixels<T, C>(y, row, first, last, visit);
        }
        row += row_step_bytes;
        y += row_step;
        piece += piece_step;
        if (piece >= in_row) {
            piece -= in_row;
            row += image.row_bytes;
            ++y;
        }
    }
    if (waiting_x >= 0) visit.group(waiting_y, waiting_x, waiting);
}

}  // namespace gpuhist::cuda
