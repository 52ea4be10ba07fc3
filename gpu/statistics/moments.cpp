#include "statistics/moments.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/analysis.hpp"
#include "core/wide.hpp"

namespace gpuhist::core {
namespace {

/// g1 and g2 of a population; undefined for a constant one.
void set_shape(Statistics& row, double m2, double m3, double m4) {
    if (!(m2 > 0)) return;
    row.skewness = m3 / (m2 * std::sqrt(m2));
    row.kurtosis = m4 / (m2 * m2) - 3;
}

/// n Σx² − (Σx)², which passes 128 bits from 2^48 samples of 16 bits on.
Wide<4> squares_about_mean(std::uint64_t n, i128 sum, u128 sum_squares) {
    return Wide<4>(n) * Wide<4>(sum_squares) - Wide<4>(sum) * Wide<4>(sum);
}

}  // namespace

MeanStd wide_mean_std(std::uint64_t n, i128 sum, u128 sum_squares) {
    return {ratio(sum, n), std::sqrt(to_double(squares_about_mean(n, sum, sum_squares))) / static_cast<double>(n)};
}

Moments::Moments(const CountedSamples& samples)
    : n_(samples.n),
      mean_(ratio(samples.sum, samples.n)),
      squares_(to_double(squares_about_mean(samples.n, samples.sum, samples.sum_squares))),
      pivot_(std::llround(mean_)),
      deviation_(samples.sum - static_cast<i128>(samples.n) * pivot_) {}

void Moments::finish(Statistics& row) const {
    const auto samples = static_cast<double>(n_);
    row.mean = mean_;
    row.std = std::sqrt(squares_) / samples;
    if (n_ > 1) row.std_sample = std::sqrt(squares_ / samples / static_cast<double>(n_ - 1));
    const double shift = ratio(deviation_, n_), m2 = squares_ / samples / samples;
    const double raw2 = m2 + shift * shift, raw3 = ratio(cubes_, n_), raw4 = ratio(fourths_, n_);
    set_shape(row, m2, raw3 - 3 * shift * raw2 + 2 * shift * shift * shift,
              raw4 - 4 * shift * raw3 + 6 * shift * shift * raw2 - 3 * shift * shift * shift * shift);
}

void RealMoments::finish(Statistics& row) const {
    const auto n = static_cast<double>(n_);
    const auto raw = [&](int k) { return PowerTerms::mean(high_[k - 1], low_[k - 1], n_); };
    const double shift = raw(1), raw2 = raw(2), raw3 = raw(3), raw4 = raw(4), m2 = Distances::variance(shift, raw2);
    row.mean = distance_.mean();
    row.std = distance_.std(m2);
    if (n_ > 1) row.std_sample = distance_.std(m2 * (n / (n - 1)));
    set_shape(row, m2, raw3 - 3 * shift * raw2 + 2 * shift * shift * shift,
              raw4 - 4 * shift * raw3 + 6 * shift * shift * raw2 - 3 * shift * shift * shift * shift);
}

CentralMoments moments_of_pooled(const Analysis& analysis) {
    std::vector<CentralMoments> parts;
    for (const ChannelAnalysis& channel : analysis.channels)
        if (is_pooled(channel.channel)) parts.push_back(central_moments(finite(channel), channel.moments));
    return combine(parts.data(), static_cast<int>(parts.size()));
}

void set_moments(Statistics& row, const CentralMoments& moments, Detail detail) {
    if (!(moments.n > 0)) return;
    row.mean = moments.mean;
    row.std = std::sqrt(moments.m2);
    if (moments.n > 1) row.std_sample = std::sqrt(moments.m2 * (moments.n / (moments.n - 1)));
    if (detail == Detail::full) set_shape(row, moments.m2, moments.m3, moments.m4);
}

}  // namespace gpuhist::core
