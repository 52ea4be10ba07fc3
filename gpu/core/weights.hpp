// Weights by alpha, which are whole numbers of a depth's units.
#pragma once

#include <cstdint>

#include "core/half.hpp"
#include "core/portable.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::core {

/// Unit in which the weights of a depth's samples are summed.
constexpr double weight_unit(Depth depth) {
    const double unit = traits_of(depth).alpha_unit;
    return unit > 0 ? unit : 1;
}

/// Weight of the highest alpha.
constexpr std::uint64_t most_weight(Depth depth) {
    return static_cast<std::uint64_t>(traits_of(depth).highest / weight_unit(depth));
}

/// Exact weight of an alpha. In floats, NaN and alpha that is not above 0 weigh nothing, and alpha above 1 weighs as
/// much as 1.
template <class Sample>
std::uint64_t weight_of(Sample alpha) {
    if constexpr (is_narrow<Sample>) {
        const float value = to_float(alpha);
        constexpr auto most = static_cast<float>(most_weight(Depth::f16));
        return value > 0 ? static_cast<std::uint64_t>((value < 1 ? value : 1) * most) : 0;
    } else {
        return alpha;
    }
}

}  // namespace gpuhist::core
