// Summaries: many images give what one image of all their pixels gives, in any order and grouping; floats exactly.
#include "gpuhist/dataset.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "core/wide.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/dataset.hpp"
#include "support/oracle.hpp"
#include "support/statistics_under_test.hpp"

namespace gpuhist::test {
namespace {

// ---- wide integers ----------------------------------------------------------------------------------------------

struct WideRow {
    const char *a, *b;
    int shift;
    std::uint64_t divisor;
    const char *sum, *difference, *product, *shifted;
    double as_double, ratio;
};
#define WIDE_ROWS
const WideRow wide_rows[] = {
#include "gpu/exact_sums.inc"
};
#undef WIDE_ROWS

template <std::size_t words>
std::array<std::uint64_t, words> words_of(std::string digits) {
    const bool negative = digits[0] == '-';
    if (negative) digits.erase(0, 1);
    std::array<std::uint64_t, words> value{};
    for (std::size_t i = 0; i < digits.size(); ++i)
        value[i / 16] |= std::stoull(std::string(1, digits[digits.size() - 1 - i]), nullptr, 16) << (4 * (i % 16));
    bool borrow = false;  // 0 − value
    if (negative)
        for (std::uint64_t& word : value) {
            const std::uint64_t subtracted = word;
            word = 0 - subtracted - (borrow ? 1 : 0);
            borrow = borrow || subtracted != 0;
        }
    return value;
}

TEST(Wide, ComputesAsPython) {
    using Wide = core::Wide<4>;
    ASSERT_GT(std::size(wide_rows), 60U);
    for (const WideRow& row : wide_rows) {
        SCOPED_TRACE(std::string(row.a) + " " + row.b);
        const Wide a(words_of<4>(row.a)), b(words_of<4>(row.b));
        EXPECT_EQ((a + b).to_words(), words_of<4>(row.sum));
        EXPECT_EQ((a - b).to_words(), words_of<4>(row.difference));
        EXPECT_EQ((a * b).to_words(), words_of<4>(row.product));
        EXPECT_EQ((a << row.shift).to_words(), words_of<4>(row.shifted));
        EXPECT_EQ(to_double(a), row.as_double);
        EXPECT_EQ(core::ratio(a, row.divisor), row.ratio);
        EXPECT_EQ(core::Wide<6>(a) + core::Wide<6>(b) + (-core::Wide<6>(b)), core::Wide<6>(a));
    }
}

struct RatioRow {
    const char* numerator;
    std::uint64_t denominator;
    double ratio;
};
#define RATIO_ROWS
const RatioRow ratio_rows[] = {
#include "gpu/exact_sums.inc"
};
#undef RATIO_ROWS

TEST(Integers, RatiosAreRoundedOnceAsInPython) {
    ASSERT_GT(std::size(ratio_rows), 100U);
    for (const RatioRow& row : ratio_rows) {
        const auto words = words_of<2>(row.numerator);
        const core::u128 numerator = static_cast<core::u128>(words[1]) << 64 | words[0];
        EXPECT_EQ(core::ratio(numerator, row.denominator), row.ratio) << row.numerator << " / " << row.denominator;
    }
}

// ---- floats -----------------------------------------------------------------------------------------------------

struct FloatImage {
    std::uint64_t samples;
    double minimum, maximum;
    double pivot;
    int exponent;
    std::array<Int128, 4> sums;
};
struct Population {
    const char* name;
    std::vector<FloatImage> images;
    std::array<const char*, 4> power_sums;
    std::array<double, 4> numbers;  ///< mean, std, skewness, kurtosis
};
const Population populations[] = {
#include "gpu/exact_sums.inc"
};

Analysis analysis_of(const FloatImage& image) {
    Analysis analysis;
    analysis.depth = Depth::f32;
    analysis.range = {-4e38, 4e38};
    ChannelAnalysis channel;
    channel.pixels = image.samples;
    channel.counts = {image.samples};
    channel.minimum = static_cast<float>(image.minimum);
    channel.maximum = static_cast<float>(image.maximum);
    channel.moments = {image.pivot, image.exponent, image.sums};
    analysis.channels = {channel};
    return analysis;
}

TEST(Summary, FloatsAreSummedExactly) {
    for (const Population& population : populations) {
        SCOPED_TRACE(population.name);
        Summary pool;
        for (const FloatImage& image : population.images) pool.add(analysis_of(image));
        const ChannelSummary& channel = pool.depths().at(0).channels.at(0);
        for (std::size_t k = 0; k < 4; ++k)
            EXPECT_EQ(channel.power_sums.sums[k], words_of<PowerSums::words>(population.power_sums[k])) << k + 1;
        const Statistics row = pool.statistics().at(0).statistics;
        const auto [mean, std, skewness, kurtosis] = population.numbers;
        EXPECT_EQ(row.mean, mean);
        EXPECT_NEAR(*row.std, std, std * 4e-16);
        if (std == 0) {
            EXPECT_FALSE(row.skewness || row.kurtosis);
            continue;
        }
        EXPECT_NEAR(*row.skewness, skewness, std::abs(skewness) * 1e-15);
        EXPECT_NEAR(*row.kurtosis, kurtosis, std::abs(kurtosis) * 1e-15);
    }
}

class EngineOf {
  public:
    Analysis operator()(const Picture& picture, const AnalysisRequest& request = {}) {
        return engine_->analyze(picture.view(), request);
    }

  private:
    std::unique_ptr<Engine> engine_ = make_engine("cpu", {.threads = 1});
};

TEST(Summary, FloatPicturesGiveTheMomentsOfAllPixels) {
    EngineOf analyze;
    for (Content content : {Content::random, Content::gaussian, Content::far_from_zero, Content::denormals,
                            Content::specials, Content::outliers, Content::natural}) {
        SCOPED_TRACE(static_cast<int>(content));
        Summary pool;
        std::vector<float> values;
        for (std::int64_t size : {1, 7, 31, 64}) {
            const Picture picture({size, size + 3, 1, Depth::f32}, packed, content);
            pool.add(analyze(picture));
            const std::vector<float> finite = float_channel(picture.view(), Channel::gray).finite;
            values.insert(values.end(), finite.begin(), finite.end());
        }
        std::sort(values.begin(), values.end());
        const Moments expected = moments_of(values);
        const Statistics row = pool.statistics().at(0).statistics;
        const double std = static_cast<double>(expected.std);
        EXPECT_NEAR(*row.mean, static_cast<double>(expected.mean),
                    1e-15 * (std::abs(static_cast<double>(expected.mean)) + std));
        EXPECT_NEAR(*row.std, std, 1e-13 * std);
        if (!(std > 0)) continue;
        EXPECT_NEAR(*row.skewness, static_cast<double>(expected.skewness), 1e-11 * (1 + std::abs(*row.skewness)));
        EXPECT_NEAR(*row.kurtosis, static_cast<double>(expected.kurtosis), 1e-11 * (1 + std::abs(*row.kurtosis)));
        EXPECT_EQ(row.min, values.front());
        EXPECT_EQ(row.max, values.back());
    }
}

TEST(Summary, FloatsShareAHistogramOnlyOverOneRange) {
    EngineOf analyze;
    const Picture a({9, 9, 3, Depth::f32}, packed, Content::random),
        b({9, 5, 3, Depth::f32}, packed, Content::gaussian);
    AnalysisRequest request;
    request.bins = 16;
    request.range = Range{0, 1};
    Summary same;
    same.add(analyze(a, request));
    same.add(analyze(b, request));
    const auto histogram = same.histogram(Depth::f32, {16, std::nullopt});
    ASSERT_TRUE(histogram);
    const Analysis first = analyze(a, request), second = analyze(b, request);
    for (std::size_t c = 0; c < histogram->columns.size(); ++c) {
        EXPECT_EQ(histogram->columns[c].below, first.channels[c].below + second.channels[c].below);
        for (std::size_t bin = 0; bin < 16; ++bin)
            EXPECT_EQ(histogram->columns[c].counts[bin],
                      first.channels[c].counts[bin] + second.channels[c].counts[bin]);
    }
    Summary different;
    different.add(analyze(a));
    EXPECT_TRUE(different.histogram(Depth::f32));
    different.add(analyze(b));
    EXPECT_FALSE(different.histogram(Depth::f32));
    EXPECT_FALSE(different.histogram(Depth::u8));
    EXPECT_EQ(different.statistics().size(), 5U);
}

TEST(Summary, OneBriefAnalysisMakesThePoolBrief) {
    EngineOf analyze;
    const Picture a({9, 9, 1, Depth::f32}, packed, Content::random),
        b({9, 5, 1, Depth::f32}, packed, Content::gaussian);
    AnalysisRequest brief;
    brief.detail = Detail::brief;
    Summary one, other;
    one.add(analyze(a));
    EXPECT_TRUE(one.statistics().at(0).statistics.kurtosis);
    one.add(analyze(b, brief));
    other.add(analyze(b, brief));
    other.add(analyze(a));
    EXPECT_TRUE(one == other);
    EXPECT_EQ(io::summary_json(one), io::summary_json(other));
    EXPECT_TRUE(one.statistics().at(0).statistics.std);
    EXPECT_FALSE(one.statistics().at(0).statistics.kurtosis);
}

// ---- integers: one image of all pixels --------------------------------------------------------------------------

/// All pixels of some pictures of one shape but for their sizes.
Picture concatenated(const std::vector<Picture>& pictures) {
    Shape shape = pictures.front().shape();
    shape.width = 0;
    shape.height = 1;
    for (const Picture& picture : pictures) shape.width += picture.view().pixels();
    Picture all(shape, packed);
    std::int64_t at = 0;
    for (const Picture& picture : pictures) {
        const ImageView image = picture.view();
        for (std::int64_t y = 0; y < image.height; ++y)
            for (std::int64_t x = 0; x < image.width; ++x, ++at)
                for (int c = 0; c < image.channels; ++c) all.set(at, 0, c, sample(image, x, y, c));
    }
    return all;
}

TEST(Summary, IntegersGiveTheNumbersOfOneImageOfAllPixels) {
    EngineOf analyze;
    for (Depth depth : {Depth::u8, Depth::u16})
        for (int channels : {1, 3, 4}) {
            SCOPED_TRACE(std::string(to_string(depth)) + " " + std::to_string(channels));
            std::vector<Picture> pictures;
            Summary pool;
            std::int64_t size = 1;
            for (Content content : integer_contents) {
                pictures.emplace_back(Shape{size, size / 2 + 1, channels, depth}, packed, content);
                pool.add(analyze(pictures.back()));
                size += 5;
            }
            const Analysis whole = analyze(concatenated(pictures));
            const std::vector<Statistics> expected = statistics(whole);
            const std::vector<SummaryRow> rows = pool.statistics();
            ASSERT_EQ(rows.size(), expected.size());
            for (std::size_t i = 0; i < rows.size(); ++i) {
                SCOPED_TRACE(to_string(expected[i].channel));
                EXPECT_EQ(rows[i].depth, depth);
                EXPECT_EQ(rows[i].images, pictures.size());
                expect_same(rows[i].statistics, expected[i]);
            }
            for (const HistogramOptions& options :
                 {HistogramOptions{}, HistogramOptions{0, std::nullopt}, HistogramOptions{7, Range{-3, 201}}}) {
                const Histogram got = *pool.histogram(depth, options), wanted = histogram(whole, options);
                ASSERT_EQ(got.columns.size(), wanted.columns.size());
                for (std::size_t c = 0; c < got.columns.size(); ++c) {
                    EXPECT_EQ(got.columns[c].counts, wanted.columns[c].counts);
                    EXPECT_EQ(got.columns[c].below, wanted.columns[c].below);
                    EXPECT_EQ(got.columns[c].above, wanted.columns[c].above);
                }
            }
        }
}

/// Counts of 16 bits whose n Σx² passes 128 bits, beside the same in proportion and small.
TEST(Summary, StdStaysExactBeyond128Bits) {
    ChannelSummary channel;
    channel.images = 1;
    channel.counts.resize(65536);
    channel.counts[65000] = channel.counts[65001] = std::uint64_t{1} << 58;
    channel.pixels = std::uint64_t{1} << 59;
    DepthSummary depth;
    depth.depth = Depth::u16;
    depth.images = 1;
    depth.range = Range{0, 65536};
    depth.channels = {channel};
    const Statistics row = Summary({depth}).statistics().at(0).statistics;
    EXPECT_EQ(row.mean, 65000.5);
    EXPECT_EQ(row.std, 0.5);
    EXPECT_EQ(row.kurtosis, -2.0);
}

// ---- order and grouping -----------------------------------------------------------------------------------------

std::vector<Analysis> mixed_analyses() {
    EngineOf analyze;
    std::vector<Analysis> analyses;
    for (Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (int channels : {1, 3, 4})
            for (Content content : contents_of(depth)) {
                const std::int64_t size = 3 + static_cast<std::int64_t>(analyses.size() % 7);
                AnalysisRequest request;
                if (analyses.size() % 11 == 0) request.luma_histogram = false;
                analyses.push_back(analyze(Picture({size, size, channels, depth}, packed, content), request));
            }
    return analyses;
}

/// The pool of a range, cut at random into parts that are pooled by themselves and merged in random order.
Summary pooled(const std::vector<Analysis>& analyses, std::size_t begin, std::size_t end, std::mt19937& random) {
    Summary pool;
    if (end - begin < 4) {
        for (; begin < end; ++begin) pool.add(analyses[begin]);
        return pool;
    }
    const std::size_t middle = begin + 1 + random() % (end - begin - 1);
    const Summary left = pooled(analyses, begin, middle, random), right = pooled(analyses, middle, end, random);
    pool.merge(random() % 2 ? left : right);
    if (pool == left)
        pool.merge(right);
    else
        pool.merge(left);
    return pool;
}

TEST(Summary, OrderAndGroupingDoNotShow) {
    std::vector<Analysis> analyses = mixed_analyses();
    Summary expected;
    for (const Analysis& analysis : analyses) expected.add(analysis);
    const std::string text = io::summary_json(expected);
    std::mt19937 random(20);
    for (int round = 0; round < 12; ++round) {
        std::shuffle(analyses.begin(), analyses.end(), random);
        const Summary pool = pooled(analyses, 0, analyses.size(), random);
        ASSERT_TRUE(pool == expected) << round;
        ASSERT_EQ(io::summary_json(pool), text) << round;
    }
    EXPECT_EQ(expected.depths().size(), 3U);
}

TEST(Summary, MergesWithTheEmptyAndWithItself) {
    EngineOf analyze;
    const Analysis image = analyze(Picture({8, 8, 3, Depth::f32}, packed, Content::random));
    Summary pool, twice;
    pool.merge(Summary{});
    EXPECT_TRUE(pool.empty());
    pool.add(image);
    twice.add(image);
    twice.add(image);
    Summary doubled = pool;
    doubled.merge(doubled);
    EXPECT_TRUE(doubled == twice);
    doubled.merge(Summary{});
    EXPECT_TRUE(doubled == twice);
}

TEST(Summary, RefusesWhatNoEngineGives) {
    EngineOf analyze;
    const Analysis good = analyze(Picture({4, 4, 3, Depth::u8}, packed, Content::random));
    const Analysis floats = analyze(Picture({4, 4, 1, Depth::f32}, packed, Content::random));
    const auto refused = [](Analysis analysis, auto change) {
        change(analysis);
        Summary pool;
        EXPECT_THROW(pool.add(analysis), InvalidArgument);
        EXPECT_TRUE(pool.empty());
    };
    refused(good, [](Analysis& a) { a.channels[0].counts[3] += 1; });
    refused(good, [](Analysis& a) { a.channels[0].counts.pop_back(); });
    refused(good, [](Analysis& a) { a.channels[1].channel = Channel::red; });
    refused(good, [](Analysis& a) { a.channels.erase(a.channels.begin()); });
    refused(good, [](Analysis& a) { a.channels.clear(); });
    refused(good, [](Analysis& a) { a.channels[0].channel = Channel::all; });
    refused(floats, [](Analysis& a) { a.channels[0].nan = 17; });
    refused(floats, [](Analysis& a) { a.channels[0].minimum = std::numeric_limits<float>::quiet_NaN(); });
    refused(floats, [](Analysis& a) { a.channels[0].moments.pivot = 1e300; });
    refused(floats, [](Analysis& a) { a.channels[0].moments.pivot = 1e-300; });
    refused(floats, [](Analysis& a) { a.channels[0].moments.pivot = std::numeric_limits<double>::infinity(); });
    refused(floats, [](Analysis& a) { a.channels[0].moments.exponent = 2000; });

    DepthSummary full = [&] {
        Summary pool;
        pool.add(good);
        return pool.depths().front();
    }();
    for (ChannelSummary& channel : full.channels) {
        channel.counts.assign(256, 0);
        channel.counts[9] = channel.pixels = std::uint64_t{1} << 60;
    }
    Summary pool({full});
    const Summary before = pool;
    EXPECT_THROW(pool.add(good), InvalidArgument);
    EXPECT_THROW(pool.merge(pool), InvalidArgument);
    EXPECT_TRUE(pool == before);
}

}  // namespace
}  // namespace gpuhist::test
