/// Weights that alpha gives to the pixels of a file.
#pragma once

#include <cstdint>
#include <string>

#include "gpuhist/alpha.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/image.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist::app {

/// Verdict on a file's image: whether its colors are divided by alpha, which is their weight.
inline bool divides(const Validity& validity, const io::Image& image) {
    return validity.alpha == AlphaRule::weight && image.alpha == io::Alpha::premultiplied &&
           image.depth == Depth::f16 && (image.samples == Samples::color || image.samples == Samples::gray_alpha);
}

/// Divides premultiplied colors in place, of an image or a strip, where alpha is their weight.
inline void divide_by_alpha(const Validity& validity, const io::Image& image) {
    if (!divides(validity, image)) return;
    cv::Mat pixels = image.pixels;
    MutableImageView view = io::mutable_view(pixels);
    view.depth = image.depth;
    view.samples = image.samples;
    gpuhist::divide_by_alpha(view);
}

/// Sets the weight of pixels if alpha is the weight: in an image without alpha, it is white. Throws InvalidArgument for
/// premultiplied alpha by which colors are not divided.
inline void set_weight(Validity& validity, const io::Image& image) {
    if (validity.alpha != AlphaRule::weight) return;
    const DepthTraits& traits = traits_of(image.depth);
    if (image.alpha == io::Alpha::premultiplied && traits.alpha_unit > 0 && !divides(validity, image))
        throw InvalidArgument(
            std::string("its alpha is premultiplied: colors of f16 are divided by it, but not those of ") +
            traits.name + (image.depth == Depth::f16 ? " beside bands" : ""));
    if (!traits.floating) validity.opaque = static_cast<std::uint32_t>(image.white);
}

}  // namespace gpuhist::app
