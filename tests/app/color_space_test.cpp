// Color spaces in runs: strips, sets, shards, regions, joint histograms, copies, and what can't be combined. The
// numbers are those of OpenCV's converted images, measured as bands.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <map>
#include <opencv2/imgproc.hpp>

#include "support/directory.hpp"
#include "support/exr_files.hpp"
#include "support/tiff_files.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

class ColorSpaces : public Directory {
  protected:
    using Row = std::map<std::string, std::string>;

    std::map<std::string, Row> by_channel(const std::string& csv) const {
        std::map<std::string, Row> rows;
        for (const Row& row : table(csv)) rows[row.at("channel")] = row;
        return rows;
    }
    std::map<std::string, Row> rows_of(Names words) const {
        words.insert(words.end(), {"-q", "--format", "csv", "--write", "none", "--engine", "cpu"});
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        return by_channel(outcome.out);
    }
    /// Expects the numbers of a channel of OpenCV's.
    static void expect_channel(const Row& row, const cv::Mat& converted, int place, const cv::Mat& mask = {}) {
        cv::Mat channel;
        cv::extractChannel(converted, channel, place);
        double low = 0, high = 0;
        cv::minMaxLoc(channel, &low, &high, nullptr, nullptr, mask);
        EXPECT_EQ(std::stod(row.at("min")), low);
        EXPECT_EQ(std::stod(row.at("max")), high);
        EXPECT_NEAR(std::stod(row.at("mean")), cv::mean(channel, mask)[0], 1e-9);
    }
    cv::Mat picture(const std::string& name) const { return gpuhist::test::read_picture(at(name)); }
    cv::Mat noise(int width, int height, int type, double below = 256) const {
        cv::Mat image(height, width, type);
        cv::randu(image, 0, below);
        return image;
    }
    void save_tiff(const std::string& name, const cv::Mat& samples, tiff_files::Spec spec) const {
        fs::create_directories(at(name).parent_path());
        const tiff_files::Bytes file = tiff_files::write(samples, spec);
        write_text(at(name), std::string(file.begin(), file.end()));
    }
};

TEST_F(ColorSpaces, MeasureWhatOpenCvConverts) {
    const cv::Mat image = noise(70, 50, CV_8UC3);
    save("image.png", image);
    cv::Mat converted;
    cv::cvtColor(image, converted, cv::COLOR_BGR2HSV);
    auto rows = rows_of({"image.png", "--space", "hsv"});
    EXPECT_EQ(rows.size(), 4U);
    for (const auto& [name, place] : {std::pair("hue", 0), {"saturation", 1}, {"value", 2}})
        expect_channel(rows[name], converted, place);
    EXPECT_EQ(rows["hue"]["depth"], "u8");
    cv::cvtColor(image, converted, cv::COLOR_BGR2YCrCb);
    rows = rows_of({"image.png", "--space", "ycbcr"});
    for (const auto& [name, place] : {std::pair("y", 0), {"cr", 1}, {"cb", 2}})
        expect_channel(rows[name], converted, place);
    EXPECT_EQ(rows_of({"image.png", "--space", "oklab"})["lightness"]["depth"], "f32");
}

TEST_F(ColorSpaces, StripsThreadsAndShardsChangeNothing) {
    const cv::Mat image = noise(1000, 500, CV_16UC3, 65536);
    tiff_files::Spec spec;
    spec.rows = 7;
    save_tiff("set/large.tif", image, spec);
    save("set/small.png", noise(20, 30, CV_8UC3));
    save("set/gray.png", noise(20, 30, CV_8UC1));
    for (const char* space : {"lab", "linear"}) {
        const Names words{"set", "--space", space, "-q", "--engine", "cpu", "--write", "stats"};
        const auto with = [&](Names more) {
            more.insert(more.begin(), words.begin(), words.end());
            EXPECT_EQ(run(more).code, all_done);
        };
        const std::string name = space;
        with({"-o", name + "/whole"});
        with({"-o", name + "/strips", "--memory", "8M", "--threads", "1"});
        for (const char* shard : {"1/2", "2/2"}) with({"-o", name + "/parts", "--shard", shard});
        ASSERT_EQ(run({"merge", "-q", "-o", name + "/merged", name + "/parts"}).code, all_done);
        for (const char* file : {"stats.csv", "dataset.csv"})
            for (const char* other : {"/strips/", "/merged/"})
                EXPECT_EQ(read_text(at(name + "/whole/" + file)), read_text(at(name + other + file))) << other << file;
    }
}

TEST_F(ColorSpaces, MasksNodataAndTransparentPixels) {
    cv::Mat image = noise(40, 30, CV_8UC3, 255);
    image += cv::Scalar(1, 1, 1);
    cv::Mat valid(30, 40, CV_8UC1, cv::Scalar(255)), converted;
    for (int i = 0; i < 200; ++i) {
        image.at<cv::Vec3b>(i / 40, i % 40)[i % 3] = 0;
        valid.at<unsigned char>(i / 40, i % 40) = 0;
    }
    tiff_files::Spec spec;
    spec.fields = [](TIFF* tiff) {
        static const TIFFFieldInfo nodata{42113, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>("NODATA")};
        TIFFMergeFieldInfo(tiff, &nodata, 1);
        TIFFSetField(tiff, 42113, "0");
    };
    save_tiff("nodata.tif", image, spec);
    cv::Mat stored(image.size(), CV_8UC3);  // what the TIFF holds, in OpenCV's order
    cv::cvtColor(image, stored, cv::COLOR_RGB2BGR);
    cv::cvtColor(image, converted, cv::COLOR_BGR2HSV);
    const auto check = [&](const Names& words) {
        auto rows = rows_of(words);
        EXPECT_EQ(rows["value"]["masked"], "200");
        expect_channel(rows["value"], converted, 2, valid);
    };
    check({"nodata.tif", "--space", "hsv"});
    EXPECT_EQ(rows_of({"nodata.tif", "--space", "hsv", "--nodata", "none"})["value"]["masked"], "0");
    save("plain.png", image);
    save("mask.png", valid);
    check({"plain.png", "--space", "hsv", "--mask", "mask.png"});
    cv::Mat alpha;
    cv::merge(std::vector<cv::Mat>{image.reshape(1, 1200).col(0).clone().reshape(1, 30),
                                   image.reshape(1, 1200).col(1).clone().reshape(1, 30),
                                   image.reshape(1, 1200).col(2).clone().reshape(1, 30), valid},
              alpha);
    save("alpha.png", alpha);
    check({"alpha.png", "--space", "hsv", "--alpha", "mask"});
    EXPECT_EQ(rows_of({"alpha.png", "--space", "hsv"})["opacity"]["mean"], "212.5");
    // Rules name the channels of the space.
    const auto rows = rows_of({"plain.png", "--space", "hsv", "--valid", "value:100,200"});
    EXPECT_GE(std::stod(rows.at("value").at("min")), 100);
    EXPECT_EQ(rows.at("hue").at("valid"), "1200");
}

TEST_F(ColorSpaces, FilesOfLightAreNotDecoded) {
    write_text(at("half.exr"), exr_files::exr({{"B", 0.5F}, {"G", 0.5F}, {"R", 0.5F}}));
    save("half.pfm", cv::Mat(2, 3, CV_32FC3, cv::Scalar(0.5, 0.5, 0.5)));
    for (const char* file : {"half.exr", "half.pfm"})
        EXPECT_EQ(rows_of({file, "--space", "linear"})["linear_red"]["mean"], "0.5") << file;
    save("half.tiff", cv::Mat(2, 3, CV_32FC3, cv::Scalar(0.5, 0.5, 0.5)));
    EXPECT_NEAR(std::stod(rows_of({"half.tiff", "--space", "linear"})["linear_red"]["mean"]), 0.2140411, 1e-7);
}

TEST_F(ColorSpaces, RegionsAndJointHistograms) {
    const cv::Mat image = noise(60, 40, CV_8UC3);
    cv::Mat labels(40, 60, CV_8UC1), converted;
    cv::randu(labels, 0, 3);
    save("image.png", image);
    save("labels.png", labels);
    cv::cvtColor(image, converted, cv::COLOR_BGR2Lab);
    ASSERT_EQ(
        run({"image.png", "--space", "lab", "--labels", "labels.png", "-q", "--write", "stats", "-o", "out"}).code,
        all_done);
    for (const Row& row : table(read_text(at("out/regions.csv"))))
        if (row.at("channel") == "b") expect_channel(row, converted, 2, labels == std::stoi(row.at("region")));
    cv::cvtColor(image, converted, cv::COLOR_BGR2HSV);
    ASSERT_EQ(run({"joint", "image.png", "--space", "hsv", "--channels", "hue,saturation", "-q", "-o", "joint"}).code,
              all_done);
    std::map<std::pair<int, int>, int> counts;
    for (int i = 0; i < 2400; ++i) {
        const cv::Vec3b& pixel = converted.at<cv::Vec3b>(i / 60, i % 60);
        ++counts[{pixel[0], pixel[1]}];
    }
    std::size_t seen = 0;
    for (const Row& row : table(read_text(at("joint/image.png.joint.hue-saturation.csv")))) {
        ++seen;
        EXPECT_EQ((counts[{std::stoi(row.at("first")), std::stoi(row.at("second"))}]), std::stoi(row.at("count")));
    }
    EXPECT_EQ(seen, counts.size());
}

TEST_F(ColorSpaces, CopiesHaveTheFormOfTheirImages) {
    save("gray.png", noise(50, 40, CV_8UC1));
    save("color.png", noise(50, 40, CV_16UC3, 65536));
    save("alpha.png", noise(50, 40, CV_8UC4));
    for (const char* space : {"hsv", "ycbcr", "lab", "oklab", "linear"})
        for (const char* name : {"gray", "color", "alpha"}) {
            const std::string file = std::string(name) + ".png";
            ASSERT_EQ(run({file, "--space", space, "-q", "--write", "normalized", "-o", space}).code, all_done);
            const cv::Mat copy = picture(std::string(space) + "/" + file + ".normalized.png"), image = picture(file);
            ASSERT_EQ(copy.type(), image.type()) << space << " " << name;
            ASSERT_EQ(copy.size(), image.size());
            if (image.channels() == 4) {
                cv::Mat alphas[2];
                cv::extractChannel(copy, alphas[0], 3);
                cv::extractChannel(image, alphas[1], 3);
                EXPECT_EQ(cv::norm(alphas[0], alphas[1], cv::NORM_INF), 0) << space;
            }
        }
    // Samples over the whole range: minmax changes nothing, so colors come back as they were.
    cv::Mat full = noise(64, 64, CV_16UC3, 65536);
    full.at<cv::Vec3w>(0, 0) = {0, 0, 0};
    full.at<cv::Vec3w>(0, 1) = {65535, 65535, 65535};
    save("full.png", full);
    for (const char* space : {"ycbcr", "lab", "oklab", "linear", "hsv"}) {
        ASSERT_EQ(run({"full.png", "--space", space, "-q", "--write", "normalized", "-o", "same"}).code, all_done);
        EXPECT_LE(cv::norm(picture("same/full.png.normalized.png"), full, cv::NORM_INF), 2) << space;
    }
    ASSERT_EQ(run({"color.png", "--space", "lab", "-q", "--write", "normalized", "-o", "small", "--depth", "u8",
                   "--size", "25"})
                  .code,
              all_done);
    EXPECT_EQ(picture("small/color.png.normalized.png").size(), cv::Size(25, 20));
    // A mask leaves pixels as they are.
    cv::Mat mask(64, 64, CV_8UC1, cv::Scalar(0));
    mask.rowRange(0, 32).setTo(255);
    save("mask.png", mask);
    ASSERT_EQ(run({"full.png", "--space", "lab", "--mask", "mask.png", "--normalize", "equalize", "--apply-to", "valid",
                   "-q", "--write", "normalized", "-o", "masked"})
                  .code,
              all_done);
    const cv::Mat masked = picture("masked/full.png.normalized.png");
    EXPECT_LE(cv::norm(masked.rowRange(32, 64), full.rowRange(32, 64), cv::NORM_INF), 2);
    EXPECT_GT(cv::norm(masked.rowRange(0, 32), full.rowRange(0, 32), cv::NORM_INF), 1000);
}

TEST_F(ColorSpaces, ResultsAreVerifiedInTheirSpace) {
    save("set/1.png", noise(20, 30, CV_8UC3));
    save("set/2.png", noise(20, 30, CV_16UC3, 65536));
    ASSERT_EQ(run({"set", "--space", "lab", "--keep-counts", "-q", "-o", "kept", "--write", "stats"}).code, all_done);
    EXPECT_EQ(run({"verify", "kept", "--space", "lab"}).code, all_done);
    const Outcome other = run({"verify", "kept", "--space", "hsv"});
    EXPECT_NE(other.code, all_done);
    EXPECT_TRUE(contains(other.err, "give verify the same --space")) << other.err;
}

TEST_F(ColorSpaces, WhatCannotBeIsSaid) {
    save("image.png", noise(8, 8, CV_8UC3));
    save("words.png", noise(8, 8, CV_16UC3, 65536));
    const std::pair<Names, const char*> refused[] = {
        {{"--space", "luv"}, "'luv' is not one of hsv, ycbcr, lab, xyz, linear, oklab"},
        {{"--space", "xyz", "--normalize", "minmax"}, "--space xyz can't be combined with --normalize"},
        {{"--space", "lab", "--normalize", "zscore"}, "which does not change lightness alone"},
        {{"--space", "lab", "--normalize", "threshold"}, "which does not change lightness alone"},
        {{"--space", "lab", "--normalize", "gray-world"}, "which does not change lightness alone"},
        {{"--space", "lab", "--link", "dataset"}, "--space lab can't be combined with --link"},
        {{"--space", "lab", "--channels", "separate"}, "--space lab can't be combined with --channels"},
        {{"--space", "lab", "--alpha", "weight"}, "--space lab can't be combined with --alpha weight"},
        {{"--space", "lab", "--depth", "f64"}, "--space lab can't be combined with --depth f64"},
    };
    for (auto [words, why] : refused) {
        words.insert(words.begin(), {"image.png", "-q"});
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, usage_error) << why;
        EXPECT_TRUE(contains(outcome.err, why)) << outcome.err;
    }
    tiff_files::Spec spec;
    spec.extra = {EXTRASAMPLE_UNSPECIFIED, EXTRASAMPLE_UNSPECIFIED};
    save_tiff("bands.tif", noise(8, 8, CV_MAKETYPE(CV_8U, 5)), spec);
    const Outcome bands = run({"bands.tif", "image.png", "--space", "lab", "-q", "-o", "some", "--write", "stats"});
    EXPECT_EQ(bands.code, inputs_failed);
    EXPECT_TRUE(contains(bands.err, "bands.tif: conversion of colors: the image has bands")) << bands.err;
    EXPECT_TRUE(contains(read_text(at("some/stats.csv")), "image.png,8,8,u8,lightness,"));
    // A lone image has no copy in xyz, and gamma needs lightness up to 1.
    EXPECT_EQ(run({"image.png", "--space", "xyz", "-q", "-o", "xyz"}).code, all_done);
    EXPECT_FALSE(fs::exists(at("xyz/image.png.normalized.png")));
    const Outcome gamma = run({"words.png", "--space", "lab", "--normalize", "gamma", "--gamma", "2", "-q", "-o", "g"});
    EXPECT_TRUE(contains(gamma.err, "needs lightness up to 1: give --space oklab")) << gamma.err;
    // Parts in two spaces are not merged.
    for (const auto& [space, shard] : {std::pair("lab", "1/2"), {"hsv", "2/2"}})
        ASSERT_EQ(run({"image.png", "words.png", "--space", space, "-q", "-o", "parts", "--shard", shard}).code,
                  all_done);
    const Outcome merged = run({"merge", "parts", "-o", "merged"});
    EXPECT_NE(merged.code, all_done);
    EXPECT_TRUE(contains(merged.err, "--space")) << merged.err;
}

}  // namespace
