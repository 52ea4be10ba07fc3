/// Pages of image files: directories of a TIFF, frames of an animation, images of a netpbm file, pictures of an
/// MPO.
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

/// Facts of a page, as its header says them: nothing is decoded for them.
struct PageFacts {
    std::uint64_t width = 0, height = 0;  ///< pixels as stored, of a frame those of the animation; 0: not known yet
    std::optional<Depth> depth{};         ///< of a TIFF's
    std::uint64_t samples = 0;            ///< a pixel, of a TIFF's; 0: not known yet
    std::string problem{};                ///< why it cannot be read; empty where nothing is seen yet
    std::uint64_t place = 0, length = 0;  ///< where it begins in the file, a TIFF's directory; 0: where the file does
    std::uint64_t plane = 0, planes = 1;  ///< of a stack behind one directory of a TIFF: which, of how many
    std::uint64_t mask = 0;               ///< directory of a TIFF's mask; 0: it has none
};

class Frames;

/// Pages of a file. Those of a TIFF are the directories of its chain without overviews, thumbnails and masks
/// (NewSubfileType, SubfileType); the pictures that SubIFDs of a thumbnail lead to; the planes of a stack behind one
/// directory, as ImageJ, MetaMorph and tifffile write it. Those of an animated WebP or PNG are the frames, each
/// composed as a viewer shows it. A format without pages has one per file.
struct FilePages {
    std::string format;            ///< with its article: "a TIFF"
    std::vector<PageFacts> pages;  ///< from page 1 on
    /// Why there may be further pages, which cannot be found: the file ends, or its directories form a loop.
    std::optional<IoError> rest{};
    std::uint64_t bytes = 0, modified = 0;  ///< of the file, and when: nanoseconds since 1970; 0 of bytes in memory
    std::shared_ptr<Frames> frames{};       ///< of an animation: what reading them shares; else null
};

/// Finds the pages of a regular file, reading as little of it as that takes. Hand the result to DecodeOptions::pages,
/// so that no page is looked for again: then reading all N pages takes time in proportion to N. The pages may be read
/// by several threads at once; frames that are read in their order are decoded once each for every thread. Throws
/// IoError as `read_image`, but not for what is wrong with a page.
std::shared_ptr<const FilePages> probe_pages(const std::filesystem::path& path);

/// Pages of an open regular file, from its beginning whatever was read of it. The descriptor stays the caller's.
/// `name` is for messages.
std::shared_ptr<const FilePages> probe_pages(int descriptor, const std::string& name);

/// Pages of a file's bytes in memory.
std::shared_ptr<const FilePages> probe_pages(const std::vector<unsigned char>& bytes, const std::string& name);

}  // namespace gpuhist::io
