// Runs over the pages of files.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <cstdio>
#include <fstream>

#include "gpuhist/io/pages.hpp"
#include "support/directory.hpp"
#include "support/tiff_files.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

class PagesOfFiles : public Directory {
  protected:
    PagesOfFiles() : handler_(TIFFSetWarningHandler(nullptr)) {}
    ~PagesOfFiles() override { TIFFSetWarningHandler(handler_); }

    /// Writes a TIFF of these pages, with an overview behind each.
    void save_stack(const std::string& name, const std::vector<cv::Mat>& pages) const {
        fs::create_directories(at(name).parent_path());
        tiff_files::Memory memory;
        TIFF* tiff = tiff_files::open(memory, "w");
        for (const cv::Mat& page : pages)
            for (const bool overview : {false, true}) {
                tiff_files::Spec spec;
                spec.compression = COMPRESSION_ADOBE_DEFLATE;
                if (overview)
                    spec.fields = [](TIFF* fields) {
                        TIFFSetField(fields, TIFFTAG_SUBFILETYPE, FILETYPE_REDUCEDIMAGE);
                    };
                const cv::Mat reduced = page(cv::Rect(0, 0, (page.cols + 1) / 2, (page.rows + 1) / 2)).clone();
                tiff_files::write_page(tiff, overview ? reduced : page, spec);
                TIFFWriteDirectory(tiff);
            }
        TIFFClose(tiff);
        std::ofstream(at(name), std::ios::binary)
            .write(reinterpret_cast<const char*>(memory.bytes.data()),
                   static_cast<std::streamsize>(memory.bytes.size()));
    }

    /// Pages of one value each, `first` and the numbers after it, of growing sizes.
    std::vector<cv::Mat> flat(int count, int first = 1, int type = CV_8UC1) const {
        std::vector<cv::Mat> pages;
        for (int i = 0; i < count; ++i) pages.emplace_back(4 + i, 6, type, cv::Scalar::all(first + i));
        return pages;
    }

    /// Path and minimum of each gray row.
    Names values(const std::string& csv) const {
        Names found;
        for (const auto& row : table(csv))
            if (row.at("channel") == "gray") found.push_back(row.at("path") + " " + row.at("min"));
        return found;
    }
    Names measured_pages(Names words) const {
        words.insert(words.end(), {"-q", "--format", "csv", "--write", "none", "--engine", "cpu"});
        return values(run(words).out);
    }

  private:
    TIFFErrorHandler handler_;
};

TEST_F(PagesOfFiles, AreASet) {
    save_stack("s.tif", flat(5));
    const Outcome outcome = run({"s.tif", "--pages", "all", "-o", "out"});
    ASSERT_EQ(outcome.code, all_done) << outcome.err;
    EXPECT_FALSE(contains(outcome.err, "pages is measured")) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, "5 images  u8")) << outcome.out;
    EXPECT_EQ(files_below("out"), (Names{"dataset.csv", "dataset.histogram.png", "dataset.json", "stats.csv"}));
    const auto rows = table(read_text(at("out/stats.csv")));
    ASSERT_EQ(rows.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(rows[i].at("path"), "s.tif#" + std::to_string(i + 1));
        EXPECT_EQ(rows[i].at("height"), std::to_string(4 + i));
        EXPECT_EQ(rows[i].at("mean"), std::to_string(i + 1));
        EXPECT_EQ(rows[i].at("pages"), "5");
    }
    // Σ i (3 + i) / Σ (3 + i), for i of 1 to 5.
    EXPECT_EQ(table(read_text(at("out/dataset.csv")))[0].at("mean").substr(0, 8), "3.333333");

    const Outcome first = run({"s.tif", "-o", "first"});
    EXPECT_TRUE(contains(first.err, "s.tif: only the first of its 5 pages is measured")) << first.err;
    EXPECT_EQ(values(read_text(at("first/stats.csv"))), Names{"s.tif 1"});
    EXPECT_EQ(table(read_text(at("first/stats.csv")))[0].at("pages"), "5");
}

TEST_F(PagesOfFiles, AreChosenByNumbersAndRanges) {
    save_stack("s.tif", flat(6));
    const auto of = [&](const std::string& pages) { return measured_pages({"s.tif", "--pages", pages}); };
    EXPECT_EQ(of("2"), Names{"s.tif#2 2"});
    EXPECT_EQ(of("2-4"), (Names{"s.tif#2 2", "s.tif#3 3", "s.tif#4 4"}));
    EXPECT_EQ(of("5-,1,2-2"), (Names{"s.tif#1 1", "s.tif#2 2", "s.tif#5 5", "s.tif#6 6"}));
    EXPECT_EQ(of("3-5,1,4-6,2"), of("all"));
    EXPECT_EQ(of("1-"), of("all"));
    for (const char* wrong : {"0", "-1", "3-2", "1,,2", "", "x", "1-x", "1:2", "99999999999999999999"}) {
        const Outcome outcome = run({"s.tif", "--pages", wrong});
        EXPECT_EQ(outcome.code, usage_error) << wrong;
        EXPECT_TRUE(contains(outcome.err, "not one of all, N, N-M and N-, counted from 1")) << outcome.err;
    }
}

TEST_F(PagesOfFiles, OneIsMeasuredLikeAnImage) {
    save_stack("a/s.tif", flat(3, 1, CV_16UC1));
    const Outcome outcome = run({"a/s.tif", "--pages", "3", "-o", "out"});
    ASSERT_EQ(outcome.code, all_done) << outcome.err;
    EXPECT_EQ(files_below("out"),
              (Names{"s.tif.p3.histogram.csv", "s.tif.p3.histogram.png", "s.tif.p3.normalized.png", "stats.csv"}));
    EXPECT_TRUE(contains(outcome.out, "a/s.tif#3  6 \xc3\x97 6")) << outcome.out;
    EXPECT_TRUE(contains(outcome.out, "wrote  out/s.tif.p3.histogram.csv .histogram.png")) << outcome.out;
    const Outcome missing = run({"a/s.tif", "--pages", "4"});
    EXPECT_EQ(missing.code, inputs_failed);
    EXPECT_EQ(missing.err, "gpuhist: a/s.tif#4: there is no page 4: the file has 3 pages\n");
}

TEST_F(PagesOfFiles, HaveFilesOfTheirOwn) {
    save_stack("set/s.tif", {cv::Mat(2, 2, CV_8UC1, cv::Scalar(10)), (cv::Mat_<uchar>(1, 2) << 10, 20)});
    save("set/t.png", cv::Mat(2, 2, CV_8UC3, cv::Scalar(1, 2, 3)));
    ASSERT_EQ(
        run({"set", "--pages", "all", "--split-pages", "-q", "-o", "out", "--write", "histogram,plot,normalized"}).code,
        all_done);
    Names expected;
    for (const char* stem : {"s.tif.p1", "s.tif.p2", "t.png.p1"})
        for (const char* end : {".histogram.csv", ".histogram.png", ".normalized.png"})
            expected.push_back(stem + std::string(end));
    EXPECT_EQ(files_below("out"), expected);
    const cv::Mat copy = load("out/s.tif.p2.normalized.png");
    EXPECT_EQ(copy.at<uchar>(0), 0);
    EXPECT_EQ(copy.at<uchar>(1), 255);
    // One table for all pages of a stack.
    ASSERT_EQ(run({"set/s.tif", "--pages", "all", "--split-pages", "-q", "-o", "linked", "--link", "dataset",
                   "--normalize", "minmax"})
                  .code,
              all_done);
    EXPECT_EQ(load("linked/s.tif.p1.normalized.png").at<uchar>(0), 0);
    EXPECT_EQ(load("linked/s.tif.p2.normalized.png").at<uchar>(1), 255);
}

TEST_F(PagesOfFiles, FailOneByOne) {
    std::vector<cv::Mat> pages = flat(4, 1);
    save_stack("set/a.tif", pages);
    save_stack("set/b.tif", flat(2, 11));
    write_text(at("set/c.tif"), "no image");
    std::string bytes = read_text(at("set/a.tif"));
    // The strips of the second page lie behind those of the first and of its overview.
    const auto found = gpuhist::io::probe_pages(at("set/a.tif"));
    const std::string data = bytes;
    for (std::size_t i = found->pages[1].place - 4; i < found->pages[1].place; ++i) bytes[i] = '\xff';
    write_text(at("set/a.tif"), bytes);
    const Outcome outcome =
        run({"set", "--pages", "1-3", "-q", "-o", "out", "--link", "dataset", "--normalize", "minmax"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_EQ(values(read_text(at("out/stats.csv"))),
              (Names{"set/a.tif#1 1", "set/a.tif#3 3", "set/b.tif#1 11", "set/b.tif#2 12"}));
    const auto errors = table(read_text(at("out/errors.csv")));
    ASSERT_EQ(errors.size(), 3U);
    EXPECT_EQ(errors[0].at("path"), "set/a.tif#2");
    EXPECT_EQ(errors[0].at("kind"), "damaged");
    EXPECT_EQ(errors[1].at("path"), "set/b.tif#3");
    EXPECT_EQ(errors[1].at("kind"), "missing");
    EXPECT_EQ(errors[1].at("message"), "there is no page 3: the file has 2 pages");
    EXPECT_EQ(errors[2].at("path"), "set/c.tif");
    EXPECT_EQ(files_below("out").size(), 4U + 5U);  // copies of what was measured

    const Outcome stopped = run({"set", "--pages", "1-3", "-o", "stopped", "--max-errors", "1", "--threads", "1"});
    EXPECT_EQ(stopped.code, inputs_failed);
    EXPECT_TRUE(contains(stopped.err, "stopped after 1 error: 2 inputs are done")) << stopped.err;
    EXPECT_EQ(run({"set", "--pages", "1-3", "-o", "stopped", "--resume", "-q"}).code, inputs_failed);
    ASSERT_EQ(run({"set", "--pages", "1-3", "-o", "whole", "-q"}).code, inputs_failed);
    expect_same_files("stopped", "whole");
    run({"set", "--pages", "1-3", "-o", "stopped", "--max-errors", "1", "--threads", "1", "-q"});
    const Outcome refused = run({"set", "--pages", "all", "-o", "stopped", "--resume"});
    EXPECT_EQ(refused.code, usage_error);
    EXPECT_TRUE(contains(refused.err, "differs in --pages")) << refused.err;
}

TEST_F(PagesOfFiles, AreNamedWithoutDoubt) {
    save_stack("s.tif", flat(2, 1));
    save_stack("s.tif#2", flat(2, 11));
    save_stack("s.tif.p2", flat(2, 21));
    write_text(at("list"), "s.tif\ns.tif#2\ns.tif.p2\ns.tif\n");
    EXPECT_EQ(measured_pages({"s.tif", "s.tif#2", "s.tif.p2", "--pages", "all"}),
              (Names{"s.tif#1 1", "s.tif#2 2", "s.tif#2#1 11", "s.tif#2#2 12", "s.tif.p2#1 21", "s.tif.p2#2 22"}));
    ASSERT_EQ(run({"--files-from", "list", "--pages", "2", "-q", "-o", "out", "--write", "histogram"}).code, all_done);
    EXPECT_EQ(files_below("out"),
              (Names{"s.tif#2.p2.histogram.csv", "s.tif.p2.histogram.csv", "s.tif.p2.p2.histogram.csv"}));
}

TEST_F(PagesOfFiles, ComeOfStandardInputListsAndGroups) {
    save_stack("a/s.tif", flat(3));
    save_stack("b/t.tif", flat(2, 11));
    Setting setting;
    setting.input = at("a/s.tif").string();
    const Outcome outcome =
        run({"-", "--pages", "all", "-q", "--format", "csv", "-o", "out", "--write", "stats,histogram"}, setting);
    EXPECT_EQ(outcome.code, all_done) << outcome.err;
    EXPECT_EQ(values(outcome.out), (Names{"-#1 1", "-#2 2", "-#3 3"}));
    EXPECT_TRUE(fs::exists(at("out/stdin.p2.histogram.csv")));
    EXPECT_TRUE(fs::exists(at("out/dataset.csv")));
    EXPECT_EQ(run({"-", "--pages", "2", "-q", "--format", "csv", "--write", "none"}, setting).out.find("-#2,"),
              outcome.out.find("-#1,"));

    write_text(at("list"), "b/t.tif\na/s.tif\n");
    EXPECT_EQ(run({"--files-from", "list", "--pages", "2-", "--dry-run", "-q"}).out,
              "b/t.tif#2\na/s.tif#2\na/s.tif#3\n");
    EXPECT_EQ(run({"a", "b", "--pages", "2-", "--dry-run", "-q", "--shard", "2/2"}).out, "b/t.tif#2\n");
    const Outcome piped = run({"-", "--pages", "3", "--dry-run", "-q"}, setting);
    EXPECT_EQ(piped.out, "-#3\n");

    ASSERT_EQ(run({"a", "b", "--pages", "all", "-q", "--group-by", "dir", "-o", "groups"}).code, all_done);
    Names groups;
    for (const auto& row : table(read_text(at("groups/dataset.csv"))))
        groups.push_back(row.at("group") + row.at("images"));
    EXPECT_EQ(groups, (Names{"5", "a3", "b2"}));

    ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
    const Outcome pipe = run({"pipe", "--pages", "all"});
    EXPECT_EQ(pipe.code, inputs_failed);
    EXPECT_TRUE(contains(pipe.err, "pipe: a pipe, not a file")) << pipe.err;
}

TEST_F(PagesOfFiles, AreSharedOutByFileAndMergeToTheSameBytes) {
    for (int i = 0; i < 5; ++i)
        save_stack("set/" + std::to_string(i) + ".tif", flat(1 + 3 * i % 7, 10 * i, i % 2 ? CV_16UC1 : CV_8UC1));
    save_gray("set/d/x.png");
    write_text(at("set/bad.tif"), "no");
    const auto with = [&](Names words) {
        words.insert(words.end(), {"-q", "--pages", "all", "--group-by", "dir"});
        return run(words).code;
    };
    ASSERT_EQ(with({"set", "-o", "whole"}), inputs_failed);
    for (const char* part : {"1/3", "2/3", "3/3"})
        ASSERT_LE(with({"set", "-o", "parts", "--shard", part}), inputs_failed);
    EXPECT_EQ(run({"merge", "-q", "-o", "merged", "parts"}).code, inputs_failed);
    expect_same_files("merged", "whole");
    // A stack alone is a set for its shards, too.
    ASSERT_EQ(with({"set/4.tif", "-o", "one"}), all_done);
    EXPECT_TRUE(fs::exists(at("one/dataset.csv")));
    for (const char* part : {"1/2", "2/2"}) ASSERT_EQ(with({"set/4.tif", "-o", "halves", "--shard", part}), all_done);
    EXPECT_EQ(run({"merge", "-q", "-o", "both", "halves"}).code, all_done);
    expect_same_files("both", "one");
}

TEST_F(PagesOfFiles, OptionsOfASetAreAboutThem) {
    save_stack("s.tif", flat(2));
    EXPECT_EQ(run({"s.tif", "--pages", "all", "--normalize", "minmax", "--write", "stats"}).code, usage_error);
    EXPECT_TRUE(contains(run({"s.tif", "--pages", "all", "--size", "3", "--write", "stats"}).err, "--size applies to"));
    EXPECT_EQ(run({"s.tif", "--pages", "all", "--bins", "8", "-q", "-o", "out"}).code, all_done);
    EXPECT_TRUE(contains(read_text(at("out/dataset.json")), "\"counts\":[54,0,0,0,0,0,0,0]"))
        << read_text(at("out/dataset.json"));
}

TEST_F(PagesOfFiles, LargeStacksTakeNoMoreMemory) {
    // Pages of 2048 × 2048 u16, of noise, of which the file system keeps each once: directories point to the same
    // strip.
    const auto save_large = [&](const std::string& name, int pages) {
        cv::Mat page(2048, 2048, CV_16UC1);
        cv::randu(page, 0, 65536);
        const std::uint64_t bytes = page.total() * 2;
        std::ofstream file(at(name), std::ios::binary);
        const auto put = [&](std::uint64_t value, int count) {
            for (int i = 0; i < count; ++i) file.put(static_cast<char>(value >> 8 * i));
        };
        put(0x4949, 2), put(43, 2), put(8, 2), put(0, 2), put(16, 8);
        constexpr std::uint64_t fields = 8, directory = 8 + 20 * fields + 8;
        for (int i = 0; i < pages; ++i) {
            const std::uint64_t start = 16 + static_cast<std::uint64_t>(i) * (directory + bytes);
            put(fields, 8);
            const auto field = [&](std::uint64_t tag, std::uint64_t type, std::uint64_t value) {
                put(tag, 2), put(type, 2), put(1, 8), put(value, 8);
            };
            field(256, 4, 2048), field(257, 4, 2048), field(258, 3, 16), field(259, 3, 1), field(262, 3, 1);
            field(273, 16, start + directory), field(278, 4, 2048), field(279, 16, bytes);
            put(i + 1 < pages ? start + directory + bytes : 0, 8);
            page.at<std::uint16_t>(0) = static_cast<std::uint16_t>(i);
            file.write(reinterpret_cast<const char*>(page.data), static_cast<std::streamsize>(bytes));
        }
    };
    std::array<std::int64_t, 2> most{};
    const std::array counts{40, 240};
    for (std::size_t i = 0; i < 2; ++i) {
        save_large("stack.tif", counts[i]);
        const Outcome outcome = run({"stack.tif", "--pages", "all", "-q", "--memory", "128M", "--engine", "cpu",
                                     "--threads", "2", "-o", "out"});
        ASSERT_EQ(outcome.code, all_done) << outcome.err;
        most[i] = outcome.most_memory;
        const std::string stats = read_text(at("out/stats.csv"));
        EXPECT_EQ(std::count(stats.begin(), stats.end(), '\n'), counts[i] + 1);
        fs::remove(at("stack.tif"));
    }
    std::printf("%d pages of 8 MB: %.1f MB, %d: %.1f MB\n", counts[0], most[0] * 1e-6, counts[1], most[1] * 1e-6);
    EXPECT_LT(most[1], most[0] + (16 << 20));
}

TEST_F(PagesOfFiles, TinyOnesInGreatNumbersTakeNoMoreMemory) {
    std::string text;
    for (int i = 0; i < 500000; ++i) text += "P5 1 1 255\n\x07";
    write_text(at("many.pgm"), text);
    write_text(at("one.pgm"), text.substr(0, 12));
    const auto memory_of = [&](const std::string& name, const Names& more = {}, int code = all_done) {
        Names words{name, "-q", "--write", "none", "--engine", "cpu", "--memory", "16M"};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, code) << outcome.err;
        EXPECT_EQ(contains(outcome.err, " pages, and there is no memory to list the others"), code != all_done)
            << outcome.err;
        return outcome.most_memory;
    };
    const auto one = memory_of("one.pgm");
    EXPECT_LT(memory_of("many.pgm"), one + (8 << 20));  // 58 MB if they were listed
    EXPECT_LT(memory_of("many.pgm", {"--pages", "3"}), one + (12 << 20));
    EXPECT_LT(memory_of("many.pgm", {"--pages", "3,400000"}, inputs_failed), one + (12 << 20));
}

TEST_F(PagesOfFiles, FormatsAreListedWithTheirDecoders) {
    const Outcome text = run({"formats"}), json = run({"formats", "--format", "json"}),
                  markdown = run({"formats", "--format", "markdown"}), devices = run({"devices"});
    for (const Outcome& outcome : {text, json, markdown, devices}) {
        EXPECT_EQ(outcome.code, all_done);
        for (const char* library : {"libtiff", "libpng", "libwebp", "OpenJPEG", "OpenEXR"})
            EXPECT_TRUE(contains(outcome.out, library)) << outcome.out;
    }
    for (const Outcome& outcome : {text, json, markdown})
        for (const char* word : {"TIFF, BigTIFF", ".tif", "directories without overviews", "GIF", "Lab"})
            EXPECT_TRUE(contains(outcome.out, word)) << outcome.out;
    EXPECT_TRUE(contains(text.out, "\n  decoder      gpuhist\n")) << text.out;
    EXPECT_EQ(run({"formats"}, {Out::full_device}).code, output_failed);
    EXPECT_EQ(run({"formats", "--format", "xml"}).code, usage_error);
}

}  // namespace
