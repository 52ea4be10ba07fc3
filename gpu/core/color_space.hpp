// Formulas of color spaces, for host and device. Colors are linear or encoded, with white at 1. Code that includes this
// must not contract a·b+c.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/elementary.hpp"
#include "core/portable.hpp"
#include "gpuhist/color_space.hpp"

namespace gpuhist::core {

/// Three coordinates of a color.
struct Triple {
    double first, second, third;
};

/// Inverse transfer function of sRGB (IEC 61966-2-1): light of an encoded color.
GPUHIST_HD inline double linear_of(double encoded) {
    return encoded <= 0.04045 ? encoded / 12.92 : power((encoded + 0.055) / 1.055, 2.4);
}
/// Transfer function of sRGB.
GPUHIST_HD inline double encoded_of(double linear) {
    return linear <= 0.0031308 ? linear * 12.92 : 1.055 * power(linear, 1 / 2.4) - 0.055;
}

/// Cube root, by three steps of Halley's iteration from a third of the exponent.
GPUHIST_HD inline double cube_root(double x) {
    if (!(fabs(x) > 0x1p-1000) || fabs(x) == HUGE_VAL) return x;  // such light is none
    std::uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits & 0x7FFFFFFFFFFFFFFF) / 3 + 0x2A9F789300000000;
    double y;
    memcpy(&y, &bits, sizeof y);
    const double size = fabs(x);
    for (int step = 0; step < 3; ++step) {
        const double cube = y * y * y;
        y = y * ((cube + 2 * size) / (2 * cube + size));
    }
    return x < 0 ? -y : y;
}

/// XYZ of linear colors, and back: the matrix of sRGB with six digits, and its inverse.
GPUHIST_HD inline Triple xyz_of(const Triple& rgb) {
    return {0.412453 * rgb.first + 0.357580 * rgb.second + 0.180423 * rgb.third,
            0.212671 * rgb.first + 0.715160 * rgb.second + 0.072169 * rgb.third,
            0.019334 * rgb.first + 0.119193 * rgb.second + 0.950227 * rgb.third};
}
GPUHIST_HD inline Triple rgb_of_xyz(const Triple& xyz) {
    return {3.2404813432 * xyz.first - 1.5371515163 * xyz.second - 0.4985363262 * xyz.third,
            -0.9692549500 * xyz.first + 1.8759900015 * xyz.second + 0.0415559266 * xyz.third,
            0.0556466391 * xyz.first - 0.2040413384 * xyz.second + 1.0573110696 * xyz.third};
}

/// White in XYZ: sums of the rows of the matrix.
inline constexpr double white_x = 0.950456, white_z = 1.088754;

/// The function of CIE 15 that makes lightness of a part of white, and its inverse.
GPUHIST_HD inline double lab_curve(double part) {
    return part > 216.0 / 24389 ? cube_root(part) : part * (841.0 / 108) + 4.0 / 29;
}
GPUHIST_HD inline double lab_curve_inverse(double value) {
    return value > 6.0 / 29 ? value * value * value : (value - 4.0 / 29) * (108.0 / 841);
}

GPUHIST_HD inline Triple lab_of(const Triple& rgb) {
    const Triple xyz = xyz_of(rgb);
    const double x = lab_curve(xyz.first / white_x), y = lab_curve(xyz.second), z = lab_curve(xyz.third / white_z);
    return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}
GPUHIST_HD inline Triple rgb_of_lab(const Triple& lab) {
    const double y = (lab.first + 16) / 116;
    return rgb_of_xyz({white_x * lab_curve_inverse(y + lab.second / 500), lab_curve_inverse(y),
                       white_z * lab_curve_inverse(y - lab.third / 200)});
}

GPUHIST_HD inline Triple oklab_of(const Triple& rgb) {
    const double l = cube_root(0.4122214708 * rgb.first + 0.5363325363 * rgb.second + 0.0514459929 * rgb.third),
                 m = cube_root(0.2119034982 * rgb.first + 0.6806995451 * rgb.second + 0.1073969566 * rgb.third),
                 s = cube_root(0.0883024619 * rgb.first + 0.2817188376 * rgb.second + 0.6299787005 * rgb.third);
    return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
            1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}
GPUHIST_HD inline Triple rgb_of_oklab(const Triple& lab) {
    const auto cube = [](double x) { return x * x * x; };
    const double l = cube(lab.first + 0.3963377774 * lab.second + 0.2158037573 * lab.third),
                 m = cube(lab.first - 0.1055613458 * lab.second - 0.0638541728 * lab.third),
                 s = cube(lab.first - 0.0894841775 * lab.second - 1.2914855480 * lab.third);
    return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
            -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
            -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

/// Hue, saturation and value of encoded colors.
GPUHIST_HD inline Triple hsv_of(const Triple& rgb) {
    const double red = rgb.first, green = rgb.second, blue = rgb.third;
    const double value = fmax(red, fmax(green, blue)), chroma = value - fmin(red, fmin(green, blue));
    if (!(chroma > 0)) return {0, 0, value};
    const double sector = value == red     ? (green - blue) / chroma
                          : value == green ? 2 + (blue - red) / chroma
                                           : 4 + (red - green) / chroma;
    return {60 * (sector < 0 ? sector + 6 : sector), value > 0 ? chroma / value : 0, value};
}
GPUHIST_HD inline Triple rgb_of_hsv(const Triple& hsv) {
    const double hue = hsv.first / 60, whole = floor(hue), part = hue - whole, value = hsv.third;
    const int sector = static_cast<int>(whole) % 6;
    const double least = value * (1 - hsv.second), falling = value * (1 - hsv.second * part),
                 rising = value * (1 - hsv.second * (1 - part));
    switch (sector) {
        case 0:
            return {value, rising, least};
        case 1:
            return {falling, value, least};
        case 2:
            return {least, value, rising};
        case 3:
            return {least, falling, value};
        case 4:
            return {rising, least, value};
        default:
            return {value, least, falling};
    }
}

/// Luma of Rec. 601 and its differences from blue and red, of encoded colors.
GPUHIST_HD inline Triple ycbcr_of(const Triple& rgb) {
    const double y = 0.299 * rgb.first + 0.587 * rgb.second + 0.114 * rgb.third;
    return {y, 0.564 * (rgb.third - y) + 0.5, 0.713 * (rgb.first - y) + 0.5};
}
GPUHIST_HD inline Triple rgb_of_ycbcr(const Triple& ycbcr) {
    const double red = ycbcr.first + (ycbcr.third - 0.5) / 0.713, blue = ycbcr.first + (ycbcr.second - 0.5) / 0.564;
    return {red, (ycbcr.first - 0.299 * red - 0.114 * blue) / 0.587, blue};
}

/// Returns whether the coordinates of a space follow from linear colors. The others follow from encoded colors.
GPUHIST_HD constexpr bool from_linear(ColorSpace space) {
    return space != ColorSpace::hsv && space != ColorSpace::ycbcr;
}

GPUHIST_HD inline bool is_finite(const Triple& rgb) {
    const double sum = rgb.first + rgb.second + rgb.third;  // of colors in floats: it is finite if they are
    return sum - sum == 0;
}

/// Number as a float: every NaN is the same.
GPUHIST_HD inline float as_float(double value) {
    const std::uint32_t quiet = 0x7FC00000u;
    float made;
    memcpy(&made, &quiet, sizeof made);
    return value == value ? static_cast<float>(value) : made;
}

/// Coordinates of a color, linear or encoded as the space needs it.
GPUHIST_HD inline Triple in_space(ColorSpace space, const Triple& rgb) {
    switch (space) {
        case ColorSpace::hsv:
            return hsv_of(rgb);
        case ColorSpace::ycbcr:
            return ycbcr_of(rgb);
        case ColorSpace::lab:
            return lab_of(rgb);
        case ColorSpace::xyz:
            return xyz_of(rgb);
        case ColorSpace::oklab:
            return oklab_of(rgb);
        case ColorSpace::linear:
            break;
    }
    return rgb;
}
GPUHIST_HD inline Triple rgb_of(ColorSpace space, const Triple& coordinates) {
    switch (space) {
        case ColorSpace::hsv:
            return rgb_of_hsv(coordinates);
        case ColorSpace::ycbcr:
            return rgb_of_ycbcr(coordinates);
        case ColorSpace::lab:
            return rgb_of_lab(coordinates);
        case ColorSpace::xyz:
            return rgb_of_xyz(coordinates);
        case ColorSpace::oklab:
            return rgb_of_oklab(coordinates);
        case ColorSpace::linear:
            break;
    }
    return coordinates;
}

/// Coordinates of an image of bytes, from their codes: the inverse of how the integer formulas encode them.
GPUHIST_HD inline Triple decoded_bytes(ColorSpace space, int first, int second, int third) {
    switch (space) {
        case ColorSpace::hsv:
            return {first * 2.0, second / 255.0, third / 255.0};
        case ColorSpace::ycbcr:
            return {first / 255.0, (second - 128) / 255.0 + 0.5, (third - 128) / 255.0 + 0.5};
        default:  // lab
            return {first / 2.55, second - 128.0, third - 128.0};
    }
}

/// Number of a sample with white at 1, as a space needs it.
struct ColorReader {
    double white;
    bool decodes;  ///< by the transfer function of sRGB
    ColorReader(const ColorEncoding& encoding, ColorSpace space)
        : white(encoding.white), decodes(from_linear(space) && !encoding.linear) {}
    GPUHIST_HD double operator()(double sample) const {
        const double value = sample / white;
        return decodes ? linear_of(value) : value;
    }
};

/// Bytes of a color.
struct Bytes3 {
    std::uint8_t first, second, third;
};

GPUHIST_HD inline std::uint8_t saturated(int value) {
    return static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}
GPUHIST_HD inline int descaled(int value, int bits) {
    return (value + (1 << (bits - 1))) >> bits;
}

/// Y, Cb and Cr of bytes, as cv::cvtColor(BGR2YCrCb) in 14-bit fixed point.
GPUHIST_HD inline Bytes3 ycbcr_of_bytes(int red, int green, int blue) {
    const int y = descaled(4899 * red + 9617 * green + 1868 * blue, 14), middle = 128 << 14;
    return {static_cast<std::uint8_t>(y), saturated(descaled((blue - y) * 9241 + middle, 14)),
            saturated(descaled((red - y) * 11682 + middle, 14))};
}

/// Rounded quotients of the integer formulas of hsv.
struct HsvTables {
    int saturation[256];  ///< 255 · 2^12 / value
    int hue[256];         ///< 180 · 2^12 / (6 · chroma)
};
/// Tables of hsv, made once.
inline const HsvTables& hsv_tables() {
    static const HsvTables tables = [] {
        HsvTables made{};
        for (int i = 1; i < 256; ++i) {
            made.saturation[i] = static_cast<int>(std::nearbyint((255 << 12) / (1.0 * i)));
            made.hue[i] = static_cast<int>(std::nearbyint((180 << 12) / (6.0 * i)));
        }
        return made;
    }();
    return tables;
}
/// Hue/2, saturation and value of bytes, as cv::cvtColor(BGR2HSV).
GPUHIST_HD inline Bytes3 hsv_of_bytes(const HsvTables& tables, int red, int green, int blue) {
    const int high = red > green ? red : green, value = high > blue ? high : blue;
    const int low = red < green ? red : green, chroma = value - (low < blue ? low : blue);
    const int sector = value == red     ? green - blue
                       : value == green ? blue - red + 2 * chroma
                                        : red - green + 4 * chroma;
    const int hue = descaled(sector * tables.hue[chroma], 12);
    return {static_cast<std::uint8_t>(hue < 0 ? hue + 180 : hue),
            static_cast<std::uint8_t>(descaled(chroma * tables.saturation[value], 12)),
            static_cast<std::uint8_t>(value)};
}

/// Tables of the integer formulas of lab.
struct LabTables {
    std::uint16_t linear[256];  ///< light of an encoded byte, white at 255 · 8
    std::uint16_t curve[3072];  ///< `lab_curve` of such light, 1 at 2^15
};
/// Tables of lab, made once, in floats as OpenCV makes them: its cube roots are cut off instead of rounded.
inline const LabTables& lab_tables() {
    static const LabTables tables = [] {
        LabTables made{};
        constexpr float light = 255 * 8, step = 1 / light;
        const auto entry = [](float value, float scale) {
            return static_cast<std::uint16_t>(std::nearbyint(value * scale));
        };
        for (int i = 0; i < 256; ++i)
            made.linear[i] = entry(static_cast<float>(linear_of(static_cast<float>(i) / 255)), light);
        for (int i = 0; i < 3072; ++i) {
            const double value = lab_curve(static_cast<float>(i) * step);
            auto cut = static_cast<float>(value);
            if (cut > value) cut = std::nextafter(cut, 0.0f);
            made.curve[i] = entry(cut, 1 << 15);
        }
        return made;
    }();
    return tables;
}
/// L*, a* and b* of bytes, encoded as 2.55·L*, a* + 128 and b* + 128, as cv::cvtColor(BGR2Lab). The weights are the
/// matrix of XYZ, divided by white, in 12-bit fixed point.
GPUHIST_HD inline Bytes3 lab_of_bytes(const LabTables& tables, int red, int green, int blue) {
    const int r = tables.linear[red], g = tables.linear[green], b = tables.linear[blue];
    const int x = tables.curve[descaled(r * 1777 + g * 1541 + b * 778, 12)],
              y = tables.curve[descaled(r * 871 + g * 2929 + b * 296, 12)],
              z = tables.curve[descaled(r * 73 + g * 448 + b * 3575, 12)];
    constexpr int scale = (116 * 255 + 50) / 100, shift = -((16 * 255 * (1 << 15) + 50) / 100), middle = 128 << 15;
    return {saturated(descaled(scale * y + shift, 15)), saturated(descaled(500 * (x - y) + middle, 15)),
            saturated(descaled(200 * (y - z) + middle, 15))};
}

}  // namespace gpuhist::core
