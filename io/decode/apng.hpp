// Animated PNG: its frames, and how they become pictures.
#pragma once

#include <memory>

#include "decode/formats.hpp"

namespace gpuhist::io {

/// Finds the frames of a PNG. A PNG without animation has none.
void find_apng_frames(const Bytes& file, PageList& list);

/// Decoder of the frames: each becomes a PNG of its own, is decoded as such and composed.
std::unique_ptr<FrameDecoder> open_apng_frames(const EncodedImage& file);

}  // namespace gpuhist::io
