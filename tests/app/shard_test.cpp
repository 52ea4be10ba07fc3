// Runs shared out to several machines, and what their shards merge to.
//
// Environment: GPUHIST_PROGRAM, the program; GPUHIST_EXAMPLES, the folder of examples, whose scripts are run.
#include <set>

#include "support/directory.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

TEST_F(Directory, PartsOfARunMergeToTheSameBytes) {
    make_tree("dir", 120);
    for (const char* name : {"dir/\xff.png", "dir/a, \"b\".png", "dir/a/line\nend.png"}) write_text(at(name), "no");
    ASSERT_EQ(run({"dir", "-q", "--group-by", "dir", "-o", "whole"}).code, inputs_failed);
    for (const char* part : {"2/3", "1/3", "3/3"})
        EXPECT_LE(run({"dir", "-q", "--group-by", "dir", "-o", "parts", "--shard", part}).code, inputs_failed);
    EXPECT_EQ(files_below("parts").size(), 9u);  // numbers, rows and groups of each
    EXPECT_EQ(run({"merge", "-q", "-o", "merged", "parts"}).code, inputs_failed);
    expect_same_files("merged", "whole");
    EXPECT_EQ(run({"dir", "--shard", "4/3"}).code, usage_error);
    EXPECT_EQ(run({"dir", "--shard", "1/2", "--write", "normalized"}).code, usage_error);
}

TEST_F(Directory, PartsOfEveryDepthMergeToTheSameBytes) {
    save_depths("dir", 108);
    const Names words{"dir", "-q", "--group-by", "dir", "--write", "stats,histogram,plot"};
    const auto with = [&](Names more) {
        more.insert(more.begin(), words.begin(), words.end());
        return run(more);
    };
    const Outcome whole = with({"-o", "whole"});
    ASSERT_EQ(whole.code, all_done) << whole.err;
    for (const char* part : {"2/3", "1/3", "3/3"}) EXPECT_EQ(with({"-o", "parts", "--shard", part}).code, all_done);
    EXPECT_EQ(run({"merge", "-q", "-o", "merged", "parts"}).code, all_done);
    for (const char* file : {"stats.csv", "dataset.csv", "dataset.json", "dataset.histogram.png"})
        EXPECT_EQ(read_text(at("merged") / file), read_text(at("whole") / file)) << file;
    const auto rows = table(read_text(at("whole/dataset.csv")));
    std::set<std::string> depths, channels;
    for (const auto& row : rows) depths.insert(row.at("depth")), channels.insert(row.at("channel"));
    EXPECT_EQ(depths, (std::set<std::string>{"u8", "s8", "u16", "s16", "u32", "s32", "f16", "f32", "f64"}));
    EXPECT_EQ(channels, (std::set<std::string>{"gray", "red", "green", "blue", "luma", "all", "c0", "c1", "c2", "c3",
                                               "c4", "extra1", "extra2", "extra3"}));
}

TEST_F(Directory, PercentileColumnsAreThoseOfEveryFileAndPart) {
    make_tree("dir", 60);
    const auto with = [&](Names words, const std::string& list) {
        words.insert(words.end(), {"-q", "--write", "stats", "--percentile-columns", list});
        return run(words).code;
    };
    ASSERT_LE(with({"dir", "-o", "whole"}, "0.5,50,99.5"), inputs_failed);
    for (const char* part : {"1/2", "2/2"})
        ASSERT_LE(with({"dir", "-o", "parts", "--shard", part}, "0.5,50,99.5"), inputs_failed);
    EXPECT_LE(run({"merge", "-q", "-o", "merged", "parts"}).code, inputs_failed);
    expect_same_files("merged", "whole");
    for (const char* file : {"whole/stats.csv", "whole/dataset.csv"})
        EXPECT_TRUE(contains(read_text(at(file)), ",entropy,p0.5,median,p99.5,clipped_low,")) << file;
    EXPECT_TRUE(contains(read_text(at("whole/dataset.json")), "\"p99.5\":"));
    ASSERT_LE(with({"dir", "-o", "parts", "--shard", "2/2"}, "1,50"), inputs_failed);
    const Outcome refused = run({"merge", "-q", "-o", "again", "parts"});
    EXPECT_EQ(refused.code, data_refused);
    EXPECT_TRUE(contains(refused.err, "--percentile-columns is 0.5,50,99.5 in one and 1,50 in the other"))
        << refused.err;
}

TEST_F(Directory, PartsOfAnotherWhiteAreRefused) {
    make_tree("dir", 6);
    ASSERT_LE(run({"dir", "-q", "-o", "parts", "--shard", "1/2", "--white", "200"}).code, inputs_failed);
    ASSERT_LE(run({"dir", "-q", "-o", "parts", "--shard", "2/2"}).code, inputs_failed);
    const Outcome refused = run({"merge", "-q", "parts"});
    EXPECT_EQ(refused.code, data_refused);
    EXPECT_TRUE(contains(refused.err, "--white is 200 in one and not given in the other")) << refused.err;
}

TEST_F(Directory, ASingleInputIsSharedOutToo) {
    save_gray("a.png");
    for (const char* part : {"1/2", "2/2"})
        ASSERT_EQ(run({"a.png", "-q", "--write", "stats", "-o", "parts", "--shard", part}).code, all_done);
    for (const char* part : {"1/2", "2/2"}) {
        const Outcome outcome = run({"a.png", "--write", "stats", "-o", "again", "--shard", part});
        EXPECT_TRUE(contains(outcome.err, *part == '1' ? "gpuhist: 1 input, " : "gpuhist: 0 inputs, ")) << outcome.err;
    }
    ASSERT_EQ(run({"merge", "-q", "-o", "merged", "parts"}).code, all_done);
    ASSERT_EQ(run({"a.png", "-q", "--write", "stats", "-o", "whole"}).code, all_done);
    expect_same_files("merged", "whole");
}

TEST_F(Directory, APartThatRunsAgainHasNothingOfItsEarlierRun) {
    make_tree("dir", 20);
    write_text(at("dir/image.png"), "no");
    const Names arguments{"dir", "-q", "--shard", "1/1", "-o", "parts"};
    ASSERT_EQ(run(arguments).code, inputs_failed);
    fs::remove_all(at("dir"));
    save_gray("dir/0.png");
    save_gray("dir/image.png");
    ASSERT_EQ(run(arguments).code, all_done);
    ASSERT_EQ(run({"merge", "-q", "-o", "merged", "parts"}).code, all_done);
    ASSERT_EQ(run({"dir", "-q", "-o", "whole"}).code, all_done);
    expect_same_files("merged", "whole");
}

TEST_F(Directory, APartThatIsKilledAtItsEndIsMissingOrWhole) {
    save_floats("dir", 9, CV_32FC3);  // 360,000 values per channel: its part file takes a while
    const Names arguments{"dir", "-q", "--shard", "1/1", "--write", "stats", "-o", "parts"};
    ASSERT_EQ(run(arguments).code, all_done);
    const std::string earlier = read_text(at("parts/part-1-of-1.json"));
    fs::remove(at("parts/part-1-of-1.stats.csv"));
    save_floats("dir", 9, CV_32FC1);
    Setting setting;
    setting.signal = SIGKILL;
    setting.after_file = "parts/part-1-of-1.stats.csv";
    run(arguments, setting);
    EXPECT_TRUE(!fs::exists(at("parts/part-1-of-1.json")) || read_text(at("parts/part-1-of-1.json")) != earlier);
    auto resumed = arguments;
    resumed.push_back("--resume");
    ASSERT_EQ(run(resumed).code, all_done);
    ASSERT_EQ(run({"dir", "-q", "--shard", "1/1", "--write", "stats", "-o", "whole"}).code, all_done);
    expect_same_files("parts", "whole");
}

/// Runs a shell command in the directory, as a scheduler would: the program is found by the PATH.
int run_script(const fs::path& directory, const std::string& command) {
    const fs::path program = from_environment("GPUHIST_PROGRAM");
    const int status = std::system(("cd " + directory.string() + " && export PATH=" + program.parent_path().string() +
                                    ":\"$PATH\" LC_ALL=C.UTF-8; " + command + " >/dev/null 2>script.err")
                                       .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Directory, TheSlurmArrayOfTheExamplesMergesToTheSameBytes) {
    make_tree("dir", 60);
    ASSERT_EQ(run({"dir", "-q", "-o", "whole"}).code, inputs_failed);
    const std::string script = from_environment("GPUHIST_EXAMPLES") + "/slurm.sh dir results 3";
    for (const char* task : {"3", "1", "2", "1"})  // a scheduler may run one twice
        EXPECT_EQ(run_script(directory_, std::string("SLURM_ARRAY_TASK_ID=") + task + " " + script), 0)
            << read_text(at("script.err"));
    EXPECT_EQ(run_script(directory_, script), inputs_failed) << read_text(at("script.err"));
    fs::remove_all(at("results/parts"));
    expect_same_files("results", "whole");
    EXPECT_EQ(run_script(directory_, script), data_refused);
    EXPECT_TRUE(contains(read_text(at("script.err")), "parts")) << "nothing to merge";
}

TEST_F(Directory, TheKubernetesJobsOfTheExamplesMergeToTheSameBytes) {
    make_tree("dir", 60);
    ASSERT_EQ(run({"dir", "-q", "-o", "whole"}).code, inputs_failed);
    // The script of the first job is the block after `- |`, indented as its first line.
    std::istringstream lines(read_text(from_environment("GPUHIST_EXAMPLES") + "/kubernetes.yaml"));
    std::string script;
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        if (inside && line.rfind(std::string(14, ' '), 0) != 0) break;
        if (inside) script += line.substr(14) + "\n";
        inside = inside || contains(line, "- |");
    }
    ASSERT_TRUE(contains(script, "gpuhist /data/images -o /data/results/parts ")) << script;
    script.replace(script.find("/data/images"), 12, "dir");
    script.replace(script.find("/data/results"), 13, "results");
    write_text(at("script"), script);
    for (const char* index : {"0", "2", "1"})
        EXPECT_EQ(run_script(directory_, std::string("PARTS=3 JOB_COMPLETION_INDEX=") + index + " sh script"), 0)
            << read_text(at("script.err"));
    EXPECT_EQ(run({"merge", "-q", "-o", "merged", "results/parts"}).code, inputs_failed);
    expect_same_files("merged", "whole");
}

}  // namespace
