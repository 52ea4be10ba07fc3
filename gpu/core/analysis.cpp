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

void core::sum_of_colors(const Analysis& analysis, std::vector<std::uint64_t>& sum) {
    sum.clear();
    for (const Channel color : colors) {
        const std::vector<std::uint64_t>& counts = analysis.find(color)->counts;
        sum.resize(counts.size());
        std::transform(sum.begin(), sum.end(), counts.begin(), sum.begin(), std::plus<>());
    }
}

}  // namespace gpuhist
