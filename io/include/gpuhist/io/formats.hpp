/// Formats of image files: which are read, by which libraries, and which are refused by name.
#pragma once

#include <string>
#include <vector>

#include "gpuhist/io/versions.hpp"

namespace gpuhist::io {

/// Format that is read.
struct FormatInfo {
    std::string name;                      ///< "TIFF, BigTIFF"
    std::vector<std::string> extensions;   ///< lower case, with the dot: what a walk takes for such a file
    std::string samples;                   ///< types and bits
    std::string pages;                     ///< what the pages of a file are; empty: it has one
    std::vector<LibraryVersion> decoders;  ///< libraries that decode it; none: gpuhist itself
    std::string read, refused;             ///< variants, in words; empty: there are none
};

/// Formats that are read, in the order in which a file is tried.
std::vector<FormatInfo> list_formats();

/// Names of formats whose files are known and refused: "GIF".
std::vector<std::string> list_unread_formats();

}  // namespace gpuhist::io
