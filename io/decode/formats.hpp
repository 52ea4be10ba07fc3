// Formats of image files: each is a file of this room, and an entry of the list below.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <opencv2/core/mat.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "decode/bytes.hpp"
#include "decode/probe.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/pages.hpp"

namespace gpuhist::io {

/// Mask in a file of its own.
struct MaskFile {
    Bytes bytes;
    std::string name;  ///< for messages
};

/// File that a decoder gets. Its header was inspected, its pixels are admitted to memory.
struct EncodedImage {
    Bytes bytes;              ///< all of the file
    const Probe& probe;       ///< what it says of itself
    const std::string& name;  ///< for messages
    const DecodeOptions& options;
    std::uint64_t strip_rows = 0;    ///< rows that are handed over at once; 0: the image is decoded whole
    const MaskFile* mask = nullptr;  ///< of the image; null: there is no such file
    mutable cv::Mat spare{};         ///< memory of the strip before, which is still looked at
    mutable std::optional<Image> facts_in_space{};  ///< of the strips that were handed over in a color space

    /// Matrix in the memory for pixels. Its contents are undefined, or 0 if damage is accepted. Throws IoError without
    /// memory.
    cv::Mat allocate(std::uint64_t rows, std::uint64_t columns, int type) const;
    /// Rows that are decoded at once: those of a strip, or all.
    std::uint64_t rows_at_once() const { return strip_rows > 0 ? strip_rows : probe.height; }
    /// Threads that may work on the image now.
    int threads() const { return options.threads_now ? options.threads_now() : options.threads; }
    /// Gives an image `rows` rows from `row` on, which are the first of `pixels`. A strip is handed over, and `pixels`
    /// is then other memory of the same size, for the next one: undefined, or 0 where damage is accepted.
    void give_rows(Image& image, cv::Mat& pixels, std::uint64_t row, std::uint64_t rows) const;
    /// Turns an image, and its mask, upright as an orientation of EXIF's says, 1 to 8; another number leaves it. Of one
    /// that was handed over in strips only the sides are.
    void put_upright(Image& image, std::uint64_t orientation) const;
    /// Takes note of damage in an image, or throws it where it is not accepted. The first of several counts.
    void report(Image& image, const std::string& cause, IoError::Kind kind = IoError::Kind::damaged) const;
    /// Throws an IoError that names the file.
    [[noreturn]] void refuse(const std::string& cause, IoError::Kind kind = IoError::Kind::unsupported) const;
};

/// Pages that a format finds in a file: a list, as long as there is memory for it, or their number alone.
class PageList {
  public:
    /// Number of pages, whose list takes no memory.
    PageList() = default;
    /// List of so many bytes at most.
    explicit PageList(std::uint64_t most_bytes) : most_bytes_(most_bytes), listed_(true) {}

    /// Adds a page. Returns false if there is no memory for it; then `rest` says so, and the search ends.
    bool add(PageFacts page);
    /// Says that there are more pages than there is memory for.
    void end_for_memory();
    /// Adds pages that are alike.
    void add(std::uint64_t count, const PageFacts& page);
    std::uint64_t count() const { return count_; }
    bool listed() const { return listed_; }
    /// Most pages that there is memory for.
    std::uint64_t most() const { return std::max<std::uint64_t>(1, most_bytes_ / bytes_of_page); }

    std::vector<PageFacts> pages;
    bool animated = false;  ///< they are frames, which need those before them
    std::string rest{};     ///< why there may be more; empty: there are none
    IoError::Kind rest_kind = IoError::Kind::damaged;

  private:
    /// Twice its size: the list is copied as it grows.
    static constexpr std::uint64_t bytes_of_page = 2 * sizeof(PageFacts);

    std::uint64_t most_bytes_ = 0, bytes_ = 0, count_ = 0;
    bool listed_ = false;
};

/// Decoder of an animation: one frame after the other, each composed as a viewer shows it.
class FrameDecoder {
  public:
    virtual ~FrameDecoder() = default;
    /// Composes the next frame. Its faults are kept for `image`. Throws IoError without memory.
    virtual void advance(const EncodedImage& file) = 0;
    /// Frame that was composed last, in memory of its own. Throws IoError if it cannot be decoded.
    virtual Image image(const EncodedImage& file) = 0;
};

/// Words on a format, for `gpuhist formats`.
struct FormatWords {
    const char* title;                          ///< "TIFF, BigTIFF"
    std::array<std::string_view, 6> libraries;  ///< that decode, by their names in `library_versions`; none: ours
    const char* samples;                        ///< types and bits
    const char* pages;                          ///< "directories", or "" where a file is one image
    const char *read, *refused;                 ///< variants; "" where there are none
    const char* package = "";                   ///< of Debian's, with the library, where a build may lack it
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
    /// Makes the image: 8U, 16U or 32F with 1, 3 or 4 samples per pixel. Throws IoError.
    Image (*decode)(const EncodedImage& file);
    FormatWords words;
    /// Finds the pages of a file that matches, which may be a window; null: a file has one. Never throws.
    void (*find_pages)(const Bytes& file, PageList& list) = nullptr;
    /// Decoder of an animation's frames; null where pages are no frames.
    std::unique_ptr<FrameDecoder> (*open_frames)(const EncodedImage& file) = nullptr;
    /// Whether a file that is not small is read through a window, with at most `Probe::held_bytes` in memory; functions
    /// request the bytes that they need. Other files are read whole.
    bool by_window = false;
};

extern const ImageFormat jpeg_format, png_format, tiff_format, bmp_format, webp_format, sun_format, jpeg2000_format,
    openexr_format, radiance_format, pam_format, pnm_format, pfm_format, gif_format, avif_format, jpegxl_format,
    fits_format, qoi_format, npy_format, tga_format;
/// Returns whether the samples of a format are proportional to light.
inline bool is_linear(const ImageFormat* format) {
    return format == &openexr_format || format == &radiance_format || format == &pfm_format;
}
/// Samples without a header, of the layout in DecodeOptions::array.
extern const ImageFormat raw_format;
Probe probe_raw(const Bytes& file, const RawArray& array);

/// Probes a mask, as `probe` does an image: that of a directory of a TIFF; 0 means the first page.
Probe probe_tiff_mask(const Bytes& file, std::uint64_t directory);

/// The formats that are read. A file is of the first that it matches. A TGA is told by its whole header, so it is last.
inline constexpr std::array image_formats{
    &jpeg_format,    &png_format,      &tiff_format, &bmp_format, &webp_format, &sun_format, &jpeg2000_format,
    &openexr_format, &radiance_format, &pam_format,  &pnm_format, &pfm_format,  &gif_format, &avif_format,
    &jpegxl_format,  &fits_format,     &qoi_format,  &npy_format, &tga_format};

/// Words about a format whose library this build lacks.
std::string not_built(const ImageFormat& format);

/// Format of a file by its first bytes; null if there is none.
const ImageFormat* format_of(const Bytes& file);
/// Format by the extension in a file's name, in upper or lower case; null if there is none.
const ImageFormat* format_named(std::string_view name);

/// Formats that are recognized and refused by name.
struct UnreadFormat {
    std::size_t offset;
    std::string_view signature;
    const char* name;
    const char* remedy;  ///< tool that converts such a file
};
extern const std::array<UnreadFormat, 16> unread_formats;

}  // namespace gpuhist::io
