// JPEG 2000, in boxes or a bare codestream.
#include "decode/formats.hpp"
#include "decode/opencv_codecs.hpp"

namespace gpuhist::io {
namespace {

using namespace std::string_view_literals;

bool matches(const Bytes& file) {
    return file.starts_with("\0\0\0\x0CjP  "sv) || file.starts_with("\xFF\x4F\xFF\x51");
}

/// What boxes and the codestream's header say.
struct Header {
    std::uint64_t codestream = 0;  ///< where it begins; 0 where boxes end before one
    std::string unsupported;
    bool truncated = false;
};

std::string with(const std::string& what) {
    return "a JPEG 2000 file " + what + " is not supported";
}

/// Boxes: a length, a type, contents. Length 0: to the end; 1: a longer one follows. Those of the header are boxes
/// again.
void read_boxes(const Bytes& file, std::uint64_t position, std::uint64_t end, bool inner, Header& header) {
    bool colors_said = false;
    while (header.codestream == 0 && position < end) {
        const auto length = file.number(position, 4, Endian::big);
        if (!length || !file.has(position, 8)) break;
        const bool extended = *length == 1;
        const std::uint64_t contents = position + (extended ? 16 : 8);
        std::uint64_t step = extended ? file.number(position + 8, 8, Endian::big).value_or(0) : *length;
        if (step == 0) step = end - position;
        const auto is = [&](std::string_view type) { return file.starts_with(type, position + 4); };
        header.truncated = !file.has(position, step);
        if (is("jp2c")) {
            header.codestream = contents;
        } else if (header.truncated || step < contents - position) {
            break;
        } else if (is("jp2h") && !inner) {
            read_boxes(file, contents, position + step, true, header);
        } else if (is("pclr")) {
            header.unsupported = with("with a palette");
        } else if (is("colr") && !colors_said) {
            // Spaces by number: sRGB and gray; profiles say nothing of samples.
            const auto space = file.number(contents + 3, 4, Endian::big).value_or(0);
            if (file.number(contents, 1, Endian::big) == 1U && space != 16 && space != 17)
                header.unsupported = with("of the color space " + std::to_string(space));
            colors_said = true;
        } else if (is("cdef")) {
            // Channel, 0 for a color, and which: in order they say nothing.
            const auto count = file.number(contents, 2, Endian::big).value_or(0);
            for (std::uint64_t i = 0; i < count; ++i)
                if (file.number(contents + 2 + 6 * i, 6, Endian::big) != (i << 32 | (i + 1)))
                    header.unsupported = with("whose channels are alpha or in another order");
        }
        position += step;
    }
}

/// Components: those that OpenCV hands over as they are stored.
std::string unsupported_components(const Bytes& file, std::uint64_t codestream) {
    const auto count = file.number(codestream + 40, 2, Endian::big).value_or(0);
    if (count != 1 && count != 3)
        return std::to_string(count) + " channels" + " of a JPEG 2000 file are not supported: gpuhist reads 1 or 3";
    const auto first = file.number(codestream + 42, 1, Endian::big).value_or(0);
    const std::uint64_t bits = (first & 127) + 1;
    if ((first & 128) != 0) return with("of signed samples");
    if (bits != 8 && bits != 16) return with("of " + std::to_string(bits) + " bits a sample");
    for (std::uint64_t i = 0; i < count; ++i) {
        if (file.number(codestream + 42 + 3 * i, 1, Endian::big) != first)
            return with("whose samples are of several depths");
        if (file.number(codestream + 43 + 3 * i, 2, Endian::big) != 0x0101U) return with("of subsampled channels");
    }
    return {};
}

void inspect(const Bytes& file, Probe& probe) {
    Header header;
    const bool boxes = !file.starts_with("\xFF\x4F");
    if (boxes) read_boxes(file, 0, file.size(), false, header);
    if (boxes && header.codestream == 0) {
        probe.truncated = "the JPEG 2000 file ends before its codestream";
        return;
    }
    const auto number = [&](unsigned at) { return file.number(header.codestream + at, 4, Endian::big).value_or(0); };
    const std::uint64_t right = number(8), bottom = number(12), left = number(16), top = number(20);
    if (!file.has(header.codestream, 45)) {
        probe.truncated = "the JPEG 2000 file ends inside its header";
        return;
    }
    if (right > left && bottom > top) probe.set_size(right - left, bottom - top);
    probe.unsupported =
        header.unsupported.empty() ? unsupported_components(file, header.codestream) : header.unsupported;
    if (header.truncated) probe.truncated = "the JPEG 2000 file ends before its last box does";
    if (saturating_product(probe.width, probe.height) / 16384 > file.size())
        probe.too_large = "the JPEG 2000 file cannot hold the " + std::to_string(probe.width) + " x " +
                          std::to_string(probe.height) + " pixels that its header claims";
}

}  // namespace

const ImageFormat jpeg2000_format{"a JPEG 2000 file", {".j2c", ".j2k", ".jp2"}, 8, matches, inspect, opencv_decode};

}  // namespace gpuhist::io
