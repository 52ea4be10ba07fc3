/// Differences of two images, sample by sample.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gpuhist/image.hpp"

namespace gpuhist {

/// How the samples of an image follow from those of another, of which it may be another depth.
enum class SampleRelation : std::uint8_t {
    identical,  ///< same depth and values
    widened,    ///< other depth or white, and each sample of one image follows from that of the other by one rule
    different
};
const char* to_string(SampleRelation relation);

/// Differences of images with the same sides and channels. Samples that are NaN in both are equal; a NaN beside a
/// number differs from it, without a distance. -0 equals 0.
///
/// Distances are in sample values if depth and white are the same, else in fractions of white: value / white.
struct PixelDifference {
    SampleRelation relation = SampleRelation::identical;
    /// Rule of widened samples, from the narrower to the wider depth: `x 1` for equal values, `x 257` (u8 to u16) for
    /// equal fractions of white, `x 256` and so on for values moved by bits, `/ 255` for fractions of white as floats.
    std::string rule;
    bool of_white = false;  ///< distances are fractions of white
    std::uint64_t samples = 0;
    std::uint64_t different = 0;  ///< samples that differ; of widened images none
    std::optional<double> max;    ///< largest distance; absent without a pair of finite samples
    std::optional<double> mean;   ///< mean distance over all pairs of finite samples, and so of what follows
    /// Peak signal-to-noise ratio in decibels: 10 log10(peak² / mean square of the distances). The peak is white, or 1
    /// for fractions. Absent for equal samples.
    std::optional<double> psnr;
    // Place of the first sample with the largest distance, or of the first NaN beside a number. Absent if none differs.
    std::optional<std::int64_t> x, y;
    int channel = 0;  ///< its place in the pixel
};

/// Compares images in host memory. `white_a` and `white_b` are their values for white. Runs on the calling thread, and
/// takes memory for two rows of doubles. Throws InvalidArgument for invalid views, other sides or numbers of channels,
/// and a white that is not over 0. Masks are ignored.
PixelDifference pixel_difference(const ImageView& a, double white_a, const ImageView& b, double white_b);

}  // namespace gpuhist
