/// Weights that alpha gives to the pixels of a file.
#pragma once

#include <cstdint>

#include "gpuhist/error.hpp"
#include "gpuhist/io/image.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist::app {

/// Sets what pixels weigh where alpha is the weight: of an image without alpha its white. Throws InvalidArgument for
/// alpha that is premultiplied.
inline void set_weight(Validity& validity, const io::Image& image) {
    if (validity.alpha != AlphaRule::weight) return;
    if (image.alpha == io::Alpha::premultiplied)
        throw InvalidArgument("its alpha is premultiplied, and straight alpha alone is a weight");
    if (!traits_of(image.depth).floating) validity.opaque = static_cast<std::uint32_t>(image.white);
}

}  // namespace gpuhist::app
