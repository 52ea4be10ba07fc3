// Robust numbers against their definitions, on sorted samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "core/codes.hpp"
#include "core/half.hpp"
#include "gpuhist/dataset.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/frequency_table.hpp"
#include "gpuhist/statistics.hpp"
#include "support/statistics_under_test.hpp"

namespace {

using namespace gpuhist;
using test::expect_same;

struct Robust {
    double mad, mean, std, share;
};

double median_of(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    const std::size_t half = samples.size() / 2;
    return samples.size() % 2 == 1 ? samples[half] : samples[half - 1] + (samples[half] - samples[half - 1]) / 2;
}

/// The definitions, as numpy and astropy carry them out.
Robust expected_of(std::vector<double> samples, double sigma) {
    const auto n = static_cast<double>(samples.size());
    std::vector<double> distances;
    const double center = median_of(samples);
    for (const double one : samples) distances.push_back(std::abs(one - center));
    Robust found{median_of(distances), 0, 0, 0};
    for (std::size_t before = 0; before != samples.size();) {
        before = samples.size();
        long double sum = 0, squares = 0;
        for (const double one : samples) sum += one;
        const long double mean = sum / static_cast<long double>(before);
        for (const double one : samples) squares += (one - mean) * (one - mean);
        found.mean = static_cast<double>(mean);
        found.std = static_cast<double>(std::sqrt(squares / static_cast<long double>(before)));
        const double median = median_of(samples), low = median - sigma * found.std, high = median + sigma * found.std;
        samples.erase(
            std::remove_if(samples.begin(), samples.end(), [&](double one) { return one < low || one > high; }),
            samples.end());
    }
    found.share = (n - static_cast<double>(samples.size())) / n;
    return found;
}

template <class Sample>
ImageView view_of(const std::vector<Sample>& samples, int channels = 1) {
    const auto width = static_cast<std::int64_t>(samples.size()) / channels;
    return packed_view(samples.data(), width, 1, channels, core::depth_of<Sample>(), ChannelOrder::rgb);
}

/// Samples of a narrow peak, some far away on one side.
template <class Sample>
std::vector<Sample> peak(std::size_t count, std::uint64_t seed, double center, double width, double outlier) {
    std::mt19937_64 random(seed);
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < count; ++i) {
        double value = center;
        for (int k = 0; k < 4; ++k) value += (static_cast<double>(random() % 2001) / 1000 - 1) * width;
        if (random() % 17 == 0) value = outlier - static_cast<double>(random() % 5) * width;
        if constexpr (std::is_same_v<Sample, Half>)
            samples.push_back(core::narrowed<Half>(static_cast<float>(value)));
        else if constexpr (std::is_floating_point_v<Sample>)
            samples.push_back(static_cast<Sample>(value));
        else
            samples.push_back(static_cast<Sample>(std::llround(value)));
    }
    return samples;
}

template <class Sample>
std::vector<double> values_of(const std::vector<Sample>& samples) {
    std::vector<double> values;
    for (const Sample one : samples)
        if constexpr (std::is_same_v<Sample, Half>)
            values.push_back(core::to_float(one));
        else
            values.push_back(static_cast<double>(one));
    return values;
}

void expect_robust(const Statistics& row, const Robust& expected, double scale) {
    ASSERT_TRUE(row.mad && row.clipped_mean && row.clipped_std && row.clipped_share);
    EXPECT_NEAR(*row.mad, expected.mad, 1e-15 * scale);
    EXPECT_NEAR(*row.clipped_mean, expected.mean, 1e-14 * scale);
    EXPECT_NEAR(*row.clipped_std, expected.std, 1e-12 * scale);
    EXPECT_EQ(*row.clipped_share, expected.share);
}

template <class Sample>
void check(double center, double width, double outlier) {
    for (const std::size_t count : {1U, 2U, 3U, 100U, 1001U, 5000U})
        for (const double sigma : {3.0, 1.5, 2.25}) {
            SCOPED_TRACE(std::to_string(count) + " samples, " + std::to_string(sigma));
            const auto samples = peak<Sample>(count, count, center, width, outlier);
            const ImageView view = view_of(samples);
            const Analysis analysis = make_engine("cpu")->analyze(view);
            const bool bins = traits_of(view.depth).counting == Counting::bins;
            const auto values = bins ? count_frequencies(view) : std::vector<FrequencyTable>();
            const Statistics row = statistics(analysis, {Percentiles(), sigma}, values).at(0);
            const double scale = std::max(std::abs(center), std::abs(outlier));
            expect_robust(row, expected_of(values_of(samples), sigma), scale);
            if (*row.clipped_share == 0 && !bins) {
                EXPECT_EQ(row.clipped_mean, row.mean);
                EXPECT_EQ(row.clipped_std, row.std);
            }
            // A set of one image, and of its halves, has the same bits.
            Summary set, halves;
            set.add(analysis, values);
            EXPECT_EQ(set.statistics({Percentiles(), sigma}).at(0).statistics.mad, row.mad);
            EXPECT_EQ(set.statistics({Percentiles(), sigma}).at(0).statistics.clipped_mean, row.clipped_mean);
            if (count < 2) continue;
            const auto middle = static_cast<std::ptrdiff_t>(count / 2);
            for (const auto& part : {std::vector<Sample>(samples.begin(), samples.begin() + middle),
                                     std::vector<Sample>(samples.begin() + middle, samples.end())}) {
                const ImageView half = view_of(part);
                halves.add(make_engine("cpu")->analyze(half), bins ? count_frequencies(half) : values);
            }
            Statistics of_set = set.statistics({Percentiles(), sigma}).at(0).statistics,
                       of_halves = halves.statistics({Percentiles(), sigma}).at(0).statistics;
            if (bins)  // their moments depend on the images' pivots
                for (Statistics* one : {&of_set, &of_halves})
                    one->mean = one->std = one->std_sample = one->skewness = one->kurtosis = std::nullopt;
            expect_same(of_halves, of_set);
        }
}

TEST(Robust, NumbersOfU8) {
    check<std::uint8_t>(60, 5, 250);
}
TEST(Robust, NumbersOfS8) {
    check<std::int8_t>(-60, 5, 120);
}
TEST(Robust, NumbersOfU16) {
    check<std::uint16_t>(1000, 70, 65000);
}
TEST(Robust, NumbersOfS16) {
    check<std::int16_t>(-1000, 70, -32000);
}
TEST(Robust, NumbersOfU32) {
    check<std::uint32_t>(4e9, 1e6, 5e6);
}
TEST(Robust, NumbersOfS32) {
    check<std::int32_t>(0, 1e6, -2e9);
}
TEST(Robust, NumbersOfF16) {
    check<Half>(0.5, 0.0625, 8);
}
TEST(Robust, NumbersOfF32) {
    check<float>(0.5, 0.0625, -8);
}
TEST(Robust, NumbersOfF64) {
    check<double>(1e-3, 1e-5, 1);
}

TEST(Robust, NumbersAreOnlyFoundIfAskedFor) {
    const std::vector<std::uint8_t> samples{1, 2, 3};
    const Statistics row = statistics(make_engine("cpu")->analyze(view_of(samples))).at(0);
    EXPECT_FALSE(row.mad || row.clipped_mean || row.clipped_std || row.clipped_share);
    const std::vector<float> floats{1, 2, 3};
    const Analysis analysis = make_engine("cpu")->analyze(view_of(floats));
    const Statistics uncounted = statistics(analysis, {Percentiles(), 3}).at(0);
    EXPECT_FALSE(uncounted.mad || uncounted.clipped_mean || uncounted.mode);
    const Statistics counted = statistics(analysis, {Percentiles(), 3}, count_frequencies(view_of(floats))).at(0);
    EXPECT_EQ(counted.mad, 1);
    EXPECT_EQ(counted.mode, 1);
    EXPECT_EQ(counted.unique, 3U);
}

TEST(Robust, NumbersOfAllPoolTheColors) {
    const auto samples = peak<float>(3 * 400, 5, 0.5, 0.125, 4);
    const ImageView view = view_of(samples, 3);
    const auto rows = statistics(make_engine("cpu")->analyze(view), {Percentiles(), 3}, count_frequencies(view));
    ASSERT_EQ(rows.size(), 5U);
    EXPECT_EQ(rows[4].channel, Channel::all);
    expect_robust(rows[4], expected_of(values_of(samples), 3), 4);
}

TEST(Robust, ClippingMayLeaveNothing) {
    const std::vector<std::uint8_t> samples{0, 1};
    const Statistics row = statistics(make_engine("cpu")->analyze(view_of(samples)), {Percentiles(), 0.5}).at(0);
    EXPECT_EQ(row.mad, 0.5);
    EXPECT_EQ(row.clipped_share, 1);
    EXPECT_FALSE(row.clipped_mean || row.clipped_std);
    const std::vector<float> nan{std::numeric_limits<float>::quiet_NaN()};
    const Statistics none =
        statistics(make_engine("cpu")->analyze(view_of(nan)), {Percentiles(), 3}, count_frequencies(view_of(nan)))
            .at(0);
    EXPECT_FALSE(none.mad || none.clipped_mean || none.clipped_std || none.clipped_share || none.sum || none.mode);
}

TEST(Robust, NumbersOfWeightedSamples) {
    // Gray 10, 20, 30, 200 with alpha 1, 2, 1, 1: the lowest value with half of the weight is 20.
    std::vector<std::uint8_t> pixels;
    for (const auto& [gray, alpha] : {std::pair(10, 1), {20, 2}, {30, 1}, {200, 1}})
        for (const int sample : {gray, gray, gray, alpha}) pixels.push_back(static_cast<std::uint8_t>(sample));
    ImageView view = view_of(pixels, 4);
    view.samples = Samples::gray_alpha;
    Validity validity;
    validity.alpha = AlphaRule::weight;
    AnalysisRequest request;
    request.validity = std::make_shared<const Validity>(validity);
    Analysis analysis = make_engine("cpu")->analyze(view, request);
    name_channels(analysis, Samples::gray_alpha);
    const Statistics row = statistics(analysis, {Percentiles(), 1.5}).at(0);
    EXPECT_EQ(row.mad, 10);  // distances 0, 0, 10, 10, 180: the third
    EXPECT_EQ(row.sum, SampleSum(Int128{280}));
    EXPECT_EQ(row.mode, 20);
    EXPECT_EQ(row.clipped_share, 0.2);  // 200, over 20 + 1.5 · 72.3
    EXPECT_EQ(row.clipped_mean, 20);
    EXPECT_DOUBLE_EQ(*row.clipped_std, std::sqrt(50));
}

TEST(Robust, RefusesAWidthThatIsNone) {
    const Analysis analysis = make_engine("cpu")->analyze(view_of(std::vector<std::uint8_t>{1}));
    for (const double sigma : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL})
        EXPECT_THROW(statistics(analysis, {Percentiles(), sigma}), InvalidArgument) << sigma;
}

}  // namespace
