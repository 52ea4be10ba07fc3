// WebP.
#include "decode/formats.hpp"
#include "decode/opencv_codecs.hpp"

namespace gpuhist::io {
namespace {

bool matches(const Bytes& file) {
    return file.starts_with("RIFF") && file.starts_with("WEBP", 8);
}

void inspect(const Bytes& file, Probe& probe) {
    const auto size = file.number(4, 4, Endian::little);
    if (file.starts_with("VP8X", 12)) {
        const auto width = file.number(24, 3, Endian::little), height = file.number(27, 3, Endian::little);
        if (width && height) probe.set_size(*width + 1, *height + 1);
        if (file.number(20, 1, Endian::little).value_or(0) & 2)
            probe.unsupported = "an animated WebP is not supported: OpenCV reads single pictures";
    } else if (file.starts_with("VP8L", 12)) {
        if (const auto word = file.number(21, 4, Endian::little))
            probe.set_size((*word & 0x3FFF) + 1, (*word >> 14 & 0x3FFF) + 1);
    } else if (file.starts_with("VP8 ", 12)) {
        const auto width = file.number(26, 2, Endian::little), height = file.number(28, 2, Endian::little);
        if (width && height) probe.set_size(*width & 0x3FFF, *height & 0x3FFF);
    }
    if (!file.has(8, *size)) probe.truncated = "the WebP is shorter than its header says";
}

}  // namespace

const ImageFormat webp_format{"a WebP", {".webp"}, 4, matches, inspect, opencv_decode};

}  // namespace gpuhist::io
