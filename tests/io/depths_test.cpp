// Samples of every depth and 1 to 64 channels through files: what is written is what is read, and libtiff sees the
// same.
#include <gtest/gtest.h>
#include <tiffio.h>

#include <cstring>
#include <opencv2/core.hpp>
#include <random>
#include <string>

#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/encode.hpp"
#include "support/image_files.hpp"
#include "support/temporary_directory.hpp"
#include "support/tiff_files.hpp"

namespace gpuhist::io {
namespace {

cv::Mat random_bits(Depth depth, int channels, unsigned seed = 1) {
    std::mt19937 random(seed);
    cv::Mat image(13, 11, CV_MAKETYPE(opencv_depth(depth), channels));
    for (std::size_t at = 0; at < image.total() * image.elemSize(); ++at)
        image.data[at] = static_cast<unsigned char>(random());
    return image;
}

bool same_bytes(const cv::Mat& a, const cv::Mat& b) {
    if (a.size() != b.size() || a.elemSize() != b.elemSize()) return false;
    for (int y = 0; y < a.rows; ++y)
        if (std::memcmp(a.ptr(y), b.ptr(y), static_cast<std::size_t>(a.cols) * a.elemSize()) != 0) return false;
    return true;
}

TEST(Depths, WhatIsWrittenIsWhatIsRead) {
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {1, 2, 3, 4, 5, 64})
            for (const Samples samples : {Samples::color, Samples::gray_alpha, Samples::bands, Samples::color_bands}) {
                if (samples == Samples::color && channels != 1 && channels != 3 && channels != 4) continue;
                if (samples == Samples::gray_alpha && channels != 4) continue;
                if (samples == Samples::bands && channels == 1) continue;
                if (samples == Samples::color_bands && channels < 4) continue;
                SCOPED_TRACE(std::string(traits.name) + ", " + std::to_string(channels) + " channels, samples " +
                             std::to_string(static_cast<int>(samples)));
                cv::Mat image = random_bits(traits.depth, channels);
                const std::size_t bytes = image.elemSize1();
                if (samples == Samples::gray_alpha)  // blue, green and red are gray
                    for (std::size_t i = 0; i < image.total(); ++i)
                        for (int c = 1; c < 3; ++c)
                            std::memcpy(image.data + (4 * i + static_cast<std::size_t>(c)) * bytes,
                                        image.data + 4 * i * bytes, bytes);
                const Image read = decode_image(encode_image("x.tiff", image, samples, traits.depth), "x.tiff");
                EXPECT_TRUE(same_bytes(read.pixels, image));
                EXPECT_EQ(read.depth, traits.depth);
                EXPECT_EQ(read.samples, samples);
                EXPECT_EQ(read.white, traits.highest);
                EXPECT_EQ(view(read).depth, traits.depth);
                EXPECT_EQ(view(read).channels, image.channels());
            }
    EXPECT_STREQ(lossless_extension(Depth::u16), ".png");
    for (const Depth depth : {Depth::s8, Depth::s16, Depth::u32, Depth::s32, Depth::f16, Depth::f64})
        EXPECT_STREQ(lossless_extension(depth), ".tiff");
}

TEST(Depths, FilesSayWhatTheirSamplesAre) {
    const test::TemporaryDirectory directory;
    for (const DepthTraits& traits : all_depths) {
        SCOPED_TRACE(traits.name);
        write_image(directory.path() / "x.tiff", random_bits(traits.depth, 1), Samples::color, traits.depth);
        TIFF* file = TIFFOpen((directory.path() / "x.tiff").c_str(), "r");
        ASSERT_TRUE(file);
        std::uint16_t bits = 0, format = 0;
        TIFFGetField(file, TIFFTAG_BITSPERSAMPLE, &bits);
        TIFFGetField(file, TIFFTAG_SAMPLEFORMAT, &format);
        EXPECT_EQ(bits, 8 * traits.bytes);
        EXPECT_EQ(format, traits.floating     ? SAMPLEFORMAT_IEEEFP
                          : traits.lowest < 0 ? SAMPLEFORMAT_INT
                                              : SAMPLEFORMAT_UINT);
        TIFFClose(file);
    }
}

}  // namespace
}  // namespace gpuhist::io
