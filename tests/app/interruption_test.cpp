// Runs that are killed, interrupted, or find the disk full, and go on: nothing is lost, whatever happens in between.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <sys/mount.h>
#include <sys/stat.h>

#include "support/directory.hpp"
#include "support/sealed.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

TEST_F(Directory, AFinishedRunIsMeasuredAgainOnlyWhereSomethingChanged) {
    make_tree("dir", 50);
    const Names words{"dir", "--write", "stats,histogram", "--engine", "cpu", "--group-by", "dir"};
    const auto again = [&](Names more = {}, const std::string& output = "gpuhist-out") {
        more.insert(more.begin(), words.begin(), words.end());
        more.insert(more.end(), {"-o", output});
        return run(more);
    };
    const auto file = [&] {
        struct stat status {};
        stat(at("gpuhist-out/stats.csv").c_str(), &status);
        return std::array{static_cast<long>(status.st_ino), static_cast<long>(status.st_mtim.tv_sec),
                          static_cast<long>(status.st_mtim.tv_nsec)};
    };
    const Outcome first = again();
    ASSERT_EQ(first.code, inputs_failed) << first.err;
    const auto whole = contents("gpuhist-out");
    const auto expect_finished = [&](const std::string& what, const Names& more = {"--resume"}) {
        SCOPED_TRACE(what);
        const auto before = file();
        const Outcome outcome = again(more);
        EXPECT_EQ(outcome.code, inputs_failed);
        EXPECT_EQ(outcome.err, "gpuhist: --resume: gpuhist-out is finished: no input has changed\n");
        EXPECT_EQ(outcome.out, "");
        EXPECT_EQ(file(), before);
        EXPECT_EQ(read_text(at("gpuhist-out/stats.csv")), whole.at("stats.csv"));
    };
    const auto expect_measured = [&](const std::string& what, const std::string& why,
                                     const Names& more = {"--resume"}) {
        SCOPED_TRACE(what);
        const auto before = file();
        const Outcome outcome = again(more);
        EXPECT_EQ(outcome.code, inputs_failed);
        EXPECT_TRUE(contains(outcome.err, why)) << outcome.err;
        EXPECT_NE(file(), before);
        fs::remove_all(at("fresh"));
        EXPECT_EQ(again({}, "fresh").code, inputs_failed);
        for (const std::string& name : files_below("fresh"))  // beside files of former inputs
            EXPECT_EQ(read_text(at("gpuhist-out") / name), read_text(at("fresh") / name)) << name;
    };
    expect_finished("nothing");
    expect_finished("what results do not depend on", {"--resume", "--threads", "1", "--memory", "1M"});

    const std::string changed =
        "gpuhist: --resume: inputs have changed since the finished run in gpuhist-out: "
        "everything is measured again\n";
    save_gray("dir/one.png", 9);
    expect_measured("one more", changed);
    save_gray("dir/one.png", 7);
    expect_measured("other contents", changed);
    fs::permissions(at("dir/one.png"), fs::perms::owner_read);
    expect_measured("another ctime", changed);
    fs::rename(at("dir/one.png"), at("dir/two.png"));
    expect_measured("another name", changed);
    fs::remove(at("dir/two.png"));
    expect_measured("one less", changed);
    expect_finished("as it was");

    const std::string nothing = "holds a finished run, which is measured again: --resume has nothing to continue";
    fs::remove(at("gpuhist-out/" + files_below("gpuhist-out")[3]));
    expect_measured("a file is gone", nothing);
    expect_finished("which is there again");
    write_text(at("gpuhist-out/stats.csv"), "");
    fs::remove(at("gpuhist-out/stats.csv"));
    EXPECT_EQ(again({"--resume"}).code, inputs_failed);
    expect_finished("after all rows were gone");

    ASSERT_EQ(again({"-q", "--bins", "7"}).code, inputs_failed);
    EXPECT_TRUE(contains(again({"--resume"}).err, nothing));
    expect_finished("after other options");
    const Outcome rows = again({"--resume", "--format", "csv"});
    EXPECT_EQ(rows.out, whole.at("stats.csv"));
    EXPECT_TRUE(contains(rows.err, nothing)) << rows.err;
}

TEST_F(Directory, AFinishedPartIsNotMeasuredAgain) {
    make_tree("dir", 40);
    const auto part = [&](const char* which, const Names& more = {}) {
        Names words{"dir", "--engine", "cpu", "-o", "parts", "--shard", which};
        words.insert(words.end(), more.begin(), more.end());
        return run(words);
    };
    const std::string finished = "gpuhist: --resume: parts is finished: no input has changed\n";
    for (const char* which : {"1/2", "2/2"}) EXPECT_NE(part(which, {"--resume"}).err, finished);
    for (const char* which : {"1/2", "2/2"}) EXPECT_EQ(part(which, {"--resume"}).err, finished);
    EXPECT_NE(part("1/2").err, finished);  // without --resume: measured again
    for (const char* which : {"1/2", "2/2"}) EXPECT_EQ(part(which, {"--resume"}).err, finished);
    for (int time = 0; time < 2; ++time) EXPECT_LE(run({"merge", "parts", "-q", "-o", "parts"}).code, inputs_failed);
    for (const char* which : {"1/2", "2/2"}) EXPECT_EQ(part(which, {"--resume"}).err, finished);
}

TEST_F(Directory, InterruptedSaysHowToResume) {
    make_tree("dir", 1500);
    Setting setting;
    setting.signal = SIGTERM;
    setting.after_file = "gpuhist-out/stats.csv.partial";
    const Outcome outcome = run({"dir", "--write", "stats", "-q"}, setting);
    ASSERT_EQ(outcome.code, was_interrupted) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "interrupted: ") && contains(outcome.err, "--resume continues")) << outcome.err;
    EXPECT_FALSE(fs::exists(at("gpuhist-out/stats.csv")));
    EXPECT_TRUE(fs::exists(at("gpuhist-out/gpuhist.journal")));

    const Outcome other = run({"dir", "--write", "stats", "-q", "--resume", "--max-pixels", "1000000"});
    EXPECT_EQ(other.code, usage_error);
    EXPECT_TRUE(contains(other.err, "differs in --max-pixels")) << other.err;
    const Outcome columns = run({"dir", "--write", "stats", "-q", "--resume", "--percentile-columns", "1,50"});
    EXPECT_EQ(columns.code, usage_error);
    EXPECT_TRUE(contains(columns.err, "differs in --percentile-columns")) << columns.err;
    fs::rename(at("dir"), at("moved"));
    make_tree("dir", 30, 2);
    const Outcome fewer = run({"dir", "--write", "stats", "-q", "--resume"});
    EXPECT_EQ(fewer.code, usage_error) << fewer.err;
    EXPECT_TRUE(contains(fewer.err, "the inputs are not those") || contains(fewer.err, "fewer inputs")) << fewer.err;
    fs::remove_all(at("dir"));
    fs::rename(at("moved"), at("dir"));
    EXPECT_EQ(run({"dir", "--write", "stats", "-q", "--resume"}).code, inputs_failed);
    EXPECT_EQ(run({"dir", "--write", "stats", "-q", "-o", "whole"}).code, inputs_failed);
    expect_same_files("gpuhist-out", "whole");
}

TEST_F(Directory, ATerminalShowsHowFarItHasCome) {
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0) GTEST_SKIP() << "this system has no pseudo-terminals: /dev/pts is not mounted";
    close(master);
    save("dir/0.png", make_image(1500, 1000, CV_8UC3));
    for (int i = 1; i < 24; ++i) fs::create_hard_link(at("dir/0.png"), at("dir/" + std::to_string(i) + ".png"));
    Setting setting;
    setting.watched = true;
    const Outcome outcome = run({"dir", "--format", "csv", "--threads", "1"}, setting);
    EXPECT_EQ(outcome.code, all_done);
    for (const char* part : {"/24  ", " images/s, ", " MP/s", " left\r\033[K", "\033[Kgpuhist: 24 inputs, 0 errors, "})
        EXPECT_TRUE(contains(outcome.err, part)) << part << "\n" << outcome.err;
    EXPECT_FALSE(contains(outcome.out, "left"));
    for (int i = 24; i < 72; ++i) fs::create_hard_link(at("dir/0.png"), at("dir/" + std::to_string(i) + ".png"));
    const Outcome shard = run({"dir", "--threads", "1", "--shard", "2/3"}, setting);
    for (const char* part : {"/24  ", "\033[Kgpuhist: 24 inputs, 0 errors, "})
        EXPECT_TRUE(contains(shard.err, part)) << part << "\n" << shard.err;
    const Outcome quiet = run({"dir", "--format", "csv", "-q"}, setting), file = run({"dir", "--format", "csv"});
    EXPECT_EQ(quiet.err, "");
    EXPECT_EQ(std::count(file.err.begin(), file.err.end(), '\n'), 1) << file.err;
    EXPECT_FALSE(contains(file.err, "left"));
}

TEST_F(Directory, AListThatNeverEndsDoesNotKeepItFromEnding) {
    const fs::path pipe_path = at("pipe");
    require(mkfifo(pipe_path.c_str(), 0600) == 0, "mkfifo");
    save_gray("a.png");
    const pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        const std::string program = from_environment("GPUHIST_PROGRAM");
        if (chdir(directory_.c_str()) != 0) _exit(126);
        execl(program.c_str(), program.c_str(), "--files-from", "pipe", "-q", nullptr);
        _exit(127);
    }
    const int list = open(pipe_path.c_str(), O_WRONLY);  // waits for the reader
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(child, SIGINT);
    int status = 0;
    require(waitpid(child, &status, 0) == child, "waitpid");
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == was_interrupted);
    close(list);
}

TEST_F(Directory, ANewRunReplacesAnInterruptedOneAndSaysSo) {
    fs::create_directory(at("gpuhist-out"));
    write_text(at("gpuhist-out/gpuhist.journal"), "no journal");
    write_text(at("gpuhist-out/stats.csv.partial"), "old");
    write_text(at("gpuhist-out/gpuhist.written.partial"),
               gpuhist::test::list_of_a_run({"gpuhist.journal", "stats.csv.partial"}));
    save_gray("dir/a.png");
    save_gray("dir/b.png");
    EXPECT_EQ(run({"dir", "--resume"}).code, output_failed);
    const Outcome outcome = run({"dir"});
    EXPECT_EQ(outcome.code, all_done);
    EXPECT_TRUE(contains(outcome.err, "the interrupted run there is replaced")) << outcome.err;
    EXPECT_EQ(files_below("gpuhist-out"), (Names{"dataset.csv", "dataset.histogram.png", "dataset.json", "stats.csv"}));
}

/// A file system of that size, as long as this lives.
class SmallDisk {
  public:
    SmallDisk(const fs::path& path, const std::string& size) : path_(path) {
        fs::create_directories(path);
        mounted_ = mount("tmpfs", path.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
    }
    ~SmallDisk() {
        if (mounted_) umount(path_.c_str());
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    bool mounted() const { return mounted_; }
    void grow(const std::string& size) const {
        require(mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str()) == 0, "remount");
    }

  private:
    fs::path path_;
    bool mounted_ = false;
};

TEST_F(Directory, AFullDiskIsAnErrorThatCanBeResumed) {
    make_tree("dir", 300);
    for (const char* writes : {"stats", "stats,histogram"}) {
        const SmallDisk disk(at("disk"), std::string(writes) == "stats" ? "120k" : "600k");
        if (!disk.mounted()) GTEST_SKIP() << "no file system may be mounted here";
        const Outcome full = run({"dir", "-q", "--write", writes, "-o", "disk/out", "--checkpoint", "0.01"});
        EXPECT_EQ(full.code, output_failed) << full.err;
        EXPECT_TRUE(contains(full.err, "No space left")) << full.err;
        EXPECT_FALSE(fs::exists(at("disk/out/stats.csv")));
        disk.grow("64m");
        EXPECT_EQ(run({"dir", "-q", "--write", writes, "-o", "disk/out", "--resume"}).code, inputs_failed);
        EXPECT_EQ(run({"dir", "-q", "--write", writes, "-o", "whole"}).code, inputs_failed);
        expect_same_files("disk/out", "whole");
    }
}

TEST_F(Directory, ADiskThatIsFullOfValuesIsAnErrorThatCanBeResumed) {
    save_floats("dir", 9, CV_32FC3);
    const SmallDisk disk(at("disk"), "900k");
    if (!disk.mounted()) GTEST_SKIP() << "no file system may be mounted here";
    const Names words{"dir", "-q", "--write", "stats", "-o", "disk/out", "--checkpoint", "0.01"};
    const Outcome full = run(words);
    EXPECT_EQ(full.code, output_failed) << full.err;
    EXPECT_TRUE(contains(full.err, "No space left")) << full.err;  // of the values, mostly, else of the journal
    EXPECT_FALSE(fs::exists(at("disk/out/stats.csv")));
    disk.grow("64m");
    auto again = words;
    again.push_back("--resume");
    EXPECT_EQ(run(again).code, all_done);
    EXPECT_EQ(run({"dir", "-q", "--write", "stats", "-o", "whole"}).code, all_done);
    expect_same_files("disk/out", "whole");
}

TEST_F(Directory, ValuesThatAreNoMoreThereCannotBeResumed) {
    save_floats("dir", 60, CV_32FC3);
    Names words{"dir", "-q", "--write", "stats", "-o", "out", "--checkpoint", "0.001", "--threads", "1"};
    const Outcome whole = run(words);
    const auto expected = contents("out");
    bool speaks_of_values = false;
    for (int attempt = 1; !speaks_of_values && attempt < 20; ++attempt) {  // a busy machine kills early or late
        fs::remove_all(at("out"));
        Setting setting;
        setting.signal = SIGKILL;
        setting.after_seconds = whole.seconds * attempt / 20;
        run(words, setting);
        speaks_of_values =
            fs::exists(at("out/gpuhist.journal")) && contains(read_text(at("out/gpuhist.journal")), R"("runs":[[)");
    }
    ASSERT_TRUE(speaks_of_values);
    fs::remove(at("out/gpuhist.values.partial"));
    auto again = words;
    again.push_back("--resume");
    const Outcome outcome = run(again);
    EXPECT_EQ(outcome.code, output_failed);
    EXPECT_TRUE(contains(outcome.err, "out/gpuhist.values.partial: differs from the checkpoint")) << outcome.err;
    EXPECT_EQ(run(words).code, all_done);
    EXPECT_TRUE(contents("out") == expected);
}

TEST_F(Directory, ASetOfFloatsThatIsOnlyShownNeedsNoOutput) {
    save_floats("dir", 6, CV_32FC3);
    const Outcome shown = run({"dir", "--write", "none"});
    ASSERT_EQ(shown.code, all_done) << shown.err;
    EXPECT_FALSE(fs::exists(at("gpuhist-out")));
    const Outcome written = run({"dir", "--write", "stats"});
    EXPECT_EQ(written.out.substr(0, written.out.find("wrote")), shown.out);
}

}  // namespace
