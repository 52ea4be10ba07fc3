// Runs over directories and lists: which files, in which order, what comes of the whole set, and that nothing is lost
// whatever happens in between.
#include <sys/mount.h>
#include <sys/stat.h>

#include <cctype>
#include <cmath>
#include <map>
#include <random>
#include <sstream>

#include "support/command.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class Directory : public Command {
  protected:
    /// The first fields of the rows of stats.csv that name `channel`; fields hold no commas here.
    Names paths(const std::string& csv, const std::string& channel = "gray") const {
        Names found;
        std::istringstream lines(csv);
        for (std::string line; std::getline(lines, line);)
            if (contains(line, "," + channel + ",")) found.push_back(line.substr(0, line.find(',')));
        return found;
    }

    Names measured(std::vector<std::string> arguments) const {
        arguments.insert(arguments.end(), {"-q", "--format", "csv", "--write", "none", "--engine", "cpu"});
        return paths(run(arguments).out);
    }

    void save_gray(const std::string& name, int value = 1) const {
        save(name, cv::Mat(3, 2, CV_8UC1, cv::Scalar(value)));
    }

    /// Images of every depth and number of channels in a tree of directories, some of them bad.
    void make_tree(const std::string& root, int count, unsigned seed = 1) const {
        std::mt19937 random(seed);
        const Names directories{"", "a/", "a/b/", "a b/", "\xc3\xbc/", "a/b/c/d/"};
        const std::array types{CV_8UC1, CV_8UC3, CV_8UC4, CV_16UC1, CV_16UC3, CV_32FC1, CV_32FC3};
        for (int i = 0; i < count; ++i) {
            std::string name = root + "/" + directories[random() % directories.size()] + "image" + std::to_string(i);
            cv::Mat image(1 + static_cast<int>(random() % 24), 1 + static_cast<int>(random() % 24),
                          types[random() % types.size()]);
            name += image.depth() == CV_32F ? ".pfm" : ".png";
            cv::randu(image, 0, image.depth() == CV_8U ? 256 : image.depth() == CV_16U ? 65536 : 1);
            save(name, image);
            const unsigned luck = random() % 40;
            if (luck == 0) write_text(at(name), read_text(at(name)).substr(0, 30));
            if (luck == 1) write_text(at(name), "no image");
        }
    }

    /// Images of floats, each with 40,000 values of its own in a channel.
    std::vector<cv::Mat> save_floats(const std::string& root, int count, int type) const {
        std::vector<cv::Mat> images;
        for (int i = 0; i < count; ++i) {
            cv::Mat image(200, 200, type);
            cv::randn(image, cv::Scalar::all(0.1 * i), cv::Scalar::all(1 + i));
            image.at<float>(3, 4) = std::nanf("");
            image.at<float>(5, i) = -INFINITY;
            save(root + "/" + std::to_string(i % 3) + "/" + std::to_string(i) + ".pfm", image);
            images.push_back(image);
        }
        return images;
    }

    /// A table of CSV whose fields hold no commas, each row by the names of the columns.
    std::vector<std::map<std::string, std::string>> table(const std::string& csv) const {
        std::vector<std::map<std::string, std::string>> rows;
        Names names;
        std::istringstream lines(csv);
        for (std::string line; std::getline(lines, line);) {
            Names fields(1);
            for (const char byte : line)
                if (byte == ',')
                    fields.emplace_back();
                else
                    fields.back() += byte;
            if (names.empty()) {
                names = fields;
                continue;
            }
            auto& row = rows.emplace_back();
            for (std::size_t i = 0; i < fields.size(); ++i) row[names.at(i)] = fields[i];
        }
        return rows;
    }

    /// A run into a directory that is killed again and again and goes on, until it ends as another has.
    void expect_end_after_kills(std::vector<std::string> words, const std::string& output, const Outcome& whole) const {
        words.insert(words.end(), {"--checkpoint", "0.01", "--resume"});
        std::mt19937 random(5);
        int kills = 0;
        for (int round = 0; kills == 0 && round < 20; ++round) {  // a busy machine kills late
            fs::remove_all(at(output));
            Outcome outcome;
            for (int attempt = 0; attempt < 40; ++attempt) {
                Setting setting;
                setting.signal = attempt < 39 ? SIGKILL : 0;
                setting.after_seconds = whole.seconds * static_cast<double>(random() % 1000) / 1000;
                outcome = run(words, setting);
                if (outcome.code == whole.code) break;
                ASSERT_EQ(outcome.code, -SIGKILL) << outcome.err;
                ++kills;
            }
            ASSERT_EQ(outcome.code, whole.code) << outcome.err;
        }
        EXPECT_GE(kills, 1);
    }

    /// Every file below a directory, with its bytes.
    std::map<std::string, std::string> contents(const std::string& name) const {
        std::map<std::string, std::string> files;
        for (const std::string& file : files_below(name)) files[file] = read_text(at(name) / file);
        return files;
    }

    void expect_same_files(const std::string& actual, const std::string& expected) const {
        EXPECT_EQ(files_below(actual), files_below(expected));
        const auto there = contents(actual);
        for (const auto& [name, bytes] : contents(expected)) {
            const auto found = there.find(name);
            EXPECT_TRUE(found == there.end() || found->second == bytes) << name << " differs";
        }
    }
};

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
    EXPECT_TRUE(contains(none.err, "dir: a directory without images")) << none.err;
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
    EXPECT_TRUE(contains(mistaken.err, "zeros: a zero byte in a line: if its paths end with such bytes, add -0"))
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
        std::istringstream set(read_text(at("set/dataset.csv"))), one(read_text(at("one/stats.csv")));
        std::map<std::string, std::string> expected;  // channel, numbers
        const auto cut = [](const std::string& line, int fields) {
            std::size_t place = 0;
            while (fields-- > 0) place = line.find(',', place) + 1;
            return line.substr(place);
        };
        for (std::string line; std::getline(one, line);) {
            const std::string rest = cut(line, 4);
            expected[rest.substr(0, rest.find(','))] = cut(line, 5);
        }
        std::size_t rows = 0;
        for (std::string line; std::getline(set, line); ++rows) {
            const std::string rest = cut(line, 2), channel = rest.substr(0, rest.find(','));
            const std::string numbers = cut(line, 4), &wanted = expected.at(channel);
            EXPECT_EQ(numbers.substr(0, wanted.size()), wanted) << channel;
        }
        EXPECT_EQ(rows, expected.size());
    }
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

TEST_F(Directory, SetsOfManyFloatValuesDoNotDependOnCutThreadsOrInterruption) {
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
    EXPECT_EQ(damaged.code, inputs_failed);
    EXPECT_EQ(damaged.err, "gpuhist: parts/part-2-of-4.values: it is truncated\n");

    auto words = arguments({"-o", "out"});
    expect_end_after_kills(words, "out", whole);
    expect_same_files("out", "whole");
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
        return static_cast<int>(cv::imread(at(name).string(), cv::IMREAD_UNCHANGED).at<std::uint8_t>(0, x));
    };
    const auto expected = [](int v) { return (2 * (v - 10) * 255 + 100) / 200; };  // of the set: 10 to 110
    for (int x = 0; x < 3; ++x) {
        EXPECT_EQ(value("gpuhist-out/dark.png.normalized.png", x), expected(10 + 10 * x));
        EXPECT_EQ(value("gpuhist-out/sub/bright.png.normalized.png", x), expected(x == 0 ? 40 : x == 1 ? 60 : 110));
    }
    ASSERT_EQ(run({"set", "--lut-in", "table.csv", "--write", "stats,normalized", "-o", "again"}).code, all_done);
    expect_same_files("again", "gpuhist-out");
    EXPECT_EQ(run({"set", "--lut-in", "missing.csv", "--write", "normalized"}).code, inputs_failed);
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
            const auto read = [&](const std::string& name) {
                return cv::imread(at(name).string(), cv::IMREAD_UNCHANGED);
            };
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

TEST_F(Directory, OneTableOfManyFloatValuesSurvivesKills) {
    save_floats("set", 9, CV_32FC3);  // 360,000 values
    for (const char* name : {"set/0/bad.png", "set/1/0.png", "set/1/99.png", "set/3.png"}) write_text(at(name), "no");
    std::vector<std::string> words{"set",      "-q",      "--link",           "dataset",   "--normalize",
                                   "equalize", "--write", "stats,normalized", "--lut-out", "table.csv"};
    const auto link_into = [&](const std::string& output) {
        auto arguments = words;
        arguments.insert(arguments.end(), {"-o", output});
        return arguments;
    };
    const Outcome whole = run(link_into("whole"));
    ASSERT_EQ(whole.code, inputs_failed) << whole.err;
    const std::string errors = read_text(at("whole/errors.csv"));
    EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 5);
    EXPECT_EQ(std::count(whole.err.begin(), whole.err.end(), '\n'), 4) << whole.err;  // each is told once
    const std::string table = read_text(at("table.csv"));
    expect_end_after_kills(link_into("out"), "out", whole);
    EXPECT_TRUE(read_text(at("table.csv")) == table);
    expect_same_files("out", "whole");
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
    write_text(at("dir/bomb.pgm"), "P5\n60000 60000\n255\n");
    save("dir/double.tiff", cv::Mat(8, 8, CV_64FC1, cv::Scalar(0.5)));
    save("dir/noise.jpg", make_image(60, 50, CV_8UC3));
    std::string list;
    for (const char* name : {"bomb.pgm", "double.tiff", "empty.png", "good.png", "half.png", "text.png", "vanished.png",
                             "good.png/below.png"})
        list += std::string("dir/") + name + "\n";
    write_text(at("list"), list + "dir\n");
    const Outcome outcome = run({"--files-from", "list"});
    EXPECT_EQ(outcome.code, inputs_failed);
    std::istringstream lines(read_text(at("gpuhist-out/errors.csv")));
    Names rows;
    for (std::string line; std::getline(lines, line);)
        rows.push_back(line.substr(0, line.find(',', line.find(',') + 1)));
    EXPECT_EQ(rows, (Names{"path,kind", "dir/bomb.pgm,too_large", "dir/double.tiff,unsupported",
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

// ---------------------------------------------------------------------------------------------------- interruptions

TEST_F(Directory, KilledAtAnyMomentAndResumedGivesTheSameBytes) {
    make_tree("dir", 250);
    const std::vector<std::string> common{"dir",        "-q",  "--write",  "stats,histogram",
                                          "--group-by", "dir", "--format", "csv"};
    const auto arguments = [&](std::vector<std::string> more) {
        more.insert(more.begin(), common.begin(), common.end());
        return more;
    };
    const Outcome whole = run(arguments({"-o", "whole"}));
    ASSERT_EQ(whole.code, inputs_failed);
    std::mt19937 random(7);
    int kills = 0;
    for (int round = 0; round < 4 || (kills < 4 && round < 40); ++round) {  // a busy machine kills late
        fs::remove_all(at("out"));
        Outcome outcome;
        bool resume = false;
        for (int attempt = 0; attempt < 40; ++attempt) {
            auto words =
                arguments({"-o", "out", "--checkpoint", "0.01", "--threads", std::to_string(1 + random() % 4)});
            if (resume) words.push_back("--resume");
            Setting setting;
            setting.signal = random() % 5 == 0 ? SIGINT : SIGKILL;
            setting.after_seconds = whole.seconds * 1.2 * static_cast<double>(random() % 1000) / 1000;
            if (attempt == 39) setting.signal = 0;
            outcome = run(words, setting);
            if (outcome.code == inputs_failed) break;
            ASSERT_TRUE(outcome.code == -SIGKILL || outcome.code == was_interrupted || outcome.code == -SIGINT)
                << outcome.code << outcome.err;
            ++kills;
            resume = true;
        }
        ASSERT_EQ(outcome.code, inputs_failed) << outcome.err;
        expect_same_files("out", "whole");
    }
    EXPECT_GE(kills, 4);
}

TEST_F(Directory, InterruptedSaysHowToResume) {
    make_tree("dir", 1500);
    Setting setting;
    setting.signal = SIGTERM;
    setting.after_file = "gpuhist-out/stats.csv.partial";
    const Outcome outcome = run({"dir", "--write", "stats", "-q"}, setting);
    ASSERT_EQ(outcome.code, was_interrupted) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "interrupted: ") && contains(outcome.err, "--resume goes on")) << outcome.err;
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
    save_gray("dir/a.png");
    save_gray("dir/b.png");
    EXPECT_EQ(run({"dir", "--resume"}).code, output_failed);
    const Outcome outcome = run({"dir"});
    EXPECT_EQ(outcome.code, all_done);
    EXPECT_TRUE(contains(outcome.err, "holds an interrupted run")) << outcome.err;
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
    EXPECT_TRUE(contains(outcome.err, "out/gpuhist.values.partial: is not what the checkpoint says of it"))
        << outcome.err;
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

TEST_F(Directory, PartsOfARunMergeToTheSameBytes) {
    make_tree("dir", 120);
    for (const char* name : {"dir/\xff.png", "dir/a, \"b\".png", "dir/a/line\nend.png"}) write_text(at(name), "no");
    ASSERT_EQ(run({"dir", "-q", "--group-by", "dir", "-o", "whole"}).code, inputs_failed);
    for (const char* part : {"2/3", "1/3", "3/3"})
        EXPECT_LE(run({"dir", "-q", "--group-by", "dir", "-o", "parts", "--shard", part}).code, inputs_failed);
    EXPECT_EQ(files_below("parts").size(), 6u);
    EXPECT_EQ(run({"merge", "-q", "-o", "merged", "parts"}).code, inputs_failed);
    expect_same_files("merged", "whole");
    EXPECT_EQ(run({"dir", "--shard", "4/3"}).code, usage_error);
    EXPECT_EQ(run({"dir", "--shard", "1/2", "--write", "normalized"}).code, usage_error);
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
    EXPECT_EQ(refused.code, inputs_failed);
    EXPECT_TRUE(contains(refused.err, "--percentile-columns is 0.5,50,99.5 in one and 1,50 in the other"))
        << refused.err;
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

TEST_F(Directory, APartThatIsKilledAndResumedHasTheSameBytes) {
    make_tree("dir", 250);
    for (int i = 0; i < 50; ++i) write_text(at("dir/bad" + std::to_string(i) + ".png"), "no");
    const Outcome whole = run({"dir", "-q", "--shard", "2/2", "-o", "whole"});
    ASSERT_EQ(whole.code, inputs_failed);
    expect_end_after_kills({"dir", "-q", "--shard", "2/2", "-o", "out"}, "out", whole);
    expect_same_files("out", "whole");
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
    save_floats("dir", 9, CV_32FC3);  // 360,000 values a channel: its part file takes a while
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
    EXPECT_EQ(run_script(directory_, script), inputs_failed);
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

// ----------------------------------------------------------------------------------------------------------- memory

TEST_F(Directory, LargeNumbersOfFilesTakeNoMoreMemory) {
    save("tiny.png", make_image(16, 16, CV_8UC3));
    const auto fill = [&](const std::string& name, int from, int to) {
        for (int i = from; i < to; ++i) {  // a file system allows only so many links to one file
            const fs::path directory = at(name) / std::to_string(i / 1000), first = directory / "0.png";
            if (i % 1000 == 0) {
                fs::create_directories(directory);
                fs::copy_file(at("tiny.png"), first);
            } else {
                fs::create_hard_link(first, directory / (std::to_string(i) + ".png"));
            }
        }
    };
    fill("some", 0, 5000);
    fill("many", 0, 60000);
    fill("more", 0, 40000);
    // What is in flight depends on the number of threads, and on their luck.
    const Outcome some = run({"some", "-q", "--write", "stats", "--threads", "2"});
    const Outcome many = run({"many", "more", "-q", "--write", "stats", "--threads", "2"});
    ASSERT_EQ(some.code, all_done) << some.err;
    ASSERT_EQ(many.code, all_done) << many.err;
    std::printf("5,000 files: %.1f MB, 100,000 files: %.1f MB, %.0f files/s\n", some.most_memory * 1e-6,
                many.most_memory * 1e-6, 100000 / many.seconds);
    EXPECT_LT(many.most_memory, some.most_memory + (8 << 20));
    const std::string stats = read_text(at("gpuhist-out/stats.csv"));
    EXPECT_EQ(std::count(stats.begin(), stats.end(), '\n'), 500001);
}

TEST_F(Directory, LargeNumbersOfFloatValuesTakeNoMoreMemory) {
    const auto save_tens = [&](const std::string& name, int tens) {
        for (int i = 0; i < tens; ++i) save_floats(name + "/" + std::to_string(i), 10, CV_32FC3);
    };
    save_tens("some", 16);
    save_tens("many", 80);
    for (const int threads : {1, 2}) {
        const auto measure = [&](const std::string& name, const std::vector<std::string>& options = {}) {
            std::vector<std::string> words{name, "-q", "--write", "stats", "--threads", std::to_string(threads)};
            words.insert(words.end(), options.begin(), options.end());
            const Outcome outcome = run(words);
            EXPECT_EQ(outcome.code, all_done) << outcome.err;
            return outcome.most_memory;
        };
        const auto some = measure("some"), many = measure("many");
        const auto little = measure("many", {"--memory", "1M"});  // of which no pixels are kept for the next image
        std::printf(
            "%d threads, 6.4 million values a channel: %.1f MB, 32 million: %.1f MB, with --memory 1M %.1f MB\n",
            threads, some * 1e-6, many * 1e-6, little * 1e-6);
        // How many images are in flight at worst is luck where threads meet: 5 MB each.
        EXPECT_LT(many, some + threads * (16 << 20));
        EXPECT_LT(little, some + threads * (16 << 20));
    }
}

TEST_F(Directory, LargeNumbersOfFailuresTakeNoMoreMemory) {
    const auto most_memory = [&](int count) {
        std::ofstream list(at("list"));
        for (int i = 0; i < count; ++i) list << std::string(100, 'x') << "/there is no image " << i << ".png\n";
        list.close();
        fs::remove_all(at("parts"));
        std::array<std::int64_t, 2> most{};  // of the parts, of the merge
        for (const char* part : {"1/2", "2/2"}) {
            const Outcome outcome = run({"--files-from", "list", "-q", "--write", "stats", "--engine", "cpu",
                                         "--threads", "2", "--shard", part, "--checkpoint", "0.1", "-o", "parts"});
            EXPECT_EQ(outcome.code, inputs_failed);
            most[0] = std::max(most[0], outcome.most_memory);
        }
        const Outcome outcome = run({"merge", "-q", "parts"});
        EXPECT_EQ(outcome.code, inputs_failed) << outcome.err;
        most[1] = outcome.most_memory;
        const std::string errors = read_text(at("gpuhist-out/errors.csv"));
        EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), count + 1);
        return most;
    };
    const auto some = most_memory(5000), many = most_memory(200000);
    std::printf("5,000 failures: %.1f MB, merged %.1f MB; 200,000: %.1f MB, merged %.1f MB\n", some[0] * 1e-6,
                some[1] * 1e-6, many[0] * 1e-6, many[1] * 1e-6);
    EXPECT_LT(many[0], some[0] + (8 << 20));
    EXPECT_LT(many[1], some[1] + (8 << 20));
}

}  // namespace
