#include "gpuhist/analysis.hpp"

#include <algorithm>

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
    if (depth == Depth::f32) throw InvalidArgument("f32 analyses cannot be merged: order statistics need the pixels");
    for (std::size_t c = 0; c < channels.size(); ++c)
        if (channels[c].channel != other.channels[c].channel ||
            channels[c].counts.size() != other.channels[c].counts.size())
            throw InvalidArgument("analyses of different channels cannot be merged");
    for (std::size_t c = 0; c < channels.size(); ++c) {
        channels[c].pixels += other.channels[c].pixels;
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

}  // namespace gpuhist
