// Extremes of counted samples, and what is counted at the ends of the type.
#pragma once

#include <cstdint>

#include "gpuhist/statistics.hpp"
#include "statistics/counted_samples.hpp"

namespace gpuhist::core {

/// Smallest and largest value.
class Extremes {
  public:
    explicit Extremes(const CountedSamples&) {}
    void accumulate(std::int64_t value, std::uint64_t) {
        if (!any_) first_ = value;
        any_ = true;
        last_ = value;
    }
    void finish(Statistics& row) const {
        row.min = static_cast<double>(first_);
        row.max = static_cast<double>(last_);
    }

  private:
    bool any_ = false;
    std::int64_t first_ = 0, last_ = 0;
};

/// Number of different values.
class Unique {
  public:
    explicit Unique(const CountedSamples&) {}
    void accumulate(std::int64_t, std::uint64_t) { ++values_; }
    void finish(Statistics& row) const { row.unique = values_; }

  private:
    std::uint64_t values_ = 0;
};

/// Fractions of samples at the type's lowest and highest value.
class Clipped {
  public:
    explicit Clipped(const CountedSamples& samples) : samples_(samples) {}
    void finish(Statistics& row) const {
        row.clipped_low = static_cast<double>(samples_.counts.front()) / static_cast<double>(samples_.n);
        row.clipped_high = static_cast<double>(samples_.counts.back()) / static_cast<double>(samples_.n);
    }

  private:
    const CountedSamples& samples_;
};

}  // namespace gpuhist::core
