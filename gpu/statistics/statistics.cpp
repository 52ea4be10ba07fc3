#include "statistics/statistics.hpp"

#include <algorithm>
#include <tuple>

#include "core/analysis.hpp"
#include "statistics/bits.hpp"
#include "statistics/counted_samples.hpp"
#include "statistics/entropy.hpp"
#include "statistics/extremes.hpp"
#include "statistics/moments.hpp"
#include "statistics/percentiles.hpp"

namespace gpuhist {
namespace {

template <class... Each>
struct List {};

/// Statistics of all samples, `Moments` being their kind's, and of integers alone.
template <class Moments, class Order = core::CountedPercentiles>
using OfAll = List<core::Extremes, core::Unique, Moments, core::Entropy, Order>;
using OfIntegers = List<core::Clipped, core::EffectiveBits>;

/// Runs each statistic of the lists over the samples.
template <class Samples, class... Each, class... More>
void run(List<Each...>, List<More...>, const Samples& samples, Statistics& row) {
    std::tuple<Each..., More...> statistics{Each(samples)..., More(samples)...};
    samples.each([&](auto value, std::uint64_t count) {
        std::apply([&](auto&... each) { (each.accumulate(value, count), ...); }, statistics);
    });
    std::apply([&](const auto&... each) { (each.finish(row), ...); }, statistics);
}

/// Row in which nothing is known yet but the percentiles' names.
Statistics empty_row(Channel channel, const Percentiles& percentiles) {
    Statistics row;
    row.channel = channel;
    core::list_percentiles(row, percentiles);
    return row;
}

/// Counts of a channel, as all that follows from them takes them.
core::CountedChannel counted_of(const ChannelAnalysis& found, bool weighted = false) {
    return {found.counts,   found.values, core::counted(found), found.nan,
            found.infinite, found.masked, found.nodata,         weighted};
}

}  // namespace

void core::count_samples(Statistics& row, const CountedChannel& channel) {
    row.pixels = channel.samples + channel.masked + channel.nodata;
    row.valid = channel.samples - channel.nan - channel.infinite;
    row.masked = channel.masked;
    row.nodata = channel.nodata;
    row.nan = channel.nan;
    row.inf = channel.infinite;
}

Statistics core::from_counts(Channel name, Depth depth, const CountedChannel& channel, std::optional<double> white,
                             const Percentiles& percentiles) {
    const DepthTraits& traits = traits_of(depth);
    Statistics row = empty_row(name, percentiles);
    row.unique = 0;
    count_samples(row, channel);
    const Population population{depth, &percentiles, white};
    if (traits.counting == Counting::values && !traits.floating) {
        const CountedSamples samples(channel.counts, channel.values, population);
        if (!channel.weighted) {
            if (samples.n > 0) run(OfAll<Moments>{}, OfIntegers{}, samples, row);
            return row;
        }
        row.weight = samples.n;
        row.weighted_percentiles = row.percentiles;
        if (samples.n > 0) run(OfAll<Moments, WeightedPercentiles>{}, OfIntegers{}, samples, row);
        row.std_sample.reset();  // n − 1 has no meaning
        return row;
    }
    const RealSamples samples(channel.counts, channel.values, population);
    if (samples.n == 0) return row;
    if (traits.floating)
        run(OfAll<RealMoments>{}, List<>{}, samples, row);
    else
        run(OfAll<RealMoments>{}, OfIntegers{}, samples, row);
    return row;
}

namespace {

Statistics from_floats(const ChannelAnalysis& channel, Detail detail, const Percentiles& percentiles) {
    Statistics row = empty_row(channel.channel, percentiles);
    core::count_samples(row, counted_of(channel));
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
        row.pixels += part.pixels;
        row.valid += core::finite(part);
        row.masked += part.masked;
        row.nodata += part.nodata;
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
    const Counting counting = traits_of(analysis.depth).counting;
    std::vector<Statistics> rows;
    const std::optional<double> white = analysis.white > 0 ? std::optional(analysis.white) : std::nullopt;
    const auto add = [&](const ChannelAnalysis& found) {
        if (counting == Counting::bins) return rows.push_back(from_floats(found, analysis.detail, percentiles));
        rows.push_back(
            core::from_counts(found.channel, analysis.depth, counted_of(found, analysis.weighted), white, percentiles));
    };
    for (const ChannelAnalysis& channel : analysis.channels)
        if (channel.channel != Channel::alpha) add(channel);
    if (core::has_pooled(analysis.channels)) {
        if (counting == Counting::bins) {
            rows.push_back(all_from_floats(analysis, percentiles));
        } else {
            ChannelAnalysis all;
            all.channel = Channel::all;
            all.values = core::values_of_pooled(analysis);
            core::sum_of_pooled(analysis, all.counts);
            for (const ChannelAnalysis& channel : analysis.channels) {
                if (!core::is_pooled(channel.channel)) continue;
                all.pixels += channel.pixels;
                all.masked += channel.masked;
                all.nodata += channel.nodata;
                all.nan += channel.nan;
                all.infinite += channel.infinite;
            }
            add(all);
        }
    }
    if (const ChannelAnalysis* alpha = analysis.find(Channel::alpha)) add(*alpha);
    return rows;
}

}  // namespace gpuhist
