// The table of measures of a run: whole, shared out, and beside the statistics in JSON.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <opencv2/imgproc.hpp>

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

TEST_F(Quality, WithoutAPlaceToGoIsRefused) {
    save_gray("a.png");
    const Outcome refused = run({"a.png", "--quality", "--write", "histogram"});
    EXPECT_EQ(refused.code, usage_error);
    EXPECT_TRUE(contains(refused.err, "--quality is about quality.csv, which --write leaves out")) << refused.err;
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
