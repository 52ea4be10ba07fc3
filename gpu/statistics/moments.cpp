#include "statistics/moments.hpp"

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

/// `std_of` makes a standard deviation of a variance.
template <class Std>
void set(Statistics& row, const CentralMoments& moments, Detail detail, Std std_of) {
    if (!(moments.n > 0)) return;
    row.mean = moments.mean;
    row.std = std_of(moments.m2);
    if (moments.n > 1) row.std_sample = std_of(moments.m2 * (moments.n / (moments.n - 1)));
    if (detail == Detail::full) set_shape(row, moments.m2, moments.m3, moments.m4);
}

}  // namespace

void set_moments(Statistics& row, const CentralMoments& moments, Detail detail) {
    set(row, moments, detail, [](double variance) { return std::sqrt(variance); });
}

void set_moments(Statistics& row, const ExactMoments& moments) {
    row.mean = moments.mean;
    row.std = moments.std();
    if (moments.n > 1) row.std_sample = moments.std_sample();
}

ExactMoments exact_moments(const CountedSamples& samples) {
    return exact_moments<Wide<4>>(samples.n, samples.sum, samples.sum_squares);  // 128 bits end at 2^48 samples
}

Moments::Moments(const CountedSamples& samples)
    : exact_(exact_moments(samples)),
      pivot_(std::llround(exact_.mean)),
      deviation_(samples.sum - static_cast<i128>(samples.n) * pivot_) {}

void Moments::finish(Statistics& row) const {
    set_moments(row, exact_);
    const auto n = static_cast<double>(exact_.n);
    const double shift = ratio(deviation_, exact_.n), m2 = exact_.squares / n / n;
    const double raw[] = {shift, m2 + shift * shift, ratio(cubes_, exact_.n), ratio(fourths_, exact_.n)};
    set_shape(row, m2, third_moment(raw), fourth_moment(raw));
}

void RealMoments::finish(Statistics& row) const {
    double raw[4];
    for (int k = 0; k < 4; ++k) raw[k] = PowerTerms::mean(high_[k], low_[k], n_);
    const CentralMoments moments{static_cast<double>(n_), distance_.mean(), Distances::variance(raw[0], raw[1]),
                                 third_moment(raw), fourth_moment(raw)};
    set(row, moments, Detail::full, [&](double variance) { return distance_.std(variance); });
}

CentralMoments moments_of_pooled(const Analysis& analysis) {
    std::vector<CentralMoments> parts;
    for (const ChannelAnalysis& channel : analysis.channels)
        if (is_pooled(channel.channel)) parts.push_back(central_moments(channel.valid(), channel.moments));
    return combine(parts.data(), static_cast<int>(parts.size()));
}

}  // namespace gpuhist::core
