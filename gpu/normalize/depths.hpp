// Depths: a sample brought from one to another.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/codes.hpp"
#include "core/integers.hpp"

namespace gpuhist::core {

/// Code of an integer type's highest value: what stands for 1, where 0 is the lowest value.
template <class Sample>
inline constexpr std::uint64_t top_code = std::numeric_limits<Code<Sample>>::max();

/// Fraction of the range of a type: of integers from the lowest value to the highest, halves rounded up, clamped to
/// [0, 1], NaN as 0; of floats as it is. The product of a float and a top of 16 bits is exact in double.
template <class Out>
Out from_fraction(double v) {
    if constexpr (is_real<Out>)
        return rounded_to<Out>(v);
    else
        return sample_at<Out>(static_cast<Code<Out>>(
            v > 0 ? std::floor(std::min(v, 1.0) * static_cast<double>(top_code<Out>) + 0.5) : 0));
}

/// Sample as the same fraction of another type's range, halves rounded up; its own type: as it is.
template <class Out, class Sample>
Out to_depth(Sample v) {
    if constexpr (std::is_same_v<Out, Sample>) {
        return v;
    } else if constexpr (is_real<Sample>) {
        return from_fraction<Out>(value_of(v));
    } else {
        constexpr std::uint64_t own = top_code<Sample>;
        const std::uint64_t code = code_of(v);
        if constexpr (is_real<Out>)
            return rounded_to<Out>(static_cast<double>(code) / static_cast<double>(own));
        else if constexpr (sizeof(Out) == sizeof(Sample))
            return sample_at<Out>(static_cast<Code<Out>>(code));
        else
            return sample_at<Out>(static_cast<Code<Out>>((2 * top_code<Out> * code + own) / (2 * own)));
    }
}

/// Integer part / whole as a fraction of a type's range, halves rounded up; part ≤ whole < 2^62.
template <class Out>
Out from_ratio(std::uint64_t part, std::uint64_t whole) {
    if constexpr (is_real<Out>) {
        return rounded_to<Out>(static_cast<double>(part) / static_cast<double>(whole));
    } else {
        const auto twice = 2 * static_cast<u128>(part) * top_code<Out> + whole;
        return sample_at<Out>(static_cast<Code<Out>>(twice >> 64 == 0 ? static_cast<std::uint64_t>(twice) / (2 * whole)
                                                                      : twice / (2 * static_cast<u128>(whole))));
    }
}

}  // namespace gpuhist::core
