// Weights on the GPU: each sample is counted as often as the alpha of its pixel says. Plain C++.
#pragma once

#include <cstdint>

#include "cuda/rules/classes.hpp"

namespace gpuhist::cuda {

/// Analysis of one image whose samples are weighted.
struct WeightParameters {
    Common common;  ///< results: where it goes
    Image image;
    Mask mask;
    ClassRules rules;
    std::uint64_t luma_bits;     ///< one bit per position in the pixel: luma is valid where none of these is nodata
    std::uint32_t opaque;        ///< what each sample weighs; 0: the alpha of its pixel
    std::int32_t channel_count;  ///< of the result: 1, or 4; 5 where a fourth sample is not the weight
    Word* counts;  ///< in device memory, for sums of weights: channels in memory order, with luma as luma_channel;
                   ///< zero before
    rules::ClassCounts* sums;  ///< zero before
    std::uint32_t* arrived;    ///< zero before and after
};

/// Enqueues that samples are weighed, of integers of 8 or 16 bits, and the writing of the result. Throws CudaError;
/// does not synchronize.
void launch_weights(const WeightParameters& parameters, const Launch& launch);

}  // namespace gpuhist::cuda
