/// What an image file says of itself before it is decoded: its format, its size, and whether it is all there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gpuhist::io {

enum class Format { unknown, jpeg, png, tiff, bmp, webp, pnm, pam, pfm, radiance, openexr, jpeg2000, sun };

struct Container {
    Format format = Format::unknown;
    std::uint64_t width = 0;   ///< pixels; 0 where the file ends before it says
    std::uint64_t height = 0;  ///< pixels, as stored: before any EXIF orientation
    std::string truncated;     ///< empty where nothing is missing; otherwise what the file ends before
    std::string unsupported;   ///< empty, or what the samples are that gpuhist does not read
    std::string damaged;       ///< empty, or what contradicts itself
};

/// Name of a format with its article, for messages: "a JPEG".
const char* with_article(Format format);

/// Looks at a file's bytes, without decoding and without memory in proportion to the image. Never reads outside
/// [data, data + bytes) and never throws, whatever the bytes.
Container inspect(const unsigned char* data, std::size_t bytes);

/// In plain words, what the bytes of a file of unknown format look like.
std::string describe_unknown(const unsigned char* data, std::size_t bytes);

/// A PNG with the chunks that make its pixels only: profiles, texts and the like, about which libpng prints warnings,
/// are left out. Empty where there is nothing to leave out.
std::string essential_png(const unsigned char* data, std::size_t bytes);

}  // namespace gpuhist::io
