// Panels of plots: the range and the bins in which values are shown.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/plot.hpp"

namespace gpuhist::io {
namespace {

constexpr std::uint32_t float_bins = 256, most_bins = 512, fewest_bins = 64;

using Includes = bool (*)(Channel);

bool all_channels(Channel) {
    return true;
}

/// Returns whether a channel affects the range of values. Alpha has a range of its own, and luma has that of the
/// colors.
bool gives_range(Channel channel) {
    return channel != Channel::alpha && channel != Channel::luma;
}

void check(const PlotRange& range) {
    if (range.kind == PlotRange::Kind::given && !(range.values.lower < range.values.upper))
        throw InvalidArgument("a range to plot has a lower bound that is less than its upper bound");
}

// --- Whole numbers ---------------------------------------------------------------------------------------------------

/// Values that occur: all are `lowest` and a multiple of `step`, which is 0 of a single value.
struct Occurring {
    bool any = false;
    std::int64_t lowest = 0, highest = 0, step = 0;
};

template <class Channels>
Occurring occurring(const Channels& channels, std::int64_t first_value, Includes includes) {
    Occurring all;
    for (const auto& channel : channels) {
        if (!includes(channel.channel) || !gives_range(channel.channel)) continue;
        const auto add = [&](std::uint64_t code) {
            const auto value = first_value + static_cast<std::int64_t>(code);
            if (!std::exchange(all.any, true)) all.lowest = all.highest = value;
            all.step = all.step == 1 ? 1 : std::gcd(all.step, value - all.lowest);
            all.lowest = std::min(all.lowest, value);
            all.highest = std::max(all.highest, value);
        };
        for (std::size_t code = 0; code < channel.counts.size(); ++code)
            if (channel.counts[code] != 0) add(code);
        for (FrequencyReader reader(channel.values.runs()); reader.next();) add(reader.key());
    }
    return all;
}

/// Range of whole numbers that a range reaches, as far as all whole numbers and their halves are doubles.
Range whole_range(const Range& range) {
    constexpr double limit = 0x1p52;
    return {std::clamp(std::floor(range.lower), -limit, limit - 1),
            std::clamp(std::ceil(range.upper), 1 - limit, limit)};
}

/// Whole numbers that are shown, and bins over them.
struct WholeBins {
    std::int64_t lower = 0, upper = 0;
    std::uint32_t bins = 0;
};

/// Returns whether all bins have the same number of possible values, so that none is higher only for that reason.
bool even(const WholeBins& bins, const Occurring& found) {
    if (found.step <= 1) return true;
    const std::int64_t width = (bins.upper - bins.lower) / bins.bins;
    const auto values_below = [&](std::int64_t edge) {  // and over a place far below
        const std::int64_t distance = edge - 1 - found.lowest;
        return distance >= 0 ? distance / found.step : -((-distance + found.step - 1) / found.step);
    };
    std::int64_t last = values_below(bins.lower), each = -1;
    for (std::int64_t edge = bins.lower + width; edge <= bins.upper; edge += width) {
        const std::int64_t next = values_below(edge);
        if (each >= 0 && next - last != each) return false;
        each = next - last;
        last = next;
    }
    return true;
}

/// Bins of equally many whole numbers: as many as can be that hold equally many of the values, up to `most_bins`.
WholeBins whole_bins(std::int64_t lower, std::int64_t upper, const Occurring& found) {
    const std::int64_t extent = upper - lower;
    const auto most = static_cast<std::uint32_t>(std::min<std::int64_t>(extent, most_bins));
    for (const bool must_be_even : {true, false})
        for (std::uint32_t bins = most; bins >= std::min(most, fewest_bins); --bins) {
            const WholeBins some{lower, upper, bins};
            if (extent % bins == 0 && (!must_be_even || even(some, found))) return some;
        }
    // The extent has no such divisor: the last bin reaches beyond.
    const std::int64_t width = (extent + most_bins - 1) / most_bins, bins = (extent + width - 1) / width;
    return {lower, lower + bins * width, static_cast<std::uint32_t>(bins)};
}

WholeBins shown(const DepthTraits& type, const Occurring& found, std::optional<double> white, const PlotRange& range) {
    const auto first = static_cast<std::int64_t>(type.lowest), end = first + type.values;
    if (range.kind == PlotRange::Kind::given) {
        const Range given = whole_range(range.values);
        return whole_bins(static_cast<std::int64_t>(given.lower), static_cast<std::int64_t>(given.upper), found);
    }
    if (range.kind == PlotRange::Kind::full || (first < 0 && !found.any)) return whole_bins(first, end, found);
    if (first < 0) return whole_bins(found.lowest, found.highest + 1, found);
    const bool says_white = white && *white >= 1 && *white < type.highest;
    // A single value does not tell how many bits its images have.
    if (found.lowest == found.highest && !says_white) return whole_bins(first, end, found);
    const std::int64_t top = std::max(found.highest, says_white ? static_cast<std::int64_t>(*white) : 0);
    return whole_bins(0, std::min(end, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(top) + 1))),
                      found);
}

/// Label of the axis: `value (12 of 16 bits, in steps of 16)`.
std::string axis_text(const DepthTraits& type, const Occurring& found, const WholeBins& bins, const PlotRange& range) {
    std::string facts;
    const bool regular = found.step > 1 && (found.highest - found.lowest) / found.step >= 31;
    const auto step = static_cast<std::uint64_t>(found.step);
    const auto width = [](std::uint64_t value) { return static_cast<int>(std::bit_width(value)); };
    const int bits = width(static_cast<std::uint64_t>(bins.upper - 1)) -
                     (regular && std::has_single_bit(step) ? width(step) - 1 : 0),
              of = width(type.values - 1);
    if (range.kind == PlotRange::Kind::automatic && type.lowest == 0 && bits < of)
        facts = std::to_string(bits) + " of " + std::to_string(of) + " bits";
    if (regular) facts += (facts.empty() ? "" : ", ") + std::string("in steps of ") + std::to_string(found.step);
    return facts.empty() ? "value" : "value (" + facts + ")";
}

// --- Floats ----------------------------------------------------------------------------------------------------------

/// Range that includes its upper end. Of the largest double it is the end itself, which histograms then count in.
Range closed(double lower, double upper) {
    if (lower == upper) {
        constexpr double most = std::numeric_limits<double>::max();
        const double half = std::max(0.5, std::abs(lower) * 0x1p-25);
        return {std::max(lower - half, -most), std::min(lower + half, most)};
    }
    const double above = std::nextafter(upper, std::numeric_limits<double>::infinity());
    return {lower, std::isfinite(above) ? above : upper};
}

/// Ranks of the 0.1th and the 99.9th percentile among n, the inner ones where they are between two; of very few values
/// the first and the last.
std::pair<std::uint64_t, std::uint64_t> outer_ranks(std::uint64_t n) {
    const std::uint64_t outside = n < 20 ? 0 : (n - 1 + 999) / 1000;
    return {outside, n - 1 - outside};
}

/// Verdict on counts in bins over all finite values: whether percentiles 0.1 to 99.9 may take less than half of them.
template <class Columns>
bool may_be_stretched(const Columns& columns, Includes includes) {
    std::size_t first = float_bins, last = 0;
    for (const auto& column : columns) {
        if (!includes(column.channel) || !gives_range(column.channel)) continue;
        const std::uint64_t n = std::accumulate(column.counts.begin(), column.counts.end(), std::uint64_t{0});
        if (n == 0) continue;
        const auto [low, high] = outer_ranks(n);
        std::uint64_t below = 0;
        for (std::size_t bin = 0; bin < column.counts.size(); ++bin) {
            const std::uint64_t until = below + column.counts[bin];
            if (below <= low && low < until) first = std::min(first, bin);
            if (below <= high && high < until) last = std::max(last, bin);
            below = until;
        }
    }
    return first <= last && 2 * (last - first) < float_bins + 2;
}

/// Verdict on an analysis: whether it has the bins of all finite values that plots have.
bool has_plot_bins(const Analysis& image) {
    return image.upper_closed && !image.channels.empty() && image.channels.front().counts.size() == float_bins;
}

bool any_finite(const Analysis& image) {
    return std::any_of(image.channels.begin(), image.channels.end(),
                       [](const ChannelAnalysis& channel) { return channel.valid() > 0; });
}

/// Extent of values.
struct Extent {
    double lower = std::numeric_limits<double>::infinity(), upper = -lower;

    void add(const Extent& more) {
        lower = std::min(lower, more.lower);
        upper = std::max(upper, more.upper);
    }
    bool any() const { return lower <= upper; }
};

/// Extent from percentile 0.1 to 99.9.
Extent inner_extent(const FrequencyTable& values) {
    Extent extent;
    if (values.samples() == 0) return extent;
    const auto [low, high] = outer_ranks(values.samples());
    FrequencyReader reader(values.runs());
    for (std::uint64_t below = 0; below <= high && reader.next(); below += reader.count()) {
        const double value = reader.value();
        if (below <= low) extent.lower = value;
        extent.upper = value;
    }
    return extent;
}

/// Takes infinite samples out of the counts outside of the range.
void leave_out_infinite(Histogram::Column& column, std::uint64_t minus, std::uint64_t plus) {
    column.below -= std::min(column.below, minus);
    column.above -= std::min(column.above, plus);
}

/// Extent from percentile 0.1 to 99.9 of each channel, in the order of `part.channels`.
std::vector<Extent> inner_extents(const Summary& set, const DepthSummary& part) {
    std::vector<Extent> extents;
    if (traits_of(part.depth).counting != Counting::values) {
        for (const ChannelSummary& channel : part.channels) extents.push_back(inner_extent(channel.values));
        return extents;
    }
    const std::vector<SummaryRow> rows = set.numbers(part.depth, {}, Percentiles({0.1, 99.9})).rows;
    for (const ChannelSummary& channel : part.channels) {
        Extent& extent = extents.emplace_back();
        for (const SummaryRow& row : rows)
            if (channel_name(row.statistics) == channel_name(channel) && row.statistics.percentile(0.1))
                extent = {*row.statistics.percentile(0.1), *row.statistics.percentile(99.9)};
    }
    return extents;
}

/// Panel of those channels of floats, or of integers that are sorted, whose values were counted, without rows.
PlotPanel value_panel(const Summary& set, const DepthSummary& part, Includes includes, const PlotRange& range) {
    PlotPanel panel;
    const DepthTraits& type = traits_of(part.depth);
    const auto show = [&](Range values) {
        if (!type.floating)
            values = whole_range(values);
        else if (!std::isfinite(float_bins / (values.upper - values.lower)))
            values = closed(values.lower, values.lower);  // too narrow for bins
        // Whole numbers have one bin each where they are few.
        const bool few = !type.floating && values.upper - values.lower < float_bins;
        const auto bins = few ? static_cast<std::uint32_t>(values.upper - values.lower) : float_bins;
        panel.histogram = *set.histogram(part.depth, {bins, values});
    };
    const auto show_all = [&](const Extent& extent) {
        if (!extent.any())
            show({0, 1});
        else if (type.floating)
            show(closed(extent.lower, extent.upper));
        else
            show({extent.lower, std::floor(extent.upper) + 1});
    };
    const auto extent_of = [&](const auto& one) {
        Extent extent;
        for (std::size_t i = 0; i < part.channels.size(); ++i) {
            const ChannelSummary& channel = part.channels[i];
            if (includes(channel.channel) && gives_range(channel.channel) && part.extremes(channel)) extent.add(one(i));
        }
        return extent;
    };
    if (range.kind == PlotRange::Kind::given) {
        show(range.values);
    } else {
        const Extent all = extent_of([&](std::size_t i) {
            const Range extremes = *part.extremes(part.channels[i]);
            return Extent{extremes.lower, extremes.upper};
        });
        show_all(all);
        if (range.kind == PlotRange::Kind::automatic && panel.histogram.columns.front().counts.size() == float_bins &&
            may_be_stretched(panel.histogram.columns, includes)) {
            const std::vector<Extent> extents = inner_extents(set, part);
            const Extent inner = extent_of([&](std::size_t i) { return extents[i]; });
            if (inner.upper - inner.lower < all.upper / 2 - all.lower / 2) {
                show_all(inner);
                panel.values = "value (p0.1 to p99.9)";
            }
        }
    }
    for (Histogram::Column& column : panel.histogram.columns)
        if (const ChannelSummary* channel = part.find(channel_name(column))) {
            const bool bins = type.counting == Counting::bins;
            leave_out_infinite(column, bins ? channel->values.minus_infinite : channel->below,
                               bins ? channel->values.plus_infinite : channel->above);
        }
    return panel;
}

/// Panel of floats in the bins in which they were counted. Where these were not of all values, below and above may
/// both have infinite samples, of unknown sign; these are taken for positive ones first.
template <class Channels>
PlotPanel counted_panel(Histogram histogram, const Channels& channels) {
    PlotPanel panel;
    panel.histogram = std::move(histogram);
    for (Histogram::Column& column : panel.histogram.columns)
        for (const auto& channel : channels)
            if (channel_name(channel) == channel_name(column)) {
                const std::uint64_t plus = std::min(column.above, channel.infinite);
                leave_out_infinite(column, channel.infinite - plus, plus);
            }
    return panel;
}

/// Panel of integers, without rows; `histogram` makes one.
template <class Channels, class Make>
PlotPanel whole_panel(const DepthTraits& type, const Channels& channels, std::optional<double> white, Includes includes,
                      const PlotRange& range, const Make& histogram) {
    const Occurring found = occurring(channels, static_cast<std::int64_t>(type.lowest), includes);
    const WholeBins bins = shown(type, found, white, range);
    PlotPanel panel;
    panel.histogram = histogram({bins.bins, Range{static_cast<double>(bins.lower), static_cast<double>(bins.upper)}});
    panel.values = axis_text(type, found, bins, range);
    panel.whole = true;
    return panel;
}

/// Leaves those channels alone.
void keep(PlotPanel& panel, const std::vector<Statistics>& rows, Includes includes) {
    auto& columns = panel.histogram.columns;
    columns.erase(std::remove_if(columns.begin(), columns.end(),
                                 [&](const Histogram::Column& column) { return !includes(column.channel); }),
                  columns.end());
    for (const Statistics& row : rows)
        if (includes(row.channel)) panel.rows.push_back(row);
}

bool is_of_gray(Channel channel) {
    return channel == Channel::gray;
}
bool is_of_gray_alpha(Channel channel) {
    return channel == Channel::gray || channel == Channel::alpha;
}
bool is_of_colors(Channel channel) {
    return is_color(channel) || channel == Channel::luma || channel == Channel::alpha;
}

}  // namespace

bool plot_needs_values(const Analysis& image, const PlotRange& range) {
    if (traits_of(image.depth).counting != Counting::bins || !any_finite(image)) return false;
    return range.kind == PlotRange::Kind::given || !has_plot_bins(image) ||
           (range.kind == PlotRange::Kind::automatic && may_be_stretched(image.channels, all_channels));
}

PlotPanel plot_panel(const Analysis& image, std::vector<Statistics> rows, const PlotRange& range,
                     const std::vector<FrequencyTable>& values) {
    check(range);
    const DepthTraits& type = traits_of(image.depth);
    PlotPanel panel;
    if (type.counting == Counting::sorted || (type.counting == Counting::values && type.floating)) {
        Summary set;
        set.add(image);
        panel = value_panel(set, *set.find(image.depth), all_channels, range);
    } else if (!type.floating) {
        panel =
            whole_panel(type, image.channels, image.white > 0 ? std::optional(image.white) : std::nullopt, all_channels,
                        range, [&](const HistogramOptions& options) { return histogram(image, options); });
    } else if (!values.empty() && plot_needs_values(image, range)) {
        Summary set;
        set.add(image, values);
        panel = value_panel(set, *set.find(image.depth), all_channels, range);
    } else {
        const auto bins = image.channels.empty() ? 1 : image.channels.front().counts.size();
        panel = counted_panel(histogram(image, {static_cast<std::uint32_t>(bins), std::nullopt}), image.channels);
    }
    panel.rows = std::move(rows);
    return panel;
}

std::vector<PlotPanel> plot_panels(const Summary& set, Depth depth, const std::vector<Statistics>& rows,
                                   const PlotRange& range) {
    check(range);
    std::vector<PlotPanel> panels;
    const DepthSummary* part = set.find(depth);
    if (!part) return panels;
    const DepthTraits& type = traits_of(depth);
    const bool colors = part->find(Channel::red) != nullptr;
    const struct {
        const char* name;
        Includes includes;
    } kinds[] = {{"gray", colors ? is_of_gray : is_of_gray_alpha}, {"color", is_of_colors}, {"bands", is_band}};
    for (const auto& [name, includes] : kinds) {
        const ChannelSummary* first = nullptr;
        for (const ChannelSummary& channel : part->channels)
            if (!first && includes(channel.channel) && channel.channel != Channel::alpha) first = &channel;
        if (!first) continue;
        PlotPanel panel;
        const auto make = [&](const HistogramOptions& options) { return *set.histogram(depth, options); };
        if (type.counting == Counting::values && !type.floating)
            panel = whole_panel(type, part->channels, part->white, includes, range, make);
        else if (part->values_counted || type.counting == Counting::values)
            panel = value_panel(set, *part, includes, range);
        else if (part->range)
            panel =
                counted_panel(make({static_cast<std::uint32_t>(first->counts.size()), std::nullopt}), part->channels);
        else
            continue;
        keep(panel, rows, includes);
        const bool bands = is_band(first->channel) && part->images_of_bands() > 0;
        const std::uint64_t images = bands ? part->images_of_bands() : first->images;
        panel.heading = std::to_string(images) + (images == 1 ? " image  " : " images  ") + type.name + ", " + name;
        panels.push_back(std::move(panel));
    }
    return panels;
}

}  // namespace gpuhist::io
