// Runs over directories and lists: which files, in which order, and what comes of the whole set.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <sys/stat.h>

#include <algorithm>
#include <cctype>

#include "gpuhist/columns.hpp"
#include "gpuhist/io/report.hpp"
#include "support/directory.hpp"
#include "support/tiff_files.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

// --------------------------------------------------------------------------------------------------------- listing

TEST_F(Directory, IsWalkedInByteOrderOfWholePaths) {
    for (const char* name : {"dir/b.png", "dir/b/x.png", "dir/b-.png", "dir/a/z.PNG", "dir/Z.png", "dir/.hidden.png",
                             "dir/.hidden/y.png", "dir/\xc3\xa4.png", "dir/a/deep/er/y.png"})
        if (fs::path(name).extension() == ".PNG") {
            save_gray("dir/a/z.png");
            fs::rename(at("dir/a/z.png"), at(name));
        } else {
            save_gray(name);
        }
    fs::create_directory_symlink("..", at("dir/a/loop"));
    fs::create_symlink("b.png", at("dir/link.png"));
    EXPECT_EQ(measured({"dir"}), (Names{"dir/Z.png", "dir/a/deep/er/y.png", "dir/a/z.PNG", "dir/b-.png", "dir/b.png",
                                        "dir/b/x.png", "dir/link.png", "dir/\xc3\xa4.png"}));
    EXPECT_EQ(measured({"dir", "--no-recursive"}),
              (Names{"dir/Z.png", "dir/b-.png", "dir/b.png", "dir/link.png", "dir/\xc3\xa4.png"}));
}

TEST_F(Directory, NamesOfAnyBytesSurvive) {
    save_gray("dir/x.png");
    for (const char* name : {"new\nline.png", "not utf-8 \xff\xfe.png", "quote\".png", "comma,.png"})
        fs::copy_file(at("dir/x.png"), at("dir") / name);
    ASSERT_EQ(run({"dir", "--write", "stats,histogram"}).code, all_done);
    EXPECT_TRUE(fs::exists(at("gpuhist-out/new\nline.png.histogram.csv")));
    EXPECT_TRUE(fs::exists(at("gpuhist-out/not utf-8 \xff\xfe.png.histogram.csv")));
    const std::string stats = read_text(at("gpuhist-out/stats.csv"));
    for (const char* field : {"\n\"dir/new\nline.png\",", "\ndir/not utf-8 \xff\xfe.png,", "\n\"dir/quote\"\".png\",",
                              "\n\"dir/comma,.png\","})
        EXPECT_TRUE(contains(stats, field)) << field;
    const Outcome json = run({"dir", "--write", "none", "--format", "json"});
    EXPECT_EQ(std::count(json.out.begin(), json.out.end(), '\n'), 5);
}

TEST_F(Directory, MoreThreadsThanProcessorsAreNoMatter) {
    make_tree("dir", 30, 3);
    const Outcome two = run({"dir", "-q", "--format", "csv", "--threads", "2", "-o", "two"});
    const Outcome many = run({"dir", "-q", "--format", "csv", "--threads", "1000", "-o", "many"});
    EXPECT_EQ(many.code, two.code);
    EXPECT_EQ(many.err, two.err);
    EXPECT_EQ(many.out, two.out);
    expect_same_files("many", "two");
}

TEST_F(Directory, GlobsChooseFilesAndDirectories) {
    for (const char* name : {"dir/a1.png", "dir/a2.png", "dir/b1.png", "dir/sub/a1.png", "dir/skip/a1.png"})
        save_gray(name);
    EXPECT_EQ(measured({"dir", "--include", "a*"}),
              (Names{"dir/a1.png", "dir/a2.png", "dir/skip/a1.png", "dir/sub/a1.png"}));
    EXPECT_EQ(measured({"dir", "--include", "a1.png", "--include", "b*", "--exclude", "skip"}),
              (Names{"dir/a1.png", "dir/b1.png", "dir/sub/a1.png"}));
    EXPECT_EQ(measured({"dir", "--include", "sub/*"}), (Names{"dir/sub/a1.png"}));
    EXPECT_EQ(measured({"dir", "--exclude", "?1.png"}), (Names{"dir/a2.png"}));
    const Outcome none = run({"dir", "--include", "*.jpg"});
    EXPECT_EQ(none.code, inputs_failed);
    EXPECT_TRUE(contains(none.err, "dir: the directory has no images")) << none.err;
}

TEST_F(Directory, ArgumentsThatOverlapAreMeasuredOnce) {
    for (const char* name : {"dir/a.png", "dir/b/c.png", "dir/b/d/e.png", "f.png"}) save_gray(name);
    EXPECT_EQ(measured({"dir", "dir/b", "dir/a.png"}), (Names{"dir/a.png", "dir/b/c.png", "dir/b/d/e.png"}));
    EXPECT_EQ(measured({"dir/b/c.png", "dir/b", "dir"}), (Names{"dir/b/c.png", "dir/b/d/e.png", "dir/a.png"}));
    EXPECT_EQ(measured({"dir", "dir/b", "--no-recursive"}), (Names{"dir/a.png", "dir/b/c.png"}));
    fs::create_directory_symlink("dir", at("link"));
    const Outcome outcome = run({"dir", "link", "--write", "stats"});
    EXPECT_EQ(outcome.code, all_done);
    EXPECT_TRUE(contains(outcome.err, "link: 3 of its 3 images given more than once, measured once")) << outcome.err;
}

TEST_F(Directory, OutputsMirrorTheTreeUnderNamesThatDiffer) {
    for (const char* name : {"p/a/x.png", "q/a/x.png", "q/a/b/x.png", "x.png"}) save_gray(name);
    ASSERT_EQ(run({"q", "--write", "histogram", "-o", "one"}).code, all_done);
    EXPECT_EQ(files_below("one"), (Names{"a/b/x.png.histogram.csv", "a/x.png.histogram.csv"}));
    ASSERT_EQ(run({"p/a", "q/a", "x.png", "--write", "histogram", "-o", "several"}).code, all_done);
    EXPECT_EQ(files_below("several"), (Names{"p/a/x.png.histogram.csv", "q/a/b/x.png.histogram.csv",
                                             "q/a/x.png.histogram.csv", "x.png.histogram.csv"}));
    // The name of a file is no excuse to write into the tree of a directory.
    ASSERT_EQ(run({"q/a", "p/a/x.png", "x.png", "--write", "histogram", "-o", "both"}).code, all_done);
    EXPECT_EQ(files_below("both").size(), 4u);
}

TEST_F(Directory, ListsNameTheInputs) {
    for (const char* name : {"a/x.png", "b/y.png", "z.png"}) save_gray(name);
    write_text(at("list"), "b/y.png\n./a/../a/x.png\n\nz.png\nb/y.png");
    EXPECT_EQ(measured({"--files-from", "list"}), (Names{"b/y.png", "./a/../a/x.png", "z.png", "b/y.png"}));
    write_text(at("zeros"), std::string("z.png\0a/x.png\0", 14));
    EXPECT_EQ(measured({"--files-from", "zeros", "-0"}), (Names{"z.png", "a/x.png"}));
    Setting from_list;
    from_list.input = at("list").string();
    const Outcome outcome = run({"--files-from", "-", "--write", "histogram"}, from_list);
    EXPECT_EQ(outcome.code, all_done) << outcome.err;
    EXPECT_EQ(files_below("gpuhist-out"),
              (Names{"a/up/a/x.png.histogram.csv", "b/y.png.histogram.csv", "z.png.histogram.csv"}));
    EXPECT_EQ(run({"--files-from", "nowhere"}).code, inputs_failed);
    const Outcome mistaken = run({"--files-from", "zeros", "--write", "none"});
    EXPECT_EQ(mistaken.code, inputs_failed);
    EXPECT_TRUE(contains(mistaken.err, "zeros: a line has a zero byte: if zero bytes end the paths, add -0"))
        << mistaken.err;
    EXPECT_EQ(run({"--files-from", "list", "z.png"}).code, usage_error);
    EXPECT_EQ(run({"z.png", "-0"}).code, usage_error);
    EXPECT_EQ(run({"z.png", "--include", "*"}).code, usage_error);
}

// --------------------------------------------------------------------------------------------------- the whole set

TEST_F(Directory, TheSetIsMeasuredAsOneImageOfAllPixels) {
    for (const int type : {CV_8UC1, CV_8UC3, CV_8UC4, CV_16UC1, CV_16UC3}) {
        std::vector<cv::Mat> images;
        for (int i = 0; i < 5; ++i) {
            cv::Mat image(4 + i, 31, type);
            cv::randu(image, 10 * i, CV_MAT_DEPTH(type) == CV_8U ? 200 : 50000);
            images.push_back(image);
            save("dir/" + std::to_string(i) + ".png", image);
        }
        cv::Mat all;
        cv::vconcat(images, all);
        save("all.png", all);
        ASSERT_EQ(run({"dir", "-o", "set", "--engine", "cpu"}).code, all_done);
        const Outcome whole = run({"all.png", "-o", "one", "--engine", "cpu", "--write", "stats"});
        ASSERT_EQ(whole.code, all_done) << whole.err;
        const auto set = table(read_text(at("set/dataset.csv"))), one = table(read_text(at("one/stats.csv")));
        ASSERT_EQ(set.size(), one.size());
        for (std::size_t i = 0; i < set.size(); ++i)
            for (const gpuhist::Column& column : gpuhist::columns({}, gpuhist::ColumnFile::stats))
                if (column.of_channel) {
                    EXPECT_EQ(set[i].at(column.name), one[i].at(column.name)) << column.name;
                }
    }
}

TEST_F(Directory, AWhiteThatIsGivenIsThatOfEveryImage) {
    cv::Mat image(1, 4, CV_16UC1);
    const std::uint16_t samples[] = {0, 4095, 4094, 5000};
    std::copy(std::begin(samples), std::end(samples), image.ptr<std::uint16_t>());
    save("dir/a.png", image);
    save("dir/b.png", image);
    const auto expect = [&](const Names& more, const std::string& white, const std::string& clipped,
                            const std::string& mean_01) {
        Names words{"dir", "-o", "out", "--engine", "cpu"};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = run(words);
        ASSERT_EQ(outcome.code, all_done) << outcome.err;
        EXPECT_FALSE(contains(outcome.err, "different values of white")) << outcome.err;
        for (const auto& row : table(read_text(at("out/stats.csv")))) {
            EXPECT_EQ(row.at("white"), white);
            EXPECT_EQ(row.at("clipped_high"), clipped);
        }
        const auto set = table(read_text(at("out/dataset.csv"))).at(0);
        EXPECT_EQ(set.at("white"), white);
        EXPECT_EQ(set.at("clipped_high"), clipped);
        EXPECT_EQ(set.at("mean_01"), mean_01);
    };
    const double mean = 13189.0 / 4;
    expect({}, "65535", "0", gpuhist::io::shortest(mean / 65535));
    expect({"--white", "4095"}, "4095", "0.5", gpuhist::io::shortest(mean / 4095));
    expect({"--white", "4094.5"}, "4094.5", "0.5", gpuhist::io::shortest(mean / 4094.5));
}

TEST_F(Directory, ASetOfFloatsIsMeasuredAsOneImageOfAllPixels) {
    for (const int type : {CV_32FC1, CV_32FC3}) {
        fs::remove_all(at("dir"));
        const std::vector<cv::Mat> images = save_floats("dir", 4, type);
        cv::Mat all;
        cv::vconcat(images, all);
        save("all.pfm", all);
        const Outcome outcome = run({"dir", "-o", "set", "--bins", "50"});
        ASSERT_EQ(outcome.code, all_done) << outcome.err;
        ASSERT_EQ(run({"all.pfm", "-o", "one", "--bins", "50", "--write", "stats,histogram"}).code, all_done);
        const auto set = table(read_text(at("set/dataset.csv"))), one = table(read_text(at("one/stats.csv")));
        ASSERT_EQ(set.size(), one.size());
        for (std::size_t i = 0; i < set.size(); ++i) {
            for (const char* column : {"channel", "pixels", "nan", "inf", "min", "max", "entropy", "clipped_low"})
                EXPECT_EQ(set[i].at(column), one[i].at(column)) << column;
            for (const char* column : {"mean", "std", "skewness", "kurtosis"})
                EXPECT_NEAR(std::stod(set[i].at(column)), std::stod(one[i].at(column)), 1e-11) << column;
            EXPECT_GT(std::stoi(set[i].at("unique")), 100'000);
            for (const char* column : {"p01", "p05", "p25", "median", "p75", "p95", "p99"})
                EXPECT_EQ(set[i].at(column), one[i].at(column)) << column;
        }
        std::map<std::string, std::string> counts;  // of each channel, as the dataset writes them
        for (const auto& bin : table(read_text(at("one/all.pfm.histogram.csv"))))
            for (const auto& [channel, count] : bin)
                if (std::isdigit(bin.at("bin")[0])) counts[channel] += (counts[channel].empty() ? "" : ",") + count;
        const std::string json = read_text(at("set/dataset.json"));
        for (const char* channel : {"gray", "red", "green", "blue", "luma"})
            if (counts.count(channel)) {
                EXPECT_TRUE(contains(json, "\"counts\":[" + counts[channel] + "]")) << channel;
            }
        EXPECT_TRUE(fs::exists(at("set/dataset.histogram.png")));
    }
}

TEST_F(Directory, SetsOfManyFloatValuesDoNotDependOnCutOrThreads) {
    save_floats("dir", 9, CV_32FC3);
    make_tree("dir", 12, 3);
    const std::vector<std::string> common{"dir", "-q", "--group-by", "dir"};
    const auto arguments = [&](std::vector<std::string> more) {
        more.insert(more.begin(), common.begin(), common.end());
        return more;
    };
    const Outcome whole = run(arguments({"-o", "whole", "--threads", "1"}));
    ASSERT_LE(whole.code, inputs_failed) << whole.err;
    std::map<std::string, int> unique;  // of red, by group: 360,000 samples in all, 120,000 in each directory
    for (const auto& row : table(read_text(at("whole/dataset.csv"))))
        if (row.at("depth") == "f32" && row.at("channel") == "red")
            unique[row.at("group")] = std::stoi(row.at("unique"));
    EXPECT_GT(unique.at(""), 300'000);
    EXPECT_GT(unique.at("1"), 100'000);

    EXPECT_EQ(run(arguments({"-o", "five", "--threads", "5", "--memory", "1M"})).code, whole.code);
    expect_same_files("five", "whole");
    for (const char* part : {"3/4", "1/4", "4/4", "2/4"})
        EXPECT_LE(run(arguments({"-o", "parts", "--shard", part})).code, inputs_failed);
    EXPECT_GT(fs::file_size(at("parts/part-2-of-4.values")), std::uint64_t{1} << 16);
    EXPECT_EQ(run({"merge", "-q", "-o", "merged", "parts"}).code, whole.code);
    expect_same_files("merged", "whole");
    fs::resize_file(at("parts/part-2-of-4.values"), 99);
    const Outcome damaged = run({"merge", "-q", "-o", "merged", "parts"});
    EXPECT_EQ(damaged.code, data_refused);
    EXPECT_TRUE(contains(damaged.err, ": parts/part-2-of-4.values is missing, or shorter than the runs in it\n"))
        << damaged.err;
}

TEST_F(Directory, GroupsAreDirectories) {
    save_gray("set/cat/1.png", 10);
    save_gray("set/cat/2.png", 20);
    save_gray("set/dog/1.png", 90);
    save_gray("set/top.png", 200);
    ASSERT_EQ(run({"set", "--group-by", "dir"}).code, all_done);
    std::istringstream lines(read_text(at("gpuhist-out/dataset.csv")));
    Names beginnings;
    for (std::string line; std::getline(lines, line);) beginnings.push_back(line.substr(0, line.find(",0,0,")));
    EXPECT_EQ(beginnings,
              (Names{beginnings.front(), ",u8,gray,4,24", ".,u8,gray,1,6", "cat,u8,gray,2,12", "dog,u8,gray,1,6"}));
    EXPECT_EQ(run({"set", "--group-by", "dir", "--write", "none", "--format", "csv"}).code, usage_error);
}

TEST_F(Directory, EachGroupHasAPicture) {
    save_gray("set/cat/1.png", 10);
    save_gray("set/dog/1.png", 90);
    save_gray("set/top.png", 200);
    const Outcome outcome = run({"set", "--group-by", "dir"});
    ASSERT_EQ(outcome.code, all_done) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, " and 2 pictures of groups: DIR/dataset.histogram.png\n")) << outcome.out;
    EXPECT_EQ(files_below("gpuhist-out"),
              (Names{"cat/dataset.histogram.png", "dataset.csv", "dataset.histogram.png", "dataset.json",
                     "dataset.top.histogram.png", "dog/dataset.histogram.png", "stats.csv"}));
    // That of a group which is gone goes, with the others' in another format; a file of somebody else's stays.
    fs::remove_all(at("set/dog"));
    save_gray("set/eel/1.png", 30);
    fs::create_directories(at("gpuhist-out/eel"));
    write_text(at("gpuhist-out/eel/dataset.histogram.svg"), "mine");
    const Outcome again = run({"set", "--group-by", "dir", "--plot-format", "svg", "-q"});
    EXPECT_EQ(again.code, output_failed);
    EXPECT_TRUE(contains(again.err, "eel/dataset.histogram.svg: not written: gpuhist did not write")) << again.err;
    EXPECT_EQ(read_text(at("gpuhist-out/eel/dataset.histogram.svg")), "mine");
    EXPECT_EQ(files_below("gpuhist-out"),
              (Names{"cat/dataset.histogram.svg", "dataset.csv", "dataset.histogram.svg", "dataset.json",
                     "dataset.top.histogram.svg", "eel/dataset.histogram.svg", "stats.csv"}));
    EXPECT_TRUE(contains(read_text(at("gpuhist-out/cat/dataset.histogram.svg")), ">cat  1 image  u8, gray</text>"));
}

TEST_F(Directory, ANormalizationThatIsAskedForIsWritten) {
    save_gray("dir/a/x.png");
    save_gray("dir/y.png", 7);
    EXPECT_EQ(run({"dir", "-o", "plain", "-q"}).code, 0);
    EXPECT_FALSE(fs::exists(at("plain/y.png.normalized.png")));
    EXPECT_EQ(run({"dir", "-o", "mirrored", "-q", "--normalize", "minmax"}).code, 0);
    EXPECT_TRUE(fs::exists(at("mirrored/a/x.png.normalized.png")));
    EXPECT_TRUE(fs::exists(at("mirrored/y.png.normalized.png")));
}

TEST_F(Directory, HasOneTableUnlessOneOfEachIsAskedFor) {
    save_gray("dir/x.png", 1);
    save_gray("dir/y.png", 7);
    const auto whole = run({"dir"}).out;
    EXPECT_TRUE(contains(whole, "dir  2 images  u8\n")) << whole;
    EXPECT_FALSE(contains(whole, "dir/x.png")) << whole;
    const auto each = run({"dir", "--format", "table"}).out;
    EXPECT_TRUE(contains(each, "dir/x.png") && contains(each, "dir/y.png")) << each;
    EXPECT_FALSE(contains(each, "2 images")) << each;
}

TEST_F(Directory, OneTableForAllKeepsASeriesComparable) {
    save("set/dark.png", (cv::Mat_<std::uint8_t>(1, 3) << 10, 20, 30));
    save("set/sub/bright.png", (cv::Mat_<std::uint8_t>(1, 3) << 40, 60, 110));
    ASSERT_EQ(run({"set", "--link", "dataset", "--write", "stats,normalized", "--lut-out", "table.csv"}).code,
              all_done);
    const auto value = [&](const std::string& name, int x) {
        return static_cast<int>(load(name).at<std::uint8_t>(0, x));
    };
    const auto expected = [](int v) { return (2 * (v - 10) * 255 + 100) / 200; };  // of the set: 10 to 110
    for (int x = 0; x < 3; ++x) {
        EXPECT_EQ(value("gpuhist-out/dark.png.normalized.png", x), expected(10 + 10 * x));
        EXPECT_EQ(value("gpuhist-out/sub/bright.png.normalized.png", x), expected(x == 0 ? 40 : x == 1 ? 60 : 110));
    }
    ASSERT_EQ(run({"set", "--lut-in", "table.csv", "--write", "stats,normalized", "-o", "again"}).code, all_done);
    expect_same_files("again", "gpuhist-out");
    EXPECT_EQ(run({"set", "--lut-in", "missing.csv", "--write", "normalized"}).code, data_refused);
    EXPECT_EQ(run({"set", "--lut-in", "table.csv", "--link", "dataset", "--write", "normalized"}).code, usage_error);
}

TEST_F(Directory, OneTableForAllKeepsASeriesOfFloatsComparable) {
    for (const int type : {CV_32FC1, CV_32FC3})
        for (const std::string mode : {"minmax", "percentile", "equalize", "zscore"}) {
            SCOPED_TRACE(mode);
            for (const char* old : {"set", "linked", "again", "one"}) fs::remove_all(at(old));
            const std::vector<cv::Mat> images = save_floats("set", 4, type);
            cv::Mat all;
            cv::vconcat(images, all);
            save("all.pfm", all);
            const std::vector<std::string> common{"-q",         "--normalize", mode, "--write", "stats,normalized",
                                                  "--channels", "separate"};
            const auto normalize = [&](std::vector<std::string> more) {
                more.insert(more.end(), common.begin(), common.end());
                return run(more).code;
            };
            ASSERT_EQ(normalize({"set", "--link", "dataset", "--lut-out", "table.csv", "-o", "linked"}), all_done);
            ASSERT_EQ(normalize({"all.pfm", "-o", "one"}), all_done);
            const auto read = [&](const std::string& name) { return load(name); };
            const cv::Mat expected = read("one/all.pfm.normalized.tiff");
            ASSERT_EQ(expected.rows, 800);
            for (int i = 0; i < 4; ++i) {
                const cv::Mat got =
                    read("linked/" + std::to_string(i % 3) + "/" + std::to_string(i) + ".pfm.normalized.tiff");
                const cv::Mat wanted = expected.rowRange(200 * i, 200 * i + 200);
                ASSERT_EQ(got.size(), wanted.size());
                for (int y = 0; y < 200; ++y)
                    for (int x = 0; x < 200 * got.channels(); ++x) {
                        const float a = got.ptr<float>(y)[x], b = wanted.ptr<float>(y)[x];
                        if (mode == "zscore" && std::isfinite(b))
                            ASSERT_NEAR(a, b, 1e-6 * std::max(1.0F, std::abs(b)));
                        else
                            ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << a << " " << b;
                    }
            }
            ASSERT_EQ(run({"set", "-q", "--lut-in", "table.csv", "--write", "stats,normalized", "-o", "again"}).code,
                      all_done);
            expect_same_files("again", "linked");
        }
}

TEST_F(Directory, OneTableTellsEachErrorOnce) {
    save_floats("set", 3, CV_32FC3);
    for (const char* name : {"set/0/bad.png", "set/1/0.png", "set/1/99.png", "set/3.png"}) write_text(at(name), "no");
    const Outcome whole = run({"set", "-q", "--link", "dataset", "--normalize", "equalize", "-o", "whole"});
    ASSERT_EQ(whole.code, inputs_failed) << whole.err;
    const std::string errors = read_text(at("whole/errors.csv"));
    EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 5);
    EXPECT_EQ(std::count(whole.err.begin(), whole.err.end(), '\n'), 4) << whole.err;  // though read twice
}

TEST_F(Directory, JsonComesInOrder) {
    make_tree("dir", 60);
    const Outcome json = run({"dir", "--format", "json", "-q", "-o", "j"}),
                  csv = run({"dir", "--format", "csv", "-q", "-o", "c"});
    Names from_json;
    std::istringstream lines(json.out);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t start = line.find("\"path\":\"") + 8;
        from_json.push_back(line.substr(start, line.find('"', start) - start));
    }
    Names from_csv = paths(csv.out, "gray"), colors = paths(csv.out, "luma");
    from_csv.insert(from_csv.end(), colors.begin(), colors.end());
    EXPECT_TRUE(std::is_sorted(from_json.begin(), from_json.end()));
    std::sort(from_csv.begin(), from_csv.end());
    EXPECT_EQ(from_json, from_csv);
    EXPECT_EQ(csv.out, read_text(at("c/stats.csv")));
}

TEST_F(Directory, FewImagesShareTheThreads) {
    tiff_files::Spec spec;
    spec.compression = COMPRESSION_ADOBE_DEFLATE;
    spec.tile_width = spec.tile_height = 64;
    std::filesystem::create_directories(at("few"));
    for (const int number : {0, 1, 2, 3}) {
        cv::Mat picture(900 + number, 700, CV_16UC3);
        cv::randu(picture, 0, 4096);
        tiff_files::Memory memory;
        TIFF* tiff = tiff_files::open(memory, "w");
        tiff_files::write_page(tiff, picture, spec);
        TIFFClose(tiff);
        if (number == 2) std::fill_n(memory.bytes.begin() + static_cast<long>(memory.bytes.size() / 2), 9, '\0');
        write_text(at("few/" + std::to_string(number) + ".tif"), {memory.bytes.begin(), memory.bytes.end()});
    }
    for (const char* memory : {"4M", "1G"}) {
        for (const char* threads : {"1", "2", "16"})
            EXPECT_EQ(run({"few", "-q", "--engine", "cpu", "--write", "stats,histogram,normalized", "--memory", memory,
                           "--threads", threads, "-o", "by" + std::string(threads)})
                          .code,
                      inputs_failed);
        EXPECT_EQ(files_below("by1").size(), 5u + 3u + 3u);
        for (const char* other : {"by2", "by16"}) expect_same_files(other, "by1");
    }
}

TEST_F(Directory, ThreadsAndMemoryDoNotChangeAByte) {
    make_tree("dir", 150);
    const std::vector<std::string> common{"dir", "-q", "--write", "stats,histogram,normalized", "--group-by", "dir"};
    const auto run_into = [&](const std::string& output, std::vector<std::string> more) {
        more.insert(more.begin(), common.begin(), common.end());
        more.insert(more.end(), {"-o", output});
        EXPECT_EQ(run(more).code, inputs_failed);
    };
    run_into("one", {"--threads", "1", "--engine", "cpu"});
    run_into("two", {"--threads", "2"});
    run_into("five", {"--threads", "5"});
    run_into("tight", {"--threads", "5", "--memory", "1K"});
    EXPECT_GT(files_below("one").size(), 280u);
    for (const char* other : {"two", "five", "tight"}) expect_same_files(other, "one");
}

// ------------------------------------------------------------------------------------------------------- bad files

TEST_F(Directory, BadFilesOfEveryKindAreRowsOfErrors) {
    save_gray("dir/good.png");
    save("dir/half.png", make_image(60, 50, CV_8UC3));
    write_text(at("dir/half.png"), read_text(at("dir/half.png")).substr(0, 900));
    write_text(at("dir/empty.png"), "");
    write_text(at("dir/text.png"), "This is not an image.\n");
    write_text(at("dir/bomb.pgm"), "P5\n600000 600000\n255\n");
    write_text(at("dir/cube.tiff"), "\x89HDF\r\n\x1a\n, of another kind");
    save("dir/noise.jpg", make_image(60, 50, CV_8UC3));
    std::string list;
    for (const char* name : {"bomb.pgm", "cube.tiff", "empty.png", "good.png", "half.png", "text.png", "vanished.png",
                             "good.png/below.png"})
        list += std::string("dir/") + name + "\n";
    write_text(at("list"), list + "dir\n");
    const Outcome outcome = run({"--files-from", "list"});
    EXPECT_EQ(outcome.code, inputs_failed);
    std::istringstream lines(read_text(at("gpuhist-out/errors.csv")));
    Names rows;
    for (std::string line; std::getline(lines, line);)
        rows.push_back(line.substr(0, line.find(',', line.find(',') + 1)));
    EXPECT_EQ(rows, (Names{"path,kind", "dir/bomb.pgm,too_large", "dir/cube.tiff,unsupported",
                           "dir/empty.png,truncated", "dir/half.png,truncated", "dir/text.png,unsupported",
                           "dir/vanished.png,missing", "dir/good.png/below.png,missing", "dir,unreadable"}));
    EXPECT_EQ(paths(read_text(at("gpuhist-out/stats.csv"))), Names{"dir/good.png"});
    EXPECT_TRUE(contains(outcome.err,
                         "9 inputs, 8 errors (2 missing, 1 too_large, 2 truncated, 1 unreadable, 2 "
                         "unsupported), "))
        << outcome.err;
}

TEST_F(Directory, WithoutPermissionIsAnErrorAndTheRestIsDone) {
    save_gray("dir/a.png");
    save_gray("dir/locked/b.png");
    save_gray("dir/z.png");
    fs::permissions(root_, fs::perms::all);
    fs::permissions(directory_, fs::perms::all);
    fs::permissions(at("dir/a.png"), fs::perms::none);
    fs::permissions(at("dir/locked"), fs::perms::none);
    Setting setting;
    setting.nobody = true;
    const Outcome outcome = run({"dir"}, setting);
    fs::permissions(at("dir/locked"), fs::perms::owner_all);
    if (outcome.code == 126 || outcome.code == 127) GTEST_SKIP() << "the program cannot be run by another user";
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_TRUE(contains(outcome.err, "(2 permission)")) << outcome.err;
    EXPECT_EQ(paths(read_text(at("gpuhist-out/stats.csv"))), Names{"dir/z.png"});
    const std::string errors = read_text(at("gpuhist-out/errors.csv"));
    EXPECT_TRUE(contains(errors, "\ndir/a.png,permission,cannot be opened") &&
                contains(errors, "\ndir/locked,permission,cannot be listed"))
        << errors;
}

TEST_F(Directory, GivesUpWhenTooManyFail) {
    for (const char* name : {"b.png", "d.png", "f.png"})
        write_text((fs::create_directories(at("dir")), at("dir") / name), "no");
    for (const char* name : {"dir/a.png", "dir/c.png", "dir/e.png"}) save_gray(name);
    const Outcome fast = run({"dir", "--fail-fast", "--format", "csv"});
    EXPECT_EQ(fast.code, inputs_failed);
    EXPECT_EQ(paths(fast.out), Names{"dir/a.png"});
    EXPECT_TRUE(contains(fast.err, "stopped after 1 error")) << fast.err;
    EXPECT_EQ(paths(run({"dir", "--max-errors", "2", "--format", "csv", "-o", "two"}).out),
              (Names{"dir/a.png", "dir/c.png"}));
    EXPECT_EQ(paths(run({"dir", "--max-errors", "4", "--format", "csv", "-o", "four"}).out).size(), 3u);
}

}  // namespace
