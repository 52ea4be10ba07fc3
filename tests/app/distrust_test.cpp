// What an interrupted run left is believed only where it is what was left: files, inputs, standard output, locks.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <sys/file.h>
#include <chrono>
#include <thread>

#include "support/damage.hpp"
#include "support/directory.hpp"
#include "support/repetitions.hpp"
#include "support/sealed.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

class Distrust : public Directory {
  protected:
    /// Ends a run before its end, so that there is a checkpoint of some inputs.
    void interrupt(Names words, const std::string& after_file, Out out = Out::file, Setting setting = {}) const {
        words.insert(words.end(), {"--checkpoint", "0.01"});
        setting.signal = SIGTERM;
        setting.after_file = after_file;
        setting.out = out;
        const Outcome outcome = run(words, setting);
        ASSERT_EQ(outcome.code, was_interrupted) << outcome.err;
        ASSERT_TRUE(contains(outcome.err, "--resume continues")) << outcome.err;
    }
    static Names resumed(Names words) {
        words.push_back("--resume");
        return words;
    }
    /// Goes on with an interrupted run into `out`, which has to measure all anew: its results are those of a new run.
    void expect_measured_anew(Names words, const std::string& said, const Setting& setting = {}) {
        words.erase(std::remove(words.begin(), words.end(), "-q"), words.end());
        const Outcome outcome = run(resumed(words), setting);
        EXPECT_LE(outcome.code, inputs_failed) << outcome.err;
        EXPECT_TRUE(contains(outcome.err, "gpuhist: --resume: " + said)) << outcome.err;
        EXPECT_TRUE(contains(outcome.err, ": everything is measured again\n")) << outcome.err;
        const auto found = contents("out");
        fs::remove_all(at("out"));
        EXPECT_EQ(run(words, setting).code, outcome.code);
        EXPECT_TRUE(contents("out") == found) << said;
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
            EXPECT_TRUE(contains(outcome.err, "start again without --resume") || contains(outcome.err, "damaged") ||
                        contains(outcome.err, "that gpuhist did not write"))
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
    ASSERT_TRUE(bad[0] == '1' && contains(bad, " dir/0.png"));
    write_text(at(name), '0' + bad.substr(1));
    const Outcome outcome = run(resumed(words));
    EXPECT_EQ(outcome.code, output_failed);
    EXPECT_TRUE(contains(outcome.err, name + ": differs from the checkpoint")) << outcome.err;
}

TEST_F(Distrust, TheListOfWhatARunWroteIsChecked) {
    for (int i = 100; i < 500; ++i) save_gray("dir/" + std::to_string(i) + ".png", i % 200);
    const Names words{"dir", "-q", "--write", "stats,histogram", "--threads", "1", "-o", "out"};
    interrupt(words, "out/100.png.histogram.csv");
    fs::rename(at("out"), at("left"));
    const std::string name = "out/gpuhist.written.partial", list = read_text(at("left/gpuhist.written.partial"));
    const auto with = [&](const std::string& text, const Names& all) {
        copy("left", "out");
        write_text(at(name), text);
        return run(all);
    };
    // Cut between two lines: what is left is a list, but not the one that the checkpoint knows.
    const std::string cut = list.substr(0, list.rfind('\n', list.size() - 2) + 1);
    Outcome outcome = with(cut, resumed(words));
    EXPECT_EQ(outcome.code, output_failed);
    EXPECT_TRUE(contains(outcome.err, name + ": differs from the checkpoint")) << outcome.err;
    // Another name, of a file that gpuhist did not write.
    std::string other = list;
    const std::size_t at_name = other.find("100.png.histogram.csv");
    ASSERT_NE(at_name, other.npos);
    other.replace(at_name, 3, "499");
    copy("left", "out");
    const std::string mine(fs::file_size(at("out/100.png.histogram.csv")), 'm');
    write_text(at("out/499.png.histogram.csv"), mine);
    write_text(at(name), other);
    outcome = run(words);
    EXPECT_EQ(outcome.code, output_failed);
    EXPECT_TRUE(contains(outcome.err, name + ": damaged: files that it lists behind byte ")) << outcome.err;
    EXPECT_EQ(read_text(at("out/499.png.histogram.csv")), mine);
    EXPECT_EQ(with(list, resumed(words)).code, all_done);
}

TEST_F(Distrust, ResultsThatAreGoneOrCutAreNoticed) {
    for (int i = 100; i < 500; ++i) save_gray("dir/" + std::to_string(i) + ".png", i % 200);
    const Names words{"dir", "-q", "--write", "stats,histogram,normalized", "--threads", "1", "-o", "out"};
    const Outcome whole = run(words);
    ASSERT_EQ(whole.code, all_done);
    const auto expected = contents("out");
    fs::remove_all(at("out"));
    interrupt(words, "out/110.png.normalized.png");
    fs::rename(at("out"), at("left"));
    for (const char* file : {"out/100.png.histogram.csv", "out/101.png.normalized.png"})
        for (const bool gone : {true, false}) {
            copy("left", "out");
            if (gone)
                fs::remove(at(file));
            else
                fs::resize_file(at(file), fs::file_size(at(file)) / 2);
            const Outcome outcome = run(resumed(words));
            EXPECT_EQ(outcome.code, output_failed);
            EXPECT_TRUE(contains(outcome.err, std::string(file) + ": is gone, or its length has changed"))
                << outcome.err;
        }
    copy("left", "out");
    EXPECT_EQ(run(resumed(words)).code, all_done);
    EXPECT_TRUE(contents("out") == expected);
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
                             "--resume: dir/0.png has changed its size or modification time since it was "
                             "measured"))
            << other.err;
        write_text(at("dir/0.png"), good);
        EXPECT_EQ(run(resumed(words)).code, usage_error);  // the same bytes, at another time
        // Bytes and time are the same, but the ctime tells of a change.
        fs::last_write_time(at("dir/0.png"), time);
        expect_measured_anew(words, "dir/0.png or its mask changed since");
    }
}

TEST_F(Distrust, AChangedMaskBesideAnInputIsMeasuredAnew) {
    make_tree("dir", 600);
    save_gray("dir/0.tif");
    save_gray("mask.tif");
    fs::copy_file(at("mask.tif"), at("dir/0.tif.msk"));
    const Names words{"dir", "--write", "stats", "-o", "out"};
    for (const bool removed : {false, true}) {
        fs::remove_all(at("out"));
        interrupt(words, "out/stats.csv.partial");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        if (removed)
            fs::remove(at("dir/0.tif.msk"));
        else
            save_gray("dir/0.tif.msk.tif", 9), fs::rename(at("dir/0.tif.msk.tif"), at("dir/0.tif.msk"));
        expect_measured_anew(words, removed ? "an input or its mask changed since" : "dir/0.tif or its mask changed");
    }
}

TEST_F(Distrust, AnInputOfAnotherTimeOfChangeAloneIsMeasuredAnew) {
    for (int i = 100; i < 500; ++i) {
        save("dir/" + std::to_string(i) + ".png", make_image(2, 3, CV_8UC1));
        save("masks/" + std::to_string(i) + ".png", make_image(2, 3, CV_8UC1));
    }
    save("mask.png", make_image(2, 3, CV_8UC1));
    std::string list;
    for (int i = 100; i < 500; ++i) list += "dir/" + std::to_string(i) + ".png\n";
    write_text(at("list"), list);
    const auto touch = [&](const std::string& name) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        fs::permissions(at(name), fs::perms::owner_read | fs::perms::owner_write);
    };
    const Names all{"--write", "stats", "--threads", "1", "-o", "out"};
    struct Case {
        Names words;
        std::string touched, said, list;
    };
    for (const Case& one :
         {Case{{"dir"}, "dir/100.png", "dir/100.png or its mask changed since", ""},
          Case{{"dir", "--mask", "mask.png"}, "mask.png", "the file of --mask changed since", ""},
          Case{{"dir", "--mask", "masks"}, "masks/100.png", "dir/100.png or its mask changed since", ""},
          Case{{"--files-from", "list"}, "dir/100.png", "dir/100.png or its mask changed since", ""},
          Case{{"--files-from", "-"}, "dir/100.png", "dir/100.png or its mask changed since", "list"},
          Case{{"dir", "--shard", "1/2"}, "dir/100.png", "dir/100.png or its mask changed since", ""}}) {
        Names words = one.words;
        words.insert(words.end(), all.begin(), all.end());
        fs::remove_all(at("out"));
        Setting setting;
        if (!one.list.empty()) setting.input = at(one.list);
        interrupt(words, words[1] == "--shard" ? "out/part-1-of-2.stats.csv.partial" : "out/stats.csv.partial",
                  Out::file, setting);
        touch(one.touched);
        expect_measured_anew(words, one.said, setting);
    }
    // What a shard has read of masks is compared itself: another time is none, other bytes at the same time are.
    const Names shard{"dir", "--mask", "masks", "--shard", "1/2", "--write", "stats", "--threads", "1", "-o", "out"};
    for (const bool other : {false, true}) {
        fs::remove_all(at("out"));
        interrupt(shard, "out/part-1-of-2.stats.csv.partial");
        const auto time = fs::last_write_time(at("masks/100.png"));
        if (other) save("masks/100.png", cv::Mat(3, 2, CV_8UC1, cv::Scalar(0)));
        if (other) fs::last_write_time(at("masks/100.png"), time);
        touch("masks/100.png");
        if (other) {
            expect_measured_anew(shard, "an input or its mask changed since");
            continue;
        }
        const Outcome outcome = run(resumed(shard));
        EXPECT_EQ(outcome.code, all_done);
        EXPECT_FALSE(contains(outcome.err, "measured again")) << outcome.err;
    }
}

TEST_F(Distrust, TheFirstOfTwoPassesIsDoneAnewToo) {
    for (int i = 100; i < 400; ++i) save("dir/" + std::to_string(i) + ".png", make_image(2, 3, CV_8UC1));
    const Names words{"dir", "--link", "dataset", "--write", "stats,normalized", "--threads", "1", "-o", "out"};
    interrupt(words, "out/100.png.normalized.png");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    fs::permissions(at("dir/100.png"), fs::perms::owner_read | fs::perms::owner_write);
    expect_measured_anew(words, "dir/100.png or its mask changed since");
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

TEST_F(Distrust, FilesThatSaySomethingOfInputsAreCompared) {
    for (int i = 100; i < 500; ++i) {
        save("dir/" + std::to_string(i) + ".png", make_image(2, 3, CV_8UC1));
        save("beside/" + std::to_string(i) + ".png", make_image(2, 3, CV_8UC1));
    }
    save("mask.png", make_image(2, 3, CV_8UC1));
    const std::string header = "path,name,x,y,w,h\ndir/";
    write_text(at("rois.csv"), header + "100.png,one,0,0,1,1\n");
    ASSERT_EQ(run({"dir", "-q", "--write", "stats", "--lut-out", "lut.csv", "-o", "first"}).code, all_done);
    struct Case {
        Names words;
        std::string file, said;
    };
    const std::string another = "--resume: dir/100.png or its mask", label = " or label image",
                      since = " changed since";
    for (const Case& one : {Case{{"--mask", "mask.png"}, "mask.png", "--resume: the file of --mask changed"},
                            Case{{"--mask", "beside"}, "beside/100.png", another + since},
                            Case{{"--labels", "mask.png"}, "mask.png", "--resume: the file of --labels changed"},
                            Case{{"--labels", "beside"}, "beside/100.png", another + label + since},
                            Case{{"--rois", "rois.csv"}, "rois.csv", "--resume: the file of --rois changed"},
                            Case{{"--lut-in", "lut.csv", "--write", "stats,normalized"},
                                 "lut.csv",
                                 "--resume: the file of --lut-in changed"}}) {
        Names words{"dir", "--threads", "1", "-o", "out"};
        if (one.words.size() == 2) words.insert(words.end(), {"--write", "stats"});
        words.insert(words.end(), one.words.begin(), one.words.end());
        fs::remove_all(at("out"));
        interrupt(words, "out/stats.csv.partial");
        const std::string good = read_text(at(one.file));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // as above
        const bool of_input = one.file.rfind("beside", 0) == 0;
        if (one.file == "mask.png")
            save("mask.png", cv::Mat(3, 2, CV_8UC1, cv::Scalar(2)));
        else
            write_text(at(one.file), good);  // the same bytes, at another time
        Outcome outcome = run(resumed(words));
        EXPECT_EQ(outcome.code, all_done) << one.file;
        EXPECT_TRUE(contains(outcome.err, one.said)) << outcome.err;
        const auto resumed_files = contents("out");  // no row is of the file that was there before
        fs::remove_all(at("out"));
        EXPECT_EQ(run(words).code, all_done);
        EXPECT_TRUE(contents("out") == resumed_files) << one.file;
        write_text(at(one.file), good);
        if (of_input || one.words.size() > 2) continue;  // what a shard has for itself
        const auto shard = [&](const char* number) {
            Names all{"dir", "-q", "--write", "stats", "-o", "parts", "--shard", number};
            all.insert(all.end(), one.words.begin(), one.words.end());
            return run(all).code;
        };
        ASSERT_EQ(shard("1/2"), all_done);
        write_text(at(one.file), good);
        ASSERT_EQ(shard("2/2"), all_done);
        EXPECT_EQ(run({"merge", "-q", "parts", "-o", "merged"}).code, all_done);  // times of machines may differ
        if (one.file == "rois.csv")
            write_text(at(one.file), header + "100.png,one,0,0,1,2\n");
        else
            save(one.file, cv::Mat(3, 2, CV_8UC1, cv::Scalar(1)));
        ASSERT_EQ(shard("2/2"), all_done);
        outcome = run({"merge", "-q", "parts", "-o", "merged"});
        EXPECT_EQ(outcome.code, data_refused);
        EXPECT_TRUE(contains(outcome.err, "the file of " + one.words[0] + " is of checksum ")) << outcome.err;
        write_text(at(one.file), good);
        fs::remove_all(at("parts"));
    }
}

TEST_F(Distrust, AnOutputThatAnotherProcessWritesIsCode75) {
    save_gray("dir/a.png");
    save_gray("dir/b.png");
    fs::create_directory(at("out"));
    for (const char* name : {"out/stats.csv.partial", "out/part-1-of-2.stats.csv.partial"}) {
        // The list of what a run is writing, which goes with the file.
        const std::string list =
            contains(name, "part-1") ? "out/part-1-of-2.written.partial" : "out/gpuhist.written.partial";
        write_text(at(list), gpuhist::test::list_of_a_run({fs::path(name).filename()}));
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
    EXPECT_TRUE(contains(run({"help", "errors"}).out, "75   another process is writing to the output directory"));
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
    EXPECT_EQ(outcome.code, data_refused);
    EXPECT_TRUE(contains(outcome.err, "t.csv: line 1: the checksum differs from the lines below")) << outcome.err;
    write_text(at("t.csv"), changed.substr(changed.find('\n') + 1));
    outcome = run(words);
    EXPECT_EQ(outcome.code, all_done);
    EXPECT_TRUE(contains(outcome.err, "t.csv: has no checksum")) << outcome.err;
}

}  // namespace
