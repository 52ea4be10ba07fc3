// Measure: what its values are computed from, and its columns.
//
// A measure is a struct with
//   measure         its value of the enumeration
//   columns         array of its columns, one or several. Their values are numbers, integers or texts
//   values(image)   one value per column, from the findings in an image. Host
// and an entry in gpu/measures/list.hpp and a row of all_measures in gpuhist/measures.hpp. Values follow from the
// counts of luma or gray (contrast.hpp), or from `Analysis::measured`. Columns, Python, JSON and merges follow from the
// list.
//
// A sum over pixels is a measure that has in place of `values`
//   reach           the pixels that it looks at, for each pixel that has terms
//   sums            the number of its sums
//   terms(at, add)  calls add(sum, term) for the terms of one pixel, at most `most_terms`. For host and device
//   number(found)   the measure's number, from its sums. Host
// and is in the list of these, too. Other findings in pixels need an accumulator: see cpu/measures.hpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/codes.hpp"
#include "core/exact_sum.hpp"
#include "core/integers.hpp"
#include "core/luma.hpp"
#include "core/portable.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/columns.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::measures {

/// Samples and luma as measures read them: whole numbers, of f16 in units of 2^-24, of f32 and f64 doubles.
template <class Sample>
using Value =
    std::conditional_t<std::is_floating_point_v<Sample>, double,
                       std::conditional_t<core::is_real<Sample> || sizeof(Sample) == 4, std::int64_t,
                                          std::conditional_t<sizeof(Sample) == 1, std::int16_t, std::int32_t>>>;

/// Term of a sum, which holds the square of some values added up: of values of 16 bits, 34, and of doubles, rounded.
template <class Value>
using Term = std::conditional_t<std::is_same_v<Value, double>, double,
                                std::conditional_t<sizeof(Value) <= 4, std::int64_t, core::i128>>;

/// Value of a code; of integers less the type's lowest, which no difference of values shows.
template <class Sample>
GPUHIST_HD Value<Sample> value_of(core::Code<Sample> code) {
    if constexpr (std::is_same_v<Sample, Half>)
        return static_cast<std::int64_t>(core::value_of(core::sample_at<Half>(code)) * 16777216.0);
    else if constexpr (core::is_real<Sample>)
        return static_cast<double>(core::sample_at<Sample>(code));
    else
        return static_cast<Value<Sample>>(code);
}

/// Unit of the terms of a measure, in sample values.
inline double unit_of(Depth depth) {
    return depth == Depth::f16 ? 1 / 16777216.0 : 1;
}

/// Terms of a pixel at most.
inline constexpr int most_terms = 8;

/// Pixels that a measure looks at.
enum class Reach : std::uint8_t {
    colors,     ///< the pixel's red, green and blue alone; gray images have none
    inside,     ///< luma of its neighborhood, at pixels inside the border
    reflected,  ///< luma of its neighborhood, at all pixels, with the border reflected
};

/// Pixel and its neighborhood.
template <class Value>
struct Pixel {
    const Value* luma[3];    ///< the rows above, at and below it, each with its column at place x
    const Value* colors[3];  ///< its row: red, green, blue
    std::int64_t x;

    GPUHIST_HD Value operator()(int dx, int dy) const { return luma[1 + dy][x + dx]; }
    GPUHIST_HD Value red() const { return colors[0][x]; }
    GPUHIST_HD Value green() const { return colors[1][x]; }
    GPUHIST_HD Value blue() const { return colors[2][x]; }
};

/// Sums of a measure's terms, exact: whole numbers of 128 bits, or words of a sum of doubles.
class Sums {
  public:
    Sums(const Measured& found, Depth depth) : found_(found), depth_(depth) {}

    std::uint64_t pixels() const { return found_.pixels; }
    /// Mean of a sum's terms over the pixels, in units of samples to a power.
    double mean(int sum, int power) const;
    /// Population variance of terms whose sum, and sum of squares, these are; exact before it is rounded, of floats
    /// the mean of the squares less the square of the mean.
    double variance(int sum, int sum_squares) const;

  private:
    core::i128 integer(int sum) const { return core::from_public(found_.sums[static_cast<std::size_t>(sum)]); }
    const Measured& found_;
    const Depth depth_;
};

/// Findings of a measure in an image. Null if it was not requested, or if the image has no luma or gray.
const Measured* findings(const Analysis& image, Measure measure);

/// Values of a measure in an image.
template <class Which>
std::vector<MeasureValue> values_of(const Analysis& image) {
    if constexpr (requires { Which::values(image); }) {
        return Which::values(image);
    } else {
        const Measured* const found = findings(image, Which::measure);
        if (!found || found->pixels == 0) return {MeasureValue()};
        return {Which::number(Sums(*found, image.depth))};
    }
}

/// Channel with luma, or with gray; null for bands.
const ChannelAnalysis* channel_of_luma(const Analysis& image);

/// Statistics of luma, or of gray; absent for bands.
std::optional<Statistics> statistics_of_luma(const Analysis& image, const Percentiles& percentiles);

/// Walk over the values of luma or gray, ascending: visit(value, count). Returns false if they are not counted.
bool each_value_of_luma(const Analysis& image, const std::function<void(double, std::uint64_t)>& visit);

}  // namespace gpuhist::measures
