// Regions: each is the image of its pixels, cut out here; together they are the whole image.
#include "gpuhist/regions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include "core/channels.hpp"
#include "gpuhist/dataset.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/statistics.hpp"
#include "support/oracle.hpp"
#include "support/raster.hpp"
#include "support/statistics_under_test.hpp"

namespace gpuhist::test {
namespace {

/// Label image, one value per pixel, with gaps between its rows.
struct Labels {
    std::int64_t width, height, row;
    Depth depth;
    std::vector<std::uint32_t> values;
    std::vector<std::byte> memory;

    Labels(std::int64_t w, std::int64_t h, Depth d) : width(w), height(h), row(w + 3), depth(d) {}
    template <class Value>
    void fill(const Value& value) {
        const std::size_t bytes = sample_bytes(depth);
        memory.assign(static_cast<std::size_t>(row * height) * bytes, std::byte{0x77});
        for (std::int64_t y = 0; y < height; ++y)
            for (std::int64_t x = 0; x < width; ++x) {
                const std::uint32_t label = values.emplace_back(value(x, y));
                std::memcpy(memory.data() + static_cast<std::size_t>(y * row + x) * bytes, &label, bytes);
            }
    }
    ImageView view() const {
        return {memory.data(), width, height, 1, depth, row * static_cast<std::int64_t>(sample_bytes(depth))};
    }
};

AnalysisRequest request_over(double lower, double upper) {
    AnalysisRequest request;
    request.range = Range{lower, upper};
    return request;
}

void expect_rows(Analysis found, const Analysis& expected) {
    for (ChannelAnalysis& channel : found.channels) channel.centroid_sums = {};  // images have none
    expect_same(statistics(found), statistics(expected));
    EXPECT_EQ(found.brightness, expected.brightness);
}
void expect_rows(const Summary& found, const Summary& expected) {
    std::vector<Statistics> rows[2];
    for (const SummaryRow& row : found.statistics()) rows[0].push_back(row.statistics);
    for (const SummaryRow& row : expected.statistics()) rows[1].push_back(row.statistics);
    ASSERT_EQ(rows[0].size(), rows[1].size());
    const bool rounded = found.find(Depth::f32);  // powers are, about each image's pivot
    for (std::size_t i = 0; rounded && i < rows[0].size(); ++i)
        for (auto number : {&Statistics::mean, &Statistics::std, &Statistics::std_sample, &Statistics::skewness,
                            &Statistics::kurtosis}) {
            EXPECT_NEAR((rows[0][i].*number).value(), (rows[1][i].*number).value(), 1e-12);
            rows[0][i].*number = rows[1][i].*number;
        }
    expect_same(rows[0], rows[1]);
}

/// Expects each region to be the image of its pixels.
void expect_regions(const Raster& image, const std::vector<std::uint8_t>& mask, const AnalysisRequest& request,
                    const Labels& labels, const RegionOptions& options) {
    ImageView view = image.view();
    if (!mask.empty()) {
        view.mask = mask.data();
        view.mask_row_bytes = image.width;
    }
    const std::vector<Region> regions = analyze_regions(view, labels.view(), request, options);
    std::map<std::uint32_t, std::vector<std::int64_t>> pixels;
    for (std::int64_t p = 0; p < image.width * image.height; ++p)
        if (const std::uint32_t label = labels.values[static_cast<std::size_t>(p)]; label != 0 || options.label_zero)
            pixels[label].push_back(p);
    ASSERT_EQ(regions.size(), pixels.size());
    auto engine = make_engine("cpu", {1});
    auto region = regions.begin();
    for (const auto& [label, places] : pixels) {
        SCOPED_TRACE(label);
        EXPECT_EQ(region->label, label);
        EXPECT_EQ(region->area, places.size());
        std::int64_t left = image.width, right = 0, top = image.height, bottom = 0;
        Raster cut(static_cast<std::int64_t>(places.size()), 1, image.channels, image.depth);
        cut.order = image.order;
        cut.samples = image.samples;
        std::vector<std::uint8_t> cut_mask;
        for (std::size_t i = 0; i < places.size(); ++i) {
            const std::int64_t x = places[i] % image.width, y = places[i] / image.width;
            left = std::min(left, x), right = std::max(right, x), top = std::min(top, y), bottom = std::max(bottom, y);
            for (int c = 0; c < image.channels; ++c)
                std::memcpy(cut.at(static_cast<std::int64_t>(i), 0, c), const_cast<Raster&>(image).at(x, y, c),
                            sample_bytes(image.depth));
            if (!mask.empty()) cut_mask.push_back(mask[static_cast<std::size_t>(places[i])]);
        }
        EXPECT_EQ(region->x, left);
        EXPECT_EQ(region->y, top);
        EXPECT_EQ(region->width, right - left + 1);
        EXPECT_EQ(region->height, bottom - top + 1);
        ImageView cut_view = cut.view();
        if (!mask.empty()) cut_view.mask = cut_mask.data();
        expect_rows(region->analysis, engine->analyze(cut_view, request));
        ++region;
    }
}

__extension__ typedef __int128 Whole;

/// Σv, Σvx and Σvy as whole numbers of 2^-24, which samples of integers and of halves are.
struct Centroid {
    Whole sums[3]{};
    void add(double value, std::int64_t x, std::int64_t y, std::int64_t weight = 1) {
        const Whole v = static_cast<Whole>(static_cast<std::int64_t>(value * 0x1p24)) * weight;
        sums[0] += v;
        sums[1] += v * x;
        sums[2] += v * y;
    }
    void expect(const Statistics& row) const {
        SCOPED_TRACE(to_string(row.channel));
        ASSERT_EQ(row.weighted_centroid_x.has_value(), sums[0] != 0);
        if (sums[0] == 0) return;
        const auto whole = static_cast<long double>(sums[0]);
        const double x = static_cast<double>(static_cast<long double>(sums[1]) / whole),
                     y = static_cast<double>(static_cast<long double>(sums[2]) / whole);
        EXPECT_NEAR(*row.weighted_centroid_x, x, 4e-16 * std::abs(x));
        EXPECT_NEAR(*row.weighted_centroid_y, y, 4e-16 * std::abs(y));
    }
};

TEST(Regions, CentroidsWeighTheirSamples) {
    for (const DepthTraits& traits : all_depths)
        for (int channels : {1, 3, 4, 6}) {
            SCOPED_TRACE(std::string(traits.name) + std::to_string(channels));
            Raster image(37, 19, channels, traits.depth);
            if (channels == 6) image.samples = Samples::bands;
            std::vector<std::uint8_t> mask(37 * 19);
            std::uint64_t seed = 1;
            for (std::int64_t y = 0; y < 19; ++y)
                for (std::int64_t x = 0; x < 37; ++x) {
                    for (int c = 0; c < channels; ++c)
                        write_sample(image.at(x, y, c), traits.depth, static_cast<double>(scramble(++seed) % 100));
                    mask[static_cast<std::size_t>(y * 37 + x)] = scramble(++seed) % 5 ? 1 : 0;
                }
            if (traits.floating) write_sample(image.at(20, 10, 0), traits.depth, std::nan(""));
            Labels labels(37, 19, Depth::u8);
            labels.fill([](std::int64_t x, std::int64_t y) { return static_cast<std::uint32_t>(x / 10 + y / 7 * 4); });
            ImageView view = image.view();
            view.mask = mask.data();
            view.mask_row_bytes = 37;
            AnalysisRequest request;
            request.validity = std::make_shared<Validity>(Validity{{{{}, 50}}, {{{}, 3, 90}}});
            for (const Region& region : analyze_regions(view, labels.view(), request)) {
                Centroid area, all;
                std::vector<Centroid> samples(static_cast<std::size_t>(channels));
                for (std::int64_t y = 0; y < 19; ++y)
                    for (std::int64_t x = 0; x < 37; ++x) {
                        const auto place = static_cast<std::size_t>(y * 37 + x);
                        if (labels.values[place] != region.label) continue;
                        area.add(1, x, y);
                        for (int c = 0; c < channels; ++c) {
                            const double value = image.value(x, y, c);
                            const bool alpha = channels == 4 && c == 3;
                            if (!mask[place] || std::isnan(value) || (!alpha && !(value >= 3 && value <= 90)) ||
                                (!alpha && value == 50))
                                continue;
                            samples[static_cast<std::size_t>(c)].add(value, x, y);
                            if (!alpha) all.add(value, x, y);
                        }
                    }
                EXPECT_EQ(region.centroid_x, static_cast<double>(area.sums[1]) / static_cast<double>(area.sums[0]));
                EXPECT_EQ(region.centroid_y, static_cast<double>(area.sums[2]) / static_cast<double>(area.sums[0]));
                for (const Statistics& row : statistics(region.analysis)) {
                    if (row.channel == Channel::luma) continue;  // below
                    if (row.channel == Channel::all)
                        all.expect(row);
                    else
                        samples[static_cast<std::size_t>(core::position_of(view, row.channel))].expect(row);
                }
                // A rectangle of the same pixels has the same sums.
                if (static_cast<std::uint64_t>(region.width * region.height) != region.area) continue;
                ImageView rectangle = view;
                rectangle.data = image.at(region.x, region.y, 0);
                rectangle.mask += region.y * view.mask_row_bytes + region.x;
                rectangle.width = region.width;
                rectangle.height = region.height;
                Analysis found = make_engine("cpu")->analyze(rectangle, request);
                find_centroids(rectangle, region.x, region.y, request, found, 3);
                for (std::size_t c = 0; c < found.channels.size(); ++c)
                    EXPECT_EQ(found.channels[c].centroid_sums, region.analysis.channels[c].centroid_sums);
            }
        }
}

TEST(Regions, CentroidsOfLumaAndOfWeights) {
    // Two pixels, at (0, 0) and (1, 0): red 10, green 20, blue 30, and three times as much; alpha 1 and 3.
    const std::vector<std::uint8_t> pixels{10, 20, 30, 1, 30, 60, 90, 3}, label{7, 7};
    const ImageView view = packed_view(pixels.data(), 2, 1, 4, Depth::u8, ChannelOrder::rgb);
    const ImageView labels = packed_view(label.data(), 2, 1, 1, Depth::u8);
    const auto rows = statistics(analyze_regions(view, labels).at(0).analysis);
    const auto luma = [](int r, int g, int b) { return (9798 * r + 19235 * g + 3735 * b + 16384) >> 15; };
    const double first = luma(10, 20, 30), second = luma(30, 60, 90);
    ASSERT_EQ(rows.at(3).channel, Channel::luma);
    EXPECT_EQ(rows[3].weighted_centroid_x, second / (first + second));
    EXPECT_EQ(rows[3].weighted_centroid_y, 0);
    AnalysisRequest request;
    Validity validity;
    validity.alpha = AlphaRule::weight;
    request.validity = std::make_shared<const Validity>(validity);
    const auto weighted = statistics(analyze_regions(view, labels, request).at(0).analysis);
    EXPECT_EQ(weighted.at(0).weighted_centroid_x, 90.0 / 100);  // 3 · 30 of 1 · 10 + 3 · 30
    validity.nodata = {{Channel::green, 60}};                   // no luma where it is
    request.validity = std::make_shared<const Validity>(validity);
    const auto part = statistics(analyze_regions(view, labels, request).at(0).analysis);
    EXPECT_EQ(part.at(0).weighted_centroid_x, 0.9);
    EXPECT_EQ(part.at(1).weighted_centroid_x, 0);
    EXPECT_EQ(part.at(3).weighted_centroid_x, 0);
    // A sum of 0 has no centroid.
    const std::vector<std::int8_t> zero{-5, 5};
    const auto none =
        statistics(analyze_regions(packed_view(zero.data(), 2, 1, 1, Depth::s8), labels).at(0).analysis).at(0);
    EXPECT_FALSE(none.weighted_centroid_x || none.weighted_centroid_y);
    EXPECT_EQ(none.sum, SampleSum(Int128{}));
}

TEST(Regions, AreTheirPixelsCutOut) {
    for (const DepthTraits& traits : all_depths)
        for (int channels : {1, 3, 4, 6}) {
            SCOPED_TRACE(std::string(traits.name) + std::to_string(channels));
            Raster image = raster(traits.depth, channels, channels == 3 ? Fill::bits : Fill::few, 61, 29);
            if (channels == 6) image.samples = Samples::bands;
            Labels labels(61, 29, Depth::u16);
            labels.fill([](std::int64_t x, std::int64_t y) {
                return static_cast<std::uint32_t>(x == 60 ? 65535 : x < 5 ? 0 : (x / 7 + y / 5 * 11) % 40);
            });
            expect_regions(image, {}, request_over(-10, 10), labels, {});
            expect_regions(image, {}, request_over(-10, 10), labels, {true, 3, 1000});
            std::vector<std::uint8_t> mask(61 * 29);
            std::uint64_t seed = 3;
            for (std::uint8_t& byte : mask) byte = scramble(++seed) % 4 ? 9 : 0;
            AnalysisRequest request = request_over(-10, 10);
            request.validity = std::make_shared<Validity>(Validity{{{{}, 2}}, {{{}, -4, 6}}});
            expect_regions(image, mask, request, labels, {false, 2, 5000});
        }
}

TEST(Regions, OfAnyLabels) {
    const Raster image = raster(Depth::u8, 3, Fill::bits, 40, 20);
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::u32, Depth::s32}) {
        Labels labels(40, 20, depth);
        const double highest = traits_of(depth).highest;
        labels.fill([&](std::int64_t x, std::int64_t y) {
            return static_cast<std::uint32_t>((x * y) % 3 == 0 ? highest : x == y ? 1 : (x * 77 + y * 1000003) % 250);
        });
        expect_regions(image, {}, {}, labels, {});
    }
}

TEST(Regions, TogetherAreTheWhole) {
    for (const DepthTraits& traits : all_depths) {
        const Raster image = raster(traits.depth, 3, Fill::few, 50, 31);
        Labels labels(50, 31, Depth::u8);
        labels.fill([](std::int64_t x, std::int64_t y) {
            return static_cast<std::uint32_t>(scramble(static_cast<std::uint64_t>(x * 100 + y)) % 17);
        });
        RegionOptions options;
        options.label_zero = true;
        options.count_values = Samples::color;
        const auto regions = analyze_regions(image.view(), labels.view(), request_over(-10, 10), options);
        Summary summary, whole;
        for (const Region& region : regions) summary.add(region.analysis, region.values);
        const bool floats = traits.counting == Counting::bins;
        whole.add(make_engine("cpu")->analyze(image.view(), request_over(-10, 10)),
                  floats ? count_frequencies(image.view()) : std::vector<FrequencyTable>());
        expect_rows(summary, whole);
        if (floats) {
            std::uint64_t pixels = 0;
            for (const Region& region : regions) pixels += region.analysis.channels[0].pixels;
            EXPECT_EQ(pixels, 50U * 31U);
            continue;
        }
        Analysis sum = regions.front().analysis;
        for (std::size_t i = 1; i < regions.size(); ++i) sum += regions[i].analysis;
        expect_rows(sum, make_engine("cpu")->analyze(image.view()));
    }
}

/// A summary of regions that keeps the values that occur says the same as the image, in whatever order they come, and
/// goes on as one count per value where such come in.
TEST(Regions, OfASetMayKeepTheValuesThatOccur) {
    for (const DepthTraits& traits : all_depths) {
        if (traits.counting != Counting::values) continue;
        SCOPED_TRACE(traits.name);
        const Raster image = raster(traits.depth, 3, Fill::few, 50, 31);
        Labels labels(50, 31, Depth::u8);
        labels.fill([](std::int64_t x, std::int64_t y) { return static_cast<std::uint32_t>((x / 10 + y) % 9); });
        RegionOptions options;
        options.label_zero = true;
        const auto regions = analyze_regions(image.view(), labels.view(), {}, options);
        Summary sparse, backwards, mixed;
        const auto add = [](Summary& summary, const Region& region, bool tables) {
            std::vector<FrequencyTable> values;
            for (const ChannelAnalysis& channel : region.analysis.channels) values.push_back(channel.values);
            summary.add(region.analysis, tables ? values : std::vector<FrequencyTable>());
        };
        for (std::size_t i = 0; i < regions.size(); ++i) {
            add(sparse, regions[i], true);
            Summary one;
            add(one, regions[regions.size() - 1 - i], true);
            backwards.merge(one);
            add(mixed, regions[i], i % 2 == 0);
        }
        Summary whole;
        const Analysis analysis = make_engine("cpu")->analyze(image.view());
        whole.add(analysis);
        for (const Summary* summary : {&sparse, &backwards, &mixed}) {
            expect_rows(*summary, whole);
            const auto bins = summary->histogram(traits.depth, {8, Range{-64, 64}}),
                       expected = whole.histogram(traits.depth, {8, Range{-64, 64}});
            for (std::size_t c = 0; c < expected->columns.size(); ++c)
                EXPECT_EQ(bins->columns[c].counts, expected->columns[c].counts);
        }
        EXPECT_TRUE(sparse == backwards);
        EXPECT_TRUE(sparse.depths()[0].channels[0].counts.empty());
        EXPECT_EQ(mixed.depths()[0].channels[0].counts, whole.depths()[0].channels[0].counts);
        EXPECT_EQ(frequencies_of(traits.depth, whole.depths()[0].channels[0].counts),
                  sparse.depths()[0].channels[0].values);
        EXPECT_LT(sparse.memory_bytes(), whole.memory_bytes() / (traits.values == 65536 ? 20 : 1));
    }
}

TEST(Regions, OfMaskedPixelsAreEmpty) {
    const Raster image = raster(Depth::u16, 1, Fill::few, 20, 10);
    Labels labels(20, 10, Depth::u8);
    labels.fill([](std::int64_t x, std::int64_t) { return x < 3 ? 1U : 2U; });
    std::vector<std::uint8_t> mask(200, 1);
    for (std::size_t p = 0; p < mask.size(); ++p) mask[p] = p % 20 >= 3;
    expect_regions(image, mask, {}, labels, {});
}

TEST(Regions, RefuseWhatDoesNotGoTogether) {
    const Raster image = raster(Depth::u8, 1, Fill::few, 20, 10);
    Labels labels(20, 10, Depth::s32), small(19, 10, Depth::u8);
    labels.fill([](std::int64_t, std::int64_t) { return ~0U; });
    small.fill([](std::int64_t, std::int64_t) { return 1U; });
    EXPECT_THROW(analyze_regions(image.view(), labels.view()), InvalidArgument);
    EXPECT_THROW(analyze_regions(image.view(), small.view()), InvalidArgument);
    const Raster floats = raster(Depth::f32, 1, Fill::few, 20, 10), colors = raster(Depth::u8, 3, Fill::few, 20, 10);
    EXPECT_THROW(analyze_regions(image.view(), floats.view()), InvalidArgument);
    EXPECT_THROW(analyze_regions(image.view(), colors.view()), InvalidArgument);
}

}  // namespace
}  // namespace gpuhist::test
