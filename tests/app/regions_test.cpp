// Runs with excluded pixels, and over regions: masks, nodata, labels and rectangles.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

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
    /// Writes an OpenEXR file of halves, whose alpha is premultiplied.
    void save_half(const std::string& name, const cv::Mat& image) const {
        constexpr int zip = 3;
        const auto bytes = gpuhist::test::encode_openexr(image, zip, true);
        fs::create_directories(at(name).parent_path());
        write_text(at(name), {bytes.begin(), bytes.end()});
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

TEST_F(Regions, AMaskWhoseZeroIsWhiteGetsANote) {
    const cv::Mat image = noise(64, 40, CV_16UC1);
    cv::Mat ones(40, 64, CV_8UC1);
    cv::randu(ones, 0, 2);
    save("image.tif", image);
    const tiff_files::Bytes bits = tiff_files::packed(ones, 1);
    write_text(at("bits.pbm"), "P4\n64 40\n" + std::string(bits.begin(), bits.end()));
    std::string text = "P1 64 40\n";
    for (int i = 0; i < 64 * 40; ++i) text += ones.at<std::uint8_t>(i / 64, i % 64) ? "1 " : "0 ";
    write_text(at("text.pbm"), text);
    tiff_files::Spec spec;
    spec.bits = 1;
    for (const int white : {PHOTOMETRIC_MINISWHITE, PHOTOMETRIC_MINISBLACK}) {
        spec.photometric = white;
        spec.compression = COMPRESSION_CCITTFAX4;
        const auto bytes = tiff_files::write(ones, spec);
        write_text(at(white == PHOTOMETRIC_MINISWHITE ? "white.tif" : "black.tif"), {bytes.begin(), bytes.end()});
    }
    for (const bool white : {true, false}) {  // a BMP of 1 bit, from the lowest row up
        std::string bmp("BM\0\0\0\0\0\0\0\0\x3e\0\0\0\x28\0\0\0\x40\0\0\0\x28\0\0\0\1\0\1\0", 30);
        bmp += std::string(24, '\0') +
               (white ? std::string("\xff\xff\xff\0\0\0\0\0", 8) : std::string("\0\0\0\0\xff\xff\xff\0", 8));
        for (int row = 39; row >= 0; --row) bmp.append(bits.begin() + row * 8, bits.begin() + row * 8 + 8);
        write_text(at(white ? "white.bmp" : "black.bmp"), bmp);
    }
    const std::string note = "gpuhist: image.tif: 0 is white in its mask";
    for (const auto& [file, noted] : {std::pair("bits.pbm", true),
                                      {"text.pbm", true},
                                      {"white.tif", true},
                                      {"white.bmp", true},
                                      {"black.tif", false},
                                      {"black.bmp", false}})
        for (const char* memory : {"1G", "1K"}) {  // whole, and in strips
            SCOPED_TRACE(std::string(file) + ", memory " + memory);
            expect_values(rows_of({"image.tif", "--mask", file, "--memory", memory})["gray"],
                          values_where(image, ones));
            const Outcome outcome = run({"image.tif", "--mask", file, "--memory", memory, "--write", "none"});
            EXPECT_EQ(contains(outcome.err, note), noted) << outcome.err;
        }
}

/// An image without alpha weighs the same everywhere.
TEST_F(Regions, ImagesOfEveryTypeAreWeighedWhereThereIsNoAlpha) {
    for (const auto& [type, white] : {std::pair(CV_32SC1, 4294967295.0), {CV_32FC1, 1.0}, {CV_64FC1, 1.0}}) {
        cv::Mat image(20, 30, type);
        cv::randu(image, 0, 60000);
        const auto bytes = tiff_files::write(image, {});
        write_text(at("plain.tif"), {bytes.begin(), bytes.end()});
        auto weighted = rows_of({"plain.tif", "--alpha", "weight"})["gray"];
        auto plain = rows_of({"plain.tif"})["gray"];
        EXPECT_EQ(std::stod(weighted["weight"]), 600 * white);
        EXPECT_NEAR(std::stod(weighted["mean"]), std::stod(plain["mean"]), 1e-6) << type;
        EXPECT_NEAR(std::stod(weighted["std"]), std::stod(plain["std"]), 1e-6) << type;
        for (const char* same : {"min", "max", "valid", "unique"}) EXPECT_EQ(weighted[same], plain[same]) << type;
    }
    cv::Mat two(20, 30, CV_32SC2, cv::Scalar(7, 9));
    tiff_files::Spec spec;
    spec.photometric = PHOTOMETRIC_MINISBLACK;
    spec.extra = {EXTRASAMPLE_UNASSALPHA};
    const auto bytes = tiff_files::write(two, spec);
    write_text(at("alpha.tif"), {bytes.begin(), bytes.end()});
    const Outcome refused = run({"alpha.tif", "--alpha", "weight", "--write", "none"});
    EXPECT_EQ(refused.code, inputs_failed);
    EXPECT_TRUE(contains(refused.err, "samples of u32 cannot be weighted by alpha")) << refused.err;
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

TEST_F(Regions, CompanionsOfOtherSidesAreNotDecoded) {
    save("a.png", cv::Mat(50, 60, CV_8UC1, cv::Scalar(7)));
    save("masks/a.png", cv::Mat(9000, 9000, CV_8UC1, cv::Scalar(1)));
    save("masks/a.tif.png", cv::Mat(50, 60, CV_8UC1, cv::Scalar(1)));
    fs::copy_file(at("masks/a.png"), at("big.png"));
    const auto big = tiff_files::write(cv::Mat(9000, 9000, CV_8UC1, cv::Scalar(1)), {});
    write_text(at("big.tif"), {big.begin(), big.end()});
    save("big.bmp", cv::Mat(9000, 9000, CV_8UC1, cv::Scalar(1)));
    const Names words{"a.png", "-q", "--write", "stats", "--engine", "cpu", "--memory", "16M"};
    const auto plain = run(words).most_memory;
    for (const char* option : {"--mask", "--labels"})
        for (const char* name : {"big.png", "big.tif", "big.bmp", "masks"}) {
            auto with = words;
            with.insert(with.end(), {option, name});
            const Outcome outcome = run(with);
            EXPECT_EQ(outcome.code, inputs_failed);
            EXPECT_TRUE(contains(outcome.err, " has 9000 x 9000 pixels, but the image has 60 x 50\n")) << outcome.err;
            EXPECT_LT(outcome.most_memory, plain + (12 << 20)) << option << name;  // of 81 MB
        }
}

TEST_F(Regions, PagesOfCompanionsHaveTheSidesOfTheirs) {
    const auto stack = [](int value) {
        tiff_files::Memory memory;
        TIFF* tiff = tiff_files::open(memory, "w");
        for (const int side : {4, 6, 5}) {
            tiff_files::write_page(tiff, cv::Mat(side, side + 1, CV_8UC1, cv::Scalar(value * side)), {});
            TIFFWriteDirectory(tiff);
        }
        TIFFClose(tiff);
        return std::string(memory.bytes.begin(), memory.bytes.end());
    };
    write_text(at("stack.tif"), stack(10));
    write_text(at("mask.tif"), stack(1));
    for (const char* option : {"--mask", "--labels"}) {
        const Outcome outcome = run({"stack.tif", "-q", "--pages", "all", option, "mask.tif", "--write", "stats"});
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        EXPECT_EQ(paths(read_text(at("gpuhist-out/stats.csv"))), (Names{"stack.tif#1", "stack.tif#2", "stack.tif#3"}));
    }
    EXPECT_EQ(run({"stack.tif", "-q", "--mask", "mask.tif", "--write", "stats"}).code, all_done);
}

TEST_F(Regions, ATagThatNoSampleIsGetsANote) {
    for (const auto& [text, note] :
         {std::pair<std::string, std::string>{"3.5", "its nodata tag says 3.5, which is not a value of u8 samples"},
          {"-9999", "its nodata tag says -9999, which is not a value of u8 samples"},
          {"none", "its nodata tag is not a number"},
          {"4 5 6", ""}}) {
        tiff_files::Spec spec;
        spec.fields = [&, words = text](TIFF* fields) { tiff_files::set_nodata(fields, words); };
        const auto file = tiff_files::write(cv::Mat(4, 5, CV_8UC1, cv::Scalar(4)), spec);
        write_text(at("tag.tif"), {file.begin(), file.end()});
        const Outcome outcome = run({"tag.tif", "--write", "stats", "-o", "out", "--force"});
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        if (!note.empty()) {
            EXPECT_TRUE(contains(outcome.err, "gpuhist: tag.tif: " + note + ": no sample has it")) << outcome.err;
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
          "two files could be its mask: masks/b/twice.bmp and masks/b/twice.png", "has 3 channels"})
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
    for (const char* open : {"-1,", "-1,inf", "gray:-1,"})
        EXPECT_EQ(rows_of({"image.pfm", "--valid", open})["gray"].at("nodata"), "120") << open;
    for (const char* open : {",1", "-inf,1", ",inf"})
        EXPECT_EQ(rows_of({"image.pfm", "--valid", open})["gray"].at("nodata"), "0") << open;
    for (const char* none : {",", "1", "nan,1", "1,nan", "1,2,3", "2,1", "1,x", ""})
        EXPECT_EQ(run({"image.pfm", "--valid", none}).code, usage_error) << none;
    save("bytes.png", cv::Mat(3, 3, CV_8UC3, cv::Scalar(1, 2, 3)));
    for (const std::string value : {"-9999", "3.5", "2.5", "256", "nan"}) {  // nothing is rounded to such a sample
        const Outcome outcome = run({"bytes.png", "--nodata", value, "--write", "none"});
        EXPECT_EQ(outcome.code, all_done);
        EXPECT_TRUE(contains(outcome.err, "bytes.png: --nodata " + value + " is not a value of u8 samples"))
            << outcome.err;
        EXPECT_EQ(rows_of({"bytes.png", "--nodata", value})["all"]["nodata"], "0") << value;
    }
    EXPECT_EQ(rows_of({"bytes.png", "--nodata", "red:3"})["red"]["nodata"], "9");
    EXPECT_EQ(rows_of({"bytes.png", "--nodata", "red:3"})["blue"]["nodata"], "0");
    EXPECT_EQ(rows_of({"bytes.png", "--nodata", "red:3"})["luma"]["nodata"], "9");
    EXPECT_EQ(rows_of({"bytes.png", "--nodata", "red:3", "--nodata-any"})["blue"]["nodata"], "9");
}

/// What a file says of itself is honored: its nodata tag until a value replaces it, its mask until `none`.
TEST_F(Regions, WhatAFileSaysOfItselfIsExcluded) {
    const auto save_tagged = [&](const std::string& name, const char* value, bool masked) {
        tiff_files::Memory memory;
        TIFF* tiff = tiff_files::open(memory, "w");
        tiff_files::Spec spec;
        if (value) spec.fields = [value](TIFF* fields) { tiff_files::set_nodata(fields, value); };
        cv::Mat image(40, 50, CV_16UC1, cv::Scalar(77));
        image.row(1) = 78;
        image.row(2) = 79;
        tiff_files::write_page(tiff, image, spec);
        TIFFWriteDirectory(tiff);
        if (masked) {
            cv::Mat mask(40, 50, CV_8UC1, cv::Scalar(1));
            mask.row(3) = 0;
            spec = {};
            spec.bits = 1;
            spec.fields = [](TIFF* fields) { TIFFSetField(fields, TIFFTAG_SUBFILETYPE, FILETYPE_MASK); };
            tiff_files::write_page(tiff, mask, spec);
            TIFFWriteDirectory(tiff);
        }
        TIFFClose(tiff);
        fs::create_directories(at(name).parent_path());
        write_text(at(name), {memory.bytes.begin(), memory.bytes.end()});
    };
    save_tagged("tag.tif", "78", true);
    using Counts = std::pair<std::string, std::string>;  // nodata, masked
    const auto counts = [&](Names words) {
        words.insert(words.begin(), "tag.tif");
        const Row row = rows_of(words)["gray"];
        return Counts{row.at("nodata"), row.at("masked")};
    };
    for (const char* memory : {"1G", "1K"}) {  // whole, and in strips
        const auto with = [&](Names words) {
            words.insert(words.end(), {"--memory", memory});
            return counts(words);
        };
        EXPECT_EQ(with({}), Counts("50", "50"));
        EXPECT_EQ(with({"--nodata", "tag"}), Counts("50", "50"));
        EXPECT_EQ(with({"--nodata", "none"}), Counts("0", "0"));
        EXPECT_EQ(with({"--nodata", "79"}), Counts("50", "50"));
        EXPECT_EQ(with({"--nodata", "79,tag"}), Counts("100", "50"));
        EXPECT_EQ(with({"--nodata", "79", "--nodata", "tag"}), Counts("100", "50"));
        EXPECT_EQ(with({"--nodata", "79,none"}), Counts("50", "0"));
        EXPECT_EQ(with({"--nodata", "80"}), Counts("0", "50"));
        EXPECT_EQ(with({"--valid", "0,78"}), Counts("100", "50"));
    }
    EXPECT_EQ(rows_of({"tag.tif", "--nodata-any"})["gray"].at("nodata"), "50");
    EXPECT_EQ(run({"tag.tif", "--nodata", "tag,none"}).code, usage_error);
    EXPECT_EQ(run({"tag.tif", "--nodata", "none", "--nodata-any"}).code, usage_error);

    const auto errors = [&](Names words) {
        words.insert(words.end(), {"--write", "stats"});
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        return outcome.err;
    };
    const std::string note = "excluded because the files declare it: --nodata none includes them";
    EXPECT_TRUE(
        contains(errors({"tag.tif"}), "gpuhist: 100 samples of 1 file are " + note + " (the first: tag.tif)\n"));
    for (const char* silent : {"none", "79,none"})
        EXPECT_FALSE(contains(errors({"tag.tif", "--nodata", silent, "--force"}), "excluded")) << silent;
    EXPECT_TRUE(contains(run({"tag.tif", "--write", "none"}).out, "\nexcluded  50 nodata (2.5 %), 50 masked\n"));
    EXPECT_FALSE(contains(run({"tag.tif", "--write", "none", "--nodata", "none"}).out, "excluded"));
    // Where nobody can tell which rule excluded what, no number is said.
    const std::string mixed = errors({"tag.tif", "--valid", "0,78"});
    EXPECT_TRUE(contains(mixed, "tag.tif: the file's own nodata and mask are excluded too")) << mixed;
    EXPECT_FALSE(contains(mixed, note)) << mixed;

    // Of many files one note, also where parts are merged; what changed since is no longer the same run.
    save_tagged("set/a.tif", "78", false);
    save_tagged("set/b.tif", "9999", false);
    save_tagged("set/c.tif", nullptr, true);
    save_tagged("set/d.tif", nullptr, false);
    const std::string of_all = "100 samples of 2 files are " + note + " (the first: set/a.tif)\n";
    EXPECT_TRUE(contains(errors({"set", "-o", "whole"}), of_all));
    for (const char* shard : {"1/2", "2/2"}) errors({"set", "-o", "parts", "--shard", shard});
    const Outcome merged = run({"merge", "parts", "-o", "merged"});
    EXPECT_TRUE(contains(merged.err, of_all)) << merged.err;
    EXPECT_EQ(read_text(at("whole/stats.csv")), read_text(at("merged/stats.csv")));
    fs::remove_all(at("parts"));
    errors({"set", "-o", "parts", "--shard", "1/2"});
    errors({"set", "-o", "parts", "--shard", "2/2", "--nodata", "none"});
    const Outcome mixture = run({"merge", "parts", "-o", "mixture"});
    EXPECT_NE(mixture.code, all_done);
    EXPECT_TRUE(contains(mixture.err, "--nodata")) << mixture.err;
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

TEST_F(Regions, RowsOfManyTakeNoMoreMemoryAndAreTheSame) {
    constexpr int across = 50, side = 3;
    cv::Mat labels(across * side, across * side, CV_16UC1);
    for (int y = 0; y < labels.rows; ++y)
        for (int x = 0; x < labels.cols; ++x)
            labels.at<std::uint16_t>(y, x) = static_cast<std::uint16_t>(1 + y / side * across + x / side);
    cv::Mat image(labels.size(), CV_8UC3);
    cv::randu(image, 0, 256);
    save("dir/a.png", image);
    save("dir/b.png", image);
    save("labels/a.png", labels);
    save("labels/b.png", labels);
    write_text(at("bad.csv"), "path,name,x,y,w,h\ndir/a.png,out,0,0,999,999\n");
    // Before anything is kept here: what a process has counts as memory of the program that it becomes.
    const auto idle = run({"--version"}).most_memory;
    const Outcome alone = run({"dir/a.png", "--labels", "labels/a.png", "-q", "--engine", "cpu", "--write", "stats",
                               "--memory", "1M", "--format", "json"});
    EXPECT_EQ(alone.code, all_done) << alone.err;
    EXPECT_LT(alone.most_memory, idle + (28 << 20));  // of five times 8 MB
    std::map<std::string, std::map<std::string, std::string>> files;
    std::map<std::string, std::string> printed;
    for (const char* memory : {"1G", "1M"}) {
        const auto measure = [&](Names words, const std::string& output, int code = all_done) {
            words.insert(words.end(), {"-q", "--engine", "cpu", "--threads", "2", "--write", "stats", "--memory",
                                       memory, "-o", output});
            const Outcome outcome = run(words);
            EXPECT_EQ(outcome.code, code) << outcome.err;
            files[memory][output] = read_text(at(output) / "stats.csv");
            files[memory][output + " regions"] = read_text(at(output) / "regions.csv");
            return outcome;
        };
        for (const char* format : {"table", "json"}) {
            const Outcome one =
                measure({"dir/a.png", "--labels", "labels/a.png", "--format", format}, std::string("one") + format);
            printed[format] += one.out;
        }
        measure({"dir", "--labels", "labels"}, "both");
        measure({"dir", "--labels", "labels", "--rois", "bad.csv"}, "failed", inputs_failed);
        for (const char* shard : {"1/2", "2/2"})
            EXPECT_EQ(run({"dir", "--labels", "labels", "-q", "--write", "stats", "--shard", shard, "--memory", memory,
                           "-o", "parts"})
                          .code,
                      all_done);
        ASSERT_EQ(run({"merge", "-q", "parts", "-o", "merged"}).code, all_done);
        EXPECT_TRUE(read_text(at("merged/regions.csv")) == files[memory]["both regions"]);
        for (const char* old : {"parts", "merged"}) fs::remove_all(at(old));
    }
    EXPECT_TRUE(files["1G"] == files["1M"]);
    for (const auto& [format, text] : printed)
        EXPECT_TRUE(text.substr(0, text.size() / 2) == text.substr(text.size() / 2)) << format;
    const std::string& both = files["1M"]["both regions"];
    EXPECT_EQ(std::count(both.begin(), both.end(), '\n'), 1 + 2 * across * across * 5);
}

TEST_F(Regions, BadRectanglesAndLabelsAreErrorsOfTheirImage) {
    save("a.png", noise(50, 40, CV_16UC1));
    save("labels.pfm", cv::Mat(40, 50, CV_32FC1, cv::Scalar(1.5)));
    EXPECT_EQ(run({"a.png", "--roi", "r=1,2,3"}).code, usage_error);
    EXPECT_EQ(run({"a.png", "--roi", "12=1,2,3,4"}).code, usage_error);
    EXPECT_EQ(run({"a.png", "--roi", "r=1,2,3,4", "--roi", "r=1,2,3,4"}).code, usage_error);
    Outcome outcome = run({"a.png", "--roi", "r=49,0,2,1", "--write", "stats", "-o", "out", "-q"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_TRUE(contains(outcome.err, "rectangle r of 2 x 1 at 49,0 leaves the image of 50 x 40")) << outcome.err;
    outcome = run({"a.png", "--labels", "labels.pfm", "--write", "stats", "-o", "out", "-q"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_TRUE(contains(outcome.err, "its label image has 1.5 at 0,0, which is no label")) << outcome.err;
    write_text(at("rois.csv"), "path,name,x,y,w,h\na.png,one,0,0,5,5\nb.png,two,0,0,1,1\na.png,\"th,ree\",1,1,1,1\n");
    outcome = run({"a.png", "--rois", "rois.csv", "--write", "stats", "-o", "out", "-q", "--format", "json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, "\"region\":\"th,ree\"")) << outcome.out;
    // Lines of no image are named, in a set and its shards too, and a byte-order mark is none of the first field.
    fs::create_directories(at("set"));
    fs::copy_file(at("a.png"), at("set/a.png"));
    fs::copy_file(at("a.png"), at("set/b.png"));
    write_text(at("rois.csv"),
               "\xef\xbb\xbfpath,name,x,y,w,h\r\nset/a.png,one,0,0,5,5\r\na.png,two,0,0,5,5\r\n"
               "gone.png,two,0,0,5,5\r\ngone.png,three,0,0,5,5\r\n");
    const std::string said =
        "gpuhist: rois.csv: 3 lines are for images that are not among the inputs: a.png, gone.png\n";
    for (const Names& more : {Names{}, Names{"--shard", "2/2"}}) {
        Names words{"set", "--rois", "rois.csv", "--write", "stats", "-o", "set-out"};
        words.insert(words.end(), more.begin(), more.end());
        outcome = run(words);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_TRUE(contains(outcome.err, said)) << outcome.err;
    }
    EXPECT_TRUE(contains(read_text(at("set-out/regions.csv")), "set/a.png,")) << outcome.err;
    outcome = run({"a.png", "--rois", "rois.csv", "--write", "stats", "-o", "out"});
    EXPECT_TRUE(
        contains(outcome.err, "rois.csv: 3 lines are for images that are not among the inputs: gone.png, set/a.png\n"))
        << outcome.err;
    write_text(at("rois.csv"), "path,name,x,y,w,h\na.png,one,0,0,5\n");
    outcome = run({"a.png", "--rois", "rois.csv", "-q"});
    EXPECT_NE(outcome.code, 0);
    EXPECT_TRUE(contains(outcome.err, "rois.csv: line 2")) << outcome.err;
    for (const auto& [name, begin, kind] :
         {std::tuple("RoiSet.bin", std::string("PK\x03\x04\x14\0\x08\x08", 8), "is a ZIP archive, as ImageJ saves"),
          {"cell.bin", std::string("Iout\0\xe4", 6), "is a region of ImageJ;"}}) {
        write_text(at(name), begin);
        outcome = run({"a.png", "--rois", name, "-q"});
        EXPECT_EQ(outcome.code, usage_error);
        EXPECT_TRUE(contains(outcome.err, std::string("--rois: ") + name + " " + kind)) << outcome.err;
        EXPECT_TRUE(contains(outcome.err, "give a CSV file of path,name,x,y,w,h")) << outcome.err;
    }
}

TEST_F(Regions, PremultipliedHalvesAreDividedByTheAlphaThatWeighsThem) {
    // Colors and alpha in the order B, G, R, A: straight colors are 1 2 3, 2 2 8, and one that weighs nothing.
    cv::Mat image(1, 4, CV_32FC4);
    image.at<cv::Vec4f>(0, 0) = {0.5F, 1, 1.5F, 0.5F};
    image.at<cv::Vec4f>(0, 1) = {0.5F, 0.5F, 2, 0.25F};
    image.at<cv::Vec4f>(0, 2) = {7, 7, 7, 0};
    image.at<cv::Vec4f>(0, 3) = {8, 4, 2, 2};  // over 1 weighs 1
    save_half("half.exr", image);
    auto rows = rows_of({"half.exr", "--alpha", "weight"});
    EXPECT_EQ(rows["blue"]["weight"], "1.75");
    EXPECT_EQ(rows["blue"]["masked"], "1");
    EXPECT_EQ(std::stod(rows["blue"]["mean"]), (0.5 * 1 + 0.25 * 2 + 1 * 4) / 1.75);
    EXPECT_EQ(std::stod(rows["red"]["mean"]), (0.5 * 3 + 0.25 * 8 + 1 * 1) / 1.75);
    EXPECT_EQ(rows["red"]["wp50"], "1");
    EXPECT_EQ(rows["red"]["wp75"], "3");
    EXPECT_EQ(rows["red"]["max"], "8");
    EXPECT_EQ(rows["red"]["alpha"], "premultiplied");
    EXPECT_EQ(rows.count("alpha"), 0U);
    rows = rows_of({"half.exr", "--alpha", "weight", "--nodata", "red:8"});
    EXPECT_EQ(rows["red"]["nodata"], "1");
    EXPECT_EQ(rows["red"]["weight"], "1.5");
    ASSERT_EQ(run({"half.exr", "-q", "--alpha", "weight", "-o", "out", "--write", "histogram,normalized", "--size", "1",
                   "--bins", "2", "--range", "0,4", "--depth", "f32", "--engine", "cpu"})
                  .code,
              all_done);
    EXPECT_TRUE(contains(read_text(at("out/half.exr.histogram.csv")), "\n0,0,2,1,0,0.5,1\n")) << "red green blue luma";
    // Colors together from 1 to 8, and the average by alpha: of red 3, 8 and 1 by 0.5, 0.25 and 2.
    // Alpha is averaged with that of the transparent pixel.
    const cv::Mat copy = load("out/half.exr.normalized.tiff");
    ASSERT_EQ(copy.type(), CV_32FC4);
    EXPECT_NEAR(copy.at<cv::Vec4f>(0, 0)[2], (0.5 * 2 / 7 + 0.25) / 2.75, 1e-6);
    EXPECT_NEAR(copy.at<cv::Vec4f>(0, 0)[3], 2.75 / 4, 1e-6);

    save("single.exr", image);
    const Outcome refused = run({"single.exr", "-q", "--alpha", "weight"});
    EXPECT_EQ(refused.code, inputs_failed);
    EXPECT_TRUE(contains(refused.err, "samples of f32 cannot be weighted by alpha, only those of u8, u16 and f16"))
        << refused.err;
}

/// A set whose alpha is the weight is shared out, merged and resumed as any other.
TEST_F(Regions, AlphaWeighs) {
    for (int i = 0; i < 30; ++i) {
        cv::Mat image(17, 19, i % 5 == 4 ? CV_8UC1 : i % 3 ? CV_8UC4 : CV_16UC4);
        cv::randu(image, 0, image.depth() == CV_8U ? 256 : 65536);
        save("images/" + std::to_string(i) + ".png", image);
    }
    for (int i = 0; i < 4; ++i) {
        cv::Mat image(17, 19, i == 3 ? CV_32FC1 : CV_32FC4);
        cv::randu(image, 0, 1);
        save_half("images/" + std::to_string(i) + ".exr", image);
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
    EXPECT_EQ(mixed.code, data_refused);
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
    EXPECT_EQ(mixed.code, data_refused);
    EXPECT_TRUE(contains(mixed.err, "do not belong together")) << mixed.err;
    EXPECT_EQ(run({"images", "-q", "--engine", "cpu", "-o", "plain", "--shard", "1/1"}).code, inputs_failed);
    EXPECT_EQ(run({"merge", "-q", "plain", "-o", "merged"}).code, inputs_failed);
    EXPECT_FALSE(fs::exists(at("merged/regions.csv")));
}

}  // namespace
