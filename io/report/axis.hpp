// Axes of plots: readable numbers, ticks, and the places of counts and values.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/request.hpp"

namespace gpuhist::io {

/// Number with `digits` significant digits, without trailing zeros: `12,345.5`, `3e8`; a dash without a number.
std::string brief(const std::optional<double>& value, int digits = 4);
/// Place of a value in a range: 0 at the lower end, 1 at the upper one. The range may be wider than the largest double.
double place_in(const Range& range, double value);
/// Significant digits that tell values apart which lie a thousandth of the range from each other.
int digits_over(const Range& range);
/// Count in full: `1,773,000`; from a thousand millions on `1.773 G`.
std::string count_text(double count);

struct Tick {
    double value;
    std::string label;
};

/// Axis of counts, which become heights in [0, 1].
class CountAxis {
  public:
    CountAxis() = default;
    /// Axis up to a count; `pixels` is its length.
    CountAxis(double highest, bool logarithmic, int pixels);

    bool logarithmic() const { return logarithmic_; }
    double top() const { return top_; }  ///< count at height 1
    double height(double count) const {
        if (!logarithmic_) return count / top_;
        return count <= 0 ? 0 : std::log(count / floor) / std::log(top_ / floor);
    }
    const std::vector<Tick>& ticks() const { return ticks_; }

  private:
    static constexpr double floor = 0.5;  ///< of a logarithmic axis: a single pixel still stands above it
    bool logarithmic_ = false;
    double top_ = 1;
    std::vector<Tick> ticks_;
};

/// Ticks of values over `pixels` pixels, whose labels, `width` pixels wide, stand at least a gap apart. Of whole
/// numbers the last value is one, and where the range is a power of two, and begins at a
/// multiple of a part of it, they divide it.
std::vector<Tick> value_ticks(const Range& range, bool whole, int pixels,
                              const std::function<double(const std::string&)>& width);

}  // namespace gpuhist::io
