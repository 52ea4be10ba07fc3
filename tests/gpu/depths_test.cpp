// Every depth beside u8, u16 and f32, held against arithmetic in extended precision over sorted values, written apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gpuhist/dataset.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/histogram.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/lut_file.hpp"
#include "gpuhist/lut.hpp"
#include "gpuhist/reduce.hpp"
#include "gpuhist/statistics.hpp"
#include "support/engines_under_test.hpp"
#include "support/modes.hpp"
#include "support/oracle.hpp"
#include "support/picture.hpp"
#include "support/raster.hpp"
#include "support/statistics_under_test.hpp"

namespace gpuhist::test {
namespace {

constexpr Depth depths[] = {Depth::s8, Depth::s16, Depth::u32, Depth::s32, Depth::f16, Depth::f64};

/// Samples of a channel of results, as numbers.
std::vector<double> channel_values(const Raster& image, Channel channel) {
    std::vector<double> values;
    const int first = image.order == ChannelOrder::bgr ? 2 : 0;
    const int at[3] = {first, 1, 2 - first};
    const auto luma = [&](double r, double g, double b) {
        switch (image.depth) {
            case Depth::f16: {
                const float red = static_cast<float>(r), green = static_cast<float>(g), blue = static_cast<float>(b);
                volatile float a = 0.299F * red, c = 0.587F * green, d = 0.114F * blue;
                volatile float sum = a + c;
                return half_value(half_of(static_cast<double>(sum + d)));
            }
            case Depth::f64: {
                volatile double a = 0.299 * r, c = 0.587 * g, d = 0.114 * b;
                volatile double sum = a + c;
                return sum + d;
            }
            default: {
                const auto whole = [](double v) { return static_cast<std::int64_t>(v); };
                return static_cast<double>((9798 * whole(r) + 19235 * whole(g) + 3735 * whole(b) + 16384) >> 15);
            }
        }
    };
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x) {
            const auto value = [&](int c) { return image.value(x, y, c); };
            if (channel == Channel::gray) values.push_back(value(0));
            if (channel == Channel::red) values.push_back(value(at[0]));
            if (channel == Channel::green) values.push_back(value(at[1]));
            if (channel == Channel::blue) values.push_back(value(at[2]));
            if (channel == Channel::alpha) values.push_back(value(3));
            if (channel == Channel::luma) values.push_back(luma(value(at[0]), value(at[1]), value(at[2])));
            if (is_band(channel))
                values.push_back(value(channel < Channel::extra1
                                           ? static_cast<int>(channel) - static_cast<int>(Channel::c0)
                                           : static_cast<int>(channel) - static_cast<int>(Channel::extra1) + 3));
            if (channel == Channel::all)
                for (int c = 0; c < image.channels; ++c)
                    if (c != 3 || image.channels != 4 || image.samples != Samples::color) values.push_back(value(c));
        }
    return values;
}

/// Holds a row against its samples.
void expect_row(const Statistics& row, const std::vector<double>& samples, Depth depth) {
    const DepthTraits& traits = traits_of(depth);
    std::vector<double> finite;
    std::uint64_t nan = 0, infinite = 0;
    for (const double value : samples)
        if (std::isnan(value))
            ++nan;
        else if (std::isinf(value))
            ++infinite;
        else
            finite.push_back(value);
    EXPECT_EQ(row.pixels, samples.size());
    EXPECT_EQ(row.nan, nan);
    EXPECT_EQ(row.infinite, infinite);
    ASSERT_EQ(row.min.has_value(), !finite.empty());
    if (finite.empty()) return;
    std::sort(finite.begin(), finite.end());
    EXPECT_EQ(row.min, finite.front());
    EXPECT_EQ(row.max, finite.back());
    const auto n = static_cast<long double>(finite.size());
    long double sum = 0, largest = 0;
    std::map<double, std::uint64_t> counts;
    for (const double value : finite) {
        sum += value;
        largest = std::max<long double>(largest, std::fabs(value));
        ++counts[value == 0 ? 0.0 : value];
    }
    const long double mean = sum / n;
    long double m2 = 0, m3 = 0, m4 = 0;
    for (const double value : finite) {
        const long double d = value - mean;
        m2 += d * d / n;
        m3 += d * d * d / n;
        m4 += d * d * d * d / n;
    }
    EXPECT_NEAR(static_cast<double>(*row.mean), static_cast<double>(mean), static_cast<double>(largest * 2e-16L));
    EXPECT_NEAR(*row.std, static_cast<double>(std::sqrt(m2)), static_cast<double>(std::sqrt(m2) * 1e-14L));
    if (n > 1) {
        EXPECT_NEAR(*row.std_sample, static_cast<double>(std::sqrt(m2 * (n / (n - 1)))),
                    static_cast<double>(std::sqrt(m2) * 1e-14L));
    }
    ASSERT_EQ(row.skewness.has_value(), m2 > 0);
    if (m2 > 0) {
        EXPECT_NEAR(*row.skewness, static_cast<double>(m3 / (m2 * std::sqrt(m2))), 1e-11);
        EXPECT_NEAR(*row.kurtosis, static_cast<double>(m4 / (m2 * m2) - 3), 1e-10);
    }
    long double entropy = 0;
    for (const auto& [value, count] : counts)
        entropy -= static_cast<long double>(count) / n * std::log2(static_cast<long double>(count) / n);
    EXPECT_NEAR(*row.entropy, static_cast<double>(entropy), 1e-12);
    EXPECT_EQ(row.unique, counts.size());
    for (const Percentile& percentile : row.percentiles) {
        const long double index = percentile.micro / 1e8L * (n - 1);
        const auto below = static_cast<std::size_t>(index);
        const long double low = finite[below], high = finite[std::min(below + 1, finite.size() - 1)];
        const long double expected = low + (high - low) * (index - below);
        EXPECT_NEAR(*percentile.value, static_cast<double>(expected), static_cast<double>(largest * 1e-15L));
    }
    ASSERT_EQ(row.clipped_low.has_value(), !traits.floating);
    ASSERT_EQ(row.effective_bits.has_value(), !traits.floating);
    if (traits.floating) return;
    const auto share = [&](auto which) {
        return static_cast<double>(std::count_if(finite.begin(), finite.end(), which)) / static_cast<double>(n);
    };
    EXPECT_EQ(*row.clipped_low, share([&](double v) { return v == traits.lowest; }));
    EXPECT_EQ(*row.clipped_high, share([&](double v) { return v >= traits.highest; }));
    std::uint64_t ever = 0, always = ~std::uint64_t{0};
    for (const double value : finite) {
        ever |= static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
        always &= static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    }
    const std::uint64_t varying = ever & ~always & ((std::uint64_t{1} << 8 * traits.bytes) - 1);
    std::uint64_t bits = 0;
    if (varying) bits = 64 - static_cast<std::uint64_t>(__builtin_clzll(varying) + __builtin_ctzll(varying));
    EXPECT_EQ(row.effective_bits, bits);
}

class Depths : public EngineTest {
  protected:
    static Analysis analyze_by(Engine& engine, const Raster& image, const AnalysisRequest& request = {}) {
        Analysis result;
        poison(result);
        engine.analyze(image.view(), request, result);
        name_channels(result, image.samples);
        return result;
    }
    Analysis analyze(const Raster& image) { return analyze_by(*engine, image); }
};
class ManyChannels : public Depths {};

TEST_P(Depths, EveryRowIsThatOfItsSamples) {
    for (const Depth depth : depths)
        for (const Fill fill : {Fill::bits, Fill::few, Fill::ends, Fill::constant, Fill::gradient})
            for (const int channels : {1, 3, 4})
                for (const ChannelOrder order : {ChannelOrder::rgb, ChannelOrder::bgr}) {
                    SCOPED_TRACE(std::string(to_string(depth)) + ", " + std::to_string(channels) + " channels, fill " +
                                 std::to_string(static_cast<int>(fill)));
                    Raster image = raster(depth, channels, fill);
                    image.order = order;
                    const Analysis found = analyze(image);
                    const std::vector<Statistics> rows = statistics(found, Percentiles({0, 0.3, 25, 50, 99.9, 100}));
                    EXPECT_EQ(rows.size(), channels == 1 ? 1U : channels + 2U);
                    for (const Statistics& row : rows) {
                        SCOPED_TRACE(to_string(row.channel));
                        expect_row(row, channel_values(image, row.channel), depth);
                    }
                    for (const ChannelAnalysis& channel : found.channels) {
                        std::uint64_t counted = channel.values.samples() + channel.below + channel.above + channel.nan;
                        for (const std::uint64_t count : channel.counts) counted += count;
                        EXPECT_EQ(counted, channel.pixels);
                    }
                }
}

TEST_P(Depths, AreThoseOfOneThread) {
    struct Size {
        std::int64_t width, height;
        int padding;
    };
    AnalysisRequest no_luma;
    no_luma.luma_histogram = false;
    for (const Depth depth : depths)
        for (const int channels : {1, 3, 4, 5})
            for (const Size& size : {Size{1, 1, 0}, Size{301, 227, 3}, Size{4099, 3, 1}, Size{64, 64, 0}})
                for (const AnalysisRequest& request : {AnalysisRequest{}, no_luma}) {
                    SCOPED_TRACE(std::string(to_string(depth)) + ", " + std::to_string(size.width) + " x " +
                                 std::to_string(size.height) + " x " + std::to_string(channels));
                    const Raster image = raster(depth, channels, size.height == 3 ? Fill::ends : Fill::bits, size.width,
                                                size.height, size.padding);
                    const Analysis wanted = analyze_by(*reference, image, request);
                    for (int again = 0; again < (on_gpu() ? 2 : 1); ++again) {
                        const Analysis found = analyze_by(*engine, image, request);
                        EXPECT_EQ(difference(found, wanted), "");
                        EXPECT_TRUE(found == wanted);
                    }
                }
}

/// More samples than are sorted, or counted by a block, at a time.
TEST_P(Depths, LargeImages) {
    for (const Depth depth : {Depth::s16, Depth::f16, Depth::u32, Depth::f64}) {
        SCOPED_TRACE(to_string(depth));
        Raster image(4096, 4200, 1, depth);
        std::uint64_t bits = 7;
        const std::size_t bytes = sample_bytes(depth);
        for (std::size_t at = 0; at < image.memory.size(); at += bytes) {
            bits = scramble(bits) & 0xFFFF;  // few values
            std::memcpy(&image.memory[at], &bits, bytes);
        }
        EXPECT_TRUE(analyze(image) == analyze_by(*reference, image));
    }
}

TEST_P(Depths, AllHalves) {
    Raster image(256, 256, 1, Depth::f16);
    for (int bits = 0; bits < 65536; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        std::memcpy(image.at(bits % 256, bits / 256, 0), &half, 2);
    }
    const Statistics row = statistics(analyze(image)).front();
    EXPECT_EQ(row.nan, 2046U);
    EXPECT_EQ(row.infinite, 2U);
    EXPECT_EQ(row.min, -65504);
    EXPECT_EQ(row.max, 65504);
    EXPECT_EQ(row.unique, 63487U);  // −0 is +0
    EXPECT_EQ(row.mean, 0);
    EXPECT_EQ(row.percentile(50), 0);
}

TEST_P(Depths, LastBitsAndEnds) {
    const auto of = [&](Depth depth, const std::vector<double>& values) {
        Raster image(static_cast<std::int64_t>(values.size()), 1, 1, depth);
        for (std::size_t i = 0; i < values.size(); ++i) image.set(static_cast<std::int64_t>(i), 0, 0, values[i]);
        return statistics(analyze(image)).front();
    };
    const Statistics neighbors = of(Depth::f64, {1, 1 + 0x1p-52});
    EXPECT_EQ(neighbors.unique, 2U);
    EXPECT_EQ(neighbors.mean, 1);  // midway, to even
    EXPECT_EQ(neighbors.std, 0x1p-53);
    const double tiny = std::numeric_limits<double>::denorm_min(), huge = std::numeric_limits<double>::max();
    const Statistics subnormal = of(Depth::f64, {0, 2 * tiny});
    EXPECT_EQ(subnormal.mean, tiny);
    EXPECT_EQ(subnormal.std, tiny);
    const Statistics largest = of(Depth::f64, {-huge, huge});
    EXPECT_EQ(largest.mean, 0);
    EXPECT_EQ(largest.std, huge);
    EXPECT_NEAR(*largest.kurtosis, -2, 1e-12);
    EXPECT_EQ(largest.percentile(50), 0);
    EXPECT_EQ(of(Depth::f64, {huge, huge, huge}).mean, huge);
    EXPECT_EQ(of(Depth::f64, {1e300, 1, -1e300}).mean, 1.0 / 3);
    const Statistics wide = of(Depth::u32, {4294967294, 4294967295});
    EXPECT_EQ(wide.mean, 4294967294.5);
    EXPECT_EQ(wide.std, 0.5);
    EXPECT_EQ(wide.effective_bits, 1U);
    const Statistics ends = of(Depth::s32, {-2147483648.0, 2147483647});
    EXPECT_EQ(ends.mean, -0.5);
    EXPECT_EQ(ends.std, 2147483647.5);
    EXPECT_EQ(ends.effective_bits, 32U);
}

TEST_P(Depths, EndsMayLieFurtherApartThanTheLargestDouble) {
    constexpr double most = std::numeric_limits<double>::max();
    const auto image_of = [](Depth depth, const std::vector<double>& values) {
        Raster image(static_cast<std::int64_t>(values.size()), 1, 1, depth);
        for (std::size_t i = 0; i < values.size(); ++i) image.set(static_cast<std::int64_t>(i), 0, 0, values[i]);
        return image;
    };
    // Around a single value the bins end where there are no more doubles.
    const Histogram highest = histogram(analyze(image_of(Depth::f64, {most, most, most})));
    EXPECT_EQ(highest.range.upper, most);
    EXPECT_LT(highest.range.lower, most);
    EXPECT_EQ(highest.columns[0].counts.back(), 3U);
    EXPECT_EQ(highest.columns[0].above, 0U);
    const Histogram lowest = histogram(analyze(image_of(Depth::f64, {-most})));
    EXPECT_EQ(lowest.range.lower, -most);
    EXPECT_EQ(lowest.columns[0].counts.front(), 1U);

    // 0 is an edge of an even number of bins, and no other edge is near.
    const std::vector<double> values{-3e38, -1, 0, 1, 3e38};
    for (const Range& range : {Range{-1e308, 1e308}, Range{-most, most}})
        for (const std::uint32_t bins : {1U, 2U, 3U, 4U, 255U, 256U}) {
            SCOPED_TRACE(std::to_string(bins) + " bins");
            std::vector<std::uint64_t> wanted(bins, 0);
            wanted[(bins - 1) / 2] = bins % 2 ? 5 : 2;
            if (bins % 2 == 0) wanted[bins / 2] = 3;
            AnalysisRequest request;
            request.bins = bins;
            request.range = range;
            const Histogram f32 = histogram(analyze_by(*engine, image_of(Depth::f32, values), request), {bins, range});
            EXPECT_EQ(f32.columns[0].counts, wanted);
            EXPECT_EQ(histogram(analyze(image_of(Depth::f64, values)), {bins, range}).columns[0].counts, wanted);
            EXPECT_EQ(f32.edge(0), range.lower);
            EXPECT_EQ(f32.edge(bins), range.upper);
            for (std::uint32_t bin = 0; bin < bins; ++bin) EXPECT_LT(f32.edge(bin), f32.edge(bin + 1));
        }

    // −2 : −2 : 2 around −2/3, where the distance of the last is 8/3, and the std √(32/9).
    const Raster three = image_of(Depth::f64, {-1.7e308, -1.7e308, 1.7e308});
    Raster copy(3, 1, 1, Depth::f64);
    Analysis found;
    const auto normalized = [&](NormalizeMode mode) {
        engine->normalize(three.view(), {}, {mode}, copy.mutable_view(), found);
        return std::vector<double>{copy.value(0, 0, 0), copy.value(1, 0, 0), copy.value(2, 0, 0)};
    };
    EXPECT_EQ(normalized(NormalizeMode::minmax), (std::vector<double>{0, 0, 1}));
    EXPECT_EQ(normalized(NormalizeMode::percentile), (std::vector<double>{0, 0, 1}));
    const std::vector<double> scores = normalized(NormalizeMode::zscore);
    EXPECT_NEAR(scores[0], -std::sqrt(0.5), 1e-15);
    EXPECT_EQ(scores[1], scores[0]);
    EXPECT_NEAR(scores[2], std::sqrt(2.0), 1e-15);
}

TEST_P(Depths, HistogramsAreOfTheFormula) {
    for (const Depth depth : depths)
        for (const Fill fill : {Fill::bits, Fill::few, Fill::constant}) {
            SCOPED_TRACE(std::string(to_string(depth)) + ", fill " + std::to_string(static_cast<int>(fill)));
            const DepthTraits& traits = traits_of(depth);
            const Raster image = raster(depth, 3, fill);
            const Analysis found = analyze(image);
            for (const bool given : {false, true})
                for (const std::uint32_t bins : {1U, 7U, 256U}) {
                    HistogramOptions options{bins, {}};
                    if (given) options.range = Range{traits.lowest == 0 && !traits.floating ? 1.0 : -4.0, 5};
                    const Histogram got = histogram(found, options);
                    ASSERT_EQ(got.columns.size(), 4U);
                    double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
                    for (const Histogram::Column& column : got.columns)
                        for (const double v : channel_values(image, column.channel))
                            if (std::isfinite(v)) lowest = std::min(lowest, v), highest = std::max(highest, v);
                    bool closed = !given;
                    Range expected = given ? *options.range : Range{lowest, highest};
                    if (!given && traits.counting == Counting::values && !traits.floating) {
                        expected = {traits.lowest, traits.highest + 1};
                        closed = false;
                    } else if (!given && lowest == highest) {
                        expected = {lowest - 0.5, highest + 0.5};
                    }
                    EXPECT_EQ(got.range.lower, expected.lower);
                    EXPECT_EQ(got.range.upper, expected.upper);
                    for (const Histogram::Column& column : got.columns) {
                        std::vector<std::uint64_t> counts(bins);
                        std::uint64_t below = 0, above = 0, nan = 0;
                        for (const double v : channel_values(image, column.channel)) {
                            if (std::isnan(v)) {
                                ++nan;
                            } else if (v < expected.lower) {
                                ++below;
                            } else if (v > expected.upper || (v == expected.upper && !closed)) {
                                ++above;
                            } else if (traits.floating) {
                                std::uint32_t bin = 0;
                                while (bin + 1 < bins && v >= got.edge(bin + 1)) ++bin;
                                ++counts[bin];
                            } else {
                                const long double at = (static_cast<long double>(v) - expected.lower) * bins /
                                                       (static_cast<long double>(expected.upper) - expected.lower);
                                ++counts[std::min(static_cast<std::uint32_t>(at), bins - 1)];
                            }
                        }
                        EXPECT_EQ(column.counts, counts);
                        EXPECT_EQ(column.below, below);
                        EXPECT_EQ(column.above, above);
                        EXPECT_EQ(column.nan, nan);
                    }
                }
        }
    const Analysis signed_bytes = analyze(raster(Depth::s8, 1, Fill::bits));
    EXPECT_EQ(histogram(signed_bytes, {0, {}}).columns[0].counts, signed_bytes.channels[0].counts);
    EXPECT_EQ(histogram(analyze(raster(Depth::s32, 1, Fill::few)), {0, {}}).columns[0].counts.size(), 11U);
    EXPECT_THROW(histogram(analyze(raster(Depth::s32, 1, Fill::bits)), {0, {}}), InvalidArgument);
    EXPECT_THROW(histogram(analyze(raster(Depth::f16, 1, Fill::few)), {0, {}}), InvalidArgument);
    EXPECT_THROW(histogram(analyze(raster(Depth::u32, 1, Fill::few)), {8, Range{0.5, 9}}), InvalidArgument);
}

// ---------------------------------------------------------------------------------------------------- normalizations

/// Number that a copy should hold for a sample v, before it is rounded to floats, and as a fraction of the range.
long double mapped(double v, const std::vector<double>& decide, const Normalization& of, bool whole) {
    const auto n = static_cast<long double>(decide.size());
    const auto rank = [&](double percent) {
        const auto at = static_cast<std::size_t>(std::max(1.0L, std::ceil(percent * n / 100)));
        return static_cast<long double>(decide[at - 1]);
    };
    const bool extremes = of.mode == NormalizeMode::minmax;
    const long double low = extremes ? decide.front() : rank(of.low), high = extremes ? decide.back() : rank(of.high);
    switch (of.mode) {
        case NormalizeMode::minmax:
        case NormalizeMode::percentile: {
            const long double at = (v - low) / (high - low);
            return whole || !extremes ? std::clamp(at, 0.0L, 1.0L) : at;
        }
        case NormalizeMode::equalize: {
            const auto first = std::upper_bound(decide.begin(), decide.end(), decide.front()) - decide.begin();
            const auto through = std::upper_bound(decide.begin(), decide.end(), v) - decide.begin();
            return static_cast<long double>(std::max<std::ptrdiff_t>(0, through - first)) / (n - first);
        }
        case NormalizeMode::zscore: {
            long double sum = 0, squares = 0;
            for (const double one : decide) sum += one;
            for (const double one : decide) squares += (one - sum / n) * (one - sum / n);
            return (v - sum / n) / std::sqrt(squares / n);
        }
        default:
            break;
    }
    return 0;
}

TEST_P(Depths, CopiesAreOfTheFormula) {
    for (const Depth depth : depths)
        for (const NormalizeTraits& mode : exact_modes())
            for (const bool joint : {true, false})
                for (const int channels : {1, 3, 4})
                    for (const Fill fill : {Fill::few, Fill::gradient}) {
                        SCOPED_TRACE(std::string(to_string(depth)) + " " + mode.name +
                                     (joint ? " joint " : " separate ") + std::to_string(channels) + " fill " +
                                     std::to_string(static_cast<int>(fill)));
                        const DepthTraits& traits = traits_of(depth);
                        const Raster image = raster(depth, channels, fill);
                        Normalization of;
                        of.mode = mode.mode;
                        of.joint = joint;
                        of.low = 10;
                        of.high = 85;
                        Raster copy(image.width, image.height, channels, normalized_depth(depth, of), 2);
                        Analysis found;
                        engine->normalize(image.view(), {}, of, copy.mutable_view(), found);
                        EXPECT_EQ(difference(found, analyze(image)), "");
                        const DepthTraits& written = traits_of(copy.depth);
                        for (int c = 0; c < channels; ++c) {
                            const Channel own = channels == 1 ? Channel::gray : static_cast<Channel>(1 + c);
                            const Channel source = !joint || channels == 1 ? own
                                                   : mode.joint_by_luma    ? Channel::luma
                                                                           : Channel::all;
                            std::vector<double> decide = channel_values(image, c == 3 ? Channel::alpha : source);
                            std::sort(decide.begin(), decide.end());
                            for (std::int64_t y = 0; y < image.height; ++y)
                                for (std::int64_t x = 0; x < image.width; ++x) {
                                    const double v = image.value(x, y, c), got = copy.value(x, y, c);
                                    if (c == 3) {
                                        ASSERT_EQ(got, v);
                                        continue;
                                    }
                                    const long double at = mapped(v, decide, of, !traits.floating);
                                    if (mode.real || traits.floating) {
                                        const double step = copy.depth == Depth::f16   ? 0x1p-10
                                                            : copy.depth == Depth::f32 ? 0x1p-23
                                                                                       : 0x1p-50;
                                        ASSERT_NEAR(got, static_cast<double>(at), step * std::max(1.0L, std::fabs(at)));
                                    } else {
                                        const long double exact =
                                            at * (static_cast<long double>(written.highest) - written.lowest);
                                        ASSERT_LE(
                                            std::fabs(got - written.lowest - exact),
                                            0.5L + (mode.mode == NormalizeMode::equalize && traits.bytes <= 2 ? 0.01L
                                                                                                              : 1e-6L));
                                    }
                                }
                        }
                    }
}

TEST_P(Depths, CopiesKeepWhatHasNoPlace) {
    for (const Depth depth : {Depth::f16, Depth::f64}) {
        Raster image(5, 1, 1, depth), copy(5, 1, 1, depth);
        const double inf = std::numeric_limits<double>::infinity(), values[] = {1, 3, std::nan(""), inf, -inf};
        for (int x = 0; x < 5; ++x) image.set(x, 0, 0, values[x]);
        const auto copied = [&](NormalizeMode mode) {
            Analysis found;
            Normalization of;
            of.mode = mode;
            of.low = 0;
            of.high = 100;
            engine->normalize(image.view(), {}, of, copy.mutable_view(), found);
            std::vector<double> got;
            for (int x = 0; x < 5; ++x) got.push_back(copy.value(x, 0, 0));
            return got;
        };
        const auto expect = [&](const std::vector<double>& got, const std::vector<double>& wanted) {
            for (int x = 0; x < 5; ++x)
                if (std::isnan(wanted[x]))
                    EXPECT_TRUE(std::isnan(got[x])) << x;
                else
                    EXPECT_EQ(got[x], wanted[x]) << x;
        };
        const double nan = std::nan("");
        expect(copied(NormalizeMode::minmax), {0, 1, nan, inf, -inf});
        expect(copied(NormalizeMode::percentile), {0, 1, nan, 1, 0});
        expect(copied(NormalizeMode::equalize), {0, 1, nan, 1, 0});
        // One value: as it is, the sign of zero too.
        for (int x = 0; x < 5; ++x) image.set(x, 0, 0, x % 2 ? 0.0 : -0.0);
        copied(NormalizeMode::minmax);
        EXPECT_EQ(copy.memory, image.memory);
    }
}

TEST_P(Depths, CopiesOfOtherDepths) {
    constexpr double values[] = {0, 0.25, 0.5, 0.75, 1};
    for (const DepthTraits& from : all_depths)
        for (const DepthTraits& to : all_depths) {
            SCOPED_TRACE(std::string(from.name) + " to " + to.name);
            Raster image(5, 1, 1, from.depth), copy(5, 1, 1, to.depth);
            for (int x = 0; x < 5; ++x) image.set(x, 0, 0, 40 + 40 * values[x]);
            Normalization of;
            of.depth = to.depth;
            Analysis found;
            engine->normalize(image.view(), {}, of, copy.mutable_view(), found);
            for (int x = 0; x < 5; ++x) {
                const double exact = to.lowest + values[x] * (to.highest - to.lowest);
                EXPECT_EQ(copy.value(x, 0, 0), to.floating ? values[x] : std::floor(exact + 0.5)) << x;
            }
            // Left as it is: the same fraction of the range.
            for (int x = 0; x < 5; ++x) image.set(x, 0, 0, from.floating ? 1 : from.highest);
            engine->normalize(image.view(), {}, of, copy.mutable_view(), found);
            EXPECT_EQ(copy.value(2, 0, 0), to.floating ? 1 : to.highest);
            for (int x = 0; x < 5; ++x) image.set(x, 0, 0, from.lowest);
            engine->normalize(image.view(), {}, of, copy.mutable_view(), found);
            EXPECT_EQ(copy.value(2, 0, 0), from.depth == to.depth ? from.lowest : to.lowest);
        }
}

// ---------------------------------------------------------------------------------------------------------- data sets

TEST_P(Depths, ASetIsOneImageOfAllPixels) {
    for (const Depth depth : depths)
        for (const int channels : {1, 3}) {
            SCOPED_TRACE(std::string(to_string(depth)) + ", " + std::to_string(channels));
            const Raster image = raster(depth, channels, Fill::bits, 64, 24, 0);
            Summary whole, left, right;
            whole.add(analyze(image));
            for (int part = 0; part < 4; ++part) {
                Raster quarter = image;
                quarter.height = 6;
                quarter.memory.assign(
                    image.memory.begin() + static_cast<std::ptrdiff_t>(image.memory.size() / 4 * part),
                    image.memory.begin() + static_cast<std::ptrdiff_t>(image.memory.size() / 4 * (part + 1)));
                (part % 2 ? left : right).add(analyze(quarter));
            }
            right.merge(left);
            const std::vector<Statistics> wanted = statistics(analyze(image));
            const std::vector<SummaryRow> rows = right.statistics();
            ASSERT_EQ(rows.size(), wanted.size());
            for (std::size_t i = 0; i < rows.size(); ++i) expect_same(rows[i].statistics, wanted[i]);
            const Histogram one = *right.histogram(depth), other = histogram(analyze(image));
            for (std::size_t i = 0; i < other.columns.size(); ++i)
                EXPECT_EQ(one.columns[i].counts, other.columns[i].counts);
            const Summary read = io::parse_summary(io::summary_json(right), "test");
            EXPECT_TRUE(read == right);
            Analysis merged = analyze(image);
            merged += analyze(image);
            EXPECT_EQ(statistics(merged).front().pixels, 2 * wanted.front().pixels);
            EXPECT_EQ(statistics(merged).front().unique, wanted.front().unique);
        }
}

TEST_P(Depths, TablesOfASetAreThoseOfAllPixels) {
    for (const Depth depth : depths)
        for (const NormalizeTraits& mode : exact_modes())
            for (const int channels : {1, 3}) {
                SCOPED_TRACE(std::string(to_string(depth)) + " " + mode.name + " " + std::to_string(channels));
                const Raster image = raster(depth, channels, Fill::few);
                Summary set;
                set.add(analyze(image));
                Normalization of;
                of.mode = mode.mode;
                if (mode.needs == NormalizeNeeds::counts && traits_of(depth).counting == Counting::sorted) {
                    EXPECT_THROW(make_luts(set, depth, of), InvalidArgument);
                    continue;
                }
                const LutSet tables = make_luts(set, depth, of);
                const std::vector<LutSet> read = io::parse_luts(io::luts_csv({tables}), "test");
                ASSERT_EQ(read.size(), 1U);
                EXPECT_TRUE(read.front() == tables);
                Raster wanted(image.width, image.height, channels, normalized_depth(depth, of)), got = wanted;
                Analysis found;
                engine->normalize(image.view(), {}, of, wanted.mutable_view(), found);
                apply_luts(read.front(), image.view(), got.mutable_view());
                EXPECT_EQ(got.memory, wanted.memory);
            }
}

TEST_P(Depths, SmallerImagesAreMeans) {
    for (const DepthTraits& traits : all_depths) {
        SCOPED_TRACE(traits.name);
        Raster image(4, 2, 1, traits.depth), small(2, 1, 1, traits.depth);
        const double base = traits.lowest < 0 ? -20 : 20;
        for (int x = 0; x < 4; ++x)
            for (int y = 0; y < 2; ++y) image.set(x, y, 0, base + x + 2 * y);
        reduce(image.view(), small.mutable_view());
        EXPECT_EQ(small.value(0, 0, 0), traits.floating ? base + 1.5 : base + 2);
        EXPECT_EQ(small.value(1, 0, 0), traits.floating ? base + 3.5 : base + 4);
    }
}

// ------------------------------------------------------------------------------------------------------- many channels

TEST_P(ManyChannels, EveryBandIsMeasuredByPlace) {
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {2, 5, 8, 64}) {
            SCOPED_TRACE(std::string(traits.name) + ", " + std::to_string(channels));
            const Raster image = raster(traits.depth, channels, Fill::few, 23, 11);
            const Analysis found = analyze(image);
            const std::vector<Statistics> rows = statistics(found);
            ASSERT_EQ(rows.size(), channels + 1U);
            for (int c = 0; c < channels; ++c) {
                Raster plane(image.width, image.height, 1, traits.depth);
                for (std::int64_t y = 0; y < image.height; ++y)
                    for (std::int64_t x = 0; x < image.width; ++x) plane.set(x, y, 0, image.value(x, y, c));
                const Statistics wanted = statistics(analyze(plane)).front();
                EXPECT_EQ(rows[c].channel, band(c));
                EXPECT_EQ(to_string(rows[c].channel), "c" + std::to_string(c));
                EXPECT_EQ(rows[c].mean, wanted.mean);
                EXPECT_EQ(rows[c].std, wanted.std);
                EXPECT_EQ(rows[c].unique, wanted.unique);
                EXPECT_EQ(rows[c].percentiles, wanted.percentiles);
            }
            const std::vector<double> all = channel_values(image, Channel::all);
            EXPECT_EQ(rows.back().channel, Channel::all);
            EXPECT_EQ(rows.back().pixels, all.size());
            EXPECT_NEAR(
                *rows.back().mean,
                [&] {
                    double sum = 0;
                    for (const double v : all) sum += v;
                    return sum / static_cast<double>(all.size());
                }(),
                1e-12);
            std::vector<double> sorted = all;
            std::sort(sorted.begin(), sorted.end());
            EXPECT_EQ(rows.back().percentile(50),
                      sorted.size() % 2 ? sorted[sorted.size() / 2]
                                        : (sorted[sorted.size() / 2 - 1] + sorted[sorted.size() / 2]) / 2);
            const Histogram bins = histogram(found, {256, {}});
            for (const Histogram::Column& column : bins.columns) {
                std::uint64_t sum = 0;
                for (const std::uint64_t count : column.counts) sum += count;
                EXPECT_EQ(sum, static_cast<std::uint64_t>(image.width * image.height));
            }
            Summary set;
            set.add(found, traits.counting == Counting::bins
                               ? count_frequencies(image.view(), nullptr, {}, Samples::bands)
                               : std::vector<FrequencyTable>());
            EXPECT_NEAR(*set.statistics().back().statistics.mean, *rows.back().mean,
                        traits.counting == Counting::bins ? 1e-15 : 0);  // f32: nearly exact
            EXPECT_EQ(set.statistics().back().statistics.percentiles, rows.back().percentiles);
        }
}

TEST_P(ManyChannels, ColorsBeforeBands) {
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {4, 6}) {
            SCOPED_TRACE(std::string(traits.name) + ", " + std::to_string(channels));
            Raster image = raster(traits.depth, channels, Fill::few, 23, 11);
            image.samples = Samples::color_bands;
            const std::vector<Statistics> rows = statistics(analyze(image));
            std::vector<std::string> names;
            for (const Statistics& row : rows) names.push_back(to_string(row.channel));
            std::vector<std::string> wanted{"red", "green", "blue", "luma", "extra1"};
            if (channels == 6) wanted.insert(wanted.end(), {"extra2", "extra3"});
            wanted.push_back("all");
            EXPECT_EQ(names, wanted);
            EXPECT_EQ(rows.back().pixels, static_cast<std::uint64_t>(channels * 23 * 11));
            std::vector<double> all = channel_values(image, Channel::all);
            std::sort(all.begin(), all.end());
            const double middle =
                all.size() % 2 ? all[all.size() / 2] : (all[all.size() / 2 - 1] + all[all.size() / 2]) / 2;
            EXPECT_EQ(rows.back().percentile(50), middle);
        }
}

TEST_P(ManyChannels, CopiesGoBandByBandOrAsOne) {
    for (const DepthTraits& traits : all_depths) {
        SCOPED_TRACE(traits.name);
        Raster image(16, 4, 5, traits.depth, 3);
        for (std::int64_t y = 0; y < 4; ++y)
            for (std::int64_t x = 0; x < 16; ++x)
                for (int c = 0; c < 5; ++c) image.set(x, y, c, static_cast<double>(x % 2 ? 10 * (c + 1) : 0));
        Raster copy(16, 4, 5, traits.depth, 1);
        Normalization of;
        Analysis found;
        of.joint = false;
        engine->normalize(image.view(), {}, of, copy.mutable_view(), found);
        for (int c = 0; c < 5; ++c) {
            EXPECT_EQ(copy.value(0, 1, c), traits.lowest);
            EXPECT_EQ(copy.value(1, 3, c), traits.highest);
        }
        of.joint = true;
        engine->normalize(image.view(), {}, of, copy.mutable_view(), found);
        EXPECT_EQ(copy.value(1, 2, 4), traits.highest);
        EXPECT_NEAR(copy.value(1, 2, 1), traits.lowest + 0.4 * (traits.highest - traits.lowest),
                    traits.floating ? 1e-3 : 0.5);
        of.mode = NormalizeMode::equalize;
        EXPECT_THROW(engine->normalize(image.view(), {}, of, copy.mutable_view(), found), InvalidArgument);
    }
    EXPECT_THROW(engine->analyze(raster(Depth::u8, 65, Fill::few).view()), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Types, Depths, testing::ValuesIn(engines_under_test), label_of);
INSTANTIATE_TEST_SUITE_P(Types, ManyChannels, testing::ValuesIn(engines_under_test), label_of);

}  // namespace
}  // namespace gpuhist::test
