// Images of more channels than the sweeps take, part by part.
#pragma once

#include <cstddef>
#include <vector>

#include "gpuhist/image.hpp"

namespace gpuhist::cpu {

/// Verdict on an image: whether its sweeps are over parts of it: colors together, and each band alone.
constexpr bool has_parts(const ImageView& image) {
    return image.channels != 1 && image.channels != 3 && image.channels != 4;
}

/// Channels of a view in memory of their own, without gaps. Owns it and reuses it.
class Part {
  public:
    /// Copies the `channels` channels from `first` on.
    const ImageView& of(const ImageView& image, int first, int channels);
    /// Memory for as many channels of a copy in a depth, to be written.
    MutableImageView like(const ImageView& image, int channels, Depth depth);
    /// Copies its samples to where `of` took them from, in a view of the same depth.
    void put(const MutableImageView& output, int first) const;

  private:
    std::vector<std::byte> memory_;
    ImageView view_;
};

/// View of the same samples as one channel. Rows that are apart stay so.
template <class Void>
BasicImageView<Void> as_one_channel(BasicImageView<Void> image) {
    image.width *= image.channels;
    image.channels = 1;
    image.samples = Samples::color;
    return image;
}

/// Bands of a view: all its channels, or those behind the colors.
constexpr int first_band(const ImageView& image) {
    return image.samples == Samples::color_bands && image.channels > 3 ? 3 : 0;
}

}  // namespace gpuhist::cpu
