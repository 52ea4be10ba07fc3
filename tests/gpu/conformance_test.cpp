// Every engine against the oracle, against OpenCV, and bit for bit against the CPU engine on one thread.
//
// `small` cases are few and tiny enough for compute-sanitizer: --gtest_filter='Conformance*small*'.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "support/analysis_under_test.hpp"

namespace gpuhist::test {
namespace {

constexpr Size small_sizes[] = {{1, 1}, {1, 15}, {15, 1}, {16, 16}, {17, 5}};
constexpr Size medium_sizes[] = {{10000, 1}, {1, 1000}, {257, 129}};

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
    // f32 has luma all the same.
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
        shape.depth = std::array{Depth::u8, Depth::u16, Depth::f32}[(bits >> 24) % 3];
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
        const ChannelAnalysis& found = *result.find(Channel::luma);
        auto near = [](float got, float expected) { EXPECT_NEAR(got, expected, 1e-6 * std::abs(expected)); };
        near(found.minimum, ascending.front());
        near(found.maximum, ascending.back());
        for (const OrderStatistic& order : found.order_statistics) near(order.value, ascending[order.rank]);
    }
}

}  // namespace
}  // namespace gpuhist::test
