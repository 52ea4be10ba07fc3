// Long lists of percentiles of f32: as numpy.percentile of the sorted values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/integers.hpp"
#include "gpuhist/dataset.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/statistics.hpp"
#include "support/oracle.hpp"

namespace gpuhist::test {
namespace {

const std::vector<double> longest{0,  0.000001, 0.001, 0.1,     0.5, 1,    2.5,    5,      7.25,    10, 12.5,
                                  20, 25,       30,    33.3333, 40,  45.5, 50,     50.25,  55,      60, 66,
                                  70, 75,       80,    87.5,    90,  95,   99.123, 99.999, 99.9999, 100};

double interpolated(const std::vector<float>& ascending, double percent) {
    const auto micro = static_cast<core::u128>(std::llround(percent * 1e6));
    const core::u128 position = micro * (ascending.size() - 1);
    const auto rank = static_cast<std::size_t>(position / 100'000'000);
    const double t = static_cast<double>(static_cast<std::uint64_t>(position % 100'000'000)) / 1e8;
    const double a = ascending[rank];
    if (t == 0) return a;
    const double b = ascending[rank + 1];
    return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
}

std::vector<float> finite_of(const ImageView& image, Channel channel) {
    if (channel != Channel::all) return float_channel(image, channel).finite;
    std::vector<float> together;
    for (const Channel color : {Channel::red, Channel::green, Channel::blue}) {
        const std::vector<float> part = float_channel(image, color).finite;
        together.insert(together.end(), part.begin(), part.end());
    }
    std::sort(together.begin(), together.end());
    return together;
}

void expect_percentiles(const Statistics& row, const std::vector<float>& ascending,
                        const std::vector<double>& percents) {
    ASSERT_EQ(row.percentiles.size(), percents.size()) << to_string(row.channel);
    for (const double percent : percents) {
        const std::optional<double> value = row.percentile(percent);
        ASSERT_EQ(value.has_value(), !ascending.empty()) << to_string(row.channel) << " p" << percent;
        if (value) {
            EXPECT_EQ(*value, interpolated(ascending, percent)) << to_string(row.channel) << " p" << percent;
        }
    }
}

/// Picture with NaN and ±Inf among ordinary samples.
Picture picture_of(int channels, Content content, std::int64_t width, std::int64_t height) {
    Picture picture({width, height, channels, Depth::f32}, layouts[2], content);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = y % 5; x < width; x += 17) {
            picture.set(x, y, 0, std::numeric_limits<double>::quiet_NaN());
            if (x + 1 < width) picture.set(x + 1, y, channels - 1, (x + y) % 2 ? INFINITY : -INFINITY);
        }
    return picture;
}

class LongLists : public testing::Test {
  protected:
    void check(const Picture& picture, const std::vector<double>& percents) {
        const Percentiles list(percents);
        AnalysisRequest request;
        request.percentiles = list;
        for (const auto& engine : engines) {
            const Analysis analysis = engine->analyze(picture.view(), request);
            for (const ChannelAnalysis& channel : analysis.channels)
                for (std::size_t i = 1; i < channel.order_statistics.size(); ++i)
                    ASSERT_LT(channel.order_statistics[i - 1].rank, channel.order_statistics[i].rank);
            for (const Statistics& row : statistics(analysis, list))
                expect_percentiles(row, finite_of(picture.view(), row.channel), percents);

            // Nothing else depends on the list.
            Analysis usual = engine->analyze(picture.view()), same = analysis;
            for (Analysis* one : {&usual, &same}) {
                one->pooled_order_statistics.clear();
                for (ChannelAnalysis& channel : one->channels) channel.order_statistics.clear();
            }
            EXPECT_EQ(difference(same, usual), "");
        }
        Summary summary;
        summary.add(engines[0]->analyze(picture.view()), count_frequencies(picture.view()));
        for (const SummaryRow& row : summary.statistics(list))
            expect_percentiles(row.statistics, finite_of(picture.view(), row.statistics.channel), percents);
    }
    std::vector<std::unique_ptr<Engine>> engines = [] {
        std::vector<std::unique_ptr<Engine>> both;
        both.push_back(make_engine("cpu", {.threads = 1}));
        both.push_back(make_engine("cpu"));
        return both;
    }();
};

TEST_F(LongLists, OfFloatsAreThoseOfSortedValues) {
    for (const int channels : {1, 3, 4})
        for (const Content content : {Content::gaussian, Content::random, Content::sparse, Content::two_values,
                                      Content::constant, Content::huge, Content::nan})
            check(picture_of(channels, content, 61, 37), longest);
    check(picture_of(1, Content::gaussian, 700, 600), longest);
    check(picture_of(3, Content::natural, 500, 400), longest);
}

TEST_F(LongLists, OfAnyLengthAndOnOneSide) {
    const Picture picture = picture_of(3, Content::gaussian, 61, 37);
    for (const std::size_t length : {1, 7, 8, 14, 15})
        check(picture, {longest.begin(), longest.begin() + static_cast<std::ptrdiff_t>(length)});
    check(picture, {99});
}

TEST_F(LongLists, StandBesideAStretch) {
    const Picture picture = picture_of(3, Content::gaussian, 61, 37);
    AnalysisRequest request;
    request.percentiles = Percentiles(longest);
    Picture output(picture.shape(), packed), wanted(picture.shape(), packed);
    Analysis analysis, usual;
    const Normalization normalization{NormalizeMode::percentile, 3, 98, true};
    engines[0]->normalize(picture.view(), request, normalization, output.mutable_view(), analysis);
    engines[0]->normalize(picture.view(), {}, normalization, wanted.mutable_view(), usual);
    EXPECT_EQ(difference(output.view(), wanted.view()), "");
    for (const Statistics& row : statistics(analysis, request.percentiles))
        expect_percentiles(row, finite_of(picture.view(), row.channel), longest);
}

TEST_F(LongLists, AreRefusedOfAnAnalysisThatWasNotAskedForThem) {
    const Picture picture = picture_of(1, Content::gaussian, 61, 37);
    EXPECT_THROW(statistics(engines[0]->analyze(picture.view()), Percentiles(longest)), InvalidArgument);
}

}  // namespace
}  // namespace gpuhist::test
