// Runs that are killed at any moment and go on, in every mode: what they leave has the bytes of a run that was not.
//
// Environment: GPUHIST_PROGRAM, the program. GPUHIST_TEST_KILLS=n: kills over all modes, 20 unless given.
#include <functional>

#include "support/directory.hpp"
#include "support/tiff_files.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

class Killed : public Directory {
  public:
    /// One way to run: its inputs, and its words. What it writes lies in `out`, and in `beside`, if that has a name.
    struct Mode {
        const char* name;
        std::function<void(const Killed&)> make_inputs;
        Names words;
        bool prints = false;  ///< to a log
        std::string beside{};

        friend void PrintTo(const Mode& mode, std::ostream* out) { *out << mode.name; }
    };
    static const std::vector<Mode>& modes();

    /// Saves a TIFF of random pages, of the sides and type of `empty(page)`.
    void save_pages(const std::string& name, int count, const std::function<cv::Mat(int page)>& empty) const {
        tiff_files::Memory memory;
        TIFF* tiff = tiff_files::open(memory, "w");
        for (int page = 0; page < count; ++page) {
            cv::Mat picture = empty(page);
            cv::randu(picture, 0, 256);
            tiff_files::write_page(tiff, picture, {});
            TIFFWriteDirectory(tiff);
        }
        TIFFClose(tiff);
        write_text(at(name), {memory.bytes.begin(), memory.bytes.end()});
    }

  protected:
    /// Whether something lies in the output directory that only a resumed run can make whole.
    bool half_done() const {
        if (!fs::exists(at("out"))) return false;
        for (const auto& entry : fs::recursive_directory_iterator(at("out")))
            if (entry.path().extension() == ".partial" || entry.path().filename() == "gpuhist.journal") return true;
        return false;
    }
    /// Whether a run there came to its end.
    bool has_results() const { return fs::exists(at("out/stats.csv")) && !fs::exists(at("out/gpuhist.journal")); }
    void begin_again() const {
        for (const std::string name : {"out", "log"}) fs::remove_all(at(name));
        if (fs::exists(at("inputs"))) fs::copy(at("inputs"), at("out"), fs::copy_options::recursive);
    }
};

const std::vector<Killed::Mode>& Killed::modes() {
    const auto tree = [](const Killed& test) { test.make_tree("dir", 250); };
    const auto groups = [](const Killed& test) { test.make_groups(20, 400); };
    static const std::vector<Mode> all{
        {"statistics", tree, {"dir", "--write", "stats,histogram", "--group-by", "dir"}},
        {"printed_csv", tree, {"dir", "--write", "stats", "--format", "csv"}, true},
        {"printed_table", tree, {"dir", "--write", "stats"}, true},
        {"printed_json", tree, {"dir", "--write", "stats", "--format", "json"}, true},
        {"copies", tree, {"dir", "--write", "stats,normalized", "--normalize", "minmax"}},
        {"one_table",
         [](const Killed& test) {
             test.save_floats("set", 9, CV_32FC3);  // 360,000 values
             for (const char* name : {"set/0/bad.png", "set/1/0.png", "set/1/99.png", "set/3.png"})
                 write_text(test.at(name), "no");
         },
         {"set", "--link", "dataset", "--normalize", "equalize", "--write", "stats,normalized", "--lut-out",
          "table.csv"},
         false,
         "table.csv"},
        {"groups_in_little_memory",
         groups,
         {"--files-from", "list", "--write", "stats", "--group-by", "dir", "--memory", "1M"}},
        // A run of values that lies in the file belongs to a group and to the whole set.
        {"values_in_a_file",
         [](const Killed& test) { test.save_floats("set", 60, CV_32FC1); },
         {"set", "--write", "stats", "--group-by", "dir", "--memory", "1M"}},
        {"every_depth",
         [](const Killed& test) { test.save_depths("set", 120); },
         {"set", "--write", "stats,histogram,normalized", "--channels", "separate", "--group-by", "dir", "--memory",
          "1M"}},
        {"kept_counts",
         [](const Killed& test) { test.save_floats("set", 60, CV_32FC1); },
         {"set", "--write", "stats", "--group-by", "dir", "--memory", "1M", "--keep-image-counts"}},
        {"merged_counts",
         [](const Killed& test) {
             test.save_floats("set", 30, CV_32FC1);
             for (const char* part : {"1/2", "2/2"})
                 ASSERT_EQ(
                     test.run({"set", "-q", "--group-by", "dir", "--keep-image-counts", "--shard", part, "-o", "parts"})
                         .code,
                     all_done);
         },
         {"merge", "parts"}},
        {"shard",
         [](const Killed& test) {
             test.make_tree("dir", 250);
             for (int i = 0; i < 50; ++i) write_text(test.at("dir/bad" + std::to_string(i) + ".png"), "no");
         },
         {"dir", "--shard", "2/2"}},
        {"merge",
         [](const Killed& test) {
             test.make_groups(20, 400);
             for (const char* part : {"1/2", "2/2"})
                 ASSERT_EQ(
                     test.run({"--files-from", "list", "-q", "--group-by", "dir", "--shard", part, "-o", "parts"}).code,
                     all_done);
         },
         {"merge", "parts"}},
        {"pages",
         [](const Killed& test) {
             for (const char* name : {"0.tif", "1.tif", "2.tif"})
                 test.save_pages(name, 120,
                                 [](int page) { return cv::Mat(20 + page, 30, page % 2 ? CV_8UC1 : CV_16UC3); });
         },
         {"0.tif", "1.tif", "2.tif", "--pages", "2-90,100-130", "--write", "stats,histogram"}},
        // The copies of pages are joined when all are written, which is half of the run.
        {"stacks",
         [](const Killed& test) {
             for (const char* name : {"0.tif", "1.tif", "2.tif"})
                 test.save_pages(name, 40, [](int page) { return cv::Mat(page == 7 ? 20 : 30, 30, CV_16UC1); });
         },
         {"0.tif", "1.tif", "2.tif", "--pages", "all", "--write", "stats,normalized"}},
        {"among_the_inputs",
         [](const Killed& test) { test.make_tree("inputs", 120, 3); },
         {"out", "--write", "stats,normalized"}},
    };
    return all;
}

class KilledAtAnyMoment : public Killed, public testing::WithParamInterface<Killed::Mode> {};

TEST_P(KilledAtAnyMoment, AndResumedGivesTheSameBytes) {
    const char* given = std::getenv("GPUHIST_TEST_KILLS");
    const auto modes = static_cast<int>(Killed::modes().size());
    const int wanted = ((given ? std::stoi(given) : 20) + modes - 1) / modes;
    const Mode& mode = GetParam();
    const bool merges = mode.words.front() == "merge";  // which begins again, and leaves nothing half done
    mode.make_inputs(*this);
    Setting setting;
    if (mode.prints) setting.out = Out::log;
    Names words = mode.words;
    words.insert(words.end(), {"-q", "-o", "out"});
    if (!merges) words.insert(words.end(), {"--engine", "cpu", "--checkpoint", "0.01"});

    begin_again();
    const Outcome whole = run(words, setting);
    ASSERT_LE(whole.code, inputs_failed) << whole.err;
    const auto expected = contents("out");
    const std::string printed = mode.prints ? read_text(at("log")) : "";
    const std::string beside = mode.beside.empty() ? "" : read_text(at(mode.beside));

    std::mt19937 random(static_cast<unsigned>(5 + mode.words.size()));
    int kills = 0;
    for (int round = 0; kills < wanted && round < 10 * wanted; ++round) {  // a busy machine kills late
        begin_again();
        Outcome outcome;
        bool ended = false;
        for (int attempt = 0, here = 0; attempt < 40; ++attempt) {
            Names now = words;
            if (!merges) now.insert(now.end(), {"--threads", std::to_string(1 + random() % 4)});
            if (!merges && attempt > 0) now.emplace_back("--resume");
            setting.signal = here == 5 || attempt == 39 ? 0 : random() % 5 == 0 ? SIGINT : SIGKILL;
            setting.after_seconds = whole.seconds * 1.2 * static_cast<double>(random() % 1000) / 1000;
            outcome = run(now, setting);
            // A run killed after its journal was removed has ended: the next one would begin anew, and print all again.
            ended = outcome.code == whole.code || (mode.prints && has_results());
            if (ended) break;
            ASSERT_TRUE(setting.signal != 0 && (outcome.code == -setting.signal || outcome.code == was_interrupted))
                << outcome.code << outcome.err;
            if (merges || half_done()) ++kills, ++here;
        }
        ASSERT_TRUE(ended) << outcome.code << outcome.err;
        auto left = contents("out");
        if (outcome.code != whole.code)  // working files, which the next run there takes up
            std::erase_if(left, [](const auto& file) { return fs::path(file.first).extension() == ".partial"; });
        EXPECT_TRUE(left == expected) << mode.name;
        EXPECT_TRUE(!mode.prints || read_text(at("log")) == printed);
        EXPECT_TRUE(mode.beside.empty() || read_text(at(mode.beside)) == beside);
    }
    EXPECT_GE(kills, wanted);
    RecordProperty("kills", kills);
}

INSTANTIATE_TEST_SUITE_P(Modes, KilledAtAnyMoment, testing::ValuesIn(Killed::modes()),
                         [](const auto& mode) { return std::string(mode.param.name); });

}  // namespace
