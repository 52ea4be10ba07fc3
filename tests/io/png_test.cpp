// PNG: samples as stored, of every type; what is damage and what is not.
#include <zlib.h>

#include "support/image_files.hpp"

namespace {

using namespace image_files;
using gpuhist::Samples;
using gpuhist::io::Alpha;
using gpuhist::io::Damage;
using gpuhist::io::Image;

using Chunks = std::vector<std::pair<std::string, Bytes>>;

#define EXPECT_SAYS(bytes, part) EXPECT_TRUE(contains(failure(bytes), part))

Bytes deflated(const Bytes& raw, int level = 6) {
    uLongf size = ::compressBound(raw.size());
    Bytes data(size);
    ::compress2(data.data(), &size, raw.data(), raw.size(), level);
    data.resize(size);
    return data;
}

/// A PNG of these chunks between its header and its end.
Bytes png_of(std::uint32_t width, std::uint32_t height, int bits, int color_type, const Chunks& chunks,
             int interlaced = 0) {
    Bytes header, png = bytes_of("\x89PNG\r\n\x1a\n");
    append(header, width, 4, true);
    append(header, height, 4, true);
    for (const int value : {bits, color_type, 0, 0, interlaced}) header.push_back(static_cast<unsigned char>(value));
    const auto add = [&](const std::string& type, const Bytes& content) {
        const Bytes chunk = png_chunk(type, content);
        png.insert(png.end(), chunk.begin(), chunk.end());
    };
    add("IHDR", header);
    for (const auto& [type, content] : chunks) add(type, content);
    add("IEND", {});
    return png;
}

/// Rows with filters of no effect before them.
Bytes with_filters(const Bytes& rows, std::size_t height) {
    Bytes raw;
    const std::size_t count = rows.size() / height;
    for (std::size_t y = 0; y < height; ++y) {
        raw.push_back(0);
        raw.insert(raw.end(), rows.begin() + static_cast<std::ptrdiff_t>(y * count),
                   rows.begin() + static_cast<std::ptrdiff_t>((y + 1) * count));
    }
    return raw;
}

Bytes numbers(std::size_t count) {
    Bytes found(count);
    for (std::size_t i = 0; i < count; ++i) found[i] = static_cast<unsigned char>(i * 7 + i / 16 * 5);
    return found;
}

std::vector<int> samples(const Image& image, int row = 0) {
    cv::Mat flat;
    image.pixels.row(row).clone().reshape(1).convertTo(flat, CV_32S);
    return {flat.begin<int>(), flat.end<int>()};
}

using Values = std::vector<int>;

TEST(Png, GrayWithAlphaStaysGray) {
    const Image eight = decode_image(make_png(2, 1, 8, 4, {9, 200, 7, 0}), "x");
    EXPECT_EQ(samples(eight), (Values{9, 9, 9, 200, 7, 7, 7, 0}));
    EXPECT_EQ(eight.samples, Samples::gray_alpha);
    EXPECT_EQ(eight.alpha, Alpha::straight);
    EXPECT_EQ(eight.white, 255);
    const Image sixteen = decode_image(make_png(1, 1, 16, 4, {1, 2, 3, 4}), "x");
    EXPECT_EQ(samples(sixteen), (Values{258, 258, 258, 772}));
    EXPECT_EQ(sixteen.samples, Samples::gray_alpha);
    EXPECT_EQ(sixteen.white, 65535);
}

TEST(Png, ColorsAreAsStored) {
    const Image eight = decode_image(make_png(1, 1, 8, 6, {1, 2, 3, 4}), "x");
    EXPECT_EQ(samples(eight), (Values{3, 2, 1, 4}));
    EXPECT_EQ(eight.samples, Samples::color);
    EXPECT_EQ(eight.alpha, Alpha::straight);
    EXPECT_EQ(samples(decode_image(make_png(1, 1, 16, 2, {0, 1, 2, 3, 255, 5}), "x")), (Values{0xFF05, 0x203, 1}));
    EXPECT_EQ(samples(decode_image(make_png(1, 1, 16, 6, {0, 1, 0, 2, 0, 3, 0, 4}), "x")), (Values{3, 2, 1, 4}));
    const Image gray = decode_image(make_png(2, 1, 16, 0, {1, 0, 0, 255}), "x");
    EXPECT_EQ(samples(gray), (Values{256, 255}));
    EXPECT_EQ(gray.alpha, Alpha::none);
}

TEST(Png, ATransparentColorMakesAlpha) {
    const auto transparent = [](int bits, int type, const Bytes& row, const Bytes& color, std::uint32_t width) {
        return decode_image(make_png(width, 1, bits, type, row, {{"tRNS", color}}), "x");
    };
    const Image gray = transparent(8, 0, {7, 8}, {0, 8}, 2);
    EXPECT_EQ(samples(gray), (Values{7, 7, 7, 255, 8, 8, 8, 0}));
    EXPECT_EQ(gray.samples, Samples::gray_alpha);
    EXPECT_EQ(samples(transparent(1, 0, {0b01000000}, {0, 1}, 2)), (Values{0, 0, 0, 255, 255, 255, 255, 0}));
    EXPECT_EQ(samples(transparent(2, 0, {0b01110000}, {0, 1}, 2)), (Values{85, 85, 85, 0, 255, 255, 255, 255}));
    EXPECT_EQ(samples(transparent(4, 0, {0x1F}, {0, 15}, 2)), (Values{17, 17, 17, 255, 255, 255, 255, 0}));
    EXPECT_EQ(samples(transparent(16, 0, {1, 2, 1, 3}, {1, 2}, 2)), (Values{258, 258, 258, 0, 259, 259, 259, 65535}));
    const Image color = transparent(8, 2, {1, 2, 3, 1, 2, 4}, {0, 1, 0, 2, 0, 3}, 2);
    EXPECT_EQ(samples(color), (Values{3, 2, 1, 0, 4, 2, 1, 255}));
    EXPECT_EQ(color.samples, Samples::color);
    EXPECT_EQ(samples(transparent(16, 2, {0, 1, 0, 2, 0, 3}, {0, 1, 0, 2, 0, 3}, 1)), (Values{3, 2, 1, 0}));
}

TEST(Png, InterlacedIsNoDifference) {
    // 3 x 3: the passes hold (0,0) - none - none - (2,0) - (0,2) (2,2) - (1,0) (1,2) - the second row.
    const Bytes passes{0, 10, 0, 12, 0, 30, 32, 0, 11, 0, 31, 0, 20, 21, 22};
    const Bytes png = png_of(3, 3, 8, 0, {{"IDAT", deflated(passes)}}, 1);
    for (int y = 0; y < 3; ++y)
        EXPECT_EQ(samples(decode_image(png, "x"), y), (Values{10 * y + 10, 10 * y + 11, 10 * y + 12}));
    Bytes colors(3 * 33);
    for (std::size_t i = 0; i < colors.size(); ++i) colors[i] = static_cast<unsigned char>(i);
    EXPECT_EQ(samples(decode_image(png_of(3, 3, 8, 3, {{"PLTE", colors}, {"IDAT", deflated(passes)}}, 1), "x"), 1),
              (Values{62, 61, 60, 65, 64, 63, 68, 67, 66}));
}

TEST(Png, WhatDoesNotMakePixelsIsNoDamage) {
    const Bytes raw = with_filters(numbers(600), 10), data = deflated(raw);
    const cv::Mat right = decode_image(png_of(20, 10, 8, 2, {{"IDAT", data}}), "x").pixels;
    Bytes more_rows = raw, more_data = data, window = data;
    more_rows.resize(raw.size() + 5000);
    append(more_data, 0x1234567890, 5);
    Bytes far_more_data = data;
    far_more_data.resize(data.size() + 200000);
    Chunks pieces;
    for (std::size_t at = 0; at < data.size(); at += 3)
        pieces.emplace_back("IDAT", Bytes(data.begin() + static_cast<std::ptrdiff_t>(at),
                                          data.begin() + static_cast<std::ptrdiff_t>(std::min(at + 3, data.size()))));
    Bytes checksum = png_of(20, 10, 8, 2, {{"tEXt", bytes_of("a text")}, {"IDAT", data}});
    checksum[8 + 25 + 8 + 6] ^= 1;
    testing::internal::CaptureStderr();
    for (const auto& [what, png] : std::vector<std::pair<std::string, Bytes>>{
             {"rows after the last", png_of(20, 10, 8, 2, {{"IDAT", deflated(more_rows)}})},
             {"data after the stream", png_of(20, 10, 8, 2, {{"IDAT", more_data}})},
             {"many data after the stream", png_of(20, 10, 8, 2, {{"IDAT", far_more_data}})},
             {"an empty piece", png_of(20, 10, 8, 2, {{"IDAT", {}}, {"IDAT", data}, {"IDAT", {}}})},
             {"pieces of three bytes", png_of(20, 10, 8, 2, pieces)},
             {"checksum of a text", checksum},
             {"profile", png_of(20, 10, 8, 2,
                                {{"iCCP", {1, 2}},
                                 {"gAMA", {0, 1, 2, 3}},
                                 {"sBIT", {3, 3, 3}},
                                 {"cHRM", {1}},
                                 {"sRGB", {9}},
                                 {"IDAT", data}})},
             {"background", png_of(20, 10, 8, 2, {{"bKGD", {0, 1, 0, 2, 0, 3}}, {"IDAT", data}})},
             {"palette of a color image", png_of(20, 10, 8, 2, {{"PLTE", {1, 2, 3, 4}}, {"IDAT", data}})},
             {"long text", png_of(20, 10, 8, 2, {{"zTXt", Bytes(9000000, 'x')}, {"IDAT", data}})},
             {"chunks after the data", png_of(20, 10, 8, 2, {{"IDAT", data}, {"tEXt", {7}}, {"eXIf", {1}}})}}) {
        EXPECT_EQ(failure(png), "") << what;
        EXPECT_TRUE(same(decode_image(png, "x").pixels, right)) << what;
    }
    EXPECT_EQ(failure(make_png(1, 1, 8, 4, {9, 200}, {{"tRNS", {0, 9}}})), "");
    Bytes trailing = png_of(20, 10, 8, 2, {{"IDAT", data}});
    trailing.resize(trailing.size() + 1000);
    EXPECT_EQ(failure(trailing), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Png, DamageIsRefused) {
    const Bytes rows = numbers(600), raw = with_filters(rows, 10), data = deflated(raw);
    const auto of = [](const Bytes& stream) { return png_of(20, 10, 8, 2, {{"IDAT", stream}}); };
    const auto first = [](const Bytes& bytes, std::size_t count) {
        return Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    };
    testing::internal::CaptureStderr();
    EXPECT_SAYS(of(deflated(first(raw, 61 * 5))), "damaged: the PNG at row 5 of 10: libpng: Not enough image data");
    EXPECT_SAYS(of(deflated(first(raw, raw.size() - 1))), "damaged: ");
    Bytes wrong = data;
    wrong.back() ^= 1;
    EXPECT_SAYS(of(wrong), "damaged: the PNG at row 9 of 10: libpng: IDAT: incorrect data check");
    for (std::size_t left = 1; left <= 5; ++left) EXPECT_SAYS(of(first(data, data.size() - left)), "damaged: ") << left;
    // The checksum of the stream lies in pieces of its own.
    for (std::size_t tail = 1; tail <= 6; ++tail)
        EXPECT_SAYS(png_of(20, 10, 8, 2,
                           {{"IDAT", first(wrong, wrong.size() - tail)},
                            {"IDAT", Bytes(wrong.end() - static_cast<std::ptrdiff_t>(tail), wrong.end())}}),
                    "incorrect data check");
    EXPECT_SAYS(of(Bytes(300, 0x11)), "damaged: ");
    EXPECT_SAYS(png_of(20, 10, 8, 2, {}), "damaged: the PNG has no image data");
    EXPECT_SAYS(png_of(20, 10, 8, 3, {{"IDAT", deflated(with_filters(numbers(200), 10))}}), "Missing PLTE before IDAT");
    EXPECT_SAYS(png_of(20, 10, 8, 3, {{"PLTE", Bytes(99 * 3)}, {"IDAT", deflated(with_filters(numbers(200), 10))}}),
                " of a palette of 99");
    EXPECT_SAYS(png_of(20, 10, 7, 2, {{"IDAT", data}}), "libpng: Invalid bit depth");
    EXPECT_SAYS(png_of(20, 10, 8, 2, {{"IDAT", data}, {"tRNS", Bytes(6)}}), "comes after the image data");
    EXPECT_SAYS(png_of(20, 10, 8, 2, {{"tRNS", Bytes(5)}, {"IDAT", data}}), "damaged: ");
    // Checksums; and the name of what makes alpha.
    for (const std::size_t at : {19, 33 + 4, 33 + 9, 33 + 15, 33 + 18 + 10}) {
        Bytes png = png_of(20, 10, 8, 2, {{"tRNS", Bytes(6)}, {"IDAT", data}});
        EXPECT_EQ(failure(png), "");
        png[at] ^= 0x20;
        EXPECT_SAYS(png, "damaged: the checksum of the PNG's ") << at;
    }
    Bytes unnamed = png_of(20, 10, 8, 2, {{"tRNS", Bytes(6)}, {"IDAT", data}});
    unnamed[33 + 5] = 0;
    EXPECT_SAYS(unnamed, "damaged: the PNG has no chunk at byte 33");
    EXPECT_SAYS(png_of(20, 10, 8, 2, {{"CRIT", {1}}, {"IDAT", data}}), "CRIT chunk at byte 33 is critical");
    const Bytes whole = of(data);
    EXPECT_SAYS(first(whole, whole.size() - 12), "truncated: the PNG ends before its IEND chunk");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Png, DamageMayBeAccepted) {
    DecodeOptions accept;
    accept.on_damaged = OnDamaged::accept;
    const Bytes raw = with_filters(numbers(600), 10);
    const cv::Mat right = decode_image(png_of(20, 10, 8, 2, {{"IDAT", deflated(raw)}}), "x").pixels;
    const Image half =
        decode_image(png_of(20, 10, 8, 2, {{"IDAT", deflated(Bytes(raw.begin(), raw.begin() + 61 * 5))}}), "x", accept);
    EXPECT_EQ(half.damage, Damage::damaged);
    EXPECT_TRUE(contains(half.cause, "Not enough image data"));
    EXPECT_TRUE(same(half.pixels.rowRange(0, 5), right.rowRange(0, 5)));
    EXPECT_EQ(cv::countNonZero(half.pixels.rowRange(5, 10).reshape(1)), 0);
    Bytes cut = png_of(20, 10, 8, 2, {{"IDAT", deflated(raw, 0)}});
    cut.resize(cut.size() / 2);
    EXPECT_EQ(decode_image(cut, "x", accept).damage, Damage::truncated);
}

TEST(Png, ClaimsThatTheFileCannotHoldAreRefused) {
    EXPECT_SAYS(png_of(20000, 20000, 8, 2, {{"IDAT", deflated(Bytes(1000))}}),
                "cannot hold the 20000 x 20000 pixels that its header claims");
    EXPECT_EQ(failure(make_png(0, 1, 8, 0, {1})).find("more than"), std::string::npos);
    // What is flat is near the limit.
    EXPECT_EQ(failure(png_of(4000, 4000, 8, 2, {{"IDAT", deflated(Bytes(4000 * 12001), 9)}})), "");
}

TEST(Png, FramesOfAnAnimationAreCounted) {
    const Bytes data = deflated(with_filters(numbers(600), 10));
    EXPECT_EQ(decode_image(png_of(20, 10, 8, 2, {{"IDAT", data}}), "x").pages, 1U);
    const auto control = [](unsigned char number) {
        Bytes bytes{0, 0, 0, number, 0, 0, 0, 20, 0, 0, 0, 10};
        bytes.resize(26);
        return bytes;
    };
    const Image image = decode_image(png_of(20, 10, 8, 2,
                                            {{"acTL", {0, 0, 0, 2, 0, 0, 0, 0}},
                                             {"fcTL", control(0)},
                                             {"IDAT", data},
                                             {"fcTL", control(1)},
                                             {"fdAT", {0, 0, 0, 2, 1}}}),
                                     "x");
    EXPECT_EQ(image.pages, 2U);
    EXPECT_EQ(image.pixels.size(), cv::Size(20, 10));
}

TEST(Png, ChangedBytesAreNeverOtherPixels) {
    cv::RNG random(5);
    for (const int type : {CV_8UC1, CV_8UC3, CV_8UC4, CV_16UC3}) {
        const cv::Mat image = picture(40, 60, type);
        const Bytes png = encode(".png", image);
        for (int i = 0; i < 200; ++i) {
            Bytes bytes = png;
            const auto from = static_cast<std::size_t>(random.uniform(8, static_cast<int>(png.size()) - 1));
            const auto count =
                std::min<std::size_t>(static_cast<std::size_t>(random.uniform(1, 65)), bytes.size() - from);
            const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(from);
            switch (i % 4) {
                case 0:
                    bytes.resize(from);
                    break;
                case 1:
                    bytes.erase(at, at + static_cast<std::ptrdiff_t>(count));
                    break;
                case 2:
                    *at ^= static_cast<unsigned char>(1 << random.uniform(0, 8));
                    break;
                default:
                    std::fill(at, at + static_cast<std::ptrdiff_t>(count), static_cast<unsigned char>(0));
            }
            if (!failure(bytes).empty()) continue;
            EXPECT_TRUE(same(decode_image(bytes, "x").pixels, image)) << i;
        }
    }
}

}  // namespace
