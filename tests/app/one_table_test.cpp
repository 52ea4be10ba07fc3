// Sets of gray images among colors: one table, and one mean and std for training code. Copies that change nothing.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>

#include "support/directory.hpp"

namespace {

using namespace command;

cv::Mat random_image(int type, int low, int high) {
    cv::Mat image(17, 13, type);
    cv::randu(image, low, high + 1);
    return image;
}

/// Samples of an image as doubles.
std::vector<double> samples_of(const cv::Mat& image) {
    std::vector<double> samples;
    cv::Mat flat;
    image.reshape(1).convertTo(flat, CV_64F);
    for (int y = 0; y < flat.rows; ++y)
        samples.insert(samples.end(), flat.ptr<double>(y), flat.ptr<double>(y) + flat.cols);
    return samples;
}

/// Value written for each of a set of u8 samples, by the definitions of the modes.
std::vector<double> expected_table(const std::string& mode, std::vector<double> all) {
    std::sort(all.begin(), all.end());
    const auto n = static_cast<double>(all.size());
    const auto rank = [&](double percent) { return all[static_cast<std::size_t>(std::ceil(percent / 100 * n)) - 1]; };
    const double low = mode == "minmax" ? all.front() : rank(1), high = mode == "minmax" ? all.back() : rank(99);
    double mean = 0, square = 0;
    for (const double value : all) mean += value / n;
    for (const double value : all) square += (value - mean) * (value - mean) / n;
    const auto first = static_cast<double>(std::upper_bound(all.begin(), all.end(), all.front()) - all.begin());
    std::vector<double> table;
    for (int v = 0; v < 256; ++v) {
        const auto through = static_cast<double>(std::upper_bound(all.begin(), all.end(), v) - all.begin());
        if (mode == "zscore")
            table.push_back((v - mean) / std::sqrt(square));
        else if (mode == "equalize")
            table.push_back(std::rint(static_cast<float>(through - first) * (255 / static_cast<float>(n - first))));
        else
            table.push_back(std::floor((std::clamp<double>(v, low, high) - low) * 255 / (high - low) + 0.5));
    }
    return table;
}

TEST_F(Directory, GrayAmongColorsHasTheirTable) {
    const cv::Mat gray = random_image(CV_8UC1, 0, 100), color = random_image(CV_8UC3, 100, 200);
    save("set/1.png", gray);
    save("set/2.png", color);
    for (const std::string mode : {"minmax", "percentile", "equalize", "zscore"}) {
        SCOPED_TRACE(mode);
        std::vector<double> all = samples_of(gray), colors = samples_of(color);
        if (mode == "equalize") {  // the luma decides, of R = G = B it is the gray
            cv::Mat luma;
            cv::cvtColor(color, luma, cv::COLOR_BGR2GRAY);
            colors = samples_of(luma);
        } else {
            const std::vector<double> one = all;
            for (int copy = 0; copy < 2; ++copy) all.insert(all.end(), one.begin(), one.end());
        }
        all.insert(all.end(), colors.begin(), colors.end());
        const std::vector<double> table = expected_table(mode, all);
        ASSERT_EQ(
            run({"set", "-q", "--link", "dataset", "--normalize", mode, "--lut-out", "table.csv", "-o", mode}).code,
            all_done);
        ASSERT_EQ(run({"set", "-q", "--lut-in", "table.csv", "-o", "again"}).code, all_done);
        expect_same_files("again", mode);
        for (const auto& [name, image] : {std::pair("1", gray), std::pair("2", color)}) {
            const std::string file = mode + "/" + name + ".png.normalized." + (mode == "zscore" ? "tiff" : "png");
            const cv::Mat copy = load(file);
            ASSERT_EQ(copy.channels(), image.channels()) << file;
            const std::vector<double> from = samples_of(image), to = samples_of(copy);
            ASSERT_EQ(from.size(), to.size());
            for (std::size_t i = 0; i < from.size(); ++i)
                ASSERT_NEAR(to[i], table[static_cast<std::size_t>(from[i])], mode == "zscore" ? 1e-6 : 0) << file << i;
        }
        std::filesystem::remove_all(at("again"));
    }
}

TEST_F(Directory, GrayFloatsAmongColorsHaveTheirTable) {
    cv::Mat gray(9, 9, CV_32FC1), color(9, 9, CV_32FC3);
    cv::randu(gray, -2, 0);
    cv::randu(color, 0, 6);
    save("set/1.pfm", gray);
    save("set/2.pfm", color);
    ASSERT_EQ(run({"set", "-q", "--link", "dataset"}).code, all_done);
    double low = 0, high = 0, ignored = 0;
    cv::minMaxLoc(gray, &low, &ignored);
    cv::minMaxLoc(color.reshape(1), &ignored, &high);
    for (const auto& [name, image] : {std::pair("1", gray), std::pair("2", color)}) {
        const cv::Mat copy = load("gpuhist-out/" + std::string(name) + ".pfm.normalized.tiff");
        const std::vector<double> from = samples_of(image), to = samples_of(copy);
        ASSERT_EQ(from.size(), to.size());
        for (std::size_t i = 0; i < from.size(); ++i) ASSERT_NEAR(to[i], (from[i] - low) / (high - low), 1e-6);
    }
}

TEST_F(Directory, ASecondDepthCannotBeLinked) {
    save("set/1.png", random_image(CV_8UC1, 0, 100));
    save("set/2.png", random_image(CV_16UC3, 0, 100));
    save("set/3.png", random_image(CV_16UC1, 0, 100));
    const Outcome outcome = run({"set", "--link", "dataset"});
    EXPECT_EQ(outcome.code, usage_error);
    EXPECT_TRUE(contains(outcome.err, "set/2.png: is u16, but the images before it are u8")) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "--exclude")) << outcome.err;
    EXPECT_FALSE(contains(outcome.err, "3.png")) << outcome.err;
    EXPECT_EQ(files_below("gpuhist-out"), Names{});
    EXPECT_EQ(run({"set", "-q", "--link", "dataset", "--exclude", "1.png"}).code, all_done);
    EXPECT_EQ(run({"set", "-q", "--write", "stats", "--lut-out", "table.csv"}).code,
              all_done);  // a table of each depth
}

TEST_F(Directory, GrayAmongColorsHasNoSeparateTables) {
    save("gray/1.png", random_image(CV_8UC1, 0, 100));
    save("gray/2.png", random_image(CV_8UC3, 0, 100));
    save("color/1.png", random_image(CV_8UC3, 0, 100));
    save("color/2.png", random_image(CV_8UC1, 0, 100));
    for (const std::string set : {"gray", "color"})
        for (const Names& what : {Names{"--link", "dataset"}, Names{"--write", "stats", "--lut-out", "table.csv"}}) {
            std::vector<std::string> words{set, "--channels", "separate"};
            words.insert(words.end(), what.begin(), what.end());
            const Outcome outcome = run(words);
            EXPECT_EQ(outcome.code, usage_error) << outcome.err;
            EXPECT_TRUE(contains(outcome.err, set + "/2.png: is")) << outcome.err;
            EXPECT_TRUE(contains(outcome.err, "give --channels joint")) << outcome.err;
            EXPECT_EQ(files_below("gpuhist-out"), Names{});
        }
    EXPECT_EQ(run({"gray", "-q", "--channels", "separate"}).code, all_done);  // each by itself
}

TEST_F(Directory, InputsThatChangeBetweenThePassesAreErrorsByName) {
    for (int i = 0; i < 400; ++i) save_gray("set/" + std::to_string(i) + ".png", i % 200);
    for (const char* name : {"set/x.png", "set/y.png", "set/z.png"}) save_gray(name, 5);
    Names words{"set", "--link", "dataset", "--write", "stats,normalized", "-o", "out", "--checkpoint", "0.01"};
    words.insert(words.end(), {"--engine", "cpu", "--threads", "1"});
    Setting setting;
    setting.signal = SIGTERM;
    setting.after_file = "out/0.png.normalized.png";
    ASSERT_EQ(run(words, setting).code, was_interrupted);
    ASSERT_FALSE(fs::exists(at("out/x.png.normalized.png")));
    save("set/w.png", make_image(9, 9, CV_8UC1));  // it has the place of an earlier one
    fs::remove(at("set/y.png"));
    save("set/z.png", make_image(9, 9, CV_8UC1));
    words.emplace_back("--resume");
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, inputs_failed);
    const std::string w = "did not exist in the first pass: it gets no copy",
                      y = "is gone since the first pass: it gets no copy",
                      z = "was changed after the first pass: it gets no copy";
    for (const std::string& line : {"set/w.png: " + w, "set/y.png: " + y, "set/z.png: " + z})
        EXPECT_TRUE(contains(outcome.err, "gpuhist: " + line + "\n")) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "3 errors")) << outcome.err;
    const auto errors = table(read_text(at("out/errors.csv")));
    ASSERT_EQ(errors.size(), 3u);
    EXPECT_TRUE(contains(read_text(at("out/errors.csv")), "set/y.png,missing,")) << read_text(at("out/errors.csv"));
    EXPECT_TRUE(fs::exists(at("out/x.png.normalized.png")));
    for (const char* name : {"w", "y", "z"})
        EXPECT_FALSE(fs::exists(at("out/" + std::string(name) + ".png.normalized.png"))) << name;
}

TEST_F(Directory, BandsHaveNoTable) {
    const std::string bands = "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 3\nMAXVAL 255\nTUPLTYPE OTHER\nENDHDR\nabcdef";
    save("set/1.png", random_image(CV_8UC3, 0, 100));
    write_text(at("set/2.pam"), bands);
    std::filesystem::create_directory(at("bands"));
    for (const char* name : {"bands/1.pam", "bands/2.pam"}) write_text(at(name), bands);
    for (const auto& [set, copies] : {std::pair("set", 1), std::pair("bands", 0)}) {
        const Outcome outcome = run({set, "--link", "dataset", "-o", std::string("of ") + set});
        EXPECT_EQ(outcome.code, inputs_failed) << outcome.err;
        EXPECT_TRUE(contains(outcome.err, "2.pam: lookup tables don't exist for bands")) << outcome.err;
        const Names files = files_below(std::string("of ") + set);
        EXPECT_EQ(std::count(files.begin(), files.end(), "1.png.normalized.png"), copies);
        EXPECT_EQ(std::count(files.begin(), files.end(), "stats.csv"), 1);
    }
}

TEST_F(Directory, TrainingNumbersCountGrayAsColors) {
    for (const int type : {CV_8UC1, CV_16UC1, CV_32FC1}) {
        SCOPED_TRACE(type);
        const std::string extension = type == CV_32FC1 ? ".pfm" : ".png";
        std::filesystem::remove_all(directory_);
        std::filesystem::create_directory(directory_);
        const double top = type == CV_8UC1 ? 255 : type == CV_16UC1 ? 65535 : 1;
        std::vector<double> all[3];  // blue, green, red
        const auto add = [&](const std::string& name, const cv::Mat& image) {
            save("set/" + name + extension, image);
            std::vector<cv::Mat> planes;
            cv::split(image, planes);
            for (std::size_t c = 0; c < 3; ++c)
                for (const double value : samples_of(planes[planes.size() == 1 ? 0 : c])) all[c].push_back(value / top);
        };
        for (const char* name : {"1", "3", "4"}) {
            cv::Mat image(11, 7, type);
            cv::randu(image, 0, top / 2);
            add(name, image);
        }
        cv::Mat color(17, 13, CV_MAKETYPE(CV_MAT_DEPTH(type), 3));
        cv::randu(color, cv::Scalar(0, top / 4, top / 3), cv::Scalar::all(top));
        add("2", color);

        const Outcome outcome = run({"set", "--write", "stats"});
        ASSERT_EQ(outcome.code, all_done) << outcome.err;
        EXPECT_TRUE(contains(outcome.err, "3 gray images are treated as R = G = B")) << outcome.err;
        const auto json = nlohmann::json::parse(read_text(at("gpuhist-out/dataset.json"))).at(0);
        for (std::size_t c = 0; c < 3; ++c) {
            const std::vector<double>& samples = all[2 - c];
            double mean = 0, square = 0;
            for (const double value : samples) mean += value / static_cast<double>(samples.size());
            for (const double value : samples)
                square += (value - mean) * (value - mean) / static_cast<double>(samples.size());
            EXPECT_NEAR(json.at("normalize").at("mean").at(c).get<double>(), mean, 1e-12);
            EXPECT_NEAR(json.at("normalize").at("std").at(c).get<double>(), std::sqrt(square), 1e-12);
        }
        EXPECT_EQ(json.at("normalize_gray").at("mean").size(), 1U);
        for (const auto& row : json.at("channels"))  // rows of each kind stay
            EXPECT_EQ(row.at("images"), row.at("channel") == "gray" ? 3 : 1);
        for (const char* part : {"1/2", "2/2"})
            ASSERT_EQ(run({"set", "-q", "--write", "stats", "--shard", part, "-o", "parts"}).code, all_done);
        const Outcome merged = run({"merge", "parts", "-o", "merged"});
        EXPECT_TRUE(contains(merged.err, "3 gray images are treated as R = G = B")) << merged.err;
        expect_same_files("merged", "gpuhist-out");
    }
}

TEST_F(Directory, BandsAreLeftOutOfTrainingNumbersAndSaidSo) {
    save_gray("set/1.png");
    write_text(at("set/2.pam"), "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 3\nMAXVAL 255\nTUPLTYPE OTHER\nENDHDR\nabcdef");
    const Outcome outcome = run({"set", "--write", "stats"});
    EXPECT_TRUE(contains(outcome.err, "u8: 1 image is of bands, which are left out of \"normalize\"")) << outcome.err;
}

TEST_F(Directory, CopiesThatChangeNothingAreSaidSo) {
    cv::Mat spikes(20, 20, CV_8UC3, cv::Scalar(3, 4, 5));
    spikes.at<cv::Vec3b>(0, 0) = {200, 4, 5};
    cv::Mat floats(20, 20, CV_32FC1, cv::Scalar(0.25));
    floats.at<float>(3, 3) = 7;
    cv::Mat gray(20, 20, CV_16UC1, cv::Scalar(9));
    gray.at<std::uint16_t>(3, 3) = 10;
    save("set/0.png", make_image(20, 20, CV_8UC3));
    save("set/1.png", gray);
    save("set/2.pfm", floats);
    save("set/3.png", cv::Mat(20, 20, CV_8UC3, cv::Scalar(7, 7, 7)));
    save("spikes.png", spikes);
    const auto said = [&](std::vector<std::string> words) {
        words.insert(words.end(), {"--write", "normalized"});
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        return outcome.err;
    };
    const auto expect_in = [](const std::string& text, const std::string& part) {
        EXPECT_TRUE(contains(text, part)) << text;
    };
    expect_in(said({"set", "--normalize", "percentile"}),
              "set/1.png: its normalized copy is unchanged: both percentiles are one value (and 2 more)\n");
    const cv::Mat copy = load("gpuhist-out/1.png.normalized.png");
    EXPECT_EQ(cv::norm(copy, gray, cv::NORM_INF), 0);
    for (const char* mode : {"minmax", "equalize"})
        expect_in(said({"set", "--normalize", mode}),
                  "set/3.png: its normalized copy is unchanged: it has one value\n");
    EXPECT_FALSE(contains(said({"set", "--normalize", "zscore"}), "unchanged"));  // it becomes 0, as defined
    EXPECT_FALSE(contains(said({"set/0.png", "--normalize", "percentile"}), "unchanged"));
    const std::string separate = said({"spikes.png", "--channels", "separate"});
    expect_in(separate, "spikes.png: its normalized copy is unchanged in red green: each has one value\n");
    expect_in(said({"set", "--link", "dataset", "--normalize", "percentile", "--include", "1.png"}),
              "the table of all u16 images leaves every value as it is");
}

}  // namespace
