// Frames of an animation, for several threads that read it at once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "decode/formats.hpp"

namespace gpuhist::io {

/// Animation, and decoders on their way through it. A frame needs those before it, so whoever wants one takes the
/// decoder that is nearest before it: frames that are asked for in their order are decoded once, by several threads
/// once each. Safe to use from several threads.
class Frames {
  public:
    explicit Frames(const ImageFormat& format) : format_(format) {}

    /// Composes a frame, counted from 1. `read` gives the file's bytes, where no other frame has brought them. `file`
    /// says what is wanted; its bytes are not looked at. Throws IoError.
    Image image(std::uint64_t frame, const EncodedImage& file, const std::function<std::vector<unsigned char>()>& read);

  private:
    struct Decoder {
        std::unique_ptr<FrameDecoder> frames;
        std::uint64_t done = 0;  ///< frames
    };
    Decoder take(std::uint64_t frame);

    const ImageFormat& format_;
    std::mutex mutex_;
    std::vector<unsigned char> bytes_;
    std::vector<Decoder> idle_;
};

/// Frame of an animation in memory.
Image decode_frame(std::uint64_t frame, const EncodedImage& file);

}  // namespace gpuhist::io
