// Normalized copies that the command writes, against OpenCV.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "support/directory.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

/// Pixels from 20 to 221: over an odd distance no product is an exact half, where cv::normalize goes either way.
cv::Mat odd_range(int type) {
    cv::Mat image = make_image(61, 40, type), flat = image.reshape(1);
    flat = cv::min(cv::max(flat, 20), 221);
    flat.at<std::uint8_t>(0, 0) = 20;
    flat.at<std::uint8_t>(1, 1) = 221;
    return image;
}

TEST_F(Command, MinmaxEqualsOpenCv) {
    for (const int type : {CV_8UC1, CV_8UC3}) {
        const cv::Mat image = odd_range(type);
        save("x.png", image);
        ASSERT_EQ(run({"x.png", "--write", "normalized"}).code, all_done);
        const cv::Mat actual = load("gpuhist-out/x.png.normalized.png");
        ASSERT_EQ(actual.type(), type);
        cv::Mat expected;
        cv::normalize(image.reshape(1), expected, 0, 255, cv::NORM_MINMAX);
        EXPECT_EQ(cv::norm(actual.reshape(1), expected, cv::NORM_INF), 0);
    }
}

TEST_F(Command, MinmaxOfEachChannelEqualsOpenCv) {
    cv::Mat image = odd_range(CV_8UC3);
    std::vector<cv::Mat> planes;
    cv::split(image, planes);
    for (int c = 0; c < 3; ++c) {  // distances 201, 191 and 181
        planes[c] = cv::min(planes[c], 221 - 10 * c);
        planes[c].at<std::uint8_t>(0, 0) = 20;
        planes[c].at<std::uint8_t>(1, 1) = static_cast<std::uint8_t>(221 - 10 * c);
    }
    cv::merge(planes, image);
    save("x.png", image);
    ASSERT_EQ(run({"x.png", "--write", "normalized", "--channels", "separate"}).code, all_done);
    const cv::Mat actual = load("gpuhist-out/x.png.normalized.png");
    for (cv::Mat& plane : planes) cv::normalize(plane.clone(), plane, 0, 255, cv::NORM_MINMAX);
    cv::Mat expected;
    cv::merge(planes, expected);
    ASSERT_EQ(actual.type(), CV_8UC3);
    EXPECT_EQ(cv::norm(actual, expected, cv::NORM_INF), 0);
}

TEST_F(Command, EqualizeEqualsOpenCv) {
    const cv::Mat image = make_image(61, 40, CV_8UC1);
    save("x.png", image);
    ASSERT_EQ(run({"x.png", "--write", "normalized", "--normalize", "equalize"}).code, all_done);
    cv::Mat expected;
    cv::equalizeHist(image, expected);
    const cv::Mat actual = load("gpuhist-out/x.png.normalized.png");
    ASSERT_EQ(actual.type(), CV_8UC1);
    EXPECT_EQ(cv::norm(actual, expected, cv::NORM_INF), 0);
}

TEST_F(Command, PercentilesStretchAndClamp) {
    cv::Mat image(1, 101, CV_8UC1);
    for (int x = 0; x < 101; ++x) image.at<std::uint8_t>(0, x) = static_cast<std::uint8_t>(x + 100);
    save("x.png", image);
    ASSERT_EQ(run({"x.png", "--write", "normalized", "--normalize", "percentile", "--percentiles", "10,60"}).code,
              all_done);
    const cv::Mat actual = load("gpuhist-out/x.png.normalized.png");
    ASSERT_EQ(actual.size(), image.size());
    // Nearest rank: ceil(10.1) = 11th value, 110; ceil(60.6) = 61st, 160. Halves are rounded up.
    for (int x = 0; x < 101; ++x)
        EXPECT_EQ(actual.at<std::uint8_t>(0, x), std::clamp((x - 10) * 255 * 2 + 50, 0, 2 * 255 * 50 + 50) / 100) << x;
}

TEST_F(Command, ZscoreIsWrittenAsFloats) {
    const cv::Mat image = make_image(61, 40, CV_16UC1);
    save("x.png", image);
    ASSERT_EQ(run({"x.png", "--normalize", "zscore"}).code, all_done);
    EXPECT_FALSE(fs::exists(at("gpuhist-out/x.png.normalized.png")));
    const cv::Mat actual = load("gpuhist-out/x.png.normalized.tiff");
    ASSERT_EQ(actual.type(), CV_32FC1);
    double mean = 0, square = 0;
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x) mean += image.at<std::uint16_t>(y, x) / (61.0 * 40);
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x)
            square += (image.at<std::uint16_t>(y, x) - mean) * (image.at<std::uint16_t>(y, x) - mean) / (61.0 * 40);
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x)
            ASSERT_NEAR(actual.at<float>(y, x), (image.at<std::uint16_t>(y, x) - mean) / std::sqrt(square), 1e-5);
}

/// A value as minmax writes it: halves rounded up.
int stretched(int v, int low, int high, int top) {
    return static_cast<int>((2LL * (v - low) * top + (high - low)) / (2LL * (high - low)));
}

TEST_F(Command, DepthMakesAQuickLookInOneStep) {
    cv::Mat image = make_image(61, 40, CV_16UC1), floats;
    image.convertTo(floats, CV_32F, 1 / 64.0);
    floats.at<float>(0, 0) = NAN;
    floats.at<float>(0, 1) = INFINITY;
    save("x.png", image);
    save("x.pfm", floats);
    ASSERT_EQ(run({"x.png", "--write", "normalized", "--depth", "u8"}).code, all_done);
    ASSERT_EQ(run({"x.pfm", "--write", "normalized", "--depth", "u8"}).code, all_done);
    EXPECT_EQ(files_below("gpuhist-out"), (std::vector<std::string>{"x.pfm.normalized.png", "x.png.normalized.png"}));
    const cv::Mat of_words = load("gpuhist-out/x.png.normalized.png"),
                  of_floats = load("gpuhist-out/x.pfm.normalized.png");
    ASSERT_EQ(of_words.type(), CV_8UC1);
    ASSERT_EQ(of_floats.type(), CV_8UC1);
    double low = 0, high = 0;
    cv::minMaxLoc(image, &low, &high);
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x)
            ASSERT_EQ(of_words.at<std::uint8_t>(y, x),
                      stretched(image.at<std::uint16_t>(y, x), static_cast<int>(low), static_cast<int>(high), 255));
    EXPECT_EQ(of_floats.at<std::uint8_t>(0, 0), 0);
    EXPECT_EQ(of_floats.at<std::uint8_t>(0, 1), 255);
    cv::minMaxLoc(cv::Mat(floats, cv::Rect(0, 1, 61, 39)), &low, &high);
    for (int y = 1; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x)
            ASSERT_NEAR(of_floats.at<std::uint8_t>(y, x), (floats.at<float>(y, x) - low) / (high - low) * 255, 0.51);
}

TEST_F(Command, DepthIsThatOfEveryKindOfCopy) {
    cv::Mat alpha = make_image(9, 7, CV_8UC4);
    save("alpha.png", alpha);
    write_text(at("gray.pam"),
               "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\na\x01z\xff");
    write_text(at("bands.pam"), "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 3\nMAXVAL 255\nTUPLTYPE OTHER\nENDHDR\nabcdez");
    for (const char* mode : {"minmax", "percentile", "equalize"})
        ASSERT_EQ(run({"alpha.png", "gray.pam", "bands.pam", "-q", "--write", "normalized", "--depth", "u16",
                       "--channels", "separate", "--normalize", mode, "-o", mode})
                      .code,
                  all_done)
            << mode;
    const cv::Mat copy = load("minmax/alpha.png.normalized.png");
    ASSERT_EQ(copy.type(), CV_16UC4);
    for (int c = 0; c < 4; ++c) {
        cv::Mat plane, wide;
        cv::extractChannel(alpha, plane, c);
        cv::extractChannel(copy, wide, c);
        double low = 0, high = 255;
        if (c < 3) cv::minMaxLoc(plane, &low, &high);  // alpha is only brought to the depth
        for (int i = 0; i < 63; ++i)
            ASSERT_EQ(
                wide.at<std::uint16_t>(i / 9, i % 9),
                stretched(plane.at<std::uint8_t>(i / 9, i % 9), static_cast<int>(low), static_cast<int>(high), 65535))
                << c;
    }
    const cv::Mat gray = load("minmax/gray.pam.normalized.png");
    ASSERT_EQ(gray.type(), CV_16UC2);
    EXPECT_EQ(gray.at<cv::Vec2w>(0, 0), cv::Vec2w(0, 257));
    EXPECT_EQ(gray.at<cv::Vec2w>(0, 1), cv::Vec2w(65535, 65535));
    const cv::Mat bands = load("minmax/bands.pam.normalized.tiff");
    EXPECT_EQ(bands.depth(), CV_16U);
}

TEST_F(Directory, DepthAndSizeGiveTheSameFilesHoweverTheyAreMade) {
    make_tree("set", 40);
    const Names words{"set", "-q", "--write", "stats,normalized", "--depth", "u8", "--size", "9"};
    const auto with = [&](Names more, Names all) {
        all.insert(all.end(), more.begin(), more.end());
        return run(all);
    };
    ASSERT_LE(with({"-o", "whole"}, words).code, inputs_failed);
    for (const auto& entry : fs::recursive_directory_iterator(at("whole")))
        if (entry.path().string().find(".normalized.") != std::string::npos) {
            const cv::Mat copy = gpuhist::test::read_picture(entry.path());
            EXPECT_EQ(copy.depth(), CV_8U) << entry.path();
            EXPECT_LE(std::max(copy.rows, copy.cols), 9) << entry.path();
            EXPECT_EQ(entry.path().extension(), ".png");
        }
    ASSERT_LE(with({"-o", "one", "--threads", "1"}, words).code, inputs_failed);
    expect_same_files("one", "whole");
    for (const char* part : {"1/2", "2/2"})
        ASSERT_LE(with({"-o", "parts", "--shard", part}, words).code, inputs_failed);
    ASSERT_LE(run({"merge", "-q", "-o", "merged", "parts"}).code, inputs_failed);
    for (const std::string& file : files_below("whole")) {
        const std::string from = contains(file, ".normalized.") ? "parts/" : "merged/";
        EXPECT_EQ(read_text(at(from + file)), read_text(at("whole/" + file))) << file;
    }
    ASSERT_LE(run({"set", "-q", "--write", "stats,normalized", "--size", "9", "-o", "parts", "--shard", "1/2"}).code,
              inputs_failed);
    const Outcome mixed = run({"merge", "-q", "-o", "again", "parts"});
    EXPECT_EQ(mixed.code, data_refused);
    EXPECT_TRUE(contains(mixed.err, "--depth is ")) << mixed.err;
}

TEST_F(Directory, DepthIsKeptInTables) {
    for (int i = 0; i < 3; ++i) {
        cv::Mat image(20, 30, CV_16UC1);
        cv::randu(image, 900 * i, 3000);
        save("set/" + std::to_string(i) + ".png", image);
        image.convertTo(image, CV_32F);
        save("floats/" + std::to_string(i) + ".pfm", image);
    }
    for (const std::string set : {"set", "floats"}) {
        ASSERT_EQ(run({set, "-q", "--link", "dataset", "--depth", "u8", "--lut-out", "to8.csv", "-o", "linked"}).code,
                  all_done);
        ASSERT_EQ(run({set, "-q", "--lut-in", "to8.csv", "-o", "again"}).code, all_done);
        expect_same_files("again", "linked");
        ASSERT_EQ(run({set, "-q", "--lut-in", "to8.csv", "--depth", "u8", "-o", "again"}).code, all_done);
        expect_same_files("again", "linked");
        EXPECT_EQ(load("again/1." + std::string(set == "set" ? "png" : "pfm") + ".normalized.png").type(), CV_8UC1);
        ASSERT_EQ(run({set, "-q", "--write", "stats", "--lut-out", "own.csv", "-o", "own"}).code, all_done);
        const Outcome other = run({set, "-q", "--lut-in", "own.csv", "--depth", "u8", "-o", "again"});
        if (set == "floats") {  // its numbers are for copies of any depth
            EXPECT_EQ(other.code, all_done) << other.err;
            expect_same_files("again", "linked");
        } else {
            EXPECT_EQ(other.code, usage_error);
            EXPECT_TRUE(contains(other.err,
                                 "own.csv: its minmax table of u16 images makes copies of u16: leave out "
                                 "--depth, or make the table with --depth u8"))
                << other.err;
        }
        for (const char* directory : {"linked", "again", "own"}) fs::remove_all(at(directory));
    }
    ASSERT_EQ(run({"set", "-q", "--write", "stats", "--normalize", "zscore", "--lut-out", "z.csv"}).code, all_done);
    const Outcome real = run({"set", "-q", "--lut-in", "z.csv", "--depth", "u8", "-o", "again"});
    EXPECT_EQ(real.code, usage_error);
    EXPECT_TRUE(contains(real.err, "its zscore table of u16 images makes copies of f32: leave out --depth"))
        << real.err;
}

TEST_F(Directory, AnImageThatCannotHaveACopyIsUnsupportedAndMeasured) {
    write_text(at("five.pam"), "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 5\nMAXVAL 255\nTUPLTYPE OTHER\nENDHDR\nabcdefghij");
    save("set/1.png", make_image(20, 30, CV_8UC1));
    save("set/2.png", make_image(20, 30, CV_8UC1));
    ASSERT_EQ(run({"set", "-q", "--write", "stats", "--lut-out", "t.csv", "-o", "first"}).code, all_done);
    fs::copy_file(at("five.pam"), at("set/3.pam"));
    save("set/4.png", make_image(20, 30, CV_16UC1));
    const std::string five =
        "equalize can't use one table for all bands, because they have no luma: give --channels separate";

    Outcome outcome = run({"five.pam", "-q", "--normalize", "equalize", "--write", "stats,normalized", "-o", "one"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_EQ(outcome.err, "gpuhist: five.pam: " + five + "\n");
    EXPECT_EQ(table(read_text(at("one/stats.csv"))).size(), 6u);

    outcome = run({"set", "-q", "--normalize", "equalize", "--write", "stats,normalized", "-o", "many"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_EQ(outcome.err, "gpuhist: set/3.pam: " + five + "\n");
    EXPECT_TRUE(contains(read_text(at("many/errors.csv")), "set/3.pam,unsupported,"))
        << read_text(at("many/errors.csv"));
    EXPECT_EQ(table(read_text(at("many/stats.csv"))).size(), 9u);

    outcome = run({"set", "-q", "--lut-in", "t.csv", "--write", "stats,normalized", "-o", "tables"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_EQ(outcome.err,
              "gpuhist: set/3.pam: lookup tables don't exist for bands\n"
              "gpuhist: set/4.png: lookup tables don't exist for u16 images\n");
    EXPECT_EQ(table(read_text(at("tables/stats.csv"))).size(), 9u);
    EXPECT_EQ(table(read_text(at("tables/errors.csv"))).size(), 2u);
}

TEST_F(Command, DepthAndSizeWithoutEffectAreRefused) {
    save("x.png", make_image(8, 8, CV_16UC1));
    const auto said = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "x.png");
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, usage_error) << outcome.err;
        return outcome.err;
    };
    EXPECT_TRUE(contains(said({"--depth", "u8", "--normalize", "zscore"}),
                         "--depth u8 can't be combined with --normalize zscore, which writes floats"));
    EXPECT_TRUE(contains(said({"--depth", "u8", "--write", "stats"}), "--depth applies to the normalized copy"));
    EXPECT_TRUE(contains(said({"--size", "8", "--write", "stats"}), "--size applies to the normalized copy"));
    EXPECT_TRUE(contains(said({"--depth", "8"}), "'8' is not one of u8, s8, u16, s16, u32, s32, f16, f32, f64"));
    said({"--size", "0"});
    EXPECT_EQ(run({"x.png", "-q", "--depth", "f32", "--normalize", "zscore"}).code, all_done);
}

TEST_F(Command, AnUnchangedCopyOfAnotherDepthIsCalledThat) {
    save("x.png", cv::Mat(4, 4, CV_16UC1, cv::Scalar(1000)));
    const Outcome outcome = run({"x.png", "--write", "normalized", "--depth", "u8"});
    EXPECT_TRUE(contains(outcome.err, "x.png: its normalized copy is unchanged except for its depth: it has one value"))
        << outcome.err;
    const cv::Mat copy = load("gpuhist-out/x.png.normalized.png");
    EXPECT_EQ(cv::norm(copy, cv::Mat(4, 4, CV_8UC1, cv::Scalar(4)), cv::NORM_INF), 0);
}

TEST_F(Command, SizeBoundsTheLongestSideAfterTheTable) {
    for (const int type : {CV_8UC3, CV_16UC1}) {
        save("x.png", make_image(120, 80, type));
        ASSERT_EQ(run({"x.png", "-q", "--write", "normalized", "-o", "large"}).code, all_done);
        ASSERT_EQ(run({"x.png", "-q", "--write", "normalized", "-o", "small", "--size", "30"}).code, all_done);
        ASSERT_EQ(run({"x.png", "-q", "--write", "normalized", "-o", "same", "--size", "120"}).code, all_done);
        const auto copy_in = [&](const char* directory) {
            return load(directory + std::string("/x.png.normalized.png"));
        };
        cv::Mat expected;
        cv::resize(copy_in("large"), expected, {30, 20}, 0, 0, cv::INTER_AREA);
        ASSERT_EQ(copy_in("small").size(), expected.size());
        EXPECT_LE(cv::norm(copy_in("small"), expected, cv::NORM_INF), 1);
        EXPECT_EQ(cv::norm(copy_in("same"), copy_in("large"), cv::NORM_INF), 0);
    }
}

TEST_F(Command, SizeLetsTransparentColorsCountForNothing) {
    cv::Mat image(2, 4, CV_8UC4, cv::Scalar(0, 0, 255, 0));  // red that nobody sees
    for (int y = 0; y < 2; ++y) image.at<cv::Vec4b>(y, 0) = image.at<cv::Vec4b>(y, 2) = {10, 240, 0, 255};
    save("x.png", image);
    ASSERT_EQ(run({"x.png", "-q", "--write", "normalized", "--size", "2"}).code, all_done);
    const cv::Mat copy = load("gpuhist-out/x.png.normalized.png");
    ASSERT_EQ(copy.size(), cv::Size(2, 1));
    EXPECT_EQ(copy.at<cv::Vec4b>(0, 0), cv::Vec4b(10, 240, 0, 128));
    EXPECT_EQ(copy.at<cv::Vec4b>(0, 1), cv::Vec4b(10, 240, 0, 128));
}

cv::Mat copy_in(const fs::path& file) {
    return gpuhist::test::read_picture(file);
}

TEST_F(Command, NodataNeverPassesThroughATable) {
    const cv::Mat heights = (cv::Mat_<float>(2, 4) << 5, 5, 7, -9999, 5, 5, 7, -9999);
    save("dem.pfm", heights);
    const auto copy_by = [&](Names words) {
        words.insert(words.begin(), {"dem.pfm", "-q", "--nodata", "-9999", "--write", "normalized", "--force"});
        EXPECT_EQ(run(words).code, all_done);
        const bool floats = fs::exists(at("gpuhist-out/dem.pfm.normalized.tiff"));
        const fs::path file = at(std::string("gpuhist-out/dem.pfm.normalized.") + (floats ? "tiff" : "png"));
        cv::Mat copy = copy_in(file).row(0).clone();
        fs::remove(file);
        copy.convertTo(copy, CV_64F);
        return std::vector<double>(copy.begin<double>(), copy.end<double>());
    };
    using List = std::vector<double>;
    EXPECT_EQ(copy_by({}), (List{0, 0, 1, -9999}));
    EXPECT_EQ(copy_by({"--fill", "-1"}), (List{0, 0, 1, -1}));
    EXPECT_TRUE(std::isnan(copy_by({"--fill", "nan"})[3]));
    EXPECT_TRUE(std::isnan(copy_by({"--depth", "f64"})[3]));
    EXPECT_EQ(copy_by({"--depth", "u8"}), (List{0, 0, 255, 0}));
    EXPECT_EQ(copy_by({"--depth", "u8", "--fill", "0"}), (List{1, 1, 255, 0}));
    EXPECT_EQ(copy_by({"--depth", "u8", "--fill", "255"}), (List{0, 0, 254, 255}));
    EXPECT_EQ(copy_by({"--depth", "u8", "--size", "2"}), (List{0, 255}));
    EXPECT_EQ(copy_by({"--depth", "u8", "--size", "2", "--fill", "0"}), (List{1, 255}));
    EXPECT_EQ(copy_by({"--size", "2", "--nodata", "7"}), (List{5, 7}));  // one value, and nothing but nodata
}

TEST_F(Command, AStretchByARegionGoesForTheWholeImage) {
    const cv::Mat image = (cv::Mat_<std::uint8_t>(1, 4) << 10, 20, 15, 15),
                  mask = (cv::Mat_<std::uint8_t>(1, 4) << 1, 1, 0, 0);
    save("x.png", image);
    save("mask.png", mask);
    const auto copy_by = [&](Names words) {
        words.insert(words.begin(), {"x.png", "-q", "--mask", "mask.png", "--write", "normalized"});
        EXPECT_EQ(run(words).code, all_done);
        const cv::Mat copy = copy_in(at("gpuhist-out/x.png.normalized.png"));
        return std::vector<int>(copy.begin<std::uint8_t>(), copy.end<std::uint8_t>());
    };
    EXPECT_EQ(copy_by({}), (std::vector<int>{0, 255, 128, 128}));
    EXPECT_EQ(copy_by({"--size", "2"}), (std::vector<int>{128, 128}));
    EXPECT_EQ(copy_by({"--apply-to", "valid"}), (std::vector<int>{0, 255, 15, 15}));
    EXPECT_EQ(copy_by({"--apply-to", "valid", "--size", "2"}), (std::vector<int>{128, 15}));
    EXPECT_EQ(copy_by({"--fill", "255"}), (std::vector<int>{0, 254, 127, 127}));
}

TEST_F(Directory, FillIsKeptInTablesAndHasToBeHeld) {
    for (int i = 0; i < 3; ++i) {
        cv::Mat image(20, 30, CV_16UC1);
        cv::randu(image, 900 * i, 3000);
        image.row(0).setTo(0);
        save("set/" + std::to_string(i) + ".png", image);
        image.convertTo(image, CV_32F);
        save("floats/" + std::to_string(i) + ".pfm", image);
    }
    for (const std::string set : {"set", "floats"}) {
        const Names words{set, "-q", "--nodata", "0", "--depth", "u8"};
        const auto with = [&](Names more) {
            more.insert(more.begin(), words.begin(), words.end());
            return run(more);
        };
        ASSERT_EQ(with({"--fill", "0", "--link", "dataset", "--lut-out", "to8.csv", "-o", "linked"}).code, all_done);
        EXPECT_TRUE(contains(read_text(at("to8.csv")), ", copies u8, fill 0\n"));
        cv::Mat copy = copy_in(at("linked/1." + std::string(set == "set" ? "png" : "pfm") + ".normalized.png"));
        EXPECT_EQ(cv::countNonZero(copy), 19 * 30);
        ASSERT_EQ(with({"--lut-in", "to8.csv", "-o", "again"}).code, all_done);
        expect_same_files("again", "linked");
        ASSERT_EQ(with({"--lut-in", "to8.csv", "--fill", "0", "-o", "again"}).code, all_done);
        expect_same_files("again", "linked");
        const Outcome other = with({"--lut-in", "to8.csv", "--fill", "255", "-o", "again"});
        if (set == "floats") {  // its numbers are for any
            EXPECT_EQ(other.code, all_done) << other.err;
        } else {
            EXPECT_EQ(other.code, usage_error);
            EXPECT_TRUE(contains(other.err,
                                 "to8.csv: its minmax table of u16 images keeps another value for nodata: "
                                 "leave out --fill, or make the table with --fill 255"))
                << other.err;
        }
        for (const char* directory : {"linked", "again"}) fs::remove_all(at(directory));
    }
    for (const char* part : {"1/2", "2/2"}) {
        const char* const fill = part[0] == '1' ? "0" : "65535";
        ASSERT_EQ(
            run({"set", "-q", "--fill", fill, "--write", "stats,normalized", "-o", "parts", "--shard", part}).code,
            all_done);
    }
    const Outcome mixed = run({"merge", "-q", "-o", "merged", "parts"});
    EXPECT_EQ(mixed.code, data_refused);
    EXPECT_TRUE(contains(mixed.err, "--fill is ")) << mixed.err;
}

TEST_F(Directory, FillThatACopyDoesNotHoldIsRefusedByName) {
    save("x.png", make_image(8, 8, CV_16UC1));
    save("set/1.png", make_image(20, 30, CV_8UC1));
    save("set/2.png", make_image(20, 30, CV_16UC1));
    const auto said = [&](Names words) {
        words.insert(words.begin(), "x.png");
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, usage_error) << outcome.err;
        return outcome.err;
    };
    EXPECT_TRUE(contains(said({"--fill", "7", "--depth", "u8"}),
                         "--fill: nodata in copies of u8 is their lowest or highest value, 0 or 255, and not 7"));
    EXPECT_TRUE(contains(said({"--fill", "x"}), "'x' is neither a number nor nan"));
    EXPECT_TRUE(contains(said({"--fill", "0", "--write", "stats"}), "--fill applies to the normalized copy"));
    for (const Names& more : {Names{}, Names{"--link", "dataset"}}) {
        Names words{"set", "-q", "--fill", "255", "--write", "stats,normalized", "-o", "out"};
        words.insert(words.end(), more.begin(), more.end());
        if (!more.empty()) fs::remove(at("set/1.png"));
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, inputs_failed);
        EXPECT_EQ(outcome.err,
                  "gpuhist: set/2.png: --fill: nodata in copies of u16 is their lowest or highest value, 0 "
                  "or 65535, and not 255\n");
        EXPECT_TRUE(contains(read_text(at("out/errors.csv")), "set/2.png,unsupported,"));
        EXPECT_TRUE(contains(read_text(at("out/stats.csv")), "set/2.png,"));
        EXPECT_EQ(fs::exists(at("out/1.png.normalized.png")), more.empty());
        fs::remove_all(at("out"));
    }
}

}  // namespace
