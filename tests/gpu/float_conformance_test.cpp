// Every engine on f32 images: bins, moments, order statistics, against the oracle and the CPU engine on one thread.
//
// `small` cases are few and tiny enough for compute-sanitizer: --gtest_filter='Conformance*small*'.
#include <bit>
#include <cmath>
#include <cstring>

#include "gpuhist/statistics.hpp"
#include "support/analysis_under_test.hpp"

namespace gpuhist::test {
namespace {

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

// Values on the edges of the bins, and the neighbors of the edges on both sides.
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

// One channel, and with colors luma, without a finite sample; the others as they are, or of one value.
TEST_P(AnalysisTest, small_float_channels_without_a_finite_sample) {
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
        {"two neighbors", [](std::uint64_t b, std::int64_t) { return b & 1 ? 16777216.0 : 16777218.0; }},
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
        {"halves of its own for each channel",
         [](std::uint64_t b, int c) { return std::pow(10.0, 0x1p-40 * (b % (std::uint64_t{20} << 40)) - 20 + 7 * c); }},
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

}  // namespace
}  // namespace gpuhist::test
