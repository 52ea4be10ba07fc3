// Decoders that the command can use: OpenCV's, and none, for raw samples.
//
// Environment: GPUHIST_PROGRAM, the program.
#include "support/directory.hpp"

namespace {

using namespace command;
using Row = std::map<std::string, std::string>;

class Decoders : public Directory {
  protected:
    void SetUp() override {
        Directory::SetUp();
        cv::Mat image(30, 40, CV_16UC3);
        cv::RNG(7).fill(image, cv::RNG::UNIFORM, 0, 60000);
        save("set/a.png", image);
        save("set/b.png", image.rowRange(0, 9).clone());
        // 1 and 8; OpenCV divides by the scale, which gpuhist takes for the order of bytes alone.
        write_text(at("set/scaled.pfm"), std::string("Pf\n2 1\n-2.0\n\0\0\x80\x3F\0\0\0\x41", 20));
    }
    bool without_opencv() const {
        return contains(run({"set/a.png", "--decoder", "opencv", "--write", "none"}).err, "are not installed");
    }
    std::vector<Row> stats() const { return table(read_text(at("gpuhist-out/stats.csv"))); }
};

TEST_F(Decoders, OpencvReadsImagesWhereAsked) {
    if (without_opencv()) GTEST_SKIP() << "without imgcodecs of OpenCV";
    ASSERT_EQ(run({"set", "-q", "--write", "stats"}).code, all_done);
    std::vector<Row> own = stats();
    ASSERT_EQ(run({"set", "-q", "--write", "stats", "--decoder", "opencv"}).code, all_done);
    std::vector<Row> found = stats();
    ASSERT_EQ(found.size(), own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
        EXPECT_EQ(own[i].count("decoder"), 0U);
        EXPECT_EQ(found[i]["decoder"], "opencv");
        found[i].erase("decoder");
        if (own[i]["path"] == "set/scaled.pfm") {
            EXPECT_EQ(own[i]["max"], "8");
            EXPECT_EQ(found[i]["max"], "4");
        } else {
            EXPECT_EQ(found[i], own[i]);
        }
    }
    write_text(at("none.bin"), std::string("\0\1\2", 3));
    EXPECT_TRUE(contains(run({"none.bin"}).err, "; --decoder opencv asks OpenCV"));
    EXPECT_TRUE(contains(run({"none.bin", "--decoder", "opencv"}).err, "none.bin: OpenCV makes no image of it"));
    EXPECT_TRUE(contains(run({"set/a.png", "--decoder", "opencv", "--max-pixels", "100"}).err, "more than the 100"));
}

TEST_F(Decoders, BothAreCompared) {
    if (without_opencv()) GTEST_SKIP() << "without imgcodecs of OpenCV";
    const Outcome outcome = run({"set", "--decoder", "compare", "-o", "out"});
    EXPECT_EQ(outcome.code, policy_broken) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, "compared  3 pairs: 2 identical, 1 different")) << outcome.out;
    EXPECT_TRUE(contains(outcome.out, "different  scaled.pfm  2 of 2 samples, at most 4 apart")) << outcome.out;
    std::map<std::string, Row> rows;
    for (const Row& row : table(read_text(at("out/same.csv")))) rows[row.at("path")] = row;
    EXPECT_EQ(rows["a.png"]["relation"], "identical");
    EXPECT_EQ(rows["scaled.pfm"]["relation"], "different");
    EXPECT_EQ(run({"set/a.png", "--decoder", "compare", "-o", "one", "-q"}).code, all_done);
    EXPECT_EQ(run({"set/a.png", "set/b.png", "--decoder", "compare"}).code, usage_error);
    EXPECT_EQ(run({"set", "--decoder", "best"}).code, usage_error);
}

TEST_F(Decoders, RawSamplesHaveTheLayoutThatIsGiven) {
    write_text(at("frame.raw"), std::string("head\1\0\2\0\3\0\4\0", 12));
    const auto highest = [&](const std::string& layout) {
        const Outcome outcome = run({"frame.raw", "--raw", layout, "--format", "csv", "-q", "--write", "none"});
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        return table(outcome.out).front().at("max");
    };
    EXPECT_EQ(highest("u16,2,2,1,4"), "4");
    EXPECT_EQ(highest("u16be,2,2,1,4"), "1024");
    EXPECT_EQ(highest("u8,12,1"), "104");
    EXPECT_EQ(highest("u8,1,1,12"), "104");
    EXPECT_TRUE(
        contains(run({"frame.raw", "--raw", "u16,2,2"}).err, "the file has 12 bytes, and the raw samples end at 8"));
    EXPECT_TRUE(contains(run({"frame.raw", "--raw", "u16,9,9"}).err, "truncated"));
    for (const auto& [layout, why] :
         std::map<std::string, std::string>{{"u16,2", "it has 2 parts"},
                                            {"u17,2,2", "the depths are u8, s8"},
                                            {"u16,0,2", "'0' is no positive whole number"},
                                            {"u16,2,x", "'x' is no positive whole number"},
                                            {"u16,2,2,65", "gpuhist reads 1 to 64 channels"},
                                            {"u16,2,2,1,-4", "'-4' is no number of bytes"}}) {
        const Outcome outcome = run({"frame.raw", "--raw", layout});
        EXPECT_EQ(outcome.code, usage_error);
        EXPECT_TRUE(contains(outcome.err, why)) << outcome.err;
    }
    EXPECT_EQ(run({"frame.raw", "--raw", "u8,12,1", "--pages", "all"}).code, usage_error);
    // Raw files of a directory, and resumption with another layout.
    std::filesystem::create_directories(at("raws"));
    write_text(at("raws/a.raw"), "abcd");
    write_text(at("raws/b.raw"), "efgh");
    EXPECT_EQ(run({"raws", "--include", "*.raw", "--raw", "u8,2,2", "-q"}).code, all_done);
    EXPECT_EQ(stats().size(), 2U);
}

}  // namespace
