// A program of the examples as a user runs it, and what OpenCV finds in the same pixels.
//
// Environment: GPUHIST_PROGRAM, beside which the programs lie.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "support/temporary_directory.hpp"
#include "support/text_files.hpp"

namespace examples {

struct Ran {
    int code = -1;
    std::string out, err;
};

inline std::filesystem::path program(const std::string& name) {
    return std::filesystem::path(std::getenv("GPUHIST_PROGRAM")).replace_filename("example_" + name);
}

/// Runs a program with these arguments, which have no apostrophes.
inline Ran run(const std::string& name, const std::vector<std::string>& arguments) {
    const gpuhist::test::TemporaryDirectory directory;
    const std::string out = (directory.path() / "out").string(), err = (directory.path() / "err").string();
    std::string line = "'" + program(name).string() + "'";
    for (const std::string& argument : arguments) line += " '" + argument + "'";
    const int status = std::system((line + " >" + out + " 2>" + err).c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, gpuhist::test::read_text(out), gpuhist::test::read_text(err)};
}

/// Picture of random colors in which every gray occurs.
inline cv::Mat colors(int width, int height, int seed) {
    cv::Mat picture(height, width, CV_8UC3);
    cv::RNG random(static_cast<std::uint64_t>(seed));
    random.fill(picture, cv::RNG::UNIFORM, 0, 256);
    for (int i = 0; i < 256; ++i) picture.at<cv::Vec3b>(i / width, i % width) = cv::Vec3b::all(static_cast<uchar>(i));
    return picture;
}

inline cv::Mat luma_of(const cv::Mat& colors) {
    cv::Mat luma;
    cv::cvtColor(colors, luma, cv::COLOR_BGR2GRAY);
    return luma;
}

/// Pixels of several pictures, one below the other.
inline cv::Mat together(const std::vector<cv::Mat>& pictures) {
    cv::Mat all;
    for (const cv::Mat& picture : pictures) all.push_back(picture.reshape(0, static_cast<int>(picture.total())));
    return all;
}

/// Mean and standard deviation.
struct Moments {
    double mean, std;
};
inline Moments moments(const cv::Mat& channel) {
    cv::Scalar mean, std;
    cv::meanStdDev(channel, mean, std);
    return {mean[0], std[0]};
}

/// Moments of a channel by its name.
inline std::map<std::string, Moments> moments_of_colors(const cv::Mat& picture) {
    std::vector<cv::Mat> planes;
    cv::split(picture, planes);
    return {{"blue", moments(planes[0])},
            {"green", moments(planes[1])},
            {"red", moments(planes[2])},
            {"luma", moments(luma_of(picture))},
            {"all", moments(picture.reshape(1))}};
}

/// Number behind a text in what a program printed.
inline double number_after(const std::string& printed, const std::string& text) {
    const std::size_t at = printed.find(text);
    return at == std::string::npos ? NAN : std::strtod(printed.c_str() + at + text.size(), nullptr);
}

/// Six digits, as streams print them.
inline void expect_close(double printed, double expected, const std::string& what) {
    EXPECT_NEAR(printed, expected, 1e-5 * std::abs(expected)) << what;
}

}  // namespace examples
