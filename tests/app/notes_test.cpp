// What a run says: numbers for training code, classes, the files written, and notes on what was other than expected.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <sstream>

#include "support/directory.hpp"
#include "support/tiff_files.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

Names lines_of(const std::string& text) {
    Names found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) found.push_back(line);
    return found;
}

class Notes : public Directory {
  protected:
    /// Two pixels each of one color and of another.
    static cv::Mat two_colors(const cv::Vec3b& one, const cv::Vec3b& other) {
        cv::Mat image(2, 2, CV_8UC3, cv::Scalar(one[2], one[1], one[0]));  // OpenCV has blue first
        image.row(1).setTo(cv::Scalar(other[2], other[1], other[0]));
        return image;
    }

    /// Standard error of a run that is done, without the summary of its time.
    Names notes(const std::vector<std::string>& words, int code = all_done) const {
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, code) << outcome.err;
        Names lines = lines_of(outcome.err);
        lines.erase(std::remove_if(lines.begin(), lines.end(),
                                   [](const std::string& line) { return contains(line, "the limit: "); }),
                    lines.end());
        return lines;
    }

    /// Lines of standard output that name files.
    Names wrote(const std::vector<std::string>& words) const {
        Names lines = lines_of(run(words).out);
        lines.erase(std::remove_if(lines.begin(), lines.end(),
                                   [](const std::string& line) { return line.rfind("wrote  ", 0) != 0; }),
                    lines.end());
        return lines;
    }
};

/// The engineer's job, as the README has it: a folder of classes, mean and std to paste, bad files named.
TEST_F(Notes, AFolderOfClassesForTraining) {
    save("train/cats/1.png", two_colors({0, 51, 102}, {255, 51, 102}));
    save("train/dogs/1.png", two_colors({255, 0, 0}, {255, 255, 0}));
    fs::copy_file(at("train/dogs/1.png"), at("train/dogs/2.jpg"));
    write_text(at("train/cats/cut.png"), read_text(at("train/cats/1.png")).substr(0, 50));
    write_text(at("train/dogs/page.jpg"), "<html>");
    fs::create_symlink("nowhere", at("train/dogs/gone.jpg"));
    const Outcome outcome = run({"train/", "--group-by", "dir"});
    EXPECT_EQ(outcome.code, inputs_failed);
    // Red has 10 pixels of 255 among 12: mean 10/12, std sqrt(10/12 * 2/12). Green has 4 of 0, 4 of 0.2, 4 of 1, blue 4
    // of 0.4 and 8 of 0; cats have 4 samples of 0.2, 4 of 0.4, 2 of 1 and 2 of 0, dogs as many of 1 as of 0.
    EXPECT_EQ(outcome.out, R"(train/  3 images  u8
         min  p01   median  p99  max     mean      std  entropy  unique  low %  high %
red        0    0  255.000  255  255  212.500   95.033    0.650       2  16.67   83.33
green      0    0   51.000  255  255  102.000  110.173    1.585       3  33.33   33.33
blue       0    0    0.000  102  102   34.000   48.083    0.918       2  66.67    0.00
luma      42   42   97.000  226  226  127.333   73.154    1.918       4   0.00    0.00
all        0    0   76.500  255  255  116.167  115.056    1.764       4  38.89   38.89
                                                                      █
red    ▃                                                              █
       █           █                                                  █
green  █           █                                                  █
       █
blue   █                        █
                          █                                    █
luma             █        █         █                          █
       0              64              128             192           256
normalize  mean [0.833333, 0.4, 0.133333]  std [0.372678, 0.432049, 0.188562]
group  images  channel  min  max     mean      std   mean_01    std_01
cats        1      all    0  255   93.500   80.189  0.366667  0.314466
dogs        2      all    0  255  127.500  127.500  0.500000  0.500000
wrote  gpuhist-out/dataset.csv dataset.histogram.png dataset.json errors.csv stats.csv and 2 pictures of groups: DIR/dataset.histogram.png
)");
    Names said = lines_of(outcome.err);
    ASSERT_FALSE(said.empty());
    EXPECT_EQ(said.back().rfind("gpuhist: 5 inputs, 2 errors (1 truncated, 1 unsupported), ", 0), 0U) << said.back();
    said.pop_back();
    EXPECT_EQ(said,
              (Names{"gpuhist: train/cats/cut.png: truncated: the PNG ends inside a chunk (at byte 33)",
                     "gpuhist: train/dogs/page.jpg: not an image: the file begins with text",
                     "gpuhist: train/dogs/gone.jpg: a broken link",
                     "gpuhist: train/dogs/2.jpg: named like a JPEG, but read as a PNG, according to its content"}));
    EXPECT_EQ(read_text(at("gpuhist-out/errors.csv")),
              "path,kind,message\n"
              "train/cats/cut.png,truncated,truncated: the PNG ends inside a chunk (at byte 33)\n"
              "train/dogs/page.jpg,unsupported,not an image: the file begins with text\n");
    const std::string json = read_text(at("gpuhist-out/dataset.json"));
    EXPECT_TRUE(contains(json, "\"normalize\":{\"mean\":[0.8333333333333334,0.4,0.13333333333333333]")) << json;
}

TEST_F(Notes, ManyClassesAreBounded) {
    for (int i = 0; i < 23; ++i) save_gray("set/" + std::to_string(100 + i) + "/x.png", i);
    const Names lines = lines_of(run({"set", "--group-by", "dir"}).out);
    const auto first =
        std::find_if(lines.begin(), lines.end(), [](const std::string& line) { return line.rfind("group ", 0) == 0; });
    ASSERT_EQ(lines.end() - first, 1 + 20 + 1 + 1) << testing::PrintToString(lines);
    EXPECT_EQ(first[20], "119         1     gray   19   19    19    0  0.0745098       0");
    EXPECT_EQ(first[21], "and 3 more groups: see gpuhist-out/dataset.csv");
    // Files that a shell lists have their classes, too.
    const std::string named = run({"set/100/x.png", "set/101/x.png", "--group-by", "dir", "--write", "stats"}).out;
    EXPECT_TRUE(contains(named, "\nset/101       1     gray    1    1     1    0  0.00392157       0\n")) << named;
}

TEST_F(Notes, AllThatWasWrittenIsNamed) {
    save("set/a/1.png", two_colors({0, 1, 2}, {3, 4, 5}));
    save("set/b/2.png", two_colors({9, 1, 2}, {3, 4, 5}));
    cv::Mat floats(2, 2, CV_32FC1, cv::Scalar(0.5F));
    save("set/b/3.pfm", floats);
    const std::string set = "wrote  out/dataset.csv dataset.histogram.png dataset.json ";
    EXPECT_EQ(wrote({"set", "-o", "out", "--normalize", "minmax"}),
              (Names{set + "stats.csv", "wrote  2 *.normalized.png, 1 *.normalized.tiff below out"}));
    EXPECT_EQ(wrote({"set/a", "-o", "copies", "--write", "normalized", "--normalize", "minmax"}),
              Names{"wrote  1 *.normalized.png below copies"});
    EXPECT_EQ(wrote({"set/a/1.png", "-o", "one"}),
              (Names{"wrote  one/1.png.histogram.csv .histogram.png .normalized.png", "wrote  one/stats.csv"}));
    EXPECT_EQ(
        wrote({"set/a", "-o", "linked", "--link", "dataset", "--write", "stats,normalized", "--lut-out", "t.csv"}),
        (Names{"wrote  linked/stats.csv", "wrote  1 *.normalized.png below linked", "wrote  t.csv"}));
    EXPECT_EQ(wrote({"set", "-o", "parts", "--shard", "1/2"}),
              Names{"wrote  parts/part-1-of-2.json part-1-of-2.stats.csv"});
    run({"set", "-o", "parts", "--shard", "2/2"});
    EXPECT_EQ(wrote({"merge", "-o", "out", "parts"}), Names{set + "stats.csv"});
}

TEST_F(Notes, InputsOtherThanExpectedAreCountedOnce) {
    save_gray("set/0.png", 7);
    fs::copy_file(at("set/0.png"), at("set/1.jpg"));
    fs::copy_file(at("set/0.png"), at("set/2.tif"));
    const auto pages = tiff_files::write(std::vector<cv::Mat>(3, cv::Mat(2, 2, CV_8UC1, cv::Scalar(9))));
    write_text(at("set/3.tif"), {pages.begin(), pages.end()});
    write_text(at("set/4.png"), "no image");
    write_text(at("set/5.pgm"), "P5 1 1 255\naP5 1 1 255\nb");  // two pages
    cv::Mat deep(2, 2, CV_16UC1, cv::Scalar(100));
    deep.at<std::uint16_t>(1, 1) = 4095;
    save("set/6.png", deep);
    deep.at<std::uint16_t>(1, 1) = 1000;
    save("set/7.png", deep);
    save("set/8.png", cv::Mat(2, 2, CV_8UC3, cv::Scalar(1, 2, 3)));
    const std::string bad = "gpuhist: set/4.png: not an image: the file begins with text";
    const Names expected{
        "gpuhist: set/1.jpg: named like a JPEG, but read as a PNG, according to its content (and 1 more)",
        "gpuhist: set/3.tif: only the first of its 3 pages is measured (and 1 more)",
        "gpuhist: u8: 5 gray images are treated as R = G = B in \"normalize\" (the first: set/0.png)",
        "gpuhist: u16: 2 images hold 12-bit data in 16 bits, but mean_01, std_01 and clipped_high refer to 65535: "
        "give --white 4095 (the first: set/6.png)"};
    Names whole = expected;
    whole.insert(whole.begin(), bad);
    EXPECT_EQ(notes({"set", "--threads", "1", "-o", "out"}, inputs_failed), whole);
    EXPECT_EQ(notes({"set", "--threads", "4", "-o", "out"}, inputs_failed), whole);
    EXPECT_EQ(notes({"set", "--write", "none"}, inputs_failed), whole);
    EXPECT_EQ(notes({"set", "-q", "-o", "out"}, inputs_failed), Names{bad});

    notes({"set", "-o", "resumed", "--fail-fast", "--threads", "1"}, inputs_failed);
    ASSERT_TRUE(fs::exists(at("resumed/gpuhist.journal")));
    EXPECT_EQ(notes({"set", "-o", "resumed", "--resume"}, inputs_failed), expected);

    for (const char* part : {"2/2", "1/2"}) run({"set", "-q", "-o", "parts", "--shard", part});
    Names merged = expected;
    merged.push_back("gpuhist: 1 input failed when the parts ran: see merged/errors.csv");
    EXPECT_EQ(notes({"merge", "parts", "-o", "merged"}, inputs_failed), merged);

    EXPECT_EQ(notes({"set/6.png", "--write", "stats"}),
              Names{"gpuhist: set/6.png: 12-bit data in 16 bits, but mean_01, std_01 and clipped_high refer to 65535: "
                    "give --white 4095"});
    EXPECT_EQ(notes({"set/6.png", "--write", "stats", "--white", "4095"}), Names{});
    EXPECT_EQ(notes({"set/1.jpg", "--write", "stats", "--white", "4095"}),
              (Names{"gpuhist: set/1.jpg: named like a JPEG, but read as a PNG, according to its content",
                     "gpuhist: set/1.jpg: --white is above 255, the highest value of its type"}));
    cv::Mat shifted = deep * 16;
    for (int i = 0; i < 4; ++i)
        shifted.at<std::uint16_t>(i / 2, i % 2) = static_cast<std::uint16_t>(i == 3 ? 65520 : 16 * i);
    save("shifted.png", shifted);
    EXPECT_EQ(notes({"shifted.png", "--write", "stats"}),
              Names{"gpuhist: shifted.png: 12-bit data in 16 bits, shifted left: the highest value is 65520, but "
                    "clipped_high, mean_01 and std_01 refer to 65535: give --white 65520"});
}

TEST_F(Notes, LinksThatLeadNowhereAndGlobsThatMatchNothing) {
    save_gray("set/a.png");
    save_gray("set/sub/b.png");
    fs::create_symlink("nowhere", at("set/gone.png"));
    fs::create_symlink("gone.png", at("set/sub/x.png"));
    const Names expected{"gpuhist: set/gone.png: a broken link (and 1 more)",
                         "gpuhist: --include '*.tif' matches nothing in the directories",
                         "gpuhist: --exclude 'thumbnail' matches nothing in the directories"};
    const Names words{"set", "--include", "*.png", "--include", "*.tif", "--include", "a*", "--exclude", "thumbnail"};
    const auto with = [&](const Names& more) {
        Names all = words;
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    EXPECT_EQ(notes(with({"-o", "out"})), expected);
    EXPECT_EQ(notes(with({"-o", "out", "-q"})), Names{});
    Names listed = notes(with({"--dry-run"}));
    ASSERT_FALSE(listed.empty());
    listed.pop_back();  // the summary
    EXPECT_EQ(listed, expected);
}

TEST_F(Notes, CopiesOfImagesThatFillTheirRange) {
    save("full.png", (cv::Mat_<std::uint8_t>(1, 3) << 0, 77, 255));
    save("part.png", (cv::Mat_<std::uint8_t>(1, 3) << 0, 77, 254));
    save("full.pfm", (cv::Mat_<float>(1, 3) << 0, 0.25, 1));
    const Names words{"--write", "normalized"};
    const auto said = [&](Names all) {
        all.insert(all.end(), words.begin(), words.end());
        return notes(all);
    };
    const std::string full = "its normalized copy is unchanged: it already fills the range of its type";
    EXPECT_EQ(said({"full.png"}), Names{"gpuhist: full.png: " + full});
    EXPECT_EQ(cv::norm(load("gpuhist-out/full.png.normalized.png"), load("full.png"), cv::NORM_INF), 0);
    EXPECT_EQ(said({"full.pfm"}), Names{"gpuhist: full.pfm: " + full});
    EXPECT_EQ(said({"part.png"}), Names{});
    EXPECT_EQ(said({"full.png", "--normalize", "zscore"}), Names{});
    EXPECT_EQ(said({"full.png", "--normalize", "percentile", "--percentiles", "0,100"}),
              Names{"gpuhist: full.png: its normalized copy is unchanged: its percentiles already are the ends of the "
                    "type's range"});
    EXPECT_EQ(said({"full.png", "full.pfm", "part.png"}), Names{"gpuhist: full.png: " + full + " (and 1 more)"});
    save("red.png", two_colors({0, 5, 6}, {255, 7, 8}));
    EXPECT_EQ(
        said({"red.png", "--channels", "separate"}),
        Names{"gpuhist: red.png: its normalized copy is unchanged in red: it already fills the range of its type"});
}

TEST_F(Notes, OptionsWithoutEffect) {
    save_gray("set/a.png");
    save_gray("set/b.png", 3);
    const std::string nothing = ": --resume has nothing to continue";
    EXPECT_EQ(notes({"set", "-o", "out", "--resume"}), Names{"gpuhist: out: holds no interrupted run" + nothing});
    EXPECT_EQ(notes({"set", "-o", "out", "--resume"}),
              Names{"gpuhist: --resume: out is finished: no input has changed"});
    EXPECT_EQ(notes({"set", "-o", "out", "--resume", "--group-by", "dir"}),
              Names{"gpuhist: out: holds a finished run, which is measured again" + nothing});
    EXPECT_EQ(notes({"set/a.png", "--write", "stats", "--resume", "--group-by", "dir"}),
              (Names{"gpuhist: --group-by needs a set, but the input is one image",
                     "gpuhist: --resume needs several inputs, but the input is one image"}));
}

TEST_F(Notes, SeparateChannelsOfGrayImages) {
    save_gray("set/a.png");
    save_gray("set/b.png", 3);
    const std::string note = "gpuhist: --channels separate changes nothing: ";
    const auto said = [&](const Names& words) {
        Names all = words;
        for (const char* word : {"--channels", "separate", "--write", "stats,normalized"}) all.emplace_back(word);
        Names lines = notes(all);
        lines.erase(std::remove_if(lines.begin(), lines.end(),
                                   [&](const std::string& line) { return line.rfind(note, 0) != 0; }),
                    lines.end());
        return lines;
    };
    EXPECT_EQ(said({"set/a.png"}), Names{note + "the image is gray"});
    EXPECT_EQ(said({"set"}), Names{note + "all 2 images are gray"});
    EXPECT_EQ(said({"set", "--link", "dataset"}), Names{note + "all 2 images are gray"});
    EXPECT_EQ(said({"set", "--shard", "1/2"}), Names{});  // which is a part
    save("set/c.png", two_colors({0, 5, 6}, {255, 7, 8}));
    EXPECT_EQ(said({"set"}), Names{});
    EXPECT_EQ(said({"set/c.png"}), Names{});
}

TEST_F(Notes, LinksToFollowThatAreNotThere) {
    save_gray("set/a.png");
    save_gray("other/b.png");
    fs::create_symlink("a.png", at("set/file.png"));  // links to files are read either way
    const std::string note = "gpuhist: --follow-links finds no link to a directory";
    EXPECT_EQ(notes({"set", "--follow-links", "--write", "stats"}), Names{note});
    const Names listed = notes({"set", "--follow-links", "--dry-run"});
    EXPECT_EQ(std::count(listed.begin(), listed.end(), note), 1);
    fs::create_symlink("../other", at("set/link"));
    EXPECT_EQ(notes({"set", "--follow-links", "--write", "stats"}), Names{});
    EXPECT_TRUE(contains(run({"set", "--follow-links", "--no-recursive"}).err,
                         "--follow-links enters subdirectories, which --no-recursive leaves out"));
}

TEST_F(Notes, PicturesOfAnMpo) {
    // A JPEG with an APP2 segment of MPF data, which list a first picture and its disparity.
    save("one.jpg", two_colors({0, 5, 6}, {255, 7, 8}));
    const std::string jpeg = read_text(at("one.jpg"));
    const auto hex = [](const std::string& digits) {
        std::string bytes;
        for (std::size_t i = 0; i < digits.size(); i += 2)
            bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
        return bytes;
    };
    const std::string mpf =
        hex("FFE2004C4D504600"
            "4D4D002A00000008"
            "0002"
            "B001000400000001"
            "00000002"
            "B002000700000020"
            "00000026"
            "00000000"
            "20030000000003E80000000000000000"
            "00020002000003E8000003E800000000");
    write_text(at("two.mpo.jpg"), jpeg.substr(0, 2) + mpf + jpeg.substr(2) + jpeg);
    EXPECT_EQ(notes({"two.mpo.jpg", "--write", "stats"}),
              Names{"gpuhist: two.mpo.jpg: only the first of its 2 pages is measured"});
}

}  // namespace
