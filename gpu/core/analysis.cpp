#include "core/analysis.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>

#include "core/integers.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist {

const char* to_string(Channel channel) {
    switch (channel) {
        case Channel::gray:
            return "gray";
        case Channel::red:
            return "red";
        case Channel::green:
            return "green";
        case Channel::blue:
            return "blue";
        case Channel::luma:
            return "luma";
        case Channel::alpha:
            return "alpha";
        case Channel::all:
            return "all";
        case Channel::c0:
            return "c0";
        case Channel::c1:
            return "c1";
        case Channel::c2:
            return "c2";
        case Channel::c3:
            return "c3";
    }
    return "";
}

const ChannelAnalysis* Analysis::find(Channel channel) const {
    for (const ChannelAnalysis& candidate : channels)
        if (candidate.channel == channel) return &candidate;
    return nullptr;
}

Analysis& Analysis::operator+=(const Analysis& other) {
    if (depth != other.depth || channels.size() != other.channels.size())
        throw InvalidArgument("analyses of different depth or channels cannot be merged");
    if (traits_of(depth).values == 0)
        throw InvalidArgument(std::string(to_string(depth)) +
                              " analyses cannot be merged: order statistics need the pixels");
    for (std::size_t c = 0; c < channels.size(); ++c)
        if (channels[c].channel != other.channels[c].channel ||
            channels[c].counts.size() != other.channels[c].counts.size())
            throw InvalidArgument("analyses of different channels cannot be merged");
    for (std::size_t c = 0; c < channels.size(); ++c) {
        channels[c].pixels += other.channels[c].pixels;
        channels[c].masked += other.channels[c].masked;
        std::transform(channels[c].counts.begin(), channels[c].counts.end(), other.channels[c].counts.begin(),
                       channels[c].counts.begin(), std::plus<>());
    }
    if (white != other.white) white = 0;
    if (brightness && other.brightness) {
        brightness->sum += other.brightness->sum;
        brightness->sum_squares = core::to_public(core::from_public(brightness->sum_squares) +
                                                  core::from_public(other.brightness->sum_squares));
        brightness->minimum = std::min(brightness->minimum, other.brightness->minimum);
        brightness->maximum = std::max(brightness->maximum, other.brightness->maximum);
    } else {
        brightness.reset();
    }
    return *this;
}

void name_channels(Analysis& analysis, Samples samples) {
    const bool colors = analysis.find(Channel::red), alpha = analysis.find(Channel::alpha);
    const bool fits = samples == Samples::color || (samples == Samples::bands ? !analysis.find(Channel::c0) : alpha);
    if (!fits) throw InvalidArgument("an analysis whose channels are not those that an engine gives to such samples");
    const bool fourth = alpha && (samples == Samples::bands || samples == Samples::color_bands);
    if (fourth && traits_of(analysis.depth).floating)
        throw InvalidArgument(std::string("four samples, the last not alpha, of ") + to_string(analysis.depth) +
                              ": not supported yet");
    const auto remove = [&](auto gone) {
        const auto gone_channel = [&](const ChannelAnalysis& one) { return gone(one.channel); };
        analysis.channels.erase(std::remove_if(analysis.channels.begin(), analysis.channels.end(), gone_channel),
                                analysis.channels.end());
    };
    const auto rename = [&](Channel from, Channel to) {
        for (ChannelAnalysis& one : analysis.channels)
            if (one.channel == from) one.channel = to;
    };
    switch (samples) {
        case Samples::color:
            break;
        case Samples::gray_alpha:
            remove([](Channel one) { return one != Channel::red && one != Channel::alpha; });
            rename(Channel::red, Channel::gray);
            analysis.pooled_order_statistics.clear();
            break;
        case Samples::bands:
            remove([](Channel one) { return one == Channel::luma; });
            rename(colors ? Channel::red : Channel::gray, Channel::c0);
            rename(Channel::green, Channel::c1);
            rename(Channel::blue, Channel::c2);
            rename(Channel::alpha, Channel::c3);
            analysis.brightness.reset();
            break;
        case Samples::color_bands:
            rename(Channel::alpha, Channel::c3);
            break;
    }
}

void core::lay_out(Analysis& result, const ImageView& image, bool luma, std::size_t bins) {
    std::array<Channel, 5> rows{Channel::gray};
    std::size_t size = 1;
    if (image.channels >= 3) {
        rows = {Channel::red, Channel::green, Channel::blue};
        size = 3;
        if (luma) rows[size++] = Channel::luma;
        if (image.channels == 4) rows[size++] = Channel::alpha;
    }
    result.depth = image.depth;
    result.white = traits_of(image.depth).highest;
    result.brightness.reset();
    result.range = {};
    result.upper_closed = false;
    result.detail = Detail::full;
    result.pooled_order_statistics.clear();
    result.channels.resize(size);
    for (std::size_t c = 0; c < size; ++c) {
        ChannelAnalysis fresh;
        fresh.channel = rows[c];
        fresh.counts = std::move(result.channels[c].counts);
        fresh.counts.assign(bins, 0);
        fresh.order_statistics = std::move(result.channels[c].order_statistics);
        fresh.order_statistics.clear();
        result.channels[c] = std::move(fresh);
    }
}

void core::set_pixels(Analysis& result, std::uint64_t pixels, std::uint64_t counted) {
    for (ChannelAnalysis& channel : result.channels) {
        channel.pixels = pixels;
        channel.masked = pixels - counted;
    }
}

void core::sum_of_pooled(const Analysis& analysis, std::vector<std::uint64_t>& sum) {
    sum.clear();
    for (const ChannelAnalysis& channel : analysis.channels) {
        if (!is_pooled(channel.channel)) continue;
        sum.resize(channel.counts.size());
        std::transform(sum.begin(), sum.end(), channel.counts.begin(), sum.begin(), std::plus<>());
    }
}

}  // namespace gpuhist
