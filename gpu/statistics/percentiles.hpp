// Percentiles: the order statistics that they need, the places of these, and the values that follow.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/float_keys.hpp"
#include "core/integers.hpp"
#include "core/portable.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/request.hpp"
#include "gpuhist/statistics.hpp"
#include "statistics/counted_samples.hpp"

namespace gpuhist::core {

inline constexpr std::uint32_t all_micro = 100'000'000;  ///< 100 percent

/// Percentile of n > 0 samples, in units of 1e-6 percent, given the value at each zero-based rank: at (n − 1) · percent
/// / 100, between two ranks a + (b − a) · t from the nearer end, as numpy.percentile interpolates.
template <class ValueAt>
GPUHIST_HD inline double percentile_of(std::uint32_t micro, std::uint64_t n, const ValueAt& value_at) {
    const std::uint64_t whole = (n - 1) / all_micro, part = (n - 1) % all_micro * micro;  // no product of 128 bits
    const std::uint64_t rank = whole * micro + part / all_micro, rest = part % all_micro;
    const double a = value_at(rank);
    if (rest == 0) return a;
    const double b = value_at(rank + 1), t = static_cast<double>(rest) / all_micro;
    if (!(fabs(b - a) <= DBL_MAX)) return a * (1 - t) + b * t;
    return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
}

/// f32: percentiles whose order statistics one analysis finds; longer lists are found a group at a time.
inline constexpr int percentiles_in_group = 7;

/// Ranks of a group: two for each percentile, two to stretch between.
inline constexpr int first_of_stretch = 2 * percentiles_in_group, max_ranks = first_of_stretch + 2;

/// Order statistics that one f32 analysis finds.
struct RankRequest {
    std::int32_t percentiles = 0;  ///< 1 to percentiles_in_group
    std::uint32_t micro[percentiles_in_group] = {};
    bool stretch = false;  ///< the nearest ranks of `low` and `high`, in percent, too
    double low = 0, high = 0;

    /// Request for group `group` of a list.
    static RankRequest of(const Percentiles& list, int group, bool stretch, double low, double high) {
        RankRequest request;
        request.percentiles =
            std::min(static_cast<int>(list.size()) - group * percentiles_in_group, percentiles_in_group);
        for (int i = 0; i < request.percentiles; ++i)
            request.micro[i] = list.micro(static_cast<std::size_t>(group * percentiles_in_group + i));
        request.stretch = stretch;
        request.low = low;
        request.high = high;
        return request;
    }
    static int groups(const Percentiles& list) {
        return (static_cast<int>(list.size()) + percentiles_in_group - 1) / percentiles_in_group;
    }
};

/// Zero-based rank i < max_ranks among the ranks that n > 0 samples need. They are in no order, and some occur more
/// than once.
GPUHIST_HD inline std::uint64_t required_rank(int i, std::uint64_t n, const RankRequest& request) {
    if (i >= first_of_stretch && request.stretch)
        return nearest_rank(i == first_of_stretch ? request.low : request.high, n) - 1;
    if (i >= 2 * request.percentiles) i = 0;
    const std::uint64_t last = n - 1, micro = request.micro[i / 2];
    const std::uint64_t rank = last / all_micro * micro + last % all_micro * micro / all_micro;
    return rank + i % 2 < n ? rank + i % 2 : rank;
}

/// Plan of one channel's ranks: under which high digits they lie, and how far into them.
struct RankPlan {
    std::int32_t ranks = 0;           ///< how many
    std::int32_t selected = 0;        ///< different high digits among them
    std::uint64_t rank[max_ranks];    ///< ascending
    std::uint64_t within[max_ranks];  ///< rank among the samples of its high digit
    std::uint8_t slot[max_ranks];     ///< index into `high`
    std::uint32_t high[max_ranks];    ///< the high digits, ascending
};

/// Plan of a channel of n > 0 finite samples for the ranks of `required_rank`, from its counts by high digit
/// (`digit_values` of them; those of NaN and ±Inf are not read) and its extremes.
RankPlan plan_ranks(const std::uint64_t* high_counts, std::uint64_t n, float minimum, float maximum,
                    const RankRequest& request);

/// Middle of the high digit's values that can occur between the extremes: the pivot of a channel whose median lies
/// there.
GPUHIST_HD inline double middle_of_high_digit(std::uint32_t high, float minimum, float maximum) {
    const float first = key_float(key_of_digits(high, 0)), last = key_float(key_of_digits(high, 0xFFFFu));
    // first or last can be an infinity's or a NaN's key: the comparisons then choose the extremes
    const double lower = first > minimum ? first : minimum, upper = last < maximum ? last : maximum;
    return lower + (upper - lower) / 2;
}

/// Pivot for the moments of a channel of n > 0 finite samples, near its median, from the input of `plan_ranks`.
double pivot_near_median(const std::uint64_t* high_counts, std::uint64_t n, float minimum, float maximum);

/// Percentiles that are asked for, all absent.
void list_percentiles(Statistics& row, const Percentiles& list);

/// Percentiles of n > 0 samples, given the value at each zero-based rank; ranks mostly ascend.
void set_percentiles(Statistics& row, const Percentiles& list, std::uint64_t n,
                     const std::function<double(std::uint64_t rank)>& value_at);

/// Percentiles of n > 0 samples from their order statistics, ascending. Throws InvalidArgument where one is missing.
void set_percentiles(Statistics& row, const Percentiles& list, std::uint64_t n,
                     const std::vector<OrderStatistic>& order);

/// Weighted percentiles of n > 0 samples that weigh the same, likewise.
void set_weighted_percentiles(Statistics& row, std::uint64_t n, const std::vector<OrderStatistic>& order);

/// Percentiles of counted samples.
class CountedPercentiles {
  public:
    explicit CountedPercentiles(const Population& samples);
    void accumulate(double value, std::uint64_t count) {
        for (through_ += count; next_ < values_.size() && values_[next_].first < through_; ++next_)
            values_[next_].second = value;
    }
    void finish(Statistics& row) const;

  private:
    const Percentiles* list_;
    std::uint64_t n_, through_ = 0;
    std::vector<std::pair<std::uint64_t, double>> values_;  ///< at the ranks that are needed, ascending
    std::size_t next_ = 0;                                  ///< of these, whose value is not known yet
};

/// Percentiles of weighted samples: the smallest value for which the samples up to it have at least that part of the
/// weight.
class WeightedPercentiles {
  public:
    explicit WeightedPercentiles(const Population& samples);
    void accumulate(double value, std::uint64_t weight) {
        through_ += weight;
        const u128 part = static_cast<u128>(through_) * all_micro;
        for (; next_ < values_.size() && part >= static_cast<u128>(values_[next_].micro) * n_; ++next_)
            values_[next_].value = value;
    }
    void finish(Statistics& row) const;

  private:
    std::uint64_t n_, through_ = 0;
    std::vector<Percentile> values_;  ///< ascending percents
    std::size_t next_ = 0;            ///< of these, whose value is not known yet
};

}  // namespace gpuhist::core
