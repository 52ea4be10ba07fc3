#include "gpuhist/histogram.hpp"

#include <cmath>
#include <string>

#include "core/analysis.hpp"
#include "core/bins.hpp"
#include "core/integers.hpp"
#include "core/validate.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist {
namespace {

/// Gathers one count per value, from `lowest` on, into equal bins over [lower, upper).
Histogram::Column gather(const ChannelAnalysis& channel, std::int64_t lowest, std::int64_t lower, std::int64_t upper,
                         std::uint32_t bins) {
    Histogram::Column column;
    column.channel = channel.channel;
    column.counts.assign(bins, 0);
    for (std::size_t i = 0; i < channel.counts.size(); ++i) {
        const std::int64_t v = lowest + static_cast<std::int64_t>(i);
        if (v < lower)
            column.below += channel.counts[i];
        else if (v >= upper)
            column.above += channel.counts[i];
        else
            column.counts[static_cast<std::size_t>(static_cast<core::i128>(v - lower) * bins / (upper - lower))] +=
                channel.counts[i];
    }
    return column;
}

}  // namespace

double Histogram::edge(std::size_t bin) const {
    const std::size_t bins = columns.empty() ? 1 : columns.front().counts.size();
    return core::bin_edge(range.lower, range.upper, static_cast<std::uint32_t>(bins), static_cast<std::uint32_t>(bin));
}

Histogram histogram(const Analysis& analysis, const HistogramOptions& options) {
    Histogram result;
    const DepthTraits& traits = traits_of(analysis.depth);
    if (traits.values == 0) {
        if (options.bins == 0)
            throw InvalidArgument(std::string("one bin per value needs 8- or 16-bit samples, these are ") +
                                  traits.name);
        result.range = analysis.range;
        for (const ChannelAnalysis& channel : analysis.channels) {
            if (options.bins != channel.counts.size() || (options.range && !(*options.range == analysis.range)))
                throw InvalidArgument(std::string(traits.name) +
                                      " samples were counted in other bins than those asked for: analyse them again");
            result.columns.push_back({channel.channel, channel.counts, channel.below, channel.above, channel.nan});
        }
        return result;
    }

    if (options.bins > core::max_bins)
        throw InvalidArgument(std::to_string(options.bins) + " bins: at most " + std::to_string(core::max_bins));
    result.range = options.range.value_or(core::counted_range(traits));
    core::validate(result.range);
    const double limit = 0x1p53;  // whole doubles beyond may stand for their neighbours
    if (result.range.lower != std::floor(result.range.lower) || result.range.upper != std::floor(result.range.upper) ||
        std::abs(result.range.lower) > limit || std::abs(result.range.upper) > limit)
        throw InvalidArgument("range for 8- and 16-bit samples: the bounds must be whole numbers");
    const auto lower = static_cast<std::int64_t>(result.range.lower),
               upper = static_cast<std::int64_t>(result.range.upper);
    if (options.bins == 0 && upper - lower > core::max_bins)
        throw InvalidArgument("one bin per value over this range: more than " + std::to_string(core::max_bins) +
                              " bins");
    const auto lowest = static_cast<std::int64_t>(traits.lowest);
    const auto bins = options.bins ? options.bins : static_cast<std::uint32_t>(upper - lower);
    for (const ChannelAnalysis& channel : analysis.channels)
        if (!channel.counts.empty()) result.columns.push_back(gather(channel, lowest, lower, upper, bins));
    return result;
}

}  // namespace gpuhist
