// Inputs that are no files, or never end, and lists and directories as they are found: nothing hangs, nothing vanishes.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <sys/stat.h>

#include "support/directory.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

class Inputs : public Directory {
  protected:
    void make_pipe(const std::string& name) const {
        fs::create_directories(at(name).parent_path());
        require(mkfifo(at(name).c_str(), 0600) == 0, "mkfifo");
    }

    /// Writes into a pipe from a thread until the text ends or nobody reads.
    static std::thread writer(const fs::path& pipe, const std::string& text, bool for_ever = false) {
        return std::thread([=] {
            const int file = open(pipe.c_str(), O_WRONLY);
            sigset_t broken;
            sigemptyset(&broken);
            sigaddset(&broken, SIGPIPE);
            pthread_sigmask(SIG_BLOCK, &broken, nullptr);
            do {
                std::size_t written = 0;
                for (ssize_t got = 0; written < text.size(); written += static_cast<std::size_t>(got)) {
                    got = ::write(file, text.data() + written, text.size() - written);
                    if (got < 0) break;
                }
                if (written < text.size()) break;
            } while (for_ever);
            close(file);
        });
    }

    void save_text(const std::string& name, const std::string& text) const {
        fs::create_directories(at(name).parent_path());
        write_text(at(name), text);
    }

    Names lines(const std::string& text, char end = '\n') const {
        Names all;
        std::istringstream stream(text);
        for (std::string line; std::getline(stream, line, end);) all.push_back(line);
        return all;
    }
};

// -------------------------------------------------------------------------------- what is no file, or never ends

TEST_F(Inputs, APipeThatBringsNothingEndsWithASignal) {
    make_pipe("pipe");
    save_gray("a.png");
    save_gray("z.png");
    // The writer is there, and silent; then there is none.
    for (const bool silent : {true, false}) {
        const int held = silent ? open(at("pipe").c_str(), O_RDWR) : -1;
        Setting setting;
        setting.signal = SIGTERM;
        setting.after_file = "gpuhist-out/stats.csv.partial";  // of a.png, before the pipe
        const Outcome outcome = run({"a.png", "pipe", "z.png", "-q", "--threads", "1"}, setting);
        EXPECT_EQ(outcome.code, was_interrupted) << outcome.err;
        EXPECT_TRUE(contains(outcome.err, "interrupted: 1 input")) << outcome.err;
        EXPECT_FALSE(contains(outcome.err, "pipe")) << outcome.err;
        if (silent) close(held);
        fs::remove_all(at("gpuhist-out"));
    }
}

TEST_F(Inputs, APipeThatIsNamedIsMeasured) {
    save("a.png", make_image(200, 150, CV_8UC3));
    for (const Names& words : {Names{"pipe"}, Names{"a.png", "pipe"}}) {
        fs::remove(at("pipe"));
        make_pipe("pipe");
        std::thread there = writer(at("pipe"), read_text(at("a.png")));
        auto arguments = words;
        arguments.insert(arguments.end(), {"--format", "csv", "-q", "--write", "none"});
        const Outcome outcome = run(arguments);
        there.join();
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        EXPECT_EQ(paths(outcome.out, "red").back(), "pipe");
    }
}

TEST_F(Inputs, APipeThatNobodyWritesToIsNamed) {
    save_gray("a.png");
    save_gray("b.png");
    save_gray("dir/a.png");
    save_gray("dir/b.png");
    make_pipe("pipe");
    const std::string said = "gpuhist: pipe: waiting for a program to write to this pipe\n";
    for (const Names& words : {Names{"a.png", "--mask", "pipe"}, Names{"a.png", "--labels", "pipe"},
                               Names{"a.png", "--lut-in", "pipe"}, Names{"--files-from", "pipe"}, Names{"pipe"},
                               Names{"dir", "--mask", "pipe"}, Names{"manifest", "-o", "m", "--files-from", "pipe"}})
        for (const bool quiet : {false, true}) {
            if (quiet && words.front() == "manifest") continue;
            Setting setting;
            setting.signal = SIGTERM;
            setting.after_seconds = quiet ? 2.5 : 3;
            auto with = words;
            if (quiet) with.emplace_back("-q");
            const Outcome outcome = run(with, setting);
            EXPECT_TRUE(outcome.code == was_interrupted || outcome.code == -SIGTERM) << words.front() << outcome.code;
            EXPECT_EQ(contains(outcome.err, said), !quiet) << words.front() << words.back() << outcome.err;
            fs::remove_all(at("gpuhist-out"));
        }
    // One that is open and silent is no riddle, and one that comes late is read.
    std::thread late([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5000));  // a busy machine starts programs late
        const int file = open(at("pipe").c_str(), O_WRONLY);
        std::this_thread::sleep_for(std::chrono::milliseconds(2500));
        const std::string text = read_text(at("b.png"));
        EXPECT_EQ(::write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
        close(file);
    });
    const Outcome outcome = run({"a.png", "--mask", "pipe", "--write", "none"});
    late.join();
    EXPECT_EQ(outcome.code, all_done) << outcome.err;
    EXPECT_EQ(outcome.err, said);
}

TEST_F(Inputs, PipesStopAtALimit) {
    const std::string noise(300000, '\x7f'), pixels = "P5\n600 500\n255\n" + noise;
    for (const std::string memory : {"400K", "200K"}) {
        const bool fits = memory == "400K";
        make_pipe("pipe" + memory);
        std::thread there = writer(at("pipe" + memory), pixels);
        const Outcome outcome = run({"pipe" + memory, "-q", "--memory", memory});
        there.join();
        EXPECT_EQ(outcome.code, fits ? all_done : inputs_failed) << outcome.err;
        EXPECT_EQ(
            outcome.err,
            fits ? "" : "gpuhist: pipe200K: more than the 204800 bytes that are read of standard input or a pipe\n");
    }
    make_pipe("endless");
    std::thread there = writer(at("endless"), "P5\n9 9\n255\n" + noise, true);
    const Outcome endless = run({"endless", "-q", "--memory", "1M"});
    there.join();
    EXPECT_TRUE(contains(endless.err, "more than the 1048576 bytes")) << endless.err;
    Setting zeros;
    zeros.input = "/dev/zero";
    const Outcome outcome = run({"-", "-q"}, zeros);
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_EQ(outcome.err,
              "gpuhist: -: not an image of a known format: the file begins with the bytes 00 00 00 00 00 00 00 00"
              "; --decoder opencv asks OpenCV\n");
}

TEST_F(Inputs, WhatIsReadTwiceIsNoPipe) {
    save_gray("a.png");
    make_pipe("pipe");
    const Names link{"--link", "dataset", "--write", "normalized"};
    for (const Names& inputs : {Names{"--files-from", "-"}, Names{"--files-from", "pipe"}, Names{"a.png", "-"}}) {
        Names words = link;
        words.insert(words.end(), inputs.begin(), inputs.end());
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, usage_error);
        EXPECT_TRUE(contains(outcome.err, "--link reads all inputs twice")) << outcome.err;
    }
    Names words = link;
    words.insert(words.end(), {"a.png", "pipe"});
    EXPECT_TRUE(contains(run(words).err, "gpuhist: pipe: a pipe, not a file\n"));
}

TEST_F(Inputs, DevicesAreNoFiles) {
    save_gray("a.png");
    fs::create_symlink("/dev/zero", at("zero.png"));
    fs::create_directories(at("dir"));
    const Outcome outcome = run({"/dev/zero", "zero.png", "dir", "/dev/tty", "a.png"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_TRUE(contains(outcome.err, "gpuhist: /dev/zero: a device, not a file\n")) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "gpuhist: zero.png: a device, not a file\n")) << outcome.err;
    EXPECT_EQ(paths(read_text(at("gpuhist-out/stats.csv"))), Names{"a.png"});
    const Outcome list = run({"--files-from", "/dev/zero", "-q"});
    EXPECT_EQ(list.code, inputs_failed);
    EXPECT_TRUE(contains(list.err, "/dev/zero: a line has more than 1048576 bytes")) << list.err;
    for (const char* end : {"0", "n"}) {
        const bool zeros = *end == '0';
        if (!zeros) write_text(at("lines"), std::string(2 << 20, '\n'));
        const Outcome empty =
            zeros ? run({"--files-from", "/dev/zero", "-0", "-q"}) : run({"--files-from", "lines", "-q"});
        EXPECT_EQ(empty.code, inputs_failed);
        EXPECT_TRUE(
            contains(empty.err, zeros ? "/dev/zero: more than 1048576 zero bytes in a row: this is not a list of paths"
                                      : "lines: more than 1048576 empty lines in a row: this is not a list of paths"))
            << empty.err;
    }
    const Outcome lines = run({"manifest", "-o", "m", "--lines", "/dev/zero"});
    EXPECT_TRUE(contains(lines.err, "/dev/zero: a line has more than 1048576 bytes")) << lines.err;
    make_pipe("parts/part-1-of-1.json");
    const Outcome parts = run({"merge", "parts"});
    EXPECT_EQ(parts.code, data_refused);
    EXPECT_TRUE(contains(parts.err, "parts/part-1-of-1.json: a pipe, not a file")) << parts.err;
}

TEST_F(Inputs, AFileThatNoMemoryHoldsIsRefused) {
    save_gray("a.png");
    save_gray("b.bmp");
    std::error_code failed;
    for (const char* name : {"a.png", "b.bmp"}) fs::resize_file(at(name), std::uint64_t{1} << 43, failed);
    if (failed) GTEST_SKIP() << "the file system has no such large files";
    const Outcome outcome = run({"a.png", "b.bmp"});  // of the first one no more is held than it takes
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_TRUE(
        contains(outcome.err, "gpuhist: b.bmp: its 8796093022208 bytes are more than the memory of this machine\n"))
        << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "2 inputs, 1 error (1 memory)")) << outcome.err;
    EXPECT_LT(outcome.most_memory, std::int64_t{1} << 30);
}

TEST_F(Inputs, ALookupTableMayComeThroughAPipe) {
    save_gray("dir/a.png", 1);
    save_gray("dir/b.png", 7);
    const Names words{"dir", "-q", "--write", "stats,normalized"};
    const auto normalize = [&](const Names& more) {
        Names all = words;
        all.insert(all.end(), more.begin(), more.end());
        return run(all);
    };
    ASSERT_EQ(normalize({"--lut-out", "table.csv", "--link", "dataset", "-o", "whole"}).code, all_done);
    make_pipe("pipe");
    std::thread there = writer(at("pipe"), read_text(at("table.csv")));
    const Outcome outcome = normalize({"--lut-in", "pipe", "-o", "piped"});
    there.join();
    EXPECT_EQ(outcome.code, all_done) << outcome.err;
    expect_same_files("piped", "whole");
}

// ------------------------------------------------------------------------------------------------------- lists

TEST_F(Inputs, ListsOfOtherSystemsAreRead) {
    for (const char* name : {"a.png", "b.png", "c\r"}) save_gray(name == std::string("c\r") ? "c.png" : name);
    fs::rename(at("c.png"), at("c\r"));
    write_text(at("list"),
               "\xEF\xBB\xBF"
               "a.png\r\n\r\nb.png\r\n");
    EXPECT_EQ(measured({"--files-from", "list"}), (Names{"a.png", "b.png"}));
    write_text(at("zeros"), std::string("a.png\0c\r\0", 9));
    const Outcome zeros = run({"--files-from", "zeros", "-0", "-q"});
    EXPECT_EQ(zeros.code, all_done) << zeros.err;
    write_text(at("wide"), std::string("\xFF\xFE"
                                       "a\0.\0p\0n\0g\0\n\0",
                                       14));
    const Outcome wide = run({"--files-from", "wide", "-q"});
    EXPECT_EQ(wide.err, "gpuhist: wide: the list is in UTF-16: save it as UTF-8\n");
}

TEST_F(Inputs, AnEmptyListIsAnErrorAndAnEmptyShardIsNone) {
    save_gray("a.png");
    fs::create_directory(at("dir"));
    write_text(at("empty"), "");
    write_text(at("blank"), "\xEF\xBB\xBF\r\n\n");
    for (const Names& words : {Names{"--files-from", "empty"}, Names{"--files-from", "blank"},
                               Names{"--files-from", "empty", "-0"}, Names{"--files-from", "-"}, Names{"dir"}}) {
        auto arguments = words;
        arguments.push_back("-q");
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.code, inputs_failed);
        EXPECT_TRUE(contains(outcome.err, words[0] == "dir" ? "the directory has no images" : "the list is empty"))
            << outcome.err;
        EXPECT_EQ(files_below("gpuhist-out"), Names{"errors.csv"});
    }
    const Outcome shard = run({"a.png", "--shard", "2/2", "-q", "-o", "parts"});
    EXPECT_EQ(shard.code, all_done) << shard.err;
}

TEST_F(Inputs, AListFromAPipeIsReadOnce) {
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0) GTEST_SKIP() << "this system has no pseudo-terminals: /dev/pts is not mounted";
    close(master);
    save_gray("a.png");
    make_pipe("list");
    std::string name = "a.png", list;  // more than a pipe holds, so that its writer is there for long
    for (int i = 0; i < 100; ++i) name.insert(0, "./");
    for (int i = 0; i < 2000; ++i) list += name + "\n";
    std::thread there = writer(at("list"), list);
    Setting setting;
    setting.watched = true;  // the inputs are counted for the time left
    const Outcome outcome = run({"--files-from", "list", "--write", "none", "--format", "csv"}, setting);
    there.join();
    EXPECT_EQ(paths(outcome.out).size(), 2000U);
}

TEST_F(Inputs, WhereNothingIsMeasuredOnlyErrorsAreWritten) {
    for (const char* name : {"dir/a.png", "dir/b.png", "dir/sub/c.png"}) save_text(name, "no image");
    write_text(at("list"), "dir/a.png\ndir/none.png\n");
    for (const Names& inputs : {Names{"dir"}, Names{"--files-from", "list"}, Names{"dir/a.png", "dir/b.png"}})
        for (const Names& more :
             {Names{}, Names{"--group-by", "dir"}, Names{"--link", "dataset", "--write", "stats,normalized"},
              Names{"--lut-out", "table.csv"}, Names{"--format", "json"}}) {
            Names words = inputs;
            words.insert(words.end(), more.begin(), more.end());
            words.push_back("-q");
            EXPECT_EQ(run(words).code, inputs_failed);
            EXPECT_EQ(files_below("gpuhist-out"), Names{"errors.csv"}) << (more.empty() ? "" : more[0]);
            EXPECT_FALSE(fs::exists(at("table.csv")));
            fs::remove_all(at("gpuhist-out"));
        }
    for (const char* part : {"1/2", "2/2"}) run({"dir", "--shard", part, "-q", "-o", "parts"});
    EXPECT_EQ(run({"merge", "-q", "parts"}).code, inputs_failed);
    EXPECT_EQ(files_below("gpuhist-out"), Names{"errors.csv"});
}

// ------------------------------------------------------------------------------------------------- directories

TEST_F(Inputs, WhatIsLeftOutOfADirectoryIsSaid) {
    for (const char* name : {"dir/a.png", "dir/sub/b.png"}) save_gray(name);
    for (const char* name :
         {"dir/1.txt", "dir/2.TXT", "dir/sub/3.txt", "dir/x.dat", "dir/README", "dir/.hidden", "dir/skip/1.bin"})
        save_text(name, "text");
    make_pipe("dir/pipe.png");
    fs::create_symlink("nowhere", at("dir/gone.png"));
    fs::create_directory_symlink("sub", at("dir/link"));
    const std::string expected =
        "; left out: 3 .txt, 1 .dat, 1 other file, 1 pipe, socket or device, 1 broken link, 1 link to a directory\n";
    for (const Names& inputs : {Names{"dir"}, Names{"dir", "dir/sub"}, Names{"dir/sub", "dir"}}) {
        Names words = inputs;
        words.insert(words.end(), {"--exclude", "skip", "--write", "none"});
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        EXPECT_TRUE(contains(outcome.err, expected)) << outcome.err;
    }
    save_text("other/x.dat", "text");
    const Outcome none = run({"other", "-q"});
    EXPECT_EQ(none.err, "gpuhist: other: the directory has no images, but 1 .dat; --include GLOB takes other files\n");
}

TEST_F(Inputs, AnIncludedNameNeedsNoExtension) {
    save_gray("dir/a.png");
    save_gray("dir/b.png");
    fs::rename(at("dir/b.png"), at("dir/b.dat"));
    write_text(at("dir/c.txt"), "text");
    EXPECT_EQ(measured({"dir", "--include", "*.dat"}), (Names{"dir/b.dat"}));
    EXPECT_EQ(measured({"dir", "--include", "*.dat", "--include", "*.png"}), (Names{"dir/a.png", "dir/b.dat"}));
    const Outcome text = run({"dir", "--include", "*.txt"});
    EXPECT_TRUE(contains(text.err, "dir/c.txt: not an image: the file begins with text")) << text.err;
    EXPECT_FALSE(contains(text.err, "left out")) << text.err;
}

TEST_F(Inputs, LinksToDirectoriesAreFollowedWhereAsked) {
    for (const char* name : {"dir/a/x.png", "dir/b.png", "elsewhere/y.png", "elsewhere/deep/z.png"}) save_gray(name);
    fs::create_directory_symlink("../../elsewhere", at("dir/a/link"));
    fs::create_directory_symlink("..", at("dir/a/up"));
    fs::create_directory_symlink("../dir/a", at("elsewhere/back"));
    fs::create_directory_symlink(".", at("elsewhere/deep/self"));
    EXPECT_EQ(measured({"dir"}), (Names{"dir/a/x.png", "dir/b.png"}));
    const Names all{"dir/a/link/deep/z.png", "dir/a/link/y.png", "dir/a/x.png", "dir/b.png"};
    EXPECT_EQ(measured({"dir", "--follow-links"}), all);
    EXPECT_EQ(measured({"dir", "--follow-links", "elsewhere", "dir"}), all);
    EXPECT_EQ(measured({"elsewhere/y.png", "dir", "--follow-links"}),
              (Names{"elsewhere/y.png", "dir/a/link/deep/z.png", "dir/a/x.png", "dir/b.png"}));
    const Outcome outcome = run({"dir", "--follow-links", "-o", "elsewhere/out", "--write", "stats,normalized"});
    EXPECT_TRUE(contains(outcome.err, "; left out: 3 directories that links had led to\n")) << outcome.err;
    run({"dir", "--follow-links", "-o", "elsewhere/out", "--write", "stats"});
    EXPECT_EQ(paths(read_text(at("elsewhere/out/stats.csv"))), all);
}

// ----------------------------------------------------------------------------------------------------- dry runs

TEST_F(Inputs, ADryRunListsThemAndWritesNothing) {
    for (const char* name : {"dir/a.png", "dir/b/c.png", "dir/b/d.png", "z.png"}) save_gray(name);
    write_text(at("dir/notes.txt"), "text");
    write_text(at("dir/broken.png"), "no image");
    const Outcome outcome = run({"dir", "z.png", "dir/b", "./z.png", "--dry-run"});
    EXPECT_EQ(outcome.code, all_done);
    EXPECT_EQ(lines(outcome.out), (Names{"dir/a.png", "dir/b/c.png", "dir/b/d.png", "dir/broken.png", "z.png"}));
    EXPECT_EQ(outcome.err,
              "gpuhist: dir/b: 2 of its 2 images given more than once, measured once\n"
              "gpuhist: ./z.png: given more than once, measured once\n"
              "gpuhist: 5 inputs, not measured; left out: 1 .txt\n");
    const Outcome zeros = run({"dir", "--dry-run", "-0", "-q", "--shard", "2/2"});
    EXPECT_EQ(lines(zeros.out, '\0'), (Names{"dir/b/c.png", "dir/broken.png"}));
    EXPECT_EQ(zeros.err, "");
    write_text(at("list"), "z.png\nmissing.png\n");
    EXPECT_EQ(run({"--files-from", "list", "--dry-run", "-q"}).out, "z.png\nmissing.png\n");
    fs::create_directory(at("empty"));
    const Outcome empty = run({"empty", "z.png", "--dry-run", "-q"});
    EXPECT_EQ(empty.code, inputs_failed);
    EXPECT_EQ(empty.out, "z.png\n");
    EXPECT_EQ(empty.err, "gpuhist: empty: the directory has no images\n");
    EXPECT_EQ(run({"dir", "--dry-run", "--resume"}).code, usage_error);
    EXPECT_EQ(run({"dir", "--dry-run"}, {Out::full_device}).code, output_failed);
    EXPECT_FALSE(fs::exists(at("gpuhist-out")));
}

}  // namespace
