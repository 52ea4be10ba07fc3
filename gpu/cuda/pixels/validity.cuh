// Validity: which pixels of an image count. This place alone decides, and hands it to accumulators with the pixels.
#pragma once

#include "cuda/pixels/group.cuh"

namespace gpuhist::cuda {

/// Validity of an image without a mask: compiles to nothing. Others answer `[p]` for pixel p, and have `every` false.
struct EveryPixel {
    static constexpr bool every = true;
    __device__ constexpr bool operator[](int) const { return true; }
};

/// Samples that count in a channel of an image: all, as every pixel does. With masks: the sum of its counts.
__device__ constexpr std::int64_t counted_samples(std::int64_t pixels) {
    return pixels;
}

/// Place of a group or a pixel: its address, row, and first pixel in the row.
struct Place {
    const char* at;
    std::int64_t y, x;
};

__device__ inline EveryPixel valid_at(const Place&) {
    return {};
}

/// Calls `visit.look_at(arguments…, valid)`; an accumulator that takes no validity is shown images where all count.
template <class Visit, class Valid, class... Arguments>
__device__ inline void look(Visit& visit, Valid valid, const Arguments&... arguments) {
    if constexpr (requires { visit.look_at(arguments..., valid); }) {
        visit.look_at(arguments..., valid);
    } else {
        static_assert(Valid::every);
        visit.look_at(arguments...);
    }
}

/// Whether a visitor is not told where pixels (a group, or a pixel's samples) lie: it has `look_at(pixels, valid)`.
/// Others have `look_at(y, x, pixels, valid)`, x being the first pixel's place in row y.
template <class Visit, class Pixels>
constexpr bool needs_no_place = requires(Visit& visit, const Pixels& pixels) {
    visit.look_at(pixels);
};

template <class Visit, class Pixels>
__device__ inline void show(const Place& place, const Pixels& pixels, Visit& visit) {
    if constexpr (needs_no_place<Visit, Pixels>)
        look(visit, valid_at(place), pixels);
    else
        look(visit, valid_at(place), place.y, place.x, pixels);
}
/// Shows pixels from several places, or from one that nobody kept: of images of which every pixel counts.
template <class Visit, class Pixels>
__device__ inline void show(const Pixels& pixels, Visit& visit) {
    look(visit, EveryPixel{}, pixels);
}
template <typename T, int C, class Visit>
__device__ inline void show_pixel(const Place& place, Visit& visit) {
    T pixel[C];
#pragma unroll
    for (int c = 0; c < C; ++c) pixel[c] = reinterpret_cast<const T*>(place.at)[c];
    show(place, pixel, visit);
}
/// Shows several groups: by `visit.look_at_all(groups)` where there is such a function and every pixel counts.
template <int Count, class G, class Visit>
__device__ inline void show_all(const Place (&place)[Count], const G (&group)[Count], Visit& visit) {
    if constexpr (requires { visit.look_at_all(group); } && decltype(valid_at(place[0]))::every) {
        visit.look_at_all(group);
    } else {
#pragma unroll
        for (int u = 0; u < Count; ++u) show(place[u], group[u], visit);
    }
}

}  // namespace gpuhist::cuda
