// Constants of normalization against the pixels of a set, and the mistakes that people make.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <numeric>

#include "support/directory.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

class CheckCommand : public Directory {
  protected:
    /// Numbers of the channels red, green, blue, from 0 to 1, over all pixels by OpenCV.
    struct Numbers {
        std::vector<double> mean, std, mean_of_stds;
        double luma_mean = 0, luma_std = 0;
    };
    Numbers make_set(int count = 40) const {
        std::vector<std::vector<double>> samples(3);
        Numbers numbers;
        std::vector<std::vector<double>> stds(3);
        for (int i = 0; i < count; ++i) {
            cv::Mat image(24, 32, CV_8UC3);
            cv::RNG random(static_cast<std::uint64_t>(i) + 1);
            random.fill(image, cv::RNG::NORMAL, cv::Scalar(60 + i % 9 * 4, 110, 180 - i % 5 * 8),
                        cv::Scalar(9, 20, 14));
            save("set/" + std::to_string(i) + ".png", image);
            std::vector<cv::Mat> planes;
            cv::split(image, planes);
            for (std::size_t c = 0; c < 3; ++c) {
                cv::Scalar mean, std;
                cv::meanStdDev(planes[2 - c], mean, std);
                stds[c].push_back(std[0] / 255);
                for (int y = 0; y < image.rows; ++y)
                    for (int x = 0; x < image.cols; ++x)
                        samples[c].push_back(planes[2 - c].at<unsigned char>(y, x) / 255.0);
            }
        }
        for (std::size_t c = 0; c < 3; ++c) {
            cv::Scalar mean, std;
            cv::meanStdDev(samples[c], mean, std);
            numbers.mean.push_back(mean[0]);
            numbers.std.push_back(std[0]);
            numbers.mean_of_stds.push_back(std::accumulate(stds[c].begin(), stds[c].end(), 0.0) / count);
        }
        return numbers;
    }
    static std::string list(const std::vector<double>& values, double scale = 1, int digits = 6) {
        std::string text;
        for (const double value : values) {
            std::array<char, 40> number{};
            std::snprintf(number.data(), number.size(), "%.*f", digits, value * scale);
            text += (text.empty() ? "[" : ", ") + std::string(number.data());
        }
        return text + "]";
    }
    Outcome check(const std::vector<double>& mean, const std::vector<double>& std, double scale = 1, int digits = 6,
                  const std::string& data = "set") const {
        write_text(at("c.yaml"), "mean: " + list(mean, scale, digits) + "\nstd: " + list(std, scale, digits) + "\n");
        return run({"check", "c.yaml", data});
    }
    void expect_wrong(const Outcome& done, const std::string& words) const {
        EXPECT_EQ(done.code, policy_broken) << done.err;
        EXPECT_TRUE(contains(done.out, "wrong  c.yaml: " + words)) << done.out;
    }
};

TEST_F(CheckCommand, RightConstantsAreRight) {
    const Numbers numbers = make_set();
    for (const int digits : {2, 3, 6, 12}) {
        const Outcome done = check(numbers.mean, numbers.std, 1, digits);
        EXPECT_EQ(done.code, all_done) << done.out << done.err;
        EXPECT_TRUE(contains(done.out, "right  c.yaml: these are the constants of set (40 images)\n")) << done.out;
    }
    // Results are enough, without the images.
    ASSERT_EQ(run({"set", "-q", "-o", "results"}).code, all_done);
    fs::rename(at("set"), at("gone"));
    EXPECT_EQ(check(numbers.mean, numbers.std, 1, 6, "results").code, all_done);
    EXPECT_EQ(run({"check", "results/dataset.json", "results"}).code, all_done);
    EXPECT_EQ(run({"check", "c.yaml", "results", "-q"}).out, "");
}

TEST_F(CheckCommand, MistakesAreNamed) {
    const Numbers numbers = make_set();
    const auto reversed = [](std::vector<double> values) {
        std::reverse(values.begin(), values.end());
        return values;
    };
    expect_wrong(check(numbers.mean, numbers.std, 255, 3), "on the scale from 0 to 255: divide them by 255\n");
    expect_wrong(check(reversed(numbers.mean), reversed(numbers.std)),
                 "channels are swapped: they are for blue, green, red\n");
    expect_wrong(check(reversed(numbers.mean), reversed(numbers.std), 255, 3),
                 "channels are swapped, they are for blue, green, red, on the scale from 0 to 255\n");
    expect_wrong(check(numbers.mean, numbers.mean), "std equals mean");
    expect_wrong(check(numbers.mean, numbers.mean_of_stds, 1, 12),
                 "std is the mean of the images' stds, not the std of all pixels");
    std::vector<double> smaller = numbers.std;
    for (double& value : smaller) value *= 0.7;
    expect_wrong(check(numbers.mean, smaller), "mean is right, but std is smaller: perhaps of a resized");
    for (double& value : smaller) value *= 2;
    expect_wrong(check(numbers.mean, smaller), "mean is right, but std is not");
    expect_wrong(check({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, 1, 3),
                 "the constants are from ImageNet: the mean of red is off by ");
    expect_wrong(check({0.11, 0.22, 0.93}, {0.2, 0.2, 0.2}), "they are of another set: the mean of ");
    ASSERT_EQ(run({"set", "-q", "-o", "results"}).code, all_done);
    for (const auto& row : table(read_text(at("results/dataset.csv"))))
        if (row.at("channel") == "luma") {
            const double mean = std::stod(row.at("mean")) / 255, std = std::stod(row.at("std")) / 255;
            expect_wrong(check({mean, mean, mean}, {std, std, std}),
                         "the constants are from luma, not from the colors\n");
        }
}

TEST_F(CheckCommand, OtherChannelsAreRefused) {
    make_set(3);
    save("gray.png", cv::Mat(5, 4, CV_8UC1, cv::Scalar(51)) + cv::Mat::eye(5, 4, CV_8UC1) * 100);
    EXPECT_EQ(check({0.1, 0.2}, {0.1, 0.2}).code, data_refused);
    const Outcome four = check({0.1, 0.2, 0.3, 0.4}, {0.1, 0.2, 0.3, 0.4});
    EXPECT_EQ(four.code, data_refused);
    EXPECT_TRUE(contains(four.err, "c.yaml: has constants for 4 channels, but the images of set have 3")) << four.err;
    const double mean = 0.2 + 4 * 100 / 20.0 / 255;
    const double std = std::sqrt(0.2 * 0.8) * 100 / 255;
    EXPECT_EQ(check({mean}, {std}, 1, 4, "gray.png").code, all_done);
    EXPECT_EQ(check({mean, mean, mean}, {std, std, std}, 1, 4, "gray.png").code, all_done);
    write_text(at("c.yaml"), "nothing");
    const Outcome none = run({"check", "c.yaml", "set"});
    EXPECT_EQ(none.code, data_refused);
    EXPECT_TRUE(contains(none.err, "c.yaml: has no constants")) << none.err;
    EXPECT_EQ(run({"check", "missing.yaml", "set"}).code, data_refused);
    EXPECT_EQ(run({"check", "results.yaml"}).code, usage_error);
    EXPECT_EQ(run({"check", "c.yaml", "set", "set"}).code, usage_error);
    write_text(at("c.yaml"), "mean: [1, 2, 3]\nstd: [1, 2, 3]\n");
    EXPECT_EQ(run({"check", "c.yaml", "missing"}).code, data_refused);
}

}  // namespace
