// Sets of many groups: the same bytes whatever memory they are given, interrupted or shared out.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <random>

#include "support/directory.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

class Groups : public Directory {
  protected:
    /// Directories of a few images of every kind each, and a list that goes through them in no order.
    void make_set(int directories, int images) const {
        const std::array types{CV_16UC3, CV_16UC1, CV_8UC3, CV_32FC1, CV_32FC3};
        Names names;
        for (int i = 0; i < images; ++i) {
            const int type = types[static_cast<std::size_t>(i / directories) % types.size()];
            cv::Mat image(24, 24, type);
            cv::randu(image, 0, image.depth() == CV_8U ? 256 : image.depth() == CV_16U ? 65536 : 1);
            names.push_back("set/" + std::to_string(i % directories) + "/" + std::to_string(i) +
                            (image.depth() == CV_32F ? ".pfm" : ".png"));
            save(names.back(), image);
        }
        std::shuffle(names.begin(), names.end(), std::mt19937(3));
        std::ofstream list(at("list"));
        for (const std::string& name : names) list << name << '\n';
    }
    static std::vector<std::string> words(const std::vector<std::string>& more) {
        std::vector<std::string> all{"--files-from", "list", "-q",       "--write", "stats",
                                     "--group-by",   "dir",  "--engine", "cpu"};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    /// Lines of a CSV file that begin so, without that.
    static Names lines_after(const std::string& csv, const std::string& start) {
        Names found;
        std::istringstream lines(csv);
        for (std::string line; std::getline(lines, line);)
            if (line.rfind(start, 0) == 0) found.push_back(line.substr(start.size()));
        return found;
    }
};

TEST_F(Groups, AreTheSameInLittleMemory) {
    make_set(40, 1000);
    const Outcome whole = run(words({"-o", "whole"}));
    ASSERT_EQ(whole.code, all_done) << whole.err;
    const Outcome little = run(words({"-o", "little", "--memory", "1M", "--checkpoint", "0.05"}));
    ASSERT_EQ(little.code, all_done) << little.err;
    expect_same_files("little", "whole");
    const std::string csv = read_text(at("whole/dataset.csv"));
    for (const std::string group : {"0", "7", "39"}) {  // as a run over that directory says it
        ASSERT_EQ(run({"set/" + group, "-q", "--write", "stats", "-o", "alone"}).code, all_done);
        const Names alone = lines_after(read_text(at("alone/dataset.csv")), ",");
        EXPECT_GT(alone.size(), 10U);
        EXPECT_EQ(lines_after(csv, "set/" + group + ","), alone);
    }
}

TEST_F(Groups, SharedOutAndMergedAreTheSame) {
    make_set(40, 300);
    ASSERT_EQ(run(words({"-o", "whole"})).code, all_done);
    for (const std::string part : {"1/3", "2/3", "3/3"}) {
        ASSERT_EQ(run(words({"-o", "parts", "--shard", part, "--memory", "1M"})).code, all_done);
        ASSERT_EQ(run(words({"-o", "again", "--shard", part})).code, all_done);
    }
    expect_same_files("again", "parts");
    const Outcome merged = run({"merge", "-q", "parts", "-o", "merged"});
    ASSERT_EQ(merged.code, all_done) << merged.err;
    expect_same_files("merged", "whole");
    EXPECT_EQ(run({"merge", "-q", "parts", "again", "-o", "merged"}).code, all_done);  // the same shards twice
    fs::resize_file(at("parts/part-2-of-3.values"), fs::file_size(at("parts/part-2-of-3.values")) / 2);
    const Outcome damaged = run({"merge", "-q", "parts", "-o", "none"});
    EXPECT_EQ(damaged.code, inputs_failed);
    EXPECT_TRUE(contains(damaged.err, "part-2-of-3.values")) << damaged.err;
}

TEST_F(Groups, SurviveKills) {
    make_set(20, 400);
    const Outcome whole = run(words({"-o", "whole", "--checkpoint", "0.01"}));
    ASSERT_EQ(whole.code, all_done) << whole.err;
    expect_end_after_kills(words({"-o", "killed", "--memory", "1M"}), "killed", whole);
    expect_same_files("killed", "whole");
}

/// A run of values that lies in the file belongs to a group and to the whole set: it stays while one of them has it.
TEST_F(Groups, OfManyFloatValuesSurviveKills) {
    save_floats("set", 100, CV_32FC1);
    const std::vector<std::string> words{"set", "-q", "--write", "stats", "--group-by", "dir", "--engine", "cpu"};
    const auto into = [&](const std::string& output) {
        auto all = words;
        all.insert(all.end(), {"-o", output});
        return all;
    };
    const Outcome whole = run(into("whole"));
    ASSERT_EQ(whole.code, all_done) << whole.err;
    auto killed = into("killed");
    killed.insert(killed.end(), {"--memory", "1M"});
    expect_end_after_kills(killed, "killed", whole);
    expect_same_files("killed", "whole");
}

}  // namespace
