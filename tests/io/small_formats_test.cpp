// Formats with small readers of gpuhist: QOI, TGA, .npy, FITS and raw samples, written by hand. tests/cases has files
// of others.
#include <opencv2/imgproc.hpp>

#include "gpuhist/io/pages.hpp"
#include "support/image_files.hpp"

namespace {

using namespace image_files;
using gpuhist::Depth;
using gpuhist::Samples;
using gpuhist::io::Alpha;
using gpuhist::io::Damage;
using gpuhist::io::Image;
using gpuhist::io::RawArray;
using namespace std::string_literals;

/// Receiver that puts strips, which come in their order, below each other.
gpuhist::io::Strips strips_into(cv::Mat& image) {
    gpuhist::io::Strips receiver;
    receiver.strip_bytes = 100'000;
    receiver.max_pixels = DecodeOptions().max_pixels;
    receiver.refusal = [](const gpuhist::io::StripFacts&) { return std::string(); };
    receiver.take = [&image](const gpuhist::io::Image& strip, std::uint64_t row) {
        EXPECT_EQ(row, static_cast<std::uint64_t>(image.rows));
        image.push_back(strip.pixels);
    };
    return receiver;
}

Image read(const std::string& text, const DecodeOptions& options = {}) {
    return decode_image(bytes_of(text), "x", options);
}
std::string says(const std::string& text, const DecodeOptions& options = {}) {
    return failure(bytes_of(text), options);
}
Bytes samples(const Image& image) {
    const cv::Mat all = image.pixels.reshape(1, 1);
    return {all.begin<unsigned char>(), all.end<unsigned char>()};
}
const DecodeOptions accept_damage = [] {
    DecodeOptions options;
    options.on_damaged = OnDamaged::accept;
    return options;
}();
const DecodeOptions raw_indices = [] {
    DecodeOptions options;
    options.raw = true;
    return options;
}();

// ------------------------------------------------------------------------------------------------------- QOI

std::string qoi(unsigned width, unsigned height, const std::string& data, char channels = 3, char space = 0) {
    Bytes head = bytes_of("qoif");
    append(head, width, 4, true);
    append(head, height, 4, true);
    return std::string(head.begin(), head.end()) + channels + space + data;
}
const std::string qoi_end = "\0\0\0\0\0\0\0\1"s;

TEST(Qoi, EveryOperation) {
    // Color, the same again (run), small and larger differences, the index of the first color.
    const std::string data =
        "\xFE\x10\x20\x30"
        "\xC0"
        "\x7F"
        "\xA1\x88"s;
    const char index = static_cast<char>((0x10 * 3 + 0x20 * 5 + 0x30 * 7 + 255 * 11) % 64);
    const Image image = read(qoi(5, 1, data + index + qoi_end));
    EXPECT_EQ(samples(image),
              (Bytes{0x30, 0x20, 0x10, 0x30, 0x20, 0x10, 0x31, 0x21, 0x11, 0x32, 0x22, 0x12, 0x30, 0x20, 0x10}));
    EXPECT_EQ(image.alpha, Alpha::none);
    const Image alpha = read(qoi(3, 1, "\xFF\1\2\3\4\xC0\xFE\5\6\7"s + qoi_end, 4));
    EXPECT_EQ(samples(alpha), (Bytes{3, 2, 1, 4, 3, 2, 1, 4, 7, 6, 5, 4}));
    EXPECT_EQ(alpha.alpha, Alpha::straight);
    // Differences wrap around; before the first pixel is black.
    EXPECT_EQ(samples(read(qoi(1, 1, "\x40"s + qoi_end))), (Bytes{254, 254, 254}));
    EXPECT_EQ(samples(read(qoi(62, 1, "\xFD"s + qoi_end))), Bytes(3 * 62));
}

TEST(Qoi, DamageIsNoticed) {
    const std::string one = "\xFE\x10\x20\x30"s;
    EXPECT_TRUE(contains(says(qoi(2, 1, one + "\xC1"s + qoi_end)), "damaged: the QOI's last run goes on after"));
    EXPECT_TRUE(
        contains(says(qoi(1, 1, one + one + qoi_end)), "damaged: the QOI's data do not end with the last pixel"));
    EXPECT_TRUE(contains(says(qoi(1, 1, one + qoi_end.substr(0, 7))), "truncated: the QOI's data do not end"));
    EXPECT_TRUE(contains(says(qoi(1, 2, one + "\xFE\1"s)), "truncated: the QOI ends in row 1"));
    const Image cut = read(qoi(1, 2, one + "\xFE\1"s), accept_damage);
    EXPECT_EQ(cut.damage, Damage::truncated);
    EXPECT_EQ(samples(cut), (Bytes{0x30, 0x20, 0x10, 0, 0, 0}));
    EXPECT_TRUE(contains(says(qoi(1, 1, "")), "truncated: the QOI ends before its samples"));
    EXPECT_TRUE(contains(says(qoi(1, 1, one).substr(0, 13)), "truncated: the QOI ends inside its header"));
    EXPECT_TRUE(contains(says(qoi(30000, 30000, one)), "cannot hold the 30000 x 30000 pixels"));
    EXPECT_TRUE(contains(says(qoi(1, 1, one + qoi_end, 5)), "a QOI of 5 channels is not supported"));
    EXPECT_TRUE(contains(says(qoi(1, 1, one + qoi_end, 3, 7)), "a QOI of the color space 7 is not supported"));
    EXPECT_TRUE(contains(says(qoi(0, 1, one + qoi_end)), "damaged: its header claims 0 x 1 pixels"));
}

// ------------------------------------------------------------------------------------------------------- TGA

struct Tga {
    unsigned type = 2, width = 2, height = 2, bits = 24, descriptor = 0;
    std::string data;
    std::string map{};
    unsigned map_bits = 0, first = 0;
    std::string id{};
    std::string rest{};

    std::string text() const {
        Bytes head;
        const std::size_t colors = map_bits == 0 ? 0 : map.size() / ((map_bits + 7) / 8);
        append(head, id.size(), 1);
        append(head, map.empty() ? 0 : 1, 1);
        append(head, type, 1);
        append(head, first, 2);
        append(head, colors, 2);
        append(head, map_bits, 1);
        append(head, 0, 4);
        append(head, width, 2);
        append(head, height, 2);
        append(head, bits, 1);
        append(head, descriptor, 1);
        return std::string(head.begin(), head.end()) + id + map + data + rest;
    }
};

TEST(TgaFile, SamplesOfEveryDepth) {
    const Tga color{2, 2, 2, 24, 0, "abcdefghijkl"};
    EXPECT_EQ(samples(read(color.text())), bytes_of("ghijklabcdef"));  // rows from the bottom up
    const auto turned = [&](unsigned descriptor) {
        Tga tga = color;
        tga.descriptor = descriptor;
        return samples(read(tga.text()));
    };
    EXPECT_EQ(turned(0x20), bytes_of("abcdefghijkl"));
    EXPECT_EQ(turned(0x30), bytes_of("defabcjklghi"));
    EXPECT_EQ(turned(0x10), bytes_of("jklghidefabc"));
    const Image gray = read(Tga{3, 3, 1, 8, 0x20, "xyz"}.text());
    EXPECT_EQ(samples(gray), bytes_of("xyz"));
    EXPECT_EQ(gray.pixels.channels(), 1);
    const Image gray_alpha = read(Tga{3, 2, 1, 16, 0x28, "xAyB"}.text());
    EXPECT_EQ(samples(gray_alpha), bytes_of("xxxAyyyB"));
    EXPECT_EQ(gray_alpha.samples, Samples::gray_alpha);
    const Image alpha = read(Tga{2, 1, 1, 32, 0x28, "abcA"}.text());
    EXPECT_EQ(samples(alpha), bytes_of("abcA"));
    EXPECT_EQ(alpha.alpha, Alpha::straight);
    EXPECT_EQ(samples(read(Tga{2, 1, 1, 32, 0x20, "abcA"}.text())), bytes_of("abc"));
    // 5 bits of blue, green and red: 1, 30 and 16 of 31.
    const std::string word = {static_cast<char>(0xC1), static_cast<char>(0x43 | 0x80)};
    EXPECT_EQ(samples(read(Tga{2, 1, 1, 16, 0x20, word}.text())), (Bytes{8, 247, 132}));
    EXPECT_EQ(samples(read(Tga{2, 1, 1, 15, 0x20, word}.text())), (Bytes{8, 247, 132}));
    EXPECT_EQ(samples(read(Tga{2, 1, 1, 16, 0x21, word}.text())), (Bytes{8, 247, 132, 255}));
    EXPECT_EQ(samples(read(Tga{3, 1, 1, 8, 0x20, "x", "", 0, 0, "some text"}.text())), bytes_of("x"));
}

TEST(TgaFile, ColorMaps) {
    EXPECT_EQ(samples(read(Tga{1, 2, 1, 8, 0x20, "\1\0"s, "abcdef", 24}.text())), bytes_of("defabc"));
    EXPECT_EQ(samples(read(Tga{1, 2, 1, 8, 0x20, "\6\5"s, "abcdef", 24, 5}.text())), bytes_of("defabc"));
    EXPECT_EQ(samples(read(Tga{1, 2, 1, 8, 0x20, "\1\0"s, "aaabbb", 24}.text())), bytes_of("ba"));
    EXPECT_EQ(samples(read(Tga{1, 1, 1, 8, 0x28, "\1", "abcAdefB", 32}.text())), bytes_of("defB"));
    EXPECT_EQ(samples(read(Tga{1, 1, 1, 8, 0x20, "\1", "abcAdefB", 32}.text())), bytes_of("def"));
    EXPECT_EQ(samples(read(Tga{1, 2, 1, 8, 0x20, "\1\0"s, "abcdef", 24}.text(), raw_indices)), (Bytes{1, 0}));
    EXPECT_TRUE(contains(says(Tga{1, 2, 1, 8, 0x20, "\1\2", "abcdef", 24}.text()),
                         "damaged: index 2 in row 0 of the file is outside of the map of 2 colors from 0 on"));
    EXPECT_TRUE(contains(says(Tga{1, 2, 1, 8, 0x20, "\1\5", "abcdef", 24, 5}.text()), "damaged: index 1 in row 0"));
    EXPECT_TRUE(contains(says(Tga{1, 1, 1, 16, 0x20, "\1\0"s, "abcdef", 24}.text()),
                         "a TGA of indices of 16 bits is not supported"));
    // A map that colors do not use.
    EXPECT_EQ(samples(read(Tga{2, 1, 1, 24, 0x20, "xyz", "abcdef", 24}.text())), bytes_of("xyz"));
}

TEST(TgaFile, RunLengths) {
    EXPECT_EQ(samples(read(Tga{10, 4, 1, 24, 0x20,
                               "\x82"
                               "abc"
                               "\0def"s}
                               .text())),
              bytes_of("abcabcabcdef"));
    EXPECT_EQ(samples(read(Tga{11, 2, 2, 8, 0x20,
                               "\x82"
                               "a"
                               "\0b"s}
                               .text())),
              bytes_of("aaab"));  // over rows
    EXPECT_EQ(samples(read(Tga{9, 2, 1, 8, 0x20, "\x81\1", "abcdef", 24}.text())), bytes_of("defdef"));
    EXPECT_TRUE(contains(says(Tga{11, 2, 2, 8, 0x20,
                                  "\x84"
                                  "a"}
                                  .text()),
                         "damaged: the TGA's run lengths pass"));
    EXPECT_TRUE(contains(says(Tga{11, 2, 2, 8, 0x20,
                                  "\x81"
                                  "a"
                                  "\1b"}
                                  .text()),
                         "truncated: the TGA's run lengths end in row 1 of the file"));
    EXPECT_TRUE(contains(says(Tga{11, 2, 2, 8, 0x20,
                                  "\x81"
                                  "a"}
                                  .text()),
                         "truncated: the TGA's run lengths end"));
    EXPECT_EQ(samples(read(Tga{11, 2, 2, 8, 0x20,
                               "\x81"
                               "a"}
                               .text(),
                           accept_damage)),
              (Bytes{'a', 'a', 0, 0}));
    EXPECT_TRUE(contains(says(Tga{11, 30000, 30000, 8, 0x20,
                                  "\xFF"
                                  "a"}
                                  .text()),
                         "cannot hold the 30000 x 30000"));
}

TEST(TgaFile, TheEndSaysWhatAlphaIs) {
    const auto with = [](char attributes) {
        Tga tga{2, 1, 1, 32, 0x28, "abcA"};
        const std::size_t at = tga.text().size();
        Bytes footer;
        append(footer, at, 4);
        append(footer, 0, 4);
        tga.rest =
            std::string(494, '\0') + attributes + std::string(footer.begin(), footer.end()) + "TRUEVISION-XFILE.\0"s;
        return read(tga.text());
    };
    EXPECT_EQ(with(0).pixels.channels(), 3);
    EXPECT_EQ(with(2).pixels.channels(), 3);
    EXPECT_EQ(with(3).alpha, Alpha::straight);
    EXPECT_EQ(with(4).alpha, Alpha::premultiplied);
}

TEST(TgaFile, WhatIsNotReadIsNamed) {
    const auto of = [](unsigned type, unsigned bits, unsigned descriptor) {
        return says(Tga{type, 1, 1, bits, descriptor, "abcd"}.text());
    };
    EXPECT_TRUE(contains(of(3, 16, 0x20), "a TGA of gray of 16 bits is not supported"));
    for (const auto& no_tga :
         {of(2, 24, 0x28), of(2, 24, 0x60), of(2, 23, 0x20), of(4, 24, 0), of(12, 24, 0), of(1, 8, 0), of(3, 8, 8)})
        EXPECT_TRUE(contains(no_tga, "not an image of a known format")) << no_tga;
    EXPECT_TRUE(
        contains(says(Tga{2, 2, 2, 24, 0, "abcdefghijk"}.text()), "truncated: the TGA ends before its last row"));
}

// ------------------------------------------------------------------------------------------------------ .npy

std::string npy(const std::string& dictionary, const std::string& data, char version = 1) {
    Bytes length;
    append(length, dictionary.size() + 1, version == 1 ? 2 : 4);
    return "\x93NUMPY"s + version + '\0' + std::string(length.begin(), length.end()) + dictionary + '\n' + data;
}
std::string npy_of(const std::string& type, const std::string& shape, const std::string& data, bool fortran = false) {
    return npy(
        "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }",
        data);
}

TEST(Npy, AxesAndOrders) {
    EXPECT_EQ(samples(read(npy_of("|u1", "(2, 3)", "abcdef"))), bytes_of("abcdef"));
    EXPECT_EQ(samples(read(npy_of("|u1", "(2, 3)", "adbecf", true))), bytes_of("abcdef"));
    EXPECT_EQ(samples(read(npy_of("|u1", "(1, 2, 3)", "abcdef"))), bytes_of("cbafed"));
    EXPECT_EQ(samples(read(npy_of("|u1", "(1, 1, 4)", "abcA"))), bytes_of("cbaA"));
    EXPECT_EQ(read(npy_of("|u1", "(1, 1, 4)", "abcA")).alpha, Alpha::straight);
    for (const auto& [shape, data] : {std::pair("(1, 3, 2)"s, "abcdef"s), std::pair("(1, 1, 6)"s, "abcdef"s)}) {
        const Image bands = read(npy_of("|u1", shape, data));
        EXPECT_EQ(bands.samples, Samples::bands);
        EXPECT_EQ(samples(bands), bytes_of("abcdef"));
    }
    for (const char version : {'\2', '\3'})
        EXPECT_EQ(samples(read(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1L, 2)}", "ab", version))),
                  bytes_of("ab"));
}

TEST(Npy, Types) {
    EXPECT_EQ(read(npy_of("<u2", "(1, 1)", "\1\2")).pixels.at<std::uint16_t>(0), 0x0201);
    EXPECT_EQ(read(npy_of(">u2", "(1, 1)", "\1\2")).pixels.at<std::uint16_t>(0), 0x0102);
    EXPECT_EQ(read(npy_of(">f4", "(1, 1)", "\x3F\xC0\0\0"s)).pixels.at<float>(0), 1.5F);
    EXPECT_EQ(read(npy_of("<f8", "(1, 1)", "\0\0\0\0\0\0\xF8\x3F"s)).pixels.at<double>(0), 1.5);
    const Image truth = read(npy_of("|b1", "(1, 2)", "\0\1"s));
    EXPECT_EQ(truth.white, 1);
    EXPECT_EQ(samples(truth), (Bytes{0, 1}));
    EXPECT_TRUE(contains(says(npy_of("|b1", "(1, 2)", "\0\2"s)), "damaged: 2 in row 0 is neither 0 nor 1"));
    const Image wide = read(npy_of("<i8", "(1, 2)", "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F\0\0\0\0"s));
    EXPECT_EQ(wide.depth, Depth::s32);
    EXPECT_EQ(wide.pixels.at<std::int32_t>(0), -2);
    EXPECT_EQ(wide.pixels.at<std::int32_t>(1), INT32_MAX);
    EXPECT_EQ(read(npy_of("<u8", "(1, 1)", "\xFF\xFF\xFF\xFF\0\0\0\0"s)).depth, Depth::u32);
    EXPECT_TRUE(contains(says(npy_of("<i8", "(1, 1)", "\0\0\0\x80\0\0\0\0"s)),
                         "beyond the range of 32 bits: row 0 has 2147483648"));
    EXPECT_TRUE(contains(says(npy_of(">u8", "(1, 1)", "\0\0\0\1\0\0\0\0"s)), "row 0 has 4294967296"));
}

TEST(Npy, PagesAreTheFirstOfFourAxes) {
    const std::string text = npy_of("|u1", "(3, 1, 2, 1)", "abcdef");
    const auto pages = gpuhist::io::probe_pages(bytes_of(text), "x");
    ASSERT_EQ(pages->pages.size(), 3U);
    EXPECT_EQ(read(text).pages, 3U);
    EXPECT_EQ(samples(read(text)), bytes_of("ab"));
    for (const bool fortran : {false, true})
        for (std::uint64_t page = 1; page <= 3; ++page) {
            DecodeOptions options;
            options.page = page;
            const std::string file = fortran ? npy_of("|u1", "(3, 1, 2, 1)", "acebdf", true) : text;
            EXPECT_EQ(samples(read(file, options)), bytes_of("abcdef"s.substr(2 * page - 2, 2)));
        }
    EXPECT_TRUE(contains(says(npy_of("|u1", "(3, 1, 2, 1)", "abcd")), "truncated: the file holds fewer samples"));
    const auto cut = gpuhist::io::probe_pages(bytes_of(npy_of("|u1", "(9, 1, 2, 1)", "abcd")), "x");
    EXPECT_EQ(cut->pages.size(), 3U);
    ASSERT_TRUE(cut->rest);
    EXPECT_TRUE(contains(cut->rest->what(), "the .npy ends in its page 3"));
}

TEST(Npy, WhatIsNotReadIsNamed) {
    EXPECT_TRUE(contains(says(npy_of("<c8", "(1, 1)", "abcdefgh")), "a .npy of the type <c8 is not supported"));
    EXPECT_TRUE(contains(says(npy_of("<M8", "(1, 1)", "abcdefgh")), "a .npy of the type <M8 is not supported"));
    EXPECT_TRUE(contains(says(npy("{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (1, 1)}", "ab")),
                         "a .npy of records is not supported"));
    EXPECT_TRUE(contains(says(npy_of("|u1", "(6,)", "abcdef")), "a .npy of 1 axes is not supported"));
    EXPECT_TRUE(contains(says(npy_of("|u1", "()", "a")), "a .npy of 0 axes is not supported"));
    EXPECT_TRUE(contains(says(npy_of("|u1", "(1, 1, 65)", std::string(65, 'a'))),
                         "a stack of images has the shape (pages, height, width, 1)"));
    EXPECT_TRUE(contains(says(npy_of("|u1", "(0, 3)", "")), "damaged: its header claims 3 x 0 pixels"));
    EXPECT_TRUE(contains(says(npy_of("|u1", "(2, 3)", "abcde")), "truncated: the file holds fewer samples"));
    EXPECT_TRUE(contains(says(npy_of("|u1", "(30000, 30000)", "abcde")), "truncated: "));
    EXPECT_TRUE(contains(says(npy_of("|u1", "(18446744073709551615, 2, 2)", "abcde")), "too_large") ||
                contains(says(npy_of("|u1", "(18446744073709551615, 2, 2)", "abcde")), "more than the"));
    for (const auto* dictionary :
         {"{'descr': '|u1', 'fortran_order': False}", "{'descr': '|u1', 'shape': (1, 1), 'fortran_order': 0}", "[1]",
          "{'descr': '|u1', 'fortran_order': False, 'shape': (1, -1)}",
          "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1)} 1",
          "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1), 'more': 1}"})
        EXPECT_TRUE(contains(says(npy(dictionary, "a")), "damaged: the header of the .npy is not a dictionary"))
            << dictionary;
    EXPECT_TRUE(contains(says(npy("{}", "a").substr(0, 9)), "truncated: the .npy ends inside its header"));
    EXPECT_TRUE(contains(says(npy("{}", "a", '\4')), "a .npy of the version 4 is not supported"));
}

// ------------------------------------------------------------------------------------------------------ FITS

std::string card(const std::string& text) {
    return text + std::string(80 - text.size(), ' ');
}
std::string blocks(std::string text, char filling) {
    text.resize((text.size() + 2879) / 2880 * 2880, filling);
    return text;
}
/// Header of cards, and data.
std::string fits_unit(const std::vector<std::string>& cards, const std::string& data = {}, bool filled = true) {
    std::string header;
    for (const std::string& text : cards) header += card(text);
    return blocks(header + card("END"), ' ') + (filled ? blocks(data, '\0') : data);
}
std::vector<std::string> fits_cards(int bits, const std::vector<unsigned>& sides,
                                    const std::vector<std::string>& more = {},
                                    const std::string& first = "SIMPLE  =                    T") {
    std::vector<std::string> cards{first, "BITPIX  = " + std::to_string(bits),
                                   "NAXIS   = " + std::to_string(sides.size())};
    for (const unsigned side : sides)
        cards.push_back("NAXIS" + std::to_string(cards.size() - 2) + "  = " + std::to_string(side));
    cards.insert(cards.end(), more.begin(), more.end());
    return cards;
}
std::string fits(int bits, const std::vector<unsigned>& sides, const std::string& data,
                 const std::vector<std::string>& more = {}) {
    return fits_unit(fits_cards(bits, sides, more), data);
}
const std::string image_extension = "XTENSION= 'IMAGE   '", table_extension = "XTENSION= 'BINTABLE'";

template <class Sample>
std::vector<Sample> values(const Image& image) {
    return {image.pixels.begin<Sample>(), image.pixels.end<Sample>()};
}

TEST(Fits, Types) {
    EXPECT_EQ(samples(read(fits(8, {3, 2}, "abcdef"))), bytes_of("abcdef"));
    EXPECT_EQ(values<std::int16_t>(read(fits(16, {2, 1}, "\xFF\xFE\x01\x02"))), (std::vector<std::int16_t>{-2, 0x102}));
    EXPECT_EQ(values<std::int32_t>(read(fits(32, {1, 1}, "\x80\0\0\1"s))), (std::vector<std::int32_t>{INT32_MIN + 1}));
    EXPECT_EQ(values<float>(read(fits(-32, {1, 1}, "\x3F\xC0\0\0"s))), (std::vector<float>{1.5F}));
    EXPECT_EQ(values<double>(read(fits(-64, {1, 1}, "\x3F\xF8\0\0\0\0\0\0"s))), (std::vector<double>{1.5}));
    const std::string two = "\xFF\xFF\xFF\xFF\x80\0\0\0\0\0\0\0\x7F\xFF\xFF\xFF"s;
    EXPECT_EQ(values<std::int32_t>(read(fits(64, {2, 1}, two))), (std::vector<std::int32_t>{INT32_MIN, INT32_MAX}));
    EXPECT_TRUE(contains(says(fits(64, {1, 1}, "\0\0\0\0\x80\0\0\0"s)), "range of 32 bits: row 0 stores 2147483648"));
    EXPECT_EQ(samples(read(fits(8, {3}, "abc"))), bytes_of("abc"));  // one axis is one row
    for (const int bits : {0, 12, -16, 128})
        EXPECT_TRUE(contains(says(fits(bits, {1, 1}, "a")), "damaged: the FITS file has a wrong card 2 in its header"));
}

TEST(Fits, ScaledIntegers) {
    const auto of = [](int bits, const std::string& data, const std::vector<std::string>& cards) {
        return read(fits(bits, {static_cast<unsigned>(data.size()) * 8 / static_cast<unsigned>(bits), 1}, data, cards));
    };
    // By BZERO alone: of the other sign.
    EXPECT_EQ(of(8, "\0\xFF"s, {"BZERO   = -128"}).depth, Depth::s8);
    EXPECT_EQ(values<signed char>(of(8, "\0\xFF"s, {"BZERO   = -128."})), (std::vector<signed char>{-128, 127}));
    EXPECT_EQ(values<std::uint16_t>(of(16, "\x80\0\x7F\xFF"s, {"BZERO   =  3.2768D4 / unsigned", "BSCALE  = 1"})),
              (std::vector<std::uint16_t>{0, 65535}));
    const Image high = of(32, "\x80\0\0\0\x7F\xFF\xFF\xFF"s, {"BZERO   = 2147483648"});
    EXPECT_EQ(high.depth, Depth::u32);
    EXPECT_EQ(static_cast<std::uint32_t>(high.pixels.at<std::int32_t>(1)), UINT32_MAX);
    const std::string bias = "BZERO   = 9223372036854775808";
    EXPECT_EQ(of(64, "\x80\0\0\0\xFF\xFF\xFF\xFF"s, {bias}).depth, Depth::u32);
    EXPECT_TRUE(contains(says(fits(64, {1, 1}, "\x80\0\0\1\0\0\0\0"s, {bias})), "range of 32 bits"));
    // Whole numbers keep integers, of the smallest type for their range.
    EXPECT_EQ(values<std::int16_t>(of(8, "\0\xFF"s, {"BSCALE  = -2", "BZERO   = +10"})),
              (std::vector<std::int16_t>{10, -500}));
    EXPECT_EQ(of(16, "\0\1"s, {"BZERO   = 10"}).depth, Depth::s32);
    EXPECT_EQ(values<double>(of(32, "\x7F\xFF\xFF\xFF"s, {"BSCALE  = 1000000"})), (std::vector<double>{2147483647e6}));
    // Others make floats, which are rounded once.
    EXPECT_EQ(values<float>(of(16, "\0\7"s, {"BSCALE  = 0.1", "BZERO   = 0.2"})),
              (std::vector<float>{static_cast<float>(7 * 0.1 + 0.2)}));
    EXPECT_EQ(values<double>(of(32, "\0\0\0\7"s, {"BSCALE  = 1E-1"})), (std::vector<double>{7 * 0.1}));
    // An undefined value is none; what is no number is damage.
    EXPECT_EQ(of(16, "\0\7"s, {"BSCALE  =                      / none"}).depth, Depth::s16);
    EXPECT_EQ(of(16, "\0\7"s, {"BSCALE    0.1", "COMMENT BSCALE  = 2", "HIERARCH BSCALE = 3"}).depth, Depth::s16);
    EXPECT_EQ(of(16, "\0\7"s, {"BSCALE  = 1", "BSCALE  = 0.5"}).depth, Depth::s16);  // the first one counts
    for (const char* wrong : {"BSCALE  = x", "BZERO   = 1.5.2", "BLANK   = T", "BZERO   = NaN", "BSCALE  = +-1"})
        EXPECT_TRUE(contains(says(fits(16, {1, 1}, "ab", {wrong})), "has a wrong card 6 in its header at byte 0: \""))
            << wrong;
}

TEST(Fits, MissingValues) {
    const Image plain = read(fits(16, {2, 1}, "\0\1\xFF\xFE"s, {"BLANK   = -2"}));
    EXPECT_EQ(plain.nodata, std::optional(-2.));
    EXPECT_EQ(values<std::int16_t>(plain), (std::vector<std::int16_t>{1, -2}));
    EXPECT_EQ(read(fits(16, {1, 1}, "\0\1"s, {"BLANK   = -32768", "BZERO   = 32768"})).nodata, std::optional(0.));
    const std::vector<float> scaled =
        values<float>(read(fits(16, {2, 1}, "\0\1\xFF\xFE"s, {"BLANK   = -2", "BSCALE  = 0.5"})));
    EXPECT_EQ(scaled[0], 0.5F);
    EXPECT_TRUE(std::isnan(scaled[1]));
    EXPECT_EQ(read(fits(-32, {1, 1}, "\0\0\0\0"s, {"BLANK   = 0"})).nodata, std::nullopt);
    const Image low = read(
        fits(64, {1, 1}, "\x80\0\0\0\0\0\0\5"s, {"BZERO   = 9223372036854775808", "BLANK   = -9223372036854775803"}));
    EXPECT_EQ(low.nodata, std::optional(5.));
}

TEST(Fits, PagesAreImagesAndPlanes) {
    const std::string table =
        fits_unit(fits_cards(8, {4, 3}, {"PCOUNT  = 5", "GCOUNT  = 1"}, table_extension), "seventeen bytes ..");
    const std::string file = fits_unit(fits_cards(8, {})) +
                             fits_unit(fits_cards(8, {2, 1, 2, 2}, {}, image_extension), "abcdefgh") + table +
                             fits_unit(fits_cards(16, {1, 1}, {}, image_extension), "ij");
    const auto pages = gpuhist::io::probe_pages(bytes_of(file), "x");
    ASSERT_EQ(pages->pages.size(), 5U);
    EXPECT_FALSE(pages->rest);
    EXPECT_EQ(read(file).pages, 5U);
    EXPECT_EQ(samples(read(file)), bytes_of("ab"));
    const auto page = [&](const std::string& text, std::uint64_t number) {
        DecodeOptions options;
        options.page = number;
        return read(text, options);
    };
    for (const std::uint64_t number : {1U, 2U, 3U, 4U})
        EXPECT_EQ(samples(page(file, number)), bytes_of("abcdefgh"s.substr(2 * number - 2, 2)));
    EXPECT_EQ(page(file, 5).pixels.at<std::int16_t>(0), 'i' * 256 + 'j');

    // A file that is cut off has the planes before.
    const std::string cut = fits_unit(fits_cards(8, {2, 1, 9}), "abcde", false);
    EXPECT_TRUE(contains(says(cut), "truncated: the FITS file ends in the data of its header at byte 0"));
    const auto there = gpuhist::io::probe_pages(bytes_of(cut), "x");
    ASSERT_EQ(there->pages.size(), 3U);
    ASSERT_TRUE(there->rest);
    EXPECT_TRUE(contains(there->rest->what(), "truncated: the FITS file ends in the data"));
    EXPECT_EQ(samples(page(cut, 2)), bytes_of("cd"));
    EXPECT_THROW(page(cut, 3), IoError);
    EXPECT_EQ(samples(read(fits_unit(fits_cards(8, {2, 2}), "abc", false), accept_damage)), (Bytes{'a', 'b', 0, 0}));

    // The last block may lack what fills it; after it, anything but an extension or zeros is wrong.
    EXPECT_EQ(samples(read(fits_unit(fits_cards(8, {2, 1}), "ab", false))), bytes_of("ab"));
    const std::string one = fits(8, {2, 1}, "ab");
    EXPECT_TRUE(contains(says(one.substr(0, 5000)), "truncated: the FITS file ends in the last block of the data"));
    EXPECT_EQ(samples(read(one.substr(0, 5000), accept_damage)), bytes_of("ab"));
    EXPECT_FALSE(gpuhist::io::probe_pages(bytes_of(one + std::string(5000, '\0')), "x")->rest);
    EXPECT_TRUE(
        contains(gpuhist::io::probe_pages(bytes_of(one + "more"), "x")->rest->what(), "nor an extension at byte 5760"));
    EXPECT_TRUE(contains(gpuhist::io::probe_pages(bytes_of(one + card(image_extension)), "x")->rest->what(),
                         "truncated: the FITS file ends in its header at byte 5760"));
}

TEST(Fits, WhatIsNotReadIsNamed) {
    EXPECT_TRUE(contains(says(fits(8, {}, "")), "a FITS file without an image is not supported"));
    EXPECT_TRUE(contains(says(fits(8, {0, 3}, "")), "a FITS file without an image is not supported"));
    const std::string empty = fits_unit(fits_cards(8, {}));
    EXPECT_TRUE(contains(says(empty + fits_unit(fits_cards(8, {1, 1}, {}, table_extension), "a")),
                         "a FITS file without an image is not supported: it has an extension BINTABLE"));
    EXPECT_TRUE(
        contains(says(empty + fits_unit(fits_cards(8, {1, 1}, {"ZIMAGE  = T"}, table_extension), "a")), "funpack"));
    EXPECT_TRUE(
        contains(says(fits_unit(fits_cards(8, {0, 2}, {"GROUPS  = T", "PCOUNT  = 1", "GCOUNT  = 3"}), "abcdefghi")),
                 "without an image is not supported: it has an extension random groups"));
    EXPECT_TRUE(
        contains(says(fits_unit(fits_cards(8, {1, 1}, {}, "SIMPLE  =                    F"), "a")), "SIMPLE = F"));
}

TEST(Fits, DamageIsNamed) {
    const std::string whole = fits(8, {2, 1}, "ab");
    EXPECT_TRUE(contains(says(whole.substr(0, 300)), "truncated: the FITS file ends in its header at byte 0"));
    EXPECT_TRUE(contains(says(fits(8, {30000, 30000}, "ab")), "truncated: "));
    EXPECT_TRUE(contains(says(fits(8, {4294967295, 4294967295, 4294967295}, "ab")), "more than the"));
    for (const auto& [from, to] : {std::pair("NAXIS   "s, "NAXIZ   "s),
                                   {"NAXIS2"s, "NAXIS3"s},
                                   {"NAXIS1  = 2", "NAXIS1  = -"},
                                   {"BITPIX  =", "BITPIX  -"}}) {
        std::string changed = whole;
        changed.replace(changed.find(from), from.size(), to);
        EXPECT_TRUE(contains(says(changed), "damaged: the FITS file has a wrong card")) << to;
    }
    EXPECT_TRUE(contains(says(card("SIMPLE  =                    T") + card("END")), "wrong card 2"));
    // A header has an end.
    const std::string endless =
        card("SIMPLE  = T") + card("BITPIX  = 8") + card("NAXIS   = 0") + std::string(17 << 20, ' ');
    EXPECT_TRUE(contains(says(endless), "damaged: the FITS file has no END in its header at byte 0"));
}

TEST(Fits, Checksums) {
    // 'a' and 'b' are the first two of four bytes.
    const auto of = [](const std::string& sum) { return fits(8, {2, 1}, "ab", {"DATASUM = '" + sum + "'"}); };
    EXPECT_EQ(samples(read(of("1633812480"))), bytes_of("ab"));
    EXPECT_TRUE(
        contains(says(of("1633812481")), "damaged: a checksum of the FITS file is wrong in its header at byte 0"));
    EXPECT_TRUE(contains(says(of("x")), "damaged: a checksum"));
    EXPECT_EQ(samples(read(of(""))), bytes_of("ab"));  // none is said
    EXPECT_EQ(read(of("1"), accept_damage).damage, Damage::damaged);
    EXPECT_TRUE(contains(says(fits(8, {2, 1}, "ab", {"CHECKSUM= '0000000000000000'"})), "damaged: a checksum"));
}

TEST(Fits, LargeFilesComeInStrips) {
    const gpuhist::test::TemporaryDirectory temporary;
    const cv::Mat pixels = picture(900, 700, CV_16UC1);
    std::string data;
    for (int y = 0; y < pixels.rows; ++y)
        for (int x = 0; x < pixels.cols; ++x) {
            const int stored = pixels.at<std::uint16_t>(y, x) - 32768;
            data += {static_cast<char>(stored >> 8), static_cast<char>(stored)};
        }
    std::vector<std::string> cards(70'000, "COMMENT of a header that is longer than what a window keeps");
    cards.emplace_back("BZERO   = 32768");
    const std::string file =
        fits(16, {700, 900}, data, cards) + fits_unit(fits_cards(16, {700, 900}, {}, image_extension), data);
    write_file(temporary.path() / "large.fits", file);
    const DecodeOptions whole;
    EXPECT_TRUE(same(read_image(temporary.path() / "large.fits", whole).pixels, pixels));
    cv::Mat strips;
    const gpuhist::io::Strips receiver = strips_into(strips);
    DecodeOptions options;
    options.strips = &receiver;
    std::uint64_t held = 0;
    options.admit = [&](std::uint64_t bytes, std::uint64_t) { held = bytes; };
    const Image image = read_image(temporary.path() / "large.fits", options);
    EXPECT_TRUE(image.pixels.empty());
    EXPECT_EQ(image.pages, 2U);
    EXPECT_TRUE(same(strips, pixels));
    EXPECT_LE(held, std::uint64_t{5} << 20);
    strips = cv::Mat();
    options.page = 2;
    read_image(temporary.path() / "large.fits", options);
    EXPECT_EQ(strips.at<std::int16_t>(3, 4), pixels.at<std::uint16_t>(3, 4) - 32768);
}

// ----------------------------------------------------------------------------------------------- raw samples

DecodeOptions of_layout(const RawArray& array) {
    DecodeOptions options;
    options.array = array;
    return options;
}

TEST(RawSamples, HaveTheLayoutThatTheUserTells) {
    EXPECT_EQ(samples(read("abcdef", of_layout({Depth::u8, 3, 2}))), bytes_of("abcdef"));
    EXPECT_EQ(samples(read("..abcdef", of_layout({Depth::u8, 2, 1, 3, 2}))), bytes_of("cbafed"));
    const Image image = read("\1\2", of_layout({Depth::u16, 1, 1}));
    EXPECT_EQ(image.pixels.at<std::uint16_t>(0), 0x0201);
    EXPECT_EQ(image.format, "raw samples");
    EXPECT_EQ(read("\1\2", of_layout({Depth::u16, 1, 1, 1, 0, true})).pixels.at<std::uint16_t>(0), 0x0102);
    EXPECT_EQ(read(std::string(5, 'x'), of_layout({Depth::u8, 1, 1, 5})).samples, Samples::bands);
    // A file that has a format, too.
    EXPECT_EQ(read(qoi(1, 1, ""), of_layout({Depth::u8, 14, 1})).pixels.cols, 14);
}

TEST(RawSamples, FillTheFile) {
    EXPECT_TRUE(contains(says("abcde", of_layout({Depth::u8, 3, 2})), "truncated: the file holds fewer samples"));
    EXPECT_TRUE(
        contains(says("abcdefg", of_layout({Depth::u8, 3, 2})), "the file has 7 bytes, and the raw samples end at 6"));
    EXPECT_TRUE(contains(says("abcdef", of_layout({Depth::u8, 3, 2, 1, 9})), "truncated: "));
    EXPECT_TRUE(contains(says("abcdef", of_layout({Depth::u8, 3, 2, 65})), "65 channels are not supported"));
    DecodeOptions accept = of_layout({Depth::u8, 3, 2});
    accept.on_damaged = OnDamaged::accept;
    EXPECT_EQ(samples(read("abcde", accept)), (Bytes{'a', 'b', 'c', 0, 0, 0}));
}

TEST(RawSamples, OfLargeFilesComeInStrips) {
    const gpuhist::test::TemporaryDirectory temporary;
    const cv::Mat pixels = picture(900, 700, CV_16UC3);
    cv::Mat stored;
    cv::cvtColor(pixels, stored, cv::COLOR_BGR2RGB);
    const auto bytes = static_cast<std::size_t>(900 * 700 * 6);
    Bytes file(7 + bytes);
    std::memcpy(file.data() + 7, stored.data, bytes);
    write_file(temporary.path() / "raw", {reinterpret_cast<const char*>(file.data()), file.size()});
    DecodeOptions options = of_layout({Depth::u16, 700, 900, 3, 7});
    EXPECT_TRUE(same(read_image(temporary.path() / "raw", options).pixels, pixels));
    cv::Mat strips;
    const gpuhist::io::Strips receiver = strips_into(strips);
    options.strips = &receiver;
    EXPECT_TRUE(read_image(temporary.path() / "raw", options).pixels.empty());
    EXPECT_TRUE(same(strips, pixels));
}

}  // namespace
