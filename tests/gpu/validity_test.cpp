// Valid samples: every number is that of the samples cut out as an image of their own, sorted into classes here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "gpuhist/dataset.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/histogram.hpp"
#include "gpuhist/statistics.hpp"
#include "support/analysis_under_test.hpp"
#include "support/engines_under_test.hpp"
#include "support/modes.hpp"
#include "support/oracle.hpp"
#include "support/validity_cases.hpp"

namespace gpuhist::test {
namespace {

/// Samples that are as one gray image, or, of colors, as pixels of three channels.
struct CutOut {
    Raster pixels;
    std::int64_t count = 0;

    CutOut(const ValidityCase& from, int channels)
        : pixels(from.image.width * from.image.height, 1, channels, from.image.depth) {
        pixels.order = from.image.order;
    }
    void add(const ValidityCase& from, std::int64_t x, std::int64_t y, int first) {
        for (int c = 0; c < pixels.channels; ++c)
            std::memcpy(pixels.at(count, 0, c), const_cast<Raster&>(from.image).at(x, y, first + c),
                        sample_bytes(pixels.depth));
        ++count;
    }
    Analysis analyze(Engine& engine, AnalysisRequest request) const {
        request.validity.reset();
        ImageView view = pixels.view();
        view.width = count;
        view.row_bytes = view.packed_row_bytes();
        return engine.analyze(view, request);
    }
};

/// Expects the findings of a channel: those of samples cut out, but for how many were not.
void expect_channel(const ChannelAnalysis& found, const ValidityCase& given, Engine& reference, const CutOut& cut,
                    Channel of_cut, std::uint64_t masked, std::uint64_t nodata) {
    EXPECT_EQ(found.masked, masked);
    EXPECT_EQ(found.nodata, nodata);
    EXPECT_EQ(found.pixels, static_cast<std::uint64_t>(given.image.width * given.image.height));
    EXPECT_EQ(found.pixels, masked + nodata + static_cast<std::uint64_t>(cut.count));
    if (cut.count == 0) return;
    ChannelAnalysis expected = *cut.analyze(reference, given.request()).find(of_cut);
    expected.channel = found.channel;
    expected.pixels = found.pixels;
    expected.masked = masked;
    expected.nodata = nodata;
    EXPECT_TRUE(found == expected);
}

void expect_findings(const ValidityCase& given, const Analysis& found, Engine& reference) {
    const std::int64_t width = given.image.width, height = given.image.height;
    const bool bands = given.image.samples == Samples::bands;
    for (const ChannelAnalysis& one : found.channels) {
        SCOPED_TRACE(to_string(one.channel));
        if (one.channel == Channel::luma && bands) continue;
        const bool luma = one.channel == Channel::luma;
        int place = 0;
        while (!luma && given.channel(place) != one.channel && !(bands && found.find(Channel::red))) ++place;
        if (bands && found.find(Channel::red))  // as engines name four bands and fewer
            place = one.channel == Channel::red     ? 0
                    : one.channel == Channel::green ? 1
                    : one.channel == Channel::blue  ? 2
                                                    : 3;
        CutOut cut(given, luma ? 3 : 1);
        std::uint64_t masked = 0, nodata = 0;
        for (std::int64_t y = 0; y < height; ++y)
            for (std::int64_t x = 0; x < width; ++x) {
                bool left_out = false;
                for (int c = luma ? 0 : place; c < (luma ? 3 : place + 1); ++c)
                    left_out = left_out || given.nodata(x, y, c);
                if (given.masks(x, y))
                    ++masked;
                else if (left_out)
                    ++nodata;
                else
                    cut.add(given, x, y, luma ? 0 : place);
            }
        expect_channel(one, given, reference, cut, luma ? Channel::luma : Channel::gray, masked, nodata);
    }
    expect_all_pixels_counted(found);
}

class ValidityTest : public EngineTest {};

TEST_P(ValidityTest, FindsWhatTheSamplesThatCountCutOutGive) {
    for (const DepthTraits& traits : all_depths)
        for (int channels : {1, 2, 3, 4, 5})
            for (int variant = 0; variant < validity_variants; ++variant) {
                SCOPED_TRACE(std::string(traits.name) + " " + std::to_string(channels) + " " + std::to_string(variant));
                const ValidityCase given = make_validity_case(traits.depth, channels, variant);
                const Analysis found = engine->analyze(given.view(), given.request());
                EXPECT_EQ(found.find(Channel::alpha) != nullptr,
                          channels == 4 && given.validity.alpha != AlphaRule::ignore);
                expect_findings(given, found, *reference);
                EXPECT_TRUE(found == reference->analyze(given.view(), given.request()));
            }
}

TEST_P(ValidityTest, FindsTheSameInStrips) {
    for (const DepthTraits& traits : all_depths)
        for (int channels : {1, 3, 4, 5})
            for (int variant = 0; variant < validity_variants; ++variant) {
                SCOPED_TRACE(std::string(traits.name) + " " + std::to_string(channels) + " " + std::to_string(variant));
                const ValidityCase given = make_validity_case(traits.depth, channels, variant);
                const ImageView whole = given.view();
                ImageView sides = whole;
                sides.data = nullptr;
                Analysis found;
                const auto strips = engine->analyze_strips(sides, given.request(), found);
                do {
                    for (std::int64_t y = 0; y < whole.height; y += 4) {
                        ImageView strip = whole;
                        strip.height = std::min<std::int64_t>(4, whole.height - y);
                        strip.data = static_cast<const std::byte*>(whole.data) + y * whole.row_bytes;
                        if (strip.mask) strip.mask += y * whole.mask_row_bytes;
                        strips->take(strip);
                    }
                } while (strips->end_pass());
                EXPECT_TRUE(found == reference->analyze(whole, given.request()));
            }
}

TEST_P(ValidityTest, OfAMaskAndItsOppositeGiveTheWholeImage) {
    for (const DepthTraits& traits : all_depths) {
        if (traits.counting == Counting::bins) continue;
        for (int channels : {1, 3, 4}) {
            ValidityCase given = make_validity_case(traits.depth, channels, 0);
            AnalysisRequest request = given.request();
            request.validity.reset();
            Analysis sum = engine->analyze(given.view(), request);
            for (std::uint8_t& byte : given.mask) byte = byte == 0;
            sum += engine->analyze(given.view(), request);
            Analysis whole = engine->analyze(given.image.view(), request);
            for (ChannelAnalysis& channel : whole.channels) {
                EXPECT_EQ(channel.masked, 0U);
                channel.masked = channel.pixels;
                channel.pixels *= 2;
            }
            EXPECT_TRUE(sum == whole) << traits.name << channels;
        }
    }
}

TEST_P(ValidityTest, OfNothingGivesEmptyNumbers) {
    for (const DepthTraits& traits : all_depths)
        for (int channels : {1, 3}) {
            ValidityCase given = make_validity_case(traits.depth, channels, 0);
            std::fill(given.mask.begin(), given.mask.end(), std::uint8_t{0});
            for (const Statistics& row : statistics(engine->analyze(given.view(), given.request()))) {
                EXPECT_EQ(row.masked, row.pixels);
                EXPECT_EQ(row.valid(), 0U);
                EXPECT_FALSE(row.mean || row.min || row.std || row.percentile(50));
            }
        }
}

/// Samples of a copy as numbers.
std::vector<double> values_of(const Raster& image) {
    std::vector<double> values;
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x)
            for (int c = 0; c < image.channels; ++c) values.push_back(image.value(x, y, c));
    return values;
}

TEST_P(ValidityTest, CopiesFollowFromTheSamplesThatCount) {
    for (const DepthTraits& traits : all_depths)
        for (int channels : {1, 3, 4, 5})
            for (const NormalizeTraits& mode : exact_modes())
                for (const bool joint : {true, false}) {
                    if (joint && mode.joint_by_luma && channels == 5) continue;
                    SCOPED_TRACE(std::string(traits.name) + " " + std::to_string(channels) + " " + mode.name + " " +
                                 std::to_string(joint));
                    ValidityCase given = make_validity_case(traits.depth, channels, 3);
                    given.image.samples = channels == 5 ? Samples::bands : Samples::color;
                    const Normalization normalization{mode.mode, 5, 95, joint};
                    const Depth depth = normalized_depth(traits.depth, normalization);
                    Raster copy(given.image.width, given.image.height, channels, depth);
                    copy.order = given.image.order;
                    Analysis found;
                    engine->normalize(given.view(), given.request(), normalization, copy.mutable_view(), found);
                    EXPECT_TRUE(found == reference->analyze(given.view(), given.request()));

                    // Pixels of which one sample is nodata count in nothing: what is left is an image of its own.
                    CutOut cut(given, channels);
                    cut.pixels.samples = given.image.samples;
                    std::vector<std::int64_t> places;
                    for (std::int64_t y = 0; y < given.image.height; ++y)
                        for (std::int64_t x = 0; x < given.image.width; ++x) {
                            if (given.masks(x, y) || given.nodata(x, y, 0)) continue;
                            cut.add(given, x, y, 0);
                            places.push_back(y * given.image.width + x);
                        }
                    ASSERT_GT(cut.count, 0);
                    Raster expected(cut.count, 1, channels, depth);
                    expected.order = given.image.order;
                    ImageView view = cut.pixels.view();
                    view.width = cut.count;
                    view.row_bytes = view.packed_row_bytes();
                    AnalysisRequest request = given.request();
                    request.validity.reset();
                    reference->normalize(view, request, normalization, expected.mutable_view(), found);
                    const std::vector<double> all = values_of(copy), wanted = values_of(expected);
                    for (std::size_t i = 0; i < places.size(); ++i)
                        for (int c = 0; c < channels; ++c) {
                            const double
                                a = all[static_cast<std::size_t>(places[i] * channels + c)],
                                b = wanted[i * static_cast<std::size_t>(channels) + static_cast<std::size_t>(c)];
                            ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << a << " " << b << " " << c;
                        }
                    // Excluded samples: in another depth nodata is NaN, what is masked or out of bounds 0; and where
                    // it is asked all are as they were.
                    if (depth == traits.depth) {
                        Normalization only = normalization;
                        only.valid_only = true;
                        engine->normalize(given.view(), given.request(), only, copy.mutable_view(), found);
                        ValidityCase over = given;  // a copy in its image's place
                        engine->normalize(over.view(), over.request(), only, over.image.mutable_view(), found);
                        const std::vector<double> a = values_of(over.image), b = values_of(copy);
                        for (std::size_t i = 0; i < a.size(); ++i)
                            ASSERT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])));
                    }
                    const std::vector<double> kept = values_of(copy), before = values_of(given.image);
                    for (std::int64_t p = 0; p < given.image.width * given.image.height; ++p) {
                        if (std::binary_search(places.begin(), places.end(), p)) continue;
                        for (int c = 0; c < channels; ++c) {
                            const auto at = static_cast<std::size_t>(p * channels + c);
                            const bool named = given.names(p % given.image.width, p / given.image.width, c) &&
                                               !(channels == 4 && c == 3);
                            const double wanted_there = depth == traits.depth ? before[at] : named ? std::nan("") : 0;
                            ASSERT_TRUE(kept[at] == wanted_there || (std::isnan(kept[at]) && std::isnan(wanted_there)));
                        }
                    }
                }
}

TEST_P(ValidityTest, SumsUp) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::s32, Depth::f32}) {
        const ValidityCase given = make_validity_case(depth, 3, 2);
        const Analysis found = engine->analyze(given.view(), given.request());
        Summary summary;
        const auto values = depth == Depth::f32 ? count_frequencies(given.view(), nullptr, given.request())
                                                : std::vector<FrequencyTable>{};
        summary.add(found, values);
        const auto rows = statistics(found);
        const auto summed = summary.statistics();
        ASSERT_EQ(rows.size(), summed.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const Statistics &a = rows[i], &b = summed[i].statistics;
            EXPECT_TRUE(a.by_class() == b.by_class());
            EXPECT_EQ(a.min, b.min);
            EXPECT_EQ(a.max, b.max);
            EXPECT_EQ(a.percentile(50), b.percentile(50)) << to_string(depth) << to_string(a.channel);
        }
        summary.add(found, values);
        EXPECT_EQ(summary.statistics()[0].statistics.masked, 2 * rows[0].masked);
        const Histogram histogram = gpuhist::histogram(found, {50, Range{-20, 20}});
        EXPECT_EQ(histogram.columns[0].masked, rows[0].masked);
        EXPECT_EQ(histogram.columns[0].nodata, rows[0].nodata);
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, ValidityTest, testing::ValuesIn(engines_under_test), label_of);

TEST_P(ValidityTest, BoundsOfFloatsAreRoundedToTheSamplesType) {
    const auto valid_of = [&](Depth depth, auto samples, double lowest, double highest) {
        ImageView image;
        image.data = samples.data();
        image.width = static_cast<std::int64_t>(samples.size());
        image.height = 1;
        image.depth = depth;
        image.row_bytes = image.packed_row_bytes();
        AnalysisRequest request;
        request.validity = std::make_shared<Validity>(Validity{{}, {{{}, lowest, highest}}});
        return engine->analyze(image, request).channels[0].by_class();
    };
    const double infinite = std::numeric_limits<double>::infinity();
    const std::vector<float> tenths{0.1F, 0.2F, 0.3F};
    EXPECT_EQ(valid_of(Depth::f32, tenths, 0.1, 0.3).nodata, 0u);
    EXPECT_EQ(valid_of(Depth::f32, tenths, std::nextafter(0.1F, 1.0F), infinite).nodata, 1u);
    EXPECT_EQ(valid_of(Depth::f32, tenths, -infinite, std::nextafter(0.3F, 0.0F)).nodata, 1u);
    EXPECT_EQ(valid_of(Depth::f64, std::vector<double>{0.1, double(0.1F), 0.3}, 0.1, 0.3).nodata, 0u);
    EXPECT_EQ(valid_of(Depth::f64, std::vector<double>{double(0.3F), 0.3}, 0.1, 0.3).nodata, 1u);
    // A bound over all finite values leaves out infinite ones, an infinite bound does not: they are infinite.
    const std::vector<float> ends{-3e38F, 3e38F, std::numeric_limits<float>::infinity()};
    EXPECT_EQ(valid_of(Depth::f32, ends, -1e39, 1e39).nodata, 1u);
    EXPECT_EQ(valid_of(Depth::f32, ends, -infinite, infinite).nodata, 0u);
    EXPECT_EQ(valid_of(Depth::f32, ends, -infinite, infinite).infinite, 1u);
    // Integers are inside from ceil(lowest) to floor(highest).
    const std::vector<std::uint8_t> whole{0, 1, 2, 3, 255};
    EXPECT_EQ(valid_of(Depth::u8, whole, 0.5, 2.5).nodata, 3u);
    EXPECT_EQ(valid_of(Depth::u8, whole, 1, infinite).nodata, 1u);
}

TEST(Nodata, IsHeldByTheSamplesType) {
    EXPECT_EQ(nodata_in(Depth::u8, 254.6), std::nullopt);
    EXPECT_EQ(nodata_in(Depth::u8, 255), 255);
    EXPECT_EQ(nodata_in(Depth::s32, 3.5), std::nullopt);
    EXPECT_EQ(nodata_in(Depth::u8, -1), std::nullopt);
    EXPECT_EQ(nodata_in(Depth::u8, 256), std::nullopt);
    EXPECT_EQ(nodata_in(Depth::u32, 4294967295.0), 4294967295.0);
    EXPECT_EQ(nodata_in(Depth::s16, -32768), -32768);
    EXPECT_EQ(nodata_in(Depth::f32, 0.1), static_cast<double>(0.1F));
    EXPECT_EQ(nodata_in(Depth::f32, 1e39), std::nullopt);
    EXPECT_EQ(nodata_in(Depth::f16, 1e5), std::nullopt);
    EXPECT_EQ(nodata_in(Depth::f64, 1e300), 1e300);
    EXPECT_EQ(nodata_in(Depth::u16, std::nan("")), std::nullopt);
    EXPECT_TRUE(std::isnan(*nodata_in(Depth::f16, std::nan(""))));
    const double infinite = std::numeric_limits<double>::infinity();
    EXPECT_EQ(nodata_in(Depth::f16, -infinite), -infinite);
}

TEST(Validity, RefusesAnIntervalThatIsNone) {
    const ValidityCase given = make_validity_case(Depth::u8, 1, 0);
    AnalysisRequest request;
    request.validity = std::make_shared<Validity>(Validity{{}, {{{}, 3, 2}}});
    EXPECT_THROW(make_engine("cpu")->analyze(given.view(), request), InvalidArgument);
}

}  // namespace
}  // namespace gpuhist::test
