#include "gpuhist/io/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "gpuhist/dataset.hpp"

namespace gpuhist::io {
namespace {

constexpr std::size_t most_panels = 16;
constexpr std::uint32_t usual_bins = 256;
constexpr double all_shares = 1e12;  ///< counts that a column of a panel adds up to

/// Range of a channel of both sets, in the scale of the comparison.
Range range_of(const Range& a, const Range& b, double unit_a, double unit_b) {
    return {std::min(a.lower / unit_a, b.lower / unit_b), std::max(a.upper / unit_a, b.upper / unit_b)};
}

/// Bins over a range of sample values: integers have at least one value in each.
HistogramOptions bins_over(Depth depth, Range range) {
    const DepthTraits& traits = traits_of(depth);
    if (traits.floating) {
        if (range.lower == range.upper) range.upper = std::nextafter(range.upper + 1, HUGE_VAL);
        return {usual_bins, range};
    }
    range = {std::floor(range.lower), std::floor(range.upper) + 1};
    if (depth == Depth::u8) range = {0, 256};
    const double values = range.upper - range.lower;
    return {values < usual_bins ? static_cast<std::uint32_t>(values) : usual_bins, range};
}

/// Shares of a channel in a column of a panel.
std::optional<Histogram::Column> column_of(const Histogram& histogram, std::string_view channel, std::string name) {
    for (const Histogram::Column& column : histogram.columns) {
        if (channel_name(column) != channel) continue;
        Histogram::Column shares;
        shares.channel = Channel::named;
        shares.name = std::move(name);
        double all = 0;
        for (const std::uint64_t count : column.counts) all += static_cast<double>(count);
        for (const std::uint64_t count : column.counts)
            shares.counts.push_back(
                static_cast<std::uint64_t>(std::llround(static_cast<double>(count) / all * all_shares)));
        return shares;
    }
    return std::nullopt;
}

Statistics row_of(const Histogram::Column& column, const std::optional<double>& mean,
                  const std::optional<double>& std) {
    Statistics row;
    row.channel = column.channel;
    row.name = column.name;
    row.mean = mean;
    row.std = std;
    return row;
}

/// Panel of a channel; nothing if it has no bins.
std::optional<PlotPanel> panel_of(const ComparedNames& names, const ComparedSet& a, const ComparedSet& b,
                                  const ChannelComparison& channel) {
    const std::string_view name = channel_name(channel);
    const DepthSummary &summary_a = *a.summary().find(channel.depth_a), &summary_b = *b.summary().find(channel.depth_b);
    const ChannelSummary *channel_a = summary_a.find(name), *channel_b = summary_b.find(name);
    if (!channel_a || !channel_b || channel.valid_a == 0 || channel.valid_b == 0) return std::nullopt;
    const double unit_a = channel.of_white ? *summary_a.white : 1, unit_b = channel.of_white ? *summary_b.white : 1;
    const Range range = range_of(*summary_a.extremes(*channel_a), *summary_b.extremes(*channel_b), unit_a, unit_b);
    PlotPanel panel;
    panel.heading = name;
    panel.values = channel.of_white ? "fraction of white" : "value";
    panel.counted = "% of the samples";
    std::optional<Range> shown;
    bool second = false;
    for (const auto& [set, summary, unit] : {std::tuple(&a, &summary_a, unit_a), {&b, &summary_b, unit_b}}) {
        const HistogramOptions bins =
            channel.of_white && !traits_of(summary->depth).floating
                ? HistogramOptions{usual_bins, Range{0, std::max(unit + 1, static_cast<double>(usual_bins))}}
                : bins_over(summary->depth, {range.lower * unit, range.upper * unit});
        const auto histogram = set->summary().histogram(summary->depth, bins);
        if (!histogram) return std::nullopt;
        auto column = column_of(*histogram, name, std::string(second ? names.b : names.a));
        if (!column) return std::nullopt;
        if (second && column->name == panel.histogram.columns.front().name) column->name += " (b)";
        panel.rows.push_back(
            row_of(*column, second ? channel.mean_b : channel.mean_a, second ? channel.std_b : channel.std_a));
        panel.histogram.columns.push_back(std::move(*column));
        if (!shown) shown = Range{bins.range->lower / unit, bins.range->upper / unit};
        second = true;
    }
    panel.histogram.range = *shown;
    panel.histogram.unit = 100 / all_shares;
    panel.whole = !channel.of_white && !traits_of(channel.depth_a).floating;
    return panel;
}

}  // namespace

Record record_of(const ComparedNames& names, const Comparison& found) {
    Record record{ColumnFile::comparison};
    record.about.a = names.a;
    record.about.b = names.b;
    record.about.group = names.group;
    for (const ChannelComparison& channel : found.channels)
        record.rows.emplace_back(record.about).comparison = &channel;
    return record;
}

Plot comparison_plot(const ComparedNames& names, const ComparedSet& a, const ComparedSet& b, const Comparison& found) {
    Plot plot;
    plot.title = std::string(names.a) + " and " + std::string(names.b);
    for (const ChannelComparison& channel : found.channels) {
        if (plot.panels.size() == most_panels) break;
        if (auto panel = panel_of(names, a, b, channel)) plot.panels.push_back(std::move(*panel));
    }
    return plot;
}

}  // namespace gpuhist::io
