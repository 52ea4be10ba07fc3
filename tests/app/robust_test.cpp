// Robust numbers of a run: of images, regions and sets, shared out, of strips, and refused.
//
// Environment: GPUHIST_PROGRAM, the program.
#include "support/directory.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

class Robust : public Directory {};

TEST_F(Robust, NumbersHaveColumnsIfTheyAreAskedFor) {
    const cv::Mat image = (cv::Mat_<unsigned char>(1, 7) << 10, 11, 12, 13, 14, 15, 250);
    save("set/a.png", image);
    const cv::Mat floats = (cv::Mat_<float>(1, 7) << 10, 11, 12, 13, 14, 15, 250);
    save("set/b.tiff", floats);
    ASSERT_EQ(run({"set", "-q", "--robust", "--clip-sigma", "2", "--roi", "all=0,0,7,1", "-o", "out"}).code, all_done);
    for (const char* file : {"out/stats.csv", "out/regions.csv", "out/dataset.csv"}) {
        SCOPED_TRACE(file);
        auto rows = table(read_text(at(file)));
        ASSERT_EQ(rows.size(), 2U);
        for (auto& row : rows) {  // distances 3 2 1 0 1 2 237; 250 is over 13 + 2 · 83.8
            EXPECT_EQ(row["mad"], "2");
            EXPECT_EQ(row["clipped_mean"], "12.5");
            EXPECT_NEAR(std::stod(row["clipped_std"]), std::sqrt(35.0 / 12), 1e-12);
            EXPECT_NEAR(std::stod(row["clipped_share"]), 1.0 / 7, 1e-15);
            EXPECT_EQ(row["sum"], "325");
            EXPECT_EQ(row["mode"], "10");
        }
    }
    ASSERT_EQ(run({"set", "-q", "-o", "plain"}).code, all_done);
    EXPECT_FALSE(contains(read_text(at("plain/stats.csv")), "mad"));
    EXPECT_EQ(table(read_text(at("plain/stats.csv")))[1]["mode"], "") << "the values of one f32 image are not counted";
}

TEST_F(Robust, SharedOutAndMergedIsTheSame) {
    make_tree("set", 30);
    const auto run_all = [&](std::vector<std::string> more) {
        more.insert(more.end(), {"set", "-q", "--robust", "--engine", "cpu", "--group-by", "dir"});
        return run(more).code;
    };
    const int code = run_all({"-o", "whole"});
    for (const char* shard : {"1/3", "2/3", "3/3"}) run_all({"-o", "parts", "--shard", shard});
    EXPECT_EQ(run({"merge", "-q", "parts", "-o", "merged"}).code, code);
    expect_same_files("merged", "whole");
    run({"set", "-q", "--robust", "--clip-sigma", "2", "--engine", "cpu", "--group-by", "dir", "-o", "others",
         "--shard", "2/3"});
    fs::copy_file(at("others/part-2-of-3.json"), at("parts/part-2-of-3.json"), fs::copy_options::overwrite_existing);
    const Outcome mixed = run({"merge", "-q", "parts", "-o", "mixed"});
    EXPECT_TRUE(contains(mixed.err, "--robust or --clip-sigma")) << mixed.err;
}

TEST_F(Robust, NumbersOfStripsAreThoseOfTheWhole) {
    cv::Mat image(1500, 1400, CV_32FC1);
    cv::randn(image, 5, 2);
    save("large.tiff", image);
    for (const char* memory : {"1G", "16M"})
        ASSERT_EQ(run({"large.tiff", "-q", "--robust", "--write", "stats", "-o", memory, "--memory", memory}).code,
                  all_done);
    expect_same_files("16M", "1G");
}

TEST_F(Robust, ContradictionsAreRefused) {
    save_gray("a.png");
    EXPECT_TRUE(contains(run({"a.png", "--clip-sigma", "2"}).err, "--clip-sigma needs --robust"));
    EXPECT_TRUE(contains(run({"a.png", "--robust", "--clip-sigma", "0"}).err, "--clip-sigma"));
    const Outcome refused = run({"a.png", "--robust", "--write", "histogram"});
    EXPECT_EQ(refused.code, usage_error);
    EXPECT_TRUE(contains(refused.err, "--robust adds columns to stats")) << refused.err;
}

TEST_F(Robust, CentroidsAreThoseOfRegions) {
    const cv::Mat image = (cv::Mat_<unsigned char>(2, 3) << 1, 0, 3, 0, 0, 4),
                  labels = (cv::Mat_<unsigned char>(2, 3) << 7, 7, 7, 0, 0, 7);
    save("a.png", image);
    save("labels.png", labels);
    ASSERT_EQ(run({"a.png", "-q", "--write", "stats", "--labels", "labels.png", "--roi", "r=1,0,2,2"}).code, all_done);
    auto rows = table(read_text(at("gpuhist-out/regions.csv")));
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0]["centroid_x"], "1.25");  // of 0, 1, 2 and 2
    EXPECT_EQ(rows[0]["centroid_y"], "0.25");
    EXPECT_EQ(rows[0]["weighted_centroid_x"], "1.75");  // 2 · 3 + 2 · 4 of 8
    EXPECT_EQ(rows[0]["weighted_centroid_y"], "0.5");
    EXPECT_EQ(rows[1]["centroid_x"], "1.5");
    EXPECT_EQ(rows[1]["centroid_y"], "0.5");
    EXPECT_EQ(rows[1]["weighted_centroid_x"], "2");
    EXPECT_NEAR(std::stod(rows[1]["weighted_centroid_y"]), 4.0 / 7, 1e-15);
}

}  // namespace
