// JPEG for GPUs: headers that are taken or refused, and the decoding in chunks, played on the CPU, against libjpeg.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/jpeg.hpp"
#include "support/damage.hpp"
#include "support/jpeg_emulation.hpp"
#include "support/jpeg_random.hpp"
#include "support/repetitions.hpp"

namespace gpuhist::test {
namespace {

using jpeg_files::Bytes, jpeg_files::Coding, jpeg_files::make_jpeg, jpeg_files::picture_of, jpeg_files::random_coding,
    jpeg_files::read, jpeg_files::Reading, jpeg_files::text_of, jpeg_files::write;

constexpr unsigned char sof0 = 0xC0, dht = 0xC4, sos = 0xDA, dqt = 0xDB;

/// Sizes of blocks and chunks: the kernels', and small ones.
const JpegSizes all_sizes[] = {{}, {64, 16, 3, 7}, {256, 32, 4, 50}, {96, 2, 1, 1}};

/// That what is decoded is what libjpeg reads, without a remark.
void expect_as_libjpeg(const Bytes& file, const JpegSizes& sizes = {}) {
    const EmulatedJpeg decoded = emulate_jpeg(file, sizes);
    ASSERT_EQ(decoded.reason, "");
    ASSERT_EQ(decoded.damage, 0U);
    const Reading expected = read(file);
    ASSERT_EQ(expected.error, "");
    EXPECT_EQ(expected.warnings, 0);
    ASSERT_EQ(decoded.width, expected.pixels.cols);
    ASSERT_EQ(decoded.height, expected.pixels.rows);
    ASSERT_EQ(decoded.channels, expected.pixels.channels());
    EXPECT_EQ(std::memcmp(decoded.pixels.data(), expected.pixels.data, decoded.pixels.size()), 0);
}

/// Why a file is not for the GPU.
std::string reason_of(const Bytes& file) {
    const JpegImage image = JpegDecoder::inspect({file.data(), file.size()});
    EXPECT_EQ(image.view.data, nullptr);
    const std::string reason = emulate_jpeg(file).reason;
    const bool of_data = reason == "data that end early" || reason.find(" the data") != reason.npos;
    EXPECT_EQ(image.reason, of_data ? "" : reason);
    return reason;
}

std::size_t place_of_marker(const Bytes& file, unsigned char marker) {
    for (std::size_t at = 0; at + 1 < file.size(); ++at)
        if (file[at] == 0xFF && file[at + 1] == marker) return at;
    throw std::runtime_error("no such marker");
}

Bytes with(Bytes file, std::size_t at, const Bytes& more) {
    file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
    return file;
}
Bytes changed(Bytes file, std::size_t at, unsigned char byte) {
    file.at(at) = byte;
    return file;
}

TEST(JpegDecoding, EveryQuality) {
    for (int quality = 1; quality <= 100; ++quality) {
        SCOPED_TRACE(quality);
        Coding coding{61, 43};
        coding.quality = quality;
        coding.across[0] = 1 + quality % 2;
        coding.down[0] = 1 + quality / 2 % 2;
        expect_as_libjpeg(write(coding), all_sizes[quality % 4]);
    }
}

TEST(JpegDecoding, EverySamplingAndSmallSize) {
    static constexpr int samplings[][6] = {
        {1, 1, 1, 1, 1, 1}, {2, 1, 1, 1, 1, 1}, {2, 2, 1, 1, 1, 1}, {1, 2, 1, 1, 1, 1}, {4, 1, 1, 1, 1, 1},
        {1, 4, 1, 1, 1, 1}, {4, 2, 1, 1, 1, 1}, {2, 4, 1, 1, 1, 1}, {3, 1, 1, 1, 1, 1}, {1, 3, 1, 1, 1, 1},
        {3, 2, 1, 1, 1, 1}, {4, 1, 2, 1, 1, 1}, {1, 1, 2, 2, 1, 1}, {1, 1, 2, 1, 1, 2}, {2, 2, 2, 1, 1, 2},
        {4, 1, 2, 2, 1, 1}, {1, 1, 4, 1, 4, 1}, {2, 1, 2, 2, 2, 1}};
    for (const auto& s : samplings)
        for (const J_COLOR_SPACE stored : {JCS_YCbCr, JCS_RGB})
            for (const auto& [width, height] : {std::pair{1, 1},
                                                {2, 3},
                                                {3, 2},
                                                {4, 1},
                                                {5, 17},
                                                {8, 8},
                                                {17, 5},
                                                {31, 33},
                                                {33, 31},
                                                {48, 16},
                                                {49, 50}}) {
                Coding coding{width, height, stored, {s[0], s[2], s[4]}, {s[1], s[3], s[5]}};
                coding.restart = static_cast<unsigned>(width % 3);
                coding.contents = height % 2;
                SCOPED_TRACE(text_of(coding));
                expect_as_libjpeg(write(coding), all_sizes[height % 4]);
                if (HasFailure()) return;
            }
}

TEST(JpegDecoding, EverySmallSizeOf420) {
    for (int width = 1; width <= 20; ++width)
        for (int height = 1; height <= 20; ++height) {
            const Coding coding{width, height, JCS_YCbCr, {2, 1, 1}, {2, 1, 1}};
            SCOPED_TRACE(text_of(coding));
            expect_as_libjpeg(write(coding));
            if (HasFailure()) return;
        }
}

TEST(JpegDecoding, ByChance) {
    const auto count = static_cast<unsigned>(repetitions(1500, 200));
    for (unsigned seed = 0; seed < count; ++seed) {
        const Coding coding = random_coding(seed);
        SCOPED_TRACE(text_of(coding));
        expect_as_libjpeg(write(coding), all_sizes[seed % 4]);
        if (HasFailure()) return;
    }
}

// All tables the same: the codes tell nothing of a block's place in its MCU.
TEST(JpegDecoding, ComponentsThatShareTables) {
    for (const J_COLOR_SPACE stored : {JCS_YCbCr, JCS_RGB}) {
        Coding coding{300, 200, stored, {2, 1, 1}, {2, 1, 1}};
        coding.same_tables = true;
        const Bytes file = write(coding);
        expect_as_libjpeg(file);
        EXPECT_LT(emulate_jpeg(file).rounds, 20);
    }
}

// Blocks that all look the same: a wrong state may go on for long, and is mended.
TEST(JpegDecoding, FlatImages) {
    int repaired = 0;
    for (const int contents : {2, 4})
        for (unsigned seed = 1; seed < 9; ++seed) {
            Coding coding{900, 700, JCS_YCbCr, {2, 1, 1}, {static_cast<int>(1 + seed % 2), 1, 1}};
            coding.contents = contents;
            coding.seed = seed;
            coding.optimized = seed % 3 == 0;
            SCOPED_TRACE(text_of(coding));
            const Bytes file = write(coding);
            expect_as_libjpeg(file);
            const JpegSizes small{64, 16, 2, 64};
            expect_as_libjpeg(file, small);
            repaired += emulate_jpeg(file, small).repaired;
        }
    EXPECT_GT(repaired, 0);  // else nothing is tested of that
}

TEST(JpegDecoding, RestartMarkers) {
    for (const unsigned restart : {1U, 2U, 7U, 8U, 9U, 40U, 1000U, 65535U}) {
        Coding coding{200, 120, JCS_YCbCr, {2, 1, 1}, {1, 1, 1}};
        coding.restart = restart;
        SCOPED_TRACE(text_of(coding));
        for (const JpegSizes& sizes : all_sizes) expect_as_libjpeg(write(coding), sizes);
    }
}

TEST(JpegDecoding, TablesOf16Bits) {
    for (const int coarseness : {1, 255, 256, 300, 900}) {
        Coding coding{80, 60};
        coding.coarseness = coarseness;
        SCOPED_TRACE(text_of(coding));
        expect_as_libjpeg(write(coding));
    }
}

TEST(JpegDecoding, BytesAroundTheData) {
    const Bytes file = write({40, 30});
    const std::size_t tables = place_of_marker(file, dqt), scan = place_of_marker(file, sos);
    expect_as_libjpeg(with(file, tables, {0xFF, 0xFF, 0xFF}));                      // fill bytes
    expect_as_libjpeg(with(file, file.size() - 2, {0xFF, 0xFF}));                   // before the end
    expect_as_libjpeg(with(file, file.size(), {0xFF, 0xD8, 1, 2, 3, 0xFF, 0xC4}));  // garbage
    expect_as_libjpeg(with(file, scan, {0xFF, 0xFE, 0, 5, 'a', 0xFF, 'c'}));        // a comment
    expect_as_libjpeg(with(file, 2, {0xFF, 0xE1, 0, 10, 'E', 'x', 'i', 'f', 0, 0, 'I', 'I'}));
    expect_as_libjpeg(with(file, scan, {0xFF, 0xEE, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 0}));
    Bytes adobe = file;  // instead of JFIF's: no transform
    adobe.erase(adobe.begin() + 2, adobe.begin() + 20);
    expect_as_libjpeg(adobe);
    expect_as_libjpeg(with(adobe, 2, {0xFF, 0xEE, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 0}));
    expect_as_libjpeg(with(adobe, 2, {0xFF, 0xEE, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 1}));
    expect_as_libjpeg(with(file, scan, {0xFF, 0xDD, 0, 4, 0, 0}));  // no restarts
}

TEST(JpegDecoding, ExtendedSequential) {
    const Bytes file = write({40, 30});
    expect_as_libjpeg(changed(file, place_of_marker(file, sof0) + 1, 0xC1));
}

TEST(JpegHeader, WhatIsNotForTheGpu) {
    const Coding coding{40, 30, JCS_YCbCr, {2, 1, 1}, {2, 1, 1}};
    const Bytes file = write(coding);
    const cv::Mat image = picture_of(coding);
    using Options = jpeg_files::JpegOptions;
    EXPECT_EQ(reason_of(file), "");
    EXPECT_EQ(reason_of(make_jpeg(image, Options{JCS_RGB, JCS_YCbCr, 1, 1, true})), "progressive");
    EXPECT_EQ(reason_of(make_jpeg(image, Options{JCS_RGB, JCS_YCbCr, 1, 1, false, true})), "arithmetic coding");
    EXPECT_EQ(reason_of(make_jpeg(cv::Mat(9, 9, CV_8UC4), Options{JCS_CMYK, JCS_YCCK})), "four components");
    Options scans;
    scans.one_component_a_scan = true;
    EXPECT_EQ(reason_of(make_jpeg(image, scans)), "several scans");
    EXPECT_EQ(reason_of({}), "no JPEG");
    EXPECT_EQ(reason_of({0xFF, 0xD8}), "bytes between the segments of the header");

    const std::size_t frame = place_of_marker(file, sof0) + 4, scan = place_of_marker(file, sos),
                      tables = place_of_marker(file, dqt), codes = place_of_marker(file, dht);
    EXPECT_EQ(reason_of(changed(file, frame - 3, 0xC3)), "a coding other than Huffman's, baseline");
    EXPECT_EQ(reason_of(changed(file, frame, 12)), "other than 8 bits");
    EXPECT_EQ(reason_of(changed(changed(file, frame + 1, 0), frame + 2, 0)), "an odd size");
    EXPECT_EQ(reason_of(changed(file, frame + 7, 0x55)), "an odd frame header");
    EXPECT_EQ(reason_of(changed(file, frame + 7, 0x44)), "MCUs of more than 10 blocks");
    EXPECT_EQ(reason_of(changed(changed(file, frame + 7, 0x31), frame + 10, 0x21)), "fractional sampling");
    EXPECT_EQ(reason_of(changed(file, frame + 8, 3)), "a quantization table that is missing");
    EXPECT_EQ(reason_of(changed(file, frame + 9, 1)), "an odd frame header");  // the same component twice
    EXPECT_EQ(reason_of(changed(file, scan + 6, 0x22)), "a Huffman table that is missing");
    EXPECT_EQ(reason_of(changed(file, scan + 12, 62)), "an odd scan header");
    EXPECT_EQ(reason_of(changed(file, tables + 4, 0x20)), "an odd quantization table");
    EXPECT_EQ(reason_of(changed(file, codes + 5, 3)), "an odd Huffman table");  // three codes of a bit
    EXPECT_EQ(reason_of(with(file, tables, {0})), "bytes between the segments of the header");
    EXPECT_EQ(reason_of(with(file, tables, {0xFF, 0x01})), "an odd marker in the header");
    EXPECT_EQ(reason_of(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(scan))),
              "bytes between the segments of the header");
    EXPECT_EQ(reason_of(Bytes(file.begin(), file.end() - 2)), "data that end early");
    EXPECT_EQ(reason_of(changed(file, file.size() - 1, 0xD0)), "an odd marker in the data");
    EXPECT_EQ(reason_of(changed(changed(file, frame + 1, 0xFF), frame + 2, 0xFF)), "an odd size");
    EXPECT_EQ(reason_of(changed(changed(file, frame + 1, 0xF0), frame + 3, 0xF0)), "too few bytes for its pixels");
    Coding coarse = coding;
    coarse.coarseness = 1000;
    EXPECT_EQ(reason_of(changed(write(coarse), tables + 5, 0x80)), "a quantization table beyond 15 bits");
    EXPECT_EQ(reason_of(changed(file, 11, 2)), "an odd version of JFIF");
    EXPECT_EQ(reason_of(with(file, scan, {0xFF, 0xEE, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 2})),
              "odd words on colors");
    Coding restarts = coding;
    restarts.restart = 1;
    const Bytes marked = write(restarts);
    EXPECT_EQ(reason_of(marked), "");
    EXPECT_EQ(reason_of(changed(marked, place_of_marker(marked, 0xD1) + 1, 0xD2)), "an odd marker in the data");
    EXPECT_EQ(reason_of(with(marked, marked.size() - 2, {0xFF, 0xD5})), "an odd marker in the data");
    restarts.restart = 4;
    Bytes fewer = write(restarts);  // one segment's worth of MCUs less is announced than is there
    fewer[place_of_marker(fewer, 0xDD) + 5] = 2;
    EXPECT_EQ(reason_of(fewer), "data that end early");
}

TEST(JpegHeader, SizesAreKnownBeforeDecoding) {
    const Bytes file = write({40, 30, JCS_GRAYSCALE});
    const JpegImage image = JpegDecoder::inspect({file.data(), file.size()});
    EXPECT_EQ(image.view.width, 40);
    EXPECT_EQ(image.view.height, 30);
    EXPECT_EQ(image.view.channels, 1);
    EXPECT_EQ(JpegDecoder::inspect({file.data(), 1}).view.width, 0);
}

// ---- damage ----

TEST(JpegDamage, CoefficientsOutOfRange) {
    Coding coding{64, 64};
    coding.contents = 3;
    coding.coarseness = 20000;
    EXPECT_EQ(emulate_jpeg(write(coding)).damage, 0U);  // all are 0
    // Coarser tables, of the same coefficients.
    coding.coarseness = 200;
    Bytes file = write(coding);
    EXPECT_EQ(emulate_jpeg(file).damage, 0U);
    const std::size_t tables = place_of_marker(file, dqt);
    ASSERT_EQ(file[tables + 4], 0x10);
    for (std::size_t i = 0; i < 64; ++i) file[tables + 5 + 2 * i] = 0x70;
    EXPECT_EQ(emulate_jpeg(file).damage, static_cast<std::uint32_t>(jpeg::idct_out_of_range));
}

TEST(JpegDamage, DataThatEndEarlyOrAreLeftOver) {
    const Bytes file = write({100, 100, JCS_YCbCr, {2, 1, 1}, {2, 1, 1}});
    for (const JpegSizes& sizes : all_sizes) {
        for (const std::ptrdiff_t missing : {1, 2, 100}) {
            Bytes less = file;
            less.erase(less.end() - 2 - missing, less.end() - 2);
            if (less[less.size() - 3] == 0xFF) continue;  // it would be a fill byte
            EXPECT_NE(emulate_jpeg(less, sizes).damage, 0U) << missing;
        }
        for (const std::size_t more : {1, 2, 500}) {
            const EmulatedJpeg decoded = emulate_jpeg(with(file, file.size() - 2, Bytes(more, 0x55)), sizes);
            EXPECT_EQ(decoded.damage, static_cast<std::uint32_t>(jpeg::left_over)) << more;
        }
    }
}

// Whatever has no reason and no damage is what libjpeg reads, and libjpeg has no remark on it.
TEST(JpegDamage, ByChance) {
    const auto count = static_cast<unsigned>(repetitions(3000, 400));
    unsigned sound = 0;
    for (unsigned seed = 0; seed < count; ++seed) {
        const Coding coding = random_coding(seed, 60);
        SCOPED_TRACE(text_of(coding));
        std::mt19937 random(seed);
        const Bytes good = write(coding);
        const std::string text = damaged(std::string(good.begin(), good.end()), random);
        const Bytes file(text.begin(), text.end());
        const EmulatedJpeg decoded = emulate_jpeg(file, all_sizes[seed % 4]);
        if (!decoded.reason.empty() || decoded.damage != 0) continue;
        ++sound;
        expect_as_libjpeg(file, all_sizes[seed % 4]);
        if (HasFailure()) return;
    }
    EXPECT_GT(sound, count / 50);
}

// ---- parts ----

TEST(JpegCodes, AreThoseOfTheTable) {
    // Codes of 1 to 16 bits: 0, 10, 110 and so on.
    std::uint8_t counts[16], symbols[17]{};
    std::fill_n(counts, 16, std::uint8_t{1});
    for (int i = 0; i < 16; ++i) symbols[i] = static_cast<std::uint8_t>(i);
    jpeg::HuffmanTable table;
    ASSERT_TRUE(jpeg::make_table(counts, symbols, true, table));
    for (std::uint32_t i = 0; i < 16; ++i) {
        const std::uint32_t bits = ~(0x80000000U >> i);
        EXPECT_EQ(jpeg::find_code(table, bits), jpeg::make_code(static_cast<int>(i + 1 + i), static_cast<int>(i), 1));
    }
    EXPECT_EQ(jpeg::find_code(table, 0xFFFF0000U), jpeg::no_code);
    symbols[3] = 16;  // no DC difference
    EXPECT_FALSE(jpeg::make_table(counts, symbols, true, table));
    EXPECT_TRUE(jpeg::make_table(counts, symbols, false, table));
    counts[15] = 2;  // the second would be all ones
    EXPECT_FALSE(jpeg::make_table(counts, symbols, false, table));
}

TEST(JpegDecoder, WithoutAGpuSaysWhy) {
    bool available = false;
    for (const EngineInfo& info : engines()) available = available || (info.name == "cuda" && info.available);
    if (available) GTEST_SKIP() << "there is a GPU";
    try {
        const JpegDecoder decoder;
        ADD_FAILURE() << "a decoder without a GPU";
    } catch (const EngineUnavailable& error) {
        EXPECT_EQ(std::string(error.what()).substr(0, 14), "JPEG decoder: ");
    }
}

}  // namespace
}  // namespace gpuhist::test
