// BMP, written by hand.
#include <array>
#include <functional>

#include "support/image_files.hpp"

namespace {

using namespace image_files;
using gpuhist::io::Alpha;
using gpuhist::io::Damage;
using gpuhist::io::Image;

struct Bmp {
    unsigned size = 40, bits = 8, compression = 0;
    int width = 4, height = 2;
    Bytes palette{}, data{};
    std::vector<std::uint32_t> masks{};
    unsigned colors = 0;
    int offset_change = 0;
};

Bytes file_of(const Bmp& o) {
    Bytes header;
    append(header, o.size, 4);
    const unsigned word = o.size == 12 ? 2 : 4;
    append(header, static_cast<std::uint32_t>(o.width), word);
    append(header, static_cast<std::uint32_t>(o.height), word);
    append(header, 1, 2);
    append(header, o.bits, 2);
    if (o.size >= 40) {
        append(header, o.compression, 4);
        append(header, 0, 12);
        append(header, o.colors, 4);
        append(header, 0, 4);
    }
    for (const auto mask : o.masks) append(header, mask, 4);
    header.resize(std::max<std::size_t>(header.size(), o.size));
    header.insert(header.end(), o.palette.begin(), o.palette.end());
    Bytes file = bytes_of("BM");
    append(file, 14 + header.size() + o.data.size(), 4);
    append(file, 0, 4);
    append(file, 14 + header.size() + static_cast<unsigned>(o.offset_change), 4);
    file.insert(file.end(), header.begin(), header.end());
    file.insert(file.end(), o.data.begin(), o.data.end());
    return file;
}

Bytes samples(const Image& image) {
    const cv::Mat flat = image.pixels.reshape(1, 1);
    return {flat.begin<unsigned char>(), flat.end<unsigned char>()};
}

Bytes read(const Bmp& bmp) {
    return samples(decode_image(file_of(bmp), "x"));
}

std::string says(const Bmp& bmp) {
    return failure(file_of(bmp));
}

/// Colors of which none is gray: (i, 100 + i, 255 - i) as blue, green and red.
Bytes palette(unsigned count, unsigned entry) {
    Bytes bytes;
    for (unsigned i = 0; i < count; ++i) {
        for (const unsigned value : {i, 100 + i, 255 - i}) bytes.push_back(static_cast<unsigned char>(value));
        if (entry == 4) bytes.push_back(0);
    }
    return bytes;
}
Bytes grays(const Bytes& values) {
    Bytes bytes;
    for (const auto value : values) bytes.insert(bytes.end(), {value, value, value, 0});
    return bytes;
}
Bytes colors(const Bytes& indices) {
    Bytes bytes;
    for (const unsigned i : indices)
        for (const unsigned value : {i, 100 + i, 255 - i}) bytes.push_back(static_cast<unsigned char>(value));
    return bytes;
}

TEST(Bmp, PalettesAreColors) {
    for (const unsigned size : {12U, 16U, 40U, 52U, 56U, 64U, 108U, 124U}) {
        SCOPED_TRACE(size);
        const unsigned entry = size == 12 ? 3 : 4;
        EXPECT_EQ(read({size, 8, 0, 3, 2, palette(256, entry), {7, 8, 9, 99, 0, 1, 150, 99}}),
                  colors({0, 1, 150, 7, 8, 9}));
        EXPECT_EQ(read({size, 4, 0, 3, 2, palette(16, entry), {0x78, 0x9F, 0, 0, 0x01, 0x2F, 0, 0}}),
                  colors({0, 1, 2, 7, 8, 9}));
        EXPECT_EQ(read({size, 1, 0, 10, 1, palette(2, entry), {0xA5, 0x7F, 0, 0}}),
                  colors({1, 0, 1, 0, 0, 1, 0, 1, 0, 1}));
    }
    EXPECT_EQ(read({40, 2, 0, 5, 1, palette(4, 4), {0x1B, 0x80, 0, 0}}), colors({0, 1, 2, 3, 2}));
    EXPECT_EQ(read({40, 8, 0, 2, -2, palette(256, 4), {1, 2, 0, 0, 3, 4, 0, 0}}), colors({1, 2, 3, 4}));
}

TEST(Bmp, PalettesMayBeShort) {
    Bmp bmp{40, 8, 0, 4, 1, palette(3, 4), {0, 1, 2, 0}, {}, 3};
    EXPECT_EQ(read(bmp), colors({0, 1, 2, 0}));
    bmp.data[3] = 3;
    EXPECT_TRUE(contains(says(bmp), "damaged: index 3 in row 0 is outside the palette of 3"));
    DecodeOptions accept;
    accept.on_damaged = OnDamaged::accept;
    const Image image = decode_image(file_of(bmp), "x", accept);
    EXPECT_EQ(image.damage, Damage::damaged);
    Bytes expected = colors({0, 1, 2});
    expected.resize(12);
    EXPECT_EQ(samples(image), expected);
    // The header tells nothing, but the samples begin after 5 colors.
    EXPECT_EQ(read({12, 8, 0, 4, 1, palette(5, 3), {0, 1, 2, 4}}), colors({0, 1, 2, 4}));
    EXPECT_TRUE(contains(says({12, 8, 0, 4, 1, palette(5, 3), {0, 1, 2, 5}}), "outside the palette of 5"));
    // More colors than there are indices.
    EXPECT_EQ(read({40, 4, 0, 2, 1, palette(20, 4), {0x12, 0, 0, 0}, {}, 20}), colors({1, 2}));
}

TEST(Bmp, PaletteOfGraysIsGray) {
    EXPECT_EQ(read({40, 1, 0, 8, 1, grays({0, 255}), {0xA5, 0, 0, 0}}), (Bytes{255, 0, 255, 0, 0, 255, 0, 255}));
    EXPECT_EQ(read({40, 1, 0, 8, 1, grays({255, 0}), {0xA5, 0, 0, 0}}), (Bytes{0, 255, 0, 255, 255, 0, 255, 0}));
    EXPECT_EQ(read({40, 4, 0, 2, 1, grays({5, 9, 77}), {0x21, 0, 0, 0}, {}, 3}), (Bytes{77, 9}));
    EXPECT_EQ(decode_image(file_of({40, 4, 0, 2, 1, grays({5, 9}), {0x01, 0, 0, 0}, {}, 2}), "x").pixels.channels(), 1);
}

TEST(Bmp, RunLengthsOfBytes) {
    // A run, pixels one by one (filled up), the end of a row, a step, an early end.
    const Bytes data{3, 5, 0, 3, 1, 2, 3, 0, 0, 0, 1, 9, 0, 2, 2, 1, 2, 7, 0, 1};
    EXPECT_EQ(read({40, 8, 1, 6, 4, palette(256, 4), data}),
              colors({0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 0, 9, 0, 0, 0, 0, 0, 5, 5, 5, 1, 2, 3}));
    EXPECT_EQ(read({64, 8, 1, 2, 2, palette(256, 4), {2, 1, 0, 0, 2, 2}}), colors({2, 2, 1, 1}));  // no mark of the end
    EXPECT_EQ(read({40, 8, 1, 2, 2, palette(256, 4), {2, 1, 0, 0, 2, 2, 0, 0, 0, 1}}), colors({2, 2, 1, 1}));
}

TEST(Bmp, RunLengthsOfFourBits) {
    const Bytes data{5, 0x12, 0, 0, 0, 5, 0x34, 0x56, 0x70, 0, 0, 0, 0, 2, 1, 0, 2, 0x98, 0, 1};
    EXPECT_EQ(read({40, 4, 2, 5, 3, palette(16, 4), data}), colors({0, 9, 8, 0, 0, 3, 4, 5, 6, 7, 1, 2, 1, 2, 1}));
}

TEST(Bmp, DamagedRunLengthsAreNamed) {
    const auto with = [](const Bytes& data) { return Bmp{40, 8, 1, 4, 2, palette(256, 4), data}; };
    EXPECT_TRUE(contains(says(with({5, 1, 0, 0, 4, 1, 0, 1})),
                         "a BMP whose run lengths pass the width is not supported: "
                         "they do in row 1"));
    EXPECT_TRUE(contains(says(with({2, 1, 0, 3, 1, 2, 3, 0, 0, 1})), "pass the width"));
    EXPECT_TRUE(contains(says(with({4, 1, 0, 0, 4, 1, 0, 0, 1, 1})),
                         "damaged: the BMP's run lengths go on after the last row"));
    EXPECT_TRUE(contains(says(with({0, 2, 5, 0, 0, 1})), "damaged: the BMP's run lengths step out of the picture"));
    EXPECT_TRUE(contains(says(with({0, 2, 0, 2, 0, 1})), "damaged: the BMP's run lengths step out of the picture"));
    for (const Bytes& cut :
         {Bytes{4, 1, 0, 0, 2, 1}, Bytes{4, 1, 0, 0, 4}, Bytes{4, 1, 0, 0, 0, 4, 1, 2}, Bytes{4, 1, 0, 2}, Bytes{4, 1}})
        EXPECT_TRUE(contains(says(with(cut)), "truncated: the BMP's run lengths end in row")) << cut.size();
    DecodeOptions accept;
    accept.on_damaged = OnDamaged::accept;
    const Image image = decode_image(file_of(with({4, 1, 0, 0, 5, 2, 0, 0, 1})), "x", accept);
    EXPECT_EQ(samples(image), colors({2, 2, 2, 2, 1, 1, 1, 1}));
    EXPECT_EQ(image.cause, "the BMP's run lengths pass the width in row 0");
    Bmp huge = with({4, 1, 0, 1});
    huge.width = huge.height = 30000;
    EXPECT_TRUE(contains(says(huge), "cannot hold the 30000 x 30000 pixels"));
}

TEST(Bmp, ColorsOfFewBitsAreExpandedAndRounded) {
    const auto word = [](std::uint32_t value, unsigned count) {
        Bytes bytes;
        append(bytes, value, count);
        bytes.resize(4);
        return bytes;
    };
    for (std::uint32_t v = 0; v < 32; ++v) {
        const auto five = static_cast<unsigned char>(v * 255.0 / 31 + 0.5);
        const auto six = static_cast<unsigned char>((2 * v + 1) * 255.0 / 63 + 0.5);
        EXPECT_EQ(read({40, 16, 0, 1, 1, {}, word(v << 10 | 31U << 5 | (31 - v), 2)}),
                  (Bytes{static_cast<unsigned char>(255 - five), 255, five}));
        EXPECT_EQ(read({12, 16, 0, 1, 1, {}, word(v << 10, 2)}), (Bytes{0, 0, five}));
        for (const unsigned size : {40U, 52U, 56U, 108U, 124U})
            EXPECT_EQ(read({size, 16, 3, 1, 1, {}, word(v << 11 | (2 * v + 1) << 5, 2), {0xF800, 0x7E0, 0x1F}}),
                      (Bytes{0, six, five}));
    }
    // Masks of 1, 2, 3 and 7 bits, somewhere.
    EXPECT_EQ(read({40, 32, 3, 1, 1, {}, word(1U << 31 | 2U << 20 | 5U << 3, 4), {0x80000000, 0x300000, 0x38}}),
              (Bytes{182, 170, 255}));
    EXPECT_EQ(read({40, 32, 3, 1, 1, {}, word(127U << 1 | 64U << 8 | 3U << 16, 4), {0xFE, 0x7F00, 0xFF0000}}),
              (Bytes{3, 129, 255}));
}

TEST(Bmp, AlphaIsWhatAMaskSays) {
    const Bytes data{1, 2, 3, 4, 5, 6, 7, 8};
    const std::vector<std::uint32_t> masks{0xFF0000, 0xFF00, 0xFF, 0xFF000000};
    for (const unsigned size : {12U, 40U, 108U, 124U})
        EXPECT_EQ(read({size, 32, 0, 2, 1, {}, data}), (Bytes{1, 2, 3, 5, 6, 7}));
    EXPECT_EQ(read({124, 32, 0, 2, 1, {}, data, masks}), (Bytes{1, 2, 3, 5, 6, 7}));  // masks that are ignored
    for (const unsigned size : {56U, 108U, 124U}) {
        const Image image = decode_image(file_of({size, 32, 3, 2, 1, {}, data, masks}), "x");
        EXPECT_EQ(samples(image), data);
        EXPECT_EQ(image.alpha, Alpha::straight);
        EXPECT_EQ(image.white, 255);
    }
    EXPECT_EQ(read({40, 32, 6, 2, 1, {}, data, masks}), data);
    EXPECT_EQ(read({40, 32, 3, 2, 1, {}, data, {masks[0], masks[1], masks[2]}}), (Bytes{1, 2, 3, 5, 6, 7}));
    EXPECT_EQ(read({56, 32, 3, 1, 1, {}, {1, 2, 3, 4}, {0xFF, 0xFF00, 0xFF0000, 0xFF000000}}), (Bytes{3, 2, 1, 4}));
    EXPECT_EQ(read({56, 16, 3, 2, 1, {}, {0x00, 0x80, 0xFF, 0x7F}, {0x7C00, 0x3E0, 0x1F, 0x8000}}),
              (Bytes{0, 0, 0, 255, 255, 255, 255, 0}));
}

TEST(Bmp, RowsOfThreeBytes) {
    const Bytes data{1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10, 11, 12, 0, 0};
    for (const unsigned size : {12U, 16U, 40U, 64U, 124U})
        EXPECT_EQ(read({size, 24, 0, 2, 2, {}, data}), (Bytes{7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(read({40, 24, 0, 2, -2, {}, data}), (Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
    Bytes bytes = file_of({40, 24, 0, 2, 2, {}, data});
    bytes.pop_back();  // of what fills up the last row
    EXPECT_TRUE(contains(failure(bytes), "truncated: the BMP ends before its last row"));
    bytes.resize(bytes.size() - 2);
    DecodeOptions accept;
    accept.on_damaged = OnDamaged::accept;
    EXPECT_EQ(samples(decode_image(bytes, "x", accept)), (Bytes{0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6}));
}

TEST(Bmp, WhatIsNotReadIsNamed) {
    const Bytes data(64);
    EXPECT_TRUE(contains(says({40, 0, 4, 4, 2, {}, data}), "a BMP that holds a JPEG is not supported"));
    EXPECT_TRUE(contains(says({40, 0, 5, 4, 2, {}, data}), "a BMP that holds a PNG is not supported"));
    EXPECT_TRUE(contains(says({40, 32, 11, 4, 2, {}, data}), "a BMP of compression 11 is not supported"));
    EXPECT_TRUE(contains(says({64, 1, 3, 4, 2, palette(2, 4), data}), "a BMP of compression 3 of OS/2"));
    EXPECT_TRUE(contains(says({64, 24, 4, 4, 2, {}, data}), "a BMP of compression 4 of OS/2"));
    EXPECT_TRUE(contains(says({48, 24, 0, 4, 2, {}, data}), "a BMP with a header of 48 bytes"));
    EXPECT_TRUE(contains(says({40, 64, 0, 2, 2, {}, data}), "a BMP of 64 bits per pixel"));
    EXPECT_TRUE(contains(says({40, 3, 0, 2, 2, palette(8, 4), data}), "a BMP of 3 bits per pixel"));
    EXPECT_TRUE(contains(says({40, 24, 1, 2, 2, {}, data}), "a BMP of run lengths and 24 bits per pixel"));
    EXPECT_TRUE(contains(says({40, 8, 1, 2, -2, palette(256, 4), data}), "rows from the top down"));
    EXPECT_TRUE(contains(says({40, 24, 3, 2, 2, {}, data, {1, 2, 4}}), "a BMP of bit fields and 24 bits per pixel"));
    EXPECT_TRUE(
        contains(says({40, 32, 3, 2, 2, {}, data, {0x3FF00000, 0xFFC00, 0x3FF}}), "a BMP of 10 bits per color"));
    for (const std::vector<std::uint32_t>& masks :
         {std::vector<std::uint32_t>{0xF0F, 0xF0, 0xF000}, {0xF, 0, 0xF0}, {0xFF, 0xF0, 0xF00}})
        EXPECT_TRUE(contains(says({40, 16, 3, 2, 2, {}, data, masks}), "empty, in pieces or on each other"));
    EXPECT_TRUE(
        contains(says({40, 16, 3, 2, 2, {}, data, {0xF0000, 0xF0, 0xF00}}), "empty, in pieces or on each other"));
    EXPECT_TRUE(contains(says({40, 24, 0, 2, 2, {}, data, {}, 0, -1}),
                         "damaged: the BMP's samples begin inside its header, at byte 53"));
    EXPECT_TRUE(contains(says({40, 24, 0, 2, 2, {}, data, {}, 0, 64}), "truncated: the BMP ends before its samples"));
    EXPECT_TRUE(contains(says({40, 24, 0, 0, 2, {}, data}), "damaged: its header claims 0 x 2"));
    EXPECT_NE(says({40, 24, 0, -2, 2, {}, data}), "");
}

}  // namespace
