// Classes of a pixel's samples, by the rules of a request.
#pragma once

#include "core/codes.hpp"
#include "cuda/validity/classes.hpp"

namespace gpuhist::cuda {

/// Classes of a pixel's samples.
struct PixelClasses {
    bool counts;           ///< the pixel is not masked
    std::uint64_t nodata;  ///< a bit a sample, of a pixel that is not

    /// `unmasked`: by the image's own mask; else nothing is read.
    template <class Sample>
    __device__ PixelClasses(const ClassRules& rules, bool unmasked, const Sample* pixel) : counts(unmasked), nodata(0) {
        if (rules.alpha_masks) counts = counts && core::value_of(pixel[3]) != 0;
        if (!rules.any || !counts) return;
        for (int c = 0; c < rules.channels; ++c)
            nodata |= std::uint64_t{rules.is_nodata(c, core::value_of(pixel[c]))} << c;
        if (rules.nodata_any && nodata != 0) nodata = first_bits(rules.channels);
    }
    /// Verdict on the sample at a position: whether it counts.
    __device__ bool counts_at(int position) const { return counts && (nodata >> position & 1) == 0; }
};

}  // namespace gpuhist::cuda
