// Color spaces: bytes against OpenCV, floats against the published formulas in long double, and both back to colors.
#include "gpuhist/color_space.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "core/half.hpp"
#include "gpuhist/error.hpp"
#include "support/picture.hpp"
#include "support/repetitions.hpp"

namespace gpuhist::test {
namespace {

using Real = long double;
using Reals = std::array<Real, 3>;

/// Every color of three bytes, or every n-th: an image with one row per 4096 of them.
cv::Mat all_colors() {
    const int step = every_nth() == 1 ? 1 : 61, rows = (1 << 24) / 4096 / step;
    cv::Mat colors(rows, 4096, CV_8UC3);
    for (int i = 0; i < rows * 4096; ++i) {
        const int color = i * step;
        colors.at<cv::Vec3b>(i / 4096, i % 4096) = {static_cast<unsigned char>(color),
                                                    static_cast<unsigned char>(color >> 8),
                                                    static_cast<unsigned char>(color >> 16)};
    }
    return colors;
}

template <class Sample>
ImageView view_of(const std::vector<Sample>& samples, int channels, Depth depth) {
    return packed_view(static_cast<const void*>(samples.data()), static_cast<std::int64_t>(samples.size()) / channels,
                       1, channels, depth, ChannelOrder::rgb);
}

std::vector<float> converted(const ImageView& image, const ColorEncoding& encoding, ColorSpace space) {
    const int channels = image.channels == 4 ? 4 : 3;
    std::vector<float> out(static_cast<std::size_t>(image.pixels() * channels));
    convert_colors(image, encoding, space, packed_view(out.data(), image.width, image.height, channels, Depth::f32));
    return out;
}

// ---- bytes ----------------------------------------------------------------------------------------------------------

TEST(ColorSpaces, BytesEqualOpenCvInEveryColor) {
    const cv::Mat colors = all_colors();
    const auto view = packed_view(static_cast<const void*>(colors.data), colors.cols, colors.rows, 3, Depth::u8);
    const struct {
        ColorSpace space;
        int code;
        std::array<int, 3> places;  // of OpenCV's channels
    } cases[] = {{ColorSpace::hsv, cv::COLOR_BGR2HSV, {0, 1, 2}},
                 {ColorSpace::ycbcr, cv::COLOR_BGR2YCrCb, {0, 2, 1}},
                 {ColorSpace::lab, cv::COLOR_BGR2Lab, {0, 1, 2}}};
    for (const auto& [space, code, places] : cases) {
        cv::Mat expected, ordered(colors.size(), CV_8UC3), got(colors.size(), CV_8UC3);
        cv::cvtColor(colors, expected, code);
        cv::mixChannels({expected}, {ordered}, {places[0], 0, places[1], 1, places[2], 2});
        convert_colors(view, {}, space, packed_view(got.data, got.cols, got.rows, 3, Depth::u8), 2);
        EXPECT_EQ(cv::norm(ordered, got, cv::NORM_INF), 0) << traits_of(space).name;
    }
}

TEST(ColorSpaces, GrayIsThreeEqualColorsAndAlphaStays) {
    std::vector<std::uint8_t> gray(256), colors, with_alpha;
    for (int i = 0; i < 256; ++i) {
        gray[i] = static_cast<std::uint8_t>(i);
        for (int c = 0; c < 3; ++c) colors.push_back(gray[i]);
        for (int c = 0; c < 4; ++c) with_alpha.push_back(c < 3 ? gray[i] : static_cast<std::uint8_t>(255 - i));
    }
    for (const ColorSpaceTraits& space : all_color_spaces) {
        const Depth depth = depth_in(space.space, Depth::u8);
        const auto made = [&](const ImageView& image) {
            const int channels = image.channels == 4 ? 4 : 3;
            std::vector<char> out(static_cast<std::size_t>(256 * channels) * sample_bytes(depth));
            convert_colors(image, {}, space.space, packed_view(out.data(), 256, 1, channels, depth));
            return out;
        };
        const auto three = made(view_of(colors, 3, Depth::u8));
        EXPECT_EQ(made(view_of(gray, 1, Depth::u8)), three) << space.name;
        const auto four = made(view_of(with_alpha, 4, Depth::u8));
        for (std::size_t i = 0; i < 256; ++i) {
            const std::size_t sample = sample_bytes(depth);
            EXPECT_EQ(std::memcmp(&four[4 * i * sample], &three[3 * i * sample], 3 * sample), 0) << space.name << i;
            if (depth == Depth::u8)
                EXPECT_EQ(static_cast<std::uint8_t>(four[4 * i + 3]), 255 - i);
            else
                EXPECT_EQ(reinterpret_cast<const float*>(four.data())[4 * i + 3],
                          static_cast<float>((255.0 - i) / 255));
        }
    }
}

// ---- floats ---------------------------------------------------------------------------------------------------------

Real linear(Real encoded) {
    return encoded <= 0.04045L ? encoded / 12.92L : std::pow((encoded + 0.055L) / 1.055L, 2.4L);
}
Reals times(const std::array<Reals, 3>& matrix, const Reals& v) {
    Reals product{};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) product[i] += matrix[i][j] * v[j];
    return product;
}
Reals xyz(const Reals& light) {
    return times(
        {{{0.412453L, 0.357580L, 0.180423L}, {0.212671L, 0.715160L, 0.072169L}, {0.019334L, 0.119193L, 0.950227L}}},
        light);
}
Reals lab(const Reals& light) {
    const Reals white = xyz({1, 1, 1}), at = xyz(light);
    Reals f{};
    for (int i = 0; i < 3; ++i) {
        const Real part = at[i] / white[i];
        f[i] = part > 216 / 24389.0L ? std::cbrt(part) : (24389 / 27.0L * part + 16) / 116;
    }
    return {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
}
Reals oklab(const Reals& light) {
    Reals lms = times({{{0.4122214708L, 0.5363325363L, 0.0514459929L},
                        {0.2119034982L, 0.6806995451L, 0.1073969566L},
                        {0.0883024619L, 0.2817188376L, 0.6299787005L}}},
                      light);
    for (Real& one : lms) one = std::cbrt(one);
    return times({{{0.2104542553L, 0.7936177850L, -0.0040720468L},
                   {1.9779984951L, -2.4285922050L, 0.4505937099L},
                   {0.0259040371L, 0.7827717662L, -0.8086757660L}}},
                 lms);
}
/// Hue by the angle in the hexagon, from the definition by cases of the middle color.
Reals hsv(const Reals& rgb) {
    const Real high = *std::max_element(rgb.begin(), rgb.end()), low = *std::min_element(rgb.begin(), rgb.end());
    if (high == low) return {0, 0, high};
    const int top = rgb[0] == high ? 0 : rgb[1] == high ? 1 : 2;
    Real hue = 120 * top + 60 * (rgb[(top + 1) % 3] - rgb[(top + 2) % 3]) / (high - low);
    if (hue < 0) hue += 360;
    return {hue, (high - low) / high, high};
}
Reals ycbcr(const Reals& rgb) {
    const Real y = 0.299L * rgb[0] + 0.587L * rgb[1] + 0.114L * rgb[2];
    return {y, 0.564L * (rgb[2] - y) + 0.5L, 0.713L * (rgb[0] - y) + 0.5L};
}
Reals defined(ColorSpace space, Reals rgb, bool is_linear) {
    if (space == ColorSpace::hsv) return hsv(rgb);
    if (space == ColorSpace::ycbcr) return ycbcr(rgb);
    if (!is_linear)
        for (Real& one : rgb) one = linear(one);
    return space == ColorSpace::lab     ? lab(rgb)
           : space == ColorSpace::xyz   ? xyz(rgb)
           : space == ColorSpace::oklab ? oklab(rgb)
                                        : rgb;
}

template <class Sample>
void expect_defined(const std::vector<Sample>& samples, Depth depth, const ColorEncoding& encoding,
                    const std::function<Real(Sample)>& value) {
    for (const ColorSpaceTraits& space : all_color_spaces) {
        if (depth_in(space.space, depth) == Depth::u8) continue;
        const std::vector<float> got = converted(view_of(samples, 3, depth), encoding, space.space);
        for (std::size_t i = 0; i < samples.size(); i += 3) {
            Reals rgb{};
            for (std::size_t c = 0; c < 3; ++c) rgb[c] = value(samples[i + c]) / encoding.white;
            const Reals expected = defined(space.space, rgb, encoding.linear);
            for (std::size_t c = 0; c < 3; ++c) {
                // Rounded once from double, in which terms as large as 500 cancel.
                const Real error = std::fabs(got[i + c] - expected[c]);
                ASSERT_LE(error, 1e-12L * space.white * 500 + 0x1p-24L * std::fabs(expected[c]))
                    << space.name << " of " << to_string(depth) << ", channel " << c << " of pixel " << i / 3;
            }
        }
    }
}

std::vector<std::uint16_t> some_words(std::size_t colors, std::uint32_t below) {
    std::vector<std::uint16_t> words;
    for (std::size_t i = 0; i < 3 * colors; ++i) words.push_back(static_cast<std::uint16_t>(scramble(i) % below));
    for (const std::uint16_t one : {0, 1, 2, static_cast<int>(below) - 1})
        for (int c = 0; c < 3; ++c) words.push_back(one);
    return words;
}

TEST(ColorSpaces, FloatsFollowThePublishedFormulas) {
    const std::size_t colors = repetitions(30000, 1000);
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i < 3 * colors; ++i) bytes.push_back(static_cast<std::uint8_t>(scramble(i)));
    expect_defined<std::uint8_t>(bytes, Depth::u8, {255, false}, [](std::uint8_t one) { return Real(one); });
    const auto word = [](std::uint16_t one) { return Real(one); };
    expect_defined<std::uint16_t>(some_words(colors, 65536), Depth::u16, {65535, false}, word);
    expect_defined<std::uint16_t>(some_words(1000, 4096), Depth::u16, {4095, false}, word);
    expect_defined<std::uint16_t>(some_words(1000, 65536), Depth::u16, {65535, true}, word);
    std::vector<float> floats;
    for (std::size_t i = 0; i < 3 * colors; ++i) floats.push_back(static_cast<float>(scramble(i) >> 40) * 0x1p-23F);
    expect_defined<float>(floats, Depth::f32, {1, false}, [](float one) { return Real{one}; });
    expect_defined<float>(floats, Depth::f32, {1, true}, [](float one) { return Real{one}; });
    std::vector<Half> halves;
    for (const float one : floats) halves.push_back(core::narrowed<Half>(one));
    expect_defined<Half>(halves, Depth::f16, {1, false}, [](Half one) { return Real{core::to_float(one)}; });
}

TEST(ColorSpaces, FloatsAreThoseOfOpenCvToItsPrecision) {
    std::vector<float> floats;
    for (std::size_t i = 0; i < 30000; ++i) floats.push_back(static_cast<float>(scramble(i) >> 40) * 0x1p-24F);
    const cv::Mat image(1, 10000, CV_32FC3, floats.data());
    cv::Mat expected;
    cv::cvtColor(image, expected, cv::COLOR_RGB2HSV);
    std::vector<float> got = converted(view_of(floats, 3, Depth::f32), {1, false}, ColorSpace::hsv);
    for (std::size_t i = 0; i < floats.size(); ++i)
        ASSERT_NEAR(got[i], expected.ptr<float>()[i], i % 3 == 0 ? 360e-5 : 1e-5) << i;
    cv::cvtColor(image, expected, cv::COLOR_RGB2YCrCb);
    got = converted(view_of(floats, 3, Depth::f32), {1, false}, ColorSpace::ycbcr);
    for (std::size_t i = 0; i < floats.size(); ++i)
        ASSERT_NEAR(got[i], expected.ptr<float>()[i % 3 == 0 ? i : i % 3 == 1 ? i + 1 : i - 1], 1e-6) << i;
    cv::cvtColor(image, expected, cv::COLOR_LRGB2Lab);  // of linear colors, which OpenCV does not interpolate
    got = converted(view_of(floats, 3, Depth::f32), {1, true}, ColorSpace::lab);
    for (std::size_t i = 0; i < floats.size(); ++i) ASSERT_NEAR(got[i], expected.ptr<float>()[i], 1e-2) << i;
}

TEST(ColorSpaces, GrayHasNoColorAndWhiteIsWhite) {
    const std::vector<std::uint16_t> grays{0, 1, 1000, 30000, 65535};
    for (const ColorSpaceTraits& space : all_color_spaces) {
        const std::vector<float> got = converted(view_of(grays, 1, Depth::u16), {65535, false}, space.space);
        const float* const white = &got[12];
        if (space.space == ColorSpace::lab || space.space == ColorSpace::oklab)
            for (std::size_t i = 0; i < grays.size(); ++i) {
                EXPECT_NEAR(got[3 * i + 1], 0, 5e-5 * space.white) << space.name << grays[i];
                EXPECT_NEAR(got[3 * i + 2], 0, 5e-5 * space.white) << space.name << grays[i];
            }
        if (space.lightness < 0) continue;
        EXPECT_NEAR(white[space.lightness % 3], space.white, 1e-6 * space.white) << space.name;
    }
}

TEST(ColorSpaces, PixelsThatAreNotFiniteAreNan) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
    const std::vector<float> colors{nan, 0, 0, 0, infinite, 0, 0, 0, -infinite, 0.5F, 0.5F, 0.5F};
    for (const ColorSpaceTraits& space : all_color_spaces) {
        const std::vector<float> got = converted(view_of(colors, 3, Depth::f32), {1, false}, space.space);
        for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(std::isnan(got[i]), i < 9) << space.name << i;
    }
}

TEST(ColorSpaces, ThreadsDoNotChangeABit) {
    const Picture picture({1025, 511, 3, Depth::u16}, packed, Content::random);
    const ImageView image = picture.view();
    for (const ColorSpaceTraits& space : all_color_spaces) {
        std::vector<float> one(static_cast<std::size_t>(image.pixels() * 3)), many(one.size());
        const auto to = [&](std::vector<float>& out) {
            return packed_view(out.data(), image.width, image.height, 3, Depth::f32);
        };
        convert_colors(image, {65535, false}, space.space, to(one), 1);
        convert_colors(image, {65535, false}, space.space, to(many), 4);
        EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(float)), 0) << space.name;
    }
}

// ---- back -----------------------------------------------------------------------------------------------------------

TEST(ColorSpaces, FloatsBecomeTheSameColorsAgain) {
    const std::vector<std::uint16_t> words = some_words(repetitions(30000, 1000), 65536);
    const std::int64_t width = static_cast<std::int64_t>(words.size()) / 3;
    for (const ColorSpaceTraits& space : all_color_spaces)
        for (const bool is_linear : {false, true}) {
            const ColorEncoding encoding{65535, is_linear};
            const std::vector<float> there = converted(view_of(words, 3, Depth::u16), encoding, space.space);
            std::vector<std::uint16_t> back(words.size());
            restore_colors(view_of(there, 3, Depth::f32), space.space, encoding,
                           packed_view(back.data(), width, 1, 3, Depth::u16, ChannelOrder::rgb));
            int most = 0;
            for (std::size_t i = 0; i < words.size(); ++i) most = std::max(most, std::abs(words[i] - back[i]));
            EXPECT_LE(most, 1) << space.name << is_linear;  // f32 has 24 digits, and dark encoded colors lose some
            std::vector<std::uint8_t> gray(static_cast<std::size_t>(width));
            restore_colors(view_of(there, 3, Depth::f32), space.space, {255, is_linear},
                           packed_view(gray.data(), width, 1, 1, Depth::u8));
            for (std::size_t i = 0; i < gray.size(); ++i)
                ASSERT_NEAR(gray[i], words[3 * i + 1] / 257.0, 0.51) << space.name;
        }
}

TEST(ColorSpaces, BytesOfGrayBecomeTheSameGrayAgain) {
    std::vector<std::uint8_t> gray(256);
    for (int i = 0; i < 256; ++i) gray[i] = static_cast<std::uint8_t>(i);
    for (const ColorSpace space : {ColorSpace::hsv, ColorSpace::ycbcr, ColorSpace::lab}) {
        std::vector<std::uint8_t> there(3 * 256), back(3 * 256);
        convert_colors(view_of(gray, 1, Depth::u8), {}, space, packed_view(there.data(), 256, 1, 3, Depth::u8));
        restore_colors(view_of(there, 3, Depth::u8), space, {}, packed_view(back.data(), 256, 1, 3, Depth::u8));
        for (std::size_t i = 0; i < back.size(); ++i)
            EXPECT_NEAR(back[i], gray[i / 3], space == ColorSpace::lab ? 2 : 0) << traits_of(space).name << i;
    }
}

TEST(ColorSpaces, RefuseWhatTheyCannotConvert) {
    std::vector<float> out(400);
    std::vector<double> in(400, 0.5);
    const auto convert = [&](Depth depth, int channels, Samples samples, int to, Depth to_depth) {
        ImageView image = packed_view(static_cast<const void*>(in.data()), 10, 1, channels, depth);
        image.samples = samples;
        convert_colors(image, {1, false}, ColorSpace::lab, packed_view(out.data(), 10, 1, to, to_depth));
    };
    EXPECT_NO_THROW(convert(Depth::f32, 3, Samples::color, 3, Depth::f32));
    EXPECT_THROW(convert(Depth::f64, 3, Samples::color, 3, Depth::f32), InvalidArgument);
    EXPECT_THROW(convert(Depth::s16, 3, Samples::color, 3, Depth::f32), InvalidArgument);
    EXPECT_THROW(convert(Depth::f32, 3, Samples::bands, 3, Depth::f32), InvalidArgument);
    EXPECT_THROW(convert(Depth::f32, 5, Samples::color, 3, Depth::f32), InvalidArgument);
    EXPECT_THROW(convert(Depth::f32, 3, Samples::color, 4, Depth::f32), InvalidArgument);
    EXPECT_THROW(convert(Depth::f32, 3, Samples::color, 1, Depth::f32), InvalidArgument);
    EXPECT_THROW(convert(Depth::u8, 3, Samples::color, 3, Depth::f32), InvalidArgument);  // lab of u8 is u8
    ImageView image = packed_view(static_cast<const void*>(in.data()), 10, 1, 3, Depth::f32);
    EXPECT_THROW(convert_colors(image, {0, false}, ColorSpace::lab, packed_view(out.data(), 10, 1, 3, Depth::f32)),
                 InvalidArgument);
    EXPECT_THROW(convert_colors(image, {1, false}, ColorSpace::lab, packed_view(out.data(), 9, 1, 3, Depth::f32)),
                 InvalidArgument);
    image.memory = Memory::device;
    EXPECT_THROW(convert_colors(image, {1, false}, ColorSpace::lab, packed_view(out.data(), 10, 1, 3, Depth::f32)),
                 InvalidArgument);
}

}  // namespace
}  // namespace gpuhist::test
