// Samples with one count per value, and the facts about them that every statistic may use.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/codes.hpp"
#include "core/exact_sum.hpp"
#include "core/integers.hpp"
#include "gpuhist/frequency_table.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist::core {

/// Closed interval of values.
struct Window {
    double lowest = -HUGE_VAL, highest = HUGE_VAL;

    bool has(double value) const { return value >= lowest && value <= highest; }
};

/// Population of finite samples of a depth, at most 2^62.
struct Population {
    Depth depth;
    const Percentiles* percentiles = nullptr;  ///< that are asked for; null: none
    std::optional<double> white{};             ///< value that stands for white; absent: images of several are together
    std::uint64_t n = 0;
    Window window{};  ///< samples outside of it are left out
};

/// Values of a table in ascending order, each with its count, if they are few: statistics walk over them several times,
/// and decode them once. Else null.
template <class Value, class ValueOf>
std::optional<std::vector<std::pair<Value, std::uint64_t>>> few_values(const FrequencyTable& table,
                                                                       const ValueOf& value_of) {
    constexpr std::uint64_t most = 1 << 16;
    std::uint64_t all = 0;
    for (const FrequencyRun& run : table.runs()) all += run.values();
    if (all > most) return std::nullopt;
    std::vector<std::pair<Value, std::uint64_t>> few;
    if (all == 0) return few;
    few.reserve(all);
    for (FrequencyReader reader(table.runs()); reader.next();) few.emplace_back(value_of(reader), reader.count());
    return few;
}

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
          lowest(static_cast<std::int64_t>(traits_of(depth).lowest)),
          few_(few_values<std::int64_t>(sorted, [this](const FrequencyReader& reader) {
              return lowest + static_cast<std::int64_t>(reader.key());
          })) {
        n = 0;
        each([this](std::int64_t value, std::uint64_t count) {
            n += count;
            sum += static_cast<i128>(count) * value;
            sum_squares += static_cast<u128>(count) * static_cast<std::uint64_t>(value * value);
        });
    }

    /// Place among the values that occur, ascending, whatever the window is.
    class Cursor {
      public:
        explicit Cursor(const CountedSamples& samples) : samples_(samples) {
            if (!samples.few_) reader_.emplace(samples.values.runs());
        }
        /// Moves to the first value, or to the next. Returns false if there is none.
        bool next() {
            const std::vector<std::uint64_t>& all = samples_.counts;
            while (next_ < all.size() && all[next_] == 0) ++next_;
            if (next_ < all.size()) {
                count_ = all[next_];
                value_ = samples_.lowest + static_cast<std::int64_t>(next_++);
                return true;
            }
            if (samples_.few_) {
                if (next_few_ == samples_.few_->size()) return false;
                std::tie(value_, count_) = (*samples_.few_)[next_few_++];
                return true;
            }
            if (!reader_->next()) return false;
            count_ = reader_->count();
            value_ = samples_.lowest + static_cast<std::int64_t>(reader_->key());
            return true;
        }
        std::int64_t value() const { return value_; }
        std::uint64_t count() const { return count_; }

      private:
        const CountedSamples& samples_;
        std::optional<FrequencyReader> reader_;
        std::size_t next_ = 0, next_few_ = 0;
        std::int64_t value_ = 0;
        std::uint64_t count_ = 0;
    };

    /// Walk over the values that occur in the window, ascending: visit(value, count).
    template <class Visit>
    void each(Visit visit) const {
        for (Cursor at(*this); at.next();)
            if (window.has(static_cast<double>(at.value()))) visit(at.value(), at.count());
    }

  private:
    std::optional<std::vector<std::pair<std::int64_t, std::uint64_t>>> few_;  ///< of the table
};

/// Samples of any other depth, as doubles, which hold all values exactly: f16 from one count per code, others from the
/// table of the values that occur, which is read once per walk.
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

    /// Place among the values that occur, ascending, whatever the window is.
    class Cursor {
      public:
        explicit Cursor(const RealSamples& samples) : samples_(samples), counts_(samples.counts_) {
            if (!samples.few_) reader_.emplace(samples.values_->runs());
        }
        /// Moves to the first value, or to the next. Returns false if there is none.
        bool next() {
            while (counts_ && next_ < counts_->size() && (*counts_)[next_] == 0) ++next_;
            if (counts_ && next_ < counts_->size()) {
                count_ = (*counts_)[next_];
                value_ = value_of(sample_at<Half>(static_cast<std::uint16_t>(next_++)));
                return true;
            }
            if (samples_.few_) {
                if (next_few_ == samples_.few_->size()) return false;
                std::tie(value_, count_) = (*samples_.few_)[next_few_++];
                return true;
            }
            if (!reader_->next()) return false;
            count_ = reader_->count();
            value_ = reader_->value();
            return true;
        }
        double value() const { return value_; }
        std::uint64_t count() const { return count_; }

      private:
        const RealSamples& samples_;
        const std::vector<std::uint64_t>* counts_;
        std::optional<FrequencyReader> reader_;
        std::size_t next_ = 0, next_few_ = 0;
        double value_ = 0;
        std::uint64_t count_ = 0;
    };

    /// Walk over the values that occur in the window, ascending: visit(value, count).
    template <class Visit>
    void each(Visit visit) const {
        for (Cursor at(*this); at.next() && at.value() <= window.highest;)
            if (at.value() >= window.lowest) visit(at.value(), at.count());
    }

  private:
    RealSamples(const std::vector<std::uint64_t>* counts, const FrequencyTable* values, const Population& population)
        : Population(population), counts_(counts), values_(values) {
        using Few = std::vector<std::pair<double, std::uint64_t>>;
        few_ = values ? few_values<double>(*values, [](const FrequencyReader& reader) { return reader.value(); })
                      : std::optional(Few());
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
    std::optional<std::vector<std::pair<double, std::uint64_t>>> few_;  ///< of the table
};

}  // namespace gpuhist::core
