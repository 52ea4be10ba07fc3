// Validity: which pixels of an image are valid. A Masked visitor alone decides, and hands it to accumulators with the
// pixels.
#pragma once

#include "cuda/pixels/group.cuh"

namespace gpuhist::cuda {

/// Validity of an image without a mask: compiles to nothing. Others answer `[p]` for pixel p, and have `every` false.
struct EveryPixel {
    static constexpr bool every = true;
    __device__ constexpr bool operator[](int) const { return true; }
};

/// Stand-in for a Mask where an image has none.
struct NoMask {};

/// Place of a group or a pixel: its address, row, and first pixel in the row.
struct Place {
    const char* at;
    std::int64_t y, x;
};

/// Whether a visitor, an accumulator or a writer of copies, needs no place of its pixels (a group, or a pixel's
/// samples): it has `accumulate(pixels)`. Others have `accumulate(y, x, pixels)`, x being the first pixel's place in
/// row y.
template <class Visit, class Pixels>
constexpr bool needs_no_place = requires(Visit& visit, const Pixels& pixels) {
    visit.accumulate(pixels);
};

template <class Visit, class Pixels>
__device__ inline void show(const Place& place, const Pixels& pixels, Visit& visit) {
    if constexpr (needs_no_place<Visit, Pixels>)
        visit.accumulate(pixels);
    else
        visit.accumulate(place.y, place.x, pixels);
}
template <typename T, int C, class Visit>
__device__ inline void show_pixel(const Place& place, Visit& visit) {
    T pixel[C];
#pragma unroll
    for (int c = 0; c < C; ++c) pixel[c] = reinterpret_cast<const T*>(place.at)[c];
    show(place, pixel, visit);
}
/// Shows several groups: by `visit.accumulate_all(groups)`, with their places before these, where there is such a
/// function.
template <int Count, class G, class Visit>
__device__ inline void show_all(const Place (&place)[Count], const G (&group)[Count], Visit& visit) {
    if constexpr (requires { visit.accumulate_all(group); }) {
        visit.accumulate_all(group);
    } else if constexpr (requires { visit.accumulate_all(place, group); }) {
        visit.accumulate_all(place, group);
    } else {
#pragma unroll
        for (int u = 0; u < Count; ++u) show(place[u], group[u], visit);
    }
}

/// Validity of N neighboring pixels of one row: one byte each, ones where it is valid. `Aligned`: the mask's bytes
/// begin at an address divisible by N.
template <int N, bool Aligned = false>
struct ValidBytes {
    static constexpr bool every = false;
    static constexpr int words = (N + 3) / 4;
    std::uint32_t bytes[words];

    ValidBytes() = default;
    __device__ explicit ValidBytes(const std::uint8_t* mask) { load(mask); }
    /// Loads a mask's bytes ahead of the groups' first use: volatile, as Group::load.
    __device__ void load(const std::uint8_t* mask) {
        static_assert(N == 1 || N % 4 == 0);
        static_assert(words == 1 || words == 2 || words == 4);
        if (N > 1 && (Aligned || reinterpret_cast<std::uintptr_t>(mask) % N == 0)) {
            if constexpr (words == 4)
                asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(bytes[0]), "=r"(bytes[1]), "=r"(bytes[2]), "=r"(bytes[3])
                             : "l"(mask));
            else if constexpr (words == 2)
                asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(bytes[0]), "=r"(bytes[1]) : "l"(mask));
            else
                asm volatile("ld.global.u32 %0, [%1];" : "=r"(bytes[0]) : "l"(mask));
        } else {
#pragma unroll
            for (int i = 0; i < words; ++i) {
                bytes[i] = 0;
#pragma unroll
                for (int k = 0; k < 4 && 4 * i + k < N; ++k) bytes[i] |= std::uint32_t{mask[4 * i + k]} << 8 * k;
            }
        }
#pragma unroll
        for (std::uint32_t& four : bytes) four = __vcmpne4(four, 0);
    }
    __device__ bool operator[](int p) const {
        return (bytes[p / 4] & 0xFFu << p % 4 * 8) != 0;
    }
    __device__ bool any() const {
        std::uint32_t some = 0;
#pragma unroll
        for (const std::uint32_t four : bytes) some |= four;
        return some != 0;
    }
    __device__ int excluded() const {
        int in = 0;
#pragma unroll
        for (const std::uint32_t four : bytes) in += __popc(four);
        return N - in / 8;
    }
};

/// Whether the bytes of a mask beside each group of an image that is in_one_row begin at an address divisible by their
/// number.
template <typename T, int C>
__device__ inline bool mask_is_aligned(const Image& image, const Mask& mask) {
    const int head = Boundaries<T, C>::head(static_cast<const char*>(image.data));
    return reinterpret_cast<std::uintptr_t>(mask.data + head) % Group<T, C>::pixels == 0;
}

/// Visitor of an image with a mask: shows `visit` its pixels and which of them are valid. `Aligned`: see
/// mask_is_aligned.
template <typename T, int C, class Visit, bool Aligned = false>
struct Masked {
    Visit& visit;
    const Mask mask;
    int excluded = 0;  ///< pixels of groups

    using Valid = ValidBytes<Group<T, C>::pixels, Aligned>;
    __device__ const std::uint8_t* at(std::int64_t y, std::int64_t x) const {
        return mask.data + y * mask.row_bytes + x;
    }
    __device__ void accumulate(std::int64_t y, std::int64_t x, const Group<T, C>& group) {
        const Valid valid(at(y, x));
        excluded += valid.excluded();
        visit.accumulate(group, valid);
    }
    __device__ void accumulate(std::int64_t y, std::int64_t x, const T (&pixel)[C]) {
        visit.accumulate(pixel, ValidBytes<1>(at(y, x)));
    }
    template <int Count>
    __device__ void accumulate_all(const Place (&place)[Count], const Group<T, C> (&group)[Count]) {
        Valid valid[Count];
#pragma unroll
        for (int u = 0; u < Count; ++u) valid[u].load(at(place[u].y, place[u].x));
#pragma unroll
        for (int u = 0; u < Count; ++u) excluded += valid[u].excluded();
        if constexpr (requires { visit.accumulate_all(group, valid); }) {
            visit.accumulate_all(group, valid);
        } else {
#pragma unroll
            for (int u = 0; u < Count; ++u) visit.accumulate(group[u], valid[u]);
        }
    }
};

}  // namespace gpuhist::cuda
