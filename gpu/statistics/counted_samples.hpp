// Samples counted one count per value, and what every statistic of them may ask.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/codes.hpp"
#include "core/exact_sum.hpp"
#include "core/integers.hpp"
#include "gpuhist/frequency_table.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist::core {

/// Population of finite samples of a depth, at most 2^62.
struct Population {
    Depth depth;
    const Percentiles* percentiles = nullptr;  ///< that are asked for; null: none
    std::optional<double> white{};             ///< value that stands for white; absent: images of several are together
    std::uint64_t n = 0;
};

/// Integers of 8 or 16 bits: `counts[i]` is that of the depth's lowest value + i, or the values that occur are in a
/// table.
struct CountedSamples : Population {
    const std::vector<std::uint64_t>& counts;
    const FrequencyTable& values;
    std::int64_t lowest;
    i128 sum = 0;
    u128 sum_squares = 0;

    CountedSamples(const std::vector<std::uint64_t>& counted, const FrequencyTable& sorted,
                   const Population& population)
        : Population(population),
          counts(counted),
          values(sorted),
          lowest(static_cast<std::int64_t>(traits_of(depth).lowest)) {
        n = 0;
        each([this](std::int64_t value, std::uint64_t count) {
            n += count;
            sum += static_cast<i128>(count) * value;
            sum_squares += static_cast<u128>(count) * static_cast<std::uint64_t>(value * value);
        });
    }

    /// Walk over the values that occur, ascending: visit(value, count).
    template <class Visit>
    void each(Visit visit) const {
        for (std::size_t i = 0; i < counts.size(); ++i)
            if (counts[i] != 0) visit(lowest + static_cast<std::int64_t>(i), counts[i]);
        for (FrequencyReader reader(values.runs()); reader.next();)
            visit(lowest + static_cast<std::int64_t>(reader.key()), reader.count());
    }
};

/// Samples of any other depth, as doubles, which all of their values are: f16 from a count for each code, others from
/// the table of those that occur, which is read once for each walk.
class RealSamples : public Population {
  public:
    /// Takes counts by code, which are f16's, or values; either may be empty. Both must outlive it.
    RealSamples(const std::vector<std::uint64_t>& counts, const FrequencyTable& values, const Population& population)
        : RealSamples(&counts, &values, population) {}
    RealSamples(const FrequencyTable& values, const Population& population)
        : RealSamples(nullptr, &values, population) {}
    RealSamples(const std::vector<std::uint64_t>& counts, const Population& population)
        : RealSamples(&counts, nullptr, population) {}

    double lowest = 0, highest = 0;
    ExactSum sum;

    /// Walk over the values that occur, ascending: visit(value, count).
    template <class Visit>
    void each(Visit visit) const {
        for (std::size_t code = 0; counts_ && code < counts_->size(); ++code)
            if ((*counts_)[code] != 0)
                visit(value_of(sample_at<Half>(static_cast<std::uint16_t>(code))), (*counts_)[code]);
        if (!values_) return;
        for (FrequencyReader reader(values_->runs()); reader.next();) visit(reader.value(), reader.count());
    }

  private:
    RealSamples(const std::vector<std::uint64_t>* counts, const FrequencyTable* values, const Population& population)
        : Population(population), counts_(counts), values_(values) {
        n = 0;
        each([this](double value, std::uint64_t count) {
            if (n == 0) lowest = value;
            highest = value;
            n += count;
            sum.add(value, count);
        });
    }

    const std::vector<std::uint64_t>* counts_;
    const FrequencyTable* values_;
};

}  // namespace gpuhist::core
