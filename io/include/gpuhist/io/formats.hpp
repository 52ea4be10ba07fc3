/// Formats of image files: those that gpuhist reads, with their libraries, and those that it refuses by name.
#pragma once

#include <string>
#include <vector>

#include "gpuhist/io/versions.hpp"

namespace gpuhist::io {

/// Format that gpuhist reads.
struct FormatInfo {
    std::string name;                      ///< "TIFF, BigTIFF"
    std::vector<std::string> extensions;   ///< lower case, with the dot; a walk takes such files
    std::string samples;                   ///< types and bits
    std::string pages;                     ///< meaning of the pages of a file; empty: a file has one page
    std::vector<LibraryVersion> decoders;  ///< libraries that decode it; none: gpuhist itself
    std::string missing;                   ///< Debian's package with the library that this build lacks; else empty
    std::string read, refused;             ///< variants, in words; empty: none
};

/// Formats that gpuhist reads, in the order in which it tries them.
std::vector<FormatInfo> list_formats();

/// Names of formats that gpuhist recognizes and refuses, such as "DDS texture".
std::vector<std::string> list_unread_formats();

}  // namespace gpuhist::io
