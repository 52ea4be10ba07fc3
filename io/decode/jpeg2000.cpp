// JPEG 2000, in boxes or a bare codestream.
#include "decode/formats.hpp"
#include "decode/opencv_codecs.hpp"

namespace gpuhist::io {
namespace {

using namespace std::string_view_literals;

bool matches(const Bytes& file) {
    return file.starts_with("\0\0\0\x0CjP  "sv) || file.starts_with("\xFF\x4F\xFF\x51");
}

void inspect(const Bytes& file, Probe& probe) {
    std::uint64_t codestream = 0;
    if (!file.starts_with("\xFF\x4F")) {
        // Boxes: a length, a type; the codestream is in jp2c. Length 0: to the end; 1: a longer one follows.
        std::uint64_t position = 0;
        for (;;) {
            const auto length = file.number(position, 4, Endian::big);
            if (!length || !file.has(position, 8)) break;
            const bool extended = *length == 1;
            if (file.starts_with("jp2c", position + 4)) codestream = position + (extended ? 16 : 8);
            const std::uint64_t step = extended ? file.number(position + 8, 8, Endian::big).value_or(0) : *length;
            if (codestream || step < 8 || !file.has(position, step)) break;
            position += step;
        }
        if (!codestream) {
            probe.truncated = "the JPEG 2000 file ends before its codestream";
            return;
        }
    }
    const auto right = file.number(codestream + 8, 4, Endian::big),
               bottom = file.number(codestream + 12, 4, Endian::big);
    const auto left = file.number(codestream + 16, 4, Endian::big), top = file.number(codestream + 20, 4, Endian::big);
    if (!top) {
        probe.truncated = "the JPEG 2000 file ends inside its header";
    } else if (*right > *left && *bottom > *top) {
        probe.set_size(*right - *left, *bottom - *top);
    }
}

}  // namespace

const ImageFormat jpeg2000_format{"a JPEG 2000 file", {".j2c", ".j2k", ".jp2"}, 8, matches, inspect, opencv_decode};

}  // namespace gpuhist::io
