// Frames of an animation, for several threads that read it at once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "decode/formats.hpp"

namespace gpuhist::io {

/// Animation, and decoders on their way through it. A frame needs the frames before it, so a request takes the decoder
/// that is nearest before the frame. If frames are requested in order, each is decoded once per thread. Safe to use
/// from several threads.
class Frames {
  public:
    explicit Frames(const ImageFormat& format) : format_(format) {}

    /// Composes a frame, counted from 1. `read` returns the bytes of the file, unless an earlier frame has done so.
    /// `file` has the request; its bytes are not used. Throws IoError.
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
