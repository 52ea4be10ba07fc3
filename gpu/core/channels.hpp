// Channels of a pixel: which samples are colors, alpha and bands, and where they lie.
#pragma once

#include <algorithm>

#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::core {

/// Positions of the colors in an interleaved pixel.
struct Positions {
    int red, green, blue;
    explicit constexpr Positions(ChannelOrder order)
        : red(order == ChannelOrder::bgr ? 2 : 0), green(1), blue(order == ChannelOrder::bgr ? 0 : 2) {}
};

/// Verdict on an image: whether it has 1, 3 or 4 channels, which one sweep measures. Others are measured by parts:
/// colors together, each band alone.
constexpr bool is_swept(const ImageView& image) {
    return image.channels == 1 || image.channels == 3 || image.channels == 4;
}

/// Verdict on an image: whether some of its samples are bands.
constexpr bool has_bands(const ImageView& image) {
    return image.samples == Samples::bands || image.samples == Samples::color_bands || !is_swept(image);
}

/// Position of the first band: 3 behind colors, else 0.
constexpr int first_band(const ImageView& image) {
    return image.samples == Samples::color_bands && image.channels > 3 ? 3 : 0;
}

/// Samples of a pixel that luma is made of: 3 colors, or gray. 0: there is no luma.
constexpr int colors_of(const ImageView& image) {
    const bool bands_alone =
        image.samples == Samples::bands || (!is_swept(image) && image.samples != Samples::color_bands);
    return bands_alone ? 0 : std::min(image.channels, 3);
}

/// Verdict on an image: whether its fourth sample is alpha.
constexpr bool has_alpha(const ImageView& image) {
    return image.channels == 4 && (image.samples == Samples::color || image.samples == Samples::gray_alpha);
}

/// Channel of the sample at a position in the pixel.
constexpr Channel channel_at(const ImageView& image, int position) {
    if (position >= colors_of(image) && !has_alpha(image)) return band(position);
    if (image.channels == 1) return Channel::gray;
    if (position == 3) return Channel::alpha;
    if (image.samples == Samples::gray_alpha) return Channel::gray;
    const Positions at(image.order);
    return position == at.red ? Channel::red : position == at.green ? Channel::green : Channel::blue;
}

/// Position in the pixel of a channel's samples; -1: the channel is made of several.
constexpr int position_of(const ImageView& image, Channel channel) {
    if (channel == Channel::gray) return 0;
    if (channel == Channel::alpha) return 3;
    if (channel == Channel::luma || channel == Channel::all) return -1;
    if (is_band(channel)) return static_cast<int>(channel) - static_cast<int>(Channel::c0);
    const Positions at(image.order);
    return channel == Channel::red ? at.red : channel == Channel::green ? at.green : at.blue;
}

/// View of the same samples as one channel. Rows that are apart stay so.
template <class Void>
BasicImageView<Void> as_one_channel(BasicImageView<Void> image) {
    image.width *= image.channels;
    image.channels = 1;
    image.samples = Samples::color;
    return image;
}

}  // namespace gpuhist::core
