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
    EXPECT_TRUE(contains(with(colr + 10, 18), "of the color space 18 is not supported"));
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
    EXPECT_TRUE(contains(failure(code), "damaged: the JPEG 2000 file's data (OpenJPEG: \""));
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

}  // namespace
