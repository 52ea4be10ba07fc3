// Results that are measured again, and what does not hold any more.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <sstream>

#include "support/directory.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

class VerifyCommand : public Directory {
  protected:
    void measure(const std::string& input, Names more = {}) const {
        more.insert(more.begin(), {input, "-q", "-o", "results"});
        ASSERT_LE(run(more).code, inputs_failed);
    }
    Outcome verify(Names more = {}) const {
        more.insert(more.begin(), {"verify", "results"});
        return run(more);
    }
    /// Replaces the field of a column in the last row of a table. No field of that row has a comma in it.
    void change(const std::string& table, const std::string& column, const std::string& value) const {
        const std::string text = read_text(at(table));
        const std::size_t start = text.rfind('\n', text.size() - 2) + 1;
        std::istringstream header(text.substr(0, text.find('\n'))), row(text.substr(start, text.size() - 1 - start));
        std::string changed, name, field;
        bool found = false;
        while (std::getline(header, name, ',')) {
            if (!std::getline(row, field, ',')) field.clear();
            found = found || name == column;
            changed += ',' + (name == column ? value : field);
        }
        ASSERT_TRUE(found) << column;
        write_text(at(table), text.substr(0, start) + changed.substr(1) + '\n');
    }
};

TEST_F(VerifyCommand, UnchangedImagesHold) {
    make_tree("set", 60);
    save_depths("set/depths", 20);
    measure("set", {"--robust", "--percentile-columns", "0.5,50,99.9"});
    const Outcome done = verify();
    EXPECT_EQ(done.code, all_done) << done.out << done.err;
    EXPECT_TRUE(contains(done.out, " images: all rows hold\n")) << done.out;
    EXPECT_EQ(verify({"-q"}).out, "");
    measure("set", {"--keep-counts"});
    EXPECT_TRUE(contains(verify().out, " images, of results by gpuhist ")) << verify().out;
}

TEST_F(VerifyCommand, EveryChangeIsFound) {
    for (int i = 0; i < 12; ++i) {
        cv::Mat image(20, 30, CV_8UC3);
        cv::RNG(static_cast<std::uint64_t>(i) + 1).fill(image, cv::RNG::UNIFORM, 0, 256);
        save("set/" + std::to_string(10 + i) + ".png", image);
    }
    measure("set");
    cv::Mat image = load("set/13.png");
    ++image.at<cv::Vec3b>(7, 8)[1];  // a green sample, one more
    save("set/13.png", image);
    fs::remove(at("set/15.png"));
    write_text(at("set/17.png"), "no image");
    save("set/19.png", cv::Mat(4, 5, CV_8UC1, cv::Scalar(9)));
    const Outcome done = verify();
    EXPECT_EQ(done.code, policy_broken);
    EXPECT_TRUE(contains(done.out, "gone  set/15.png\nchanged  set/13.png  green: ")) << done.out;
    EXPECT_TRUE(contains(done.out, "changed  set/17.png  fails now\n")) << done.out;
    EXPECT_TRUE(contains(done.out, "changed  set/19.png  has no row red now\n")) << done.out;
    EXPECT_TRUE(contains(done.out, "verified  12 images: 4 images do not hold\n")) << done.out;
    EXPECT_TRUE(contains(done.err, "set/17.png: ")) << done.err;
}

TEST_F(VerifyCommand, ChangedRowsAreFound) {
    save("set/1.png", cv::Mat(4, 5, CV_8UC1, cv::Scalar(9)));
    save("set/2.png", cv::Mat(4, 5, CV_8UC1, cv::Scalar(7)));
    measure("set");
    std::string rows = read_text(at("results/stats.csv"));
    const std::size_t place = rows.find(",7,7,7,");
    ASSERT_NE(place, rows.npos);
    rows[place + 1] = '6';
    write_text(at("results/stats.csv"), rows);
    EXPECT_EQ(verify().out, "changed  set/2.png  gray: min is 7, was 6\nverified  2 images: 1 image does not hold\n");
}

TEST_F(VerifyCommand, QualityIsVerified) {
    for (int i = 1; i <= 4; ++i) {
        cv::Mat image(40, 60, CV_8UC1);
        cv::RNG(static_cast<std::uint64_t>(i)).fill(image, cv::RNG::UNIFORM, 0, 256);
        save("set/" + std::to_string(i) + ".png", image);
    }
    measure("set", {"--quality", "--quality-scale", "32"});
    EXPECT_TRUE(contains(verify({"--quality-scale", "32"}).out, ": all rows hold\n")) << verify().out;
    EXPECT_TRUE(contains(verify().out, "  quality.csv: sharpness_laplacian is ")) << verify().out;
    measure("set", {"--quality"});
    EXPECT_EQ(verify().code, all_done) << verify().out;
    change("results/dataset.quality.csv", "measure_mean", "77");
    EXPECT_TRUE(contains(verify().out, ": measure_mean is ") && contains(verify().out, ", was 77\n")) << verify().out;
    change("results/quality.csv", "noise", "77");
    const Outcome done = verify();
    EXPECT_EQ(done.code, policy_broken);
    EXPECT_TRUE(contains(done.out, "  quality.csv: noise is ") && contains(done.out, ", was 77\n")) << done.out;
}

TEST_F(VerifyCommand, RegionsAreVerifiedByTheirOptions) {
    cv::Mat labels(20, 30, CV_8UC1, cv::Scalar(0));
    for (int i = 1; i <= 3; ++i) {
        cv::Mat image(20, 30, CV_8UC1);
        cv::RNG(static_cast<std::uint64_t>(i)).fill(image, cv::RNG::UNIFORM, 0, 256);
        save("set/" + std::to_string(i) + ".png", image);
        save("labels/" + std::to_string(i) + ".png", labels);  // the first has no regions
        labels(cv::Rect(2, 3, 5 * i, 4)).setTo(i);
    }
    const Names options{"--labels", "labels", "--group-by", "region"};
    measure("set", options);
    EXPECT_EQ(verify(options).out, "verified  3 images: all rows hold\n");
    EXPECT_EQ(verify().out, "verified  3 images: all rows hold\nnot verified  regions.csv, groups in dataset.csv\n");
    const std::string dataset = read_text(at("results/dataset.csv"));
    change("results/dataset.csv", "min", "255");
    EXPECT_TRUE(contains(verify(options).out, "changed  dataset.csv  2 u8 gray: min is ")) << verify(options).out;
    write_text(at("results/dataset.csv"), dataset);
    change("results/regions.csv", "mean", "7");
    const Outcome done = verify(options);
    EXPECT_EQ(done.code, policy_broken);
    EXPECT_TRUE(contains(done.out, "changed  set/3.png  regions.csv: 2 gray: mean is ")) << done.out;
    EXPECT_TRUE(contains(done.out, ", was 7\n")) << done.out;
    fs::remove_all(at("results"));
    measure("set", {"--labels", "labels", "--keep-counts"});
    EXPECT_TRUE(contains(verify().err, "give verify the same --labels")) << verify().err;
}

TEST_F(VerifyCommand, GroupsAreVerifiedWhenAskedFor) {
    make_tree("set", 30);
    measure("set", {"--group-by", "dir"});
    EXPECT_TRUE(contains(verify().out, "not verified  groups in dataset.csv\n")) << verify().out;
    const Outcome all = verify({"--group-by", "dir"});
    EXPECT_EQ(all.code, all_done) << all.out;
    EXPECT_FALSE(contains(all.out, "not verified")) << all.out;
    change("results/dataset.csv", "mean", "7");
    EXPECT_EQ(verify({"--group-by", "dir"}).code, policy_broken);
    EXPECT_EQ(verify().code, all_done);
}

TEST_F(VerifyCommand, SamplesAreChosenBySeeds) {
    for (int i = 0; i < 30; ++i) save("set/" + std::to_string(i) + ".png", cv::Mat(4, 5, CV_8UC1, cv::Scalar(i)));
    measure("set");
    fs::remove_all(at("set"));
    const auto gone = [&](const std::string& seed, const std::string& count) {
        return verify({"--sample", count, "--seed", seed}).out;
    };
    EXPECT_TRUE(contains(gone("1", "7"), "verified  7 images of 30: 7 images do not hold\n")) << gone("1", "7");
    EXPECT_EQ(gone("1", "7"), gone("1", "7"));
    EXPECT_EQ(gone("1", "7"), verify({"--sample", "7"}).out);
    EXPECT_NE(gone("1", "7"), gone("2", "7"));
    EXPECT_TRUE(contains(gone("1", "99"), "verified  30 images: 30 images do not hold\n"));
    EXPECT_EQ(verify({"--seed", "2"}).code, usage_error);
}

TEST_F(VerifyCommand, OptionsAreThoseOfTheRun) {
    cv::Mat image(20, 30, CV_8UC1);
    cv::randu(image, 0, 5);
    save("set/1.png", image);
    save("set/2.png", image);
    measure("set", {"--nodata", "0"});
    EXPECT_EQ(verify().code, policy_broken);
    EXPECT_EQ(verify({"--nodata", "0"}).code, all_done);
    measure("set", {"--nodata", "0", "--keep-counts"});
    const Outcome refused = verify();
    EXPECT_EQ(refused.code, data_refused);
    EXPECT_TRUE(contains(refused.err, "made with other options: give verify the same --nodata")) << refused.err;
    EXPECT_EQ(verify({"--nodata", "0"}).code, all_done);
}

TEST_F(VerifyCommand, PagesAndRepeatedImagesHold) {
    std::vector<cv::Mat> pages;
    for (int i = 0; i < 3; ++i) pages.push_back(cv::Mat(4, 5, CV_8UC1, cv::Scalar(i)));
    fs::create_directory(at("set"));
    std::string netpbm;
    for (const cv::Mat& page : pages) netpbm += "P5 5 4 255\n" + std::string(page.begin<char>(), page.end<char>());
    write_text(at("set/1.pgm"), netpbm);
    write_text(at("set/2.pgm"), netpbm);
    measure("set", {"--pages", "all"});
    EXPECT_EQ(verify().out, "verified  6 images: all rows hold\n") << verify().err;
    EXPECT_TRUE(contains(verify({"--sample", "2"}).out, "verified  2 images of 6: all rows hold\n"));
    write_text(at("list"), "set/1.pgm\nset/1.pgm\nset/2.pgm\nset/1.pgm\n");
    ASSERT_EQ(run({"--files-from", "list", "-q", "-o", "results"}).code, all_done);
    EXPECT_EQ(verify().out, "verified  4 images: all rows hold\n");
}

TEST_F(VerifyCommand, BrokenResultsAreRefused) {
    EXPECT_EQ(verify().code, data_refused);
    fs::create_directory(at("results"));
    EXPECT_TRUE(contains(verify().err, "stats.csv is missing"));
    write_text(at("results/stats.csv"), "path,mean\nset/1.png,3\n");
    const Outcome missing = verify();
    EXPECT_EQ(missing.code, data_refused);
    EXPECT_TRUE(contains(missing.err, "channel")) << missing.err;
    EXPECT_EQ(run({"verify"}).code, usage_error);
    EXPECT_EQ(run({"verify", "results", "set"}).code, usage_error);
    save("1.png", cv::Mat(4, 5, CV_8UC1, cv::Scalar(9)));
    ASSERT_EQ(run({"-", "-q", "--write", "stats", "-o", "piped"}, {.input = at("1.png").string()}).code, all_done);
    const Outcome piped = run({"verify", "piped"});
    EXPECT_EQ(piped.code, data_refused);
    EXPECT_TRUE(contains(piped.err, "standard input can't be measured again")) << piped.err;
}

}  // namespace
