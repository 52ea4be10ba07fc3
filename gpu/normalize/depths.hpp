// Depths: a sample brought from one to another.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace gpuhist::core {

/// Top of a sample's type: what stands for 1.
template <class Sample>
constexpr std::uint32_t top_of() {
    return std::is_floating_point_v<Sample> ? 1 : static_cast<std::uint32_t>(std::numeric_limits<Sample>::max());
}

/// Sample v as v · top / (top of its own type); its own type: as it is. To integers with halves rounded up, of floats
/// clamped to [0, 1], NaN as 0: each product of a float and a top is exact in double.
template <class Out, class Sample>
Out to_depth(Sample v) {
    constexpr std::uint64_t top = top_of<Out>(), own = top_of<Sample>();
    if constexpr (std::is_same_v<Out, Sample>)
        return v;
    else if constexpr (std::is_floating_point_v<Out>)
        return static_cast<Out>(v) / static_cast<Out>(own);
    else if constexpr (std::is_floating_point_v<Sample>)
        return static_cast<Out>(v > 0 ? std::floor(std::min<double>(v, 1) * static_cast<double>(top) + 0.5) : 0);
    else
        return static_cast<Out>((2 * top * v + own) / (2 * own));
}

}  // namespace gpuhist::core
