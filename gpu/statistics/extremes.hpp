// Extremes of counted samples, and the counts at the ends of the type.
#pragma once

#include <cstdint>
#include <optional>

#include "gpuhist/statistics.hpp"
#include "statistics/counted_samples.hpp"

namespace gpuhist::core {

/// Smallest and largest value.
class Extremes {
  public:
    explicit Extremes(const Population&) {}
    void accumulate(double value, std::uint64_t) {
        if (!any_) first_ = value;
        any_ = true;
        last_ = value;
    }
    void finish(Statistics& row) const {
        row.min = first_;
        row.max = last_;
    }

  private:
    bool any_ = false;
    double first_ = 0, last_ = 0;
};

/// Number of different values.
class Unique {
  public:
    explicit Unique(const Population&) {}
    void accumulate(double, std::uint64_t) { ++values_; }
    void finish(Statistics& row) const { row.unique = values_; }

  private:
    std::uint64_t values_ = 0;
};

/// Most frequent value, the lowest of equals.
class Mode {
  public:
    explicit Mode(const Population&) {}
    void accumulate(double value, std::uint64_t count) {
        if (count <= most_) return;
        most_ = count;
        value_ = value;
    }
    void finish(Statistics& row) const { row.mode = value_; }

  private:
    double value_ = 0;
    std::uint64_t most_ = 0;
};

/// Fractions of integers at the type's lowest value, and at white or over it.
class Clipped {
  public:
    explicit Clipped(const Population& samples)
        : samples_(static_cast<double>(samples.n)), lowest_(traits_of(samples.depth).lowest), white_(samples.white) {}
    void accumulate(double value, std::uint64_t count) {
        if (value == lowest_) low_ += count;
        if (white_ && value >= *white_) high_ += count;
    }
    void finish(Statistics& row) const {
        row.clipped_low = static_cast<double>(low_) / samples_;
        if (white_) row.clipped_high = static_cast<double>(high_) / samples_;
    }

  private:
    double samples_, lowest_;
    std::optional<double> white_;
    std::uint64_t low_ = 0, high_ = 0;
};

}  // namespace gpuhist::core
