// Normalized copies of images with excluded samples, by launches behind the analysis. Plain C++.
#pragma once

#include "cuda/rules/classes.hpp"

namespace gpuhist::cuda {

/// Rules for the excluded samples of a copy, and the values written for them.
struct Settling {
    ClassRules rules;  ///< which samples are valid, beside the mask
    Mask mask;
    bool has_alpha;                ///< the fourth sample of a pixel is no band
    bool settles;                  ///< not all excluded samples are mapped
    bool converted;                ///< the copy has another depth than the image
    bool valid_only, filled;       ///< Normalization::valid_only; `nodata` is given
    std::uint64_t nodata, others;  ///< bits of excluded samples, nodata and others, that neither stay nor are mapped
};

/// Copy of one image of u8, u16 or f32 in one of these depths, by the findings of its valid samples.
struct ValidCopy : Settling {
    Common common;  ///< of its result, with the normalization
    Image image;
    Output output;
    bool alpha_table;  ///< a table of alpha follows the tables of the colors
};

/// Enqueues the building of the LUTs of u8 or u16 from the counts of a result, which is then `ready`; of no samples
/// they leave every value as it is. `each`: what a sample adds to the counts, unless its alpha is the weight.
/// `arrived`: zero before and after. Throws CudaError; does not synchronize.
void launch_valid_luts(const Common& common, int channels, std::uint32_t each, std::uint32_t* arrived,
                       const Launch& launch);

/// Enqueues the copy of an image of u8 or u16 by the LUTs of its result, likewise.
void launch_valid_copy(const ValidCopy& copy, int channels, const Launch& launch);

/// Enqueues the copy of an image of f32, behind the launches that have written its result and have left the values at
/// the ranks of a stretch in the workspace. `counted` and its mask: the image as these launches saw it. Likewise.
template <int C>
void launch_valid_f32(const ValidCopy& copy, const Image& counted, const Mask& mask, void* workspace,
                      const Launch& launch);

}  // namespace gpuhist::cuda
