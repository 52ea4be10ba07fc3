/// Premultiplied colors, such as those of OpenEXR.
#pragma once

#include "gpuhist/image.hpp"

namespace gpuhist {

/// Straight color of a premultiplied one: their quotient in float32, rounded to half, both to the nearest, ties to
/// even. A quotient that is too large becomes ±Inf. If alpha is NaN, or not above 0, the color does not change.
Half divide_by_alpha(Half color, Half alpha);

/// Divides the colors of an image in place: afterwards its alpha is straight, as AlphaRule::weight needs it. Throws
/// InvalidArgument unless the image is f16 with alpha and in host memory.
void divide_by_alpha(const MutableImageView& image);

}  // namespace gpuhist
