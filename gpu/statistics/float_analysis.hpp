// Analysis of f32 channels, shared by the engines: two sweeps, in which everything is counted or summed in
// integers, so that no order of summation and no launch configuration shows in the result.
//
// - Sweep 1: extremes, NaN, ±Inf, and counts by high digit of the values' keys (core/float_keys.hpp).
// - Plan, from those: the bins' range, the ranks wanted and the high digits that hold them, a pivot near the median.
// - Sweep 2: bins, moments about the pivot, and counts by low digit under the high digits chosen.
//   The GPU has no room for low digits: it finds keys 11, 11 and 10 bits at a time, extremes beside the first of these,
//   bins beside the second, and moments beside the third, in a sweep of their own.
// - Finish: order statistics; where the pivot was poor (far from the mean in units of the std), the moments once more
//   about the mean.
//
// Brief analyses have no ranks, so they count no digits. Their pivot is 0: the squares of floats are exact, so that no
// digits are lost by cancellation, however far the mean is from it.
#pragma once

#include "core/float_keys.hpp"
#include "statistics/moments.hpp"
#include "statistics/percentiles.hpp"

namespace gpuhist::core {

inline constexpr int float_channels =
    6;  ///< red, green, blue, luma, alpha (gray: the first alone) and the colors together
inline constexpr int pooled_channel = 5;

}  // namespace gpuhist::core
