// Runs with excluded pixels, and over regions: masks, nodata, labels and rectangles.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <algorithm>
#include <cmath>
#include <map>

#include "support/directory.hpp"
#include "support/tiff_files.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

class Regions : public Directory {
  protected:
    using Row = std::map<std::string, std::string>;

    /// Rows that standard output has of an image, by channel.
    std::map<std::string, Row> rows_of(Names words) const {
        words.insert(words.end(), {"-q", "--format", "csv", "--write", "none", "--engine", "cpu"});
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        std::map<std::string, Row> rows;
        for (const Row& row : table(outcome.out)) rows[row.at("channel")] = row;
        return rows;
    }
    /// Expects the numbers of these values.
    static void expect_values(const Row& row, std::vector<double> values) {
        ASSERT_FALSE(values.empty());
        std::sort(values.begin(), values.end());
        const std::size_t n = values.size();
        double sum = 0;
        for (const double value : values) sum += value;
        EXPECT_EQ(row.at("valid"), std::to_string(n));
        EXPECT_EQ(std::stod(row.at("min")), values.front());
        EXPECT_EQ(std::stod(row.at("max")), values.back());
        EXPECT_NEAR(std::stod(row.at("mean")), sum / static_cast<double>(n), 1e-9);
        EXPECT_EQ(std::stod(row.at("median")), (values[(n - 1) / 2] + values[n / 2]) / 2);
    }
    static std::vector<double> values_where(const cv::Mat& image, const cv::Mat& mask) {
        std::vector<double> values;
        for (int y = 0; y < image.rows; ++y)
            for (int x = 0; x < image.cols; ++x)
                if (mask.at<std::uint8_t>(y, x)) values.push_back(image.at<std::uint16_t>(y, x));
        return values;
    }
    cv::Mat noise(int width, int height, int type) const {
        cv::Mat image(height, width, type);
        cv::randu(image, 0, 60000);
        return image;
    }
};

TEST_F(Regions, AMaskSaysWhichPixelsCount) {
    const cv::Mat image = noise(40, 30, CV_16UC1);
    cv::Mat mask(30, 40, CV_8UC1);
    cv::randu(mask, 0, 3);
    save("image.png", image);
    save("mask.png", mask);
    const Row row = rows_of({"image.png", "--mask", "mask.png"})["gray"];
    expect_values(row, values_where(image, mask));
    EXPECT_EQ(row.at("pixels"), "1200");
    EXPECT_EQ(std::stoi(row.at("masked")) + std::stoi(row.at("valid")), 1200);
}

TEST_F(Regions, ATiffsOwnMaskCountsWholeAndInStrips) {
    const cv::Mat image = noise(400, 300, CV_16UC1);
    cv::Mat own(300, 400, CV_8UC1), given(300, 400, CV_8UC1), both;
    cv::randu(own, 0, 2);
    cv::randu(given, 0, 3);
    cv::bitwise_and(own != 0, given != 0, both);
    save("given.png", given);
    for (const char* where : {"inside", "beside"})
        for (const int tile : {0, 64})
            for (const bool both_tiled : {false, true}) {
                SCOPED_TRACE(testing::Message() << where << ' ' << tile << both_tiled);
                const bool inside = std::string(where) == "inside";
                tiff_files::Memory memory;
                TIFF* tiff = tiff_files::open(memory, "w");
                tiff_files::Spec spec;
                spec.tile_width = spec.tile_height = both_tiled ? tile : 0;
                tiff_files::write_page(tiff, image, spec);
                TIFFWriteDirectory(tiff);
                spec.bits = 1;
                spec.tile_width = spec.tile_height = tile;
                spec.compression = COMPRESSION_ADOBE_DEFLATE;
                if (inside) {
                    spec.fields = [](TIFF* fields) { TIFFSetField(fields, TIFFTAG_SUBFILETYPE, FILETYPE_MASK); };
                    tiff_files::write_page(tiff, own, spec);
                    TIFFWriteDirectory(tiff);
                }
                TIFFClose(tiff);
                write_text(at("image.tif"), {memory.bytes.begin(), memory.bytes.end()});
                fs::remove(at("image.tif.msk"));
                const auto mask = tiff_files::write(own, spec);
                if (!inside) write_text(at("image.tif.msk"), {mask.begin(), mask.end()});
                for (const char* bytes : {"1G", "1K"}) {  // whole, and in strips
                    expect_values(rows_of({"image.tif", "--memory", bytes})["gray"], values_where(image, own));
                    for (const char* file : {"given.png", "given.tif"}) {
                        const auto other = tiff_files::write(given, {});
                        write_text(at("given.tif"), {other.begin(), other.end()});
                        expect_values(rows_of({"image.tif", "--mask", file, "--memory", bytes})["gray"],
                                      values_where(image, both));
                    }
                }
            }
    write_text(at("image.tif.msk"), "no mask");
    const Outcome outcome = run({"image.tif", "--write", "none"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_TRUE(contains(outcome.err, "image.tif: its mask image.tif.msk: not a TIFF")) << outcome.err;
}

TEST_F(Regions, MasksBesideStripsTakeNoMoreMemoryThanStrips) {
    const int side = 6000;
    cv::Mat image(side, side, CV_8UC1);
    cv::randu(image, 0, 256);
    tiff_files::Spec spec;
    spec.tile_width = spec.tile_height = 256;
    spec.compression = COMPRESSION_ADOBE_DEFLATE;
    tiff_files::Memory memory;
    TIFF* tiff = tiff_files::open(memory, "w");
    tiff_files::write_page(tiff, image, spec);
    TIFFWriteDirectory(tiff);
    TIFFClose(tiff);
    write_text(at("plain.tif"), {memory.bytes.begin(), memory.bytes.end()});
    const cv::Mat mask = image > 99;
    const auto given = tiff_files::write(mask, spec);
    write_text(at("given.tif"), {given.begin(), given.end()});
    save("given.png", mask);
    write_text(at("masked.tif"), {memory.bytes.begin(), memory.bytes.end()});
    write_text(at("masked.tif.msk"), {given.begin(), given.end()});
    const auto memory_of = [&](Names words) {
        words.insert(words.end(), {"-q", "--write", "none", "--engine", "cpu", "--memory", "16M", "--threads", "2"});
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        return outcome.most_memory;
    };
    const auto plain = memory_of({"plain.tif"});
    for (const Names& words : {Names{"masked.tif"},
                               {"plain.tif", "--mask", "given.tif"},
                               {"plain.tif", "--mask", "given.png"},
                               {"masked.tif", "--mask", "given.png"}})
        EXPECT_LT(memory_of(words), plain + (20 << 20)) << words.back();  // of 36 MB that the mask has
}

TEST_F(Regions, ATagThatNoSampleIsGetsANote) {
    for (const auto& [text, note] :
         {std::pair<std::string, std::string>{"3.5", "its nodata tag says 3.5, which is no value of u8 samples"},
          {"-9999", "its nodata tag says -9999, which is no value of u8 samples"},
          {"none", "the value that its nodata tag names is no number"},
          {"4 5 6", ""}}) {
        tiff_files::Spec spec;
        spec.fields = [&, words = text](TIFF* fields) { tiff_files::set_nodata(fields, words); };
        const auto file = tiff_files::write(cv::Mat(4, 5, CV_8UC1, cv::Scalar(4)), spec);
        write_text(at("tag.tif"), {file.begin(), file.end()});
        const Outcome outcome = run({"tag.tif", "--nodata", "tag", "--write", "stats", "-o", "out", "--force"});
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        if (!note.empty()) {
            EXPECT_TRUE(contains(outcome.err, "gpuhist: tag.tif: " + note + ": no sample is it")) << outcome.err;
        }
        EXPECT_EQ(table(read_text(at("out/stats.csv")))[0].at("nodata"), note.empty() ? "20" : "0") << text;
    }
}

TEST_F(Regions, MasksOfADirectoryHaveTheNamesOfTheImages) {
    cv::Mat mask(30, 40, CV_8UC1, cv::Scalar(0));
    mask.rowRange(0, 10) = 255;
    for (const char* name : {"a", "b/c", "b/none", "b/small", "b/twice", "b/colors"})
        save("images/" + std::string(name) + ".png", noise(40, 30, CV_16UC1));
    save("masks/a.bmp", mask);
    save("masks/b/c.png", mask);
    save("masks/b/small.png", mask.colRange(0, 39));
    save("masks/b/twice.png", mask);
    save("masks/b/twice.bmp", mask);
    save("masks/b/colors.png", cv::Mat(30, 40, CV_8UC3, cv::Scalar::all(1)));
    const Outcome outcome = run({"images", "--mask", "masks", "-q", "-o", "out", "--engine", "cpu"});
    EXPECT_EQ(outcome.code, inputs_failed);
    const auto rows = table(read_text(at("out/stats.csv")));
    ASSERT_EQ(rows.size(), 2U);
    for (const Row& row : rows) EXPECT_EQ(row.at("valid"), "400");
    for (const char* said :
         {"images/b/none.png: there is no mask for it: masks/b/none.*", "its mask masks/b/small.png has 39 x 30",
          "two files are its mask: masks/b/twice.bmp and masks/b/twice.png", "has 3 channels"})
        EXPECT_TRUE(contains(outcome.err, said)) << said << "\n" << outcome.err;
    // What a run is resumed with belongs to it.
    EXPECT_EQ(run({"a.png", "--mask", "nowhere"}).code, usage_error);
}

TEST_F(Regions, PaletteIndicesAndBitsOfMasksStayAsTheyAre) {
    const cv::Mat image = noise(16, 8, CV_16UC1);
    save("image.png", image);
    write_text(
        at("mask.pbm"), "P1\n16 8\n" + [] {
            std::string bits;
            for (int p = 0; p < 128; ++p) bits += p % 16 < 4 ? "1 " : "0 ";
            return bits;
        }());
    EXPECT_EQ(rows_of({"image.png", "--mask", "mask.pbm"})["gray"]["valid"], "32");
    // A palette whose first color is white, and whose second one is black.
    tiff_files::Memory memory;
    TIFF* tiff = tiff_files::open(memory, "w");
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 16);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 8);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_PALETTE);
    std::vector<std::uint16_t> map(256, 0);
    map[0] = 65535;
    TIFFSetField(tiff, TIFFTAG_COLORMAP, map.data(), map.data(), map.data());
    std::vector<std::uint8_t> row(16, 0);
    row[3] = 1;
    for (std::uint32_t y = 0; y < 8; ++y) TIFFWriteScanline(tiff, row.data(), y);
    TIFFClose(tiff);
    write_text(at("mask.tif"), {memory.bytes.begin(), memory.bytes.end()});
    EXPECT_EQ(rows_of({"image.png", "--mask", "mask.tif"})["gray"]["valid"], "8");
}

TEST_F(Regions, NodataAndValidLeaveSamplesOut) {
    cv::Mat image(20, 30, CV_32FC1);
    cv::randu(image, -1, 1);
    image.rowRange(0, 4) = -9999;
    image.at<float>(10, 10) = std::nanf("");
    save("image.pfm", image);
    auto row = rows_of({"image.pfm", "--nodata", "-9999"})["gray"];
    EXPECT_EQ(row.at("nodata"), "120");
    EXPECT_EQ(row.at("nan"), "1");
    EXPECT_EQ(row.at("valid"), "479");
    EXPECT_GT(std::stod(row.at("min")), -1.01);
    row = rows_of({"image.pfm", "--nodata", "-9999,nan"})["gray"];
    EXPECT_EQ(row.at("nodata"), "121");
    row = rows_of({"image.pfm", "--valid", "-0.5,0.5"})["gray"];
    EXPECT_GE(std::stod(row.at("min")), -0.5);
    EXPECT_LE(std::stod(row.at("max")), 0.5);
    save("bytes.png", cv::Mat(3, 3, CV_8UC3, cv::Scalar(1, 2, 3)));
    const Outcome outcome = run({"bytes.png", "--nodata", "-9999", "--write", "none"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_TRUE(contains(outcome.err, "bytes.png: --nodata -9999 is no value of u8 samples")) << outcome.err;
    EXPECT_EQ(rows_of({"bytes.png", "--nodata", "red:3"})["red"]["nodata"], "9");
    EXPECT_EQ(rows_of({"bytes.png", "--nodata", "red:3"})["blue"]["nodata"], "0");
    EXPECT_EQ(rows_of({"bytes.png", "--nodata", "red:3"})["luma"]["nodata"], "9");
    EXPECT_EQ(rows_of({"bytes.png", "--nodata", "red:3", "--nodata-any"})["blue"]["nodata"], "9");
}

TEST_F(Regions, TheTagOfAGeoTiffIsNodata) {
    tiff_files::Memory memory;
    TIFF* tiff = tiff_files::open(memory, "w");
    const TIFFFieldInfo field{42113, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>("GDALNoDataValue")};
    TIFFMergeFieldInfo(tiff, &field, 1);
    const cv::Mat image(4, 5, CV_16UC1, cv::Scalar(77));
    tiff_files::Spec spec;
    spec.fields = [](TIFF* fields) { TIFFSetField(fields, 42113, "77"); };
    tiff_files::write_page(tiff, image, spec);
    TIFFWriteDirectory(tiff);
    TIFFClose(tiff);
    write_text(at("tag.tif"), {memory.bytes.begin(), memory.bytes.end()});
    EXPECT_EQ(rows_of({"tag.tif", "--nodata", "tag"})["gray"]["nodata"], "20");
    EXPECT_EQ(rows_of({"tag.tif"})["gray"]["nodata"], "0");
}

TEST_F(Regions, TransparentPixelsAreMaskedWhereAlphaIsAMask) {
    cv::Mat image(4, 10, CV_8UC4, cv::Scalar(1, 2, 3, 255));
    image.colRange(0, 3) = cv::Scalar(9, 9, 9, 0);
    save("image.png", image);
    auto rows = rows_of({"image.png", "--alpha", "mask"});
    EXPECT_EQ(rows["blue"]["masked"], "12");
    EXPECT_EQ(rows["blue"]["max"], "1");
    EXPECT_EQ(rows["alpha"]["min"], "255");
    EXPECT_EQ(rows_of({"image.png", "--alpha", "ignore"}).count("alpha"), 0U);
    EXPECT_EQ(rows_of({"image.png"})["alpha"]["min"], "0");
}

TEST_F(Regions, EveryLabelHasItsRows) {
    const cv::Mat image = noise(50, 40, CV_16UC1);
    cv::Mat labels(40, 50, CV_16UC1);
    for (int y = 0; y < 40; ++y)
        for (int x = 0; x < 50; ++x)
            labels.at<std::uint16_t>(y, x) = static_cast<std::uint16_t>(x / 10 + 1000 * (y / 20));
    save("images/a.png", image);
    save("labels/a.png", labels);
    const Outcome outcome = run({"images", "--labels", "labels", "-q", "-o", "out", "--engine", "cpu", "--roi",
                                 "corner=1,2,3,4", "--roi", "edge=47,37,9,9", "--clip-rois"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto rows = table(read_text(at("out/regions.csv")));
    const auto whole = table(read_text(at("out/stats.csv")));
    ASSERT_EQ(rows.size(), 9U + 2U);
    std::uint64_t pixels = 0;
    for (const Row& row : rows) {
        cv::Mat mask;
        if (row.at("region") == "corner") {
            mask = cv::Mat::zeros(40, 50, CV_8UC1);
            mask(cv::Rect(1, 2, 3, 4)) = 1;
        } else if (row.at("region") == "edge") {
            mask = cv::Mat::zeros(40, 50, CV_8UC1);
            mask(cv::Rect(47, 37, 3, 3)) = 1;
            EXPECT_EQ(row.at("width") + row.at("height") + row.at("area"), "339");
        } else {
            mask = labels == std::stoi(row.at("region"));
            pixels += std::stoull(row.at("area"));
            const int label = std::stoi(row.at("region"));
            EXPECT_EQ(row.at("x"), std::to_string(label % 1000 * 10));
            EXPECT_EQ(row.at("y"), std::to_string(label / 1000 * 20));
        }
        expect_values(row, values_where(image, mask));
        EXPECT_EQ(row.at("path"), "images/a.png");
    }
    EXPECT_EQ(pixels, 50U * 40 - 200);
    EXPECT_EQ(whole.front().at("pixels"), "2000");
    // In JSON each region is a line behind its image.
    const Outcome json = run({"images/a.png", "--labels", "labels/a.png", "--label-zero", "-q", "--format", "json",
                              "--write", "none", "--engine", "cpu"});
    EXPECT_EQ(std::count(json.out.begin(), json.out.end(), '\n'), 11) << json.err;
    EXPECT_TRUE(contains(json.out, "\"region\":\"1003\",\"x\":30,\"y\":20")) << json.out.substr(0, 500);
}

TEST_F(Regions, BadRectanglesAndLabelsAreErrorsOfTheirImage) {
    save("a.png", noise(50, 40, CV_16UC1));
    save("labels.pfm", cv::Mat(40, 50, CV_32FC1, cv::Scalar(1)));
    EXPECT_EQ(run({"a.png", "--roi", "r=1,2,3"}).code, usage_error);
    EXPECT_EQ(run({"a.png", "--roi", "12=1,2,3,4"}).code, usage_error);
    EXPECT_EQ(run({"a.png", "--roi", "r=1,2,3,4", "--roi", "r=1,2,3,4"}).code, usage_error);
    Outcome outcome = run({"a.png", "--roi", "r=49,0,2,1", "--write", "stats", "-o", "out", "-q"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_TRUE(contains(outcome.err, "rectangle r of 2 x 1 at 49,0 leaves the image of 50 x 40")) << outcome.err;
    outcome = run({"a.png", "--labels", "labels.pfm", "--write", "stats", "-o", "out", "-q"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_TRUE(contains(outcome.err, "labels of f32")) << outcome.err;
    write_text(at("rois.csv"), "path,name,x,y,w,h\na.png,one,0,0,5,5\nb.png,two,0,0,1,1\na.png,\"th,ree\",1,1,1,1\n");
    outcome = run({"a.png", "--rois", "rois.csv", "--write", "stats", "-o", "out", "-q", "--format", "json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, "\"region\":\"th,ree\"")) << outcome.out;
    write_text(at("rois.csv"), "path,name,x,y,w,h\na.png,one,0,0,5\n");
    outcome = run({"a.png", "--rois", "rois.csv", "-q"});
    EXPECT_NE(outcome.code, 0);
    EXPECT_TRUE(contains(outcome.err, "rois.csv: line 2")) << outcome.err;
}

/// A set whose alpha is the weight is shared out, merged and resumed as any other.
TEST_F(Regions, AlphaWeighs) {
    for (int i = 0; i < 30; ++i) {
        cv::Mat image(17, 19, i % 5 == 4 ? CV_8UC1 : i % 3 ? CV_8UC4 : CV_16UC4);
        cv::randu(image, 0, image.depth() == CV_8U ? 256 : 65536);
        save("images/" + std::to_string(i) + ".png", image);
    }
    const Names words{"images",    "--alpha",    "weight", "-q",       "--roi",
                      "r=1,2,3,4", "--group-by", "region", "--engine", "cpu"};
    const auto run_all = [&](const Names& more, const Setting& setting = {}) {
        Names all = words;
        if (std::find(more.begin(), more.end(), "--shard") == more.end())
            all.insert(all.end(), {"--write", "stats,histogram,plot,normalized"});
        all.insert(all.end(), more.begin(), more.end());
        return run(all, setting);
    };
    const Outcome whole = run_all({"-o", "whole"});
    ASSERT_EQ(whole.code, all_done) << whole.err;
    const auto expected = contents("whole");
    const auto rows = table(expected.at("stats.csv"));
    EXPECT_EQ(rows.front().at("weight").empty(), false);
    EXPECT_EQ(rows.front().at("median"), "");
    EXPECT_NE(rows.front().at("wp50"), "");
    ASSERT_EQ(run_all({"-o", "one", "--threads", "1", "--memory", "1M"}).code, all_done);
    EXPECT_TRUE(contents("one") == expected);
    for (const char* shard : {"1/3", "2/3", "3/3"})
        ASSERT_EQ(run_all({"-o", "parts", "--shard", shard}).code, all_done);
    ASSERT_EQ(run({"merge", "-q", "parts", "-o", "merged"}).code, all_done);
    for (const char* name : {"stats.csv", "regions.csv", "dataset.csv", "dataset.json"})
        EXPECT_TRUE(read_text(at("merged") / name) == expected.at(name)) << name;
    Setting setting;
    setting.signal = SIGKILL;
    setting.after_seconds = whole.seconds / 2;
    run_all({"-o", "out", "--checkpoint", "0.001"}, setting);
    ASSERT_EQ(run_all({"-o", "out", "--checkpoint", "0.001", "--resume"}).code, all_done);
    EXPECT_TRUE(contents("out") == expected);
    const Outcome other = run({"images", "-q", "-o", "parts", "--shard", "2/3", "--roi", "r=1,2,3,4", "--group-by",
                               "region", "--engine", "cpu"});
    EXPECT_EQ(other.code, all_done);
    const Outcome mixed = run({"merge", "-q", "parts", "-o", "merged"});
    EXPECT_EQ(mixed.code, inputs_failed);
    EXPECT_TRUE(contains(mixed.err, "--alpha")) << mixed.err;
    // One table for all, from what they weigh, and gray with alpha that has no row is copied.
    EXPECT_EQ(run({"images/1.png", "images/4.png", "images/7.png", "--alpha", "weight", "-q", "--link", "dataset",
                   "--normalize", "equalize", "-o", "linked", "--engine", "cpu"})
                  .code,
              all_done);
}

TEST_F(Regions, AQuickLookIsStretchedBetweenValidPixels) {
    cv::Mat image(20, 30, CV_32FC1);
    for (int p = 0; p < 600; ++p) image.at<float>(p / 30, p % 30) = static_cast<float>(p);
    image.rowRange(0, 2) = -9999;
    image.at<float>(5, 5) = std::nanf("");
    save("image.pfm", image);
    const Outcome outcome = run({"image.pfm", "--nodata", "-9999", "--normalize", "percentile", "--percentiles", "2,98",
                                 "--depth", "u8", "--write", "normalized", "-o", "out", "-q", "--engine", "cpu"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto files = files_below("out");
    ASSERT_EQ(files.size(), 1U);
    const cv::Mat copy = load("out/" + files[0]);
    EXPECT_EQ(copy.at<std::uint8_t>(0, 0), 0);
    EXPECT_EQ(copy.at<std::uint8_t>(5, 5), 0);
    EXPECT_EQ(copy.at<std::uint8_t>(2, 0), 0);      // the lowest valid one
    EXPECT_EQ(copy.at<std::uint8_t>(19, 29), 255);  // the highest
    EXPECT_NEAR(copy.at<std::uint8_t>(10, 29), 127, 3);
}

TEST_F(Regions, CopiesByOneTableKnowWhatDoesNotCount) {
    cv::Mat image(20, 30, CV_32FC1), mask(20, 30, CV_8UC1, cv::Scalar(1));
    for (int p = 0; p < 600; ++p) image.at<float>(p / 30, p % 30) = static_cast<float>(p);
    image.row(0) = 9999;
    mask.row(1) = 0;
    save("images/a.pfm", image);
    save("masks/a.png", mask);
    const Outcome outcome = run({"images", "--nodata", "9999", "--mask", "masks", "--link", "dataset", "--normalize",
                                 "minmax", "--depth", "u8", "-o", "out", "-q", "--engine", "cpu"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const cv::Mat copy = load("out/a.pfm.normalized.png");
    EXPECT_EQ(copy.at<std::uint8_t>(0, 5), 0);   // nodata, over all others
    EXPECT_EQ(copy.at<std::uint8_t>(1, 29), 0);  // masked
    EXPECT_EQ(copy.at<std::uint8_t>(2, 0), 0);
    EXPECT_EQ(copy.at<std::uint8_t>(19, 29), 255);
}

TEST_F(Regions, StopAndGoOn) {
    for (int i = 0; i < 60; ++i) {
        const std::string name = "images/" + std::to_string(i) + ".png";
        save(name, noise(30, 30, CV_16UC1));
        cv::Mat labels(30, 30, CV_8UC1);
        cv::randu(labels, 0, 6);
        save("labels/" + std::to_string(i) + ".png", labels);
    }
    const Names words{"images", "--labels", "labels", "--mask",       "labels", "-q",         "-o",
                      "out",    "--engine", "cpu",    "--checkpoint", "0.001",  "--group-by", "region"};
    const Outcome whole = run(words);
    ASSERT_EQ(whole.code, 0) << whole.err;
    const auto expected = contents("out");
    for (int attempt = 1; attempt < 6; ++attempt) {
        fs::remove_all(at("out"));
        Setting setting;
        setting.signal = SIGKILL;
        setting.after_seconds = whole.seconds * attempt / 6;
        run(words, setting);
        Names again = words;
        again.emplace_back("--resume");
        EXPECT_EQ(run(again).code, 0);
        EXPECT_TRUE(contents("out") == expected) << attempt;
    }
}

/// Regions of a set that is shared out and merged are those of one run: rows, errors and all else, byte for byte.
TEST_F(Regions, AreSharedOutAndMerged) {
    for (int i = 0; i < 11; ++i) {
        const std::string name = "images/" + std::to_string(i) + ",\n" + (i % 2 ? "odd" : "even") + ".png";
        save(name, noise(30, 20, i % 3 ? CV_16UC1 : CV_16UC3));
        if (i == 4) write_text(at(name), "no image");
        cv::Mat labels(20, 30, CV_8UC1);
        cv::randu(labels, 0, i == 7 ? 1 : 5);
        if (i != 5) save("labels/" + fs::path(name).filename().string(), labels);
    }
    const auto run_all = [&](Names words, const std::string& output) {
        words.insert(words.end(), {"images", "--labels", "labels", "--roi", "a \"corner\"=0,0,3,3", "--group-by",
                                   "region", "-q", "--engine", "cpu", "-o", output});
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, inputs_failed) << outcome.err;
    };
    run_all({}, "whole");
    run_all({"--memory", "1M", "--threads", "1"}, "little");
    EXPECT_TRUE(contents("little") == contents("whole"));
    const std::string set = read_text(at("whole/dataset.csv"));
    for (const char* group : {"\n,u16,red,4,", "\n1,u16,", "\n4,u16,", "\n\"a \"\"corner\"\"\",u16,gray,5,"})
        EXPECT_TRUE(contains(set, group)) << group << set;
    EXPECT_FALSE(fs::exists(at("whole/1")));
    EXPECT_EQ(run({"images", "--group-by", "region", "-q", "-o", "none"}).code, usage_error);
    for (const char* shard : {"1/3", "2/3", "3/3"}) {
        const Outcome outcome = run({"images", "--labels", "labels", "--roi", "a \"corner\"=0,0,3,3", "--group-by",
                                     "region", "-q", "--engine", "cpu", "-o", "parts", "--shard", shard});
        EXPECT_EQ(outcome.err.find("gpuhist: --"), std::string::npos) << outcome.err;
    }
    EXPECT_EQ(run({"merge", "-q", "parts", "-o", "merged"}).code, inputs_failed);
    EXPECT_TRUE(contains(read_text(at("whole/regions.csv")), "\"a \"\"corner\"\"\",0,0,3,3,9,"));
    EXPECT_TRUE(contents("merged") == contents("whole"));

    // Parts of a run without regions are not parts of this one, and leave no regions.csv of it.
    run({"images", "-q", "--engine", "cpu", "-o", "parts", "--shard", "2/3"});
    const Outcome mixed = run({"merge", "-q", "parts", "-o", "merged"});
    EXPECT_EQ(mixed.code, inputs_failed);
    EXPECT_TRUE(contains(mixed.err, "do not belong together")) << mixed.err;
    EXPECT_EQ(run({"images", "-q", "--engine", "cpu", "-o", "plain", "--shard", "1/1"}).code, inputs_failed);
    EXPECT_EQ(run({"merge", "-q", "plain", "-o", "merged"}).code, inputs_failed);
    EXPECT_FALSE(fs::exists(at("merged/regions.csv")));
}

}  // namespace
