// Every engine against the oracle, against OpenCV, and bit for bit against the CPU engine on one thread.
//
// `small` cases are few and tiny enough for compute-sanitizer: --gtest_filter='Conformance*small*'.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <sstream>

#include "gpuhist/error.hpp"
#include "gpuhist/histogram.hpp"
#include "gpuhist/statistics.hpp"
#include "support/engines_under_test.hpp"
#include "support/oracle.hpp"

namespace gpuhist::test {
namespace {

struct Size {
    std::int64_t width, height;
};
constexpr Size small_sizes[] = {{1, 1}, {1, 15}, {15, 1}, {16, 16}, {17, 5}};
constexpr Size medium_sizes[] = {{10000, 1}, {1, 1000}, {257, 129}};

AnalysisRequest bins_over(std::uint32_t bins, std::optional<Range> range = {}) {
    return {true, bins, range};
}
const AnalysisRequest without_luma{false, 256, {}};
AnalysisRequest brief(AnalysisRequest request = {}) {
    request.detail = Detail::brief;
    return request;
}

std::string describe(const Shape& shape, const Layout& layout, Content content) {
    std::ostringstream out;
    out << shape.width << "x" << shape.height << "x" << shape.channels << " " << to_string(shape.depth)
        << (shape.order == ChannelOrder::bgr ? " bgr" : " rgb") << ", padding " << layout.row_padding << ", offset "
        << layout.offset << ", frame " << layout.frame_rows << ", content " << static_cast<int>(content);
    return out.str();
}

/// Nothing vanishes.
void expect_all_pixels_counted(const Analysis& analysis) {
    for (const ChannelAnalysis& channel : analysis.channels) {
        std::uint64_t sum = channel.below + channel.above + channel.nan;
        for (std::uint64_t count : channel.counts) sum += count;
        EXPECT_EQ(sum, channel.pixels) << to_string(channel.channel);
    }
}

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

/// All there is to an f32 analysis.
void expect_float_analysis(const ImageView& image, const AnalysisRequest& request, const Analysis& result) {
    const std::vector<Channel> rows = rows_of(image.channels);
    ASSERT_EQ(result.depth, Depth::f32);
    ASSERT_EQ(result.channels.size(), rows.size());
    EXPECT_FALSE(result.brightness.has_value());
    EXPECT_EQ(result.upper_closed, !request.range.has_value());
    EXPECT_EQ(result.detail, request.detail);
    const bool in_full = request.detail == Detail::full;

    float minimum = INFINITY, maximum = -INFINITY;
    std::vector<FloatRow> truths;
    for (Channel row : rows) {
        truths.push_back(float_row(image, row));
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
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const ChannelAnalysis& got = result.channels[r];
        const FloatRow& truth = truths[r];
        SCOPED_TRACE(to_string(rows[r]));
        EXPECT_EQ(got.channel, rows[r]);
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
        expect_moments(statistics_of(rows[r]), truth.finite, request.detail);
    }
    if (image.channels == 1 || !in_full) {
        EXPECT_TRUE(result.pooled_order_statistics.empty());
    }
    if (image.channels > 1) {
        const FloatRow pooled = float_row(image, Channel::all);
        if (in_full) expect_order_statistics(result.pooled_order_statistics, pooled.finite);
        expect_moments(statistics_of(Channel::all), pooled.finite, request.detail);
    }
    for (const Statistics& row : statistics_rows)
        for (const Percentile& percentile : row.percentiles)
            EXPECT_EQ(percentile.value.has_value(), in_full && row.min.has_value()) << to_string(row.channel);
}

class AnalysisTest : public EngineTest {
  protected:
    /// Into a poisoned result, from guarded memory; against the oracle and the reference engine.
    void check(const Picture& picture, const AnalysisRequest& request = {}) {
        if (left_out()) return;
        const std::vector<std::byte> before = picture.bytes();
        poison(result_);
        engine->analyze(picture.view(), request, result_);
        EXPECT_TRUE(picture.bytes() == before) << "the input was written to";
        if (picture.shape().depth == Depth::f32)
            expect_float_analysis(picture.view(), request, result_);
        else
            EXPECT_EQ(difference(result_, expected_analysis(picture.view(), request.luma_histogram)), "");
        expect_all_pixels_counted(result_);
        reference->analyze(picture.view(), request, reference_result_);
        EXPECT_EQ(difference(result_, reference_result_), "") << "not the reference's bits";
        EXPECT_TRUE(result_ == reference_result_);
    }

    void check_matrix(Depth depth, const Size* first, const Size* last, bool every_layout,
                      const AnalysisRequest& request = {}) {
        std::size_t turn = 0;
        for (const Size* size = first; size != last; ++size)
            for (int channels : {1, 3, 4})
                for (ChannelOrder order : {ChannelOrder::bgr, ChannelOrder::rgb})
                    for (Content content : contents_of(depth)) {
                        if (channels == 1 && order == ChannelOrder::rgb) continue;
                        for (std::size_t l = 0; l < std::size(layouts); ++l) {
                            if (!every_layout && l != turn % std::size(layouts)) continue;
                            const Shape shape{size->width, size->height, channels, depth, order};
                            SCOPED_TRACE(describe(shape, layouts[l], content));
                            check(Picture(shape, layouts[l], content), request);
                            if (HasFailure()) return;  // one case is enough to look at
                        }
                        ++turn;
                    }
    }

    Analysis result_, reference_result_;
};

INSTANTIATE_TEST_SUITE_P(Conformance, AnalysisTest, testing::ValuesIn(engines_under_test), label_of);

TEST_P(AnalysisTest, small_u8) {
    check_matrix(Depth::u8, std::begin(small_sizes), std::end(small_sizes), true);
}
TEST_P(AnalysisTest, small_u16) {
    check_matrix(Depth::u16, std::begin(small_sizes), std::end(small_sizes), false);
}
TEST_P(AnalysisTest, small_f32) {
    check_matrix(Depth::f32, std::begin(small_sizes), std::end(small_sizes), false);
}
TEST_P(AnalysisTest, small_f32_brief) {
    check_matrix(Depth::f32, std::begin(small_sizes), std::end(small_sizes), false, brief());
}
TEST_P(AnalysisTest, medium_u8) {
    check_matrix(Depth::u8, std::begin(medium_sizes), std::end(medium_sizes), true);
}
TEST_P(AnalysisTest, medium_u16) {
    check_matrix(Depth::u16, std::begin(medium_sizes), std::end(medium_sizes), false);
}
TEST_P(AnalysisTest, medium_f32) {
    check_matrix(Depth::f32, std::begin(medium_sizes), std::end(medium_sizes), false);
}
TEST_P(AnalysisTest, medium_f32_brief) {
    check_matrix(Depth::f32, std::begin(medium_sizes), std::end(medium_sizes), false, brief());
}

TEST_P(AnalysisTest, small_detail_does_not_matter_to_integers) {
    for (Depth depth : {Depth::u8, Depth::u16})
        for (int channels : {1, 3}) {
            const Picture picture({41, 23, channels, depth}, packed, Content::natural);
            check(picture, brief());
            EXPECT_EQ(result_.detail, Detail::full);
        }
}

TEST_P(AnalysisTest, twelve_megapixels) {
    constexpr Layout odd{3, 5, 0};
    const struct {
        int channels;
        Depth depth;
        Layout layout;
        Content content;
    } cases[] = {
        {3, Depth::u8, packed, Content::natural}, {1, Depth::u8, packed, Content::constant},
        {4, Depth::u8, odd, Content::random},     {1, Depth::u16, packed, Content::highest},
        {3, Depth::u16, odd, Content::natural},   {1, Depth::u16, odd, Content::two_values},
        {1, Depth::f32, odd, Content::outliers},
    };
    for (const auto& c : cases) {
        const Shape shape{4000, 3000, c.channels, c.depth, ChannelOrder::bgr};
        SCOPED_TRACE(describe(shape, c.layout, c.content));
        check(Picture(shape, c.layout, c.content));
        if (c.depth == Depth::f32) check(Picture(shape, c.layout, c.content), brief());
    }
}

TEST_P(AnalysisTest, large_f32_brief) {
    const struct {
        std::int64_t width, height;
        int channels;
        Content content;
    } cases[] = {
        {4001, 2999, 1, Content::natural}, {2001, 1499, 1, Content::specials}, {2001, 1499, 1, Content::constant},
        {1601, 1203, 3, Content::natural}, {1601, 1203, 4, Content::gaussian},
    };
    for (const auto& c : cases) {
        const Shape shape{c.width, c.height, c.channels, Depth::f32, ChannelOrder::bgr};
        SCOPED_TRACE(describe(shape, packed, c.content));
        check(Picture(shape, packed, c.content), brief());
    }
}

TEST_P(AnalysisTest, small_every_alignment) {
    for (Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (int channels : {1, 3, 4})
            for (int offset = 0; offset < 16; ++offset)
                for (std::int64_t width : {1 + offset % 3, 15 + offset, 33 + offset}) {
                    const Shape shape{width, depth == Depth::u8 ? 3 : 2, channels, depth, ChannelOrder::rgb};
                    const Layout layout{offset % 5, offset, 0};
                    SCOPED_TRACE(describe(shape, layout, Content::random));
                    check(Picture(shape, layout, Content::random));
                    if (depth == Depth::f32) check(Picture(shape, layout, Content::random), brief());
                    ASSERT_FALSE(HasFailure());
                }
}

// One value so often that counters of 8 and 16 bits, alone or packed in pairs, would overflow.
TEST_P(AnalysisTest, equal_values_past_the_width_of_a_counter) {
    for (Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (std::int64_t pixels : {255, 256, 257, 65535, 65536, 65537, 131071, 131072, 200000})
            for (Content content : {Content::lowest, Content::constant, Content::highest}) {
                const Shape shape{pixels, 1, 1, depth};
                SCOPED_TRACE(describe(shape, packed, content));
                check(Picture(shape, packed, content));
                if (depth == Depth::f32) check(Picture(shape, packed, content), brief());
            }
}

TEST_P(AnalysisTest, small_without_luma_histogram) {
    for (Depth depth : {Depth::u8, Depth::u16})
        for (int channels : {1, 3, 4})
            for (Content content : {Content::natural, Content::highest, Content::random}) {
                const Shape shape{123, 45, channels, depth, ChannelOrder::bgr};
                SCOPED_TRACE(describe(shape, layouts[2], content));
                check(Picture(shape, layouts[2], content), without_luma);
            }
    // f32 has its luma row all the same.
    check(Picture({31, 17, 3, Depth::f32}, packed, Content::natural), without_luma);
}

TEST_P(AnalysisTest, bins_and_range_do_not_matter_to_integers) {
    const Picture picture({67, 31, 3, Depth::u8}, packed, Content::natural);
    check(picture, bins_over(7, Range{10, 20}));
}

// One engine and one result, for images of every kind in turn: nothing of the one before may show.
TEST_P(AnalysisTest, small_engine_and_result_reused) {
    Analysis result;
    for (std::uint64_t turn = 0; turn < repetitions(120, 12); ++turn) {
        const std::uint64_t bits = scramble(turn);
        Shape shape;
        shape.width = 1 + static_cast<std::int64_t>(bits % 300 >> (bits >> 60));
        shape.height = 1 + static_cast<std::int64_t>((bits >> 10) % 60);
        shape.channels = std::array{1, 3, 4}[(bits >> 20) % 3];
        shape.depth = static_cast<Depth>((bits >> 24) % 3);
        shape.order = static_cast<ChannelOrder>((bits >> 28) % 2);
        const std::vector<Content> contents = contents_of(shape.depth);
        const Content content = contents[(bits >> 30) % contents.size()];
        AnalysisRequest request;
        request.luma_histogram = bits >> 40 & 1;
        request.bins = 1 + static_cast<std::uint32_t>((bits >> 41) % 600);
        request.detail = static_cast<Detail>((bits >> 52) % 2);
        SCOPED_TRACE(describe(shape, layouts[turn % 5], content));
        const Picture picture(shape, layouts[turn % 5], content);
        engine->analyze(picture.view(), request, result);
        const std::unique_ptr<Engine> fresh = make_engine("cpu", {.threads = 1});
        EXPECT_EQ(difference(result, fresh->analyze(picture.view(), request)), "");
    }
}

TEST_P(AnalysisTest, small_merged_tiles_equal_the_whole) {
    for (Depth depth : {Depth::u8, Depth::u16}) {
        const Picture picture({101, 77, 4, depth, ChannelOrder::rgb}, layouts[1], Content::natural);
        const ImageView whole = picture.view();
        Analysis merged;
        bool first = true;
        for (std::int64_t y : {0, 30})
            for (std::int64_t x : {0, 53, 54}) {
                ImageView tile = whole;
                tile.width = x == 0 ? 53 : x == 53 ? 1 : 101 - 54;
                tile.height = y == 0 ? 30 : 77 - 30;
                tile.data = static_cast<const std::byte*>(whole.data) + y * whole.row_bytes +
                            x * 4 * static_cast<std::int64_t>(sample_bytes(depth));
                const Analysis part = engine->analyze(tile);
                if (first)
                    merged = part;
                else
                    merged += part;
                first = false;
            }
        EXPECT_EQ(difference(merged, expected_analysis(whole)), "");
    }
}

// ---- OpenCV --------------------------------------------------------------------------------------------------------

cv::Mat matrix_of(const ImageView& image) {
    const int depth = image.depth == Depth::u8 ? CV_8U : image.depth == Depth::u16 ? CV_16U : CV_32F;
    return {static_cast<int>(image.height), static_cast<int>(image.width), CV_MAKETYPE(depth, image.channels),
            const_cast<void*>(image.data), static_cast<std::size_t>(image.row_bytes)};
}

/// Exact below 2^24 pixels: cv::calcHist counts in integers and hands them over as floats.
std::vector<std::uint64_t> opencv_counts(const cv::Mat& image, int channel) {
    const int bins = image.depth() == CV_8U ? 256 : 65536;
    const float bounds[] = {0, static_cast<float>(bins)};
    const float* ranges[] = {bounds};
    cv::Mat histogram;
    cv::calcHist(&image, 1, &channel, cv::Mat(), histogram, 1, &bins, ranges);
    std::vector<std::uint64_t> counts;
    for (int i = 0; i < bins; ++i) counts.push_back(static_cast<std::uint64_t>(histogram.at<float>(i)));
    return counts;
}

TEST_P(AnalysisTest, counts_equal_opencv) {
    for (Depth depth : {Depth::u8, Depth::u16})
        for (int channels : {1, 3, 4})
            for (ChannelOrder order : {ChannelOrder::bgr, ChannelOrder::rgb})
                for (Content content : integer_contents) {
                    if (left_out()) continue;
                    const bool bgr = order == ChannelOrder::bgr;
                    const Shape shape{401, 299, channels, depth, order};
                    SCOPED_TRACE(describe(shape, layouts[3], content));
                    const Picture picture(shape, layouts[3], content);
                    const cv::Mat image = matrix_of(picture.view());
                    const Analysis result = engine->analyze(picture.view());
                    auto counts = [&](Channel channel) { return result.find(channel)->counts; };
                    if (channels == 1) {
                        EXPECT_TRUE(counts(Channel::gray) == opencv_counts(image, 0));
                        continue;
                    }
                    EXPECT_TRUE(counts(Channel::red) == opencv_counts(image, bgr ? 2 : 0));
                    EXPECT_TRUE(counts(Channel::green) == opencv_counts(image, 1));
                    EXPECT_TRUE(counts(Channel::blue) == opencv_counts(image, bgr ? 0 : 2));
                    EXPECT_TRUE(channels == 3 || counts(Channel::alpha) == opencv_counts(image, 3));
                    cv::Mat luma;
                    cv::cvtColor(image, luma,
                                 channels == 3 ? (bgr ? cv::COLOR_BGR2GRAY : cv::COLOR_RGB2GRAY)
                                               : (bgr ? cv::COLOR_BGRA2GRAY : cv::COLOR_RGBA2GRAY));
                    EXPECT_TRUE(counts(Channel::luma) == opencv_counts(luma, 0)) << "luma";
                    double minimum = 0, maximum = 0;
                    cv::minMaxLoc(luma, &minimum, &maximum);
                    EXPECT_EQ(result.brightness->minimum, minimum);
                    EXPECT_EQ(result.brightness->maximum, maximum);
                }
}

TEST_P(AnalysisTest, float_luma_near_opencv) {
    for (Content content : {Content::natural, Content::random, Content::ramp}) {
        const Picture picture({257, 129, 3, Depth::f32}, packed, content);
        cv::Mat luma;
        cv::cvtColor(matrix_of(picture.view()), luma, cv::COLOR_BGR2GRAY);
        std::vector<float> ascending(luma.begin<float>(), luma.end<float>());
        std::sort(ascending.begin(), ascending.end());
        const Analysis result = engine->analyze(picture.view());
        const ChannelAnalysis& row = *result.find(Channel::luma);
        auto near = [](float got, float expected) { EXPECT_NEAR(got, expected, 1e-6 * std::abs(expected)); };
        near(row.minimum, ascending.front());
        near(row.maximum, ascending.back());
        for (const OrderStatistic& order : row.order_statistics) near(order.value, ascending[order.rank]);
    }
}

// ---- f32 -----------------------------------------------------------------------------------------------------------

TEST_P(AnalysisTest, float_bins) {
    const Shape gray{131, 67, 1, Depth::f32};
    for (std::uint32_t bins : {1, 2, 3, 255, 256, 1000, 65536, 100000})
        for (Content content : {Content::random, Content::specials, Content::huge, Content::far_from_zero,
                                Content::natural, Content::denormals}) {
            const Picture picture(gray, packed, content);
            for (const std::optional<Range>& range :
                 {std::optional<Range>(), std::optional<Range>({0.25, 0.75}), std::optional<Range>({-1, 1}),
                  std::optional<Range>({9999999.5, 10000000.75}), std::optional<Range>({-0.1, 1.3})}) {
                SCOPED_TRACE(describe(gray, packed, content) + ", bins " + std::to_string(bins) + ", range from " +
                             std::to_string(range ? range->lower : NAN));
                check(picture, bins_over(bins, range));
                check(picture, brief(bins_over(bins, range)));
                ASSERT_FALSE(HasFailure());
            }
        }
    check(Picture({33, 9, 4, Depth::f32}, layouts[2], Content::specials), bins_over(1u << 24));
    check(Picture({33, 9, 3, Depth::f32}, layouts[2], Content::specials), brief(bins_over(1u << 20)));
}

// Values on the edges of the bins, and the neighbours of the edges on both sides.
TEST_P(AnalysisTest, small_float_values_on_the_edges) {
    for (std::uint32_t bins : {1, 2, 3, 7, 10, 100, 255, 256, 1000})
        for (const Range& range : {Range{0, 1}, Range{-3, 5}, Range{0.1, 0.7}, Range{1e6, 1e6 + 100}}) {
            Picture picture({3, bins + 1, 1, Depth::f32}, packed, Content::lowest);
            for (std::uint32_t i = 0; i <= bins; ++i) {
                const auto edge = static_cast<float>(range.lower + i * (range.upper - range.lower) / bins);
                picture.set(0, i, 0, std::nextafter(edge, -INFINITY));
                picture.set(1, i, 0, edge);
                picture.set(2, i, 0, std::nextafter(edge, INFINITY));
            }
            SCOPED_TRACE(std::to_string(bins) + " bins from " + std::to_string(range.lower));
            check(picture, bins_over(bins, range));
            check(picture, bins_over(bins));
            check(picture, brief(bins_over(bins, range)));
            check(picture, brief(bins_over(bins)));
        }
}

TEST_P(AnalysisTest, small_float_maximum_is_in_the_last_bin_of_the_range_found) {
    Picture picture({4, 1, 1, Depth::f32}, packed, Content::lowest);
    for (int x = 0; x < 4; ++x) picture.set(x, 0, 0, x);
    const Analysis found = engine->analyze(picture.view(), bins_over(3));
    EXPECT_EQ(found.channels[0].counts, (std::vector<std::uint64_t>{1, 1, 2}));
    EXPECT_EQ(found.channels[0].above, 0u);
    const Analysis given = engine->analyze(picture.view(), bins_over(3, Range{0, 3}));
    EXPECT_EQ(given.channels[0].counts, (std::vector<std::uint64_t>{1, 1, 1}));
    EXPECT_EQ(given.channels[0].above, 1u);
}

TEST_P(AnalysisTest, small_float_far_from_zero_has_the_true_std) {
    const Picture picture({100, 100, 3, Depth::f32}, packed, Content::far_from_zero);
    for (const Statistics& row : statistics(engine->analyze(picture.view()))) {
        if (row.channel == Channel::luma) continue;  // its weighted sum is rounded to steps of 1
        EXPECT_EQ(row.mean, 10000000.5) << to_string(row.channel);
        EXPECT_EQ(row.std, 0.5) << to_string(row.channel);
    }
}

// One channel, and with colours luma, without a finite sample; the others as they are, or of one value.
TEST_P(AnalysisTest, small_float_rows_without_a_finite_sample) {
    for (int channels : {1, 3, 4})
        for (int empty = 0; empty < channels; ++empty)
            for (float odd : {NAN, INFINITY, -INFINITY})
                for (Content content : {Content::natural, Content::constant}) {
                    const Shape shape{37, 11, channels, Depth::f32};
                    Picture picture(shape, packed, content);
                    for (std::int64_t y = 0; y < shape.height; ++y)
                        for (std::int64_t x = 0; x < shape.width; ++x) picture.set(x, y, empty, odd);
                    for (const std::optional<Range>& range :
                         {std::optional<Range>(), std::optional<Range>({-1, 1}), std::optional<Range>({2, 3})}) {
                        SCOPED_TRACE(describe(shape, packed, content) + ", channel " + std::to_string(empty) + " " +
                                     std::to_string(odd) + ", range from " +
                                     std::to_string(range ? range->lower : NAN));
                        check(picture, bins_over(256, range));
                        check(picture, brief(bins_over(256, range)));
                        ASSERT_FALSE(HasFailure());
                    }
                }
}

/// Images whose moments are hard: the spread tiny or huge beside the distance from zero or from the pivot.
TEST_P(AnalysisTest, float_moments) {
    constexpr std::int64_t width = 512, height = 300;
    using Value = double (*)(std::uint64_t bits, std::int64_t index);
    auto uniform = [](std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; };
    static const auto u = uniform;
    const struct {
        const char* name;
        Value value;
    } cases[] = {
        {"uniform", [](std::uint64_t b, std::int64_t) { return u(b); }},
        {"symmetric", [](std::uint64_t, std::int64_t i) { return i % 2 ? 3.25 : -3.25; }},
        {"one outlier of 100", [](std::uint64_t b, std::int64_t i) { return i == 777 ? 100 : u(b); }},
        {"one outlier of 1e4", [](std::uint64_t b, std::int64_t i) { return i == 777 ? 1e4 : u(b); }},
        {"one outlier of 1e30", [](std::uint64_t b, std::int64_t i) { return i == 777 ? 1e30 : u(b); }},
        {"one outlier among equals", [](std::uint64_t, std::int64_t i) { return i == 777 ? 395.7 : 0.3; }},
        {"an outlier among two values",
         [](std::uint64_t b, std::int64_t i) { return i == 5  ? 300
                                                      : b & 2 ? 0.1
                                                              : 0.7; }},
        {"heavy tail", [](std::uint64_t b, std::int64_t) { return 1 / (1e-4 + u(b)); }},
        {"log-uniform", [](std::uint64_t b, std::int64_t) { return std::pow(10.0, 20 * u(b) - 10); }},
        {"two distant clusters", [](std::uint64_t b, std::int64_t) { return (b & 1 ? 1000 : -1) + u(b); }},
        {"mostly zero", [](std::uint64_t b, std::int64_t i) { return i % 50 ? 0 : u(b); }},
        {"two neighbours", [](std::uint64_t b, std::int64_t) { return b & 1 ? 16777216.0 : 16777218.0; }},
        {"tiny", [](std::uint64_t b, std::int64_t) { return 1e-38 * u(b); }},
        {"huge", [](std::uint64_t b, std::int64_t) { return 3e38 * (2 * u(b) - 1); }},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.name);
        Picture picture({width, height, 1, Depth::f32}, packed);
        for (std::int64_t i = 0; i < width * height; ++i)
            picture.set(i % width, i / width, 0, c.value(scramble(static_cast<std::uint64_t>(i)), i));
        check(picture);
        check(picture, brief());
    }
}

/// Images whose ranks are hard to tell apart: much that shares the high half of its bits (floats from 1 to 1 + 2^-7
/// do), few values, or as many halves as there are ranks; of few samples and of many.
TEST_P(AnalysisTest, float_order_statistics) {
    using Value = double (*)(std::uint64_t bits, int channel);
    const struct {
        const char* name;
        Value value;
    } cases[] = {
        {"one half", [](std::uint64_t b, int) { return 1 + 0x1p-23 * (b % 65536); }},
        {"one half, negative", [](std::uint64_t b, int) { return -1 - 0x1p-23 * (b % 65536); }},
        {"two values of one half", [](std::uint64_t b, int) { return b % 3 ? 1 + 0x1p-20 : 1 + 0x1p-9; }},
        {"mostly one value, others of its half around it",
         [](std::uint64_t b, int) { return b % 3 ? 1 + 0x1p-8 : 1 + 0x1p-23 * (b / 3 % 65536); }},
        {"mostly the lowest", [](std::uint64_t b, int) { return b % 3 ? 1 : 1 + 0x1p-23 * (b / 3 % 65536); }},
        {"mostly the highest", [](std::uint64_t b, int) { return b % 3 ? 1.0078125 : 1 + 0x1p-23 * (b / 3 % 65536); }},
        {"constant channels, of one half", [](std::uint64_t, int c) { return 1 + 0x1p-10 * c; }},
        {"constant channels but one, of one half",
         [](std::uint64_t b, int c) { return c == 1 ? 1 + 0x1p-23 * (b % 65536) : 1 + 0x1p-10 * c; }},
        {"constant channels but one, which has none of theirs",
         [](std::uint64_t b, int c) { return c == 1 ? 4.0 + b % 3 : 1; }},
        {"one value, or NaN", [](std::uint64_t b, int) { return b % 5 ? NAN : 0.3; }},
        {"zero of either sign, and noise",
         [](std::uint64_t b, int) { return b % 4 ? (b % 8 ? 0.0 : -0.0) : 0x1p-20 * (b / 8 % 1000); }},
        {"room temperature",
         [](std::uint64_t b, int c) { return 290 + c + 0x1p-30 * (b % (std::uint64_t{10} << 30)); }},
        {"a half for each rank",
         [](std::uint64_t b, int) { return std::pow(10.0, 0x1p-40 * (b % (std::uint64_t{20} << 40)) - 10); }},
        {"any bits",
         [](std::uint64_t b, int) { return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(b))); }},
    };
    for (const auto& c : cases)
        for (int channels : {1, 3, 4})
            for (const Size& size : {Size{61, 43}, Size{640, 400}}) {
                SCOPED_TRACE(std::string(c.name) + ", " + std::to_string(channels) + " channels, " +
                             std::to_string(size.width));
                Picture picture({size.width, size.height, channels, Depth::f32}, packed);
                std::uint64_t seed = 0;
                for (std::int64_t y = 0; y < size.height; ++y)
                    for (std::int64_t x = 0; x < size.width; ++x)
                        for (int channel = 0; channel < channels; ++channel)
                            picture.set(x, y, channel, c.value(scramble(++seed), channel));
                check(picture);
                ASSERT_FALSE(HasFailure());
            }
}

// ---- Large ---------------------------------------------------------------------------------------------------------

/// More than 2^32 samples, 4.3 GB. Rows of one value each, so that the counts are known without looking.
class LargeTest : public EngineTest {
  protected:
    static constexpr std::int64_t side = 65540;

    void SetUp() override {
        if (!flag("GPUHIST_LARGE_TESTS")) GTEST_SKIP() << "needs 5 GB of memory: GPUHIST_LARGE_TESTS=1 runs it";
        EngineTest::SetUp();
        if (HasFatalFailure() || IsSkipped()) return;
        pixels_ = std::make_unique<std::uint8_t[]>(side * side);
    }

    MutableImageView view(int channels) const {
        MutableImageView view;
        view.data = pixels_.get();
        view.width = side / channels;
        view.height = side;
        view.channels = channels;
        view.row_bytes = side;
        return view;
    }
    void fill_rows() {
        for (std::int64_t y = 0; y < side; ++y) std::memset(pixels_.get() + y * side, value_of(y), side);
    }
    static int value_of(std::int64_t y) { return static_cast<int>(10 + y % 200); }
    static std::uint64_t rows_with(int value) {
        return value < 10 || value >= 210 ? 0 : static_cast<std::uint64_t>(side / 200 + (value - 10 < side % 200));
    }

    std::unique_ptr<std::uint8_t[]> pixels_;
};

INSTANTIATE_TEST_SUITE_P(Large, LargeTest, testing::ValuesIn(engines_under_test), label_of);

TEST_P(LargeTest, one_count_past_32_bits) {
    std::memset(pixels_.get(), 200, side * side);
    pixels_[side * side - 1] = 255;
    const Analysis result = engine->analyze(view(1));
    const std::uint64_t pixels = side * side;
    ASSERT_GT(pixels, std::uint64_t{1} << 32);
    EXPECT_EQ(result.channels[0].pixels, pixels);
    EXPECT_EQ(result.channels[0].counts[200], pixels - 1);
    EXPECT_EQ(result.channels[0].counts[255], 1u);
    EXPECT_EQ(result.brightness->sum, (pixels - 1) * 200 + 255);
    EXPECT_EQ(result.brightness->sum_squares, (Int128{(pixels - 1) * 40000 + 65025, 0}));
    EXPECT_EQ(result.brightness->minimum, 200u);
    EXPECT_EQ(result.brightness->maximum, 255u);
    expect_all_pixels_counted(result);
}

TEST_P(LargeTest, gray_and_color) {
    fill_rows();
    for (int channels : {1, 3, 4}) {
        const Analysis result = engine->analyze(view(channels));
        const auto width = static_cast<std::uint64_t>(side / channels);
        std::uint64_t sum = 0;
        for (const ChannelAnalysis& channel : result.channels)
            for (int value = 0; value < 256; ++value)
                EXPECT_EQ(channel.counts[static_cast<std::size_t>(value)], rows_with(value) * width)
                    << to_string(channel.channel) << " " << value;
        for (int value = 0; value < 256; ++value) sum += rows_with(value) * width * static_cast<std::uint64_t>(value);
        EXPECT_EQ(result.brightness->sum, sum);
        expect_all_pixels_counted(result);
    }
}

TEST_P(LargeTest, normalized_in_place) {
    fill_rows();
    const MutableImageView image = view(1);
    Analysis result;
    engine->normalize(image, {}, {}, image, result);
    EXPECT_EQ(result.brightness->minimum, 10u);
    for (std::int64_t y = 0; y < side; ++y) {
        const int expected = ((value_of(y) - 10) * 255 * 2 + 199) / (2 * 199);
        const std::uint8_t* row = pixels_.get() + y * side;
        ASSERT_EQ(std::count(row, row + side, expected), side) << "row " << y;
    }
}

}  // namespace
}  // namespace gpuhist::test
