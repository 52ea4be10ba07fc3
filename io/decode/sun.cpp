// Sun raster files.
#include "decode/formats.hpp"
#include "decode/opencv_codecs.hpp"

namespace gpuhist::io {
namespace {

bool matches(const Bytes& file) {
    return file.starts_with("\x59\xA6\x6A\x95");
}

void inspect(const Bytes& file, Probe& probe) {
    probe.set_size(file.number(4, 4, Endian::big), file.number(8, 4, Endian::big));
    const auto length = file.number(16, 4, Endian::big), map = file.number(28, 4, Endian::big);
    if (!map || !file.has(32, *map + *length)) probe.truncated = "the Sun raster file is shorter than its header says";
}

}  // namespace

const ImageFormat sun_format{"a Sun raster file", {".ras", ".sr"}, 4, matches, inspect, opencv_decode};

}  // namespace gpuhist::io
