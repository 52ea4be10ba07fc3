// Sets of many groups: the same bytes whatever memory they are given, interrupted or shared out.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <random>

#include "support/directory.hpp"
#include "support/repetitions.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

class Groups : public Directory {
  protected:
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
    make_groups(40, static_cast<int>(gpuhist::test::repetitions(1000, 300)));
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
    make_groups(40, static_cast<int>(gpuhist::test::repetitions(300, 160)));
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
    EXPECT_EQ(damaged.code, data_refused);
    EXPECT_TRUE(contains(damaged.err, "part-2-of-3.values")) << damaged.err;
}

}  // namespace
