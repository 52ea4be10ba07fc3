// Extremes of counted samples, and what is counted at the ends of the type.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
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

/// Fractions of samples at the type's lowest value, and at white or over it.
class Clipped {
  public:
    explicit Clipped(const CountedSamples& samples) : samples_(samples) {}
    void finish(Statistics& row) const {
        row.clipped_low = static_cast<double>(samples_.counts.front()) / static_cast<double>(samples_.n);
        if (!samples_.white) return;
        std::uint64_t high = 0;
        for (std::size_t code = first_white(); code < samples_.counts.size(); ++code) high += samples_.counts[code];
        row.clipped_high = static_cast<double>(high) / static_cast<double>(samples_.n);
    }

  private:
    /// Code of the lowest value that is not below white; the number of codes if there is none.
    std::size_t first_white() const {
        const double code = std::ceil(*samples_.white) - static_cast<double>(samples_.lowest);
        return static_cast<std::size_t>(std::clamp(code, 0.0, static_cast<double>(samples_.counts.size())));
    }

    const CountedSamples& samples_;
};

}  // namespace gpuhist::core
