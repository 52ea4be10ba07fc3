// JPEG.
#include <algorithm>
#include <cstring>
#include <opencv2/imgcodecs.hpp>

#include "decode/formats.hpp"
#include "decode/opencv_codecs.hpp"

namespace gpuhist::io {
namespace {

bool matches(const Bytes& file) {
    return file.starts_with("\xFF\xD8\xFF");
}

/// Walks the markers and, by memchr, the entropy-coded data between them, up to the end-of-image marker. An EOI inside
/// a segment (that of an EXIF thumbnail) is stepped over with it.
void inspect(const Bytes& file, Probe& probe) {
    constexpr unsigned char sos = 0xDA, eoi = 0xD9, dht = 0xC4, jpg = 0xC8, dac = 0xCC;
    bool scan_seen = false;
    std::size_t position = 2;
    while (position < file.size()) {
        // A marker is 0xFF and what is neither stuffing (00), nor fill (FF), nor restart (D0 to D7), nor TEM (01).
        const auto* found =
            static_cast<const unsigned char*>(std::memchr(file.at(position), 0xFF, file.size() - position));
        if (!found) break;
        position = static_cast<std::size_t>(found - file.at(0)) + 1;
        if (position >= file.size()) break;
        const unsigned char marker = *file.at(position);
        if (marker == 0xFF) continue;
        ++position;
        if (marker <= 0x01 || (marker >= 0xD0 && marker <= 0xD8)) continue;
        if (marker == eoi) {
            if (!scan_seen) probe.damaged = "the JPEG has an end-of-image marker but no image data";
            return;
        }
        const auto length = file.number(position, 2, Endian::big);
        if (!length) break;
        if (marker >= 0xC0 && marker <= 0xCF && marker != dht && marker != jpg && marker != dac) {
            probe.set_size(file.number(position + 5, 2, Endian::big), file.number(position + 3, 2, Endian::big));
            const auto precision = file.number(position + 2, 1, Endian::big);
            if (precision && *precision != 8)
                probe.unsupported = std::to_string(*precision) + "-bit JPEG is not supported: OpenCV reads 8 bits";
        }
        if (marker == sos) scan_seen = true;
        position += std::max<std::size_t>(2, *length);
    }
    probe.truncated = scan_seen ? "the JPEG ends before its end-of-image marker" : "the JPEG ends inside its header";
}

/// Decodes without alpha, and turned as its EXIF orientation says: OpenCV offers the one with the other only.
Image decode(const EncodedImage& file) {
    return opencv_decode(file, cv::IMREAD_ANYCOLOR | cv::IMREAD_ANYDEPTH);
}

}  // namespace

const ImageFormat jpeg_format{"a JPEG", {".jpe", ".jpeg", ".jpg"}, 3, matches, inspect, decode};

}  // namespace gpuhist::io
