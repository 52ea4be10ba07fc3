// Differences of images, held to OpenCV.
#include "gpuhist/pixel_difference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <opencv2/core.hpp>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/io/opencv.hpp"

namespace gpuhist {
namespace {

cv::Mat noise(int seed, int type, double top) {
    cv::Mat image(37, 53, type);
    cv::RNG(static_cast<std::uint64_t>(seed) + 1).fill(image, cv::RNG::UNIFORM, 0, top);
    return image;
}

PixelDifference difference(const cv::Mat& a, double white_a, const cv::Mat& b, double white_b) {
    return pixel_difference(io::view(a), white_a, io::view(b), white_b);
}

TEST(PixelDifference, IsThatOfOpenCV) {
    for (const auto& [type, white] :
         {std::pair(CV_8UC1, 255.0), {CV_8UC3, 255.0}, {CV_16UC3, 65535.0}, {CV_16SC1, 32767.0}, {CV_32FC3, 1.0}}) {
        SCOPED_TRACE(type);
        const cv::Mat a = noise(1, type, white), b = noise(2, type, white);
        const PixelDifference found = difference(a, white, b, white);
        EXPECT_EQ(found.relation, SampleRelation::different);
        EXPECT_FALSE(found.of_white);
        EXPECT_EQ(found.samples, a.total() * static_cast<std::size_t>(a.channels()));
        EXPECT_NEAR(*found.max, cv::norm(a, b, cv::NORM_INF), 1e-6 * white);
        const double samples = static_cast<double>(found.samples), sum = cv::norm(a, b, cv::NORM_L1);
        EXPECT_NEAR(*found.mean, sum / samples, 1e-6 * sum / samples);
        EXPECT_NEAR(*found.psnr, cv::PSNR(a, b, white), 1e-5);
        cv::Mat unequal = a.reshape(1) != b.reshape(1);
        EXPECT_EQ(found.different, static_cast<std::uint64_t>(cv::countNonZero(unequal)));
        cv::Mat apart;
        cv::absdiff(a.reshape(1), b.reshape(1), apart);
        double largest = 0;
        cv::Point place;
        cv::minMaxLoc(apart, nullptr, &largest, nullptr, &place);
        EXPECT_EQ(found.x, place.x / a.channels());
        EXPECT_EQ(found.y, place.y);
        EXPECT_EQ(found.channel, place.x % a.channels());
    }
}

TEST(PixelDifference, EqualImagesAreIdentical) {
    for (const int type : {CV_8UC3, CV_16UC1, CV_32FC1, CV_64FC2}) {
        const cv::Mat a = noise(3, type, 200);
        const PixelDifference found = difference(a, 255, a.clone(), 255);
        EXPECT_EQ(found.relation, SampleRelation::identical);
        EXPECT_EQ(found.different, 0U);
        EXPECT_EQ(found.max, 0.0);
        EXPECT_EQ(found.mean, 0.0);
        EXPECT_FALSE(found.psnr || found.x);
    }
    // A part of an image, whose rows do not follow each other.
    const cv::Mat whole = noise(4, CV_8UC3, 256), part = whole(cv::Rect(5, 6, 20, 10));
    EXPECT_EQ(difference(part, 255, part.clone(), 255).relation, SampleRelation::identical);
}

TEST(PixelDifference, WidenedSamplesFollowByARule) {
    const cv::Mat bytes = noise(5, CV_8UC3, 256);
    const auto expect = [&](const cv::Mat& wide, double white, const char* rule) {
        for (const bool swapped : {false, true}) {
            const PixelDifference found =
                swapped ? difference(wide, white, bytes, 255) : difference(bytes, 255, wide, white);
            EXPECT_EQ(found.relation, SampleRelation::widened) << rule;
            EXPECT_EQ(found.rule, rule);
            EXPECT_EQ(found.different, 0U);
            EXPECT_FALSE(found.max || found.psnr || found.x);
        }
    };
    cv::Mat wide;
    bytes.convertTo(wide, CV_16U, 257);
    expect(wide, 65535, "x 257");
    bytes.convertTo(wide, CV_16U, 256);
    expect(wide, 65535, "x 256");
    bytes.convertTo(wide, CV_16U);
    expect(wide, 65535, "x 1");
    bytes.convertTo(wide, CV_32F, 1.0 / 255);
    expect(wide, 1, "/ 255");
    bytes.convertTo(wide, CV_32F);
    expect(wide, 1, "x 1");
    bytes.convertTo(wide, CV_16U, 257);
    wide.at<cv::Vec3w>(7, 9)[2] += 3;
    const PixelDifference found = difference(bytes, 255, wide, 65535);
    EXPECT_EQ(found.relation, SampleRelation::different);
    EXPECT_TRUE(found.of_white);
    EXPECT_EQ(found.different, 1U);
    EXPECT_NEAR(*found.max, 3.0 / 65535, 1e-15);
    EXPECT_EQ(found.x, 9);
    EXPECT_EQ(found.y, 7);
    EXPECT_EQ(found.channel, 2);
}

TEST(PixelDifference, NotANumberEqualsOnlyItself) {
    const float nan = std::nanf(""), infinite = std::numeric_limits<float>::infinity();
    cv::Mat a = (cv::Mat_<float>(1, 5) << 1, nan, infinite, 0.0F, 3), b = a.clone();
    b.at<float>(3) = -0.0F;
    EXPECT_EQ(difference(a, 1, b, 1).relation, SampleRelation::identical);
    b.at<float>(1) = 2;
    const PixelDifference found = difference(a, 1, b, 1);
    EXPECT_EQ(found.relation, SampleRelation::different);
    EXPECT_EQ(found.different, 1U);
    EXPECT_EQ(found.max, 0.0);  // of the finite samples
    EXPECT_EQ(found.x, 1);
    b.at<float>(4) = 5;
    EXPECT_EQ(difference(a, 1, b, 1).x, 4);
    b = a.clone();
    b.at<float>(2) = -infinite;
    EXPECT_EQ(difference(a, 1, b, 1).different, 1U);
}

TEST(PixelDifference, RefusesWhatCannotBeCompared) {
    const cv::Mat a = noise(6, CV_8UC3, 256), small = a(cv::Rect(0, 0, 5, 5)).clone(), gray = noise(6, CV_8UC1, 256);
    EXPECT_THROW(difference(a, 255, small, 255), InvalidArgument);
    EXPECT_THROW(difference(a, 255, gray, 255), InvalidArgument);
    EXPECT_THROW(difference(a, 0, a, 255), InvalidArgument);
    EXPECT_THROW(difference(a, 255, a, std::nan("")), InvalidArgument);
}

}  // namespace
}  // namespace gpuhist
