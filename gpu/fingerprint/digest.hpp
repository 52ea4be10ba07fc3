// XXH3 with 128 bits: of bytes, and of an image by the digests of its blocks.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "gpuhist/hashes.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::fingerprint {

/// Bytes of a block.
inline constexpr std::size_t block_bytes = std::size_t{1} << 16;

/// Digest in canonical order: the highest byte first.
using Digest = std::array<unsigned char, 16>;
Digest digest_of(const void* data, std::size_t bytes);

/// Hash of an image, from the digests of its blocks in their order.
class PixelsHash {
  public:
    /// `image` has the sides and the depth; `channels` are the samples per pixel.
    PixelsHash(const ImageView& image, int channels);
    ~PixelsHash();

    void add(const Digest* digests, std::size_t count);
    Hash128 value() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace gpuhist::fingerprint
