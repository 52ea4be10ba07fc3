// Profiles of colors (ICC): their names.
#pragma once

#include <string>

#include "decode/formats.hpp"

namespace gpuhist::io {

/// Name of the profile in a JPEG, PNG, TIFF or WebP; "without a name" if it has none. Empty if there is no profile.
/// Never throws, whatever the bytes are.
std::string profile_name(const Bytes& file, const Probe& probe);

}  // namespace gpuhist::io
