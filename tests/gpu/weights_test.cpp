// Weights by alpha: the numbers are those of an image in which each pixel stands as often as its alpha says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "gpuhist/dataset.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/regions.hpp"
#include "gpuhist/statistics.hpp"
#include "support/oracle.hpp"
#include "support/raster.hpp"
#include "support/statistics_under_test.hpp"

namespace gpuhist::test {
namespace {

AnalysisRequest weighted(Validity validity = {}) {
    AnalysisRequest request;
    validity.alpha = AlphaRule::weight;
    request.validity = std::make_shared<const Validity>(std::move(validity));
    return request;
}

/// Image of four channels, the last of which is at most `most`.
Raster with_alpha(Depth depth, Samples samples, std::uint64_t most, std::int64_t width = 67, std::int64_t height = 31) {
    Raster image = raster(depth, 4, Fill::bits, width, height);
    image.samples = samples;
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
            const double gray = image.value(x, y, 0);
            for (int c = 1; c < 3 && samples == Samples::gray_alpha; ++c) write_sample(image.at(x, y, c), depth, gray);
            const std::uint64_t alpha = scramble(static_cast<std::uint64_t>(y * width + x)) % (most + 1);
            write_sample(image.at(x, y, 3), depth, static_cast<double>(alpha));
        }
    return image;
}

/// Pixels without alpha, each as often as that says, where `counts` is true for them.
template <class Counts>
Raster repeated(const Raster& image, const Counts& counts) {
    std::vector<std::pair<std::int64_t, std::int64_t>> places;
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x)
            if (counts(x, y)) places.insert(places.end(), static_cast<std::size_t>(image.value(x, y, 3)), {x, y});
    const int channels = image.samples == Samples::gray_alpha ? 1 : 3;
    Raster more(static_cast<std::int64_t>(places.size()), 1, channels, image.depth);
    more.order = image.order;
    for (std::size_t i = 0; i < places.size(); ++i)
        for (int c = 0; c < channels; ++c)
            write_sample(more.at(static_cast<std::int64_t>(i), 0, c), image.depth,
                         image.value(places[i].first, places[i].second, c));
    return more;
}

/// Expects the numbers of a weighted analysis to be those of one of repeated pixels.
void expect_repeated(const std::vector<Statistics>& found, const std::vector<Statistics>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        const Statistics &a = found[i], &b = expected[i];
        EXPECT_EQ(a.channel, b.channel);
        EXPECT_EQ(a.weight, b.valid());
        EXPECT_EQ(a.min, b.min);
        EXPECT_EQ(a.max, b.max);
        EXPECT_EQ(a.mean, b.mean);
        EXPECT_EQ(a.std, b.std);
        EXPECT_EQ(a.skewness, b.skewness);
        EXPECT_EQ(a.kurtosis, b.kurtosis);
        EXPECT_EQ(a.entropy, b.entropy);
        EXPECT_EQ(a.unique, b.unique);
        EXPECT_EQ(a.clipped_low, b.clipped_low);
        EXPECT_EQ(a.clipped_high, b.clipped_high);
        EXPECT_EQ(a.effective_bits, b.effective_bits);
        EXPECT_FALSE(a.std_sample);
        for (const Percentile& one : a.percentiles) EXPECT_FALSE(one.value);
        ASSERT_EQ(a.weighted_percentiles.size(), b.percentiles.size());
    }
}

std::vector<Statistics> rows_of(const Summary& summary) {
    std::vector<Statistics> rows;
    for (const SummaryRow& row : summary.statistics()) rows.push_back(row.statistics);
    return rows;
}

TEST(Weights, AreHowOftenAPixelCounts) {
    for (const Depth depth : {Depth::u8, Depth::u16})
        for (const Samples samples : {Samples::color, Samples::gray_alpha})
            for (const ChannelOrder order : {ChannelOrder::bgr, ChannelOrder::rgb}) {
                Raster image = with_alpha(depth, samples, 5);
                image.order = order;
                const Raster more = repeated(image, [](auto, auto) { return true; });
                auto engine = make_engine("cpu", {2});
                const Analysis found = engine->analyze(image.view(), weighted());
                const Analysis expected = engine->analyze(more.view());
                expect_repeated(statistics(found), statistics(expected));
                for (std::size_t c = 0; c < found.channels.size(); ++c)
                    EXPECT_EQ(found.channels[c].counts, expected.channels[c].counts);
                EXPECT_TRUE(found.weighted);
                EXPECT_FALSE(found.brightness);
                // Strips are merged, and a region of all pixels is the same.
                Analysis strips;
                const auto task = engine->analyze_strips(image.view(), weighted(), strips, nullptr);
                for (std::int64_t y = 0; y < image.height; y += 10) {
                    ImageView strip = image.view();
                    strip.data = image.at(0, y, 0);
                    strip.height = std::min<std::int64_t>(10, image.height - y);
                    task->take(strip);
                }
                EXPECT_FALSE(task->end_pass());
                EXPECT_TRUE(strips == found);
                const std::vector<std::uint8_t> labels(static_cast<std::size_t>(image.width * image.height), 1);
                const std::vector<Region> regions = analyze_regions(
                    image.view(), packed_view(labels.data(), image.width, image.height, 1, Depth::u8), weighted());
                ASSERT_EQ(regions.size(), 1u);
                EXPECT_TRUE(regions[0].analysis.channels[0].counts.empty());
                expect_same(statistics(regions[0].analysis), statistics(found));
            }
}

TEST(Weights, GoWithMasksAndNodata) {
    const Raster image = with_alpha(Depth::u8, Samples::color, 4);
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(image.width * image.height));
    for (std::size_t p = 0; p < mask.size(); ++p) mask[p] = scramble(p + 9) % 3 != 0;
    ImageView view = image.view();
    view.mask = mask.data();
    view.mask_row_bytes = image.width;
    Validity validity;
    validity.valid = {{std::nullopt, 20, 240}};
    validity.nodata_any = true;
    const auto masked = [&](std::int64_t x, std::int64_t y) {
        return mask[static_cast<std::size_t>(y * image.width + x)] == 0 || image.value(x, y, 3) == 0;
    };
    const auto nodata = [&](std::int64_t x, std::int64_t y) {
        bool any = false;
        for (int c = 0; c < 3; ++c) any = any || image.value(x, y, c) < 20 || image.value(x, y, c) > 240;
        return any;
    };
    auto engine = make_engine("cpu", {1});
    const Analysis found = engine->analyze(view, weighted(validity));
    const Raster more = repeated(image, [&](auto x, auto y) { return !masked(x, y) && !nodata(x, y); });
    expect_repeated(statistics(found), statistics(engine->analyze(more.view())));
    std::uint64_t left_out[2] = {};
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x)
            if (masked(x, y))
                ++left_out[0];
            else if (nodata(x, y))
                ++left_out[1];
    for (const ChannelAnalysis& channel : found.channels) {
        EXPECT_EQ(channel.masked, left_out[0]);
        EXPECT_EQ(channel.nodata, left_out[1]);
    }
    // Each channel for itself: luma leaves out what one of its colors does.
    validity.nodata_any = false;
    const Analysis apart = engine->analyze(view, weighted(validity));
    EXPECT_EQ(apart.find(Channel::luma)->counts, found.find(Channel::luma)->counts);
    EXPECT_EQ(apart.find(Channel::luma)->nodata, left_out[1]);
    EXPECT_LT(apart.find(Channel::red)->nodata, left_out[1]);
}

TEST(Weights, OfImagesWithoutAlphaAreWhite) {
    auto engine = make_engine("cpu", {1});
    for (const Depth depth : {Depth::u8, Depth::s8, Depth::u16, Depth::s16})
        for (const int channels : {1, 3, 5}) {
            const Raster image = raster(depth, channels, Fill::bits, 23, 17);
            const Analysis plain = engine->analyze(image.view());
            Analysis found = engine->analyze(image.view(), weighted());
            const auto highest = static_cast<std::uint64_t>(traits_of(depth).highest);
            ASSERT_EQ(found.channels.size(), plain.channels.size());
            for (std::size_t c = 0; c < plain.channels.size(); ++c)
                for (std::size_t i = 0; i < plain.channels[c].counts.size(); ++i)
                    ASSERT_EQ(found.channels[c].counts[i], plain.channels[c].counts[i] * highest);
            Validity opaque;
            opaque.opaque = 100;
            engine->analyze(image.view(), weighted(opaque), found);
            EXPECT_EQ(statistics(found).front().weight, 2300U * 17);
            EXPECT_EQ(statistics(found).front().mean, statistics(plain).front().mean);
        }
}

TEST(Weights, PoolAndMerge) {
    auto engine = make_engine("cpu", {1});
    const Raster first = with_alpha(Depth::u16, Samples::color, 65535),
                 second = with_alpha(Depth::u16, Samples::color, 3);
    const Raster plain = raster(Depth::u16, 3, Fill::bits, 9, 9);
    Summary summary;
    Analysis sum;
    for (const Raster* image : {&first, &second, &plain}) {
        const Analysis one = engine->analyze(image->view(), weighted());
        summary.add(one);
        if (image == &first)
            sum = one;
        else
            sum += one;
    }
    expect_same(rows_of(summary), statistics(sum));
    EXPECT_TRUE(summary.depths().front().weighted);
    EXPECT_TRUE(io::parse_summary(io::summary_json(summary), "text") == summary);
    EXPECT_THROW(summary.add(engine->analyze(plain.view())), InvalidArgument);
    EXPECT_THROW(sum += engine->analyze(plain.view()), InvalidArgument);
    std::string lies = io::summary_json(summary);
    lies.replace(lies.find("\"weighted\":true"), 15, "\"weighted\":false");
    EXPECT_THROW(io::parse_summary(lies, "lies"), IoError);
}

TEST(Weights, OfRegionsAreThoseOfTheirPixels) {
    for (const Depth depth : {Depth::u8, Depth::u16}) {
        const Raster image = with_alpha(depth, Samples::color, 7), plain = raster(depth, 3, Fill::bits, 67, 31);
        std::vector<std::uint8_t> labels(static_cast<std::size_t>(image.width * image.height));
        for (std::size_t p = 0; p < labels.size(); ++p) labels[p] = static_cast<std::uint8_t>(scramble(p) % 4);
        const ImageView view = packed_view(labels.data(), image.width, image.height, 1, Depth::u8);
        for (const Raster* one : {&image, &plain}) {
            RegionOptions options;
            options.label_zero = true;
            Summary regions, whole;
            for (const Region& region : analyze_regions(one->view(), view, weighted(), options)) {
                EXPECT_TRUE(region.analysis.weighted);
                EXPECT_TRUE(region.analysis.channels.front().counts.empty());
                regions.add(region.analysis);
            }
            whole.add(make_engine("cpu")->analyze(one->view(), weighted()));
            expect_same(rows_of(regions), rows_of(whole));
        }
    }
}

TEST(Weights, DecideHowACopyIsStretched) {
    for (const Samples samples : {Samples::color, Samples::gray_alpha})
        for (const NormalizeMode mode :
             {NormalizeMode::minmax, NormalizeMode::percentile, NormalizeMode::equalize, NormalizeMode::zscore}) {
            const Raster image = with_alpha(Depth::u8, samples, 6);
            const Raster more = repeated(image, [](auto, auto) { return true; });
            Normalization normalization;
            normalization.mode = mode;
            normalization.low = 5;
            normalization.high = 90;
            normalization.joint = samples == Samples::color;
            const Depth depth = normalized_depth(Depth::u8, normalization);
            Raster copy(image.width, image.height, 4, depth), expected(more.width, 1, more.channels, depth);
            auto engine = make_engine("cpu", {1});
            Analysis analysis;
            engine->normalize(image.view(), weighted(), normalization, copy.mutable_view(), analysis);
            EXPECT_TRUE(analysis.weighted);
            engine->normalize(more.view(), {}, normalization, expected.mutable_view(), analysis);
            std::int64_t at = 0;
            for (std::int64_t y = 0; y < image.height; ++y)
                for (std::int64_t x = 0; x < image.width; ++x)
                    for (int i = 0; i < static_cast<int>(image.value(x, y, 3)); ++i, ++at)
                        for (int c = 0; c < more.channels; ++c)
                            ASSERT_EQ(copy.value(x, y, c), expected.value(at, 0, c)) << to_string(mode);
        }
}

TEST(Weights, AreRefusedByName) {
    auto engine = make_engine("cpu", {1});
    for (const DepthTraits& traits : all_depths) {
        const bool known = traits.counting == Counting::values && !traits.floating;
        const Raster gray = raster(traits.depth, 1, Fill::few, 5, 5), color = raster(traits.depth, 4, Fill::few, 5, 5);
        const auto expect = [&](const Raster& image, bool goes) {
            if (goes) {
                EXPECT_TRUE(engine->analyze(image.view(), weighted()).weighted);
                return;
            }
            try {
                engine->analyze(image.view(), weighted());
                ADD_FAILURE() << traits.name;
            } catch (const InvalidArgument& error) {
                EXPECT_NE(std::string(error.what()).find(traits.name), std::string::npos) << error.what();
            }
        };
        expect(gray, known);
        expect(color, known && traits.lowest == 0);
    }
    Validity heavy;
    heavy.opaque = 256;
    const Raster image = raster(Depth::u8, 1, Fill::few, 5, 5);
    EXPECT_THROW(engine->analyze(image.view(), weighted(heavy)), InvalidArgument);
}

TEST(Weights, OfNothingGiveNothing) {
    const Raster image = with_alpha(Depth::u16, Samples::color, 0);
    const auto rows = statistics(make_engine("cpu")->analyze(image.view(), weighted()));
    ASSERT_EQ(rows.size(), 5U);
    for (const Statistics& row : rows) {
        EXPECT_EQ(row.weight, 0U);
        EXPECT_EQ(row.valid(), 0U);
        EXPECT_EQ(row.masked, row.pixels);
        EXPECT_FALSE(row.mean);
        ASSERT_EQ(row.weighted_percentiles.size(), 7U);
        EXPECT_FALSE(row.weighted_percentiles[3].value);
    }
}

}  // namespace
}  // namespace gpuhist::test
