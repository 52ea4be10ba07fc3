/// Images from files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <opencv2/core/mat.hpp>
#include <string>
#include <vector>

#include "gpuhist/io/image.hpp"

namespace gpuhist::io {

/// Answer to a file that is damaged or truncated.
enum class OnDamaged { error, accept };

struct FilePages;

/// Facts of an image on which depends whether it is taken in strips.
struct StripFacts {
    Depth depth = Depth::u8;
    bool turned = false;  ///< it is stored otherwise than upright
    bool bands = false;   ///< some of its samples are no colors and no alpha
};

/// Receiver of images that are too large to lie in memory whole: strips, which follow each other from the top.
struct Strips {
    std::uint64_t strip_bytes = 1 << 25;                ///< of a strip, about; more where the file asks for it
    std::uint64_t max_pixels = std::uint64_t{1} << 36;  ///< in place of DecodeOptions::max_pixels
    /// Tells up to how many bytes of pixels images of a depth still come whole. None: up to 0.
    std::function<std::uint64_t(Depth)> whole_bytes{};
    /// Tells why an image is not taken in strips, in words for a message; nothing: it is.
    std::function<std::string(const StripFacts&)> refusal;
    /// Function called with each strip: what is known of the image, its `pixels` those of the rows from `row` on, as
    /// they are stored: not turned upright. They stay as they are until the next call returns, so that another thread
    /// may look at them while the next strip is decoded; there is memory for two. What it throws comes out.
    std::function<void(const Image& strip, std::uint64_t row)> take;
    /// Function called behind the last strip. Returns whether the strips are wanted once more, from the first on. None:
    /// they come once. What it throws comes out.
    std::function<bool()> again;
};

/// Options of decoding.
struct DecodeOptions {
    std::uint64_t max_pixels = std::uint64_t{1} << 30;  ///< width × height, read from the header before memory is taken
    OnDamaged on_damaged = OnDamaged::error;            ///< accept: what the decoder makes of the part that is sound
    cv::MatAllocator* allocator = nullptr;              ///< where pixels are put; null: where OpenCV puts them
    /// Function called before memory is taken, with the bytes of the file and those of the pixels (at most), which are
    /// 0 until the header is known. For a pipe it is called whenever more is needed. It may wait; what it throws comes
    /// out.
    std::function<void(std::uint64_t file_bytes, std::uint64_t pixel_bytes)> admit;
    std::uint64_t max_pipe_bytes = std::uint64_t{1} << 32;  ///< a pipe that brings more is refused; 0: all are
    /// Function called again and again while a pipe is read, at least every 50 ms. What it throws comes out.
    std::function<void()> while_reading;
    /// Page that is read, counted from 1; messages then name NAME#PAGE. 0: the first, or of an animated PNG the picture
    /// that shows where nothing moves, which need not be a frame.
    std::uint64_t page = 0;
    /// Masks and label images: palette indices and samples of fewer than 8 bits as they are stored, nothing expanded,
    /// inverted or turned into colors; no alpha by a transparent color.
    bool raw = false;
    /// Masks of a TIFF: one that it holds (NewSubfileType 4), or else FILE.msk beside it, both as GDAL writes them.
    bool masks = true;
    std::shared_ptr<const FilePages> pages;  ///< of the same file, from `probe_pages`; null: they are looked for
    /// Where larger images go, of files whose samples can be decoded row by row: TIFF but for a strip that is
    /// compressed as one, PNG but for interlaced ones, baseline JPEG, binary netpbm. The image that is returned then
    /// has no pixels. Null: all come whole.
    const Strips* strips = nullptr;
};

/// Decodes an image: the file's own samples as stored, or an IoError that names the cause; of several pages the one
/// that is asked for. `list_formats()` has the formats, their variants that are read, and those that are refused. The
/// result has 1 to 64 samples per pixel; what they mean it says itself. Gray of fewer than 8 bits is expanded to 0 …
/// 255, a palette becomes its colors, zero-is-white is inverted; the orientation of JPEG and TIFF is applied, as
/// `cv::imread` does. A file counts as damaged where its codec or a checksum says so, as truncated where bytes are
/// missing; `accept` then hands over what the decoder makes of the rest, and Image::damage says so. `name` is for
/// messages. Nothing is printed. Throws IoError: not an image (says what the bytes look like), a variant that is not
/// read (named), more pixels than allowed or than the file can hold, damaged, truncated. Safe to call from several
/// threads.
Image decode_image(const std::vector<unsigned char>& bytes, const std::string& name, const DecodeOptions& options = {});

/// `decode_image` of a file's bytes. The file is a regular one, or a named pipe if these are allowed and no page is
/// asked for; opening it waits for nobody. Its first bytes decide: where they belong to no format, or claim too many
/// pixels, the rest is not read. Of a TIFF, PNG, JPEG or netpbm file that is not small only what is looked at is held.
/// Throws IoError as `read_bytes` too.
Image read_image(const std::filesystem::path& path, const DecodeOptions& options = {});

/// Image from an open file of any kind, as standard input, which is read like a pipe from where it stands to its end;
/// of a page from a regular file, from its beginning. The descriptor stays the caller's. `name` is for messages.
Image read_image(int descriptor, const std::string& name, const DecodeOptions& options = {});

}  // namespace gpuhist::io
