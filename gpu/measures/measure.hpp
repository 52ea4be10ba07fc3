// Measure of neighborhoods: what its terms are computed from, and the exact sums of these.
//
// A measure is a struct with
//   measure         its value of the enumeration
//   inside          true: it has terms at pixels inside the border alone; false: at all, with the border reflected
//   sums            the number of its sums
//   terms(at, term) sets the terms of one pixel, from its neighborhood. For host and device
//   number(found)   the measure's number, from its sums. Host
// and an entry in gpu/measures/list.hpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/codes.hpp"
#include "core/exact_sum.hpp"
#include "core/integers.hpp"
#include "core/luma.hpp"
#include "core/portable.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::measures {

/// Luma as measures read it: whole numbers, of f16 in units of 2^-24, of f32 and f64 doubles.
template <class Sample>
using Value =
    std::conditional_t<std::is_floating_point_v<Sample>, double,
                       std::conditional_t<sizeof(Sample) <= 2 && !core::is_real<Sample>, std::int32_t, std::int64_t>>;

/// Term of a sum, which holds the square of some values added up: of values of 16 bits, 34, and of doubles, rounded.
template <class Value>
using Term = std::conditional_t<std::is_same_v<Value, double>, double,
                                std::conditional_t<std::is_same_v<Value, std::int32_t>, std::int64_t, core::i128>>;

/// Value of a pixel, from the samples that luma is made of; of integers less the type's lowest, which no measure sees.
template <class Sample>
GPUHIST_HD Value<Sample> value_of(core::Code<Sample> luma) {
    if constexpr (std::is_same_v<Sample, Half>)
        return static_cast<std::int64_t>(core::value_of(core::sample_at<Half>(luma)) * 16777216.0);
    else if constexpr (core::is_real<Sample>)
        return static_cast<double>(core::sample_at<Sample>(luma));
    else
        return static_cast<Value<Sample>>(luma);
}

/// What a value of 1 is in samples.
inline double unit_of(Depth depth) {
    return depth == Depth::f16 ? 1 / 16777216.0 : 1;
}

/// Neighborhood of a pixel: three rows, each with the pixel's column at the same place.
template <class Value>
struct Neighborhood {
    const Value *above, *own, *below;
    std::int64_t x;

    GPUHIST_HD Value operator()(int dx, int dy) const { return (dy < 0 ? above : dy > 0 ? below : own)[x + dx]; }
};

/// Sums of a measure's terms, exact: whole numbers of 128 bits, or words of a sum of doubles.
class Sums {
  public:
    Sums(const Measured& found, Depth depth) : found_(found), depth_(depth) {}

    std::uint64_t pixels() const { return found_.pixels; }
    /// Mean of a sum's terms over the valid neighborhoods, in units of samples to a power.
    double mean(int sum, int power) const;
    /// Population variance of terms whose sum, and sum of squares, these are; exact before it is rounded, of floats
    /// the mean of the squares less the square of the mean.
    double variance(int sum, int sum_squares) const;

  private:
    core::i128 integer(int sum) const { return core::from_public(found_.sums[static_cast<std::size_t>(sum)]); }
    const Measured& found_;
    const Depth depth_;
};

}  // namespace gpuhist::measures
