// BMP.
#include "decode/formats.hpp"
#include "decode/opencv_codecs.hpp"

namespace gpuhist::io {
namespace {

bool matches(const Bytes& file) {
    if (!file.starts_with("BM")) return false;
    const auto header = file.number(14, 4, Endian::little);
    return !header || *header == 12 || (*header >= 40 && *header <= 124);
}

void inspect(const Bytes& file, Probe& probe) {
    const bool old = file.number(14, 4, Endian::little) == 12u;
    const unsigned bytes = old ? 2 : 4;
    const auto width = file.number(18, bytes, Endian::little), height = file.number(18 + bytes, bytes, Endian::little);
    const auto bits = file.number(old ? 24 : 28, 2, Endian::little);
    const auto compression = old ? 0 : file.number(30, 4, Endian::little);
    const auto offset = file.number(10, 4, Endian::little);
    if (!width || !height || !bits || !compression || !offset) {
        probe.truncated = "the BMP ends inside its header";
        return;
    }
    // Rows from the top down are told by a negative height.
    const bool negative = !old && *height > 0x7FFFFFFF;
    probe.set_size(*width, negative ? (std::uint64_t{1} << 32) - *height : *height);
    const bool run_lengths = *compression == 1 || *compression == 2;
    const std::uint64_t row_bytes = (*width * *bits + 31) / 32 * 4;
    if (!run_lengths && !file.has(*offset, saturating_product(row_bytes, probe.height)))
        probe.truncated = "the BMP ends before its last row";
}

}  // namespace

const ImageFormat bmp_format{"a BMP", {".bmp", ".dib"}, 4, matches, inspect, opencv_decode};

}  // namespace gpuhist::io
