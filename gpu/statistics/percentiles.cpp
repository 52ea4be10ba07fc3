#include "statistics/percentiles.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "gpuhist/error.hpp"

namespace gpuhist {
Percentiles::Percentiles() : Percentiles({1, 5, 25, 50, 75, 95, 99}) {}

Percentiles::Percentiles(const std::vector<double>& percents) {
    if (percents.empty() || percents.size() > most)
        throw InvalidArgument(std::to_string(percents.size()) + " percentiles: 1 to " + std::to_string(most) +
                              " are supported");
    for (const double percent : percents) {
        if (!(percent >= 0 && percent <= 100))
            throw InvalidArgument("percentile " + std::to_string(percent) + ": 0 to 100 are supported");
        const auto micro = static_cast<std::uint32_t>(std::llround(percent * 1e6));
        for (std::size_t i = 0; i < size_; ++i)
            if (micro_[i] == micro) throw InvalidArgument("percentile " + name(i) + " is given twice");
        micro_[size_++] = micro;
    }
}

void Percentiles::add(double percent) {
    const auto micro = static_cast<std::uint32_t>(std::llround(percent * 1e6));
    if (std::find(micro_.begin(), micro_.begin() + static_cast<std::ptrdiff_t>(size_), micro) ==
        micro_.begin() + static_cast<std::ptrdiff_t>(size_))
        micro_.at(size_++) = micro;
}

std::string Percentiles::name(std::size_t i) const {
    constexpr std::uint32_t one = 1'000'000;
    if (micro_[i] == 50 * one) return "median";
    std::string text = std::to_string(micro_[i] / one);
    std::uint32_t fraction = micro_[i] % one;
    if (fraction == 0) return (text.size() == 1 ? "p0" : "p") + text;
    std::string digits = std::to_string(one + fraction).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    return "p" + text + "." + digits;
}

std::optional<double> Statistics::percentile(double percent) const {
    const auto micro = std::llround(percent * 1e6);
    for (const Percentile& one : weighted_percentiles.empty() ? percentiles : weighted_percentiles)
        if (one.micro == micro) return one.value;
    return std::nullopt;
}

namespace core {
namespace {

/// Walks along counts by high digit.
struct Walk {
    const std::uint64_t* counts;
    std::uint32_t digit, last;
    std::uint64_t before = 0;  ///< samples under the digits passed

    /// Goes to the digit that holds a rank, which is not before this one.
    void to(std::uint64_t rank) {
        constexpr std::uint32_t step = 64;  // most digits are empty
        for (std::uint64_t sum = 0; last - digit >= step; digit += step, before += sum) {
            sum = std::accumulate(counts + digit, counts + digit + step, std::uint64_t{0});
            if (rank < before + sum) break;
        }
        for (; rank >= before + counts[digit]; ++digit) before += counts[digit];
    }
};

}  // namespace

RankPlan plan_ranks(const std::uint64_t* high_counts, std::uint64_t n, float minimum, float maximum,
                    const RankRequest& request) {
    RankPlan plan;
    for (int i = 0; i < max_ranks; ++i) plan.rank[i] = required_rank(i, n, request);
    std::sort(plan.rank, plan.rank + max_ranks);
    plan.ranks = static_cast<std::int32_t>(std::unique(plan.rank, plan.rank + max_ranks) - plan.rank);
    Walk walk{high_counts, high_digit(float_key(minimum)), high_digit(float_key(maximum))};
    for (int i = 0; i < plan.ranks; ++i) {
        walk.to(plan.rank[i]);
        if (i == 0 || walk.digit != plan.high[plan.selected - 1]) plan.high[plan.selected++] = walk.digit;
        plan.within[i] = plan.rank[i] - walk.before;
        plan.slot[i] = static_cast<std::uint8_t>(plan.selected - 1);
    }
    return plan;
}

double pivot_near_median(const std::uint64_t* high_counts, std::uint64_t n, float minimum, float maximum) {
    Walk walk{high_counts, high_digit(float_key(minimum)), high_digit(float_key(maximum))};
    walk.to(n / 2);
    return middle_of_high_digit(walk.digit, minimum, maximum);
}

void list_percentiles(Statistics& row, const Percentiles& list) {
    row.percentiles.clear();
    for (std::size_t i = 0; i < list.size(); ++i) row.percentiles.push_back({list.micro(i), std::nullopt});
}

void set_percentiles(Statistics& row, const Percentiles& list, std::uint64_t n,
                     const std::function<double(std::uint64_t rank)>& value_at) {
    list_percentiles(row, list);
    for (Percentile& percentile : row.percentiles) percentile.value = percentile_of(percentile.micro, n, value_at);
}

namespace {

double value_at(const std::vector<OrderStatistic>& order, std::uint64_t rank) {
    const auto found = std::lower_bound(order.begin(), order.end(), rank,
                                        [](const OrderStatistic& s, std::uint64_t r) { return s.rank < r; });
    if (found == order.end() || found->rank != rank)
        throw InvalidArgument("f32 analysis lacks the order statistic of rank " + std::to_string(rank));
    return static_cast<double>(found->value);
}

}  // namespace

void set_percentiles(Statistics& row, const Percentiles& list, std::uint64_t n,
                     const std::vector<OrderStatistic>& order) {
    set_percentiles(row, list, n, [&](std::uint64_t rank) { return value_at(order, rank); });
}

void set_weighted_percentiles(Statistics& row, std::uint64_t n, const std::vector<OrderStatistic>& order) {
    // The rank is one of the two that an interpolated percentile needs.
    for (Percentile& one : row.weighted_percentiles) one.value = value_at(order, nearest_rank(one.micro / 1e6, n) - 1);
}

CountedPercentiles::CountedPercentiles(const Population& samples) : list_(samples.percentiles), n_(samples.n) {
    if (!list_) return;
    Statistics none;
    set_percentiles(none, *list_, n_, [&](std::uint64_t rank) {
        values_.emplace_back(rank, 0);
        return 0;
    });
    std::sort(values_.begin(), values_.end());
    values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
}

void CountedPercentiles::finish(Statistics& row) const {
    if (!list_) return;
    set_percentiles(row, *list_, n_, [&](std::uint64_t rank) {
        return std::lower_bound(values_.begin(), values_.end(), rank,
                                [](const auto& value, std::uint64_t wanted) { return value.first < wanted; })
            ->second;
    });
}

WeightedPercentiles::WeightedPercentiles(const Population& samples) : n_(samples.n) {
    for (std::size_t i = 0; samples.percentiles && i < samples.percentiles->size(); ++i)
        values_.push_back({samples.percentiles->micro(i), std::nullopt});
    std::sort(values_.begin(), values_.end(),
              [](const Percentile& a, const Percentile& b) { return a.micro < b.micro; });
}

void WeightedPercentiles::finish(Statistics& row) const {
    for (Percentile& one : row.weighted_percentiles)
        one.value = std::lower_bound(values_.begin(), values_.end(), one.micro,
                                     [](const Percentile& known, std::uint32_t micro) { return known.micro < micro; })
                        ->value;
}

}  // namespace core
}  // namespace gpuhist
