// Normalized copies of every engine: against the oracle, against OpenCV, and bit for bit against the CPU engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <sstream>

#include "gpuhist/statistics.hpp"
#include "support/engines_under_test.hpp"
#include "support/modes.hpp"
#include "support/oracle.hpp"

namespace gpuhist::test {
namespace {

std::string describe(const Shape& shape, Content content, const Normalization& normalization) {
    std::ostringstream out;
    out << shape.width << "x" << shape.height << "x" << shape.channels << " " << to_string(shape.depth)
        << (shape.order == ChannelOrder::bgr ? " bgr" : " rgb") << ", content " << static_cast<int>(content)
        << ", mode " << to_string(normalization.mode) << (normalization.joint ? " joint " : " separate ")
        << normalization.low << "," << normalization.high;
    return out.str();
}

Shape output_shape(Shape shape, NormalizeMode mode) {
    shape.depth = normalized_depth(shape.depth, mode);
    return shape;
}

/// The findings of `normalize` are those of `analyze`, which have tests of their own; only that a stretch of f32 leaves
/// the order statistics between which it stretched there too.
std::string difference_but_for_ranks(Analysis got, const Analysis& expected) {
    auto only_ranks_of = [](std::vector<OrderStatistic>& order, const std::vector<OrderStatistic>& wanted) {
        order.erase(std::remove_if(order.begin(), order.end(),
                                   [&](const OrderStatistic& o) {
                                       return std::find(wanted.begin(), wanted.end(), o) == wanted.end();
                                   }),
                    order.end());
    };
    for (std::size_t c = 0; c < got.channels.size() && c < expected.channels.size(); ++c)
        only_ranks_of(got.channels[c].order_statistics, expected.channels[c].order_statistics);
    only_ranks_of(got.pooled_order_statistics, expected.pooled_order_statistics);
    return difference(got, expected);
}

class NormalizationTest : public EngineTest {
  protected:
    /// The copy goes to poisoned memory of another layout than the input's, then in place.
    void check(const Picture& picture, const Layout& output_layout, const Normalization& normalization,
               const AnalysisRequest& request = {}) {
        if (left_out()) return;
        const ImageView image = picture.view();
        const std::vector<std::byte> input_before = picture.bytes();
        Picture output(output_shape(picture.shape(), normalization.mode), output_layout);
        const std::vector<std::byte> around_before = output.bytes_between_pixels();
        Analysis result;
        poison(result);
        engine->normalize(image, request, normalization, output.mutable_view(), result);

        EXPECT_TRUE(picture.bytes() == input_before) << "the input was written to";
        EXPECT_TRUE(output.bytes_between_pixels() == around_before) << "bytes between rows were written to";
        const Analysis analysis = reference->analyze(image, request);
        EXPECT_EQ(difference_but_for_ranks(result, analysis), "");
        const Picture expected = expected_normalized(image, normalization, analysis);
        EXPECT_EQ(difference(output.view(), expected.view()), "");

        Picture from_reference(output.shape(), packed);
        Analysis reference_result;
        reference->normalize(image, request, normalization, from_reference.mutable_view(), reference_result);
        EXPECT_EQ(difference(output.view(), from_reference.view()), "") << "not the reference's bits";
        EXPECT_EQ(difference(result, reference_result), "") << "not the reference's bits";

        if (output.shape().depth != picture.shape().depth) return;
        Picture in_place(output.shape(), output_layout);
        for (std::int64_t y = 0; y < image.height; ++y)
            std::memcpy(static_cast<std::byte*>(in_place.mutable_view().data) + y * in_place.view().row_bytes,
                        static_cast<const std::byte*>(image.data) + y * image.row_bytes,
                        static_cast<std::size_t>(image.packed_row_bytes()));
        engine->normalize(in_place.view(), request, normalization, in_place.mutable_view(), result);
        EXPECT_EQ(difference(in_place.view(), expected.view()), "") << "in place";
        EXPECT_TRUE(in_place.bytes_between_pixels() == around_before) << "in place: bytes between rows";
    }

    /// One image through all modes, tables joint and separate.
    void check_modes(const Picture& picture, Content content, std::size_t turn) {
        for (NormalizeMode mode : all_exact_modes)
            for (bool joint : {true, false}) {
                if (!joint && picture.shape().channels == 1) continue;
                const Normalization normalization{mode, 1, 99, joint};
                SCOPED_TRACE(describe(picture.shape(), content, normalization));
                check(picture, layouts[(turn + 2) % std::size(layouts)], normalization);
            }
    }

    void check_matrix(Depth depth) {
        std::size_t turn = 0;
        for (const auto& [width, height] : {std::pair{1, 1}, {1, 15}, {15, 1}, {16, 16}, {37, 11}})
            for (int channels : {1, 3, 4})
                for (Content content : contents_of(depth)) {
                    const auto order = turn % 2 ? ChannelOrder::rgb : ChannelOrder::bgr;
                    const Shape shape{width, height, channels, depth, order};
                    check_modes(Picture(shape, layouts[turn % std::size(layouts)], content), content, turn);
                    ++turn;
                    if (HasFailure()) return;  // one case is enough to look at
                }
    }
};

INSTANTIATE_TEST_SUITE_P(Conformance, NormalizationTest, testing::ValuesIn(engines_under_test), label_of);

TEST_P(NormalizationTest, small_u8) {
    check_matrix(Depth::u8);
}
TEST_P(NormalizationTest, small_u16) {
    check_matrix(Depth::u16);
}
TEST_P(NormalizationTest, small_f32) {
    check_matrix(Depth::f32);
}

TEST_P(NormalizationTest, medium) {
    std::size_t turn = 0;
    for (Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (int channels : {1, 3, 4})
            for (Content content : {Content::natural, Content::gaussian, Content::sparse}) {
                const Shape shape{641, 203, channels, depth, turn % 2 ? ChannelOrder::rgb : ChannelOrder::bgr};
                check_modes(Picture(shape, layouts[turn % std::size(layouts)], content), content, turn);
                ++turn;
            }
}

TEST_P(NormalizationTest, twelve_megapixels) {
    const Picture picture({4000, 3000, 3, Depth::u8}, packed, Content::natural);
    check(picture, packed, {NormalizeMode::minmax, 1, 99, true});
    check(picture, {3, 1, 0}, {NormalizeMode::equalize, 1, 99, true});
}

TEST_P(NormalizationTest, small_without_luma_histogram) {
    for (Depth depth : {Depth::u8, Depth::u16})
        for (NormalizeMode mode : all_exact_modes) {
            const Picture picture({61, 43, 3, depth}, layouts[1], Content::natural);
            check(picture, packed, {mode, 1, 99, true}, {false, 256, {}});
        }
}

// A stretch between percentiles of f32 needs order statistics: it is analyzed in full. The others are as brief as
// asked.
TEST_P(NormalizationTest, small_brief) {
    AnalysisRequest brief;
    brief.detail = Detail::brief;
    for (int channels : {1, 3, 4})
        for (Content content : {Content::natural, Content::specials, Content::outliers, Content::constant})
            for (NormalizeMode mode : all_exact_modes) {
                const Shape shape{61, 43, channels, Depth::f32};
                const Picture picture(shape, layouts[1], content);
                const Normalization normalization{mode, 2, 97, channels != 4};
                SCOPED_TRACE(describe(shape, content, normalization));
                if (mode != NormalizeMode::percentile) {
                    check(picture, packed, normalization, brief);
                    continue;
                }
                Picture output(shape, packed), expected(shape, packed);
                Analysis result, in_full;
                engine->normalize(picture.view(), brief, normalization, output.mutable_view(), result);
                reference->normalize(picture.view(), {}, normalization, expected.mutable_view(), in_full);
                EXPECT_EQ(result.detail, Detail::full);
                EXPECT_EQ(difference(result, in_full), "");
                EXPECT_EQ(difference(output.view(), expected.view()), "");
            }
}

TEST_P(NormalizationTest, small_percentiles) {
    constexpr std::pair<double, double> percentiles[] = {{0, 100},        {0.1, 99.9},  {1, 99},   {0, 50},
                                                         {49.999999, 50}, {99.9, 100},  {0, 1e-6}, {33.3, 66.7},
                                                         {12.5, 87.5},    {5, 5.000001}};
    for (Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (Content content : {Content::ramp, Content::natural, Content::sparse})
            for (std::int64_t width : {1, 10, 25, 100}) {
                const Shape shape{width, 10, 3, depth};
                const Picture picture(shape, packed, content);
                for (const auto& [low, high] : percentiles)
                    for (bool joint : {true, false}) {
                        const Normalization normalization{NormalizeMode::percentile, low, high, joint};
                        SCOPED_TRACE(describe(shape, content, normalization));
                        check(picture, packed, normalization);
                    }
            }
}

// 99.9 percent of 1000 samples are 999 of them, not 1000 after 99.9 was rounded to binary.
TEST_P(NormalizationTest, small_percentile_of_a_thousand) {
    Picture picture({1000, 1, 1, Depth::u16}, packed);
    for (int x = 0; x < 1000; ++x) picture.set(x, 0, 0, 10 * x);
    Picture output(picture.shape(), packed);
    Analysis result;
    engine->normalize(picture.view(), {}, {NormalizeMode::percentile, 0.1, 99.9, true}, output.mutable_view(), result);
    EXPECT_EQ(sample(output.view(), 0, 0, 0), 0u);  // the extremes: 0 and 9980
    EXPECT_EQ(sample(output.view(), 1, 0, 0), static_cast<std::uint32_t>((10 * 65535 * 2 + 9980) / (2 * 9980)));
    EXPECT_EQ(sample(output.view(), 998, 0, 0), 65535u);
    EXPECT_EQ(sample(output.view(), 999, 0, 0), 65535u);
    EXPECT_LT(sample(output.view(), 997, 0, 0), 65535u);
}

TEST_P(NormalizationTest, small_constant_images_stay) {
    for (Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (int channels : {1, 3, 4})
            for (Content content : {Content::lowest, Content::constant, Content::highest}) {
                const Picture picture({19, 7, channels, depth}, layouts[1], content);
                for (NormalizeMode mode : all_exact_modes) {
                    if (left_out()) continue;
                    Picture output(output_shape(picture.shape(), mode), packed);
                    Analysis result;
                    engine->normalize(picture.view(), {}, {mode, 1, 99, false}, output.mutable_view(), result);
                    if (mode != NormalizeMode::zscore) {
                        EXPECT_EQ(difference(output.view(), picture.view()), "") << static_cast<int>(mode);
                        continue;
                    }
                    const auto colors = channels == 1 ? std::vector{Channel::gray}
                                                      : std::vector{Channel::red, Channel::green, Channel::blue};
                    for (Channel color : colors)
                        for (float value : float_values_of(output.view(), color)) ASSERT_EQ(value, 0);
                }
            }
}

TEST_P(NormalizationTest, small_not_finite_samples) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const float values[] = {NAN, infinity, -infinity, 2, 4, 3};
    Picture picture({6, 1, 1, Depth::f32}, packed);
    for (int x = 0; x < 6; ++x) picture.set(x, 0, 0, values[x]);
    auto normalized = [&](NormalizeMode mode) {
        Picture output(picture.shape(), packed);
        Analysis result;
        engine->normalize(picture.view(), {}, {mode, 0, 100, true}, output.mutable_view(), result);
        return float_values_of(output.view(), Channel::gray);
    };
    const std::vector<float> stretched = normalized(NormalizeMode::minmax);
    EXPECT_TRUE(std::isnan(stretched[0]));
    EXPECT_EQ(std::vector<float>(stretched.begin() + 1, stretched.end()),
              (std::vector<float>{infinity, -infinity, 0, 1, 0.5}));
    for (NormalizeMode mode : {NormalizeMode::percentile, NormalizeMode::equalize}) {
        const std::vector<float> clamped = normalized(mode);
        EXPECT_TRUE(std::isnan(clamped[0]));
        EXPECT_EQ(std::vector<float>(clamped.begin() + 1, clamped.end()), (std::vector<float>{1, 0, 0, 1, 0.5}));
    }
    const std::vector<float> scored = normalized(NormalizeMode::zscore);
    EXPECT_TRUE(std::isnan(scored[0]));
    const auto step = static_cast<float>(1 / std::sqrt(2.0 / 3));
    EXPECT_EQ(scored[1], infinity);
    EXPECT_EQ(scored[2], -infinity);
    EXPECT_FLOAT_EQ(scored[3], -step);
    EXPECT_FLOAT_EQ(scored[4], step);
    EXPECT_EQ(scored[5], 0);
}

// Zeros of both signs, and values that become zero only by rounding: the same bits from every engine.
TEST_P(NormalizationTest, small_signs_of_zero) {
    const float values[] = {-0.0f, 0.0f, -1e-45f, 1e-45f, 1, -0.0f, 0.25f, 0.0f};
    Picture picture({8, 3, 1, Depth::f32}, packed);
    for (int y = 0; y < 3; ++y)
        for (int x = 0; x < 8; ++x) picture.set(x, y, 0, values[x]);
    for (NormalizeMode mode : all_exact_modes)
        for (const auto& [low, high] : {std::pair<double, double>{0, 100}, {25, 75}, {30, 99}}) {
            const Normalization normalization{mode, low, high, true};
            SCOPED_TRACE(describe(picture.shape(), Content::specials, normalization));
            check(picture, packed, normalization);
        }
}

// ---- OpenCV --------------------------------------------------------------------------------------------------------

cv::Mat matrix_of(const ImageView& image) {
    const int depth = image.depth == Depth::u8 ? CV_8U : CV_16U;
    return {static_cast<int>(image.height), static_cast<int>(image.width), CV_MAKETYPE(depth, image.channels),
            const_cast<void*>(image.data), static_cast<std::size_t>(image.row_bytes)};
}

/// minmax of an image with every value from low to high, for all pairs or for every `step`th.
void check_minmax_pairs(Engine& engine, int step) {
    std::uint8_t input[256], output[256];
    Analysis result;
    int pairs = 0, halves = 0, opencv_halves_down = 0;
    for (int low = 0; low < 256; ++low)
        for (int high = low + 1; high < 256; ++high) {
            if (pairs++ % step != 0) continue;
            const int width = high - low + 1, range = high - low;
            for (int x = 0; x < width; ++x) input[x] = static_cast<std::uint8_t>(low + x);
            engine.normalize({input, width, 1, 1, Depth::u8, width}, {}, {}, {output, width, 1, 1, Depth::u8, width},
                             result);
            cv::Mat opencv;
            cv::normalize(cv::Mat(1, width, CV_8U, input), opencv, 0, 255, cv::NORM_MINMAX);
            for (int x = 0; x < width; ++x) {
                const int doubled = 2 * x * 255;
                ASSERT_EQ(output[x], (doubled + range) / (2 * range)) << low << " to " << high << ": " << low + x;
                const bool half = doubled % (2 * range) == range;
                halves += half;
                opencv_halves_down += half && opencv.at<std::uint8_t>(x) != output[x];
                ASSERT_TRUE(half || output[x] == opencv.at<std::uint8_t>(x))
                    << low << " to " << high << ": " << low + x << " becomes " << int{output[x]} << ", OpenCV says "
                    << int{opencv.at<std::uint8_t>(x)};
            }
        }
    EXPECT_EQ(pairs, 32640);
    // Both kinds of halves occurred, so that the exception above is no empty one.
    EXPECT_GT(opencv_halves_down, 0);
    EXPECT_GT(halves, opencv_halves_down);
}

TEST_P(NormalizationTest, minmax_of_every_pair_equals_opencv_but_at_halves) {
    check_minmax_pairs(*engine, every_nth() > 1 ? 331 : on_gpu() ? 13 : 1);
}

/// OpenCV counts in f32, and is off by one where no half is near.
TEST_P(NormalizationTest, minmax_of_16_bits_is_exact_where_opencv_is_not) {
    constexpr int low = 117, high = 64801, range = high - low;
    std::vector<std::uint16_t> input(range + 1), output(input.size());
    for (int x = 0; x <= range; ++x) input[static_cast<std::size_t>(x)] = static_cast<std::uint16_t>(low + x);
    Analysis result;
    engine->normalize({input.data(), range + 1, 1, 1, Depth::u16, 2 * (range + 1)}, {}, {},
                      {output.data(), range + 1, 1, 1, Depth::u16, 2 * (range + 1)}, result);
    cv::Mat opencv;
    cv::normalize(cv::Mat(1, range + 1, CV_16U, input.data()), opencv, 0, 65535, cv::NORM_MINMAX);
    int different = 0;
    for (int x = 0; x <= range; ++x) {
        const std::int64_t doubled = std::int64_t{2} * x * 65535, exact = (doubled + range) / (2 * range);
        const int written = output[static_cast<std::size_t>(x)], theirs = opencv.at<std::uint16_t>(x);
        ASSERT_EQ(written, exact) << low + x;
        ASSERT_LE(std::abs(theirs - written), 1) << low + x;
        different += theirs != written && doubled % (2 * range) != range;
    }
    EXPECT_GT(different, 0);
}

/// numpy.percentile(method="inverted_cdf"), numpy.clip, and rounding; scikit-image's rescale_intensity truncates.
TEST_P(NormalizationTest, percentile_rounds_between_nearest_ranks) {
    std::uint8_t input[]{0, 10, 20, 30, 40, 50, 60, 70, 80, 255}, output[10];
    Analysis result;
    engine->normalize({input, 10, 1, 1, Depth::u8, 10}, {}, {NormalizeMode::percentile, 15, 85, true},
                      {output, 10, 1, 1, Depth::u8, 10}, result);
    // Ranks 2 and 9 of 10: from 10 to 80, 255 / 70 per step of 10, halves up.
    const std::vector<std::uint8_t> wanted{0, 0, 36, 73, 109, 146, 182, 219, 255, 255};
    EXPECT_EQ(std::vector<std::uint8_t>(output, output + 10), wanted);
}

TEST_P(NormalizationTest, equalize_equals_opencv) {
    for (Content content : integer_contents)
        for (const auto& [width, height] : {std::pair{1, 1}, {2, 1}, {15, 17}, {256, 3}, {640, 480}, {1999, 1501}}) {
            const Picture picture({width, height, 1, Depth::u8}, layouts[2], content);
            Picture output(picture.shape(), packed);
            Analysis result;
            engine->normalize(picture.view(), {}, {NormalizeMode::equalize, 1, 99, true}, output.mutable_view(),
                              result);
            cv::Mat expected;
            cv::equalizeHist(matrix_of(picture.view()), expected);
            EXPECT_EQ(cv::norm(matrix_of(output.view()), expected, cv::NORM_INF), 0)
                << width << "x" << height << " content " << static_cast<int>(content);
        }
}

// Joint: what cv::equalizeHist makes of a gray value in the gray image is what every channel's value becomes.
TEST_P(NormalizationTest, joint_equalize_is_the_table_of_luma) {
    const Picture picture({320, 200, 3, Depth::u8}, packed, Content::natural);
    const cv::Mat image = matrix_of(picture.view());
    cv::Mat luma, equalized;
    cv::cvtColor(image, luma, cv::COLOR_BGR2GRAY);
    cv::equalizeHist(luma, equalized);
    int table[256];
    std::fill_n(table, 256, -1);
    for (int y = 0; y < luma.rows; ++y)
        for (int x = 0; x < luma.cols; ++x) table[luma.at<std::uint8_t>(y, x)] = equalized.at<std::uint8_t>(y, x);
    Picture output(picture.shape(), packed);
    Analysis result;
    engine->normalize(picture.view(), {}, {NormalizeMode::equalize, 1, 99, true}, output.mutable_view(), result);
    int compared = 0;
    for (std::int64_t y = 0; y < 200; ++y)
        for (std::int64_t x = 0; x < 320; ++x)
            for (int c = 0; c < 3; ++c) {
                const int mapped = table[sample(picture.view(), x, y, c)];
                if (mapped < 0) continue;  // no pixel is as bright as this channel's value
                ++compared;
                ASSERT_EQ(static_cast<int>(sample(output.view(), x, y, c)), mapped);
            }
    EXPECT_GT(compared, 320 * 200);
}

}  // namespace
}  // namespace gpuhist::test
