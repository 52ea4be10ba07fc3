#include "statistics/statistics.hpp"

#include <algorithm>
#include <tuple>
#include <type_traits>

#include "core/analysis.hpp"
#include "statistics/bits.hpp"
#include "statistics/counted_samples.hpp"
#include "statistics/entropy.hpp"
#include "statistics/extremes.hpp"
#include "statistics/moments.hpp"
#include "statistics/percentiles.hpp"

namespace gpuhist {
namespace {

using FromCounts = std::tuple<core::Extremes, core::Unique, core::Clipped, core::EffectiveBits, core::Moments,
                              core::Entropy, core::CountedPercentiles>;

/// Runs each statistic of the list over the samples.
template <class... Each>
void run(std::type_identity<std::tuple<Each...>>, const core::CountedSamples& samples, Statistics& row) {
    std::tuple<Each...> statistics{Each(samples)...};
    const auto show = [](auto& statistic, std::int64_t value, std::uint64_t count) {
        if constexpr (requires { statistic.accumulate(value, count); }) statistic.accumulate(value, count);
    };
    samples.each(
        [&](std::int64_t value, std::uint64_t count) { (show(std::get<Each>(statistics), value, count), ...); });
    (std::get<Each>(statistics).finish(row), ...);
}

/// Row in which nothing is known yet but the percentiles' names.
Statistics empty_row(Channel channel, const Percentiles& percentiles) {
    Statistics row;
    row.channel = channel;
    core::list_percentiles(row, percentiles);
    return row;
}

}  // namespace

Statistics core::from_counts(Channel channel, Depth depth, const std::vector<std::uint64_t>& counts,
                             std::optional<double> white, const Percentiles& percentiles) {
    Statistics row = empty_row(channel, percentiles);
    row.unique = 0;
    const CountedSamples samples(counts, static_cast<std::int64_t>(traits_of(depth).lowest), &percentiles, white);
    row.pixels = samples.n;
    if (samples.n > 0) run(std::type_identity<FromCounts>{}, samples, row);
    return row;
}

namespace {

Statistics from_floats(const ChannelAnalysis& channel, Detail detail, const Percentiles& percentiles) {
    Statistics row = empty_row(channel.channel, percentiles);
    row.pixels = core::counted(channel);
    row.nan = channel.nan;
    row.inf = channel.infinite;
    const std::uint64_t n = core::finite(channel);
    if (n == 0) return row;
    row.min = channel.minimum;
    row.max = channel.maximum;
    core::set_moments(row, core::central_moments(n, channel.moments), detail);
    if (detail == Detail::full) core::set_percentiles(row, percentiles, n, channel.order_statistics);
    return row;
}

/// Colours and bands as one population of floats.
Statistics all_from_floats(const Analysis& analysis, const Percentiles& percentiles) {
    Statistics row = empty_row(Channel::all, percentiles);
    std::uint64_t n = 0;
    for (const ChannelAnalysis& part : analysis.channels) {
        if (!core::is_pooled(part.channel)) continue;
        row.pixels += core::counted(part);
        row.nan += part.nan;
        row.inf += part.infinite;
        if (core::finite(part) == 0) continue;
        n += core::finite(part);
        row.min = row.min ? std::min(*row.min, static_cast<double>(part.minimum)) : part.minimum;
        row.max = row.max ? std::max(*row.max, static_cast<double>(part.maximum)) : part.maximum;
    }
    if (n == 0) return row;
    core::set_moments(row, core::moments_of_pooled(analysis), analysis.detail);
    if (analysis.detail == Detail::full) core::set_percentiles(row, percentiles, n, analysis.pooled_order_statistics);
    return row;
}

}  // namespace

std::vector<Statistics> statistics(const Analysis& analysis, const Percentiles& percentiles) {
    const bool floating = traits_of(analysis.depth).floating;
    std::vector<Statistics> rows;
    const std::optional<double> white = analysis.white > 0 ? std::optional(analysis.white) : std::nullopt;
    const auto add = [&](const ChannelAnalysis& found) {
        if (found.counts.empty()) return;
        rows.push_back(floating ? from_floats(found, analysis.detail, percentiles)
                                : core::from_counts(found.channel, analysis.depth, found.counts, white, percentiles));
    };
    for (const ChannelAnalysis& channel : analysis.channels)
        if (channel.channel != Channel::alpha) add(channel);
    if (core::has_pooled(analysis.channels)) {
        if (floating) {
            rows.push_back(all_from_floats(analysis, percentiles));
        } else {
            std::vector<std::uint64_t> counts;
            core::sum_of_pooled(analysis, counts);
            rows.push_back(core::from_counts(Channel::all, analysis.depth, counts, white, percentiles));
        }
    }
    if (const ChannelAnalysis* alpha = analysis.find(Channel::alpha)) add(*alpha);
    return rows;
}

}  // namespace gpuhist
