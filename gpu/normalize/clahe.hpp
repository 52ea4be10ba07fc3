// clahe: parameters that follow from a normalization and a depth. Host only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist::core {

/// Number of bins over which clipped counts are spread: all values of the depth, or those up to `white`.
inline std::int64_t clahe_bins(const Normalization& normalization, Depth depth) {
    const DepthTraits& traits = traits_of(depth);
    if (!normalization.clip_white) return traits.values;
    const double white = std::clamp(normalization.white.value_or(traits.highest), traits.lowest, traits.highest);
    return static_cast<std::int64_t>(white - traits.lowest) + 1;
}

}  // namespace gpuhist::core
