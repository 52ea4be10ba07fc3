/// Pages of image files: directories of a TIFF, frames of an animation, images of a netpbm file, pictures of an MPO.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/io/decode.hpp"

namespace gpuhist::io {

/// Facts of a page from its header. Nothing is decoded to find them.
struct PageFacts {
    std::uint64_t width = 0, height = 0;  ///< pixels as stored, in a frame those of the animation; 0: not known yet
    std::optional<Depth> depth{};         ///< of a page of a TIFF
    std::uint64_t samples = 0;            ///< samples per pixel of a page of a TIFF; 0: not known yet
    std::string problem{};                ///< reason why the page cannot be read; empty if none is known
    std::uint64_t place = 0, length = 0;  ///< place in the file, in a TIFF of its directory; 0: the file's beginning
    std::uint64_t plane = 0, planes = 1;  ///< plane in a stack behind one directory of a TIFF, and their number
    std::uint64_t mask = 0;               ///< directory of its mask in a TIFF; 0: none
};

class Frames;

/// FilePages::format of a TIFF.
inline constexpr const char* tiff_format_name = "a TIFF";

/// Pages of a file.
/// - TIFF: the directories of its chain without overviews, thumbnails and masks (NewSubfileType, SubfileType), the
///   pictures in the SubIFDs of a thumbnail, and the planes of a stack behind one directory, as ImageJ, MetaMorph and
///   tifffile write them.
/// - Animated WebP and PNG: the frames, each composed as a viewer shows it.
/// - Formats without pages: one page per file.
struct FilePages {
    std::string format;            ///< format with its article: "a TIFF"
    std::vector<PageFacts> pages;  ///< beginning with page 1
    /// Reason why there may be further pages that are not listed: the file ends, its directories form a loop, or the
    /// list would take too much memory (Kind::memory).
    std::optional<IoError> rest{};
    std::uint64_t bytes = 0, modified = 0;  ///< length and time of modification of the file, in nanoseconds since 1970;
                                            ///< 0 for bytes in memory
    std::shared_ptr<Frames> frames{};       ///< state that the readers of an animation share; else null
};

/// Finds the pages of a regular file, and reads as little of it as possible. Pass the result to DecodeOptions::pages,
/// so that pages are not searched again: then reading all N pages takes time in proportion to N. Several threads may
/// read pages at once. Frames that are read in order are decoded once per thread. The list takes at most `most_bytes`
/// of memory; `FilePages::rest` says that there are further pages. Throws IoError as `read_image`, but not for faults
/// of a single page.
std::shared_ptr<const FilePages> probe_pages(const std::filesystem::path& path,
                                             std::uint64_t most_bytes = DecodeOptions{}.most_page_bytes);

/// Finds the pages of an open regular file, from its beginning, whatever was read of it before. The caller keeps the
/// descriptor. `name` is for messages.
std::shared_ptr<const FilePages> probe_pages(int descriptor, const std::string& name,
                                             std::uint64_t most_bytes = DecodeOptions{}.most_page_bytes);

/// Finds the pages in the bytes of a file in memory. `name` is for messages.
std::shared_ptr<const FilePages> probe_pages(const std::vector<unsigned char>& bytes, const std::string& name,
                                             std::uint64_t most_bytes = DecodeOptions{}.most_page_bytes);

}  // namespace gpuhist::io
