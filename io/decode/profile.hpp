// Profiles of colors (ICC): their names.
#pragma once

#include <string>

#include "decode/formats.hpp"

namespace gpuhist::io {

/// Name of the profile in a JPEG, PNG, TIFF or WebP. Returns "without a name" for one that has none, and an empty text
/// for a file without a profile.
/// Never throws, whatever the bytes are.
std::string profile_name(const Bytes& file, const Probe& probe);

}  // namespace gpuhist::io
