#include "plan/finish.hpp"

#include <algorithm>
#include <utility>

#include "core/analysis.hpp"
#include "core/bins.hpp"
#include "core/channels.hpp"
#include "core/codes.hpp"
#include "dataset/frequency_table.hpp"

namespace gpuhist::plan {
namespace {

/// Moves samples at the upper end of the range into the last bin, which was counted as open at that end.
void close_range(Analysis& analysis) {
    for (ChannelAnalysis& channel : analysis.channels) {
        const std::uint64_t plus_infinite = channel.infinite - channel.below;  // nothing finite lies below
        channel.counts.back() += channel.above - plus_infinite;
        channel.above = plus_infinite;
    }
}

/// Takes nodata samples out of counts by value.
void take_out(const rules::SampleRule& rule, Depth depth, ChannelAnalysis& channel) {
    if (!rule.any()) return;
    for (std::size_t code = 0; code < channel.counts.size(); ++code)
        if (channel.counts[code] != 0 && rule(core::value_at(depth, code)))
            channel.nodata += std::exchange(channel.counts[code], 0);
    const std::uint64_t before = channel.values.samples();
    channel.values = core::filtered(channel.values, [&](double value) { return !rule(value); });
    channel.nodata += before - channel.values.samples();
}

/// Adds the measures of a request that have no findings of their own. The order is that of the enumeration.
void complete(const Measures& requested, std::vector<Measured>& measured) {
    for (const MeasureTraits& traits : all_measures)
        if (requested.has(traits.measure) && !traits.reads_pixels) measured.push_back({traits.measure, 0, {}});
    std::sort(measured.begin(), measured.end(),
              [](const Measured& a, const Measured& b) { return a.measure < b.measure; });
}

}  // namespace

Range found_range(const std::vector<Analysis>& found) {
    ChannelAnalysis all;
    for (const Analysis& part : found)
        for (const ChannelAnalysis& channel : part.channels) core::add_samples(all, channel);
    return core::found_range(all.valid() > 0, all.minimum, all.maximum);
}

void assemble(const Plan& plan, const ImageView& image, std::vector<Analysis>& found, Analysis& result) {
    const auto pass_of = [&](std::size_t i) -> const Pass& {
        return plan.passes[plan.passes.size() - found.size() + i];
    };
    std::vector<Measured> measured;
    for (std::size_t i = 0; i < found.size(); ++i)
        if (pass_of(i).role == Role::measures)
            measured.insert(measured.end(), found[i].measured.begin(), found[i].measured.end());
    if (core::colors_of(image) > 0) complete(plan.request.measures, measured);
    if (!plan.parts()) return void(result.measured = std::move(measured));
    Analysis whole;
    bool first = true;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const Pass& pass = pass_of(i);
        Analysis& part = found[i];
        if (pass.role == Role::pooled)
            whole.pooled_order_statistics = std::move(part.channels.front().order_statistics);
        if (pass.role != Role::channels) continue;
        if (plan.finds_range) close_range(part);
        if (std::exchange(first, false)) {
            whole = std::move(part);
            if (whole.channels.size() == 1) whole.channels.front().channel = core::channel_at(image, 0);
            continue;
        }
        whole.channels.push_back(std::move(part.channels.front()));
        whole.channels.back().channel = core::channel_at(image, pass.first);
    }
    if (core::first_band(image) == 0) whole.brightness.reset();
    whole.upper_closed = plan.finds_range;
    whole.measured = std::move(measured);
    result = std::move(whole);
}

void exclude(const Plan& plan, const ImageView& image, const rules::ClassCounts& counts, const Analysis* luma,
             Analysis& result) {
    const rules::ImageRules& rules = plan.rules;
    const bool substituted = plan.substituted();
    for (ChannelAnalysis& channel : result.channels) {
        const int position = core::position_of(image, channel.channel);
        const auto [masked, nodata] = rules::excluded(counts, static_cast<std::uint64_t>(image.pixels()), position);
        if (substituted) {
            channel.masked = masked;
            channel.nodata = nodata;
            channel.nan -= masked + nodata;
        } else if (rules.nodata_any()) {
            channel.nodata = channel.masked - masked;
            channel.masked = masked;
        } else if (position >= 0) {
            take_out(rules[position], image.depth, channel);
        } else if (luma) {
            const std::uint64_t unseen = channel.masked;
            channel = *luma->find(Channel::luma);
            channel.nodata = channel.masked - unseen;
            channel.masked = unseen;
        }
    }
    if (!substituted && !rules.nodata_any() && result.brightness) {
        if (luma) result.brightness = luma->brightness;
        if (result.channels.size() == 1) result.brightness = core::brightness_of(result.channels[0]);
    }
    if (!rules.alpha_left_out()) return;
    core::drop_channels(result, [](Channel one) { return one == Channel::alpha; });
    if (image.samples != Samples::gray_alpha) return;
    core::drop_channels(result, [](Channel one) { return one != Channel::red; });
    result.channels.front().channel = Channel::gray;
    result.pooled_order_statistics.clear();
}

void weigh(Analysis& result, std::uint64_t weight) {
    for (ChannelAnalysis& channel : result.channels) {
        for (std::uint64_t& count : channel.counts) count *= weight;  // 2^40 pixels of f16 fit
        channel.below *= weight;
        channel.above *= weight;
        channel.values = core::multiplied(channel.values, weight);
    }
    result.brightness.reset();
    result.weighted = true;
}

void drop_luma(Analysis& result) {
    core::drop_channels(result, [](Channel one) { return one == Channel::luma; });
}

}  // namespace gpuhist::plan
