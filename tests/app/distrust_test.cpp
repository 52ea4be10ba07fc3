// What an interrupted run left is believed only where it is what was left: files, inputs, standard output, locks.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <sys/file.h>
#include <chrono>
#include <thread>

#include "support/damage.hpp"
#include "support/directory.hpp"
#include "support/repetitions.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

class Distrust : public Directory {
  protected:
    /// Ends a run before its end, so that there is a checkpoint of some inputs.
    void interrupt(Names words, const std::string& after_file, Out out = Out::file) const {
        words.insert(words.end(), {"--checkpoint", "0.01"});
        Setting setting;
        setting.signal = SIGTERM;
        setting.after_file = after_file;
        setting.out = out;
        const Outcome outcome = run(words, setting);
        ASSERT_EQ(outcome.code, was_interrupted) << outcome.err;
        ASSERT_TRUE(contains(outcome.err, "--resume goes on")) << outcome.err;
    }
    static Names resumed(Names words) {
        words.push_back("--resume");
        return words;
    }
    void copy(const std::string& from, const std::string& to) const {
        fs::remove_all(at(to));
        fs::copy(at(from), at(to), fs::copy_options::recursive);
    }
};

TEST_F(Distrust, DamageToWhatARunLeftIsRefusedOrHarmless) {
    make_tree("dir/a", 150);
    save_floats("dir/f", 40, CV_32FC3);
    make_tree("dir/z", 300, 2);
    for (int i = 0; i < 30; ++i) write_text(at("dir/a/0bad" + std::to_string(i) + ".png"), "no");
    const Names words{"dir", "-q", "--write", "stats", "--threads", "1", "-o", "out"};
    const Outcome whole = run(words);
    ASSERT_EQ(whole.code, inputs_failed);
    const auto expected = contents("out");
    fs::remove_all(at("out"));
    interrupt(words, "out/gpuhist.values.partial");
    fs::rename(at("out"), at("left"));
    const auto left = contents("left");
    std::mt19937 random(17);
    for (const auto& [name, bytes] : left) {
        int refused = 0;
        const auto rounds = static_cast<int>(
            gpuhist::test::repetitions(name == "gpuhist.journal" || name == "stats.csv.partial" ? 40 : 15, 6));
        for (int round = 0; round < rounds; ++round) {
            copy("left", "out");
            write_text(at("out/" + name), gpuhist::test::damaged(bytes, random));
            const Outcome outcome = run(resumed(words));
            if (outcome.code == inputs_failed) {
                EXPECT_TRUE(contents("out") == expected) << name << " " << round;
                continue;
            }
            EXPECT_EQ(outcome.code, output_failed) << name << outcome.err;
            EXPECT_TRUE(contains(outcome.err, "start anew without --resume") || contains(outcome.err, "damaged") ||
                        contains(outcome.err, "which gpuhist did not write"))
                << outcome.err;
            ++refused;
        }
        EXPECT_GT(refused, rounds / 4) << name;
    }
    EXPECT_TRUE(left.count("gpuhist.journal") && left.count("stats.csv.partial") && left.count("errors.csv.partial") &&
                left.count("gpuhist.values.partial"));
    copy("left", "out");
    EXPECT_EQ(run(resumed(words)).code, inputs_failed);
    EXPECT_TRUE(contents("out") == expected);
}

TEST_F(Distrust, AListOfBadInputsIsCheckedToo) {
    for (int i = 0; i < 600; ++i) save_gray("dir/image" + std::to_string(i) + ".png", i % 200);
    const Names words{"dir", "-q", "--link", "dataset", "--write", "stats,normalized", "-o", "out"};
    for (const char* file : {"0.png", "1.png", "2.png"}) write_text(at(std::string("dir/") + file), "no");
    interrupt(words, "out/gpuhist.journal");
    const std::string name = "out/gpuhist.bad.partial", bad = read_text(at(name));
    ASSERT_TRUE(contains(bad, "0 0\n1 0\n2 0\n"));
    write_text(at(name), "0 0\n1 0\n3 0\n" + bad.substr(12));
    const Outcome outcome = run(resumed(words));
    EXPECT_EQ(outcome.code, output_failed);
    EXPECT_TRUE(contains(outcome.err, name + ": is not what the checkpoint says of it")) << outcome.err;
}

TEST_F(Distrust, AReplacedInputIsNotTakenForTheOneMeasured) {
    make_tree("dir", 600);
    save_gray("dir/0.png");
    for (const char* part : {"", "1/2"}) {
        Names words{"dir", "-q", "--write", "stats", "-o", "out"};
        if (*part) words.insert(words.end(), {"--shard", part});
        fs::remove_all(at("out"));
        interrupt(words, *part ? "out/part-1-of-2.stats.csv.partial" : "out/stats.csv.partial");
        const auto time = fs::last_write_time(at("dir/0.png"));
        const std::string good = read_text(at("dir/0.png"));
        // The file systems' clock may be some milliseconds behind that of the run, which names what changed after it.
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        save_gray("dir/0.png", 7);
        const Outcome other = run(resumed(words));
        EXPECT_EQ(other.code, usage_error);
        EXPECT_TRUE(contains(other.err,
                             "--resume: dir/0.png has another size or time of modification than when it was "
                             "measured"))
            << other.err;
        write_text(at("dir/0.png"), good);
        EXPECT_EQ(run(resumed(words)).code, usage_error);  // the same bytes, at another time
        fs::last_write_time(at("dir/0.png"), time);
        EXPECT_LE(run(resumed(words)).code, inputs_failed);
    }
}

TEST_F(Distrust, AChangedMaskBesideAnInputIsAChangedInput) {
    make_tree("dir", 600);
    save_gray("dir/0.tif");
    save_gray("mask.tif");
    fs::copy_file(at("mask.tif"), at("dir/0.tif.msk"));
    const Names words{"dir", "-q", "--write", "stats", "-o", "out"};
    interrupt(words, "out/stats.csv.partial");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    fs::remove(at("dir/0.tif.msk"));
    const Outcome other = run(resumed(words));
    EXPECT_EQ(other.code, usage_error);
    EXPECT_TRUE(contains(other.err, "than when it was measured")) << other.err;
}

TEST_F(Distrust, ALogKeepsTheLinesOfOthers) {
    make_tree("dir", 600);
    for (const char* format : {"csv", "json"}) {
        const Names words{"dir", "-q", "--write", "stats", "--format", format, "--engine", "cpu", "-o", "out"};
        fs::remove_all(at("out"));
        const std::string whole = run(words).out;
        fs::remove_all(at("out"));
        write_text(at("log"), "others: before\n");
        interrupt(words, "out/stats.csv.partial", Out::log);
        // As if it had been killed a little later, while others wrote too, and in the middle of a line.
        std::string log = read_text(at("log"));
        const std::string printed = log.substr(log.find('\n') + 1);
        ASSERT_EQ(whole.compare(0, printed.size(), printed), 0);
        const std::size_t line_end = whole.find('\n', printed.size()) + 1, part_end = line_end + 100;
        ASSERT_TRUE(line_end > 0 && part_end < whole.size());
        log += "others: between\n" + whole.substr(printed.size(), line_end - printed.size()) + "others: again\n" +
               whole.substr(line_end, part_end - line_end);
        write_text(at("log"), log);
        Setting setting;
        setting.out = Out::log;
        setting.signal =
            SIGKILL;  // the next is soon killed too: before it has come to the end of what is there, mostly
        setting.after_seconds = 0.02;
        run(resumed(words), setting);
        setting.signal = 0;
        EXPECT_EQ(run(resumed(words), setting).code, inputs_failed);
        std::string ended = read_text(at("log"));
        EXPECT_EQ(ended.compare(0, log.size(), log), 0);  // nothing of it went
        for (const char* line : {"others: before\n", "others: between\n", "others: again\n"})
            ended.erase(ended.find(line), std::string(line).size());
        EXPECT_TRUE(ended == whole) << format;
    }
}

TEST_F(Distrust, ALogOfARunThatPrintsTablesIsAddedTo) {
    make_tree("dir", 600);
    const Names words{"dir", "-q", "--write", "stats", "-o", "out"};
    write_text(at("log"), "others: before\n");
    interrupt(words, "out/stats.csv.partial", Out::log);
    const std::string log = read_text(at("log")) + "others: after\n";
    write_text(at("log"), log);
    Setting setting;
    setting.out = Out::log;
    EXPECT_EQ(run(resumed(words), setting).code, inputs_failed);
    EXPECT_EQ(read_text(at("log")).compare(0, log.size(), log), 0);
}

TEST_F(Distrust, AnOutputThatAnotherProcessWritesIsCode75) {
    save_gray("dir/a.png");
    save_gray("dir/b.png");
    fs::create_directory(at("out"));
    for (const char* name : {"out/stats.csv.partial", "out/part-1-of-2.stats.csv.partial"}) {
        // The list of what a run is writing, which goes with the file.
        const std::string list =
            contains(name, "part-1") ? "out/part-1-of-2.written.partial" : "out/gpuhist.written.partial";
        write_text(at(list), "gpuhist files 1\n- " + fs::path(name).filename().string() + "\n");
        const int held = open(at(name).c_str(), O_RDWR | O_CREAT, 0600);
        ASSERT_EQ(flock(held, LOCK_EX | LOCK_NB), 0);
        Names words{"dir", "-o", "out", "--write", "stats"};
        if (contains(name, "part-1")) words.insert(words.end(), {"--shard", "1/2"});
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, output_locked);
        EXPECT_EQ(outcome.err,
                  "gpuhist: " + std::string(name) + ": another run is writing it; name another --output\n");
        close(held);
        EXPECT_EQ(run(words).code, all_done);
    }
    EXPECT_TRUE(contains(run({"--help"}).out, "75 another process is writing it"));
}

TEST_F(Distrust, ALutFileOfAnotherChecksumIsRefusedAndWithoutOneNoted) {
    save_gray("dir/a.png", 3);
    save_gray("dir/b.png", 9);
    ASSERT_EQ(run({"dir", "-q", "--link", "dataset", "--write", "normalized", "--lut-out", "t.csv"}).code, all_done);
    const std::string good = read_text(at("t.csv"));
    const Names words{"dir", "--lut-in", "t.csv", "--write", "normalized", "-o", "again"};
    EXPECT_FALSE(contains(run(words).err, "checksum"));
    std::string changed = good;
    const std::size_t row = changed.find("\n7,") + 3;
    changed.replace(row, changed.find('\n', row) - row, "1");
    write_text(at("t.csv"), changed);
    Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_TRUE(contains(outcome.err, "t.csv: line 1: the checksum is not that of the lines below")) << outcome.err;
    write_text(at("t.csv"), changed.substr(changed.find('\n') + 1));
    outcome = run(words);
    EXPECT_EQ(outcome.code, all_done);
    EXPECT_TRUE(contains(outcome.err, "t.csv: has no checksum")) << outcome.err;
}

}  // namespace
