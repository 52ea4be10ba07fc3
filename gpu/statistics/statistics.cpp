#include "gpuhist/statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/integers.hpp"
#include "core/wide.hpp"
#include "gpuhist/error.hpp"
#include "statistics/float_analysis.hpp"
#include "statistics/percentiles.hpp"
#include "statistics/statistics.hpp"

namespace gpuhist {
namespace {

using core::i128;
using core::u128;

/// g1 and g2 of a population; undefined for a constant one.
void set_shape(Statistics& row, double m2, double m3, double m4) {
    if (!(m2 > 0)) return;
    row.skewness = m3 / (m2 * std::sqrt(m2));
    row.kurtosis = m4 / (m2 * m2) - 3;
}

/// n Σx² − (Σx)², which passes 128 bits from 2^48 samples of 16 bits on.
core::Wide<4> squares_about_mean(std::uint64_t n, u128 sum, u128 sum_squares) {
    return core::Wide<4>(n) * core::Wide<4>(sum_squares) - core::Wide<4>(sum) * core::Wide<4>(sum);
}

/// Bits from the lowest to the highest that varies, given those ever set and those always set.
std::uint64_t effective_bits(std::uint64_t ever, std::uint64_t always) {
    const std::uint64_t varying = ever & ~always;
    return varying == 0 ? 0 : static_cast<std::uint64_t>(std::bit_width(varying) - std::countr_zero(varying));
}

}  // namespace

core::MeanStd core::pooled_mean_std(std::uint64_t n, u128 sum, u128 sum_squares) {
    return {ratio(sum, n), std::sqrt(to_double(squares_about_mean(n, sum, sum_squares))) / static_cast<double>(n)};
}

Statistics core::from_counts(Channel channel, const std::vector<std::uint64_t>& counts,
                             const Percentiles& percentiles) {
    Statistics row;
    row.channel = channel;
    std::uint64_t n = 0, unique = 0, first = 0, last = 0;
    std::uint64_t ever = 0, always = ~std::uint64_t{0};  // bits of the values that occur
    u128 sum = 0, sum_squares = 0;
    for (std::uint64_t v = 0; v < counts.size(); ++v) {
        const std::uint64_t count = counts[v];
        if (count == 0) continue;
        if (unique++ == 0) first = v;
        last = v;
        ever |= v;
        always &= v;
        n += count;
        sum += static_cast<u128>(count) * v;
        sum_squares += static_cast<u128>(count) * (v * v);
    }
    row.pixels = n;
    row.unique = unique;
    if (n == 0) {
        set_percentiles(row, percentiles, 0, {});
        return row;
    }

    row.min = static_cast<double>(first);
    row.max = static_cast<double>(last);
    row.effective_bits = effective_bits(ever, always);
    const double squares = to_double(squares_about_mean(n, sum, sum_squares));  // n² m2
    const auto samples = static_cast<double>(n);
    row.mean = ratio(sum, n);
    row.std = std::sqrt(squares) / samples;
    if (n > 1) row.std_sample = std::sqrt(squares / samples / static_cast<double>(n - 1));

    // Higher moments about a whole number next to the mean: sums stay exact, and the shift to the mean is at most 1/2.
    const auto pivot = static_cast<std::int64_t>(std::llround(*row.mean));
    i128 cubes = 0, fourths = 0;
    double entropy = 0, lost = 0;  // Neumaier's compensated sum
    for (std::size_t v = 0; v < counts.size(); ++v) {
        const std::uint64_t count = counts[v];
        if (count == 0) continue;
        const i128 d = static_cast<std::int64_t>(v) - pivot;
        cubes += d * d * d * static_cast<i128>(count);
        fourths += d * d * d * d * static_cast<i128>(count);
        const double p = static_cast<double>(count) / samples, term = -p * std::log2(p), next = entropy + term;
        lost += entropy >= term ? entropy - next + term : term - next + entropy;
        entropy = next;
    }
    row.entropy = entropy + lost;
    const i128 deviation = static_cast<i128>(sum) - static_cast<i128>(n) * pivot;
    const double shift = core::ratio(deviation, n), m2 = squares / samples / samples;
    const double raw2 = m2 + shift * shift, raw3 = core::ratio(cubes, n), raw4 = core::ratio(fourths, n);
    set_shape(row, m2, raw3 - 3 * shift * raw2 + 2 * shift * shift * shift,
              raw4 - 4 * shift * raw3 + 6 * shift * shift * raw2 - 3 * shift * shift * shift * shift);

    // Ranks mostly ascend, so that one walk over the counts serves them all.
    std::uint64_t value = 0, cumulative = counts[0];
    set_percentiles(row, percentiles, n, [&](std::uint64_t rank) {
        if (rank < cumulative - counts[value]) cumulative = counts[value = 0];
        while (cumulative <= rank) cumulative += counts[++value];
        return static_cast<double>(value);
    });
    row.clipped_low = static_cast<double>(counts.front()) / samples;
    row.clipped_high = static_cast<double>(counts.back()) / samples;
    return row;
}

namespace {

void set_moments(Statistics& row, Detail detail, const core::CentralMoments& moments) {
    if (!(moments.n > 0)) return;
    row.mean = moments.mean;
    row.std = std::sqrt(moments.m2);
    if (moments.n > 1) row.std_sample = std::sqrt(moments.m2 * (moments.n / (moments.n - 1)));
    if (detail == Detail::full) set_shape(row, moments.m2, moments.m3, moments.m4);
}

void set_order_statistics(Statistics& row, const Percentiles& percentiles, std::uint64_t n,
                          const std::vector<OrderStatistic>& order) {
    core::set_percentiles(row, percentiles, n, [&](std::uint64_t rank) {
        auto found = std::lower_bound(order.begin(), order.end(), rank,
                                      [](const OrderStatistic& s, std::uint64_t r) { return s.rank < r; });
        if (found == order.end() || found->rank != rank)
            throw InvalidArgument("f32 analysis lacks the order statistic of rank " + std::to_string(rank));
        return static_cast<double>(found->value);
    });
}

std::uint64_t finite(const ChannelAnalysis& channel) {
    return channel.pixels - channel.nan - channel.infinite;
}

Statistics from_floats(const ChannelAnalysis& channel, Detail detail, const Percentiles& percentiles) {
    Statistics row;
    row.channel = channel.channel;
    row.pixels = channel.pixels;
    row.nan = channel.nan;
    row.inf = channel.infinite;
    core::set_percentiles(row, percentiles, 0, {});
    const std::uint64_t n = finite(channel);
    if (n == 0) return row;
    row.min = channel.minimum;
    row.max = channel.maximum;
    set_moments(row, detail, core::central_moments(n, channel.moments));
    if (detail == Detail::full) set_order_statistics(row, percentiles, n, channel.order_statistics);
    return row;
}

}  // namespace

core::CentralMoments core::pooled_moments(const Analysis& analysis) {
    CentralMoments parts[3];
    int used = 0;
    for (Channel channel : {Channel::red, Channel::green, Channel::blue})
        if (const ChannelAnalysis* found = analysis.find(channel))
            parts[used++] = central_moments(finite(*found), found->moments);
    return pool(parts, used);
}

namespace {

Statistics pooled(const Analysis& analysis, const Percentiles& percentiles) {
    if (analysis.depth != Depth::f32) {
        std::vector<std::uint64_t> counts = analysis.find(Channel::red)->counts;
        for (Channel channel : {Channel::green, Channel::blue}) {
            const auto& other = analysis.find(channel)->counts;
            std::transform(counts.begin(), counts.end(), other.begin(), counts.begin(), std::plus<>());
        }
        return core::from_counts(Channel::all, counts, percentiles);
    }
    Statistics row;
    row.channel = Channel::all;
    core::set_percentiles(row, percentiles, 0, {});
    std::uint64_t n = 0;
    for (Channel channel : {Channel::red, Channel::green, Channel::blue}) {
        const ChannelAnalysis& part = *analysis.find(channel);
        row.pixels += part.pixels;
        row.nan += part.nan;
        row.inf += part.infinite;
        if (finite(part) == 0) continue;
        n += finite(part);
        row.min = row.min ? std::min(*row.min, static_cast<double>(part.minimum)) : part.minimum;
        row.max = row.max ? std::max(*row.max, static_cast<double>(part.maximum)) : part.maximum;
    }
    if (n == 0) return row;
    set_moments(row, analysis.detail, core::pooled_moments(analysis));
    if (analysis.detail == Detail::full) set_order_statistics(row, percentiles, n, analysis.pooled_order_statistics);
    return row;
}

}  // namespace

std::vector<Statistics> statistics(const Analysis& analysis, const Percentiles& percentiles) {
    std::vector<Statistics> rows;
    auto add = [&](Channel channel) {
        const ChannelAnalysis* found = analysis.find(channel);
        if (!found || found->counts.empty()) return;
        rows.push_back(analysis.depth == Depth::f32 ? from_floats(*found, analysis.detail, percentiles)
                                                    : core::from_counts(channel, found->counts, percentiles));
    };
    add(Channel::gray);
    add(Channel::red);
    add(Channel::green);
    add(Channel::blue);
    add(Channel::luma);
    if (analysis.find(Channel::red) && analysis.find(Channel::green) && analysis.find(Channel::blue))
        rows.push_back(pooled(analysis, percentiles));
    add(Channel::alpha);
    return rows;
}

}  // namespace gpuhist
