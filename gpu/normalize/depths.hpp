// Depths: a sample brought from one to another.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "core/codes.hpp"
#include "core/integers.hpp"
#include "core/levels.hpp"
#include "core/portable.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::core {

/// Levels of copies of a depth, in which `fill` stands for nodata. Floats have none.
inline Levels levels_of(Depth copy, const std::optional<double>& fill) {
    const DepthTraits& traits = traits_of(copy);
    if (traits.floating) return {};
    const auto top = static_cast<std::uint32_t>(traits.highest - traits.lowest);
    if (!fill) return {0, top, 0};
    return *fill == traits.lowest ? Levels{1, top, 0} : Levels{0, top - 1, top};
}

/// All levels of a type of samples.
template <class Sample>
GPUHIST_HD constexpr Levels levels_of_type() {
    if constexpr (is_real<Sample>)
        return {};
    else
        return all_levels<Code<Sample>>();
}

/// Sample of an integer type's level.
template <class Out>
GPUHIST_HD Out at_level(std::uint32_t level) {
    return sample_at<Out>(static_cast<Code<Out>>(level));
}

/// Fraction of the range of a type: of integers from the first level to the last, halves rounded up, clamped to
/// [0, 1], NaN as the level that it has; of floats as it is. The product of a float and a width of 16 bits is exact in
/// double.
template <class Out>
GPUHIST_HD Out from_fraction(double v, Levels levels = levels_of_type<Out>()) {
    if constexpr (is_real<Out>) {
        return rounded_to<Out>(v);
    } else {
        if (v != v) return at_level<Out>(levels.nothing);
        const double distance = v > 0 ? floor(fmin(v, 1.0) * static_cast<double>(levels.width()) + 0.5) : 0;
        return at_level<Out>(levels.first + static_cast<std::uint32_t>(distance));
    }
}

/// Integer part / whole as a fraction of a type's range, halves rounded up; part ≤ whole < 2^62.
template <class Out>
GPUHIST_HD Out from_ratio(std::uint64_t part, std::uint64_t whole, Levels levels = levels_of_type<Out>()) {
    if constexpr (is_real<Out>) {
        return rounded_to<Out>(static_cast<double>(part) / static_cast<double>(whole));
    } else {
        const auto twice = 2 * static_cast<u128>(part) * levels.width() + whole;
        return at_level<Out>(
            levels.first + static_cast<std::uint32_t>(twice >> 64 == 0 ? static_cast<std::uint64_t>(twice) / (2 * whole)
                                                                       : twice / (2 * static_cast<u128>(whole))));
    }
}

/// Sample as the same fraction of another type's range, halves rounded up; its own type: as it is, or the nearest of
/// the levels.
template <class Out, class Sample>
GPUHIST_HD Out to_depth(Sample v, Levels levels = levels_of_type<Out>()) {
    if constexpr (is_real<Sample>) {
        if constexpr (std::is_same_v<Out, Sample>)
            return v;
        else
            return from_fraction<Out>(value_of(v), levels);
    } else {
        if constexpr (std::is_same_v<Out, Sample>)
            return at_level<Out>(levels.clamp(code_of(v)));
        else
            return from_ratio<Out>(code_of(v), levels_of_type<Sample>().last, levels);
    }
}

/// Sample of a copy that is not normalized: the same value in a copy of real numbers, else the same fraction.
template <class Out, class Sample>
GPUHIST_HD Out kept(Sample v, bool real, Levels levels) {
    if constexpr (is_real<Out>)
        if (real) return rounded_to<Out>(value_of(v));
    return to_depth<Out>(v, levels);
}

}  // namespace gpuhist::core
