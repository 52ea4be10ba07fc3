// The table of measures of a run: whole, shared out, and beside the statistics in JSON.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "support/directory.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

class Quality : public Directory {
  protected:
    /// Population variance of the Laplacian, by OpenCV.
    static double sharpness(const cv::Mat& gray) {
        cv::Mat laplacian;
        cv::Scalar mean, std;
        cv::Laplacian(gray, laplacian, CV_64F);
        cv::meanStdDev(laplacian, mean, std);
        return std[0] * std[0];
    }
    static cv::Mat noise(int width, int height) {
        cv::Mat image(height, width, CV_8UC1);
        cv::randu(image, 0, 256);
        return image;
    }
};

TEST_F(Quality, IsOneRowPerImage) {
    const cv::Mat sharp = noise(64, 48);
    save("set/sharp.png", sharp);
    cv::Mat blurred;
    cv::blur(sharp, blurred, cv::Size(5, 5));
    save("set/blurred.png", blurred);
    save("set/color.png", cv::Mat(8, 8, CV_8UC3, cv::Scalar(10, 20, 200)));
    save_gray("set/tiny.png");
    ASSERT_EQ(run({"set", "-q", "--quality", "-o", "out"}).code, all_done);
    auto rows = table(read_text(at("out/quality.csv")));
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[0]["path"], "set/blurred.png");
    EXPECT_NEAR(std::stod(rows[0]["sharpness_laplacian"]), sharpness(blurred), 1e-9 * sharpness(blurred));
    EXPECT_EQ(rows[0]["colorfulness"], "");
    EXPECT_NEAR(std::stod(rows[1]["colorfulness"]), 0.3 * std::hypot(200 - 20, (200 + 20) / 2.0 - 10), 1e-9);
    EXPECT_NEAR(std::stod(rows[2]["sharpness_laplacian"]), sharpness(sharp), 1e-9 * sharpness(sharp));
    EXPECT_GT(std::stod(rows[2]["noise"]), std::stod(rows[0]["noise"]));
    EXPECT_EQ(rows[3]["noise"], "") << "2 x 3 pixels have no neighborhoods";

    ASSERT_EQ(run({"set", "-q", "-o", "plain"}).code, all_done);
    EXPECT_FALSE(fs::exists(at("plain/quality.csv")));
    EXPECT_EQ(read_text(at("plain/stats.csv")), read_text(at("out/stats.csv")));
    ASSERT_EQ(run({"set", "-q", "-o", "out"}).code, all_done);
    EXPECT_FALSE(fs::exists(at("out/quality.csv"))) << "of the run before";
}

TEST_F(Quality, SharedOutAndMergedIsTheSame) {
    make_tree("set", 40);
    const auto run_all = [&](std::vector<std::string> more) {
        more.insert(more.end(), {"set", "-q", "--quality", "--engine", "cpu"});
        return run(more).code;
    };
    const int code = run_all({"-o", "whole"});
    for (const char* shard : {"1/3", "2/3", "3/3"}) run_all({"-o", "parts", "--shard", shard});
    EXPECT_EQ(run({"merge", "-q", "parts", "-o", "merged"}).code, code);
    expect_same_files("merged", "whole");
    run({"set", "-q", "--engine", "cpu", "-o", "others", "--shard", "2/3"});
    fs::copy_file(at("others/part-2-of-3.json"), at("parts/part-2-of-3.json"), fs::copy_options::overwrite_existing);
    const Outcome mixed = run({"merge", "-q", "parts", "-o", "mixed"});
    EXPECT_TRUE(contains(mixed.err, "--quality")) << mixed.err;
    EXPECT_FALSE(fs::exists(at("mixed/stats.csv")));
}

TEST_F(Quality, OfStripsIsThatOfTheWhole) {
    cv::Mat image(1500, 1400, CV_16UC3);
    cv::randu(image, 0, 65536);
    save("large.png", image);
    ASSERT_EQ(run({"large.png", "-q", "--quality", "--write", "stats", "-o", "whole"}).code, all_done);
    ASSERT_EQ(run({"large.png", "-q", "--quality", "--write", "stats", "-o", "strips", "--memory", "8M"}).code,
              all_done);
    expect_same_files("strips", "whole");
}

TEST_F(Quality, OfSmallerImagesComparesSizes) {
    const cv::Mat small = noise(40, 30);
    cv::Mat large;
    cv::resize(small, large, cv::Size(160, 120), 0, 0, cv::INTER_NEAREST);
    save("set/small.png", small);
    save("set/large.png", large);
    ASSERT_EQ(run({"set", "-q", "--quality", "--quality-scale", "40", "-o", "out"}).code, all_done);
    auto rows = table(read_text(at("out/quality.csv")));
    ASSERT_EQ(rows.size(), 2U);
    for (const char* column : {"sharpness_laplacian", "sharpness_tenengrad", "noise"})
        EXPECT_EQ(rows[0][column], rows[1][column]);
    EXPECT_NEAR(std::stod(rows[0]["sharpness_laplacian"]), sharpness(small), 1e-9 * sharpness(small));
    const Outcome alone = run({"set", "--quality-scale", "40"});
    EXPECT_EQ(alone.code, usage_error);
    EXPECT_TRUE(contains(alone.err, "--quality-scale needs --quality")) << alone.err;
    EXPECT_EQ(run({"set", "--quality", "--quality-scale", "2"}).code, usage_error);
}

TEST_F(Quality, OfASetIsSummedUp) {
    for (int i = 0; i < 9; ++i)
        save("set/" + std::string(i < 4 ? "a/" : "b/") + std::to_string(i) + ".png", noise(20 + i, 30));
    save_gray("set/b/tiny.png");
    ASSERT_EQ(run({"set", "-q", "--quality", "--group-by", "dir", "-o", "out"}).code, all_done);
    const auto images = table(read_text(at("out/quality.csv")));
    ASSERT_EQ(images.size(), 10U);
    std::size_t compared = 0;
    for (auto row : table(read_text(at("out/dataset.quality.csv")))) {
        EXPECT_EQ(row["depth"], "u8");
        std::vector<double> numbers;
        for (auto image : images)
            if (contains(image["path"], row["group"]) && !image[row["measure"]].empty())
                numbers.push_back(std::stod(image[row["measure"]]));
        ASSERT_FALSE(numbers.empty()) << row["measure"];
        EXPECT_EQ(row["measure_images"], std::to_string(numbers.size()));
        const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
        EXPECT_NEAR(std::stod(row["measure_mean"]), mean, 1e-12 * std::abs(mean));
        EXPECT_EQ(std::stod(row["measure_min"]), *std::min_element(numbers.begin(), numbers.end()));
        EXPECT_EQ(std::stod(row["measure_max"]), *std::max_element(numbers.begin(), numbers.end()));
        ++compared;
    }
    EXPECT_GE(compared, 3 * 18U);
    EXPECT_TRUE(contains(read_text(at("out/dataset.json")),
                         "\"quality\":[{\"measure\":\"sharpness_laplacian\",\"measure_images\":9,"));
    ASSERT_EQ(run({"set", "-q", "-o", "out"}).code, all_done);
    EXPECT_FALSE(fs::exists(at("out/dataset.quality.csv"))) << "of the run before";
    EXPECT_FALSE(contains(read_text(at("out/dataset.json")), "\"quality\":["));
}

TEST_F(Quality, WithoutAPlaceToGoIsRefused) {
    save_gray("a.png");
    const Outcome refused = run({"a.png", "--quality", "--write", "histogram"});
    EXPECT_EQ(refused.code, usage_error);
    EXPECT_TRUE(contains(refused.err, "--quality writes quality.csv, which --write leaves out")) << refused.err;
}

TEST_F(Quality, StandsBesideTheStatisticsInJson) {
    save("a.png", noise(20, 20));
    const std::string text = run({"a.png", "-q", "--quality", "--format", "json", "--write", "none"}).out;
    EXPECT_TRUE(contains(text, "\"sharpness_laplacian\":")) << text;
    EXPECT_TRUE(contains(text, "\"colorfulness\":null")) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
    EXPECT_FALSE(contains(run({"a.png", "-q", "--format", "json", "--write", "none"}).out, "sharpness"));
}

}  // namespace
