// The probe: what an image file says of itself before it is decoded, its format, its size, whether it is all there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "decode/bytes.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::io {

struct ImageFormat;

/// Findings in a file's header.
struct Probe {
    const ImageFormat* format = nullptr;  ///< null: unknown
    std::uint64_t width = 0;              ///< pixels; 0 where the file ends before it says
    std::uint64_t height = 0;             ///< pixels, as stored: before any EXIF orientation
    std::uint64_t pixel_bytes = 0;        ///< the most that a decoded pixel takes
    Depth depth = Depth::u8;              ///< of the samples, where `strip_rows` is not 0
    bool turned = false, bands = false;   ///< as StripFacts has them, where `strip_rows` is not 0
    std::uint64_t strip_rows = 0;         ///< rows that are decoded at once at least; 0: all, since there are no strips
    std::uint64_t place = 0;              ///< of a TIFF the directory of its page; 0: the first page's is looked for
    std::uint64_t held_bytes = 0;         ///< of a window on the file the most that decoding holds; 0: all of it
    std::string truncated;                ///< empty where nothing is missing; otherwise what the file ends before
    std::string unsupported;              ///< empty, or what the samples are that gpuhist does not read
    std::string damaged;                  ///< empty, or what contradicts itself
    std::string too_large;                ///< empty, or why the file cannot hold the pixels that it claims

    void set_size(std::optional<std::uint64_t> columns, std::optional<std::uint64_t> rows) {
        width = columns.value_or(0);
        height = rows.value_or(0);
    }
};

/// Looks at a file's bytes, without decoding and without memory in proportion to the image. Never reads outside them
/// and never throws, whatever they are. `place` is that of a page; 0: the first.
Probe probe(const Bytes& file, std::uint64_t place = 0);

/// Words about a header that claims more pixels than `holder`, the part of the file with the samples, has room for.
std::string cannot_hold(const std::string& holder, std::uint64_t width, std::uint64_t height);
/// Words about depths and numbers of samples per pixel that are not read.
std::string unsupported_depth(const std::string& depth);
std::string unsupported_channels(std::uint64_t count);

/// Plain words about what the bytes of a file of unknown format look like.
std::string describe_unknown(const Bytes& file);

}  // namespace gpuhist::io
