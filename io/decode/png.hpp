// PNG without its remarks.
#pragma once

#include <string>

#include "decode/bytes.hpp"

namespace gpuhist::io {

/// A PNG with the chunks that make its pixels only: profiles, texts and the like, about which libpng prints warnings,
/// are left out. Empty where there is nothing to leave out.
std::string essential_png(const Bytes& file);

}  // namespace gpuhist::io
