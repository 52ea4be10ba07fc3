// Classes of a pixel's samples, by the rules of a request, and how many a block has seen of each.
#pragma once

#include <cstdint>

#include "core/codes.hpp"
#include "cuda/block/reduce.cuh"
#include "cuda/block/shared_memory.cuh"
#include "cuda/rules/classes.hpp"

namespace gpuhist::cuda {

/// Classes of a pixel's samples.
struct PixelClasses {
    bool unmasked;         ///< the pixel is not masked
    std::uint64_t nodata;  ///< one bit per sample, of a pixel that is not

    /// `kept`: by the image's own mask; else nothing is read.
    template <class Sample>
    __device__ PixelClasses(const ClassRules& rules, bool kept, const Sample* pixel) : unmasked(kept), nodata(0) {
        if (rules.alpha_mask.any) unmasked = unmasked && rules.alpha_mask.keeps(core::value_of(pixel[3]));
        if (!rules.any || !unmasked) return;
        for (int c = 0; c < rules.channels; ++c)
            nodata |= std::uint64_t{rules.is_nodata(c, core::value_of(pixel[c]))} << c;
        if (rules.nodata_any && nodata != 0) nodata = rules::first_bits(rules.channels);
    }
    /// Verdict on the sample at a position: whether it is valid.
    __device__ bool valid_at(int position) const { return unmasked && (nodata >> position & 1) == 0; }
};

/// Samples of a pixel that are nodata by their value, masked or not: one bit each.
template <class Sample>
__device__ inline std::uint64_t named_nodata(const ClassRules& rules, const Sample* pixel) {
    std::uint64_t named = 0;
    if (!rules.any) return named;
    for (int c = 0; c < rules.channels; ++c) named |= std::uint64_t{rules.names(c, core::value_of(pixel[c]))} << c;
    return rules.nodata_any && named != 0 ? rules::first_bits(rules.channels) : named;
}

/// Adds up the lanes for which something holds, by all of a warp.
__device__ inline void count_lanes(std::uint32_t* sum, bool holds) {
    const unsigned lanes = __ballot_sync(0xFFFFFFFFu, holds);
    if (lanes != 0 && threadIdx.x % warp_lanes == 0) atomicAdd(sum, static_cast<std::uint32_t>(__popc(lanes)));
}

/// Numbers of samples by class that a block has seen, in shared memory: of fewer than 2^32 pixels.
struct BlockClassSums {
    std::uint32_t unmasked, color_nodata, nodata[most_channels];

    /// By all threads, at least `most_channels`; a barrier follows.
    __device__ void clear() {
        if (threadIdx.x == 0) unmasked = color_nodata = 0;
        if (threadIdx.x < most_channels) nodata[threadIdx.x] = 0;
    }
    /// By a whole warp. `colors`: one bit per position in the pixel that has a color; a pixel is nodata for luma if one
    /// of these is.
    __device__ void add(const PixelClasses& of, int channels, std::uint64_t colors) {
        count_lanes(&unmasked, of.unmasked);
        if (!__any_sync(0xFFFFFFFFu, of.nodata != 0)) return;
        count_lanes(&color_nodata, (of.nodata & colors) != 0);
        for (int c = 0; c < channels; ++c) count_lanes(nodata + c, (of.nodata >> c & 1) != 0);
    }
    /// By all threads, behind a barrier.
    __device__ void add_to(rules::ClassCounts* sums) const {
        if (threadIdx.x == 0 && unmasked != 0) global_add(&sums->unmasked, Word{unmasked});
        if (threadIdx.x == 0 && color_nodata != 0) global_add(&sums->color_nodata, Word{color_nodata});
        if (threadIdx.x < most_channels && nodata[threadIdx.x] != 0)
            global_add(sums->nodata + threadIdx.x, Word{nodata[threadIdx.x]});
    }
};

}  // namespace gpuhist::cuda
