// Pictures for tests of flags: plain ones, which bear none, and faults that are planted in them.
#pragma once

#include <cstdint>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

namespace gpuhist::test {

/// A picture with edges, colors and a little noise, of which no flag is true. Another seed makes another picture.
inline cv::Mat plain_picture(int width, int height, int seed) {
    cv::RNG random(static_cast<std::uint64_t>(seed) * 7919 + 1);
    cv::Mat image, field(3, 4, CV_8UC3), noise(height, width, CV_8UC3);
    random.fill(field, cv::RNG::UNIFORM, 60, 200);
    cv::resize(field, image, {width, height}, 0, 0, cv::INTER_CUBIC);
    for (int i = 0; i < 25; ++i) {
        const cv::Scalar color(random.uniform(20, 235), random.uniform(20, 235), random.uniform(20, 235));
        cv::circle(image, {random.uniform(0, width), random.uniform(0, height)}, random.uniform(3, height / 5), color,
                   cv::FILLED);
    }
    random.fill(noise, cv::RNG::UNIFORM, 0, 5);
    return image + noise;
}

inline cv::Mat darkened(const cv::Mat& image) {
    return image * 0.2;
}

inline cv::Mat overexposed(const cv::Mat& image) {
    return image + cv::Scalar::all(215);
}

inline cv::Mat blurred(const cv::Mat& image) {
    cv::Mat copy;
    cv::GaussianBlur(image, copy, {}, 3);
    return copy;
}

inline cv::Mat with_noise(const cv::Mat& image) {
    cv::RNG random(11);
    cv::Mat noise(image.size(), CV_16SC3), sum;
    random.fill(noise, cv::RNG::NORMAL, 0, 25);
    cv::add(image, noise, sum, cv::noArray(), CV_8U);
    return sum;
}

/// Without colors, in as many channels.
inline cv::Mat grayed(const cv::Mat& image, int channels) {
    cv::Mat gray, copy;
    cv::cvtColor(image, gray, cv::COLOR_BGR2GRAY);
    if (channels == 1) return gray;
    cv::cvtColor(gray, copy, cv::COLOR_GRAY2BGR);
    return copy;
}

}  // namespace gpuhist::test
