#include "plan/result.hpp"

#include <algorithm>
#include <vector>

#include "core/analysis.hpp"
#include "gpuhist/error.hpp"
#include "plan/float_details.hpp"

namespace gpuhist {
namespace core {
namespace {

/// Order statistics of all groups, at ascending ranks, each once.
void read_ranks(const FloatDetails& details, int channel, std::vector<OrderStatistic>& order) {
    order.clear();
    const FloatRankGroup* groups = details.group;
    for (int group = 0; group < details.groups; ++group) {
        const FloatRanks& ranks = groups[group].ranks[channel];
        for (int i = 0; i < ranks.count; ++i) order.push_back({ranks.rank[i], ranks.value[i]});
    }
    std::sort(order.begin(), order.end(),
              [](const OrderStatistic& a, const OrderStatistic& b) { return a.rank < b.rank; });
    const auto same = [](const OrderStatistic& a, const OrderStatistic& b) { return a.rank == b.rank; };
    order.erase(std::unique(order.begin(), order.end(), same), order.end());
}

/// Moments and order statistics into an analysis that has its channels.
void read_float_details(const ImageResult& result, const FloatDetails& details, Analysis& analysis) {
    for (int c = 0; c < result.channel_count; ++c) {
        ChannelAnalysis& channel = analysis.channels[static_cast<std::size_t>(c)];
        channel.moments = details.moments[c];
        read_ranks(details, c, channel.order_statistics);
    }
    if (result.channel_count > 1) read_ranks(details, pooled_channel, analysis.pooled_order_statistics);
}

}  // namespace

void read(const ImageResult& result, Analysis& analysis) {
    constexpr Channel names[] = {Channel::red, Channel::green, Channel::blue, Channel::luma, Channel::alpha};
    const char* base = reinterpret_cast<const char*>(&result);
    const auto* counts = reinterpret_cast<const std::uint64_t*>(base + result.counts_offset);
    const DepthTraits& traits = traits_of(result.depth);
    const bool floats = traits.counting == Counting::bins;

    clear(analysis, result.depth);
    analysis.detail = result.detail;
    analysis.weighted = result.weighted;
    analysis.range = result.range;
    analysis.upper_closed = result.upper_closed;
    if (!traits.floating && !result.weighted) {
        const ChannelResult& bright = result.channels[result.channel_count == 1 ? 0 : 3];
        if (bright.samples == 0)
            analysis.brightness = Brightness{};
        else
            analysis.brightness =
                Brightness{bright.sum, bright.sum_squares, static_cast<std::uint32_t>(bright.minimum - traits.lowest),
                           static_cast<std::uint32_t>(bright.maximum - traits.lowest)};
    }
    analysis.channels.resize(
        static_cast<std::size_t>(result.channel_count - (result.channel_count > 1 && !result.luma_counted)));
    std::size_t at = 0;
    for (int c = 0; c < result.channel_count; ++c) {
        const Channel name = result.channel_count == 1 ? Channel::gray : names[c];
        if (name == Channel::luma && !result.luma_counted) continue;
        const ChannelResult& found = result.channels[c];
        ChannelAnalysis& channel = analysis.channels[at++];
        std::vector<std::uint64_t> storage = std::move(channel.counts);
        channel = {};
        channel.counts = std::move(storage);
        channel.channel = name;
        channel.counts.assign(counts + std::size_t(c) * result.bins, counts + std::size_t(c + 1) * result.bins);
        channel.by_class() = found.by_class(result.pixels);
        if (traits.floating && !floats) set_apart_non_finite(channel);
        if (!floats) continue;
        channel.below = found.below;
        channel.above = found.above;
        channel.minimum = static_cast<float>(found.minimum);
        channel.maximum = static_cast<float>(found.maximum);
    }
    if (floats)
        read_float_details(result, *reinterpret_cast<const FloatDetails*>(base + result.details_offset), analysis);
}

}  // namespace core

Analysis read_result(const void* result) {
    const auto& header = *static_cast<const ImageResult*>(result);
    if (header.ready != 1) throw InvalidArgument("read_result: the result is not complete yet");
    Analysis analysis;
    core::read(header, analysis);
    return analysis;
}

const ImageResult& PinnedResults::operator[](std::int64_t image) const {
    return *reinterpret_cast<const ImageResult*>(static_cast<const char*>(host_) +
                                                 image * static_cast<std::int64_t>(bytes_));
}
bool PinnedResults::ready(std::int64_t image) const {
    return __atomic_load_n(&(*this)[image].ready, __ATOMIC_ACQUIRE) == 1;
}
void PinnedResults::clear() {
    for (std::int64_t image = 0; image < images_; ++image)
        __atomic_store_n(const_cast<std::uint32_t*>(&(*this)[image].ready), 0u, __ATOMIC_RELEASE);
}

}  // namespace gpuhist
