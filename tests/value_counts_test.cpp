// Counts of float values: those of a set depend on the set alone, and what is read from them is what one image of all
// its pixels gives, exactly up to 2^18 different values and rounded as promised beyond.
#include "gpuhist/value_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "core/value_counts.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/pool.hpp"
#include "gpuhist/tables.hpp"
#include "oracle.hpp"

namespace gpuhist::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

ImageView view_of(const std::vector<float>& samples, int channels = 1) {
    ImageView image;
    image.data = samples.data();
    image.width = static_cast<std::int64_t>(samples.size()) / channels;
    image.height = 1;
    image.channels = channels;
    image.depth = Depth::f32;
    return image;
}

Analysis analyze(const ImageView& image, const AnalysisRequest& request = {}) {
    static const auto engine = make_engine("cpu", {.threads = 1});
    return engine->analyze(image, request);
}

Pool pool_of(const std::vector<ImageView>& images) {
    Pool pool;
    for (const ImageView& image : images) pool.add(analyze(image), count_values(image));
    return pool;
}

/// The sign, 1 for what is not below zero, and the bits of the magnitude without some of the lowest.
std::pair<bool, std::uint32_t> group_of(float value, int dropped) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return {!(value < 0), (bits & 0x7FFFFFFFU) >> dropped};
}

float value_of(const std::pair<bool, std::uint32_t>& group, int dropped) {
    const std::uint32_t bits = group.second << dropped;
    float magnitude = 0;
    std::memcpy(&magnitude, &bits, sizeof bits);
    return group.first ? magnitude : 0 - magnitude;
}

/// From the definition: as few bits dropped as leave `most` groups.
void expect_counts(const ValueCounts& got, const std::vector<float>& finite, std::size_t most = ValueCounts::most) {
    std::vector<std::pair<bool, std::uint32_t>> sorted;
    for (const float value : finite) sorted.push_back(group_of(value, 0));
    std::sort(sorted.begin(), sorted.end());
    int dropped = -1;
    std::size_t different = 0;
    do {
        ++dropped;
        different = 0;
        for (std::size_t i = 0; i < sorted.size(); ++i)
            different += i == 0 || sorted[i].first != sorted[i - 1].first ||
                         sorted[i].second >> dropped != sorted[i - 1].second >> dropped;
    } while (different > most);
    std::map<std::pair<bool, std::uint32_t>, std::uint64_t> groups;
    for (const float value : finite) ++groups[group_of(value, dropped)];
    ASSERT_EQ(got.dropped_bits, dropped);
    ASSERT_EQ(got.keys.size(), groups.size());
    ASSERT_EQ(got.counts.size(), groups.size());
    std::map<std::pair<float, bool>, std::uint64_t> ascending;
    for (const auto& [group, count] : groups) ascending[{value_of(group, dropped), group.first}] = count;
    std::size_t i = 0;
    for (const auto& [value, count] : ascending) {
        ASSERT_EQ(got.value(i), value.first) << i;
        ASSERT_FALSE(got.value(i) == 0 && std::signbit(got.value(i)));
        ASSERT_EQ(got.counts[i], count) << i;
        if (i > 0) {
            ASSERT_LT(got.keys[i - 1], got.keys[i]);
        }
        ++i;
    }
}

/// Numbers of all sizes, some often.
std::vector<float> made_samples(std::size_t count, std::mt19937& random) {
    std::vector<float> samples;
    for (std::size_t i = 0; i < count; ++i) {
        const float value = std::ldexp(static_cast<float>(random() % 4096), static_cast<int>(random() % 270) - 155);
        const unsigned luck = random() % 8;
        samples.push_back(luck == 0 ? -0.0F : luck == 1 && i > 0 ? samples[random() % i] : luck < 5 ? value : -value);
    }
    return samples;
}

TEST(ValueCounts, CountEachValueOfEachChannel) {
    for (const int channels : {1, 3, 4})
        for (const ChannelOrder order : {ChannelOrder::bgr, ChannelOrder::rgb})
            for (const Layout& layout : layouts)
                for (const Content content : contents_of(Depth::f32)) {
                    SCOPED_TRACE(static_cast<int>(content));
                    const Picture picture({61, 19, channels, Depth::f32, order}, layout, content);
                    const std::vector<ValueCounts> values = count_values(picture.view());
                    const std::vector<Channel> rows = rows_of(channels);
                    std::size_t i = 0;
                    for (const Channel row : rows) {
                        if (row == Channel::all) continue;
                        ASSERT_LT(i, values.size());
                        const FloatRow expected = float_row(picture.view(), row);
                        EXPECT_EQ(values[i].minus_infinite, expected.negative_infinite);
                        EXPECT_EQ(values[i].plus_infinite, expected.positive_infinite);
                        expect_counts(values[i++], expected.finite);
                    }
                    EXPECT_EQ(i, values.size());
                }
}

TEST(ValueCounts, RefuseWhatIsNoFloatImageInHostMemory) {
    const Picture bytes({3, 3, 1, Depth::u8}, packed, Content::ramp);
    EXPECT_THROW(count_values(bytes.view()), InvalidArgument);
    const Picture floats({3, 3, 1, Depth::f32}, packed, Content::random);
    ImageView image = floats.view();
    image.memory = Memory::device;
    EXPECT_THROW(count_values(image), InvalidArgument);
    image = floats.view();
    image.data = nullptr;
    EXPECT_THROW(count_values(image), InvalidArgument);
}

TEST(ValueCounts, OfManyValuesDropAsFewBitsAsTheyMust) {
    std::mt19937 random(1);
    for (const std::size_t different : {ValueCounts::most - 1, ValueCounts::most, ValueCounts::most + 1}) {
        std::vector<float> samples;  // consecutive floats: one bit less halves them
        for (std::size_t i = 0; i < different; ++i) samples.push_back(1.0F + static_cast<float>(i) * 0x1p-23F);
        std::shuffle(samples.begin(), samples.end(), random);
        const ValueCounts values = count_values(view_of(samples))[0];
        EXPECT_EQ(values.dropped_bits, different > ValueCounts::most ? 1 : 0);
        EXPECT_EQ(values.significant_bits(), 24 - values.dropped_bits);
        expect_counts(values, samples);
    }
    const std::vector<float> samples = made_samples(2'500'000, random);  // more than are sorted at a time
    const ValueCounts values = count_values(view_of(samples))[0];
    EXPECT_GT(values.dropped_bits, 1);
    expect_counts(values, samples);
    // Every float there is, but for the lowest bits: the most bits that can be dropped.
    std::vector<float> all;
    for (std::uint32_t high = 0; high < 0x7F800000U >> 10; ++high) {
        all.push_back(value_of({true, high}, 10));
        all.push_back(value_of({false, high}, 10));
    }
    EXPECT_EQ(count_values(view_of(all))[0].dropped_bits, ValueCounts::most_dropped_bits);
}

// ---- order and grouping -----------------------------------------------------------------------------------------

ValueCounts counted(const std::vector<float>& samples, std::size_t begin, std::size_t end, std::size_t most) {
    ValueCounts sum;
    for (; begin < end; ++begin) core::add(sum, count_values(view_of({samples[begin]}))[0], most);
    return sum;
}

/// Cut at random into parts that come together in random order.
ValueCounts cut(const std::vector<float>& samples, std::size_t begin, std::size_t end, std::size_t most,
                std::mt19937& random) {
    if (end - begin < 6) return counted(samples, begin, end, most);
    const std::size_t middle = begin + random() % (end - begin);
    ValueCounts left = cut(samples, begin, middle, most, random), right = cut(samples, middle, end, most, random);
    core::add(random() % 2 ? left : right, {}, most);
    if (random() % 2) std::swap(left, right);
    core::add(left, right, most);
    return left;
}

TEST(ValueCounts, DependOnTheSetAlone) {
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
        const std::size_t most = 1U << (1 + round % 9);
        std::vector<float> samples = made_samples(1 + random() % 700, random);
        const ValueCounts expected = counted(samples, 0, samples.size(), most);
        expect_counts(expected, samples, most);
        for (int again = 0; again < 5; ++again) {
            std::shuffle(samples.begin(), samples.end(), random);
            ASSERT_TRUE(cut(samples, 0, samples.size(), most, random) == expected) << round;
        }
    }
}

TEST(ValueCounts, AddToThemselves) {
    std::mt19937 random(9);
    std::vector<float> samples = made_samples(100, random);
    ValueCounts values = count_values(view_of(samples))[0];
    core::add(values, values);
    samples.insert(samples.end(), samples.begin(), samples.begin() + 100);
    EXPECT_TRUE(values == count_values(view_of(samples))[0]);
}

TEST(ValueCounts, OfALargeSetDependOnTheSetAlone) {
    std::mt19937 random(11);
    std::vector<std::vector<float>> images;
    std::vector<float> all;
    for (int i = 0; i < 5; ++i) {
        images.push_back(made_samples(100'000 + 70'000 * static_cast<std::size_t>(i), random));
        images.back().push_back(i % 2 ? infinity : -infinity);
        images.back().push_back(std::nanf(""));
        all.insert(all.end(), images.back().begin(), images.back().end());
    }
    const ValueCounts expected = count_values(view_of(all))[0];
    EXPECT_GT(expected.dropped_bits, 0);
    EXPECT_EQ(expected.plus_infinite, 2U);
    EXPECT_EQ(expected.minus_infinite, 3U);
    for (int round = 0; round < 6; ++round) {
        std::shuffle(images.begin(), images.end(), random);
        ValueCounts left, right;
        for (std::size_t i = 0; i < images.size(); ++i)
            core::add(i < random() % 5 ? left : right, count_values(view_of(images[i]))[0]);
        core::add(left, right);
        EXPECT_TRUE(left == expected);
    }
}

// ---- what a pool makes of them ----------------------------------------------------------------------------------

/// Parts of a picture: some of its rows each.
std::vector<ImageView> bands(const ImageView& image, std::mt19937& random) {
    std::vector<ImageView> parts;
    for (std::int64_t y = 0; y < image.height;) {
        ImageView part = image;
        part.data = static_cast<const std::byte*>(image.data) + y * image.row_bytes;
        part.height = std::min<std::int64_t>(image.height - y, 1 + static_cast<std::int64_t>(random() % 5));
        y += part.height;
        parts.push_back(part);
    }
    std::shuffle(parts.begin(), parts.end(), random);
    return parts;
}

void expect_same(const Histogram& got, const Histogram& expected) {
    EXPECT_EQ(got.range, expected.range);
    ASSERT_EQ(got.columns.size(), expected.columns.size());
    for (std::size_t c = 0; c < got.columns.size(); ++c) {
        EXPECT_EQ(got.columns[c].channel, expected.columns[c].channel);
        EXPECT_EQ(got.columns[c].counts, expected.columns[c].counts);
        EXPECT_EQ(got.columns[c].below, expected.columns[c].below);
        EXPECT_EQ(got.columns[c].above, expected.columns[c].above);
        EXPECT_EQ(got.columns[c].nan, expected.columns[c].nan);
    }
}

TEST(FloatSet, GivesTheNumbersOfOneImageOfAllPixels) {
    std::mt19937 random(3);
    for (const int channels : {1, 3, 4})
        for (const Content content : contents_of(Depth::f32)) {
            SCOPED_TRACE(std::to_string(channels) + " content " + std::to_string(static_cast<int>(content)));
            const Picture picture({37, 41, channels, Depth::f32}, layouts[2], content);
            const Pool pool = pool_of(bands(picture.view(), random));
            const Analysis whole = analyze(picture.view());
            const std::vector<Statistics> expected = statistics(whole);
            const std::vector<PooledRow> rows = pool.statistics();
            ASSERT_EQ(rows.size(), expected.size());
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const Statistics& row = rows[i].statistics;
                EXPECT_EQ(row.channel, expected[i].channel);
                EXPECT_EQ(row.pixels, expected[i].pixels);
                EXPECT_EQ(row.nan, expected[i].nan);
                EXPECT_EQ(row.inf, expected[i].inf);
                EXPECT_EQ(row.min, expected[i].min);
                EXPECT_EQ(row.max, expected[i].max);
                EXPECT_EQ(row.percentiles, expected[i].percentiles);
                EXPECT_FALSE(row.entropy || row.clipped_low || row.clipped_high || row.effective_bits);
                const std::vector<float> finite = float_row(picture.view(), row.channel).finite;
                EXPECT_EQ(row.mean.has_value(), !finite.empty());
                EXPECT_EQ(rows[i].percentile_bits, finite.empty() ? std::nullopt : std::optional(24));
                if (!finite.empty()) {
                    EXPECT_EQ(row.unique, std::set<float>(finite.begin(), finite.end()).size());
                }
            }
            expect_same(*pool.histogram(Depth::f32), histogram(whole));
            for (const std::uint32_t bins : {1U, 7U, 1000U})
                for (const std::optional<Range>& range : {std::optional<Range>(), std::optional(Range{-0.25, 0.75})}) {
                    AnalysisRequest request;
                    request.bins = bins;
                    request.range = range;
                    expect_same(*pool.histogram(Depth::f32, {bins, range}),
                                histogram(analyze(picture.view(), request), {bins, range}));
                }
        }
}

TEST(FloatSet, HasTheHistogramCountedOverAGivenRangeAndAnyOther) {
    std::mt19937 random(4);
    const Picture picture({50, 30, 3, Depth::f32}, packed, Content::specials);
    AnalysisRequest request;
    request.bins = 9;
    request.range = Range{-1, 2};
    Pool pool;
    for (const ImageView& part : bands(picture.view(), random)) pool.add(analyze(part, request), count_values(part));
    const HistogramOptions given{9, std::nullopt}, other{8, std::nullopt};
    expect_same(*pool.histogram(Depth::f32, given), histogram(analyze(picture.view(), request), given));
    request = {};
    request.bins = 8;
    expect_same(*pool.histogram(Depth::f32, other), histogram(analyze(picture.view(), request), other));
    EXPECT_THROW(pool.histogram(Depth::f32, {0, std::nullopt}), InvalidArgument);
    EXPECT_THROW(pool.histogram(Depth::f32, {8, Range{2, 1}}), InvalidArgument);
    EXPECT_THROW(pool.histogram(Depth::f32, {(1U << 24) + 1, std::nullopt}), InvalidArgument);
}

struct NumpyCase {
    const char* name;
    int dropped_bits;
    std::size_t keys;
    std::array<double, 7> percentiles;
    std::array<std::uint64_t, 16> counts;
};
const NumpyCase numpy_cases[] = {
#include "value_counts.inc"
};

/// The samples of oracle/value_counts.py.
std::vector<float> numpy_samples(const std::string& name) {
    constexpr std::size_t size = 600001;
    std::vector<std::int64_t> r(3 * size);
    std::uint64_t state = 1;
    for (std::int64_t& number : r) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        number = static_cast<std::int64_t>(state >> 33);
    }
    std::vector<float> samples;
    for (std::size_t i = 0; i < size; ++i) {
        double value = 0;
        if (name == "few") value = static_cast<double>(r[i] % 262144 - 131072) / 512;
        if (name == "many") value = static_cast<double>(r[i] % 16777216) / 16777216;
        if (name == "scales")
            value = std::ldexp(1 + static_cast<double>(r[i] & 0xFFFFF) / 1048576,
                               static_cast<int>((r[i] >> 20) % 64) - 40) *
                    (r[i] & 1 ? 1 : -1);
        if (name == "offset")
            value =
                1000 +
                static_cast<double>((r[i] & 0x3FFFF) + (r[size + i] & 0x3FFFF) + (r[2 * size + i] & 0x3FFFF)) / 16384;
        samples.push_back(static_cast<float>(value));
    }
    return samples;
}

TEST(FloatSet, OfManyValuesIsWhatNumpyFindsInTheRoundedOnes) {
    ASSERT_EQ(std::size(numpy_cases), 4U);
    for (const NumpyCase& expected : numpy_cases) {
        SCOPED_TRACE(expected.name);
        const std::vector<float> samples = numpy_samples(expected.name);
        Pool pool;
        for (std::size_t begin = 0; begin < samples.size(); begin += 100'000) {
            const std::vector<float> part(
                samples.begin() + static_cast<std::ptrdiff_t>(begin),
                samples.begin() + static_cast<std::ptrdiff_t>(std::min(begin + 100'000, samples.size())));
            pool.add(analyze(view_of(part)), count_values(view_of(part)));
        }
        EXPECT_EQ(pool.depths()[0].channels[0].values.keys.size(), expected.keys);
        const PooledRow row = pool.statistics().at(0);
        EXPECT_EQ(row.percentile_bits, 24 - expected.dropped_bits);
        EXPECT_EQ(row.statistics.unique.has_value(), expected.dropped_bits == 0);
        for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(row.statistics.percentiles[i], expected.percentiles[i]) << i;
        EXPECT_EQ(row.statistics.min, *std::min_element(samples.begin(), samples.end()));
        EXPECT_EQ(row.statistics.max, *std::max_element(samples.begin(), samples.end()));
        const Histogram histogram = *pool.histogram(Depth::f32, {16, std::nullopt});
        EXPECT_TRUE(std::equal(expected.counts.begin(), expected.counts.end(), histogram.columns[0].counts.begin()));
        EXPECT_EQ(histogram.columns[0].below + histogram.columns[0].above, 0U);
    }
}

TEST(FloatSet, WithOneImageUncountedHasNone) {
    const Picture a({9, 9, 3, Depth::f32}, packed, Content::random),
        b({9, 5, 3, Depth::f32}, packed, Content::gaussian);
    Pool one = pool_of({a.view()}), other;
    EXPECT_TRUE(one.statistics()[0].statistics.percentiles[0]);
    one.add(analyze(b.view()));
    other.add(analyze(b.view()));
    other.add(analyze(a.view()), count_values(a.view()));
    EXPECT_TRUE(one == other);
    EXPECT_FALSE(one.depths()[0].values_counted);
    EXPECT_FALSE(one.statistics()[0].statistics.percentiles[0] || one.statistics()[0].percentile_bits);
    EXPECT_FALSE(one.histogram(Depth::f32));
    EXPECT_THROW(make_tables(one, Depth::f32, {NormalizeMode::equalize}), InvalidArgument);
    EXPECT_THROW(make_tables(one, Depth::f32, {NormalizeMode::percentile}), InvalidArgument);
    EXPECT_NO_THROW(make_tables(one, Depth::f32, {NormalizeMode::minmax}));
    EXPECT_NO_THROW(make_tables(one, Depth::f32, {NormalizeMode::zscore}));
}

TEST(FloatSet, RefusesCountsThatAreNotTheImages) {
    const std::vector<float> samples{-1.5F, 0, 0.25F, 0.25F, infinity, 7, std::nanf("")};
    const auto refused = [&](auto change) {
        std::vector<ValueCounts> values = count_values(view_of(samples));
        change(values);
        Pool pool;
        EXPECT_THROW(pool.add(analyze(view_of(samples)), values), InvalidArgument);
        EXPECT_TRUE(pool.empty());
    };
    const std::uint32_t minus_zero = 0x7FFFFFFF;
    refused([](auto& values) { values.emplace_back(); });
    refused([](auto& values) { values[0].counts[2] = 3; });
    refused([](auto& values) { values[0].counts[2] = 0; });
    refused([](auto& values) { values[0].counts.pop_back(); });
    refused([](auto& values) { values[0].keys[0] -= 1; });
    refused([](auto& values) { values[0].keys[3] += 1; });
    refused([](auto& values) { values[0].keys[2] = values[0].keys[1]; });
    refused([](auto& values) { values[0].keys[1] = minus_zero; });
    refused([](auto& values) { values[0].plus_infinite = 0; });
    refused([](auto& values) { values[0].minus_infinite = 1; });
    refused([](auto& values) { values[0] = {}; });
    refused([](auto& values) {  // so few values need no bits dropped
        values[0].dropped_bits = 1;
        for (std::uint32_t& key : values[0].keys) key >>= 1;
    });
    const Picture bytes({3, 3, 1, Depth::u8}, packed, Content::ramp);
    EXPECT_THROW(Pool().add(analyze(bytes.view()), {ValueCounts{}}), InvalidArgument);
}

}  // namespace
}  // namespace gpuhist::test
