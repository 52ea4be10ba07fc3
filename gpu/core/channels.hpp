// Channels of a pixel: colors, alpha and bands, and their places.
#pragma once

#include <algorithm>

#include "core/portable.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::core {

/// Positions of the colors in an interleaved pixel.
struct Positions {
    int red, green, blue;
    explicit constexpr Positions(ChannelOrder order)
        : red(order == ChannelOrder::bgr ? 2 : 0), green(1), blue(order == ChannelOrder::bgr ? 0 : 2) {}
};

/// Returns whether an image has 1, 3 or 4 channels, which one sweep measures. Others are measured in parts: colors
/// together, each band alone.
constexpr bool is_swept(const ImageView& image) {
    return image.channels == 1 || image.channels == 3 || image.channels == 4;
}

/// Returns whether some samples of an image are bands.
constexpr bool has_bands(const ImageView& image) {
    return image.samples == Samples::bands || image.samples == Samples::color_bands || !is_swept(image);
}

/// Position of the first band: 3 after colors, else 0.
constexpr int first_band(const ImageView& image) {
    return image.samples == Samples::color_bands && image.channels > 3 ? 3 : 0;
}

/// Number of measured channels of an image with 1, 3 or 4 channels: with colors, luma is one of them.
GPUHIST_HD constexpr int measured_channels(int channels) {
    return channels == 1 ? 1 : channels + 1;
}

/// Number of samples of a pixel from which luma is computed: 3 colors, or gray. 0: there is no luma.
constexpr int colors_of(const ImageView& image) {
    const bool bands_alone =
        image.samples == Samples::bands || (!is_swept(image) && image.samples != Samples::color_bands);
    return bands_alone ? 0 : std::min(image.channels, 3);
}

/// Returns whether the fourth sample of an image is alpha.
constexpr bool has_alpha(const ImageView& image) {
    return image.channels == 4 && (image.samples == Samples::color || image.samples == Samples::gray_alpha);
}

/// Channel of the sample at a position in the pixel.
constexpr Channel channel_at(const ImageView& image, int position) {
    if (position >= colors_of(image) && !has_alpha(image))
        return first_band(image) == 3 ? extra(position - 2) : band(position);
    if (image.channels == 1) return Channel::gray;
    if (position == 3) return Channel::alpha;
    if (image.samples == Samples::gray_alpha) return Channel::gray;
    const Positions at(image.order);
    return position == at.red ? Channel::red : position == at.green ? Channel::green : Channel::blue;
}

/// Position of a channel in the pixel; -1 if the channel is computed from several samples.
constexpr int position_of(const ImageView& image, Channel channel) {
    if (channel == Channel::gray) return 0;
    if (channel == Channel::alpha) return 3;
    if (channel == Channel::luma || channel == Channel::all) return -1;
    if (channel >= Channel::extra1) return static_cast<int>(channel) - static_cast<int>(Channel::extra1) + 3;
    if (is_band(channel)) return static_cast<int>(channel) - static_cast<int>(Channel::c0);
    const Positions at(image.order);
    return channel == Channel::red ? at.red : channel == Channel::green ? at.green : at.blue;
}

/// View of the same samples as one channel. Gaps between rows stay.
template <class Void>
BasicImageView<Void> as_one_channel(BasicImageView<Void> image) {
    image.width *= image.channels;
    image.channels = 1;
    image.samples = Samples::color;
    return image;
}

}  // namespace gpuhist::core
