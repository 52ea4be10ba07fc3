#include "support/analysis_under_test.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "gpuhist/histogram.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::test {

std::string describe(const Shape& shape, const Layout& layout, Content content) {
    std::ostringstream out;
    out << shape.width << "x" << shape.height << "x" << shape.channels << " " << to_string(shape.depth)
        << (shape.order == ChannelOrder::bgr ? " bgr" : " rgb") << ", padding " << layout.row_padding << ", offset "
        << layout.offset << ", frame " << layout.frame_rows << ", content " << static_cast<int>(content);
    return out.str();
}

void expect_all_pixels_counted(const Analysis& analysis) {
    for (const ChannelAnalysis& channel : analysis.channels) {
        std::uint64_t sum =
            channel.below + channel.above + channel.nan + channel.masked + channel.nodata + channel.values.samples();
        for (std::uint64_t count : channel.counts) sum += count;
        EXPECT_EQ(sum, channel.pixels) << to_string(channel.channel);
    }
}

namespace {

/// Each statistic named must equal the value at its rank, and there must be enough of them for `statistics()`.
void expect_order_statistics(const std::vector<OrderStatistic>& order, const std::vector<float>& ascending) {
    for (std::size_t i = 0; i < order.size(); ++i) {
        ASSERT_LT(order[i].rank, ascending.size());
        EXPECT_TRUE(i == 0 || order[i - 1].rank < order[i].rank) << "ranks do not ascend";
        EXPECT_EQ(order[i].value, ascending[order[i].rank]) << "rank " << order[i].rank;
    }
    for (int percent : {1, 5, 25, 50, 75, 95, 99}) {
        if (ascending.empty()) continue;
        const std::uint64_t rank = (ascending.size() - 1) * static_cast<std::uint64_t>(percent) / 100;
        for (std::uint64_t needed : {rank, std::min<std::uint64_t>(rank + 1, ascending.size() - 1)})
            EXPECT_TRUE(std::any_of(order.begin(), order.end(), [&](auto& o) { return o.rank == needed; }))
                << "rank " << needed << " of " << ascending.size();
    }
}

/// The sums that FloatMoments defines, about the pivot that the engine chose.
void expect_power_sums(const FloatMoments& moments, const std::vector<float>& values, Detail detail) {
    __extension__ typedef __int128 i128;
    i128 sums[4] = {};
    for (float value : values) {
        const double d = static_cast<double>(value) - moments.pivot;
        ASSERT_LT(std::abs(d), std::ldexp(1.0, moments.exponent));
        double power = 1;
        for (int k = 1; k <= 4; ++k) {
            power *= d;
            sums[k - 1] += static_cast<i128>(std::rint(std::ldexp(power, 80 - k * moments.exponent)));
        }
    }
    if (detail == Detail::brief) sums[2] = sums[3] = 0;
    for (int k = 0; k < 4; ++k)
        EXPECT_EQ(moments.sums[k],
                  (Int128{static_cast<std::uint64_t>(sums[k]), static_cast<std::int64_t>(sums[k] >> 64)}))
            << "power sum " << k + 1;
}

/// The numbers that a person reads, against passes in extended precision.
void expect_moments(const Statistics& row, const std::vector<float>& values, Detail detail) {
    SCOPED_TRACE(to_string(row.channel));
    ASSERT_EQ(row.mean.has_value(), !values.empty());
    if (values.empty()) return;
    const Moments truth = moments_of(values);
    // A mean or a skewness next to zero has its scale from the spread of the values.
    EXPECT_NEAR(*row.mean, truth.mean, 1e-12 * std::max(std::abs(truth.mean), truth.std));
    if (values.front() == values.back()) {
        EXPECT_EQ(*row.mean, values.front());
        EXPECT_EQ(row.std, 0.0);
        EXPECT_FALSE(row.skewness.has_value());
        EXPECT_FALSE(row.kurtosis.has_value());
        return;
    }
    EXPECT_NEAR(*row.std, truth.std, 1e-12 * truth.std);
    EXPECT_NEAR(*row.std_sample, truth.std_sample, 1e-12 * truth.std_sample);
    if (detail == Detail::brief) {
        EXPECT_FALSE(row.skewness.has_value());
        EXPECT_FALSE(row.kurtosis.has_value());
        return;
    }
    EXPECT_NEAR(*row.skewness, truth.skewness, 1e-12 * std::max(std::abs(truth.skewness), 1.0L));
    EXPECT_NEAR(*row.kurtosis, truth.kurtosis, 1e-12 * (truth.kurtosis + 3));
}

}  // namespace

void expect_float_analysis(const ImageView& image, const AnalysisRequest& request, const Analysis& result) {
    const std::vector<Channel> channels = measured_channels(image.channels);
    ASSERT_EQ(result.depth, Depth::f32);
    ASSERT_EQ(result.channels.size(), channels.size());
    EXPECT_FALSE(result.brightness.has_value());
    EXPECT_EQ(result.upper_closed, !request.range.has_value());
    EXPECT_EQ(result.detail, request.detail);
    const bool in_full = request.detail == Detail::full;

    float minimum = INFINITY, maximum = -INFINITY;
    std::vector<FloatChannel> truths;
    for (Channel channel : channels) {
        truths.push_back(float_channel(image, channel));
        if (truths.back().finite.empty()) continue;
        minimum = std::min(minimum, truths.back().finite.front());
        maximum = std::max(maximum, truths.back().finite.back());
    }
    if (request.range) {
        EXPECT_EQ(result.range, *request.range);
    } else if (minimum < maximum) {
        EXPECT_EQ(result.range, (Range{minimum, maximum}));
    } else {  // one value or none: any range around it
        EXPECT_LT(result.range.lower, result.range.upper);
        if (minimum == maximum) {
            EXPECT_LT(result.range.lower, minimum);
            EXPECT_GT(result.range.upper, minimum);
        }
    }

    const Histogram shown = histogram(result, {request.bins, {}});
    std::vector<double> edges;
    for (std::size_t i = 0; i <= request.bins; ++i) edges.push_back(shown.edge(i));
    const std::vector<Statistics> statistics_rows = statistics(result);
    auto statistics_of = [&](Channel channel) {
        for (const Statistics& row : statistics_rows)
            if (row.channel == channel) return row;
        ADD_FAILURE() << "no statistics of " << to_string(channel);
        return Statistics{};
    };
    for (std::size_t c = 0; c < channels.size(); ++c) {
        const ChannelAnalysis& got = result.channels[c];
        const FloatChannel& truth = truths[c];
        SCOPED_TRACE(to_string(channels[c]));
        EXPECT_EQ(got.channel, channels[c]);
        EXPECT_EQ(got.pixels, truth.pixels);
        EXPECT_EQ(got.nan, truth.nan);
        EXPECT_EQ(got.infinite, truth.positive_infinite + truth.negative_infinite);
        EXPECT_EQ(got.minimum, truth.finite.empty() ? 0 : truth.finite.front());
        EXPECT_EQ(got.maximum, truth.finite.empty() ? 0 : truth.finite.back());

        std::uint64_t below = truth.negative_infinite, above = truth.positive_infinite;
        std::vector<std::uint64_t> counts(request.bins, 0);
        for (double value : truth.finite) {
            if (value < result.range.lower)
                ++below;
            else if (value > result.range.upper || (value == result.range.upper && request.range))
                ++above;
            else
                ++counts[std::min<std::size_t>(
                    static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), value) - edges.begin()) - 1,
                    request.bins - 1)];
        }
        EXPECT_EQ(got.below, below);
        EXPECT_EQ(got.above, above);
        EXPECT_TRUE(got.counts == counts);
        expect_power_sums(got.moments, truth.finite, request.detail);
        if (in_full) {
            expect_order_statistics(got.order_statistics, truth.finite);
        } else {
            EXPECT_TRUE(got.order_statistics.empty());
            EXPECT_EQ(got.moments.pivot, 0.0);
        }
        expect_moments(statistics_of(channels[c]), truth.finite, request.detail);
    }
    if (image.channels == 1 || !in_full) {
        EXPECT_TRUE(result.pooled_order_statistics.empty());
    }
    if (image.channels > 1) {
        const FloatChannel pooled = float_channel(image, Channel::all);
        if (in_full) expect_order_statistics(result.pooled_order_statistics, pooled.finite);
        expect_moments(statistics_of(Channel::all), pooled.finite, request.detail);
    }
    for (const Statistics& row : statistics_rows)
        for (const Percentile& percentile : row.percentiles)
            EXPECT_EQ(percentile.value.has_value(), in_full && row.min.has_value()) << to_string(row.channel);
}

}  // namespace gpuhist::test
