// PBM, PGM, PPM, PAM and PFM, written by hand.
#include <array>
#include <cmath>
#include <limits>

#include "support/image_files.hpp"

namespace {

using namespace image_files;
using gpuhist::Depth;
using gpuhist::Samples;
using gpuhist::io::Alpha;
using gpuhist::io::Damage;
using gpuhist::io::Image;
using namespace std::string_literals;

Image read(const std::string& text) {
    return decode_image(bytes_of(text), "x");
}

/// Samples in the matrix's order.
std::vector<double> samples(const Image& image) {
    cv::Mat values;
    image.pixels.reshape(1, 1).convertTo(values, CV_64F);
    return {values.begin<double>(), values.end<double>()};
}

using Values = std::vector<double>;

std::string says(const std::string& text) {
    return failure(bytes_of(text));
}

Image accepted(const std::string& text) {
    DecodeOptions options;
    options.on_damaged = OnDamaged::accept;
    return decode_image(bytes_of(text), "x", options);
}

TEST(Netpbm, TextAndBinaryAreTheSame) {
    for (const int highest : {1, 15, 127, 255, 256, 1000, 65535})
        for (const bool color : {false, true}) {
            SCOPED_TRACE(std::to_string(highest) + (color ? " color" : " gray"));
            const std::string size = "\n5 4\n" + std::to_string(highest) + "\n";
            std::string text = (color ? "P3" : "P2") + size, binary = (color ? "P6" : "P5") + size;
            Values expected;
            for (int i = 0; i < (color ? 60 : 20); ++i) {
                const int value = i == 0 ? highest : i * 7919 % (highest + 1);
                text += std::to_string(value) + (i % 7 == 6 ? "\n" : " ");
                if (highest > 255) binary += static_cast<char>(value >> 8);
                binary += static_cast<char>(value);
                expected.push_back(value);
            }
            if (color)
                for (std::size_t i = 0; i < expected.size(); i += 3) std::swap(expected[i], expected[i + 2]);
            for (const auto& file : {text, binary}) {
                const Image image = read(file);
                EXPECT_EQ(samples(image), expected);
                EXPECT_EQ(image.depth, highest > 255 ? Depth::u16 : Depth::u8);
                EXPECT_EQ(image.white, highest);
                EXPECT_EQ(image.pixels.channels(), color ? 3 : 1);
                EXPECT_EQ(image.samples, Samples::color);
                EXPECT_EQ(image.alpha, Alpha::none);
            }
        }
}

TEST(Netpbm, BitsAreBlackAndWhite) {
    const Values expected{0, 255, 0, 255, 255, 255, 255, 255, 0, 0, 255, 255, 0, 255, 255, 255, 0, 255};
    for (const auto& file : {"P1\n9 2\n1 0 1 0 0 0 0 0 1\n1 0 0 1 0 0 0 1 0\n"s, "P1 9 2 101000001100100010"s,
                             "P1\n9 2\n10100 # here 1 0\n00011\n00100010 anything"s, "P4\n9 2\n\xA0\xFF\x91\0"s,
                             "P4 9 2\n\xA0\x80\x91\x7F more"s}) {
        const Image image = read(file);
        EXPECT_EQ(samples(image), expected) << file;
        EXPECT_EQ(image.white, 255);
        EXPECT_EQ(image.depth, Depth::u8);
        EXPECT_EQ(image.pages, 1U);
    }
}

TEST(Netpbm, CommentsAreSkipped) {
    EXPECT_EQ(samples(read("P2\n# CREATOR: 7 7\n2 # columns\n# and\n1\n9#\n3 # 4\n#5\n6")), (Values{3, 6}));
    EXPECT_EQ(samples(read("P5 #\r2 1 255#\nab")), (Values{'a', 'b'}));
    EXPECT_EQ(samples(read("P5#x\n2 1 255 #b")), (Values{'#', 'b'}));
    EXPECT_EQ(samples(read("P2#x\n2#x\n1#x\n255#x\n3#x\n6#x")), (Values{3, 6}));
}

TEST(Netpbm, DamageIsNamed) {
    EXPECT_TRUE(contains(says("P2 2 1 9 3 10"), "damaged: 10 in row 0 is more than the maximum of 9"));
    EXPECT_TRUE(contains(says("P2 2 1 255 3 256"), "damaged: 256 in row 0 is more than the maximum of 255"));
    EXPECT_TRUE(contains(says("P2 2 1 65535 3 99999999999999999999"), "is more than the maximum of 65535"));
    EXPECT_TRUE(contains(says("P5 1 2 9\n\x03\x0A"), "damaged: 10 in row 1 is more than the maximum of 9"));
    EXPECT_TRUE(contains(says("P5 1 2 999\n\x01\x01\x03\xE8"s), "damaged: 1000 in row 1"));
    EXPECT_TRUE(contains(says("P2 2 2 9 3 4 5 x6"), "damaged: no number at byte 15, in row 1"));
    EXPECT_TRUE(contains(says("P2 2 2 9 3 4 5 6x"), "damaged: no number"));
    EXPECT_TRUE(contains(says("P2 2 2 9 3 4 5 -6"), "damaged: no number"));
    EXPECT_TRUE(contains(says("P1 4 1 0102"), "damaged: no number at byte 10, in row 0"));
    EXPECT_TRUE(contains(says("P2 1 1 0 0"), "damaged: its maximum of 0 is outside 1 to 65535"));
    EXPECT_TRUE(contains(says("P5 1 1 65536\nab"), "damaged: its maximum of 65536"));
    EXPECT_TRUE(contains(says("P5 0 1 255\n"), "damaged: its header claims 0 x 1 pixels"));
    EXPECT_TRUE(contains(says("P2 2 2 9 3 4   5  "), "truncated: the file ends in row 1"));
    EXPECT_TRUE(contains(says("P2 2 2 9 3 4 5"), "truncated: "));
    EXPECT_TRUE(contains(says("P5 2 2 9\nabc"), "truncated: the file holds fewer samples than its header says"));
    EXPECT_TRUE(contains(says("P5 2 2"), "truncated: the file ends inside its header"));
    EXPECT_TRUE(contains(says("P5 2 two 255\n"), "not an image: the file begins with text"));
    EXPECT_TRUE(contains(says("P2 30000 30000 255\n1 2 3"), "truncated: "));
}

TEST(Netpbm, DamageMayBeAccepted) {
    Image image = accepted("P2 2 3 255 1 2 3 x 5 6");
    EXPECT_EQ(samples(image), (Values{1, 2, 3, 0, 0, 0}));
    EXPECT_EQ(image.damage, Damage::damaged);
    EXPECT_EQ(image.cause, "no number at byte 17, in row 1");
    image = accepted("P5 2 3 255\nabcd");
    EXPECT_EQ(samples(image), (Values{'a', 'b', 'c', 'd', 0, 0}));
    EXPECT_EQ(image.damage, Damage::truncated);
    image = accepted("P2 2 1 9 300 10");
    EXPECT_EQ(samples(image), (Values{255, 10}));
    EXPECT_EQ(image.damage, Damage::damaged);
    EXPECT_EQ(samples(accepted("P1 3 1 10")), (Values{0, 255, 0}));
}

TEST(Netpbm, ImagesAreCounted) {
    const auto one = "P5\n2 1\n255\nab"s, bits = "P4 9 1\nab"s, color = "P6 1 1 999\nabcdef"s,
               pam = "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR\nz"s;
    EXPECT_EQ(read(one + one + one).pages, 3U);
    EXPECT_EQ(samples(read(one + bits)), (Values{'a', 'b'}));
    EXPECT_EQ(read("P6 1 1 999\n\1\1\2\2\3\3" + bits + one + pam + "the end").pages, 4U);
    EXPECT_EQ(read(pam + pam + "\n").pages, 2U);
    EXPECT_EQ(read(one + "P5 is no header").pages, 1U);
    EXPECT_EQ(read(one + "P5\n0 0\n255\n").pages, 1U);
    EXPECT_EQ(read("P2 1 1 9 3\nP2 1 1 9 4").pages, 1U);  // in text there is one image per file
}

std::string pam(const std::string& type, int channels, int highest, const std::string& data) {
    return "P7\nWIDTH 2\nHEIGHT 1\nDEPTH " + std::to_string(channels) + "\nMAXVAL " + std::to_string(highest) + "\n" +
           (type.empty() ? "" : "TUPLTYPE " + type + "\n") + "ENDHDR\n" + data;
}

TEST(Pam, TupleTypesTellWhatTheSamplesAre) {
    struct Case {
        std::string type;
        int channels, highest;
        Values expected;  // of samples 1, 0, 1, 1, 0, 0, 1, 0
        Samples samples;
        Alpha alpha;
    };
    const std::vector<Case> cases{
        {"BLACKANDWHITE", 1, 1, {1, 0}, Samples::color, Alpha::none},
        {"GRAYSCALE", 1, 15, {1, 0}, Samples::color, Alpha::none},
        {"RGB", 3, 255, {1, 0, 1, 0, 0, 1}, Samples::color, Alpha::none},
        {"BLACKANDWHITE_ALPHA", 2, 1, {1, 1, 1, 0, 1, 1, 1, 1}, Samples::gray_alpha, Alpha::straight},
        {"GRAYSCALE_ALPHA", 2, 200, {1, 1, 1, 0, 1, 1, 1, 1}, Samples::gray_alpha, Alpha::straight},
        {"RGB_ALPHA", 4, 100, {1, 0, 1, 1, 1, 0, 0, 0}, Samples::color, Alpha::straight},
        {"", 1, 255, {1, 0}, Samples::color, Alpha::none},
        {"HEAT", 1, 255, {1, 0}, Samples::color, Alpha::none},
        {"", 3, 255, {1, 0, 1, 1, 0, 0}, Samples::bands, Alpha::none},
        {"CMYK", 4, 255, {1, 0, 1, 1, 0, 0, 1, 0}, Samples::bands, Alpha::none},
    };
    for (const auto& c : cases)
        for (const bool wide : {false, true}) {
            SCOPED_TRACE(c.type);
            std::string data;
            for (const char sample : {1, 0, 1, 1, 0, 0, 1, 0}) data += wide ? "\0"s + sample : std::string(1, sample);
            const Image image = read(pam(c.type, c.channels, wide ? c.highest + 1000 : c.highest, data));
            EXPECT_EQ(samples(image), c.expected);
            EXPECT_EQ(image.samples, c.samples);
            EXPECT_EQ(image.alpha, c.alpha);
            EXPECT_EQ(image.white, wide ? c.highest + 1000 : c.highest);
            EXPECT_EQ(image.depth, wide ? Depth::u16 : Depth::u8);
        }
    EXPECT_EQ(samples(read(pam("RGB", 3, 65535, "\x12\x34\x56\x78\x9A\xBC\1\2\3\4\5\6"))),
              (Values{0x9ABC, 0x5678, 0x1234, 0x0506, 0x0304, 0x0102}));
}

TEST(Pam, HeadersAreLinesInAnyOrder) {
    const Image image = read(
        "P7\n# a comment\nMAXVAL 7\n TUPLTYPE  RGB\t\nDEPTH 4\n\nHEIGHT 1\nUNKNOWN line\nTUPLTYPE and more\nWIDTH 1\n"
        "#ENDHDR\nENDHDR\n\1\2\3\4");
    EXPECT_EQ(samples(image), (Values{1, 2, 3, 4}));
    EXPECT_EQ(image.samples, Samples::bands);  // RGB and more
    EXPECT_EQ(image.white, 7);
    EXPECT_EQ(samples(read("P7\nTUPLTYPE RGB_ALPHA\nMAXVAL 7\nDEPTH 4\nHEIGHT 1\nWIDTH 1\nENDHDR\n\1\2\3\4")),
              (Values{3, 2, 1, 4}));
}

TEST(Pam, WhatIsNotReadIsNamed) {
    EXPECT_TRUE(contains(says(pam("X", 65, 255, std::string(130, 'a'))),
                         "65 channels are not supported: gpuhist reads 1 to 64"));
    EXPECT_TRUE(contains(says(pam("RGB", 4, 255, "abcdefgh")), "a PAM of tuple type RGB and 4 channels"));
    EXPECT_TRUE(contains(says(pam("RGB", 3, 5, "\1\2\3\4\5\6")), "damaged: 6 in row 0"));
    EXPECT_TRUE(contains(says(pam("RGB", 3, 0, "abcdef")), "damaged: its maximum of 0"));
    EXPECT_TRUE(contains(says(pam("RGB", 0, 255, "abcdef")), "damaged: its header says no depth"));
    EXPECT_TRUE(contains(says(pam("RGB", 3, 255, "abcde")), "truncated: "));
    EXPECT_TRUE(contains(says("P7\nWIDTH 2\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR"), "truncated: "));
    EXPECT_TRUE(contains(says("P7\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR\nab"), "damaged: its header claims 0 x 1"));
    EXPECT_TRUE(contains(says("P7\nWIDTH two\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR\nab"), "0 x 1"));
}

std::string floats(const std::vector<float>& values, bool big) {
    Bytes bytes;
    for (const float value : values) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, 4);
        append(bytes, bits, 4, big);
    }
    return {bytes.begin(), bytes.end()};
}

TEST(Pfm, SamplesAreAsStored) {
    const std::vector<float> values{1, -2, 3.5F, 1e-40F, 1e30F, -0.0F};
    for (const bool big : {false, true})
        for (const char* scale : {"1", "0.25", "1e3", "+4.0"}) {
            const std::string header = std::string(big ? "" : "-") + (scale[0] == '+' && !big ? "4.0" : scale) + "\n";
            const Image color = read("PF\n1 2\n" + header + floats(values, big));
            EXPECT_EQ(samples(color), (Values{-0.0, 1e30F, 1e-40F, 3.5, -2, 1}));
            EXPECT_EQ(color.depth, Depth::f32);
            EXPECT_EQ(color.white, 1);
            EXPECT_EQ(color.pixels.channels(), 3);
            EXPECT_EQ(samples(read("Pf\n3 2\n" + header + floats(values, big))),
                      (Values{1e-40F, 1e30F, -0.0, 1, -2, 3.5}));
        }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(samples(read("Pf 1 1 -1\n" + floats({nan}, false)))[0]));
}

TEST(Pfm, WhatIsNotReadIsNamed) {
    EXPECT_TRUE(contains(says("PF4\n1 1\n-1\n" + floats({1, 2, 3, 4}, false)), "a PF4"));
    EXPECT_TRUE(contains(says("Pf\n1 1\n0\nabcd"), "damaged: its scale"));
    EXPECT_TRUE(contains(says("Pf\n1 1\ninf\nabcd"), "damaged: its scale"));
    EXPECT_TRUE(contains(says("Pf\n1 1\n-1\nabc"), "truncated: "));
    EXPECT_TRUE(contains(says("Pf\n1 1\nx\nabcd"), "not an image: the file begins with text"));
}

TEST(Netpbm, MemoryOfManyBandsIsAskedFor) {
    const std::string header = "P7\nWIDTH 19\nHEIGHT 8\nDEPTH 6\nMAXVAL 257\nENDHDR\n";
    std::vector<unsigned char> file(header.begin(), header.end());
    file.resize(header.size() + 19 * 8 * 6 * 2);
    gpuhist::io::DecodeOptions options;
    std::uint64_t asked = 0;
    options.admit = [&](std::uint64_t, std::uint64_t pixels) { asked = pixels; };
    const Image image = gpuhist::io::decode_image(file, "x.pam", options);
    EXPECT_EQ(asked, image.pixels.total() * image.pixels.elemSize());
}

}  // namespace
