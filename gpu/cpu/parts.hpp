// Parts of an image: its colors, and each of its bands, apart from the others.
#pragma once

#include <cstddef>
#include <vector>

#include "gpuhist/image.hpp"
#include "plan/executor.hpp"

namespace gpuhist::cpu {

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

/// Maker of parts in host memory, which are copies.
class HostParts final : public plan::PartMaker {
  public:
    ImageView take(const ImageView& image) override { return image_ = image; }
    ImageView part(int first, int channels) override { return part_.of(image_, first, channels); }

  private:
    ImageView image_;
    Part part_;
};

}  // namespace gpuhist::cpu
