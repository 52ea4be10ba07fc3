#include "gpuhist/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "core/analysis.hpp"
#include "core/bins.hpp"
#include "core/codes.hpp"
#include "core/integers.hpp"
#include "core/validate.hpp"
#include "core/weights.hpp"
#include "gpuhist/error.hpp"
#include "statistics/counted_samples.hpp"

namespace gpuhist {
namespace {

/// Column of a channel, without its bins.
Histogram::Column column_of(const ChannelAnalysis& channel) {
    return {channel, channel.channel, {}, channel.below, channel.above, channel.name};
}

/// Gathers one count per value, for all values from `lowest` on or for those that occur, into equal bins over [lower,
/// upper).
Histogram::Column gather(const ChannelAnalysis& channel, std::int64_t lowest, std::int64_t lower, std::int64_t upper,
                         std::uint32_t bins) {
    Histogram::Column column = column_of(channel);
    column.counts.assign(bins, 0);
    const auto add = [&](std::uint64_t code, std::uint64_t count) {
        const std::int64_t v = lowest + static_cast<std::int64_t>(code);
        if (v < lower)
            column.below += count;
        else if (v >= upper)
            column.above += count;
        else
            column.counts[static_cast<std::size_t>(static_cast<core::i128>(v - lower) * bins / (upper - lower))] +=
                count;
    };
    for (std::size_t code = 0; code < channel.counts.size(); ++code) add(code, channel.counts[code]);
    for (FrequencyReader reader(channel.values.runs()); reader.next();) add(reader.key(), reader.count());
    return column;
}

/// Bins over a range, filled by ascending values. The upper end may be in the last bin. If a range ends at the largest
/// double, that double is in the last bin, because no finite value is above it.
class AscendingBins {
  public:
    AscendingBins(const DepthTraits& traits, const Range& range, bool closed, std::vector<std::uint64_t>& counts)
        : whole_(!traits.floating),
          closed_(closed || range.upper == std::numeric_limits<double>::max()),
          range_(range),
          counts_(counts),
          bins_(static_cast<std::uint32_t>(counts.size())),
          lower_(whole_ ? halves(range.lower) : 0),
          width_(whole_ ? halves(range.upper) - lower_ : 1) {}

    void add(double value, std::uint64_t count, std::uint64_t& below, std::uint64_t& above) {
        if (value < range_.lower)
            below += count;
        else if (value > range_.upper || (value == range_.upper && !closed_))
            above += count;
        else
            counts_[bin_of(value)] += count;
    }

  private:
    /// Twice a number that is whole, or midway between two whole numbers.
    static std::int64_t halves(double value) { return static_cast<std::int64_t>(2 * value); }
    std::uint32_t bin_of(double value) {
        if (whole_) {
            const core::i128 bin = static_cast<core::i128>(halves(value) - lower_) * bins_ / width_;
            return static_cast<std::uint32_t>(std::min<core::i128>(bin, bins_ - 1));
        }
        while (bin_ + 1 < bins_ && value >= core::any_bin_edge(range_, bins_, bin_ + 1)) ++bin_;
        return bin_;
    }

    bool whole_, closed_;
    Range range_;
    std::vector<std::uint64_t>& counts_;
    std::uint32_t bins_, bin_ = 0;
    std::int64_t lower_, width_;  ///< in halves
};

/// Lowest and highest finite sample of all channels.
std::optional<Range> extremes_of(const Analysis& analysis) {
    std::optional<Range> all;
    for (const ChannelAnalysis& channel : analysis.channels)
        for (const auto& one : {core::extremes_of(channel.values), core::extremes_of(analysis.depth, channel.counts)}) {
            if (!one) continue;
            all = all ? Range{std::min(all->lower, one->lower), std::max(all->upper, one->upper)} : *one;
        }
    return all;
}

void validate_whole(const DepthTraits& traits, const Range& range) {
    const double limit = 0x1p53;  // whole doubles beyond may stand for their neighbors
    if (range.lower != std::floor(range.lower) || range.upper != std::floor(range.upper) ||
        std::abs(range.lower) > limit || std::abs(range.upper) > limit)
        throw InvalidArgument(std::string("range for ") + traits.name +
                              " samples: the bounds must be whole numbers from -2^53 to 2^53");
}

/// Number of bins where each is to hold one whole number.
std::uint32_t bin_a_value(const Range& range) {
    if (range.upper - range.lower > core::max_bins)
        throw InvalidArgument("one bin per value over this range: more than " + std::to_string(core::max_bins) +
                              " bins");
    return static_cast<std::uint32_t>(range.upper - range.lower);
}

/// Histogram of samples that are sorted, and of f16.
void histogram_by_value(const Analysis& analysis, const HistogramOptions& options, Histogram& result) {
    const DepthTraits& traits = traits_of(analysis.depth);
    const std::optional<Range> all = extremes_of(analysis);
    const bool closed = !options.range && options.bins != 0;
    if (options.range)
        result.range = *options.range;
    else if (options.bins == 0)
        result.range = all ? Range{all->lower, all->upper + 1} : Range{0, 1};
    else if (all && all->lower == all->upper && !traits.floating)
        result.range = {all->lower - 0.5, all->upper + 0.5};
    else
        result.range = core::found_range(all.has_value(), all ? all->lower : 0, all ? all->upper : 0);
    core::validate(result.range);
    if (!traits.floating && options.range) validate_whole(traits, result.range);
    const std::uint32_t bins = options.bins ? options.bins : bin_a_value(result.range);
    for (const ChannelAnalysis& channel : analysis.channels) {
        const core::RealSamples samples(channel.counts, channel.values, {analysis.depth});
        Histogram::Column& column = result.columns.emplace_back(column_of(channel));
        column.counts.assign(bins, 0);
        AscendingBins filled(traits, result.range, closed, column.counts);
        samples.each([&](double value, std::uint64_t count) { filled.add(value, count, column.below, column.above); });
    }
}

}  // namespace

double Histogram::edge(std::size_t bin) const {
    const std::size_t bins = columns.empty() ? 1 : columns.front().counts.size();
    return core::any_bin_edge(range, static_cast<std::uint32_t>(bins), static_cast<std::uint32_t>(bin));
}

Histogram histogram(const Analysis& analysis, const HistogramOptions& options) {
    Histogram result;
    result.weighted = analysis.weighted;
    if (analysis.weighted) result.unit = core::weight_unit(analysis.depth);
    const DepthTraits& traits = traits_of(analysis.depth);
    if (options.bins > core::max_bins && traits.counting != Counting::bins)
        throw InvalidArgument(std::to_string(options.bins) + " bins: at most " + std::to_string(core::max_bins));
    if (options.bins == 0 && traits.floating)
        throw InvalidArgument(std::string("one bin per value needs samples that are integers, these are ") +
                              traits.name);
    if (traits.counting == Counting::bins) {
        result.range = analysis.range;
        for (const ChannelAnalysis& channel : analysis.channels) {
            if (options.bins != channel.counts.size() || (options.range && !(*options.range == analysis.range)))
                throw InvalidArgument(std::string(traits.name) +
                                      " samples were counted in other bins than those asked for: analyze them again");
            result.columns.push_back(column_of(channel));
            result.columns.back().counts = channel.counts;
        }
        return result;
    }

    if (traits.counting == Counting::sorted || traits.floating) {
        histogram_by_value(analysis, options, result);
        return result;
    }
    result.range = options.range.value_or(counted_range(traits));
    core::validate(result.range);
    validate_whole(traits, result.range);
    const auto lower = static_cast<std::int64_t>(result.range.lower),
               upper = static_cast<std::int64_t>(result.range.upper);
    const auto bins = options.bins ? options.bins : bin_a_value(result.range);
    const auto lowest = static_cast<std::int64_t>(traits.lowest);
    for (const ChannelAnalysis& channel : analysis.channels)
        result.columns.push_back(gather(channel, lowest, lower, upper, bins));
    return result;
}

}  // namespace gpuhist
