// Radiance and Sun raster, written by hand; WebP and JPEG 2000, as far as OpenCV reads them right.
#include <cmath>
#include <filesystem>

#include "support/image_files.hpp"

namespace {

using namespace image_files;
using gpuhist::Depth;
using gpuhist::io::Alpha;
using gpuhist::io::Damage;
using gpuhist::io::Image;
using namespace std::string_literals;

std::string says(const std::string& text) {
    return failure(bytes_of(text));
}

// -------------------------------------------------------------------------------------------------- Radiance

std::string radiance(const std::string& data, const std::string& size = "-Y 2 +X 3",
                     const std::string& lines = "FORMAT=32-bit_rle_rgbe\n") {
    return "#?RADIANCE\n" + lines + "\n" + size + "\n" + data;
}

/// Mantissas of red, green and blue, and exponents.
const std::string flat =
    "\x10\x20\x30\x80\x11\x21\x31\x81\x12\x22\x32\x82\x13\x23\x33\x83\xFF\xFF\xFF\xFF\x14\x24\x34\0"s;

std::vector<float> floats(const std::string& pixels) {
    std::vector<float> values;
    for (std::size_t i = 0; i + 4 <= pixels.size(); i += 4)
        for (const std::size_t c : {2U, 1U, 0U}) {
            const auto byte = [&](std::size_t at) { return static_cast<int>(static_cast<unsigned char>(pixels[at])); };
            values.push_back(byte(i + 3) == 0 ? 0 : std::ldexp(static_cast<float>(byte(i + c)), byte(i + 3) - 136));
        }
    return values;
}
std::vector<float> floats(const Image& image) {
    const cv::Mat all = image.pixels.reshape(1, 1);
    return {all.begin<float>(), all.end<float>()};
}
std::vector<float> read_floats(const std::string& text) {
    return floats(decode_image(bytes_of(text), "x"));
}

TEST(Radiance, PixelsAreAsStored) {
    const Image image = decode_image(bytes_of(radiance(flat)), "x");
    EXPECT_EQ(floats(image), floats(flat));
    EXPECT_EQ(image.depth, Depth::f32);
    EXPECT_EQ(image.white, 1);
    EXPECT_EQ(image.pixels.size(), cv::Size(3, 2));
    const auto pixel = [](int i) { return flat.substr(static_cast<std::size_t>(4 * i), 4); };
    const auto of = [&](const std::vector<int>& order) {
        std::string pixels;
        for (const int i : order) pixels += pixel(i);
        return floats(pixels);
    };
    EXPECT_EQ(read_floats(radiance(flat, "+Y 2 +X 3")), of({3, 4, 5, 0, 1, 2}));
    EXPECT_EQ(read_floats(radiance(flat, "-Y 2 -X 3")), of({2, 1, 0, 5, 4, 3}));
    EXPECT_EQ(read_floats(radiance(flat, "-Y 2 +X 3", "# x\nEXPOSURE=4\nFORMAT=32-bit_rle_rgbe\nCOLORCORR=1 2 3\n")),
              floats(flat));
    EXPECT_EQ(read_floats(radiance(flat, "-Y 2 +X 3", "")), floats(flat));
    EXPECT_EQ(read_floats("#?RGBE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X 3\n" + flat), floats(flat));
}

TEST(Radiance, RunsOfPixels) {
    const std::string a = flat.substr(0, 4), b = flat.substr(4, 4), run = "\1\1\1"s;
    const auto times = [](const std::string& pixel, int count) {
        std::string pixels;
        for (int i = 0; i < count; ++i) pixels += pixel;
        return pixels;
    };
    EXPECT_EQ(read_floats(radiance(a + run + "\3" + b, "-Y 1 +X 5")), floats(times(a, 4) + b));
    EXPECT_EQ(read_floats(radiance(a + run + "\2" + run + "\1" + b + run + "\1", "-Y 1 +X 261")),
              floats(times(a, 259) + times(b, 2)));
    EXPECT_TRUE(contains(says(radiance(a + run + "\5" + b, "-Y 1 +X 5")),
                         "damaged: the Radiance file's data meet a run that passes the width in row 0"));
    EXPECT_TRUE(contains(says(radiance(run + "\5", "-Y 1 +X 5")),
                         "damaged: the Radiance file's data meet a run with nothing before it"));
}

TEST(Radiance, RunsOfBytes) {
    const std::string line = "\2\2\0\x0A\x8A\x10\3\1\2\3\x87\4\x8A\x30\x8A\x81"s;
    std::string pixels;
    for (int i = 0; i < 10; ++i) pixels += "\x10"s + static_cast<char>(i < 3 ? i + 1 : 4) + "\x30\x81";
    EXPECT_EQ(read_floats(radiance(line + line, "-Y 2 +X 10")), floats(pixels + pixels));
    for (const auto& [bad, what] : std::vector<std::pair<std::string, std::string>>{
             {"\2\2\0\x0B"s + line.substr(4),
              "damaged: the Radiance file's data meet a row of another length in row 1"},
             {"\2\2\0\x0A\x8B\x10"s + line,
              "damaged: the Radiance file's data meet a run that passes the width in row 1"},
             {"\2\2\0\x0A\0"s + line, "damaged: the Radiance file's data meet a run that passes the width in row 1"},
             {line.substr(0, 12), "truncated: the Radiance file's data meet the end of the file in row 1"}})
        EXPECT_TRUE(contains(says(radiance(line + bad, "-Y 2 +X 10")), what));
    DecodeOptions accept;
    accept.on_damaged = OnDamaged::accept;
    const Image image = decode_image(bytes_of(radiance(line + line.substr(0, 4), "-Y 2 +X 10")), "x", accept);
    EXPECT_EQ(image.damage, Damage::truncated);
    EXPECT_EQ(floats(image), floats(pixels + std::string(40, '\0')));
}

TEST(Radiance, WhatIsNotReadIsNamed) {
    EXPECT_TRUE(contains(says(radiance(flat, "-Y 2 +X 3", "FORMAT=32-bit_rle_xyze\n")),
                         "of the format 32-bit_rle_xyze is not supported"));
    EXPECT_TRUE(contains(says(radiance(flat, "+X 3 -Y 2")), "a Radiance file of columns is not supported"));
    EXPECT_TRUE(contains(says(radiance(flat, "3 2")), "truncated: "));
    EXPECT_TRUE(contains(says(radiance(flat.substr(0, 23))),
                         "truncated: the Radiance file's data meet the end of the file in row 1"));
    EXPECT_TRUE(contains(says(radiance(flat, "-Y 30 +X 3")), "truncated: the Radiance file ends before its last row"));
    EXPECT_TRUE(contains(says(radiance(flat, "-Y 30000 +X 30000")), "cannot hold the 30000 x 30000 pixels"));
}

// ------------------------------------------------------------------------------------------------ Sun raster

std::string sun(unsigned width, unsigned height, unsigned bits, unsigned type, const std::string& data,
                const std::string& map = "", unsigned map_type = 1) {
    Bytes head;
    for (const std::size_t word : {std::size_t{0x59A66A95}, std::size_t{width}, std::size_t{height}, std::size_t{bits},
                                   data.size(), std::size_t{type}, std::size_t{map.empty() ? 0 : map_type}, map.size()})
        append(head, word, 4, true);
    return std::string(head.begin(), head.end()) + map + data;
}

Bytes samples(const std::string& text) {
    const cv::Mat all = decode_image(bytes_of(text), "x").pixels.reshape(1, 1);
    return {all.begin<unsigned char>(), all.end<unsigned char>()};
}

TEST(SunRaster, SamplesOfEveryDepth) {
    for (const unsigned type : {0U, 1U, 3U}) {
        EXPECT_EQ(samples(sun(3, 2, 8, type, "abc\0def\0"s)), (Bytes{'a', 'b', 'c', 'd', 'e', 'f'}));
        EXPECT_EQ(samples(sun(9, 1, 1, type, "\xA5\x80")), (Bytes{0, 255, 0, 255, 255, 0, 255, 0, 0}));
        const bool rgb = type == 3;
        EXPECT_EQ(samples(sun(1, 2, 24, type, "\1\2\3\0\4\5\6\0"s)),
                  rgb ? (Bytes{3, 2, 1, 6, 5, 4}) : (Bytes{1, 2, 3, 4, 5, 6}));
        EXPECT_EQ(samples(sun(2, 1, 32, type, "\x99\1\2\3\x99\4\5\6"s)),
                  rgb ? (Bytes{3, 2, 1, 6, 5, 4}) : (Bytes{1, 2, 3, 4, 5, 6}));
        // Two colors: red, green, blue of each.
        EXPECT_EQ(samples(sun(2, 1, 8, type, "\1\0"s, "\1\2\3\4\5\6")), (Bytes{6, 4, 2, 5, 3, 1}));
        EXPECT_EQ(samples(sun(2, 1, 1, type, "\x40\0"s, "\1\2\3\4\5\6")), (Bytes{5, 3, 1, 6, 4, 2}));
        EXPECT_EQ(samples(sun(2, 1, 8, type, "\1\0"s, "\7\x09\7\x09\7\x09")), (Bytes{9, 7}));
    }
}

TEST(SunRaster, RunLengths) {
    EXPECT_EQ(samples(sun(4, 2, 8, 2, "\x80\3a\x80\0bcd"s)), (Bytes{'a', 'a', 'a', 'a', 128, 'b', 'c', 'd'}));
    EXPECT_EQ(samples(sun(3, 2, 8, 2, "ab\x80\4z"s + "\0"s)),
              (Bytes{'a', 'b', 'z', 'z', 'z', 'z'}));  // filled up by a run
    EXPECT_EQ(samples(sun(2, 1, 24, 2, "\1\2\3\4\5\6")), (Bytes{1, 2, 3, 4, 5, 6}));
    EXPECT_TRUE(contains(says(sun(4, 2, 8, 2, "\x80\3a\x80\4b"s)),
                         "damaged: the Sun raster file's run lengths pass the last row"));
    for (const auto& cut : {"\x80\3a\x80\2"s, "\x80\3a\x80"s, "\x80\3a\x80\2b"s})
        EXPECT_TRUE(contains(says(sun(4, 2, 8, 2, cut)), "truncated: the Sun raster file's run lengths end in row 1"));
    EXPECT_TRUE(contains(says(sun(30000, 30000, 8, 2, "\x80\3a")), "cannot hold the 30000 x 30000 pixels"));
}

TEST(SunRaster, WhatIsNotReadIsNamed) {
    EXPECT_TRUE(contains(says(sun(2, 1, 8, 4, "ab")), "a Sun raster file of type 4 is not supported"));
    EXPECT_TRUE(contains(says(sun(2, 1, 7, 1, "ab")), "a Sun raster file of depth 7 is not supported"));
    EXPECT_TRUE(contains(says(sun(2, 1, 8, 1, "ab", "abcdef", 2)), "of depth 8 with a map of type 2"));
    EXPECT_TRUE(contains(says(sun(2, 1, 8, 1, "ab", std::string(771, 'm'))), "of a map of bytes 771 is not supported"));
    EXPECT_TRUE(contains(says(sun(1, 1, 24, 1, "abc\0"s, "abcdef")), "of depth 24 with a map of type 1"));
    EXPECT_TRUE(contains(says(sun(2, 1, 8, 1, "\1\2", "abcdef")), "damaged: index 2 in row 0 is outside the map of 2"));
    EXPECT_TRUE(
        contains(says(sun(3, 2, 8, 1, "abc\0def"s)), "truncated: the Sun raster file ends before its last row"));
    EXPECT_TRUE(contains(says(sun(3, 2, 8, 1, "abc\0def\0"s).substr(0, 30)), "truncated: "));
}

// ------------------------------------------------------------------------------------------ WebP, JPEG 2000

TEST(WebP, ReadsWithAndWithoutAlpha) {
    for (const int type : {CV_8UC3, CV_8UC4}) {
        const cv::Mat image = picture(37, 53, type);
        const Bytes bytes = encode(".webp", image);
        const Image read = decode_image(bytes, "x");
        EXPECT_TRUE(same(read.pixels, image));
        EXPECT_EQ(read.alpha, type == CV_8UC4 ? Alpha::straight : Alpha::none);
        EXPECT_EQ(read.white, 255);
        Bytes trailing = bytes;
        trailing.resize(trailing.size() + 100);
        EXPECT_TRUE(same(decode_image(trailing, "x").pixels, image));
        // Half of it, with lengths that are right.
        Bytes half(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2));
        EXPECT_TRUE(contains(failure(half), "truncated: the WebP is shorter than its header says"));
        if (type == CV_8UC4) continue;
        for (const std::size_t at : {4U, 16U})
            for (unsigned i = 0; i < 4; ++i) half[at + i] = static_cast<unsigned char>((half.size() - at - 4) >> 8 * i);
        EXPECT_NE(failure(half), "");
    }
}

TEST(Jpeg2000, ReadsOneAndThreeComponents) {
    for (const int type : {CV_8UC1, CV_8UC3, CV_16UC1, CV_16UC3}) {
        const cv::Mat image = picture(37, 53, type);
        const Bytes bytes = encode(".jp2", image);
        const Image read = decode_image(bytes, "x");
        EXPECT_TRUE(same(read.pixels, image)) << type;
        EXPECT_EQ(read.white, CV_MAT_DEPTH(type) == CV_8U ? 255 : 65535);
        for (const std::size_t length : {bytes.size() / 4, bytes.size() / 2, bytes.size() * 3 / 4, bytes.size() - 2})
            EXPECT_NE(failure(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length))), "") << length;
    }
}

TEST(Jpeg2000, WhatIsNotReadIsNamed) {
    const Bytes bytes = encode(".jp2", picture(37, 53, CV_8UC3));
    const auto find = [&](const std::string& text) {
        const Bytes pattern = bytes_of(text);
        return static_cast<std::size_t>(std::search(bytes.begin(), bytes.end(), pattern.begin(), pattern.end()) -
                                        bytes.begin());
    };
    const std::size_t siz = find("\xFF\x4F\xFF\x51"), colr = find("colr");
    const auto with = [&](std::size_t at, unsigned char value) {
        Bytes changed = bytes;
        changed[at] = value;
        return failure(changed);
    };
    EXPECT_TRUE(contains(with(siz + 42, 0x87), "whose samples are of several depths is not supported"));
    EXPECT_TRUE(contains(with(siz + 42, 6), "of 7 bits per sample is not supported"));
    EXPECT_TRUE(contains(with(siz + 45, 11), "whose samples are of several depths is not supported"));
    EXPECT_TRUE(contains(with(siz + 46, 2), "of subsampled channels is not supported"));
    EXPECT_TRUE(contains(with(siz + 41, 5), "5 channels are not supported: gpuhist reads 1 to 4 of JPEG 2000"));
    EXPECT_TRUE(contains(with(colr + 10, 12), "of the color space 12 is not supported"));
    EXPECT_TRUE(contains(with(siz + 8, 0x7F), "more than the 1073741824 allowed"));
    Bytes huge = bytes;
    for (const std::size_t at : {siz + 8, siz + 12}) huge[at] = 0x75;
    DecodeOptions any;
    any.max_pixels = std::uint64_t{1} << 62;
    EXPECT_TRUE(contains(failure(huge, any), "cannot hold"));
}

TEST(Jpeg2000, DamageIsNoticedAndNothingIsPrinted) {
    Bytes bytes = encode(".jp2", picture(80, 90, CV_8UC3));
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    const auto marker = bytes_of("\xFF\x4F\xFF\x51");
    const auto start = std::search(bytes.begin(), bytes.end(), marker.begin(), marker.end());
    Bytes code(start, bytes.end());
    EXPECT_EQ(failure(code), "");
    code.resize(code.size() / 2);
    EXPECT_TRUE(contains(failure(code), "truncated: the JPEG 2000 file ends inside tile 0"));
    DecodeOptions accept;
    accept.on_damaged = OnDamaged::accept;
    EXPECT_TRUE(contains(failure(code, accept), "damaged: "));  // OpenJPEG hands over memory that nothing wrote
    for (std::size_t i = 100; i < bytes.size(); i += 211) {
        const auto before = std::exchange(bytes[i], static_cast<unsigned char>(~bytes[i]));
        failure(bytes);
        failure(bytes, accept);
        bytes[i] = before;
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr() + testing::internal::GetCapturedStdout(), "");
}

// ------------------------------------------------------------------------------- JPEG 2000 by hand

/// Codestream of tiles of 8 x 8 pixels, all of whose packets are empty, so that every sample is 128.
struct Codestream {
    std::size_t across = 4, down = 4, components = 1, parts = 1;
    unsigned promised = 1;  ///< tile-parts, in each of them
    unsigned style = 0;     ///< Scod
    bool transform = false, listed = false;

    Bytes header() const {
        Bytes code{0xFF, 0x4F, 0xFF, 0x51};
        append(code, 38 + 3 * components, 2, true);
        append(code, 0, 2);
        for (const std::size_t word : {8 * across, 8 * down, std::size_t{0}, std::size_t{0}, std::size_t{8},
                                       std::size_t{8}, std::size_t{0}, std::size_t{0}})
            append(code, word, 4, true);
        append(code, components, 2, true);
        for (std::size_t c = 0; c < components; ++c) code.insert(code.end(), {7, 1, 1});
        const auto layers = static_cast<unsigned char>(parts);
        code.insert(code.end(), {0xFF, 0x52, 0,      12,        static_cast<unsigned char>(style),
                                 0,    0,    layers, transform, 0,
                                 4,    4,    0,      1,         0xFF,
                                 0x5C, 0,    4,      0x40,      64});
        if (listed) {
            code.insert(code.end(), {0xFF, 0x55});
            append(code, 4 + 2 * across * down * parts, 2, true);
            code.insert(code.end(), {0, 0});
            for (std::size_t i = 0; i < across * down * parts; ++i) append(code, 14 + components, 2, true);
        }
        return code;
    }
    Bytes tile(std::size_t index, std::size_t part = 0) const {
        Bytes code{0xFF, 0x90, 0, 10};
        append(code, index, 2, true);
        append(code, 14 + components, 4, true);
        code.insert(code.end(), {static_cast<unsigned char>(part), static_cast<unsigned char>(promised), 0xFF, 0x93});
        code.insert(code.end(), components, 0);
        return code;
    }
    /// The whole, but for a part of a tile.
    Bytes without(std::size_t missing_tile, std::size_t missing_part = 0) const {
        Bytes code = header();
        for (std::size_t part = 0; part < parts; ++part)
            for (std::size_t i = 0; i < across * down; ++i) {
                if (i == missing_tile && part == missing_part) continue;
                const Bytes one = tile(i, part);
                code.insert(code.end(), one.begin(), one.end());
            }
        code.insert(code.end(), {0xFF, 0xD9});
        return code;
    }
    Bytes whole() const { return without(across * down); }
};

bool all_128(const Image& image) {
    const cv::Mat samples = image.pixels.reshape(1);
    return !image.pixels.empty() && cv::countNonZero(samples != 128) == 0;
}

TEST(Jpeg2000, TilesThatAreMissingAreDamage) {
    const Codestream one;
    ASSERT_TRUE(all_128(decode_image(one.whole(), "x")));
    DecodeOptions accept;
    accept.on_damaged = OnDamaged::accept;
    for (const std::size_t tile : {0U, 7U, 15U}) {
        EXPECT_TRUE(contains(failure(one.without(tile)), "damaged: the JPEG 2000 file lacks 1 of its 16 tiles"));
        EXPECT_NE(failure(one.without(tile), accept), "");
    }
    Bytes alone = one.header();
    const Bytes tile = one.tile(5);
    alone.insert(alone.end(), tile.begin(), tile.end());
    alone.insert(alone.end(), {0xFF, 0xD9});
    EXPECT_TRUE(contains(failure(alone), "damaged: the JPEG 2000 file lacks 15 of its 16 tiles"));

    for (const unsigned promised : {0U, 3U}) {
        const Codestream three{4, 4, 1, 3, promised, 0, false, promised == 0};
        ASSERT_TRUE(all_128(decode_image(three.whole(), "x")));
        for (const std::size_t part : {0U, 1U, 2U})
            EXPECT_TRUE(contains(failure(three.without(6, part)),
                                 promised != 0 || part < 2 ? "damaged: the JPEG 2000 file lacks parts of tile 6"
                                                           : "has 47 of the 48 tile-parts that its header lists"))
                << part;
    }
    Bytes cut = one.whole();
    cut.resize(cut.size() - 4);
    EXPECT_TRUE(contains(failure(cut), "truncated: the JPEG 2000 file ends inside tile 15"));
}

TEST(Jpeg2000, TilesThatEndBeforeTheirPacketsAreDamage) {
    // Four resolutions of three components: twelve packets at least.
    const cv::Mat pixels = picture(37, 53, CV_8UC3);
    Bytes bytes = encode(".jp2", pixels);
    const auto marker = bytes_of("\xFF\x4F\xFF\x51"), sot = bytes_of(std::string("\xFF\x90\0\x0A", 4)),
               sod = bytes_of("\xFF\x93");
    bytes.erase(bytes.begin(), std::search(bytes.begin(), bytes.end(), marker.begin(), marker.end()));
    const auto part = std::search(bytes.begin(), bytes.end(), sot.begin(), sot.end());
    const auto data = std::search(part, bytes.end(), sod.begin(), sod.end()) + 2;
    for (const int left : {0, 1, 5, 11}) {
        Bytes short_tile(bytes.begin(), data + left);
        const auto length = static_cast<std::uint64_t>(data + left - part);
        for (unsigned i = 0; i < 4; ++i)
            short_tile[static_cast<std::size_t>(part - bytes.begin()) + 6 + i] =
                static_cast<unsigned char>(length >> (24 - 8 * i));
        short_tile.insert(short_tile.end(), {0xFF, 0xD9});
        EXPECT_TRUE(contains(failure(short_tile), "damaged: the JPEG 2000 file's tile 0 ends before its last packet"));
    }
    // A precinct for each pixel.
    Codestream one{1, 1};
    Bytes code = one.header();
    const auto cod = bytes_of(std::string("\xFF\x52\0\x0C", 4));
    const auto at = std::search(code.begin(), code.end(), cod.begin(), cod.end()) - code.begin();
    code[static_cast<std::size_t>(at) + 3] = 13;
    code[static_cast<std::size_t>(at) + 4] = 1;
    code.insert(code.begin() + at + 14, 0);
    for (const std::size_t packets : {std::size_t{63}, std::size_t{64}}) {
        Bytes file = code, tile = one.tile(0);
        tile[9] = static_cast<unsigned char>(14 + packets);
        tile.resize(14 + packets);
        file.insert(file.end(), tile.begin(), tile.end());
        file.insert(file.end(), {0xFF, 0xD9});
        EXPECT_EQ(contains(failure(file), "ends before its last packet"), packets == 63);
        EXPECT_EQ(packets == 64 && all_128(decode_image(file, "x")), packets == 64);
    }
}

TEST(Jpeg2000, MemoryOfManyTilesIsAskedFor) {
    std::uint64_t asked = 0;
    DecodeOptions options;
    options.admit = [&](std::uint64_t, std::uint64_t pixels) { asked = std::max(asked, pixels); };
    const Codestream many{60, 50};
    EXPECT_EQ(failure(many.whole(), options), "");
    EXPECT_GE(asked, 60U * 50 * 10'000);
    asked = 0;
    Codestream claims{199, 100};
    Bytes code = claims.header();
    for (std::size_t i = 0; i < 100; ++i) {
        const Bytes tile = claims.tile(i);
        code.insert(code.end(), tile.begin(), tile.end());
    }
    EXPECT_TRUE(contains(failure(code, options), "damaged: the JPEG 2000 file lacks 19800 of its 19900 tiles"));
    EXPECT_EQ(asked, 0U);
    options.on_damaged = OnDamaged::accept;
    EXPECT_TRUE(contains(failure(code, options), "damaged: the JPEG 2000 file lacks 19800 of its 19900 tiles"));
}

TEST(Jpeg2000, WordsThatAreHarmlessAreNoDamage) {
    EXPECT_EQ(failure(Codestream{4, 4, 1, 2, 1}.whole()), "");           // TNsot is the last part's number
    EXPECT_EQ(failure(Codestream{4, 4, 1, 1, 1, 2}.whole()), "");        // SOP markers may be left out
    EXPECT_EQ(failure(Codestream{4, 4, 1, 1, 1, 0, true}.whole()), "");  // a transform of three components
    EXPECT_NE(failure(Codestream{4, 4, 1, 1, 1, 4}.whole()), "");        // EPH markers must not
    const cv::Mat image = picture(37, 53, CV_8UC1);
    Bytes bytes = encode(".jp2", image);
    const auto cod = bytes_of(std::string("\xFF\x52\0\x0C", 4));
    const auto style = std::search(bytes.begin(), bytes.end(), cod.begin(), cod.end()) + 12;
    ASSERT_EQ(*style, 0);
    *style = 0x10;  // predictable termination
    EXPECT_TRUE(same(decode_image(bytes, "x").pixels, image));
    int noted = 0;
    for (std::size_t at = bytes.size() / 2; at < bytes.size() / 2 + 40; ++at) {
        Bytes changed = bytes;
        changed[at] ^= 4;
        if (failure(changed).empty()) noted += contains(decode_image(changed, "x").note, "PTERM check failure") ? 1 : 0;
    }
    EXPECT_GT(noted, 5);
}

TEST(Jpeg2000, ComponentsThatNothingDescribesAreBands) {
    for (const std::size_t components : {2U, 4U}) {
        const Image image = decode_image(Codestream{2, 2, components}.whole(), "x");
        EXPECT_TRUE(all_128(image));
        EXPECT_EQ(image.samples, gpuhist::Samples::bands);
        EXPECT_EQ(image.alpha, Alpha::none);
        EXPECT_EQ(image.pixels.channels(), static_cast<int>(components));
    }
    const cv::Mat pixels = picture(37, 53, CV_8UC4);
    Bytes bytes = encode(".jp2", pixels);
    const Image alpha = decode_image(bytes, "x");
    EXPECT_TRUE(same(alpha.pixels, pixels));
    EXPECT_EQ(alpha.alpha, Alpha::straight);
    // The bare codestream: red, green, blue and alpha are bands, in this order.
    const auto marker = bytes_of("\xFF\x4F\xFF\x51");
    const Image bands =
        decode_image({std::search(bytes.begin(), bytes.end(), marker.begin(), marker.end()), bytes.end()}, "x");
    EXPECT_EQ(bands.samples, gpuhist::Samples::bands);
    ASSERT_EQ(bands.pixels.size(), pixels.size());
    for (int y = 0; y < pixels.rows; ++y)
        for (int x = 0; x < pixels.cols; ++x) {
            const auto& from = pixels.at<cv::Vec4b>(y, x);
            ASSERT_EQ(bands.pixels.at<cv::Vec4b>(y, x), cv::Vec4b(from[2], from[1], from[0], from[3]));
        }
}

TEST(OtherFormats, LeaveNoFiles) {
    const gpuhist::test::TemporaryDirectory temporary;
    ASSERT_EQ(::setenv("TMPDIR", temporary.path().c_str(), 1), 0);
    cv::Mat real;
    picture(20, 30, CV_8UC3).convertTo(real, CV_32F);
    std::vector<Bytes> files{encode(".exr", real),
                             encode(".hdr", real),
                             encode(".webp", picture(20, 30, CV_8UC3)),
                             encode(".ras", picture(20, 30, CV_8UC3)),
                             encode(".bmp", picture(20, 30, CV_8UC3)),
                             encode(".jp2", picture(80, 90, CV_8UC3))};
    for (Bytes& bytes : files)
        for (int turn = 0; turn < 2; ++turn) {
            failure(bytes);
            bytes[bytes.size() / 2] ^= 0xFF;
            bytes.resize(bytes.size() - 3);
        }
    ::unsetenv("TMPDIR");
    EXPECT_TRUE(std::filesystem::is_empty(temporary.path()));
}

TEST_F(ImageFile, ThreadsOfOneImageMakeNoDifference) {
    for (const char* format : {".jp2", ".exr"}) {
        SCOPED_TRACE(format);
        const Bytes bytes = encode(format, picture(180, 150, *(format + 1) == 'e' ? CV_32FC3 : CV_8UC3));
        EXPECT_EQ(decoded(bytes, 8, gpuhist::io::OnDamaged::error).words, "");
        expect_same_on_threads(bytes, 40);
    }
}

}  // namespace
