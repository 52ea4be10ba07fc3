// Functions shared by JPEG files and TIFF strips that are JPEG.
#pragma once

#include <cstdint>

#include "decode/bytes.hpp"

namespace gpuhist::io {

/// Tells whether the `count` bytes that libjpeg finds left over before an end marker, which is at `end`, are all the
/// same, so that no coded data are among them. Of stuffed ones libjpeg counts some as one byte, some as two.
bool are_padding(const Bytes& file, std::uint64_t end, std::uint64_t count);

}  // namespace gpuhist::io
