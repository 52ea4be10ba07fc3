/// Images made smaller, as thumbnails and quick-looks are.
#pragma once

#include <cstdint>

#include "gpuhist/image.hpp"

namespace gpuhist {

/// Sides of an image, in pixels.
struct Sides {
    std::int64_t width = 0, height = 0;
    friend bool operator==(const Sides& a, const Sides& b) { return a.width == b.width && a.height == b.height; }
};

/// Sides in proportion to these, of which the longer one has `longest` pixels and the other the nearest number, halves
/// rounded up, at least 1; where both are within `longest`, as they are. All numbers from 1 to 2^31 − 1.
Sides reduced_sides(const Sides& sides, std::int64_t longest);

/// Weights of the pixels beside the area of them that an output pixel covers.
enum class ReduceWeight : std::uint8_t {
    area,   ///< none
    alpha,  ///< alpha, for the colors of 4 channels: what cannot be seen has no weight. As for straight alpha
};

/// Writes an image made smaller: each output pixel is the average of the area that it covers, pixels in part by their
/// share. `output` has sides up to the input's, and its channels, order and depth; both lie in host memory and share
/// none of it. u8 and u16: exact in integers, halves rounded up; a color that alpha leaves without weight is 0. f32:
/// in double, of the samples that are not NaN, NaN where all are; ±Inf as in IEEE sums; an alpha that is NaN, infinite
/// or not over 0 has no weight. The same bits on every machine, whatever the threads. Throws InvalidArgument for views
/// that break these rules, and sides of 2^31 and more.
void reduce(const ImageView& image, const MutableImageView& output, ReduceWeight weight = ReduceWeight::area,
            int threads = 1);

}  // namespace gpuhist
