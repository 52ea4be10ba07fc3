// Regions: each is the image of its pixels, cut out here; together they are the whole image.
#include "gpuhist/regions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

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

void expect_rows(const Analysis& found, const Analysis& expected) {
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
