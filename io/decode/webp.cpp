// WebP, by libwebp.
#include <webp/decode.h>

#include "decode/formats.hpp"

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
            probe.unsupported = "an animated WebP is not supported: gpuhist reads single pictures";
    } else if (file.starts_with("VP8L", 12)) {
        if (const auto word = file.number(21, 4, Endian::little))
            probe.set_size((*word & 0x3FFF) + 1, (*word >> 14 & 0x3FFF) + 1);
    } else if (file.starts_with("VP8 ", 12)) {
        const auto width = file.number(26, 2, Endian::little), height = file.number(28, 2, Endian::little);
        if (width && height) probe.set_size(*width & 0x3FFF, *height & 0x3FFF);
    }
    if (!file.has(8, *size)) probe.truncated = "the WebP is shorter than its header says";
}

const char* words(VP8StatusCode status) {
    switch (status) {
        case VP8_STATUS_BITSTREAM_ERROR:
            return "bitstream error";
        case VP8_STATUS_SUSPENDED:
        case VP8_STATUS_NOT_ENOUGH_DATA:
            return "not enough data";
        case VP8_STATUS_UNSUPPORTED_FEATURE:
            return "unsupported feature";
        default:
            return "invalid parameter";
    }
}

/// Damage is refused, accepted or not: part of the picture is then memory that nothing wrote.
Image decode(const EncodedImage& file) {
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) file.refuse("libwebp is of another version than it was compiled for");
    const auto check = [&](VP8StatusCode status) {
        if (status == VP8_STATUS_OK) return;
        if (status == VP8_STATUS_OUT_OF_MEMORY) file.refuse("no memory for the WebP's decoder", IoError::Kind::memory);
        const bool truncated = status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED;
        file.refuse(
            std::string(truncated ? "truncated" : "damaged") + ": the WebP's data (libwebp: \"" + words(status) + "\")",
            truncated ? IoError::Kind::truncated : IoError::Kind::damaged);
    };
    check(WebPGetFeatures(file.bytes.at(0), file.bytes.size(), &config.input));
    const bool alpha = config.input.has_alpha != 0;
    const auto width = static_cast<std::uint64_t>(config.input.width),
               height = static_cast<std::uint64_t>(config.input.height);
    if (width != file.probe.width || height != file.probe.height)
        file.refuse("damaged: the WebP's headers claim different sizes", IoError::Kind::damaged);
    Image image;
    if (alpha) image.alpha = Alpha::straight;
    image.pixels = file.allocate(height, width, alpha ? CV_8UC4 : CV_8UC3);
    config.output.colorspace = alpha ? MODE_BGRA : MODE_BGR;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = image.pixels.data;
    config.output.u.RGBA.stride = static_cast<int>(image.pixels.step[0]);
    config.output.u.RGBA.size = image.pixels.step[0] * height;
    check(WebPDecode(file.bytes.at(0), file.bytes.size(), &config));
    return image;
}

}  // namespace

const ImageFormat webp_format{"a WebP", {".webp"}, 4, matches, inspect, decode};

}  // namespace gpuhist::io
