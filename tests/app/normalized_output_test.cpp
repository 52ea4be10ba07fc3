// Normalised copies that the command writes, against OpenCV.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "support/command.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

/// Pixels from 20 to 221: over an odd distance no product is an exact half, where cv::normalize goes either way.
cv::Mat odd_range(int type) {
    cv::Mat image = make_image(61, 40, type), flat = image.reshape(1);
    flat = cv::min(cv::max(flat, 20), 221);
    flat.at<std::uint8_t>(0, 0) = 20;
    flat.at<std::uint8_t>(1, 1) = 221;
    return image;
}

TEST_F(Command, MinmaxEqualsOpenCv) {
    for (const int type : {CV_8UC1, CV_8UC3}) {
        const cv::Mat image = odd_range(type);
        save("x.png", image);
        ASSERT_EQ(run({"x.png", "--write", "normalized"}).code, all_done);
        const cv::Mat actual = cv::imread(at("gpuhist-out/x.png.normalized.png").string(), cv::IMREAD_UNCHANGED);
        ASSERT_EQ(actual.type(), type);
        cv::Mat expected;
        cv::normalize(image.reshape(1), expected, 0, 255, cv::NORM_MINMAX);
        EXPECT_EQ(cv::norm(actual.reshape(1), expected, cv::NORM_INF), 0);
    }
}

TEST_F(Command, MinmaxOfEachChannelEqualsOpenCv) {
    cv::Mat image = odd_range(CV_8UC3);
    std::vector<cv::Mat> planes;
    cv::split(image, planes);
    for (int c = 0; c < 3; ++c) {  // distances 201, 191 and 181
        planes[c] = cv::min(planes[c], 221 - 10 * c);
        planes[c].at<std::uint8_t>(0, 0) = 20;
        planes[c].at<std::uint8_t>(1, 1) = static_cast<std::uint8_t>(221 - 10 * c);
    }
    cv::merge(planes, image);
    save("x.png", image);
    ASSERT_EQ(run({"x.png", "--write", "normalized", "--channels", "separate"}).code, all_done);
    const cv::Mat actual = cv::imread(at("gpuhist-out/x.png.normalized.png").string(), cv::IMREAD_UNCHANGED);
    for (cv::Mat& plane : planes) cv::normalize(plane.clone(), plane, 0, 255, cv::NORM_MINMAX);
    cv::Mat expected;
    cv::merge(planes, expected);
    ASSERT_EQ(actual.type(), CV_8UC3);
    EXPECT_EQ(cv::norm(actual, expected, cv::NORM_INF), 0);
}

TEST_F(Command, EqualizeEqualsOpenCv) {
    const cv::Mat image = make_image(61, 40, CV_8UC1);
    save("x.png", image);
    ASSERT_EQ(run({"x.png", "--write", "normalized", "--normalize", "equalize"}).code, all_done);
    cv::Mat expected;
    cv::equalizeHist(image, expected);
    const cv::Mat actual = cv::imread(at("gpuhist-out/x.png.normalized.png").string(), cv::IMREAD_UNCHANGED);
    ASSERT_EQ(actual.type(), CV_8UC1);
    EXPECT_EQ(cv::norm(actual, expected, cv::NORM_INF), 0);
}

TEST_F(Command, PercentilesStretchAndClamp) {
    cv::Mat image(1, 101, CV_8UC1);
    for (int x = 0; x < 101; ++x) image.at<std::uint8_t>(0, x) = static_cast<std::uint8_t>(x + 100);
    save("x.png", image);
    ASSERT_EQ(run({"x.png", "--write", "normalized", "--normalize", "percentile", "--percentiles", "10,60"}).code,
              all_done);
    const cv::Mat actual = cv::imread(at("gpuhist-out/x.png.normalized.png").string(), cv::IMREAD_UNCHANGED);
    ASSERT_EQ(actual.size(), image.size());
    // Nearest rank: ceil(10.1) = 11th value, 110; ceil(60.6) = 61st, 160. Halves are rounded up.
    for (int x = 0; x < 101; ++x)
        EXPECT_EQ(actual.at<std::uint8_t>(0, x), std::clamp((x - 10) * 255 * 2 + 50, 0, 2 * 255 * 50 + 50) / 100) << x;
}

TEST_F(Command, ZscoreIsWrittenAsFloats) {
    const cv::Mat image = make_image(61, 40, CV_16UC1);
    save("x.png", image);
    ASSERT_EQ(run({"x.png", "--normalize", "zscore"}).code, all_done);
    EXPECT_FALSE(fs::exists(at("gpuhist-out/x.png.normalized.png")));
    const cv::Mat actual = cv::imread(at("gpuhist-out/x.png.normalized.tiff").string(), cv::IMREAD_UNCHANGED);
    ASSERT_EQ(actual.type(), CV_32FC1);
    double mean = 0, square = 0;
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x) mean += image.at<std::uint16_t>(y, x) / (61.0 * 40);
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x)
            square += (image.at<std::uint16_t>(y, x) - mean) * (image.at<std::uint16_t>(y, x) - mean) / (61.0 * 40);
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x)
            ASSERT_NEAR(actual.at<float>(y, x), (image.at<std::uint16_t>(y, x) - mean) / std::sqrt(square), 1e-5);
}

}  // namespace
