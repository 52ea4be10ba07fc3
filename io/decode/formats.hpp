// Formats of image files: each is a file of this room, and an entry of the list below.
#pragma once

#include <array>
#include <cstdint>
#include <opencv2/core/mat.hpp>
#include <string>
#include <string_view>

#include "decode/bytes.hpp"
#include "decode/probe.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/decode.hpp"

namespace gpuhist::io {

/// File that a decoder gets. Its header was inspected, its pixels are admitted to memory.
struct EncodedImage {
    Bytes bytes;              ///< all of the file
    const Probe& probe;       ///< what it says of itself
    const std::string& name;  ///< for messages
    const DecodeOptions& options;

    /// Matrix in the memory that pixels are to lie in: undefined, or 0 where damage is accepted. Throws IoError where
    /// there is none.
    cv::Mat allocate(std::uint64_t rows, std::uint64_t columns, int type) const;
    /// Turns pixels upright as an orientation of EXIF's says, 1 to 8; another number leaves them.
    void put_upright(cv::Mat& pixels, std::uint64_t orientation) const;
    /// Takes note of damage in an image, or throws it where it is not accepted. The first of several counts.
    void report(Image& image, const std::string& cause, IoError::Kind kind = IoError::Kind::damaged) const;
    /// Throws an IoError that names the file.
    [[noreturn]] void refuse(const std::string& cause, IoError::Kind kind = IoError::Kind::unsupported) const;
};

/// Format: how a file of it is known, inspected and decoded.
struct ImageFormat {
    const char* name;                            ///< with its article, for messages: "a JPEG"
    std::array<std::string_view, 6> extensions;  ///< lower case, with the dot: what a walk takes for such a file
    std::uint64_t pixel_bytes;                   ///< the most that a decoded pixel takes
    /// Tells whether a file is one, by its magic number. Never reads outside the bytes and never throws, nor does
    /// `inspect`.
    bool (*matches)(const Bytes& file);
    /// Reads the header of a file that matches, without memory in proportion to the image.
    void (*inspect)(const Bytes& file, Probe& probe);
    /// Makes the image: 8U, 16U or 32F with 1, 3 or 4 samples a pixel. Throws IoError.
    Image (*decode)(const EncodedImage& file);
};

extern const ImageFormat jpeg_format, png_format, tiff_format, bmp_format, webp_format, sun_format, jpeg2000_format,
    openexr_format, radiance_format, pam_format, pnm_format, pfm_format;

/// The formats that are read. A file is of the first that it matches.
inline constexpr std::array image_formats{&jpeg_format,     &png_format, &tiff_format,     &bmp_format,
                                          &webp_format,     &sun_format, &jpeg2000_format, &openexr_format,
                                          &radiance_format, &pam_format, &pnm_format,      &pfm_format};

/// Format of which a file's name has an extension, in any case; null where there is none.
const ImageFormat* format_named(std::string_view name);

}  // namespace gpuhist::io
