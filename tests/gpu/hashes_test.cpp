// Hashes of images against XXH3 of all their samples at once, and against cells that are filled sample by sample.
#include "gpuhist/hashes.hpp"

#include <gtest/gtest.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <string>
#include <variant>
#include <vector>

#include "fingerprint/similar.hpp"
#include "gpuhist/gpuhist.hpp"
#include "support/engines_under_test.hpp"
#include "support/raster.hpp"

namespace gpuhist::test {
namespace {

AnalysisRequest with_hashes() {
    AnalysisRequest request;
    request.measures.add(Measure::hashes);
    return request;
}

std::string text_of(const Analysis& found, const char* column) {
    const MeasureValue value = measure_value(found, column);
    const std::string* const text = std::get_if<std::string>(&value);
    return text ? *text : "none";
}

/// Places of the samples of a pixel, in their canonical order.
std::vector<int> canonical(const Raster& image) {
    if (image.samples == Samples::gray_alpha) return {0, 3};
    std::vector<int> places;
    for (int c = 0; c < image.channels; ++c) places.push_back(c);
    const bool colors = image.samples == Samples::color_bands ||
                        (image.samples == Samples::color && (image.channels == 3 || image.channels == 4));
    if (colors && image.order == ChannelOrder::bgr) std::swap(places[0], places[2]);
    return places;
}

void add_digest(std::string& bytes, XXH128_hash_t hash) {
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, hash);
    bytes.append(reinterpret_cast<const char*>(digest.digest), 16);
}

/// Hash of the pixels by its definition.
std::string hash_of_pixels(const Raster& image) {
    const std::vector<int> places = canonical(image);
    std::string samples;
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x)
            for (const int c : places)
                samples.append(reinterpret_cast<const char*>(const_cast<Raster&>(image).at(x, y, c)),
                               sample_bytes(image.depth));
    std::string text = std::to_string(image.width) + " " + std::to_string(image.height) + " " + to_string(image.depth) +
                       " " + std::to_string(places.size()) + "\n";
    for (std::size_t begin = 0; begin < samples.size(); begin += 65536)
        add_digest(text, XXH3_128bits(samples.data() + begin, std::min<std::size_t>(65536, samples.size() - begin)));
    const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
    return hash_text(Hash128{hash.high64, hash.low64});
}

/// Luma by its definition, 0 where it is not finite.
std::vector<double> luma_of(const Raster& image) {
    std::vector<double> luma;
    const bool gray = image.channels < 3 || image.samples == Samples::gray_alpha,
               bgr = image.order == ChannelOrder::bgr;
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x) {
            const double r = image.value(x, y, gray || !bgr ? 0 : 2), g = gray ? r : image.value(x, y, 1),
                         b = gray ? r : image.value(x, y, bgr ? 0 : 2);
            const double value = gray ? r : luma_by_definition(image.depth, r, g, b);
            luma.push_back(std::isfinite(value) ? value : 0);
        }
    return luma;
}

/// Small image: each pixel is cut into columns x rows parts, and each cell takes width x height of these.
std::vector<std::uint8_t> small_image(const Raster& image, int columns, int rows) {
    const std::vector<double> luma = luma_of(image);
    const auto cells = static_cast<std::size_t>(columns);
    std::vector<long double> across, sums;  // of the rows of the image, and of the cells
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t column = 0; column < columns; ++column) {
            long double sum = 0;
            for (std::int64_t u = column * image.width; u < (column + 1) * image.width; ++u)
                sum += luma[static_cast<std::size_t>(y * image.width + u / columns)];
            across.push_back(sum);
        }
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < cells; ++column) {
            long double sum = 0;
            for (std::int64_t v = row * image.height; v < (row + 1) * image.height; ++v)
                sum += across[static_cast<std::size_t>(v / rows) * cells + column];
            sums.push_back(sum);
        }
    const auto [low, high] = std::minmax_element(sums.begin(), sums.end());
    std::vector<std::uint8_t> pixels;
    for (const long double sum : sums)
        pixels.push_back(*low == *high
                             ? std::uint8_t{0}
                             : static_cast<std::uint8_t>(std::floor((sum - *low) * 255 / (*high - *low) + 0.5L)));
    return pixels;
}

std::uint64_t dhash_of(const std::vector<std::uint8_t>& pixels) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 64; ++i)
        if (pixels[i / 8 * 9 + i % 8 + 1] > pixels[i / 8 * 9 + i % 8]) bits |= std::uint64_t{1} << (63 - i);
    return bits;
}

/// Expects the bits of ImageHash's phash, unless a coefficient is within 1e-6 of their median.
void expect_phash(std::uint64_t found, const std::vector<std::uint8_t>& pixels) {
    static const std::array<std::array<double, 32>, 8> cosines = [] {
        std::array<std::array<double, 32>, 8> table{};
        for (std::size_t frequency = 0; frequency < 8; ++frequency)
            for (std::size_t place = 0; place < 32; ++place)
                table[frequency][place] = 2 * std::cos(CV_PI * static_cast<double>(frequency * (2 * place + 1)) / 64);
        return table;
    }();
    std::vector<double> coefficients;
    for (std::size_t v = 0; v < 8; ++v)
        for (std::size_t h = 0; h < 8; ++h) {
            double sum = 0;
            for (std::size_t y = 0; y < 32; ++y)
                for (std::size_t x = 0; x < 32; ++x) sum += cosines[v][y] * cosines[h][x] * pixels[y * 32 + x];
            coefficients.push_back(sum);
        }
    std::vector<double> sorted = coefficients;
    std::sort(sorted.begin(), sorted.end());
    const double median = (sorted[31] + sorted[32]) / 2;
    for (std::size_t i = 0; i < 64; ++i)
        if (std::abs(coefficients[i] - median) > 1e-6) {
            EXPECT_EQ(found >> (63 - i) & 1, coefficients[i] > median) << "coefficient " << i;
        }
}

void expect_hashes(const Analysis& found, const Raster& image) {
    EXPECT_EQ(text_of(found, "pixels_hash"), hash_of_pixels(image));
    if (image.samples == Samples::bands || image.channels == 2) {
        EXPECT_EQ(text_of(found, "dhash"), "none");
        EXPECT_EQ(text_of(found, "phash"), "none");
        return;
    }
    EXPECT_EQ(text_of(found, "dhash"), hash_text(dhash_of(small_image(image, 9, 8))));
    const auto phash = hash64_of(text_of(found, "phash"));
    ASSERT_TRUE(phash);
    expect_phash(*phash, small_image(image, 32, 32));
}

/// Samples that exact sums of long doubles can be made of.
Raster picture_of(Depth depth, int channels, std::int64_t width, std::int64_t height, Samples samples,
                  ChannelOrder order, int padding) {
    Raster image(width, height, channels, depth, padding);
    image.samples = samples;
    image.order = order;
    const DepthTraits& traits = traits_of(depth);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x)
            for (int c = 0; c < channels; ++c) {
                const double noise =
                    static_cast<double>(scramble(static_cast<std::uint64_t>((y * 5000 + x) * 8 + c)) % 97);
                const double value = 60 + 50 * std::sin(static_cast<double>(x) * 6 / static_cast<double>(width)) *
                                              std::cos(static_cast<double>(y + c) * 5 / static_cast<double>(height));
                image.set(x, y, c,
                          traits.floating ? std::round(value * 64 + noise) / 1024 : std::floor(value / 2 + noise / 4));
            }
    if (samples == Samples::gray_alpha)
        for (std::int64_t y = 0; y < height; ++y)
            for (std::int64_t x = 0; x < width; ++x)
                for (int c = 1; c < 3; ++c) image.set(x, y, c, image.value(x, y, 0));
    return image;
}

class HashesTest : public EngineTest {};

TEST_P(HashesTest, are_those_of_the_definition_in_images_of_every_kind) {
    struct Kind {
        int channels;
        Samples samples;
    };
    for (const DepthTraits& traits : all_depths)
        for (const Kind& kind : {Kind{1, Samples::color},
                                 {3, Samples::color},
                                 {4, Samples::color},
                                 {4, Samples::gray_alpha},
                                 {2, Samples::bands},
                                 {3, Samples::bands},
                                 {4, Samples::color_bands},
                                 {6, Samples::color_bands}})
            for (const ChannelOrder order : {ChannelOrder::rgb, ChannelOrder::bgr}) {
                if (kind.samples == Samples::bands && order == ChannelOrder::bgr) continue;
                for (const auto& [width, height] : {std::pair{1, 1}, {5, 3}, {32, 32}, {37, 19}}) {
                    SCOPED_TRACE(traits.name + std::string(" ") + std::to_string(kind.channels) + " " +
                                 std::to_string(static_cast<int>(kind.samples)) + " " + std::to_string(width) +
                                 (order == ChannelOrder::bgr ? " bgr" : ""));
                    const Raster image = picture_of(traits.depth, kind.channels, width, height, kind.samples, order,
                                                    width == 37 ? 5 : 0);
                    expect_hashes(engine->analyze(image.view(), with_hashes()), image);
                }
            }
}

TEST_P(HashesTest, of_large_images_are_the_same_by_many_threads) {
    for (const Depth depth : {Depth::u8, Depth::u16})
        for (const int channels : {3, 4}) {
            const Raster image = picture_of(depth, channels, 601, 400, Samples::color, ChannelOrder::bgr, 0);
            expect_hashes(engine->analyze(image.view(), with_hashes()), image);
        }
}

TEST_P(HashesTest, are_of_all_pixels_as_stored) {
    for (const Depth depth : {Depth::u8, Depth::s16, Depth::f16, Depth::f32, Depth::u32, Depth::f64}) {
        Raster image = picture_of(depth, 4, 97, 61, Samples::color, ChannelOrder::bgr, 3);
        if (traits_of(depth).floating) {
            image.set(3, 4, 0, std::nan(""));
            image.set(3, 5, 1, -0.0);
            image.set(60, 50, 2, std::numeric_limits<double>::infinity());
        }
        std::vector<std::uint8_t> mask(97 * 61, 1);
        for (std::size_t i = 0; i < 3000; ++i) mask[i] = 0;
        for (const AlphaRule alpha : {AlphaRule::row, AlphaRule::mask, AlphaRule::ignore, AlphaRule::weight}) {
            SCOPED_TRACE(to_string(depth) + std::string(" ") + std::to_string(static_cast<int>(alpha)));
            if (alpha == AlphaRule::weight && traits_of(depth).alpha_unit == 0) continue;
            Validity rules;
            rules.alpha = alpha;
            rules.valid = {{Channel::green, 10, 60}};
            AnalysisRequest request = with_hashes();
            request.validity = std::make_shared<Validity>(rules);
            request.measures.add(Measure::noise);
            ImageView view = image.view();
            view.mask = mask.data();
            view.mask_row_bytes = 97;
            expect_hashes(engine->analyze(view, request), image);
        }
    }
}

TEST_P(HashesTest, of_strips_are_those_of_the_whole) {
    const auto cpu = make_engine("cpu");  // which takes strips of every depth
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (const int channels : {1, 3, 5})
            for (const int rows : {1, 7, 61, 151}) {
                SCOPED_TRACE(to_string(depth) + std::string(" ") + std::to_string(channels) + " " +
                             std::to_string(rows));
                const Raster image =
                    picture_of(depth, channels, 340, 151, channels == 5 ? Samples::bands : Samples::color,
                               channels == 5 ? ChannelOrder::rgb : ChannelOrder::bgr, channels);
                Engine& by = depth == Depth::f32 ? *cpu : *engine;
                const ImageView whole = image.view();
                ImageView sides = whole;
                sides.data = nullptr;
                Analysis found;
                const auto strips = by.analyze_strips(sides, with_hashes(), found);
                do {
                    for (std::int64_t y = 0; y < whole.height; y += rows) {
                        ImageView strip = whole;
                        strip.height = std::min<std::int64_t>(rows, whole.height - y);
                        strip.data = static_cast<const std::byte*>(whole.data) + y * whole.row_bytes;
                        strips->take(strip);
                    }
                } while (strips->end_pass());
                EXPECT_EQ(found, by.analyze(whole, with_hashes()));
                EXPECT_EQ(text_of(found, "pixels_hash"), hash_of_pixels(image));
            }
}

/// Hashes and the other measures read the same rows of luma.
TEST_P(HashesTest, with_all_measures_are_those_of_the_definition) {
    AnalysisRequest all, others;
    for (const MeasureTraits& traits : all_measures) {
        all.measures.add(traits.measure);
        if (traits.measure != Measure::hashes) others.measures.add(traits.measure);
    }
    for (const DepthTraits& traits : all_depths)
        for (const auto& [channels, samples] :
             {std::pair{1, Samples::color}, {3, Samples::color}, {4, Samples::gray_alpha}, {6, Samples::color_bands}})
            for (const auto& [width, height] : {std::pair{1, 1}, {2, 5}, {203, 150}}) {
                SCOPED_TRACE(traits.name + std::string(" ") + std::to_string(channels) + " " + std::to_string(width));
                Raster image = picture_of(traits.depth, channels, width, height, samples, ChannelOrder::bgr, 7);
                if (traits.floating && width > 2) image.set(3, 5, 0, std::nan(""));
                if (traits.floating && channels == 4 && width > 2)
                    for (const int c : {1, 2}) image.set(3, 5, c, std::nan(""));
                const Analysis found = engine->analyze(image.view(), all);
                expect_hashes(found, image);
                const Analysis without = engine->analyze(image.view(), others);
                for (const MeasureColumn& column : measure_columns()) {
                    if (column.measure == Measure::hashes) continue;
                    EXPECT_EQ(measure_value(found, column.name), measure_value(without, column.name)) << column.name;
                }
            }
}

TEST_P(HashesTest, differ_by_sides_depth_and_samples) {
    std::vector<std::string> texts;
    for (const auto& [width, height, channels, depth] : {std::tuple{6, 4, 1, Depth::u8},
                                                         {4, 6, 1, Depth::u8},
                                                         {8, 1, 3, Depth::u8},
                                                         {6, 1, 4, Depth::u8},
                                                         {6, 4, 1, Depth::s8},
                                                         {6, 2, 1, Depth::u16},
                                                         {3, 2, 1, Depth::f32},
                                                         {3, 2, 1, Depth::u32}}) {
        Raster image(width, height, channels, depth);
        std::fill(image.memory.begin(), image.memory.end(), std::byte{0});
        const Analysis found = engine->analyze(image.view(), with_hashes());
        texts.push_back(text_of(found, "pixels_hash"));
        EXPECT_EQ(text_of(found, "dhash"), "0000000000000000") << "a uniform image";
        EXPECT_EQ(text_of(found, "phash"), "0000000000000000");
    }
    std::sort(texts.begin(), texts.end());
    EXPECT_EQ(std::unique(texts.begin(), texts.end()), texts.end());
}

TEST_P(HashesTest, of_images_together_are_none) {
    const Raster image = raster(Depth::u8, 3, Fill::bits);
    Analysis sum = engine->analyze(image.view(), with_hashes());
    sum += engine->analyze(image.view(), with_hashes());
    for (const char* column : {"pixels_hash", "dhash", "phash"}) EXPECT_EQ(text_of(sum, column), "none");
}

INSTANTIATE_TEST_SUITE_P(Conformance, HashesTest, testing::ValuesIn(engines_under_test), label_of);

// By xxhash 4.1 and ImageHash 4.3 of PyPI, from numpy's ((x * x + 3 * y * y + 40 * c * x) % 251) of 300 x 200 pixels.
TEST(Hashes, are_those_of_python) {
    Raster image(300, 200, 3, Depth::u8);
    for (std::int64_t y = 0; y < 200; ++y)
        for (std::int64_t x = 0; x < 300; ++x)
            for (int c = 0; c < 3; ++c) image.set(x, y, c, static_cast<double>((x * x + 3 * y * y + 40 * c * x) % 251));
    const Analysis found = make_engine("cpu")->analyze(image.view(), with_hashes());
    EXPECT_EQ(text_of(found, "pixels_hash"), "49633b49625627088eae2058f1b5104e");
    EXPECT_EQ(text_of(found, "dhash"), "f5a9e61b54565aa4");
    EXPECT_EQ(text_of(found, "phash"), "d5c2c0575539c7ca");
}

TEST(HashText, is_hexadecimal) {
    EXPECT_EQ(hash_text(std::uint64_t{0xabc}), "0000000000000abc");
    EXPECT_EQ(hash_text(Hash128{0xfedcba9876543210, 1}), "fedcba98765432100000000000000001");
    EXPECT_EQ(hash64_of("00000000000000ff"), std::optional<std::uint64_t>(255));
    EXPECT_EQ(hash128_of("fedcba98765432100000000000000001"), std::optional(Hash128{0xfedcba9876543210, 1}));
    for (const char* text : {"", "ff", "00000000000000fg", "0x00000000000000", "00000000000000ff0"}) {
        EXPECT_FALSE(hash64_of(text)) << text;
        EXPECT_FALSE(hash128_of(text)) << text;
    }
    EXPECT_FALSE(hash128_of("fedcba9876543210+000000000000001"));
}

}  // namespace
}  // namespace gpuhist::test
