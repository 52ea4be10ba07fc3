// Images of two trees, pixel by pixel, over formats and depths.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>

#include "support/directory.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;
using Row = std::map<std::string, std::string>;

cv::Mat noise(int seed, int type = CV_8UC3) {
    cv::Mat image(30, 40, type);
    cv::RNG(static_cast<std::uint64_t>(seed) + 1)
        .fill(image, cv::RNG::UNIFORM, 0, image.depth() == CV_8U ? 250 : 60000);
    return image;
}

class SameCommand : public Directory {
  protected:
    Outcome same(Names words, const Setting& setting = {}) const {
        words.insert(words.begin(), "same");
        words.insert(words.end(), {"-o", "out"});
        return run(words, setting);
    }
    std::map<std::string, Row> rows() const {
        std::map<std::string, Row> found;
        for (const Row& row : table(read_text(at("out/same.csv")))) found[row.at("path")] = row;
        return found;
    }
    void save_tiff(const std::string& name, const cv::Mat& image) const {
        fs::create_directories(at(name).parent_path());
        gpuhist::io::write_image(at(name), image);
    }
};

TEST_F(SameCommand, TreesAreMatchedByPath) {
    const cv::Mat image = noise(1), words = noise(2, CV_16UC3);
    save("a/one/1.png", image);
    save("b/one/1.ppm", image);
    cv::Mat wide;
    noise(3).convertTo(wide, CV_16U, 257);
    save("a/2.png", noise(3));
    save_tiff("b/2.tiff", wide);
    cv::Mat other = words.clone();
    other.at<cv::Vec3w>(4, 5)[0] ^= 0x100;
    save("a/3.png", words);
    save("b/3.png", other);
    save("a/4.png", image);
    save("b/5.png", image);
    save("a/6.png", image);
    save("b/6.png", image(cv::Rect(0, 0, 10, 20)).clone());
    save("a/7.png", image);
    save("b/7.png", noise(1, CV_8UC1));
    save("a/8.png", image);
    save("b/8.png", image);
    save("b/8.ppm", image);
    const Outcome done = same({"a", "b"});
    EXPECT_EQ(done.code, policy_broken) << done.err;
    auto found = rows();
    ASSERT_EQ(found.size(), 8U);
    EXPECT_EQ(found["one/1"]["relation"], "identical");
    EXPECT_EQ(found["one/1"]["b"], "b/one/1.ppm");
    EXPECT_EQ(found["2"]["relation"], "widened");
    EXPECT_EQ(found["2"]["rule"], "x 257");
    EXPECT_EQ(found["3"]["relation"], "different");
    EXPECT_EQ(found["3"]["different"], "1");
    EXPECT_EQ(found["3"]["samples"], "3600");
    EXPECT_EQ(found["3"]["max_distance"], "256");
    EXPECT_EQ(found["3"]["worst_x"] + ' ' + found["3"]["worst_y"] + ' ' + found["3"]["worst_channel"], "5 4 0");
    EXPECT_NEAR(std::stod(found["3"]["psnr"]), cv::PSNR(words, other, 65535), 1e-9);
    EXPECT_NEAR(std::stod(found["3"]["mean_distance"]), 256.0 / 3600, 1e-15);
    EXPECT_EQ(found["4"]["relation"], "only_a");
    EXPECT_EQ(found["5"]["relation"], "only_b");
    EXPECT_EQ(found["6"]["cause"], "40 x 30 pixels and 10 x 20 pixels");
    EXPECT_EQ(found["7"]["cause"], "3 and 1 channel");
    EXPECT_EQ(found["8"]["relation"], "failed");
    EXPECT_TRUE(contains(found["8"]["cause"], "b/8.png and b/8.ppm"));
    EXPECT_TRUE(contains(done.out,
                         "compared  8 pairs: 1 identical, 1 widened, 3 different, 1 only in a, 1 only in b, 1 failed\n"
                         "different  3  1 of 3600 samples, at most 256 apart\n"))
        << done.out;
    EXPECT_EQ(files_below("out"), Names{"same.csv"});
}

TEST_F(SameCommand, TwoImagesAreAPair) {
    save("a.png", noise(1));
    save("b.ppm", noise(1));
    save("c.png", noise(2));
    EXPECT_EQ(same({"a.png", "b.ppm"}).out, "compared  1 pair: 1 identical\nwrote  out/same.csv\n");
    EXPECT_EQ(same({"a.png", "b.ppm", "-q"}).out, "");
    EXPECT_EQ(same({"a.png", "c.png"}).code, policy_broken);
    const Outcome json = same({"a.png", "c.png", "--format", "json"});
    EXPECT_EQ(nlohmann::json::parse(json.out)["relation"], "different");
    EXPECT_EQ(same({"a.png", "c.png", "--format", "csv"}).out, read_text(at("out/same.csv")));
}

TEST_F(SameCommand, FailuresAreNamed) {
    save("a/1.png", noise(1));
    save("b/1.png", noise(1));
    fs::create_directories(at("b"));
    save("a/2.png", noise(1));
    write_text(at("b/2.png"), "no image");
    const Outcome done = same({"a", "b"});
    EXPECT_EQ(done.code, inputs_failed);
    EXPECT_TRUE(contains(done.err, "b/2.png: ")) << done.err;
    EXPECT_EQ(rows()["2"]["relation"], "failed");
    EXPECT_EQ(same({"a", "nothing"}).code, data_refused);
    EXPECT_EQ(same({"a", "a/1.png"}).code, data_refused);
    fs::create_directory(at("empty"));
    EXPECT_EQ(same({"empty", "empty"}).code, data_refused);
    for (const Names& words : {Names{}, {"a"}, {"a", "b", "a"}, {"a", ""}}) EXPECT_EQ(same(words).code, usage_error);
    write_text(at("out/same.csv"), "mine");
    EXPECT_EQ(same({"a", "b"}).code, output_failed);
    EXPECT_EQ(read_text(at("out/same.csv")), "mine");
}

TEST_F(SameCommand, InterruptedRunsContinue) {
    for (int i = 0; i < 400; ++i) {
        const cv::Mat image = noise(i);
        save("a/" + std::to_string(i) + ".png", image);
        save("b/" + std::to_string(i) + (i % 2 ? ".png" : ".ppm"), i % 7 ? image : noise(i + 1));
    }
    ASSERT_EQ(same({"a", "b"}).code, policy_broken);
    const std::string expected = read_text(at("out/same.csv"));
    int killed = 0;
    for (int i = 0; i < 8; ++i) {
        fs::remove_all(at("out"));
        Setting setting;
        setting.signal = SIGKILL;
        setting.after_file = "out/same.csv.partial";
        setting.after_seconds = 0.01 * i;
        killed += same({"a", "b"}, setting).code == -SIGKILL;
        const Outcome done = same({"a", "b", "--resume"});
        EXPECT_EQ(done.code, policy_broken) << done.err;
        EXPECT_EQ(read_text(at("out/same.csv")), expected);
        EXPECT_TRUE(contains(done.out, "compared  400 pairs: 342 identical, 58 different\n")) << done.out;
        EXPECT_EQ(files_below("out"), Names{"same.csv"});
    }
    EXPECT_GT(killed, 0);
}

TEST_F(SameCommand, ResumedRunsTrustNothingThatChanged) {
    for (int i = 0; i < 3; ++i) {
        save("a/" + std::to_string(i) + ".png", noise(i));
        save("b/" + std::to_string(i) + ".png", noise(i));
    }
    ASSERT_EQ(same({"a", "b"}).code, all_done);
    // A row that says different, with a checksum of its own, and one without.
    for (const char* row :
         {"30 0123456789abcdef 1:2:3\n0,a/0.png,b/0.png,different,,\n", "garbage", "\n", "99 x y\n"}) {
        fs::remove_all(at("out"));
        Setting setting;
        fs::create_directory(at("out"));
        write_text(at("out/same.csv.partial"), row);
        EXPECT_EQ(same({"a", "b", "--resume"}).code, output_failed);  // not a file of gpuhist's
        EXPECT_EQ(same({"a", "b", "--resume", "--force"}).code, all_done);
        EXPECT_EQ(rows().size(), 3U);
    }
}

TEST_F(SameCommand, HostileNamesAreHarmless) {
    const std::string name = "=\x1b[31m,\"\n<x>";
    save("a/1.png", noise(1));
    save("b/1.png", noise(2));
    for (const char* tree : {"a/", "b/"}) fs::rename(at(std::string(tree) + "1.png"), at(tree + name + ".png"));
    const Outcome done = same({"a", "b"});
    EXPECT_EQ(done.code, policy_broken);
    EXPECT_FALSE(contains(done.out + done.err, "\x1b"));
    const Outcome json = same({"a", "b", "--format", "json"});
    EXPECT_EQ(nlohmann::json::parse(json.out)["path"], name);
}

}  // namespace
