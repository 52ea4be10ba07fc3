// Channels by what the samples mean: the numbers are those of each sample measured as a gray image; and white, to which
// some numbers refer.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gpuhist/dataset.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/lut.hpp"
#include "support/oracle.hpp"
#include "support/statistics_under_test.hpp"

namespace gpuhist::test {
namespace {

using Names = std::vector<Channel>;

Names names_of(const Analysis& analysis) {
    Names names;
    for (const ChannelAnalysis& one : analysis.channels) names.push_back(one.channel);
    return names;
}

Names names_of(const std::vector<Statistics>& rows) {
    Names names;
    for (const Statistics& row : rows) names.push_back(row.channel);
    return names;
}

/// Expects the same numbers, of a channel by another name.
void expect_numbers(Statistics got, const Statistics& expected) {
    got.channel = expected.channel;
    expect_same(got, expected);
}

const Statistics& row_of(const std::vector<Statistics>& rows, Channel channel) {
    for (const Statistics& row : rows)
        if (row.channel == channel) return row;
    throw std::runtime_error(std::string("no row ") + to_string(channel));
}

class Channels : public testing::Test {
  protected:
    std::unique_ptr<Engine> engine = make_engine("cpu", {.threads = 2});

    Analysis analyze(const Picture& picture, Samples samples, const AnalysisRequest& request = {}) {
        Analysis analysis = engine->analyze(picture.view(), request);
        name_channels(analysis, samples);
        return analysis;
    }
    /// Sample c of each pixel, in memory order, as a gray image.
    static Picture plane(const Picture& picture, int c) {
        const ImageView image = picture.view();
        Picture gray({image.width, image.height, 1, image.depth}, packed, Content::constant);
        with_depth(image.depth, [&](auto sample) {
            using Sample = decltype(sample);
            for (std::int64_t i = 0; i < image.pixels(); ++i)
                static_cast<Sample*>(gray.mutable_view().data)[i] =
                    static_cast<const Sample*>(image.data)[i * image.channels + c];
        });
        return gray;
    }
    /// Planes below each other, as one gray image.
    static Picture stacked(const Picture& picture, int planes) {
        const ImageView image = picture.view();
        Picture gray({image.width, image.height * planes, 1, image.depth}, packed, Content::constant);
        for (int c = 0; c < planes; ++c) {
            const Picture one = plane(picture, c);
            std::memcpy(static_cast<char*>(gray.mutable_view().data) + c * image.height * one.view().packed_row_bytes(),
                        one.view().data, static_cast<std::size_t>(image.height * one.view().packed_row_bytes()));
        }
        return gray;
    }
    /// Picture of gray and alpha, as decoders hand it over.
    static Picture gray_alpha(const Picture& picture) {
        Picture copy({picture.view().width, picture.view().height, 4, picture.view().depth}, packed, Content::constant);
        const ImageView image = picture.view();
        with_depth(image.depth, [&](auto sample) {
            using Sample = decltype(sample);
            auto* to = static_cast<Sample*>(copy.mutable_view().data);
            const auto* from = static_cast<const Sample*>(image.data);
            for (std::int64_t i = 0; i < image.pixels() * 4; ++i) to[i] = from[i % 4 == 3 ? i : i / 4 * 4];
        });
        return copy;
    }
    void expect_plane(const std::vector<Statistics>& rows, Channel channel, const Picture& picture, int c) {
        SCOPED_TRACE(to_string(channel));
        expect_numbers(row_of(rows, channel), statistics(engine->analyze(plane(picture, c).view())).front());
    }
};

TEST_F(Channels, OfGrayAndAlpha) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f32}) {
        SCOPED_TRACE(to_string(depth));
        const Picture picture = gray_alpha(Picture({31, 7, 4, depth}, packed, Content::random));
        const Analysis analysis = analyze(picture, Samples::gray_alpha);
        EXPECT_EQ(names_of(analysis), (Names{Channel::gray, Channel::alpha}));
        const auto rows = statistics(analysis);
        EXPECT_EQ(names_of(rows), (Names{Channel::gray, Channel::alpha}));
        expect_plane(rows, Channel::alpha, picture, 3);
        expect_plane(rows, Channel::gray, picture, 0);
        const Analysis gray = engine->analyze(plane(picture, 0).view());
        if (depth != Depth::f32) {
            EXPECT_TRUE(analysis.channels.front() == gray.channels.front());
        }
        EXPECT_EQ(analysis.brightness, gray.brightness);
        EXPECT_TRUE(analysis.pooled_order_statistics.empty());
        AnalysisRequest request;
        request.luma_histogram = false;
        EXPECT_EQ(names_of(analyze(picture, Samples::gray_alpha, request)), names_of(analysis));
    }
}

TEST_F(Channels, OfBands) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (const int bands : {1, 3, 4}) {
            if (bands == 4 && depth == Depth::f32) continue;
            SCOPED_TRACE(std::string(to_string(depth)) + " " + std::to_string(bands));
            const Picture picture({31, 7, bands, depth, ChannelOrder::rgb}, packed, Content::random);
            const Analysis analysis = analyze(picture, Samples::bands);
            EXPECT_FALSE(analysis.brightness);
            const auto rows = statistics(analysis);
            Names expected;
            for (int c = 0; c < bands; ++c) expected.push_back(static_cast<Channel>(static_cast<int>(Channel::c0) + c));
            EXPECT_EQ(names_of(analysis), expected);
            for (int c = 0; c < bands; ++c) expect_plane(rows, expected[static_cast<std::size_t>(c)], picture, c);
            if (bands > 1) {
                expected.push_back(Channel::all);
                const Statistics whole = statistics(engine->analyze(stacked(picture, bands).view())).front();
                if (depth != Depth::f32) expect_numbers(rows.back(), whole);
                EXPECT_EQ(rows.back().percentiles, whole.percentiles);
                EXPECT_EQ(rows.back().min, whole.min);
                EXPECT_NEAR(*rows.back().std, *whole.std, 1e-12 * *whole.std);
            }
            EXPECT_EQ(names_of(rows), expected);
            EXPECT_EQ(histogram(analysis).columns.size(), static_cast<std::size_t>(bands));
        }
}

TEST_F(Channels, OfColorsAndABand) {
    for (const Depth depth : {Depth::u8, Depth::u16}) {
        SCOPED_TRACE(to_string(depth));
        const Picture picture({31, 7, 4, depth, ChannelOrder::rgb}, packed, Content::random);
        const auto rows = statistics(analyze(picture, Samples::color_bands)),
                   with_alpha = statistics(analyze(picture, Samples::color));
        EXPECT_EQ(names_of(rows),
                  (Names{Channel::red, Channel::green, Channel::blue, Channel::luma, Channel::extra1, Channel::all}));
        for (int c = 0; c < 4; ++c)
            expect_plane(rows, c == 3 ? Channel::extra1 : static_cast<Channel>(static_cast<int>(Channel::red) + c),
                         picture, c);
        expect_numbers(row_of(rows, Channel::luma), row_of(with_alpha, Channel::luma));
        expect_numbers(rows.back(), statistics(engine->analyze(stacked(picture, 4).view())).front());
    }
}

TEST_F(Channels, OfColorsStayAsTheyAre) {
    for (const int channels : {1, 3, 4}) {
        const Picture picture({9, 7, channels, Depth::u8}, packed, Content::random);
        EXPECT_EQ(difference(analyze(picture, Samples::color), engine->analyze(picture.view())), "");
    }
}

TEST_F(Channels, OfOtherSamplesAreRefused) {
    const auto refused = [&](int channels, Depth depth, Samples samples) {
        const Picture picture({9, 7, channels, depth}, packed, Content::random);
        Analysis analysis = engine->analyze(picture.view());
        const Analysis before = analysis;
        EXPECT_THROW(name_channels(analysis, samples), InvalidArgument);
        EXPECT_TRUE(analysis == before);
    };
    refused(3, Depth::u8, Samples::gray_alpha);
    for (const int channels : {1, 3}) refused(channels, Depth::u8, Samples::color_bands);
    refused(4, Depth::f32, Samples::bands);
    refused(4, Depth::f32, Samples::color_bands);
    Analysis named = analyze(Picture({9, 7, 3, Depth::u8}, packed, Content::random), Samples::bands);
    const Analysis before = named;
    name_channels(named, Samples::bands);
    EXPECT_TRUE(named == before);
}

// ---- sets ---------------------------------------------------------------------------------------------------------

TEST_F(Channels, OfEveryKindMakeOneSet) {
    const Shape shape{13, 5, 4, Depth::u16, ChannelOrder::rgb};
    const auto of = [&](int channels, Content content) {
        return Picture({shape.width, shape.height, channels, shape.depth, shape.order}, packed, content);
    };
    const Picture gray = of(1, Content::natural), color = of(4, Content::random), bands = of(4, Content::ramp),
                  band = of(1, Content::gaussian), color_bands = of(4, Content::gaussian),
                  transparent = gray_alpha(of(4, Content::natural));
    const std::vector<Analysis> images{analyze(bands, Samples::bands),
                                       analyze(gray, Samples::color),
                                       analyze(color, Samples::color),
                                       analyze(color_bands, Samples::color_bands),
                                       analyze(transparent, Samples::gray_alpha),
                                       analyze(band, Samples::bands)};
    Summary summary, backwards;
    for (const Analysis& image : images) summary.add(image);
    for (auto image = images.rbegin(); image != images.rend(); ++image) {
        Summary one;
        one.add(*image);
        one.merge(backwards);
        backwards = one;
    }
    EXPECT_TRUE(summary == backwards);
    std::vector<Statistics> rows;
    std::uint64_t pooled = 0;
    for (const SummaryRow& row : summary.statistics()) {
        rows.push_back(row.statistics);
        if (row.statistics.channel == Channel::all) pooled = row.images;
    }
    EXPECT_EQ(names_of(rows),
              (Names{Channel::gray, Channel::red, Channel::green, Channel::blue, Channel::luma, Channel::c0,
                     Channel::c1, Channel::c2, Channel::c3, Channel::extra1, Channel::all, Channel::alpha}));
    EXPECT_EQ(summary.depths()[0].images, 6U);
    EXPECT_EQ(summary.depths()[0].images_of_bands(), 2U);
    EXPECT_EQ(pooled, 4U);  // two of colors, two of bands
    const std::uint64_t pixels = 13 * 5;
    EXPECT_EQ(row_of(rows, Channel::all).pixels, pixels * (3 + 4 + 4 + 1));
    EXPECT_EQ(row_of(rows, Channel::c3).pixels, pixels);
    EXPECT_EQ(row_of(rows, Channel::extra1).pixels, pixels);
    EXPECT_EQ(row_of(rows, Channel::c0).pixels, pixels * 2);
    EXPECT_EQ(row_of(rows, Channel::alpha).pixels, pixels * 2);
    // c0 is that of both images that have it, as one; a band beside colors is another.
    Analysis c0 = engine->analyze(plane(bands, 0).view());
    c0 += engine->analyze(plane(band, 0).view());
    expect_numbers(row_of(rows, Channel::c0), statistics(c0).front());
    expect_numbers(row_of(rows, Channel::c3), statistics(engine->analyze(plane(bands, 3).view())).front());
    expect_numbers(row_of(rows, Channel::extra1), statistics(engine->analyze(plane(color_bands, 3).view())).front());
    const Histogram histogram = *summary.histogram(Depth::u16);
    for (const Histogram::Column& column : histogram.columns) {
        std::uint64_t sum = 0;
        for (const std::uint64_t count : column.counts) sum += count;
        EXPECT_EQ(sum, row_of(rows, column.channel).pixels) << to_string(column.channel);
    }
}

TEST_F(Channels, OfFloatsMakeASetWithTheirValues) {
    const Picture bands({13, 5, 3, Depth::f32, ChannelOrder::rgb}, packed, Content::random);
    const Picture transparent = gray_alpha(Picture({13, 5, 4, Depth::f32}, packed, Content::gaussian));
    Summary summary;
    summary.add(analyze(bands, Samples::bands), count_frequencies(bands.view(), nullptr, {}, Samples::bands));
    summary.add(analyze(transparent, Samples::gray_alpha),
                count_frequencies(transparent.view(), nullptr, {}, Samples::gray_alpha));
    const SummaryNumbers numbers = summary.numbers(Depth::f32);
    std::vector<Statistics> rows;
    for (const SummaryRow& row : numbers.rows) rows.push_back(row.statistics);
    EXPECT_EQ(names_of(rows),
              (Names{Channel::gray, Channel::c0, Channel::c1, Channel::c2, Channel::all, Channel::alpha}));
    const auto median = [&](const Picture& picture) {
        return statistics(engine->analyze(picture.view())).front().percentile(50);
    };
    EXPECT_EQ(row_of(rows, Channel::gray).percentile(50), median(plane(transparent, 0)));
    EXPECT_EQ(row_of(rows, Channel::alpha).percentile(50), median(plane(transparent, 3)));
    for (int c = 0; c < 3; ++c)
        EXPECT_EQ(row_of(rows, static_cast<Channel>(static_cast<int>(Channel::c0) + c)).percentile(50),
                  median(plane(bands, c)));
    EXPECT_EQ(row_of(rows, Channel::all).percentile(50), median(stacked(bands, 3)));
    ASSERT_TRUE(numbers.histogram);
    for (const Histogram::Column& column : numbers.histogram->columns) {
        std::uint64_t sum = column.below + column.above + column.nan;
        for (const std::uint64_t count : column.counts) sum += count;
        EXPECT_EQ(sum, 13U * 5U) << to_string(column.channel);
    }
    EXPECT_THROW(count_frequencies(bands.view(), nullptr, {}, Samples::gray_alpha), InvalidArgument);
}

TEST_F(Channels, HaveNoTableForBands) {
    const Picture bands({13, 5, 4, Depth::u8, ChannelOrder::rgb}, packed, Content::random),
        colors({13, 5, 3, Depth::u8}, packed, Content::natural), gray({13, 5, 1, Depth::u8}, packed, Content::natural);
    Summary summary, alone, without;
    summary.add(analyze(bands, Samples::bands));
    EXPECT_THROW(make_luts(summary, Depth::u8, {}), InvalidArgument);
    for (const Picture* picture : {&colors, &gray}) {
        summary.add(engine->analyze(picture->view()));
        without.add(engine->analyze(picture->view()));
    }
    const LutSet tables = make_luts(summary, Depth::u8, {});
    EXPECT_TRUE(tables == make_luts(without, Depth::u8, {}));
    Picture copy({13, 5, 4, Depth::u8, ChannelOrder::rgb}, packed, Content::constant);
    for (const Samples samples : {Samples::bands, Samples::color_bands}) try {
            apply_luts(tables, bands.view(), copy.mutable_view(), 1, samples);
            ADD_FAILURE();
        } catch (const InvalidArgument& error) {
            EXPECT_STREQ(error.what(), "lookup tables don't exist for bands");
        }
    // Gray with alpha takes the table for gray.
    const Picture transparent = gray_alpha(Picture({13, 5, 4, Depth::u8}, packed, Content::random));
    copy = Picture({13, 5, 4, Depth::u8}, packed, Content::constant);
    apply_luts(tables, transparent.view(), copy.mutable_view(), 1, Samples::gray_alpha);
    Picture expected({13, 5, 1, Depth::u8}, packed, Content::constant);
    apply_luts(tables, plane(transparent, 0).view(), expected.mutable_view());
    for (int c = 0; c < 3; ++c) EXPECT_EQ(difference(plane(copy, c).view(), expected.view()), "");
    EXPECT_EQ(difference(plane(copy, 3).view(), plane(transparent, 3).view()), "");
}

// ---- white --------------------------------------------------------------------------------------------------------

TEST_F(Channels, ClipAtWhite) {
    const Picture picture({64, 64, 1, Depth::u16}, packed, Content::random);
    Analysis analysis = engine->analyze(picture.view());
    EXPECT_EQ(analysis.white, 65535);
    const auto over = [&](double white) {
        std::uint64_t count = 0;
        for (const std::uint32_t value : values_of(picture.view(), Channel::gray)) count += value >= white;
        return static_cast<double>(count) / 4096;
    };
    const double before = *statistics(analysis).front().clipped_high;
    EXPECT_EQ(before, over(65535));
    for (const double white : {4095.0, 4095.5, 0.5, 1.0, 65534.0, 65535.0, 65535.5, 1e300, 1e-300}) {
        analysis.white = white;
        EXPECT_EQ(statistics(analysis).front().clipped_high, over(white)) << white;
    }
    const Analysis floats = engine->analyze(Picture({9, 9, 1, Depth::f32}, packed, Content::random).view());
    EXPECT_EQ(floats.white, 1);
    EXPECT_FALSE(statistics(floats).front().clipped_high);
}

TEST_F(Channels, OfSeveralWhitesHaveNone) {
    Analysis a = engine->analyze(Picture({9, 9, 3, Depth::u16}, packed, Content::random).view()), b = a;
    b.white = 4095;
    Analysis same = a;
    same += a;
    EXPECT_EQ(same.white, 65535);
    Analysis merged = a;
    merged += b;
    EXPECT_EQ(merged.white, 0);
    EXPECT_FALSE(statistics(merged).front().clipped_high);
    EXPECT_TRUE(statistics(merged).front().clipped_low);
    merged += b;
    EXPECT_EQ(merged.white, 0);

    Summary one, other, both;
    one.add(a);
    other.add(b);
    both.add(b);
    both.add(a);
    EXPECT_EQ(one.depths().front().white, 65535);
    EXPECT_EQ(other.depths().front().white, 4095);
    EXPECT_EQ(both.depths().front().white, std::nullopt);
    Summary joined = one;
    joined.merge(other);
    EXPECT_TRUE(joined == both);
    joined.merge(one);
    both.add(a);
    EXPECT_TRUE(joined == both);
    EXPECT_FALSE(one == other);
    for (const SummaryRow& row : both.statistics()) {
        EXPECT_FALSE(row.white);
        EXPECT_FALSE(row.statistics.clipped_high);
        EXPECT_TRUE(row.statistics.mean);
    }
    EXPECT_EQ(other.statistics().front().white, 4095);
    EXPECT_EQ(other.statistics().front().statistics.clipped_high, statistics(b).front().clipped_high);
    Summary of_merged;
    of_merged.add(merged);
    EXPECT_EQ(of_merged.depths().front().white, std::nullopt);
    for (const double white : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
        Analysis wrong = a;
        wrong.white = white;
        EXPECT_THROW(one.add(wrong), InvalidArgument) << white;
    }
}

}  // namespace
}  // namespace gpuhist::test
