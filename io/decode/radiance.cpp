// Radiance.
#include <algorithm>

#include "decode/formats.hpp"
#include "decode/opencv_codecs.hpp"
#include "decode/words.hpp"

namespace gpuhist::io {
namespace {

bool matches(const Bytes& file) {
    return file.starts_with("#?RADIANCE") || file.starts_with("#?RGBE");
}

void inspect(const Bytes& file, Probe& probe) {
    // Lines, an empty one, then for instance "-Y 480 +X 640".
    const auto text = file.text(0, std::min<std::uint64_t>(file.size(), 65536));
    const auto blank = text.find("\n\n");
    Words words(file, blank == text.npos ? file.size() : blank + 2);
    for (int axis = 0; axis < 2; ++axis) {
        const auto name = words.next();
        const auto length = words.number();
        if (name.size() == 2 && length) (name[1] == 'X' ? probe.width : probe.height) = *length;
    }
    if (probe.width == 0 || probe.height == 0) probe.truncated = "the Radiance file ends before it says its size";
}

}  // namespace

const ImageFormat radiance_format{"a Radiance file", {".hdr", ".pic"}, 12, matches, inspect, opencv_decode};

}  // namespace gpuhist::io
