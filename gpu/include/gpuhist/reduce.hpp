/// Images made smaller, such as thumbnails.
#pragma once

#include <cstdint>

#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist {

/// Width and height of an image, in pixels.
struct Sides {
    std::int64_t width = 0, height = 0;
    friend bool operator==(const Sides& a, const Sides& b) { return a.width == b.width && a.height == b.height; }
};

/// Sides of a smaller image in proportion to these. The longer side has `longest` pixels. The other side has the
/// nearest whole number, with halves rounded up, but at least 1. If both sides are within `longest`, they stay. All
/// numbers are from 1 to 2^31 − 1.
Sides reduced_sides(const Sides& sides, std::int64_t longest);

/// Weights of the pixels in the average of an area, in addition to the part of a pixel that the area covers.
enum class ReduceWeight : std::uint8_t {
    area,   ///< no further weight
    alpha,  ///< straight alpha, for the colors of 4 channels, so that invisible colors have no weight
};

/// Writes a smaller copy of an image. Each output pixel is the average of the area that it covers; pixels that are only
/// partly in the area have that part as their weight.
///
/// `output` has the channels, the order and the depth of the image, and sides up to those of the image. Both are in
/// host memory and do not overlap.
/// - u8 and u16: the average is exact in integers, with halves rounded up. A color whose pixels all have alpha 0 is 0.
/// - f32: the average is in double, over the samples that are not NaN. It is NaN if all samples are. ±Inf enters it as
///   in IEEE sums. An alpha that is NaN, infinite or not over 0 has no weight.
///
/// The bits are the same on every machine and for any number of threads. Throws InvalidArgument for views that break
/// these rules, and for sides of 2^31 and more.
void reduce(const ImageView& image, const MutableImageView& output, ReduceWeight weight = ReduceWeight::area,
            int threads = 1);

/// Writes a smaller version of the normalized copy of an image, as `reduce` does. Only valid samples of the image enter
/// the averages. NaN in the image is treated as nodata.
///
/// An area without valid samples gives an excluded pixel: the average of the samples that are excluded but not by their
/// value, as the copy has them. If there are none of these, it is nodata, as in the first pixel of the area in the
/// copy. In a copy of another depth, the alpha of a pixel is excluded if one of its colors is.
///
/// `copy` is the normalized copy, and `normalization` and `request` are those with which it was made. `image` has the
/// sides of the copy. Throws InvalidArgument as `reduce`, and for an image of other sides.
void reduce_copy(const ImageView& copy, const MutableImageView& output, const ImageView& image,
                 const AnalysisRequest& request, const Normalization& normalization,
                 ReduceWeight weight = ReduceWeight::area, int threads = 1);

}  // namespace gpuhist
