// The numbers a person reads: closed forms, and fixed values computed by numpy and scipy.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/codes.hpp"
#include "core/integers.hpp"
#include "gpuhist/gpuhist.hpp"
#include "statistics/float_analysis.hpp"

namespace gpuhist {
namespace {

template <class Sample>
std::vector<Statistics> measure(const std::vector<Sample>& samples, int channels = 1, std::int64_t height = 1) {
    const Depth depth = core::depth_of<Sample>();
    const auto width = static_cast<std::int64_t>(samples.size()) / channels / height;
    return statistics(
        make_engine("cpu")->analyze(packed_view(samples.data(), width, height, channels, depth, ChannelOrder::rgb)));
}

template <class Sample>
Statistics measure_gray(const std::vector<Sample>& samples) {
    const auto rows = measure(samples);
    EXPECT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows.at(0).channel, Channel::gray);
    EXPECT_EQ(rows.at(0).pixels, samples.size());
    return rows.at(0);
}

/// Numbers are equal to 1e-12 of the value, or of `scale` where that is more.
void expect_close(const char* what, std::optional<double> value, double expected, double scale = 0) {
    if (std::isnan(expected)) {
        EXPECT_FALSE(value.has_value()) << what << " is " << *value << ", should be undefined";
        return;
    }
    ASSERT_TRUE(value.has_value()) << what << " is undefined, should be " << expected;
    EXPECT_NEAR(*value, expected, 1e-12 * std::max(std::abs(expected), scale)) << what;
}

TEST(Statistics, Constant) {
    for (const int value : {0, 7, 255}) {
        SCOPED_TRACE(value);
        const Statistics row = measure_gray(std::vector<std::uint8_t>(1001, static_cast<std::uint8_t>(value)));
        EXPECT_EQ(row.min, value);
        EXPECT_EQ(row.max, value);
        EXPECT_EQ(row.mean, value);
        EXPECT_EQ(row.std, 0);
        EXPECT_EQ(row.std_sample, 0);
        EXPECT_FALSE(row.skewness);
        EXPECT_FALSE(row.kurtosis);
        EXPECT_EQ(row.entropy, 0);
        for (const auto& percentile : row.percentiles) EXPECT_EQ(percentile.value, value);
        EXPECT_EQ(row.clipped_low, value == 0 ? 1 : 0);
        EXPECT_EQ(row.clipped_high, value == 255 ? 1 : 0);
        EXPECT_EQ(row.unique, 1u);
        EXPECT_EQ(row.effective_bits, 0u);
    }
}

TEST(Statistics, ConstantFloat) {
    for (const float value : {0.0f, -0.1f, 1e-30f, 16777217e3f, std::numeric_limits<float>::max()}) {
        SCOPED_TRACE(value);
        const Statistics row = measure_gray(std::vector<float>(1001, value));
        EXPECT_EQ(row.min, value);
        EXPECT_EQ(row.max, value);
        EXPECT_EQ(row.mean, value);
        EXPECT_EQ(row.std, 0);
        EXPECT_FALSE(row.skewness);
        EXPECT_FALSE(row.kurtosis);
        for (const auto& percentile : row.percentiles) EXPECT_EQ(percentile.value, value);
    }
}

TEST(Statistics, OnePixelHasNoSampleStd) {
    const Statistics row = measure_gray(std::vector<std::uint16_t>{4711});
    EXPECT_EQ(row.mean, 4711);
    EXPECT_EQ(row.std, 0);
    EXPECT_FALSE(row.std_sample);
    EXPECT_EQ(row.percentile(50), 4711);

    const Statistics real = measure_gray(std::vector<float>{-2.5f});
    EXPECT_EQ(real.mean, -2.5);
    EXPECT_EQ(real.std, 0);
    EXPECT_FALSE(real.std_sample);
    EXPECT_EQ(real.percentile(50), -2.5);
}

// One at the top, n − 1 at the bottom: p = 1/n, mean p d, variance p (1 − p) d², skewness (1 − 2p)/sqrt(p (1 − p)),
// excess kurtosis (1 − 6p (1 − p))/(p (1 − p)).
TEST(Statistics, TwoValues) {
    for (const int n : {2, 4, 10, 100}) {
        SCOPED_TRACE(n);
        std::vector<std::uint16_t> samples(static_cast<std::size_t>(n), 65000);
        samples.back() = 65001;
        const Statistics row = measure_gray(samples);
        const double p = 1.0 / n, variance = p * (1 - p);
        expect_close("mean", row.mean, 65000 + p);
        expect_close("std", row.std, std::sqrt(variance));
        expect_close("std_sample", row.std_sample, std::sqrt(variance * n / (n - 1)));
        expect_close("skewness", row.skewness, (1 - 2 * p) / std::sqrt(variance), 1);
        expect_close("kurtosis", row.kurtosis, (1 - 6 * variance) / variance, 1);
        expect_close("entropy", row.entropy, -p * std::log2(p) - (1 - p) * std::log2(1 - p));
        EXPECT_EQ(row.unique, 2u);
        EXPECT_EQ(row.effective_bits, 1u);  // 65000 is even
        // index q (n − 1): the last step of it climbs from 65000 to 65001
        expect_close("p99", row.percentile(99), 65000 + std::max(0.0, (99 * (n - 1) - 100 * (n - 2)) / 100.0));
    }
}

// Each of n values once: mean (n − 1)/2, variance (n² − 1)/12, excess kurtosis −6/5 (n² + 1)/(n² − 1).
template <class Sample>
void expect_ramp(const Statistics& row, double n) {
    EXPECT_EQ(row.mean, (n - 1) / 2);
    expect_close("std", row.std, std::sqrt((n * n - 1) / 12));
    expect_close("std_sample", row.std_sample, std::sqrt(n * (n + 1) / 12));
    expect_close("skewness", row.skewness, 0, 1);
    expect_close("kurtosis", row.kurtosis, -1.2 * (n * n + 1) / (n * n - 1));
    for (const int percent : {1, 5, 25, 50, 75, 95, 99})
        expect_close("percentile", row.percentile(percent), percent * (n - 1) / 100);
    if (sizeof(Sample) < 4) {
        EXPECT_EQ(row.entropy, std::log2(n));
        EXPECT_EQ(row.unique, static_cast<std::uint64_t>(n));
        EXPECT_EQ(row.effective_bits, 8 * sizeof(Sample));
        EXPECT_EQ(row.clipped_low, 1 / n);
        EXPECT_EQ(row.clipped_high, 1 / n);
    } else {
        EXPECT_FALSE(row.entropy || row.unique || row.effective_bits || row.clipped_low || row.clipped_high);
    }
}

template <class Sample>
std::vector<Sample> ramp(std::size_t n) {
    std::vector<Sample> samples(n);
    std::iota(samples.begin(), samples.end(), Sample{0});
    return samples;
}

TEST(Statistics, Ramp) {
    expect_ramp<std::uint8_t>(measure_gray(ramp<std::uint8_t>(256)), 256);
    expect_ramp<std::uint16_t>(measure_gray(ramp<std::uint16_t>(65536)), 65536);
    expect_ramp<float>(measure_gray(ramp<float>(4096)), 4096);
}

TEST(Statistics, NothingFinite) {
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    const Statistics row = measure_gray(std::vector<float>{nan, inf, -inf, nan, nan});
    EXPECT_EQ(row.nan, 3u);
    EXPECT_EQ(row.infinite, 2u);
    EXPECT_FALSE(row.min || row.max || row.mean || row.std || row.std_sample || row.skewness || row.kurtosis);
    EXPECT_FALSE(row.effective_bits);
    for (const auto& percentile : row.percentiles) EXPECT_FALSE(percentile.value);
}

TEST(Statistics, PooledRowIsOnePopulation) {
    // means 10, 20, 30, no spread inside a channel: only pooling gives the spread between them
    const auto rows = measure(std::vector<std::uint8_t>{10, 20, 30, 10, 20, 30, 10, 20, 30, 10, 20, 30}, 3, 2);
    ASSERT_EQ(rows.size(), 5u);
    EXPECT_EQ(rows[4].channel, Channel::all);
    EXPECT_EQ(rows[4].pixels, 12u);
    EXPECT_EQ(rows[4].mean, 20);
    expect_close("std", rows[4].std, std::sqrt(200.0 / 3));
    expect_close("entropy", rows[4].entropy, std::log2(3.0));
    EXPECT_EQ(rows[4].unique, 3u);
}

/// Bits from the lowest to the highest that varies, bit by bit: one varies when some samples have it and some have not.
template <class Sample>
std::uint64_t bits_that_vary(const std::vector<Sample>& samples) {
    std::vector<std::uint64_t> varying;
    for (std::uint64_t bit = 0; bit < 8 * sizeof(Sample); ++bit) {
        const auto set = std::count_if(samples.begin(), samples.end(), [&](Sample v) { return (v >> bit) % 2 == 1; });
        if (set != 0 && static_cast<std::size_t>(set) != samples.size()) varying.push_back(bit);
    }
    return varying.empty() ? 0 : varying.back() - varying.front() + 1;
}

template <class Sample>
void expect_effective_bits(std::uint64_t expected, const std::vector<Sample>& samples) {
    EXPECT_EQ(bits_that_vary(samples), expected) << "the test's own arithmetic";
    EXPECT_EQ(measure_gray(samples).effective_bits, expected);
}

/// The values 0 to n − 1, each as `change` makes it.
template <class Sample, class Change>
std::vector<Sample> changed_ramp(unsigned n, Change change) {
    std::vector<Sample> samples;
    for (unsigned v = 0; v < n; ++v) samples.push_back(static_cast<Sample>(change(v)));
    return samples;
}

TEST(EffectiveBits, TwelveBitDataWhereverItLies) {
    using U16 = std::uint16_t;
    expect_effective_bits<U16>(12, changed_ramp<U16>(4096, [](unsigned v) { return v; }));
    expect_effective_bits<U16>(12, changed_ramp<U16>(4096, [](unsigned v) { return v << 4; }));
    expect_effective_bits<U16>(12, changed_ramp<U16>(4096, [](unsigned v) { return v << 2; }));
    expect_effective_bits<U16>(12, changed_ramp<U16>(4096, [](unsigned v) { return v << 4 | 15; }));
    expect_effective_bits<U16>(16, changed_ramp<U16>(4096, [](unsigned v) { return v << 4 | v >> 8; }));
}

TEST(EffectiveBits, AnOffsetBitAlwaysSetDoesNotCount) {
    using U16 = std::uint16_t;
    expect_effective_bits<U16>(12, changed_ramp<U16>(4096, [](unsigned v) { return v | 0x8000; }));
    expect_effective_bits<U16>(12, changed_ramp<U16>(4096, [](unsigned v) { return v << 3 | 0x8001; }));
    auto samples = changed_ramp<U16>(4096, [](unsigned v) { return v | 0x8000; });
    samples.push_back(0);  // now it is not always set
    expect_effective_bits<U16>(16, samples);
    // A number added that is no bit of its own carries into others.
    expect_effective_bits<U16>(13, changed_ramp<U16>(4096, [](unsigned v) { return v + 1; }));
    expect_effective_bits<std::uint8_t>(4, changed_ramp<std::uint8_t>(16, [](unsigned v) { return v | 0xA0; }));
}

TEST(EffectiveBits, EightBitsReplicatedAreSixteen) {
    expect_effective_bits<std::uint16_t>(16, changed_ramp<std::uint16_t>(256, [](unsigned v) { return v * 257; }));
    expect_effective_bits<std::uint16_t>(8, changed_ramp<std::uint16_t>(256, [](unsigned v) { return v << 8; }));
    expect_effective_bits<std::uint8_t>(8, changed_ramp<std::uint8_t>(256, [](unsigned v) { return v; }));
}

TEST(EffectiveBits, ConstantChannelsHaveNone) {
    for (const int value : {0, 1, 0x0FF0, 0x8000, 0xFFFF})
        expect_effective_bits<std::uint16_t>(0, std::vector<std::uint16_t>(9, static_cast<std::uint16_t>(value)));
    for (const int value : {0, 128, 255})
        expect_effective_bits<std::uint8_t>(0, std::vector<std::uint8_t>(9, static_cast<std::uint8_t>(value)));
    expect_effective_bits<std::uint16_t>(0, {4711});
}

TEST(EffectiveBits, TwoValuesSpanTheBitsInWhichTheyDiffer) {
    expect_effective_bits<std::uint16_t>(1, {0x8000, 0x0000});
    expect_effective_bits<std::uint16_t>(16, {0x8001, 0x0000});
    expect_effective_bits<std::uint16_t>(16, {0x7FFF, 0x8000});  // neighbors, all bits differ
    expect_effective_bits<std::uint16_t>(5, {0x0110, 0x0000, 0x0110});
    expect_effective_bits<std::uint16_t>(5, {0xF11F, 0xF00F});
    expect_effective_bits<std::uint8_t>(8, {0, 255});
}

TEST(EffectiveBits, OfAnyValues) {
    std::uint64_t seed = 1;
    for (int i = 0; i < 300; ++i) {
        std::vector<std::uint16_t> samples;
        for (int sample = 0; sample < 3; ++sample) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            samples.push_back(static_cast<std::uint16_t>((seed >> 48) & (seed >> 32)));
        }
        ASSERT_EQ(measure_gray(samples).effective_bits, bits_that_vary(samples))
            << samples[0] << ' ' << samples[1] << ' ' << samples[2];
    }
}

TEST(EffectiveBits, RowsOfColors) {
    // Red varies in bits 4 to 7, green in none, blue in bit 9; alpha in bits 0 and 15. Pooled: from 4 to 14.
    std::vector<std::uint16_t> samples, red, green, blue, luma, pooled, alpha;
    for (unsigned v = 0; v < 16; ++v) {
        const unsigned r = v << 4, g = 0x4000, b = v % 2 << 9, a = v < 3 ? 0x8001 : 0;
        const unsigned y = (9798 * r + 19235 * g + 3735 * b + 16384) >> 15;
        for (const unsigned c : {r, g, b, a}) samples.push_back(static_cast<std::uint16_t>(c));
        for (const unsigned c : {r, g, b}) pooled.push_back(static_cast<std::uint16_t>(c));
        red.push_back(static_cast<std::uint16_t>(r));
        green.push_back(static_cast<std::uint16_t>(g));
        blue.push_back(static_cast<std::uint16_t>(b));
        luma.push_back(static_cast<std::uint16_t>(y));
        alpha.push_back(static_cast<std::uint16_t>(a));
    }
    const auto rows = measure(samples, 4, 4);
    ASSERT_EQ(rows.size(), 6u);
    EXPECT_EQ(rows[0].effective_bits, 4u);
    EXPECT_EQ(rows[1].effective_bits, 0u);
    EXPECT_EQ(rows[2].effective_bits, 1u);
    EXPECT_EQ(rows[3].effective_bits, bits_that_vary(luma));
    EXPECT_EQ(rows[4].effective_bits, 11u);
    EXPECT_EQ(rows[5].effective_bits, 16u);
    EXPECT_EQ(bits_that_vary(red), 4u);
    EXPECT_EQ(bits_that_vary(green), 0u);
    EXPECT_EQ(bits_that_vary(blue), 1u);
    EXPECT_EQ(bits_that_vary(pooled), 11u);
    EXPECT_EQ(bits_that_vary(alpha), 16u);
}

TEST(EffectiveBits, FloatsHaveNone) {
    for (const Statistics& row : measure(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, 4))
        EXPECT_FALSE(row.effective_bits) << to_string(row.channel);
}

TEST(EffectiveBits, NoSampleNoBits) {
    Analysis analysis;
    analysis.channels.resize(1);
    analysis.channels[0].counts.resize(256);
    EXPECT_FALSE(statistics(analysis).at(0).effective_bits);
}

TEST(EffectiveBits, OfMergedImagesTogether) {
    const auto analyze = [](const std::vector<std::uint16_t>& samples) {
        const auto width = static_cast<std::int64_t>(samples.size());
        return make_engine("cpu")->analyze(packed_view(samples.data(), width, 1, 1, Depth::u16, ChannelOrder::rgb));
    };
    Analysis both = analyze({0x0110, 0x0110});
    EXPECT_EQ(statistics(both).at(0).effective_bits, 0u);
    both += analyze({0x1100});
    EXPECT_EQ(statistics(both).at(0).effective_bits, 9u);
}

TEST(Statistics, AlphaIsARowOfItsOwn) {
    const auto rows = measure(std::vector<std::uint8_t>{10, 20, 30, 0, 10, 20, 30, 255}, 4);
    ASSERT_EQ(rows.size(), 6u);
    EXPECT_EQ(rows[5].channel, Channel::alpha);
    EXPECT_EQ(rows[5].mean, 127.5);
    EXPECT_EQ(rows[4].channel, Channel::all);
    EXPECT_EQ(rows[4].pixels, 6u);
    EXPECT_EQ(rows[0].mean, 10);  // not weighted by alpha
}

TEST(Statistics, MaskedSamplesAreInNothingButPixels) {
    Analysis whole;
    ChannelAnalysis& gray = whole.channels.emplace_back();
    gray.pixels = 5;
    gray.masked = 3;
    gray.counts.assign(256, 0);
    gray.counts[10] = gray.counts[20] = 1;
    EXPECT_EQ(statistics(whole).at(0).pixels, 5u);
    EXPECT_EQ(statistics(whole).at(0).valid(), 2u);
    EXPECT_EQ(statistics(whole).at(0).mean, 15);
    const Analysis other = whole;
    whole += other;
    EXPECT_EQ(whole.channels[0].pixels, 10u);
    EXPECT_EQ(whole.channels[0].masked, 6u);
    whole.channels[0] = other.channels[0];
    EXPECT_EQ(whole, other);
    whole.channels[0].masked = 0;
    EXPECT_FALSE(whole == other);

    Analysis floats = other;
    floats.depth = Depth::f32;
    floats.detail = Detail::brief;
    floats.range = {0, 256};
    floats.channels[0].minimum = floats.channels[0].maximum = 20;
    floats.channels[0].nan = 1;
    floats.channels[0].counts[10] = 0;
    EXPECT_EQ(statistics(floats).at(0).pixels, 5u);
    EXPECT_EQ(statistics(floats).at(0).valid(), 1u);
    Summary summary;
    summary.add(floats);
    const ChannelSummary& summed = *summary.find(Depth::f32)->find(Channel::gray);
    EXPECT_EQ(summed.counted(), 2u);
    EXPECT_EQ(summed.nan, 1u);
}

TEST(Statistics, DifferInAnyField) {
    EXPECT_TRUE(Statistics() == Statistics());
    Statistics::for_each_field([](const char* name, auto field) {
        Statistics changed;
        auto& value = changed.*field;
        if constexpr (std::is_same_v<decltype(changed.percentiles)&, decltype(value)>)
            value.resize(1);
        else if constexpr (std::is_enum_v<std::remove_reference_t<decltype(value)>>)
            value = Channel::red;
        else if constexpr (std::is_same_v<decltype(changed.sum)&, decltype(value)>)
            value = Int128{1};
        else
            value = 1;
        EXPECT_FALSE(changed == Statistics()) << name;
    });
}

template <class Sample>
Statistics row_of(const std::vector<Sample>& samples) {
    return measure(samples, 1, 1).at(0);
}

TEST(Statistics, SumsOfIntegersAreExact) {
    EXPECT_EQ(row_of<std::uint8_t>({255, 255, 0}).sum, SampleSum(Int128{510}));
    EXPECT_EQ(row_of<std::int8_t>({-128, -128, 1}).sum, SampleSum(Int128{static_cast<std::uint64_t>(-255), -1}));
    EXPECT_EQ(row_of<std::int16_t>({-32768, 32767}).sum, SampleSum(Int128{static_cast<std::uint64_t>(-1), -1}));
    EXPECT_EQ(row_of<std::uint32_t>({4294967295, 4294967295, 4294967295}).sum, SampleSum(Int128{12884901885}));
    EXPECT_EQ(row_of<std::int32_t>({-2147483647 - 1, -2147483647 - 1}).sum,
              SampleSum(Int128{static_cast<std::uint64_t>(-4294967296), -1}));
    EXPECT_EQ(to_string(Int128{static_cast<std::uint64_t>(-255), -1}), "-255");
    EXPECT_EQ(to_string(Int128{0, 1}), "18446744073709551616");
    EXPECT_EQ(to_string(Int128{0, std::numeric_limits<std::int64_t>::min()}),
              "-170141183460469231731687303715884105728");
    EXPECT_EQ(to_string(Int128{}), "0");
    EXPECT_EQ(to_double(Int128{0, -1}), -0x1p64);
}

TEST(Statistics, SumsOfFloatsAreRoundedOnce) {
    EXPECT_EQ(row_of<double>({1e300, 1, -1e300}).sum, SampleSum(1.0));
    EXPECT_EQ(row_of<double>({0x1p53, 1, 0x1p-60}).sum, SampleSum(0x1p53 + 2));
    EXPECT_EQ(row_of<double>({0x1p-1074, 0x1p-1074}).sum, SampleSum(0x1p-1073));
    const double most = std::numeric_limits<double>::max();
    EXPECT_FALSE(row_of<double>({most, most}).sum);
    EXPECT_EQ(row_of<float>({0.1F, 0.2F, 1e10F}).sum, SampleSum(1e10 + (double(0.1F) + double(0.2F))));
    EXPECT_EQ(row_of<float>({16777216, 1, 1}).sum, SampleSum(16777218.0));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(row_of<float>({nan, nan}).sum);
}

TEST(Statistics, ModesAreTheLowestOfEquals) {
    EXPECT_EQ(row_of<std::uint8_t>({9, 3, 9, 3, 200}).mode, 3);
    EXPECT_EQ(row_of<std::int8_t>({-1, 5, -1, 5, -128}).mode, -1);
    EXPECT_EQ(row_of<std::uint16_t>({40000, 1, 40000}).mode, 40000);
    EXPECT_EQ(row_of<std::uint32_t>({7, 4294967295, 4294967295}).mode, 4294967295.0);
    EXPECT_EQ(row_of<double>({0.5, -0.0, 0.0, 0.5}).mode, 0);
    EXPECT_FALSE(row_of<float>({1, 1}).mode);  // the values of one image are not counted
}

TEST(Statistics, NoLumaHistogramNoLumaRow) {
    const std::vector<std::uint8_t> samples{10, 20, 30};
    const ImageView image{samples.data(), 1, 1, 3, Depth::u8, 3, ChannelOrder::rgb, Memory::host};
    AnalysisRequest request;
    request.luma_histogram = false;
    const Analysis analysis = make_engine("cpu")->analyze(image, request);
    const auto rows = statistics(analysis);
    ASSERT_EQ(rows.size(), 4u);
    for (const Statistics& row : rows) EXPECT_NE(row.channel, Channel::luma);
    ASSERT_TRUE(analysis.brightness);
    EXPECT_EQ(analysis.brightness->sum, (9798u * 10 + 19235u * 20 + 3735u * 30 + 16384u) >> 15);
}

constexpr double none = std::numeric_limits<double>::quiet_NaN();

struct FixedRow {
    Channel channel;
    std::uint64_t pixels, nan, inf;
    double min, max, mean, std, std_sample, skewness, kurtosis, entropy;
    double percentiles[7];
    double clipped_low, clipped_high, unique, effective_bits;
};
struct FixedCase {
    const char* name;
    Depth depth;
    int channels;
    std::vector<FixedRow> rows;
};

const std::vector<FixedCase>& fixed_cases() {
    static const std::vector<FixedCase> cases{
#include "gpu/fixed_values.inc"
    };
    return cases;
}

/// The recipes of oracle/fixed_values.py: the sample of an index and a 31-bit random number.
double recipe(const std::string& name, std::int64_t i, std::int64_t r) {
    const double inf = std::numeric_limits<double>::infinity();
    if (name == "noise8") return static_cast<double>(r & 255);
    if (name == "dark8") return static_cast<double>((r & 255) * (r >> 8 & 255) >> 8);
    if (name == "noise16") return static_cast<double>(r & 65535);
    if (name == "two16") return static_cast<double>(65000 + (i & 1));
    if (name == "sensor16") return static_cast<double>(64 + (r & 1023) + (r >> 10 & 1023) + (r >> 20 & 1023));
    if (name == "unit32") return static_cast<double>(r) * 0x1p-30 - 1;
    if (name == "two32") return static_cast<double>(10000000 + (i & 1));
    if (name == "offset32") return static_cast<double>(10000000 + r % 5);
    if (name == "scales32")
        return std::ldexp(1 + static_cast<double>(r & 1023) / 1024, static_cast<int>((r >> 10) % 16) - 12);
    if (name == "holes32") {
        if (i % 101 == 7) return -inf;
        if (i % 97 == 5) return inf;
        if (i % 11 == 3) return none;
        return static_cast<double>(r) * 0x1p-30 - 1;
    }
    throw std::logic_error("no recipe for " + name);
}

template <class Sample>
std::vector<Statistics> measure_recipe(const FixedCase& fixed) {
    constexpr std::int64_t width = 62, height = 47;
    std::vector<Sample> samples(static_cast<std::size_t>(width * height * fixed.channels));
    std::uint64_t state = 1;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        samples[i] = static_cast<Sample>(
            recipe(fixed.name, static_cast<std::int64_t>(i), static_cast<std::int64_t>(state >> 33)));
    }
    return measure(samples, fixed.channels, height);
}

class FixedValues : public testing::TestWithParam<std::size_t> {};

TEST_P(FixedValues, AsNumpyAndScipy) {
    const FixedCase& fixed = fixed_cases()[GetParam()];
    const auto rows = fixed.depth == Depth::u8    ? measure_recipe<std::uint8_t>(fixed)
                      : fixed.depth == Depth::u16 ? measure_recipe<std::uint16_t>(fixed)
                                                  : measure_recipe<float>(fixed);
    ASSERT_EQ(rows.size(), fixed.rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Statistics& row = rows[i];
        const FixedRow& expected = fixed.rows[i];
        SCOPED_TRACE(to_string(expected.channel));
        EXPECT_EQ(row.channel, expected.channel);
        EXPECT_EQ(row.pixels, expected.pixels);
        EXPECT_EQ(row.nan, expected.nan);
        EXPECT_EQ(row.infinite, expected.inf);
        EXPECT_EQ(row.min, expected.min);
        EXPECT_EQ(row.max, expected.max);
        expect_close("mean", row.mean, expected.mean);
        expect_close("std", row.std, expected.std);
        expect_close("std_sample", row.std_sample, expected.std_sample);
        expect_close("skewness", row.skewness, expected.skewness, 1);  // pure numbers: their scale is 1
        expect_close("kurtosis", row.kurtosis, expected.kurtosis, 1);
        expect_close("entropy", row.entropy, expected.entropy);
        for (std::size_t p = 0; p < row.percentiles.size(); ++p)
            expect_close("percentile", row.percentiles[p].value, expected.percentiles[p]);
        expect_close("clipped_low", row.clipped_low, expected.clipped_low);
        expect_close("clipped_high", row.clipped_high, expected.clipped_high);
        EXPECT_EQ(row.unique.has_value(), !std::isnan(expected.unique));
        if (row.unique) {
            EXPECT_EQ(static_cast<double>(*row.unique), expected.unique);
        }
        EXPECT_EQ(row.effective_bits.has_value(), !std::isnan(expected.effective_bits));
        if (row.effective_bits) {
            EXPECT_EQ(static_cast<double>(*row.effective_bits), expected.effective_bits);
        }
    }
}

// The definitions, whose products need 128 bits; no image has so many samples.
TEST(Percentiles, AreNamedAsTheirColumns) {
    const Percentiles list({50, 1, 0.5, 99.9, 100, 0, 2.000001});
    std::vector<std::string> names;
    for (std::size_t i = 0; i < list.size(); ++i) names.push_back(list.name(i));
    EXPECT_EQ(names, (std::vector<std::string>{"median", "p01", "p0.5", "p99.9", "p100", "p00", "p2.000001"}));
}

TEST(Percentiles, RefusesListsOutOfBounds) {
    EXPECT_THROW(Percentiles(std::vector<double>{}), InvalidArgument);
    EXPECT_THROW(Percentiles(std::vector<double>(33, 1)), InvalidArgument);
    for (const double wrong : {-0.1, 100.1, std::numeric_limits<double>::quiet_NaN()})
        EXPECT_THROW(Percentiles({wrong}), InvalidArgument) << wrong;
    EXPECT_THROW(Percentiles({1, 2, 1}), InvalidArgument);
    EXPECT_NO_THROW(Percentiles({1, 1.000001}));
}

TEST(Ranks, OfAnyNumberOfSamples) {
    using u128 = unsigned __int128;
    std::mt19937_64 random(1);
    for (int i = 0; i < 100000; ++i) {
        const std::uint64_t n = (random() >> random() % 63) + 1, micro = random() % 100'000'001;
        const double percent = static_cast<double>(micro) / 1e6;
        SCOPED_TRACE(std::to_string(n) + ", " + std::to_string(percent) + " %");
        const auto nearest = static_cast<std::uint64_t>((static_cast<u128>(n) * micro + 99'999'999) / 100'000'000);
        EXPECT_EQ(core::nearest_rank(percent, n), std::max(nearest, std::uint64_t{1}));

        const bool stretch = i % 2 == 0;
        std::set<std::uint64_t> expected, found;
        core::RankRequest request = core::RankRequest::of(Percentiles(), 0, stretch, percent, 100);
        if (i % 3 == 0) request.micro[0] = static_cast<std::uint32_t>(random() % 100'000'001);
        for (const std::uint32_t reported : request.micro) {
            const auto rank = static_cast<std::uint64_t>(static_cast<u128>(n - 1) * reported / 100'000'000);
            expected.insert({rank, std::min(rank + 1, n - 1)});
        }
        if (stretch) expected.insert({std::max(nearest, std::uint64_t{1}) - 1, n - 1});
        for (int k = 0; k < core::max_ranks; ++k) found.insert(core::required_rank(k, n, request));
        ASSERT_EQ(found, expected);
    }
}

INSTANTIATE_TEST_SUITE_P(Numpy, FixedValues, testing::Range(std::size_t{0}, fixed_cases().size()),
                         [](const auto& test) { return std::string(fixed_cases()[test.param].name); });

}  // namespace
}  // namespace gpuhist
