// Flags of a run's images: their rows, the policy of their thresholds, shards, an interruption, and the terminal.
//
// Environment: GPUHIST_PROGRAM, the program.
#include "support/directory.hpp"
#include "support/planted.hpp"

namespace {

using namespace command;
using gpuhist::test::grayed, gpuhist::test::plain_picture;
namespace fs = std::filesystem;

class Flags : public Directory {
  protected:
    /// Pairs of a path and a flag, in the order of flags.csv.
    std::vector<std::string> flags_in(const std::string& directory) const {
        std::vector<std::string> found;
        for (auto& row : table(read_text(at(directory) / "flags.csv")))
            found.push_back(row["path"] + ' ' + row["flag"]);
        return found;
    }
};

TEST_F(Flags, AreRowsOfTheirImages) {
    save("set/a.png", plain_picture(160, 120, 1));
    save("set/b.png", plain_picture(160, 120, 2));
    save("set/c.png", plain_picture(160, 120, 3));
    save("set/constant.png", cv::Mat(120, 160, CV_8UC3, cv::Scalar(128, 120, 40)));
    save("set/gray.png", grayed(plain_picture(160, 120, 4), 1));
    save("set/large.png", plain_picture(640, 480, 5));
    save("set/narrow.png", plain_picture(240, 80, 6));
    cv::Mat floats(120, 160, CV_32FC1);
    cv::randu(floats, 0, 1);
    floats.at<float>(2, 3) = std::nanf("");
    floats.at<float>(2, 4) = INFINITY;
    save("set/nan.pfm", floats);
    ASSERT_EQ(run({"set", "-q", "--quality", "-o", "out"}).code, all_done);
    std::map<std::string, std::map<std::string, std::string>> rows;
    for (auto& row : table(read_text(at("out/flags.csv")))) rows[row["path"] + ' ' + row["flag"]] = row;
    EXPECT_EQ(read_text(at("out/flags.csv")).substr(0, 26), "path,flag,value,threshold\n");
    for (const auto& [key, row] : rows) {
        EXPECT_EQ(key.find("set/a.png"), key.npos) << key;
        EXPECT_EQ(key.find("set/b.png"), key.npos) << key;
        EXPECT_EQ(key.find("set/c.png"), key.npos) << key;
    }
    EXPECT_EQ(rows["set/constant.png constant"]["value"], "0");
    EXPECT_EQ(rows["set/constant.png constant"]["threshold"], "0");
    EXPECT_EQ(std::stod(rows["set/constant.png low_information"]["value"]), std::log2(3.0));
    EXPECT_EQ(rows["set/constant.png low_information"]["threshold"], "3");
    EXPECT_EQ(rows["set/gray.png grayscale"]["value"], "1");
    EXPECT_EQ(rows["set/gray.png grayscale"]["threshold"], "");
    EXPECT_EQ(std::stod(rows["set/narrow.png odd_aspect_ratio"]["value"]), 80.0 / 240);
    EXPECT_EQ(rows["set/nan.pfm nan"]["value"], "2");
    // All sizes are 138.56 = sqrt(160 * 120), or equal to it (240 * 80), but one.
    const double size = std::sqrt(160.0) * std::sqrt(120.0);
    EXPECT_NEAR(std::stod(rows["set/large.png odd_size"]["value"]), std::sqrt(640.0 * 480), 1e-9);
    EXPECT_NEAR(std::stod(rows["set/large.png odd_size"]["threshold"]), size, 1e-9);
}

TEST_F(Flags, FollowThePolicy) {
    save("set/a.png", plain_picture(160, 120, 1));
    save("set/narrow.png", plain_picture(240, 80, 6));
    write_text(at("p.json"), R"({"flags": {"odd_aspect_ratio": 0.9, "odd_size": false, "noisy": 0}})");
    ASSERT_EQ(run({"set", "-q", "--quality", "--policy", "p.json", "-o", "out"}).code, all_done);
    EXPECT_EQ(flags_in("out"), (std::vector<std::string>{"set/a.png noisy", "set/a.png odd_aspect_ratio",
                                                         "set/narrow.png noisy", "set/narrow.png odd_aspect_ratio"}));
    write_text(at("p.json"), R"({"flags": {"odd_aspect_ratio": false}})");
    ASSERT_EQ(run({"set", "-q", "--quality", "--policy", "p.json", "-o", "out"}).code, all_done);
    EXPECT_EQ(flags_in("out"), std::vector<std::string>());
    ASSERT_EQ(run({"set", "-q", "-o", "out"}).code, all_done);
    EXPECT_FALSE(fs::exists(at("out/flags.csv"))) << "of the run before";
}

TEST_F(Flags, OfOneImageAreWrittenToo) {
    save("gray.png", cv::Mat(9, 9, CV_8UC1, cv::Scalar(7)));
    ASSERT_EQ(run({"gray.png", "-q", "--quality", "-o", "out", "--write", "stats"}).code, all_done);
    const auto found = flags_in("out");
    EXPECT_EQ(std::count(found.begin(), found.end(), "gray.png constant"), 1);
    EXPECT_EQ(std::count(found.begin(), found.end(), "gray.png odd_size"), 0);
    const Outcome none = run({"gray.png", "--quality", "-o", "none", "--write", "histogram"});
    EXPECT_EQ(none.code, usage_error);
}

TEST_F(Flags, AFileThatIsGivenAgainIsAnImageAgain) {
    save("a.png", cv::Mat(4, 4, CV_8UC1, cv::Scalar(7)));
    save("b.png", plain_picture(160, 120, 1));
    save("set/a.png", cv::Mat(4, 4, CV_8UC3, cv::Scalar(7, 8, 9)));
    write_text(at("list"), "a.png\na.png\nb.png\nb.png\na.png\nset/a.png\n");
    ASSERT_EQ(run({"--files-from", "list", "-q", "--quality", "-o", "out"}).code, all_done);
    const auto found = flags_in("out");
    EXPECT_EQ(std::count(found.begin(), found.end(), "a.png constant"), 3);
    EXPECT_EQ(std::count(found.begin(), found.end(), "set/a.png constant"), 1);
    EXPECT_EQ(std::count(found.begin(), found.end(), "b.png constant"), 0);
}

TEST_F(Flags, PathsAreThoseOfTheOtherTables) {
    const Names names{"a,b.png", "quote\".png", "=1+1.png", "line\nend.png", "\xff.png"};
    for (const std::string& name : names) save("set/" + name, cv::Mat(4, 4, CV_8UC1, cv::Scalar(7)));
    fs::copy_file(at("set/=1+1.png"), at("=1+1.png"));
    ASSERT_EQ(run({"set", "=1+1.png", "set/a,b.png", "set/a,b.png", "-q", "--quality", "-o", "out"}).code, all_done);
    const auto first_fields = [&](const std::string& csv) {
        std::set<std::string> found;
        std::string field;
        bool quoted = false, first = true;
        for (const char byte : csv) {
            if (byte == '"') quoted = !quoted;
            if (first && byte == ',' && !quoted) {
                found.insert(field);
                first = false;
            }
            if (byte == '\n' && !quoted) {
                first = true;
                field.clear();
            } else if (first) {
                field += byte;
            }
        }
        return found;
    };
    EXPECT_EQ(first_fields(read_text(at("out/flags.csv"))), first_fields(read_text(at("out/quality.csv"))));
}

TEST_F(Flags, AreTheSameOfShardsAndAfterAnInterruption) {
    make_tree("set", 60);
    for (int i = 0; i < 12; ++i)
        save("set/same" + std::to_string(i % 3) + "/" + std::to_string(i) + ".png", plain_picture(90, 70, i % 3));
    write_text(at("p.json"), R"({"flags": {"noisy": 0.2, "odd_size": 0.5, "blurry": false}})");
    const Names options{"set", "-q", "--quality", "--policy", "p.json", "--engine", "cpu"};
    const auto run_with = [&](Names more) {
        more.insert(more.end(), options.begin(), options.end());
        return run(more).code;
    };
    const int code = run_with({"-o", "whole"});
    EXPECT_GT(flags_in("whole").size(), 20U);
    for (const char* shard : {"1/3", "2/3", "3/3"}) run_with({"-o", "parts", "--shard", shard});
    fs::remove(at("p.json"));  // the parts know it
    EXPECT_EQ(run({"merge", "-q", "parts", "-o", "merged"}).code, code);
    expect_same_files("merged", "whole");

    write_text(at("p.json"), R"({"flags": {"noisy": 0.2, "odd_size": 0.5, "blurry": false}})");
    Setting killed;
    killed.signal = SIGKILL;
    killed.after_file = "killed/gpuhist.journal";
    Names words{"-o", "killed", "--checkpoint", "0", "--threads", "1"};
    words.insert(words.end(), options.begin(), options.end());
    run(words, killed);
    EXPECT_EQ(run_with({"-o", "killed", "--resume"}), code);
    expect_same_files("killed", "whole");

    write_text(at("p.json"), R"({"flags": {"noisy": 0.3}})");
    run_with({"-o", "others", "--shard", "2/3"});
    fs::copy_file(at("others/part-2-of-3.json"), at("parts/part-2-of-3.json"), fs::copy_options::overwrite_existing);
    const Outcome mixed = run({"merge", "-q", "parts", "-o", "mixed"});
    EXPECT_EQ(mixed.code, data_refused);
    EXPECT_TRUE(contains(mixed.err, "--policy")) << mixed.err;
}

TEST_F(Flags, TheTerminalCountsThemAndNamesTheWorstThree) {
    for (int i = 0; i < 5; ++i) {
        cv::Mat image(40, 30 + i, CV_8UC1);
        cv::randu(image, 0, 256);
        save("set/" + std::to_string(i) + ".png", image);
    }
    write_text(at("p.json"), R"({"flags": {"odd_aspect_ratio": 0.84, "odd_size": false, "grayscale": false,
                                           "noisy": false, "low_contrast": false}})");
    const Outcome shown = run({"set", "--quality", "--policy", "p.json", "-o", "out"});
    EXPECT_TRUE(contains(shown.out,
                         "flags  4 of 5 images:\n"
                         "  odd_aspect_ratio  4  set/0.png 0.75, set/1.png 0.775, set/2.png 0.8 ...\n"))
        << shown.out;
    const Outcome none = run({"set", "--quality", "--policy", "p.json", "-o", "out", "-q"});
    EXPECT_EQ(none.out, "");
    write_text(at("p.json"), R"({"flags": {"odd_size": false, "grayscale": false, "noisy": false}})");
    EXPECT_TRUE(contains(run({"set", "--quality", "--policy", "p.json", "-o", "out"}).out, "\nflags  0 of 5 images\n"));
}

TEST_F(Flags, PoliciesThatAreWrongEndTheRunBeforeItBegins) {
    save_gray("set/a.png");
    write_text(at("p.json"), R"({"flags": {"drak": 0.2}})");
    const Outcome wrong = run({"set", "--quality", "--policy", "p.json", "-o", "out"});
    EXPECT_EQ(wrong.code, data_refused);
    EXPECT_EQ(wrong.err, "gpuhist: p.json/flags: unknown key 'drak': did you mean dark?\n");
    EXPECT_FALSE(fs::exists(at("out")));
    const Outcome missing = run({"set", "--quality", "--policy", "lost.json", "-o", "out"});
    EXPECT_EQ(missing.code, data_refused);
    EXPECT_TRUE(contains(missing.err, "lost.json")) << missing.err;
    const Outcome alone = run({"set", "--policy", "p.json"});
    EXPECT_EQ(alone.code, usage_error);
    EXPECT_TRUE(contains(alone.err, "--policy needs --quality")) << alone.err;
}

TEST_F(Flags, AFileOfTheSameNameStays) {
    save_gray("set/a.png");
    fs::create_directory(at("out"));
    write_text(at("out/flags.csv"), "mine");
    ASSERT_EQ(run({"set", "-q", "-o", "out"}).code, all_done);
    EXPECT_EQ(read_text(at("out/flags.csv")), "mine");
    const Outcome refused = run({"set", "-q", "--quality", "-o", "out"});
    EXPECT_EQ(refused.code, output_failed);
    EXPECT_TRUE(contains(refused.err, "flags.csv")) << refused.err;
    EXPECT_EQ(read_text(at("out/flags.csv")), "mine");
}

}  // namespace
