// OpenEXR: files written by hand, and by its library where they are compressed.
#include <functional>
#include <limits>
#include <numeric>
#include <opencv2/core.hpp>

#include "gpuhist/io/pages.hpp"
#include "support/image_files.hpp"

namespace {

using namespace image_files;
using gpuhist::Depth;
using gpuhist::Samples;
using gpuhist::io::Alpha;
using gpuhist::io::Damage;
using gpuhist::io::Image;
using gpuhist::test::encode_openexr;

struct Channel {
    std::string name;
    unsigned type = 2;  // 0: u32, 1: half, 2: float
    unsigned sampling = 1;
};

struct Exr {
    std::vector<Channel> channels;
    int width = 3, height = 2, left = 0, top = 0;
    unsigned flags = 0, compression = 0, tile = 0, line_order = 0;
    bool mipmap = false;
    std::string type{};
};

/// Sample of a channel (by its place in the list) of a pixel: a number that a half holds.
float sample(int channel, int x, int y) {
    return static_cast<float>(channel * 100 + y * 10 + x) / 4;
}

std::uint64_t half_bits(float value) {
    const cv::float16_t half(value);
    std::uint16_t bits = 0;
    std::memcpy(&bits, &half, 2);
    return bits;
}

void put_sample(Bytes& data, unsigned type, float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, 4);
    append(data,
           type == 0   ? static_cast<std::uint32_t>(value)
           : type == 1 ? half_bits(value)
                       : bits,
           type == 1 ? 2 : 4);
}

/// A file without compression, and with tiles where they have a side.
Bytes file_of(const Exr& o) {
    Bytes file = bytes_of("\x76\x2F\x31\x01");
    append(file, 2 | o.flags | (o.tile ? 0x200U : 0U), 4);
    const auto text = [&](const std::string& value) {
        file.insert(file.end(), value.begin(), value.end());
        file.push_back(0);
    };
    const auto attribute = [&](const std::string& name, const std::string& type, const Bytes& value) {
        text(name);
        text(type);
        append(file, value.size(), 4);
        file.insert(file.end(), value.begin(), value.end());
    };
    const auto integers = [](const std::vector<int>& values) {
        Bytes bytes;
        for (const int value : values) append(bytes, static_cast<std::uint32_t>(value), 4);
        return bytes;
    };
    Bytes list;
    for (const auto& [name, type, sampling] : o.channels) {
        list.insert(list.end(), name.begin(), name.end());
        list.push_back(0);
        append(list, type, 4);
        append(list, 0, 4);
        append(list, sampling, 4);
        append(list, sampling, 4);
    }
    list.push_back(0);
    attribute("channels", "chlist", list);
    attribute("compression", "compression", {static_cast<unsigned char>(o.compression)});
    attribute("dataWindow", "box2i", integers({o.left, o.top, o.left + o.width - 1, o.top + o.height - 1}));
    attribute("displayWindow", "box2i", integers({0, 0, 99, 99}));
    attribute("lineOrder", "lineOrder", {static_cast<unsigned char>(o.line_order)});
    attribute("pixelAspectRatio", "float", {0, 0, 0x80, 0x3F});
    attribute("screenWindowCenter", "v2f", Bytes(8));
    attribute("screenWindowWidth", "float", {0, 0, 0x80, 0x3F});
    if (o.tile) {
        Bytes tiles = integers({static_cast<int>(o.tile), static_cast<int>(o.tile)});
        tiles.push_back(o.mipmap ? 1 : 0);
        attribute("tiles", "tiledesc", tiles);
    }
    if (!o.type.empty()) attribute("type", "string", bytes_of(o.type));
    file.push_back(0);

    std::vector<Bytes> chunks;
    const auto chunk = [&](const std::vector<int>& head, int x0, int y0, int width, int height) {
        Bytes data;
        for (int y = y0; y < y0 + height; ++y)
            for (int c = 0; c < static_cast<int>(o.channels.size()); ++c)
                for (int x = x0; x < x0 + width; ++x)
                    put_sample(data, o.channels[static_cast<std::size_t>(c)].type, sample(c, x, y));
        Bytes bytes = integers(head);
        append(bytes, data.size(), 4);
        bytes.insert(bytes.end(), data.begin(), data.end());
        chunks.push_back(bytes);
    };
    const int tile = static_cast<int>(o.tile);
    if (o.tile == 0)
        for (int y = 0; y < o.height; ++y) chunk({o.top + y}, 0, y, o.width, 1);
    for (int level = 0, w = o.width, h = o.height; o.tile && level < (o.mipmap ? 20 : 1); ++level) {
        for (int y = 0; y * tile < h; ++y)
            for (int x = 0; x * tile < w; ++x)
                chunk({x, y, level, level}, x * tile, y * tile, std::min(tile, w - x * tile),
                      std::min(tile, h - y * tile));
        if (w == 1 && h == 1) break;
        w = std::max(w / 2, 1);
        h = std::max(h / 2, 1);
    }
    std::uint64_t offset = file.size() + 8 * chunks.size();
    std::vector<std::uint64_t> offsets(chunks.size());
    std::vector<std::size_t> order(chunks.size());
    std::iota(order.begin(), order.end(), 0);
    if (o.line_order == 1) std::reverse(order.begin(), order.end());
    for (const std::size_t i : order) {
        offsets[i] = offset;
        offset += chunks[i].size();
    }
    for (const auto place : offsets) append(file, place, 8);
    for (const std::size_t i : order) file.insert(file.end(), chunks[i].begin(), chunks[i].end());
    return file;
}

/// Holds an image against the samples, its channels being these of the file's: halves where all channels have them.
void expect_samples(const Image& image, const Exr& o, const std::vector<int>& channels) {
    const bool halves =
        std::all_of(o.channels.begin(), o.channels.end(), [](const Channel& one) { return one.type == 1; });
    ASSERT_EQ(image.pixels.type(), CV_MAKETYPE(halves ? CV_16F : CV_32F, static_cast<int>(channels.size())));
    cv::Mat pixels;
    image.pixels.convertTo(pixels, CV_32F);
    ASSERT_EQ(image.pixels.size(), cv::Size(o.width, o.height));
    for (int y = 0; y < o.height; ++y)
        for (int x = 0; x < o.width; ++x)
            for (std::size_t c = 0; c < channels.size(); ++c)
                ASSERT_EQ(pixels.ptr<float>(y, x)[c], sample(channels[c], x, y)) << x << ' ' << y << ' ' << c;
    EXPECT_EQ(image.depth, halves ? Depth::f16 : Depth::f32);
    EXPECT_EQ(image.white, 1);
}

std::string says(const Exr& exr) {
    return failure(file_of(exr));
}

std::vector<Channel> named(const std::vector<std::string>& names, unsigned type = 2) {
    std::vector<Channel> channels;
    for (const auto& name : names) channels.push_back({name, type, 1});
    return channels;
}

TEST(OpenExr, ChannelsAreThoseThatAreThere) {
    for (const unsigned type : {1U, 2U}) {
        const Exr rgb{named({"B", "G", "R"}, type)}, rgba{named({"A", "B", "G", "R"}, type)}, gray{named({"Y"}, type)},
            gray_alpha{named({"A", "Y"}, type)};
        Image image = decode_image(file_of(rgb), "x");
        expect_samples(image, rgb, {0, 1, 2});
        EXPECT_EQ(image.alpha, Alpha::none);
        EXPECT_EQ(image.pages, 1U);
        image = decode_image(file_of(rgba), "x");
        expect_samples(image, rgba, {1, 2, 3, 0});
        EXPECT_EQ(image.samples, Samples::color);
        EXPECT_EQ(image.alpha, Alpha::premultiplied);
        image = decode_image(file_of(gray), "x");
        expect_samples(image, gray, {0});
        EXPECT_EQ(image.samples, Samples::color);
        image = decode_image(file_of(gray_alpha), "x");
        expect_samples(image, gray_alpha, {1, 1, 1, 0});
        EXPECT_EQ(image.samples, Samples::gray_alpha);
        EXPECT_EQ(image.alpha, Alpha::premultiplied);
    }
    const Exr mixed{{{"B", 2}, {"G", 1}, {"R", 2}}};
    expect_samples(decode_image(file_of(mixed), "x"), mixed, {0, 1, 2});
}

TEST(OpenExr, MemoryOfManyBandsIsAskedFor) {
    std::vector<std::string> names;
    for (char name = 'C'; name <= 'Z'; ++name) names.emplace_back(1, name);
    gpuhist::io::DecodeOptions options;
    std::uint64_t asked = 0;
    options.admit = [&](std::uint64_t, std::uint64_t pixels) { asked = pixels; };
    const Image image = decode_image(file_of(Exr{named(names)}), "x", options);
    EXPECT_EQ(image.pixels.channels(), 24);
    EXPECT_EQ(asked, image.pixels.total() * image.pixels.elemSize());
}

TEST(OpenExr, OthersThanTheColorsTogetherKeepTheirNames) {
    const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> cases{
        {{"R"}, {"R"}},
        {{"G"}, {"G"}},
        {{"B"}, {"B"}},
        {{"Y", "Z"}, {"Y", "Z"}},
        {{"A", "Y", "Z"}, {"alpha", "Y", "Z"}},
        {{"A"}, {"alpha"}},
        {{"U", "V"}, {"U", "V"}},
        {{"depth.Z"}, {"depth.Z"}},
        {{"left.B", "left.G", "left.R"}, {"left.B", "left.G", "left.R"}}};
    for (const auto& [channels, names] : cases) {
        const Exr exr{named(channels)};
        const Image image = decode_image(file_of(exr), "x");
        EXPECT_EQ(image.samples, Samples::bands);
        EXPECT_EQ(image.bands, names);
        EXPECT_EQ(image.alpha, channels.front() == "A" ? Alpha::premultiplied : Alpha::none);
        expect_samples(image, exr,
                       channels.size() == 1   ? std::vector<int>{0}
                       : channels.size() == 2 ? std::vector<int>{0, 1}
                                              : std::vector<int>{0, 1, 2});
    }
}

TEST(OpenExr, OthersBesideTheColorsKeepTheirNames) {
    const std::vector<std::tuple<std::vector<std::string>, std::vector<std::string>, std::vector<int>>> cases{
        {{"B", "G", "R", "Z"}, {"", "", "", "Z"}, {0, 1, 2, 3}},
        {{"AO", "B", "G", "N.x", "R"}, {"", "", "", "AO", "N.x"}, {1, 2, 4, 0, 3}},
        {{"A", "B", "G", "R", "depth"}, {"", "", "", "alpha", "depth"}, {1, 2, 3, 0, 4}},
        {{"0", "A", "B", "G", "R"}, {"", "", "", "alpha", "0"}, {2, 3, 4, 1, 0}},
        {{"B", "G", "R", "Y", "b"}, {"", "", "", "Y", "b"}, {0, 1, 2, 3, 4}}};
    for (const auto& [channels, names, order] : cases) {
        const Exr exr{named(channels)};
        const Image image = decode_image(file_of(exr), "x");
        EXPECT_EQ(image.samples, Samples::color_bands);
        EXPECT_EQ(image.bands, names);
        EXPECT_EQ(image.alpha, channels.size() > 4 && names[3] == "alpha" ? Alpha::premultiplied : Alpha::none);
        expect_samples(image, exr, order);
        const Image halves = decode_image(file_of({named(channels, 1)}), "x");
        EXPECT_EQ(halves.depth, Depth::f16);
        EXPECT_EQ(halves.pixels.channels(), static_cast<int>(channels.size()));
    }
}

TEST(OpenExr, PixelsAreThoseOfTheDataWindow) {
    for (const unsigned line_order : {0U, 1U}) {
        const Exr exr{named({"B", "G", "R"}), 5, 4, -7, 30, 0, 0, 0, line_order};
        expect_samples(decode_image(file_of(exr), "x"), exr, {0, 1, 2});
    }
}

TEST(OpenExr, TilesAreRows) {
    for (const bool mipmap : {false, true}) {
        const Exr exr{named({"A", "B", "G", "R"}), 7, 5, 2, -3, 0, 0, 4, 0, mipmap};
        expect_samples(decode_image(file_of(exr), "x"), exr, {1, 2, 3, 0});
    }
}

TEST(OpenExr, EveryCompressionIsRead) {
    const cv::Mat image = picture(70, 53, CV_32FC3) / 256;
    cv::Mat halves;
    image.convertTo(halves, CV_16F);
    const auto as_floats = [](const cv::Mat& pixels) {
        cv::Mat floats;
        pixels.convertTo(floats, CV_32F);
        return floats;
    };
    for (int compression = 0; compression < 10; ++compression)
        for (const bool half : {true, false}) {
            SCOPED_TRACE(std::to_string(compression) + (half ? " half" : " float"));
            const Image read = decode_image(encode_openexr(image, compression, half), "x");
            if (compression <= 4 || (compression == 5 && half))
                EXPECT_TRUE(same(read.pixels, half ? halves : image));
            else
                EXPECT_LE(cv::norm(as_floats(read.pixels), image, cv::NORM_INF), 0.1);  // imread_test.cpp: every bit
        }
}

TEST(OpenExr, LuminanceAndChromaAreColorsOfTheLibrary) {
    for (const int channels : {3, 4})
        for (const int compression : {0, 1, 2, 3, 4, 6})
            for (const cv::Size size : {cv::Size(64, 38), cv::Size(2, 2), cv::Size(300, 70)}) {
                SCOPED_TRACE(testing::Message() << channels << ' ' << compression << ' ' << size);
                const cv::Mat colors = picture(size.height, size.width, CV_32FC(channels)) / 100;
                const Bytes file = gpuhist::test::encode_luminance_chroma(colors, compression);
                const cv::Mat right = gpuhist::test::read_luminance_chroma(file);
                const Image image = decode_image(file, "x");
                ASSERT_EQ(image.pixels.type(), CV_MAKETYPE(CV_16F, channels));
                EXPECT_EQ(image.depth, Depth::f16);
                EXPECT_EQ(image.samples, Samples::color);
                EXPECT_EQ(image.alpha, channels == 4 ? Alpha::premultiplied : Alpha::none);
                for (int y = 0; y < right.rows; ++y)
                    for (int x = 0; x < right.cols; ++x)
                        ASSERT_EQ(std::memcmp(image.pixels.ptr(y, x), right.ptr(y, x),
                                              2 * static_cast<std::size_t>(channels)),
                                  0)
                            << x << ' ' << y;
            }
    // Damage is refused, accepted or not: chroma is filtered over many rows.
    const Bytes whole = gpuhist::test::encode_luminance_chroma(picture(60, 64, CV_32FC3) / 100, 3);
    DecodeOptions accept;
    accept.on_damaged = OnDamaged::accept;
    Bytes zeroed = whole;
    std::fill_n(zeroed.begin() + static_cast<std::ptrdiff_t>(zeroed.size() / 2), 64, std::uint8_t{0});
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(whole.size() * 3 / 4));
    for (const Bytes& file : {zeroed, cut}) EXPECT_TRUE(contains(failure(file, accept), "damaged: the OpenEXR file"));
    EXPECT_TRUE(contains(failure(cut), "truncated: the OpenEXR file ends before all of its data"));
}

TEST(OpenExr, PagesAreParts) {
    cv::Mat halves;
    picture(21, 33, CV_32FC4).convertTo(halves, CV_16F);
    const std::vector<cv::Mat> pictures{picture(40, 50, CV_32FC3), halves, picture(17, 60, CV_32FC1)};
    const Bytes file = gpuhist::test::encode_openexr_parts(pictures);
    const auto pages = gpuhist::io::probe_pages(file, "x");
    ASSERT_EQ(pages->pages.size(), 3U);
    EXPECT_FALSE(pages->rest);
    const Image first = decode_image(file, "x");
    EXPECT_EQ(first.pages, 3U);
    EXPECT_TRUE(same(first.pixels, pictures[0]));
    const gpuhist::test::TemporaryDirectory temporary;
    write_file(temporary.path() / "parts.exr", {reinterpret_cast<const char*>(file.data()), file.size()});
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(pages->pages[i].problem.empty());
        DecodeOptions options;
        options.page = i + 1;
        for (const Image& image :
             {decode_image(file, "x", options), read_image(temporary.path() / "parts.exr", options)}) {
            EXPECT_EQ(image.pages, 3U);
            ASSERT_EQ(image.pixels.type(), pictures[i].type());
            EXPECT_TRUE(same(image.pixels, pictures[i])) << i;
        }
    }
    // Data of the first part lie last, so those of the others are all there.
    const Bytes cut(file.begin(), file.end() - 3000);
    DecodeOptions options;
    for (const std::uint64_t page : {1U, 2U, 3U}) {
        options.page = page;
        EXPECT_EQ(contains(failure(cut, options), "truncated: the OpenEXR file ends before all of its data"), page == 1)
            << page;
    }
}

TEST(OpenExr, LuminanceAndChromaInAnyPart) {
    const cv::Mat gray = picture(20, 31, CV_32FC1);
    std::vector<Bytes> files;
    for (const int compression : {0, 3, 4})
        for (const int channels : {3, 4})
            files.push_back(gpuhist::test::encode_luminance_chroma(
                picture(40 + 2 * compression, 64, CV_32FC(channels)) / (50 + channels), compression));
    const Bytes file = gpuhist::test::encode_luminance_chroma_parts(gray, files);
    const auto pages = gpuhist::io::probe_pages(file, "x");
    ASSERT_EQ(pages->pages.size(), 1 + files.size());
    DecodeOptions options;
    options.page = 1;
    EXPECT_TRUE(same(decode_image(file, "x", options).pixels, gray));
    for (std::size_t i = 0; i < files.size(); ++i) {
        const auto expect_part = [&](const Bytes& parts, std::uint64_t page) {
            options.page = page;
            const Image image = decode_image(parts, "x", options);
            const cv::Mat right = gpuhist::test::read_luminance_chroma(files[i]);
            const int channels = i % 2 == 0 ? 3 : 4;
            ASSERT_EQ(image.pixels.type(), CV_MAKETYPE(CV_16F, channels));
            EXPECT_EQ(image.alpha, channels == 4 ? Alpha::premultiplied : Alpha::none);
            ASSERT_EQ(image.pixels.size(), right.size());
            for (int y = 0; y < right.rows; ++y)
                for (int x = 0; x < right.cols; ++x)
                    ASSERT_EQ(
                        std::memcmp(image.pixels.ptr(y, x), right.ptr(y, x), 2 * static_cast<std::size_t>(channels)), 0)
                        << i << ' ' << x << ' ' << y;
        };
        EXPECT_TRUE(pages->pages[i + 1].problem.empty());
        expect_part(file, i + 2);
    }
    const Bytes cut(file.begin(), file.end() - 100);  // data of the last part
    options.page = files.size() + 1;
    EXPECT_TRUE(contains(failure(cut, options), "truncated: the OpenEXR file ends before all of its data"));
    options.on_damaged = OnDamaged::accept;
    EXPECT_TRUE(contains(failure(cut, options), "the OpenEXR file"));
}

TEST(OpenExr, WhatIsNotReadIsNamed) {
    const auto channels = [](const std::vector<std::string>& names) { return says({named(names)}); };
    std::vector<std::string> many;
    for (int i = 100; i < 165; ++i) many.push_back("c" + std::to_string(i));
    EXPECT_TRUE(contains(channels(many), "is not supported: gpuhist reads up to 64"));
    const std::vector<Channel> chroma{{"BY", 1, 2}, {"RY", 1, 2}, {"Y", 1, 1}};
    EXPECT_TRUE(contains(says({chroma}), "of luminance and chroma (BY RY Y) of odd sides, or in tiles, is not"));
    EXPECT_TRUE(contains(says({chroma, 4, 2, 0, 0, 0, 0, 2}), "of odd sides, or in tiles, is not supported"));
    EXPECT_TRUE(contains(says({{{"BY", 2, 2}, {"RY", 2, 2}, {"Y", 2, 1}}, 4, 2}), "subsampled channels (BY RY Y)"));
    EXPECT_TRUE(contains(says({{{"X", 1, 2}, {"Y", 1, 1}}, 4, 2}), "subsampled channels (X Y)"));
    EXPECT_TRUE(contains(says({{{"X", 1, 0}}, 4, 2}), "subsampled channels (X)"));
    EXPECT_TRUE(contains(says({{{"id", 0, 1}, {"z", 2, 1}}}), "of channels of whole numbers and of floats (id z)"));
    EXPECT_TRUE(contains(says({named({"Y"}), 3, 2, 0, 0, 0x800}), "a deep OpenEXR file is not supported"));
    Exr deep{named({"Y"})};
    deep.type = "deepscanline";
    EXPECT_TRUE(contains(says(deep), "a deep OpenEXR file is not supported"));
    EXPECT_TRUE(contains(says({named({"Y"}), 3, 2, 0, 0, 0, 10}), "of compression 10 is not supported"));
    EXPECT_TRUE(contains(channels({}), "damaged: the OpenEXR file's list of channels"));
    EXPECT_TRUE(contains(channels({"R", "G", "B"}), "damaged: the OpenEXR file's list of channels"));
    EXPECT_TRUE(contains(channels({"Y", "Y"}), "damaged: the OpenEXR file's list of channels"));
}

TEST(OpenExr, DamageIsNamed) {
    const Exr exr{named({"B", "G", "R"}), 30, 20};
    const Bytes whole = file_of(exr);
    for (std::size_t length = 4; length < whole.size(); length += 7)
        EXPECT_TRUE(
            contains(failure(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))), "truncated: "))
            << length;
    Bytes unfinished = whole;
    const std::size_t table = whole.size() - 20 * (8 + 30 * 12) - 20 * 8;
    std::fill_n(unfinished.begin() + static_cast<std::ptrdiff_t>(table + 16 * 8), 32, std::uint8_t{0});
    EXPECT_TRUE(contains(failure(unfinished), "truncated: the OpenEXR file ends before all of its data"));
    DecodeOptions accept;
    accept.on_damaged = OnDamaged::accept;
    const Image image = decode_image(unfinished, "x", accept);
    EXPECT_NE(image.damage, Damage::none);
    EXPECT_EQ(image.pixels.ptr<float>(15, 29)[2], sample(2, 29, 15));

    cv::Mat ramp = picture(64, 64, CV_32FC3);
    for (int compression : {2, 3}) {  // PIZ has no checksum
        Bytes bytes = encode_openexr(ramp, compression, true);
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2), 64, std::uint8_t{0});
        EXPECT_TRUE(contains(failure(bytes), "damaged: the OpenEXR file's data at row ")) << compression;
        EXPECT_TRUE(contains(failure(bytes), "(zlib: \"")) << compression;
    }
    // A shorter row, with a length that says so: the library hands over what it last held.
    Bytes shorter = whole;
    const std::size_t row = table + 20 * 8 + 7 * (8 + 30 * 12);
    shorter[row + 4] = 0x10;
    EXPECT_TRUE(
        contains(failure(shorter), "damaged: the OpenEXR file's data at row 7 do not fill their part of the picture"));
    const Image part = decode_image(shorter, "x", accept);
    EXPECT_EQ(part.pixels.ptr<float>(6, 29)[2], sample(2, 29, 6));
    EXPECT_EQ(cv::countNonZero(part.pixels.row(7).reshape(1)), 0);
    EXPECT_EQ(part.pixels.ptr<float>(8, 29)[2], sample(2, 29, 8));
    for (const unsigned compression : {1U, 2U}) {
        Exr packed{named({"Y"}), 200, 2, 0, 0, 0, compression};
        Bytes bytes = file_of(packed);
        const std::size_t second = bytes.size() - 800 - 4;
        const Bytes runs{127, 0, 127, 0},
            zlib{0x78, 0x9C, 0x63, 0x60, 0x60, 0x60, 0, 0, 0, 3, 0, 1};  // 256 and 3 zeros
        bytes.resize(second);
        append(bytes, compression == 1 ? runs.size() : zlib.size(), 4);
        bytes.insert(bytes.end(), compression == 1 ? runs.begin() : zlib.begin(),
                     compression == 1 ? runs.end() : zlib.end());
        EXPECT_TRUE(contains(failure(bytes), "damaged: the OpenEXR file's data at row 1 do not fill their part"))
            << compression;
    }
    Exr huge{named({"Y"}), 30000, 30000, 0, 0, 0, 0};
    huge.width = huge.height = 2;
    Bytes claims = file_of(huge);
    const auto window = bytes_of(std::string("box2i\0\x10\0\0\0", 10));
    auto at = std::search(claims.begin(), claims.end(), window.begin(), window.end()) + 10 + 8;
    for (const int i : {0, 4}) at[i] = 0x2F, at[i + 1] = 0x75;
    EXPECT_TRUE(contains(failure(claims), "truncated: "));
    const auto codec = bytes_of(std::string("compression\0compression\0\1\0\0\0", 28));
    *(std::search(claims.begin(), claims.end(), codec.begin(), codec.end()) + 28) = 3;
    EXPECT_TRUE(contains(failure(claims), "cannot hold the 30000 x 30000 pixels that its header claims"));
}

TEST(OpenExr, NothingIsPrinted) {
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    Bytes bytes = encode(".exr", picture(64, 64, CV_32FC3));
    for (std::size_t i = 0; i < bytes.size(); i += 97) {
        const auto before = std::exchange(bytes[i], static_cast<unsigned char>(~bytes[i]));
        failure(bytes);
        bytes[i] = before;
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr() + testing::internal::GetCapturedStdout(), "");
}

}  // namespace
