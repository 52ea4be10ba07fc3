// What gpuhist replaces and removes in an output directory: its own files alone. And what is on disk, in which order.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <random>
#include <regex>
#include <thread>

#include "support/directory.hpp"
#include "support/repetitions.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

const Names set_names{
    "stats.csv", "errors.csv", "dataset.csv", "dataset.json", "dataset.histogram.png", "dataset.u16.histogram.png"};

class OutputDirectory : public Directory {
  protected:
    /// Makes three images of a directory.
    void save_three(const std::string& directory = "dir") const {
        for (int i = 0; i < 3; ++i) save(directory + "/" + std::to_string(i) + ".png", picture(i));
    }
    /// Writes a text into a file of a directory, which is made.
    void put(const std::string& name, const std::string& text) const {
        fs::create_directories(at(name).parent_path());
        write_text(at(name), text);
    }
    static cv::Mat picture(int seed) {
        cv::Mat image = make_image(20 + seed, 11, CV_8UC1);
        image += seed;
        return image;
    }
    /// Standard input of a run that holds that text.
    Setting reads(const std::string& text) const {
        write_text(root_ / "input", text);
        Setting setting;
        setting.input = root_ / "input";
        return setting;
    }
    void expect_code(int code, const Outcome& outcome) const { EXPECT_EQ(outcome.code, code) << outcome.err; }
    void expect_said(const Outcome& outcome, const std::string& text) const {
        EXPECT_TRUE(contains(outcome.err, text)) << outcome.err;
    }
};

// ------------------------------------------------------------------------------------------------- files of others

TEST_F(OutputDirectory, AListOverwritesNoneOfItsInputs) {
    save("a.png", picture(0));
    save("a.png.normalized.png", picture(9));
    const std::string before = read_text(at("a.png.normalized.png"));
    const Names words{"--files-from", "-", "-o", ".", "--write", "stats,normalized", "-q"};
    for (int round = 0; round < 2; ++round) {
        const Outcome outcome = run(words, reads("a.png\na.png.normalized.png\n"));
        expect_code(output_failed, outcome);
        expect_said(outcome, "a.png.normalized.png: not written");
        EXPECT_TRUE(read_text(at("a.png.normalized.png")) == before);
        EXPECT_EQ(paths(read_text(at("stats.csv"))), (Names{"a.png", "a.png.normalized.png"}));
        EXPECT_TRUE(contains(read_text(at("errors.csv")), "a.png,output,")) << read_text(at("errors.csv"));
        EXPECT_TRUE(fs::exists(at("a.png.normalized.png.normalized.png")));
    }
    auto force = words;
    force.emplace_back("--force");
    const Outcome outcome = run(force, reads("a.png\na.png.normalized.png\n"));
    expect_code(output_failed, outcome);
    expect_said(outcome, "a.png.normalized.png: not written: it is one of the inputs");
    EXPECT_TRUE(read_text(at("a.png.normalized.png")) == before);
}

TEST_F(OutputDirectory, ACopyThatAListNamesBehindItsImageIsAnInput) {
    save("a.png", picture(0));
    const Names words{"--files-from", "-", "-o", ".", "--write", "normalized", "-q"};
    expect_code(all_done, run(words, reads("a.png\n")));
    const std::string copy = read_text(at("a.png.normalized.png"));
    save("a.png", picture(5));
    const Outcome outcome = run(words, reads("a.png\n./a.png.normalized.png\n"));
    expect_code(output_failed, outcome);
    expect_said(outcome, "a.png.normalized.png: not written: it is one of the inputs");
    EXPECT_TRUE(read_text(at("a.png.normalized.png")) == copy);
    expect_code(all_done, run(words, reads("a.png\n")));
    EXPECT_FALSE(read_text(at("a.png.normalized.png")) == copy);
}

TEST_F(OutputDirectory, FilesOfOthersAreRefusedTogetherAndReplacedByForce) {
    save_three();
    for (const std::string& name : set_names) put("out/" + std::string(name), "mine");
    put("out/notes.txt", "mine, too");
    const auto before = contents("out");
    const Outcome refused = run({"dir", "-o", "out"});
    expect_code(output_failed, refused);
    for (const std::string& name : set_names) expect_said(refused, name);
    expect_said(refused, "name another --output, or add --force");
    EXPECT_TRUE(contents("out") == before);
    const Outcome forced = run({"dir", "-o", "out", "--force"});
    expect_code(all_done, forced);
    for (const std::string& name : set_names) expect_said(forced, name);
    EXPECT_EQ(files_below("out"),
              (Names{"dataset.csv", "dataset.histogram.png", "dataset.json", "notes.txt", "stats.csv"}));
    EXPECT_EQ(read_text(at("out/notes.txt")), "mine, too");
    const Outcome again = run({"dir", "-o", "out"});
    expect_code(all_done, again);
}

TEST_F(OutputDirectory, InputsNamedAsFilesOfTheSetAreRefusedEvenByForce) {
    save_three("pictures");
    fs::rename(at("pictures/1.png"), at("pictures/dataset.u8.histogram.png"));
    fs::rename(at("pictures/2.png"), at("pictures/dataset.histogram.png"));
    const auto before = contents("pictures");
    for (const char* force : {"", "--force"}) {
        Names words{"pictures", "-o", "pictures"};
        if (*force) words.emplace_back(force);
        const Outcome outcome = run(words);
        expect_code(output_failed, outcome);
        expect_said(outcome, "dataset.histogram.png");
        expect_said(outcome, "dataset.u8.histogram.png");
        EXPECT_TRUE(contents("pictures") == before);
    }
    // By whatever name.
    fs::create_directories(at("other"));
    fs::create_hard_link(at("pictures/0.png"), at("other/stats.csv"));
    const Outcome outcome = run({"pictures/0.png", "pictures/dataset.histogram.png", "-o", "other", "--force"});
    expect_code(output_failed, outcome);
    expect_said(outcome, "it would replace inputs: stats.csv");
    EXPECT_TRUE(contents("pictures") == before);
}

TEST_F(OutputDirectory, OfASingleImageTheNamesAreCheckedToo) {
    save("a.png", picture(0));
    expect_code(all_done, run({"a.png", "-q"}));
    expect_code(all_done, run({"a.png", "-q"}));
    EXPECT_EQ(files_below("gpuhist-out").size(), 4u);
    put("gpuhist-out/a.png.histogram.csv", "mine");
    const Outcome outcome = run({"a.png"});
    expect_code(output_failed, outcome);
    expect_said(outcome, "a.png.histogram.csv: not written: gpuhist did not write the file there");
    EXPECT_EQ(read_text(at("gpuhist-out/a.png.histogram.csv")), "mine");
    EXPECT_FALSE(contains(outcome.out, ".histogram.csv"));
    const Outcome forced = run({"a.png", "--force"});
    expect_code(all_done, forced);
    expect_said(forced, "a.png.histogram.csv: replaced by --force");
    EXPECT_NE(read_text(at("gpuhist-out/a.png.histogram.csv")), "mine");
    expect_code(all_done, run({"a.png", "-q"}));
    put("gpuhist-out/stats.csv", "mine");
    expect_code(output_failed, run({"a.png", "-q"}));
    EXPECT_EQ(read_text(at("gpuhist-out/stats.csv")), "mine");
}

TEST_F(OutputDirectory, OfAMergeTheNamesAreCheckedToo) {
    save_three();
    expect_code(all_done, run({"dir", "-q", "--shard", "1/1", "-o", "parts"}));
    put("out/errors.csv", "mine");
    put("out/stats.csv.partial", "an interrupted run's");
    const Outcome refused = run({"merge", "parts", "-o", "out"});
    expect_code(output_failed, refused);
    expect_said(refused, "errors.csv");
    EXPECT_EQ(files_below("out"), (Names{"errors.csv", "stats.csv.partial"}));
    expect_code(all_done, run({"merge", "parts", "-o", "out", "--force"}));
    EXPECT_EQ(read_text(at("out/stats.csv.partial")), "an interrupted run's");
    EXPECT_FALSE(fs::exists(at("out/errors.csv")));
    expect_code(all_done, run({"merge", "parts", "-o", "out"}));
    put("out/dataset.csv", "mine");
    expect_code(output_failed, run({"merge", "parts", "-o", "out"}));
}

TEST_F(OutputDirectory, TablesAreKeptInNoFileOfOthers) {
    save_three();
    put("tables.csv", "mine");
    const Names words{"dir", "-q", "-o", "out", "--write", "stats", "--lut-out"};
    const auto with = [&](const std::string& file, bool force = false) {
        auto all = words;
        all.push_back(file);
        if (force) all.emplace_back("--force");
        return run(all);
    };
    expect_said(with("tables.csv"), "tables.csv: not written: gpuhist did not write the file there");
    EXPECT_EQ(read_text(at("tables.csv")), "mine");
    EXPECT_FALSE(fs::exists(at("out")));
    const std::string input = read_text(at("dir/0.png"));
    expect_said(with("dir/0.png", true), "dir/0.png: not written: it is one of the inputs");
    EXPECT_TRUE(read_text(at("dir/0.png")) == input);
    expect_code(all_done, with("tables.csv", true));
    expect_code(all_done, with("tables.csv"));
}

TEST_F(OutputDirectory, WhoeverWritesFirstMakesTheDirectory) {
    // Rows of more than a buffer's, which is written before the image's end, and files of every kind.
    cv::Mat labels(120, 200, CV_16UC1);
    for (int i = 0; i < 24000; ++i) labels.at<std::uint16_t>(i / 200, i % 200) = static_cast<std::uint16_t>(i / 8 + 1);
    save("labels.png", labels);
    for (const char* name : {"dir/a.png", "dir/b.png"}) save(name, make_image(200, 120, CV_8UC1));
    const Names kinds{"stats", "histogram", "plot", "normalized"};
    int made = 0;
    for (unsigned set = 1; set < 16; ++set) {
        std::string write;
        for (unsigned kind = 0; kind < 4; ++kind)
            if (set >> kind & 1) write += (write.empty() ? "" : ",") + kinds[kind];
        const Names all{"-q", "--engine", "cpu", "--write", write};
        for (Names words : {Names{"dir/a.png"}, Names{"dir"}, Names{"dir/a.png", "--format", "json"},
                            Names{"dir", "--lut-out", "tables" + std::to_string(set) + "/below/t.csv"},
                            Names{"dir", "--shard", "1/1"}, Names{"dir/a.png", "--shard", "1/1"}}) {
            if (words.size() > 2 && words[1] == "--shard" && write != "stats") continue;
            if (made > 6 && gpuhist::test::left_out()) continue;
            const std::string output = "new" + std::to_string(made++) + "/below";
            words.insert(words.end(), all.begin(), all.end());
            words.insert(words.end(), {"-o", output});
            if (set % 2 == 1 || words[1] == "--format") words.insert(words.end(), {"--labels", "labels.png"});
            const Outcome outcome = run(words);
            EXPECT_EQ(outcome.err, "") << write;
            expect_code(all_done, outcome);
            EXPECT_GT(files_below(output).size(), 0u) << write;
            for (const std::string& name : files_below(output)) EXPECT_FALSE(contains(name, ".partial")) << name;
        }
    }
    ASSERT_EQ(run({"manifest", "-q", "dir", "-o", "lists/below/m.jsonl"}).code, all_done);
    ASSERT_EQ(run({"merge", "-q", "new4/below", "-o", "new99/below"}).code, all_done);
}

// -------------------------------------------------------------------------------------------------- gpuhist's files

TEST_F(OutputDirectory, ADirectoryThatIsInputAndOutputIsMeasuredTwiceTheSame) {
    save_three(".");
    save_three("sub");
    const Names words{".", "-o", ".", "--write", "stats,histogram,plot,normalized", "-q"};
    expect_code(all_done, run(words));
    const auto first = contents(".");
    EXPECT_EQ(files_below(".").size(), 6u * 4 + 4);
    EXPECT_EQ(paths(first.at("stats.csv")),
              (Names{"./0.png", "./1.png", "./2.png", "./sub/0.png", "./sub/1.png", "./sub/2.png"}));
    expect_code(all_done, run(words));
    EXPECT_TRUE(contents(".") == first);
    // Whatever else is done there, and from wherever.
    EXPECT_EQ(measured({"sub"}), (Names{"sub/0.png", "sub/1.png", "sub/2.png"}));
    EXPECT_EQ(measured({".", "0.png.normalized.png"}).size(), 7u);
    EXPECT_EQ(measured({"0.png.normalized.png"}).size(), 1u);
    // A listed file that has another length is the user's.
    save("0.png.normalized.png", make_image(100, 100, CV_8UC1));
    EXPECT_EQ(measured({"."}).size(), 7u);
    const Outcome outcome = run(words);
    expect_code(output_failed, outcome);
    expect_said(outcome, "./0.png.normalized.png: not written: it is one of the inputs");
}

TEST_F(OutputDirectory, TheListNamesAndMeasuresEveryFile) {
    save_three();
    put("dir/odd \\ \n\xff.png", read_text(at("dir/0.png")));
    expect_code(all_done, run({"dir", "-q", "--write", "stats,histogram", "-o", "out"}));
    const std::string list = read_text(at("out/.gpuhist"));
    std::string expected = "gpuhist files 1\n";
    for (std::string name : files_below("out")) {
        const std::string length = std::to_string(fs::file_size(at("out") / name));
        if (contains(name, "odd")) name = "odd \\5c \\0a\\ff.png.histogram.csv";
        expected += length + " " + name + "\n";
    }
    const auto without_runs = [](const std::string& all) { return all.substr(0, all.find("= ")); };
    EXPECT_EQ(without_runs(list), expected);
    EXPECT_TRUE(contains(list, "\n= gpuhist ")) << list;
    expect_code(all_done, run({"dir", "-q", "--write", "stats,histogram", "-o", "out"}));
    EXPECT_EQ(without_runs(read_text(at("out/.gpuhist"))), expected);
    const auto before = contents("out");
    for (const std::string& damaged : Names{"no list", list + "x", "gpuhist files 1\n3 ../a\n",
                                            "gpuhist files 1\n3 b\n3 a\n", "gpuhist files 1\n- stats.csv\n",
                                            "gpuhist files 1\n= gpuhist\n", "gpuhist files 1\n= gpuhist a\n3 b\n"}) {
        put("out/.gpuhist", damaged);
        const Outcome outcome = run({"dir", "-q", "-o", "out"});
        expect_code(output_failed, outcome);
        expect_said(outcome, "out/.gpuhist: line ");
        EXPECT_EQ(read_text(at("out/stats.csv")), before.at("stats.csv"));
    }
}

TEST_F(OutputDirectory, ResultsOfVersion010AreAdopted) {
    save_three();
    put("out/stats.csv",
        "path,width,height,depth,channel,pixels,nan,inf,min,max,mean,std,std_sample,skewness,kurtosis,entropy,p01,"
        "p05,p25,median,p75,p95,p99,clipped_low,clipped_high,unique,effective_bits\nold,1\n");
    for (const char* name : {"errors.csv", "dataset.csv", "dataset.u16.histogram.png"})
        put("out/" + std::string(name), "old");
    put("out/0.png.histogram.csv", "old");
    const Outcome outcome = run({"dir", "-o", "out", "--write", "stats,histogram"});
    expect_code(output_failed, outcome);
    expect_said(outcome, "out: results of gpuhist 0.1.0");
    expect_said(outcome, "0.png.histogram.csv: not written");
    EXPECT_EQ(files_below("out"),
              (Names{"0.png.histogram.csv", "1.png.histogram.csv", "2.png.histogram.csv", "dataset.csv",
                     "dataset.histogram.png", "dataset.json", "errors.csv", "stats.csv"}));
    EXPECT_FALSE(contains(read_text(at("out/errors.csv")), "old"));
}

TEST_F(OutputDirectory, NamesOfAListDoNotCollideUnsaid) {
    save("deep/up/a.png", picture(1));
    save("a.png", picture(2));
    save("deep/b.png", picture(3));
    save((directory_ / "deep").string().substr(1) + "/b.png", picture(4));  // below the folder that runs start in
    const auto list = [&](const Names& names) {
        std::string text;
        for (const std::string& name : names) text += name + "\n";
        return reads(text);
    };
    const Names words{"--files-from", "-", "-o", "out", "--write", "stats,histogram", "-q", "--threads", "4"};
    for (int round = 0; round < 5; ++round) {
        fs::remove_all(at("out"));
        const Outcome outcome = run(words, list({"deep/../a.png", "deep/up/a.png", "./deep//up/a.png"}));
        expect_code(output_failed, outcome);
        expect_said(outcome, "deep/up/a.png: its files are not written");
        EXPECT_EQ(paths(read_text(at("out/stats.csv"))).size(), 3u);
        // The first has the name.
        expect_code(all_done, run({"a.png", "-q", "-o", "one", "--write", "histogram"}));
        EXPECT_TRUE(read_text(at("out/deep/up/a.png.histogram.csv")) == read_text(at("one/a.png.histogram.csv")));
    }
    fs::remove_all(at("out"));
    const std::string absolute = at("deep/b.png");
    const Outcome twins = run(words, list({absolute, absolute.substr(1)}));
    expect_code(output_failed, twins);
    expect_said(twins, absolute.substr(1) + ": its files are not written");
    fs::remove_all(at("out"));
    expect_code(all_done, run(words, list({"a.png", "./a.png", "a.png"})));  // one file, measured as often as named
    EXPECT_EQ(files_below("out").size(), 5u);
    fs::remove_all(at("out"));
    fs::copy_file(at("a.png"), at("dataset"));
    const Outcome taken = run({"a.png", "dataset", "-q", "-o", "out", "--write", "stats,plot"});
    expect_code(output_failed, taken);
    expect_said(taken, "out/dataset.histogram.png: not written: this name belongs to a file of the whole set");
}

// ----------------------------------------------------------------------------------------------------------- links

TEST_F(OutputDirectory, NoLinkLeadsToAnotherFile) {
    save_three();
    put("victim", "precious");
    Names names = set_names;
    for (const char* name : {"stats.csv.partial", "errors.csv.partial", "gpuhist.journal", "gpuhist.journal.next",
                             "gpuhist.values.partial", "gpuhist.written.partial", "gpuhist.bad.partial", ".gpuhist",
                             ".gpuhist.lock", "0.png.histogram.csv", "0.png.normalized.png"})
        names.emplace_back(name);
    const Names words{"dir", "-q", "-o", "out", "--write", "stats,histogram,normalized", "--link", "dataset"};
    for (const std::string& name : names)
        for (const bool hard : {false, true})
            for (const bool force : {false, true}) {
                fs::remove_all(at("out"));
                fs::create_directories(at("out"));
                if (hard)
                    fs::create_hard_link(at("victim"), at("out") / name);
                else
                    fs::create_symlink("../victim", at("out") / name);
                auto with = words;
                if (force) with.emplace_back("--force");
                const Outcome outcome = run(with);
                EXPECT_TRUE(outcome.code == output_failed || outcome.code == all_done) << name << outcome.err;
                EXPECT_EQ(read_text(at("victim")), "precious") << name << hard << force;
                if (name != "gpuhist.journal.next" && !force) {
                    EXPECT_TRUE(fs::exists(at("out") / name)) << name;
                    EXPECT_EQ(outcome.code, output_failed) << name << outcome.err;
                }
            }
    fs::remove_all(at("out"));
    fs::create_directories(at("out"));
    for (const char* name : {"part-1-of-1.json", "part-1-of-1.values", "part-1-of-1.stats.csv",
                             "part-1-of-1.stats.csv.partial", "part-1-of-1.journal", "part-1-of-1.values.partial"}) {
        fs::create_symlink("../victim", at("out") / name);
        expect_code(output_failed, run({"dir", "-q", "-o", "out", "--shard", "1/1"}));
        EXPECT_EQ(read_text(at("victim")), "precious") << name;
        fs::remove(at("out") / name);
    }
}

TEST_F(OutputDirectory, NoLinkToADirectoryIsWrittenThrough) {
    for (const char* name : {"dir/own/0.png", "dir/sub/0.png", "dir/sub/1.png"}) save_gray(name);
    fs::create_directories(at("elsewhere"));
    fs::create_directories(at("out"));
    fs::create_symlink("../elsewhere", at("out/sub"));
    const Names words{"dir", "-q", "-o", "out", "--write", "stats,histogram,plot", "--group-by", "dir"};
    const Outcome outcome = run(words);
    expect_code(output_failed, outcome);
    expect_said(outcome,
                "out/sub/0.png.histogram.csv: not written: out/sub is a link; name another --output, or write "
                "through it with --force");
    EXPECT_EQ(files_below("elsewhere"), Names{});
    EXPECT_TRUE(fs::exists(at("out/own/0.png.histogram.csv")));
    EXPECT_EQ(paths(read_text(at("out/stats.csv"))).size(), 3U);  // nothing else is lost
    auto with = words;
    with.emplace_back("--force");
    expect_code(all_done, run(with));
    EXPECT_EQ(files_below("elsewhere").size(), 5U);  // of two images, and the picture of the group
    // What lies behind the link is nothing that another run may remove.
    expect_code(output_failed, run(words));
    EXPECT_EQ(files_below("elsewhere").size(), 5U);
    // The directory itself may be one.
    fs::remove_all(at("elsewhere"));
    fs::create_directories(at("elsewhere"));
    fs::create_symlink("elsewhere", at("linked"));
    expect_code(all_done, run({"dir", "-q", "-o", "linked", "--write", "stats,histogram"}));
    EXPECT_EQ(read_text(at("elsewhere/stats.csv")), read_text(at("out/stats.csv")));
}

// --------------------------------------------------------------------------------------------- interrupted, shared

TEST_F(OutputDirectory, ARunAnewOwnsTheFilesOfAKilledOne) {
    make_tree("dir", 200, 3);
    const Names words{"dir", "-q", "-o", "out", "--write", "stats,histogram", "--checkpoint", "0.01"};
    Setting setting;
    setting.signal = SIGKILL;
    setting.after_file = "out/gpuhist.journal";
    run(words, setting);
    expect_code(inputs_failed, run(words));
    fs::rename(at("out"), at("again"));
    expect_code(inputs_failed, run(words));
    expect_same_files("again", "out");
    EXPECT_FALSE(fs::exists(at("out/errors.csv")) && contains(read_text(at("out/errors.csv")), ",output,"));
}

TEST_F(OutputDirectory, ShardsShareADirectoryAtOnce) {
    make_tree("dir", 60, 3);
    const auto shard = [&](const std::string& output, const std::string& number) {
        return run({"dir", "-q", "--shard", number, "-o", output, "--write", "stats,histogram"}).code;
    };
    for (const char* number : {"1/3", "2/3", "3/3"}) ASSERT_LE(shard("whole", number), inputs_failed);
    for (int round = 0; round < 4; ++round) {
        std::vector<std::future<int>> codes;
        for (const char* number : {"1/3", "2/3", "3/3"})
            codes.push_back(std::async(std::launch::async, shard, "out" + std::to_string(round), number));
        for (std::future<int>& code : codes) EXPECT_LE(code.get(), inputs_failed);
        expect_same_files("out" + std::to_string(round), "whole");
        EXPECT_FALSE(fs::exists(at("out" + std::to_string(round)) / ".gpuhist.lock"));
    }
    // Single images do, too, as when a shell starts many at once.
    save_three("three");
    std::vector<std::future<int>> codes;
    for (const char* name : {"three/0.png", "three/1.png", "three/2.png"})
        codes.push_back(std::async(std::launch::async, [this, name] {
            return run({name, "-q", "-o", "images"}).code;
        }));
    for (std::future<int>& code : codes) EXPECT_EQ(code.get(), all_done);
    const std::string list = read_text(at("images/.gpuhist"));
    for (const std::string& name : files_below("images")) EXPECT_TRUE(contains(list, " " + name + "\n")) << list;
}

TEST_F(OutputDirectory, OfTwoRunsStartedTogetherOneIsWholeAndTheOtherTriesLater) {
    make_tree("tree", 24, 7);
    save_floats("floats", 3, CV_32FC1);
    save_three("three");
    const std::vector<Names> modes{{"tree", "--write", "stats"},
                                   {"tree", "--write", "stats,histogram,normalized"},
                                   {"three", "--link", "dataset", "--write", "stats,normalized"},
                                   {"tree", "--write", "stats", "--shard", "1/2"},
                                   {"floats", "--write", "stats"},
                                   {"floats", "--write", "stats", "--group-by", "dir", "--resume"}};
    const char* const given = std::getenv("GPUHIST_TEST_STARTS");
    const int rounds =
        ((given ? std::stoi(given) : 60) + static_cast<int>(modes.size()) - 1) / static_cast<int>(modes.size());
    std::mt19937 random(18);
    int mode = 0, late = 0;
    for (Names words : modes) {
        words.insert(words.end(), {"-q", "--engine", "cpu", "--threads", "2", "-o"});
        const auto start = [&](const std::string& output, unsigned wait) {
            Names all = words;
            all.push_back(output);
            std::this_thread::sleep_for(std::chrono::microseconds(wait));
            return run(all);
        };
        const std::string number = std::to_string(mode++);
        const Outcome alone = start("whole" + number, 0);
        ASSERT_LE(alone.code, inputs_failed) << alone.err;
        const auto whole = contents("whole" + number);
        for (int round = 0; round < rounds; ++round) {
            const std::string output = "out" + number + "-" + std::to_string(round);
            auto other = std::async(std::launch::async, start, output, random() % 12000);
            const Outcome first = start(output, random() % 12000), second = other.get();
            for (const Outcome* one : {&first, &second}) {
                EXPECT_TRUE(one->code == alone.code || one->code == output_locked) << one->code << one->err;
                EXPECT_EQ(one->code == output_locked, contains(one->err, "another run is writing it")) << one->err;
                late += one->code == output_locked;
            }
            EXPECT_TRUE(first.code == alone.code || second.code == alone.code);
            EXPECT_TRUE(contents(output) == whole) << words.front() << round;
            if (round == 0) {
                expect_code(alone.code, start(output, 0));
                EXPECT_TRUE(contents(output) == whole) << words.front();
            }
            fs::remove_all(at(output));
        }
    }
    RecordProperty("late", late);
    EXPECT_GT(late, 0);
}

TEST_F(OutputDirectory, ARunThatNeverBeginsLeavesNothing) {
    for (const Names& words : {Names{"nowhere"}, Names{"--files-from", "nowhere"}}) {
        Names all = words;
        all.insert(all.end(), {"-q", "--write", "stats", "-o", "new/below"});
        EXPECT_NE(run(all).code, all_done);
        EXPECT_FALSE(fs::exists(at("new"))) << words.front();
    }
}

// ---------------------------------------------------------------------------------------------------------- on disk

/// A system call of a run: its name, what it was about (paths, as they end), and the name a file got.
struct Call {
    std::string name, file, target;
};

class Traced : public OutputDirectory {
  protected:
    bool traceable() const { return std::system("strace -f -o /dev/null true >/dev/null 2>&1") == 0; }

    /// Runs the program under strace. Returns its calls that bring to disk, name or remove files in `out`.
    std::vector<Call> trace(const std::string& words) const {
        const std::string program = from_environment("GPUHIST_PROGRAM");
        const std::string command =
            "cd " + directory_.string() +
            " && ASAN_OPTIONS=detect_leaks=0 strace -f -y -qq -s 500 -e signal=none -e "
            "trace=fsync,fdatasync,syncfs,rename,renameat,renameat2,link,linkat,unlink,close -o trace " +
            program + " " + words + " >traced.out 2>traced.err";
        const int status = std::system(command.c_str());
        EXPECT_EQ(WEXITSTATUS(status), 0) << read_text(at("traced.err"));
        std::vector<Call> calls;
        std::istringstream lines(read_text(at("trace")));
        const std::regex sync(R"(^\d+ +(fsync|fdatasync|syncfs)\((\d+)<(.*)>(?:\(deleted\))?\) += 0)");
        const std::regex close(R"(^\d+ +close\((\d+)<)");
        const std::regex unlink(R"re(^\d+ +(unlink)\("(.*)"\) += 0)re");
        const std::regex rename(
            R"re(^\d+ +(rename|link)[a-z0-9]*\((?:AT_FDCWD[^,]*, )?"(.*?)", (?:AT_FDCWD[^,]*, )?"(.*?)".* += 0)re");
        std::map<std::string, std::string> unfinished;  // by thread
        // What a name leads to, and a descriptor: a file may be brought to disk before it has a name.
        std::map<std::string, std::string> leads_to;
        for (std::string line; std::getline(lines, line);) {
            const std::string thread = line.substr(0, line.find(' '));
            if (const auto cut = line.find(" <unfinished ...>"); cut != line.npos) {
                unfinished[thread] = line.substr(0, cut);
                continue;
            }
            if (const auto resumed = line.find("resumed>"); resumed != line.npos)
                line = unfinished[thread] + line.substr(resumed + 8);
            std::smatch found;
            if (std::regex_search(line, found, rename)) {
                const auto known = leads_to.find(found[2]);
                const std::string file = known == leads_to.end() ? found[2].str() : known->second;
                calls.push_back({"rename", leads_to[found[3]] = file, found[3]});
            } else if (std::regex_search(line, found, sync)) {
                calls.push_back({found[1], leads_to["/proc/self/fd/" + found[2].str()] = found[3], ""});
            } else if (std::regex_search(line, found, close)) {
                leads_to.erase("/proc/self/fd/" + found[1].str());
            } else if (std::regex_search(line, found, unlink)) {
                calls.push_back({found[1], found[2], ""});
            }
        }
        return calls;
    }

    /// The place of the first call from `start` on that is so; the number of calls where there is none.
    template <class Is>
    static std::size_t find(const std::vector<Call>& calls, std::size_t start, Is is) {
        return static_cast<std::size_t>(
            std::find_if(calls.begin() + static_cast<std::ptrdiff_t>(std::min(start, calls.size())), calls.end(), is) -
            calls.begin());
    }
    static bool ends(const std::string& text, const std::string& end) {
        return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
    }
    static bool syncs(const Call& call, const std::string& file) {
        return (call.name == "fsync" || call.name == "fdatasync") && ends("/" + call.file, "/" + file);
    }
    static std::size_t named(const std::vector<Call>& calls, const std::string& target, std::size_t start = 0) {
        return find(calls, start, [&](const Call& call) { return call.name == "rename" && call.target == target; });
    }

    /// Expects the file's data on disk before it has its name, and the directory after that.
    void expect_order(const std::vector<Call>& calls, const std::string& directory, const std::string& name) const {
        const std::size_t renamed = named(calls, directory + "/" + name);
        ASSERT_LT(renamed, calls.size()) << name << " got no name";
        EXPECT_LT(find(calls, 0, [&](const Call& call) { return syncs(call, calls[renamed].file); }), renamed) << name;
        EXPECT_LT(find(calls, renamed, [&](const Call& call) { return syncs(call, directory); }), calls.size()) << name;
    }
};

TEST_F(Traced, DataAreOnDiskBeforeNamesAndNamesBeforeTheEnd) {
    if (!traceable()) GTEST_SKIP() << "strace is not there, or may not trace";
    save("a.png", picture(0));
    const auto single = trace("a.png -q -o single");
    for (const char* name : {"stats.csv", "a.png.histogram.csv", "a.png.histogram.png", "a.png.normalized.png"}) {
        expect_order(single, "single", name);
        EXPECT_LT(named(single, "single/.gpuhist"), named(single, std::string("single/") + name)) << "listed before";
    }
    save_three();
    const auto many = trace("dir -q -o many --write stats,histogram");
    for (const char* name : {"stats.csv", "dataset.csv", "dataset.json", "dataset.histogram.png", ".gpuhist"})
        expect_order(many, "many", name);
    // Files of images are on disk before the checkpoint that says so, and the last one before it goes.
    const std::size_t image = named(many, "many/2.png.histogram.csv");
    ASSERT_LT(image, many.size());
    const std::size_t sync = find(many, image, [](const Call& call) { return call.name == "syncfs"; });
    const std::size_t checkpoint = named(many, "many/gpuhist.journal", sync);
    ASSERT_LT(checkpoint, many.size());
    const std::size_t stats = named(many, "many/stats.csv");
    EXPECT_LT(checkpoint, stats);
    const std::size_t durable = find(many, stats, [&](const Call& call) { return syncs(call, "many"); });
    EXPECT_LT(durable, find(many, 0, [](const Call& call) {
                  return call.name == "unlink" && call.file == "many/gpuhist.journal";
              }));
}

TEST_F(Traced, APartIsThereOnceItsDataAre) {
    if (!traceable()) GTEST_SKIP() << "strace is not there, or may not trace";
    save_floats("dir", 9, CV_32FC3);
    const auto part = trace("dir -q -o parts --write stats --shard 1/1");
    ASSERT_TRUE(fs::exists(at("parts/part-1-of-1.values")));
    for (const char* name : {"part-1-of-1.stats.csv", "part-1-of-1.json"}) expect_order(part, "parts", name);
    const std::size_t there = named(part, "parts/part-1-of-1.json");
    const std::size_t values = find(part, 0, [](const Call& call) { return syncs(call, "parts/part-1-of-1.values"); });
    const std::size_t rows = named(part, "parts/part-1-of-1.stats.csv");
    EXPECT_LT(find(part, values, [](const Call& call) { return syncs(call, "parts"); }), there);
    EXPECT_LT(find(part, rows, [](const Call& call) { return syncs(call, "parts"); }), there);
    const auto merged = trace("merge -q -o merged parts");
    for (const char* name : {"stats.csv", "dataset.csv", "dataset.json"}) expect_order(merged, "merged", name);
}

}  // namespace
