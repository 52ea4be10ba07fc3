// Weights by alpha: the numbers are those of an image in which each pixel stands as often as its alpha says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gpuhist/alpha.hpp"
#include "gpuhist/dataset.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/frequency_table.hpp"
#include "gpuhist/histogram.hpp"
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

double unit_of(Depth depth) {
    return depth == Depth::f16 ? 0x1p-24 : 1;
}

/// Image of four channels, the last of which is at most `most`, of f16 in units of 2^-24.
Raster with_alpha(Depth depth, Samples samples, std::uint64_t most, std::int64_t width = 67, std::int64_t height = 31) {
    Raster image = raster(depth, 4, Fill::bits, width, height);
    image.samples = samples;
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
            const double gray = image.value(x, y, 0);
            for (int c = 1; c < 3 && samples == Samples::gray_alpha; ++c) write_sample(image.at(x, y, c), depth, gray);
            const std::uint64_t alpha = scramble(static_cast<std::uint64_t>(y * width + x)) % (most + 1);
            write_sample(image.at(x, y, 3), depth, static_cast<double>(alpha) * unit_of(depth));
        }
    return image;
}

/// Pixels without alpha, each as often as that says, where `counts` is true for them.
template <class Counts>
Raster repeated(const Raster& image, const Counts& counts) {
    std::vector<std::pair<std::int64_t, std::int64_t>> places;
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x)
            if (counts(x, y))
                places.insert(places.end(), static_cast<std::size_t>(image.value(x, y, 3) / unit_of(image.depth)),
                              {x, y});
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
void expect_repeated(const std::vector<Statistics>& found, const std::vector<Statistics>& expected, double unit = 1) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        const Statistics &a = found[i], &b = expected[i];
        EXPECT_EQ(a.channel, b.channel);
        EXPECT_EQ(a.weight, static_cast<double>(b.valid()) * unit);
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
        EXPECT_EQ(a.mode, b.mode);
        ASSERT_EQ(a.sum.has_value(), b.sum.has_value());
        std::optional<SampleSum> sum = b.sum;
        if (auto* real = sum ? std::get_if<double>(&*sum) : nullptr) *real *= unit;
        EXPECT_EQ(a.sum, sum);
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
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f16})
        for (const Samples samples : {Samples::color, Samples::gray_alpha})
            for (const ChannelOrder order : {ChannelOrder::bgr, ChannelOrder::rgb}) {
                Raster image = with_alpha(depth, samples, 5);
                image.order = order;
                const Raster more = repeated(image, [](auto, auto) { return true; });
                auto engine = make_engine("cpu", {2});
                const Analysis found = engine->analyze(image.view(), weighted());
                const Analysis expected = engine->analyze(more.view());
                expect_repeated(statistics(found), statistics(expected), unit_of(depth));
                for (std::size_t c = 0; c < found.channels.size(); ++c) {
                    EXPECT_EQ(found.channels[c].counts, expected.channels[c].counts);
                    EXPECT_EQ(found.channels[c].below, expected.channels[c].below);
                    EXPECT_EQ(found.channels[c].above, expected.channels[c].above);
                }
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
                Analysis of_region = regions[0].analysis;
                for (ChannelAnalysis& channel : of_region.channels) channel.centroid_sums = {};
                expect_same(statistics(of_region), statistics(found));
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

/// Half whose bits are the lowest of a number.
Half half_at(std::uint64_t bits) {
    return {static_cast<std::uint16_t>(bits)};
}

TEST(Weights, OfHalvesAreExact) {
    // Values and alphas of pixels; what weighs nothing is masked, over 1 is 1.
    constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<std::pair<double, double>> pixels{{1, 0.5},  {2, 1},  {3, 0.25}, {4, 2},   {50, -1},
                                                        {60, nan}, {70, 0}, {inf, 1},  {nan, 1}, {-inf, 0.5}};
    Raster image(static_cast<std::int64_t>(pixels.size()), 1, 4, Depth::f16);
    image.samples = Samples::gray_alpha;
    for (std::size_t i = 0; i < pixels.size(); ++i)
        for (int c = 0; c < 4; ++c)
            image.set(static_cast<std::int64_t>(i), 0, c, c < 3 ? pixels[i].first : pixels[i].second);
    const Analysis found = make_engine("cpu", {1})->analyze(image.view(), weighted());
    const Statistics row = statistics(found).front();
    EXPECT_EQ(row.pixels, 10U);
    EXPECT_EQ(row.masked, 3U);
    EXPECT_EQ(row.infinite, 2U);
    EXPECT_EQ(row.nan, 1U);
    EXPECT_EQ(row.weight, 2.75);
    EXPECT_EQ(row.mean, (0.5 + 2 + 0.75 + 4) / 2.75);
    EXPECT_EQ(row.min, 1);
    EXPECT_EQ(row.max, 4);
    EXPECT_EQ(row.unique, 4U);
    EXPECT_EQ(row.percentile(1), 1);
    EXPECT_EQ(row.percentile(50), 2);  // 1.375 of 2.75: 1.5 up to 2
    EXPECT_EQ(row.percentile(75), 4);  // 2.0625: 1.75 up to 3
    const double mean = *row.mean;
    const auto square = [&](double value) { return (value - mean) * (value - mean); };
    EXPECT_NEAR(*row.std, std::sqrt((0.5 * square(1) + square(2) + 0.25 * square(3) + square(4)) / 2.75), 1e-14);
    const Histogram bins = histogram(found, {3, Range{1, 4}});
    EXPECT_TRUE(bins.weighted);
    EXPECT_EQ(bins.unit, 0x1p-24);
    EXPECT_EQ(bins.columns.front().counts, (std::vector<std::uint64_t>{1 << 23, 1 << 24, 1 << 22}));
    EXPECT_EQ(bins.columns.front().below, 1U << 23);  // -Inf
    EXPECT_EQ(bins.columns.front().above, 2U << 24);  // 4 and +Inf
}

TEST(Weights, DivisionByAlphaIsRoundedToHalf) {
    for (std::uint64_t i = 0; i < 200000; ++i) {
        const Half color = half_at(scramble(i)), alpha = half_at(scramble(i + 1000000));
        const double divisor = half_value(alpha.bits);
        const std::uint16_t found = divide_by_alpha(color, alpha).bits;
        if (!(divisor > 0)) {
            EXPECT_EQ(found, color.bits);
            continue;
        }
        const auto quotient = static_cast<float>(half_value(color.bits)) / static_cast<float>(divisor);
        if (std::isnan(quotient))
            EXPECT_TRUE(std::isnan(half_value(found)));
        else
            ASSERT_EQ(found, half_of(quotient)) << half_value(color.bits) << " / " << divisor;
    }
    Raster image(2, 1, 4, Depth::f16);
    for (int c = 0; c < 4; ++c) {
        image.set(0, 0, c, c < 3 ? 0.25 * (c + 1) : 0.5);
        image.set(1, 0, c, c < 3 ? 7 : 0);
    }
    divide_by_alpha(image.mutable_view());
    for (int c = 0; c < 4; ++c) {
        EXPECT_EQ(image.value(0, 0, c), c < 3 ? 0.5 * (c + 1) : 0.5);
        EXPECT_EQ(image.value(1, 0, c), c < 3 ? 7 : 0);
    }
    EXPECT_THROW(divide_by_alpha(raster(Depth::u16, 4, Fill::few, 3, 3).mutable_view()), InvalidArgument);
    EXPECT_THROW(divide_by_alpha(raster(Depth::f16, 3, Fill::few, 3, 3).mutable_view()), InvalidArgument);
}

/// The smallest sample with that part of them up to it.
std::optional<double> lowest_with(std::vector<double> samples, double part) {
    if (samples.empty()) return std::nullopt;
    std::sort(samples.begin(), samples.end());
    for (std::size_t i = 0; i < samples.size(); ++i)
        if (static_cast<double>(i + 1) >= part * static_cast<double>(samples.size())) return samples[i];
    return samples.back();
}

TEST(Weights, OfImagesWithoutAlphaAreWhite) {
    auto engine = make_engine("cpu", {1});
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {1, 3, 5}) {
            const Raster image = raster(traits.depth, channels, Fill::bits, 23, 17);
            const Analysis plain = engine->analyze(image.view()), found = engine->analyze(image.view(), weighted());
            const double unit = unit_of(traits.depth);
            const auto highest = static_cast<std::uint64_t>(traits.highest / unit);
            ASSERT_EQ(found.channels.size(), plain.channels.size());
            for (std::size_t c = 0; c < plain.channels.size(); ++c) {
                ASSERT_EQ(found.channels[c].counts.size(), plain.channels[c].counts.size());
                for (std::size_t i = 0; i < plain.channels[c].counts.size(); ++i)
                    ASSERT_EQ(found.channels[c].counts[i], plain.channels[c].counts[i] * highest);
                EXPECT_EQ(found.channels[c].values.samples(), plain.channels[c].values.samples() * highest);
            }
            Summary summary;
            const bool bins = traits.counting == Counting::bins;
            summary.add(found,
                        bins ? count_frequencies(image.view(), nullptr, weighted()) : std::vector<FrequencyTable>());
            EXPECT_TRUE(io::parse_summary(io::summary_json(summary), "text") == summary);
            for (const std::vector<Statistics>& rows : {statistics(found), rows_of(summary)}) {
                const std::vector<Statistics> expected = statistics(plain);
                ASSERT_EQ(rows.size(), expected.size());
                for (std::size_t i = 0; i < rows.size(); ++i) {
                    const Statistics &a = rows[i], &b = expected[i];
                    EXPECT_EQ(a.weight, static_cast<double>(b.valid()) * traits.highest) << traits.name;
                    EXPECT_EQ(a.min, b.min);
                    EXPECT_EQ(a.max, b.max);
                    EXPECT_FALSE(a.std_sample);
                    if (!bins) {
                        EXPECT_EQ(a.mean, b.mean);
                    }
                    for (const Percentile& one : a.percentiles) EXPECT_FALSE(one.value);
                    if (i > 0) continue;
                    std::vector<double> samples;
                    for (std::int64_t y = 0; y < image.height; ++y)
                        for (std::int64_t x = 0; x < image.width; ++x) {
                            const double value =
                                image.value(x, y, channels == 3 && image.order == ChannelOrder::bgr ? 2 : 0);
                            if (std::isfinite(value)) samples.push_back(value);
                        }
                    for (const Percentile& one : a.weighted_percentiles)
                        EXPECT_EQ(one.value, lowest_with(samples, one.micro / 1e8)) << traits.name << ' ' << one.micro;
                }
            }
        }
    const Raster image = raster(Depth::u8, 1, Fill::bits, 23, 17);
    Validity opaque;
    opaque.opaque = 100;
    EXPECT_EQ(statistics(engine->analyze(image.view(), weighted(opaque))).front().weight, 2300 * 17);
}

void expect_merged(Depth depth) {
    auto engine = make_engine("cpu", {1});
    const Raster first = with_alpha(depth, Samples::color, 65535), second = with_alpha(depth, Samples::color, 3);
    const Raster plain = raster(depth, 3, Fill::bits, 9, 9);
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

TEST(Weights, PoolAndMerge) {
    for (const Depth depth : {Depth::u16, Depth::f16}) expect_merged(depth);
}

TEST(Weights, OfRegionsAreThoseOfTheirPixels) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f16}) {
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
    const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    for (const auto& [of, samples] :
         {std::pair(Depth::u8, Samples::color), std::pair(Depth::u8, Samples::gray_alpha),
          std::pair(Depth::f16, Samples::color), std::pair(Depth::f16, Samples::gray_alpha)})
        for (const NormalizeMode mode :
             {NormalizeMode::minmax, NormalizeMode::percentile, NormalizeMode::equalize, NormalizeMode::zscore}) {
            const Raster image = with_alpha(of, samples, 6);
            const Raster more = repeated(image, [](auto, auto) { return true; });
            Normalization normalization;
            normalization.mode = mode;
            normalization.low = 5;
            normalization.high = 90;
            normalization.joint = samples == Samples::color;
            const Depth depth = normalized_depth(of, normalization);
            Raster copy(image.width, image.height, 4, depth), expected(more.width, 1, more.channels, depth);
            auto engine = make_engine("cpu", {1});
            Analysis analysis;
            engine->normalize(image.view(), weighted(), normalization, copy.mutable_view(), analysis);
            EXPECT_TRUE(analysis.weighted);
            engine->normalize(more.view(), {}, normalization, expected.mutable_view(), analysis);
            std::int64_t at = 0;
            for (std::int64_t y = 0; y < image.height; ++y)
                for (std::int64_t x = 0; x < image.width; ++x)
                    for (int i = 0; i < static_cast<int>(image.value(x, y, 3) / unit_of(of)); ++i, ++at)
                        for (int c = 0; c < more.channels; ++c)
                            ASSERT_TRUE(same(copy.value(x, y, c), expected.value(at, 0, c))) << to_string(mode);
        }
}

TEST(Weights, AreRefusedByName) {
    auto engine = make_engine("cpu", {1});
    for (const DepthTraits& traits : all_depths) {
        const bool known = traits.depth == Depth::u8 || traits.depth == Depth::u16 || traits.depth == Depth::f16;
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
        expect(gray, true);
        expect(color, known);
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
