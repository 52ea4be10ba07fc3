// Images of two trees, pixel by pixel, over formats and depths.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>
#include <tuple>

#include "gpuhist/io/checksum.hpp"
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

TEST_F(SameCommand, MergedShardsAreThoseOfOneRun) {
    for (int i = 0; i < 25; ++i) {
        save("a/" + std::to_string(i) + ".png", noise(i));
        if (i != 4) save("b/" + std::to_string(i) + ".png", noise(i % 6 ? i : i + 1));
    }
    const Outcome whole = same({"a", "b"});
    const std::string expected = read_text(at("out/same.csv"));
    for (const int count : {1, 3, 7, 30}) {
        fs::remove_all(at("parts"));
        for (int number = 1; number <= count; ++number) {
            const std::string shard = std::to_string(number) + "/" + std::to_string(count);
            const Outcome done = run({"same", "a", "b", "--shard", shard, "-o", "parts"});
            EXPECT_TRUE(done.code == all_done || done.code == policy_broken) << done.err;
        }
        EXPECT_EQ(files_below("parts").size(), 2U * static_cast<std::size_t>(count));
        const Outcome merged = run({"merge", "parts", "-o", "merged"});
        EXPECT_EQ(merged.code, policy_broken) << merged.err;
        EXPECT_EQ(read_text(at("merged/same.csv")), expected);
        EXPECT_EQ(merged.out.substr(0, merged.out.find("wrote")), whole.out.substr(0, whole.out.find("wrote")));
    }
}

TEST_F(SameCommand, ShardsThatMakeNoWholeAreRefused) {
    for (int i = 0; i < 9; ++i) {
        save("a/" + std::to_string(i) + ".png", noise(i));
        save("b/" + std::to_string(i) + ".png", noise(i));
    }
    for (const char* shard : {"1/3", "2/3", "3/3"})
        ASSERT_EQ(run({"same", "a", "b", "--shard", shard, "-o", "parts"}).code, all_done);
    const auto refused = [&](const std::string& why) {
        const Outcome done = run({"merge", "parts", "-o", "merged"});
        EXPECT_EQ(done.code, data_refused) << why;
        EXPECT_TRUE(contains(done.err, why)) << done.err;
        EXPECT_FALSE(fs::exists(at("merged/same.csv")));
    };
    const std::string rows = read_text(at("parts/part-2-of-3.same.csv")),
                      facts = read_text(at("parts/part-2-of-3.same.json"));
    write_text(at("parts/part-2-of-3.same.csv"), rows + "x");
    refused("part-2-of-3.same.csv: is damaged, or was changed");
    fs::remove(at("parts/part-2-of-3.same.csv"));
    refused("part-2-of-3.same.csv: is missing");
    write_text(at("parts/part-2-of-3.same.csv"), rows);
    const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
        EXPECT_NE(text.find(from), text.npos) << from;
        return text.replace(text.find(from), from.size(), to);
    };
    const std::string unsealed = facts.substr(0, facts.rfind(",\"checksum\"")) + '}';
    for (const auto& [from, to, why] : {std::tuple("\"format\":2", "\"format\":3", "was written by another version"),
                                        {"\"part\":[2", "\"part\":[1", "has the name of another one"},
                                        {"\"members\":9", "\"members\":8", "is a part of another comparison"}}) {
        write_text(at("parts/part-2-of-3.same.json"), gpuhist::io::seal_json(replaced(unsealed, from, to)));
        refused(why);
    }
    write_text(at("parts/part-2-of-3.same.json"), replaced(facts, "\"members\":9", "\"members\":8"));
    refused("it is damaged: its checksum is missing or differs");
    write_text(at("parts/part-2-of-3.same.json"), replaced(facts, "{", ""));
    refused("is damaged, or not a part of 'gpuhist same'");
    fs::remove(at("parts/part-2-of-3.same.json"));
    refused("part-2-of-3.same.json is missing");
    // A part of other images.
    save("b/9.png", noise(1));
    run({"same", "a", "b", "--shard", "2/3", "-o", "parts"});
    refused("is a part of another comparison");
}

TEST_F(SameCommand, ShardsContinueToo) {
    for (int i = 0; i < 200; ++i) {
        save("a/" + std::to_string(i) + ".png", noise(i));
        save("b/" + std::to_string(i) + ".ppm", i % 7 ? noise(i) : noise(i + 1));
    }
    ASSERT_EQ(run({"same", "a", "b", "--shard", "2/2", "-o", "parts"}).code, policy_broken);
    const std::string expected = read_text(at("parts/part-2-of-2.same.csv"));
    fs::remove_all(at("parts"));
    Setting setting;
    setting.signal = SIGKILL;
    setting.after_file = "parts/part-2-of-2.same.csv.partial";
    setting.after_seconds = 0.02;
    run({"same", "a", "b", "--shard", "2/2", "-o", "parts"}, setting);
    EXPECT_EQ(run({"same", "a", "b", "--shard", "2/2", "-o", "parts", "--resume"}).code, policy_broken);
    EXPECT_EQ(read_text(at("parts/part-2-of-2.same.csv")), expected);
    EXPECT_EQ(files_below("parts"), (Names{"part-2-of-2.same.csv", "part-2-of-2.same.json"}));
}

/// What a program prints, standard error included.
std::string printed_by(const std::string& command) {
    std::string text;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen((command + " 2>&1").c_str(), "r"), pclose);
    for (int byte; (byte = std::fgetc(pipe.get())) != EOF;) text += static_cast<char>(byte);
    return text;
}

/// Number behind a word of a text.
double number_after(const std::string& text, const std::string& word) {
    const std::size_t at = text.find(word);
    return at == text.npos ? std::nan("") : std::strtod(text.c_str() + at + word.size(), nullptr);
}

TEST_F(SameCommand, DistancesAreThoseOfImageMagickAndOpenImageIO) {
    const bool magick = std::system("type compare >/dev/null 2>&1") == 0;
    const bool idiff = std::system("type idiff >/dev/null 2>&1") == 0;
    if (!magick && !idiff) GTEST_SKIP() << "neither ImageMagick's compare nor OpenImageIO's idiff is there";
    for (const int type : {CV_8UC1, CV_8UC3, CV_16UC1, CV_16UC3}) {
        const cv::Mat a = noise(type, type);
        cv::Mat b = a.clone();
        for (int i = 0; i < 25; ++i) {  // some samples, each by another distance
            const int x = i * 7 % 40, y = i * 11 % 30, channel = i % a.channels();
            if (a.depth() == CV_8U)
                b.ptr<unsigned char>(y)[x * a.channels() + channel] ^= static_cast<unsigned char>(i + 1);
            else
                b.ptr<unsigned short>(y)[x * a.channels() + channel] ^= static_cast<unsigned short>(37 * i + 1);
        }
        save("a.png", a);
        save("b.png", b);
        same({"a.png", "b.png"});
        Row row = rows().begin()->second;
        const double top = a.depth() == CV_8U ? 255 : 65535, samples = std::stod(row["samples"]);
        const std::string in = "cd '" + at("").string() + "' && ";
        if (magick) {
            const auto metric = [&](const char* name) {
                return printed_by(in + "compare -metric " + name + " a.png b.png null:");
            };
            EXPECT_NEAR(std::stod(row["psnr"]), std::stod(metric("PSNR")), 1e-3);
            EXPECT_NEAR(std::stod(row["max_distance"]) / top, number_after(metric("PAE"), "("), 1e-5);
            EXPECT_NEAR(std::stod(row["mean_distance"]) / top, number_after(metric("MAE"), "("), 1e-6);
            if (a.channels() == 1) {
                EXPECT_EQ(std::stod(row["different"]), std::stod(metric("AE")));
            }
        }
        if (idiff) {
            const std::string text = printed_by(in + "idiff -fail 0 -warn 0 a.png b.png");
            EXPECT_NEAR(std::stod(row["psnr"]), number_after(text, "Peak SNR = "), 1e-3) << text;
            EXPECT_NEAR(std::stod(row["max_distance"]) / top, number_after(text, "Max error  = "), 1e-5) << text;
            EXPECT_NEAR(std::stod(row["mean_distance"]) / top, number_after(text, "Mean error = "), 1e-6) << text;
        }
        EXPECT_GT(samples, 0);
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
