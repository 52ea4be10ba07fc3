/// Color spaces: images with their colors in other coordinates.
#pragma once

#include <array>
#include <cstdint>

#include "gpuhist/image.hpp"

namespace gpuhist {

/// Color space of an image, with the primaries and the white (D65) of sRGB. Profiles are not applied.
enum class ColorSpace : std::uint8_t { hsv, ycbcr, lab, xyz, linear, oklab };

/// Facts of a space: one row of the table of spaces.
struct ColorSpaceTraits {
    ColorSpace space;
    const char* name;  ///< in options
    /// Names of its three channels, in their order.
    std::array<const char*, 3> channels;
    /// Whether u8 images stay u8, by the integer formulas of `cv::cvtColor`. All other images become f32.
    bool bytes;
    /// Channel of lightness, which normalization changes: 0 to 2. 3: all channels. -1: there is none.
    int lightness;
    double white;  ///< value that white has in the channel of lightness, in f32
};

inline constexpr ColorSpaceTraits all_color_spaces[] = {
    {ColorSpace::hsv, "hsv", {"hue", "saturation", "value"}, true, 2, 1},
    {ColorSpace::ycbcr, "ycbcr", {"y", "cb", "cr"}, true, 0, 1},
    {ColorSpace::lab, "lab", {"lightness", "a", "b"}, true, 0, 100},
    {ColorSpace::xyz, "xyz", {"x", "y", "z"}, false, -1, 1},
    {ColorSpace::linear, "linear", {"linear_red", "linear_green", "linear_blue"}, false, 3, 1},
    {ColorSpace::oklab, "oklab", {"lightness", "a", "b"}, false, 0, 1},
};

/// Row of a space in the table.
constexpr const ColorSpaceTraits& traits_of(ColorSpace space) {
    return all_color_spaces[static_cast<std::size_t>(space)];
}

/// Meaning of the samples of an image with colors.
struct ColorEncoding {
    double white = 255;   ///< sample that stands for white: of floats, 1
    bool linear = false;  ///< whether samples are proportional to light, as OpenEXR has them. If not, they are encoded
                          ///< by the transfer function of sRGB
};

/// Depth of images of a depth in a space. Throws InvalidArgument unless the depth is u8, u16, f16 or f32.
Depth depth_in(ColorSpace space, Depth depth);

/// Converts colors to a space. The image has 1 channel (gray, which stands for three equal colors), or 3 or 4: colors
/// in its order, and alpha. The output has 3 channels, or 4 with alpha, in the order of the space; its depth is
/// `depth_in`. Both are in host memory, and must not overlap. The result is the same on every machine.
///
/// Formulas, with colors divided by white:
/// - `hsv`: A. R. Smith, Color gamut transform pairs (1978). Hue is 0 … 360, saturation and value are 0 … 1; u8: hue/2
///   (0 … 179), 255·saturation, 255·value. Hue and saturation of gray are 0.
/// - `ycbcr`: Y = 0.299 R + 0.587 G + 0.114 B, Cb = 0.564 (B − Y) + 0.5, Cr = 0.713 (R − Y) + 0.5; u8: 255·Y,
///   and Cb and Cr around 128. Colors as they are encoded.
/// - `xyz`: IEC 61966-2-1, from linear colors; white is 0.950456, 1, 1.088754.
/// - `lab`: CIE 15, L* 0 … 100 and a*, b*, with that white; u8: 2.55·L*, a* + 128, b* + 128.
/// - `linear`: the inverse of the transfer function of sRGB, 0 … 1.
/// - `oklab`: B. Ottosson, A perceptual color space for image processing (2020).
///
/// Alpha of f32 outputs is 0 … 1. If one of the colors of a pixel is NaN or infinite, all its channels are NaN.
///
/// Throws InvalidArgument for images of another depth or with bands, for device memory, and for outputs of another size
/// or depth.
void convert_colors(const ImageView& image, const ColorEncoding& encoding, ColorSpace space,
                    const MutableImageView& output, int threads = 1);

/// Converts an image in a space back to colors: the output has u8, u16, f16 or f32 samples, 1 channel (the green one of
/// a gray image), or 3 or 4 channels. Integers are rounded to the nearest and lie within 0 … white.
void restore_colors(const ImageView& image, ColorSpace space, const ColorEncoding& encoding,
                    const MutableImageView& output, int threads = 1);

}  // namespace gpuhist
