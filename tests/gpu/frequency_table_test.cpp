// Counts of float values: those of a set depend on the set alone, wherever they lie, and what is read from them is what
// one image of all its pixels gives.
#include "gpuhist/frequency_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "dataset/frequency_table.hpp"
#include "gpuhist/dataset.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/lut.hpp"
#include "support/oracle.hpp"
#include "support/statistics_under_test.hpp"

namespace gpuhist::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

ImageView view_of(const std::vector<float>& samples, int channels = 1) {
    const auto width = static_cast<std::int64_t>(samples.size()) / channels;
    return packed_view(samples.data(), width, 1, channels, Depth::f32);
}

Analysis analyze(const ImageView& image, const AnalysisRequest& request = {}) {
    static const auto engine = make_engine("cpu", {.threads = 1});
    return engine->analyze(image, request);
}

Summary pool_of(const std::vector<ImageView>& images) {
    Summary pool;
    for (const ImageView& image : images) pool.add(analyze(image), count_frequencies(image));
    return pool;
}

std::map<float, std::uint64_t> map_of(const std::vector<float>& finite) {
    std::map<float, std::uint64_t> counts;
    for (const float value : finite) ++counts[value + 0.0F];
    return counts;
}

void expect_counts(const FrequencyTable& got, const std::vector<float>& finite) {
    const std::map<float, std::uint64_t> expected = map_of(finite);
    auto next = expected.begin();
    for (FrequencyReader reader(got.runs()); reader.next(); ++next) {
        ASSERT_TRUE(next != expected.end());
        ASSERT_EQ(reader.value(), next->first);
        ASSERT_FALSE(reader.value() == 0 && std::signbit(reader.value()));
        ASSERT_EQ(reader.count(), next->second);
    }
    EXPECT_TRUE(next == expected.end());
    EXPECT_EQ(got.samples(), finite.size());
}

/// Memory that sees to it that only room is used that was taken, and is not given back.
class WatchedStorage : public FrequencyStorage {
  public:
    ~WatchedStorage() override { EXPECT_EQ(taken(), 0U); }
    std::uint64_t take(std::uint64_t bytes) override {
        const std::lock_guard lock(mutex_);
        const std::uint64_t place = bytes_.size() + 7;
        bytes_.resize(place + bytes);
        use_.resize(place + bytes);
        std::fill(use_.begin() + static_cast<std::ptrdiff_t>(place), use_.end(), char{1});
        return place;
    }
    void write(std::uint64_t place, const std::byte* from, std::size_t bytes) override {
        const std::lock_guard lock(mutex_);
        check(place, bytes);
        std::copy(from, from + bytes, bytes_.begin() + static_cast<std::ptrdiff_t>(place));
    }
    void read(std::uint64_t place, std::byte* to, std::size_t bytes) const override {
        const std::lock_guard lock(mutex_);
        check(place, bytes);
        if (broken) throw IoError("broken");
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(place), bytes, to);
    }
    void give_back(std::uint64_t place, std::uint64_t bytes) noexcept override {
        const std::lock_guard lock(mutex_);
        check(place, bytes);
        std::fill_n(use_.begin() + static_cast<std::ptrdiff_t>(place), bytes, char{0});
    }
    std::size_t taken() const {
        const std::lock_guard lock(mutex_);
        return static_cast<std::size_t>(std::count(use_.begin(), use_.end(), char{1}));
    }
    bool broken = false;

  private:
    void check(std::uint64_t place, std::uint64_t bytes) const {
        EXPECT_LE(place + bytes, use_.size());
        EXPECT_EQ(std::count(use_.begin() + static_cast<std::ptrdiff_t>(place),
                             use_.begin() + static_cast<std::ptrdiff_t>(place + bytes), char{0}),
                  0);
    }

    mutable std::mutex mutex_;
    std::vector<std::byte> bytes_;
    std::vector<char> use_;
};

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

TEST(FrequencyTable, CountEachValueOfEachChannel) {
    for (const int channels : {1, 3, 4})
        for (const ChannelOrder order : {ChannelOrder::bgr, ChannelOrder::rgb})
            for (const Layout& layout : layouts)
                for (const Content content : contents_of(Depth::f32)) {
                    SCOPED_TRACE(static_cast<int>(content));
                    const Picture picture({61, 19, channels, Depth::f32, order}, layout, content);
                    const std::vector<FrequencyTable> values = count_frequencies(picture.view());
                    const std::vector<Channel> measured = measured_channels(channels);
                    std::size_t i = 0;
                    for (const Channel channel : measured) {
                        if (channel == Channel::all) continue;
                        ASSERT_LT(i, values.size());
                        const FloatChannel expected = float_channel(picture.view(), channel);
                        EXPECT_EQ(values[i].minus_infinite, expected.negative_infinite);
                        EXPECT_EQ(values[i].plus_infinite, expected.positive_infinite);
                        expect_counts(values[i++], expected.finite);
                    }
                    EXPECT_EQ(i, values.size());
                }
}

TEST(FrequencyTable, RefuseWhatIsNoFloatImageInHostMemory) {
    const Picture bytes({3, 3, 1, Depth::u8}, packed, Content::ramp);
    EXPECT_THROW(count_frequencies(bytes.view()), InvalidArgument);
    const Picture floats({3, 3, 1, Depth::f32}, packed, Content::random);
    ImageView image = floats.view();
    image.memory = Memory::device;
    EXPECT_THROW(count_frequencies(image), InvalidArgument);
    image = floats.view();
    image.data = nullptr;
    EXPECT_THROW(count_frequencies(image), InvalidArgument);
}

TEST(FrequencyTable, OfManySamplesAreTheSameWhereverTheyLie) {
    std::mt19937 random(1);
    const std::vector<float> samples = made_samples(2'500'000, random);  // more than are sorted at a time
    const FrequencyTable here = count_frequencies(view_of(samples))[0];
    expect_counts(here, samples);
    EXPECT_GT(here.memory_bytes(), std::size_t{3} << 20);
    const auto storage = std::make_shared<WatchedStorage>();
    {
        const FrequencyTable there = count_frequencies(view_of(samples), storage)[0];
        EXPECT_TRUE(here == there);
        EXPECT_LT(there.memory_bytes(), std::size_t{1} << 16);
        std::uint64_t bytes = 0;
        for (const FrequencyRun& run : there.runs()) {
            EXPECT_EQ(run.data(), nullptr);
            bytes += run.bytes();
        }
        EXPECT_EQ(storage->taken(), bytes);
        EXPECT_LT(bytes, 5 * samples.size());
        const FrequencyTable copy = there;  // shares them
        EXPECT_EQ(storage->taken(), bytes);
        storage->broken = true;
        EXPECT_THROW(static_cast<void>(here == there), IoError);
    }
    EXPECT_EQ(storage->taken(), 0U);
}

TEST(FrequencyTable, OfFewValuesTakeLittleMemory) {
    std::vector<float> samples;
    for (int i = 0; i < 3'000'000; ++i) samples.push_back(static_cast<float>(i % 7) * 0.125F);
    const FrequencyTable values = count_frequencies(view_of(samples), std::make_shared<WatchedStorage>())[0];
    EXPECT_LT(values.memory_bytes(), 2000U);
    expect_counts(values, samples);
}

TEST(FrequencyTable, SayWhatCountingTakes) {
    const std::vector<float> samples(12);
    EXPECT_EQ(counting_bytes(view_of(samples)), 12 * 2 * sizeof(float));
    EXPECT_EQ(counting_bytes(view_of(samples, 3)), 4 * 5 * sizeof(float));
    ImageView large = view_of(samples, 4);
    large.width = large.height = 10'000;
    EXPECT_EQ(counting_bytes(large), std::size_t{24} << 20);
}

// ---- order and grouping -----------------------------------------------------------------------------------------

/// Cut at random into parts that come together in random order.
FrequencyTable cut(const std::vector<float>& samples, std::size_t begin, std::size_t end,
                   const std::shared_ptr<FrequencyStorage>& storage, std::mt19937& random) {
    FrequencyTable left(storage), right;
    if (end - begin < 6) {
        for (; begin < end; ++begin) left.add(count_frequencies(view_of({samples[begin]}))[0]);
        return left;
    }
    const std::size_t middle = begin + random() % (end - begin);
    left = cut(samples, begin, middle, storage, random);
    right = cut(samples, middle, end, storage, random);
    if (random() % 2) std::swap(left, right);
    left.add(right);
    if (random() % 2) left.settle();
    return left;
}

/// The bytes of the one run that they become.
std::vector<std::byte> bytes_of(const FrequencyTable& values) {
    const FrequencyTable all = values.merged(nullptr);
    EXPECT_EQ(all.runs().size(), 1U);
    const FrequencyRun& run = all.runs()[0];
    return {run.data(), run.data() + run.bytes()};
}

TEST(FrequencyTable, DependOnTheSetAlone) {
    std::mt19937 random(7);
    for (int round = 0; round < 40; ++round) {
        std::vector<float> samples = made_samples(1 + random() % 2000, random);
        const FrequencyTable expected = count_frequencies(view_of(samples))[0];
        expect_counts(expected, samples);
        for (int again = 0; again < 5; ++again) {
            std::shuffle(samples.begin(), samples.end(), random);
            const FrequencyTable got = cut(samples, 0, samples.size(), nullptr, random);
            ASSERT_TRUE(got == expected) << round;
            ASSERT_EQ(bytes_of(got), bytes_of(expected)) << round;
        }
        FrequencyTable other = expected;
        other.add(count_frequencies(view_of({samples[0]}))[0]);
        EXPECT_FALSE(other == expected);
        other = expected;
        ++other.plus_infinite;
        EXPECT_FALSE(other == expected);
    }
    EXPECT_TRUE(FrequencyTable().merged(nullptr).runs().empty());
}

TEST(FrequencyTable, AddToThemselves) {
    std::mt19937 random(9);
    std::vector<float> samples = made_samples(100, random);
    FrequencyTable values = count_frequencies(view_of(samples))[0];
    values.add(values);
    samples.insert(samples.end(), samples.begin(), samples.begin() + 100);
    EXPECT_TRUE(values == count_frequencies(view_of(samples))[0]);
}

TEST(FrequencyTable, OfALargeSetDependOnTheSetAlone) {
    std::mt19937 random(11);
    std::vector<std::vector<float>> images;
    std::vector<float> all;
    for (int i = 0; i < 150; ++i) {
        images.push_back(made_samples(i < 100 ? 30'000 : 500, random));
        images.back().push_back(i % 2 ? infinity : -infinity);
        images.back().push_back(std::nanf(""));
        all.insert(all.end(), images.back().begin(), images.back().end());
    }
    const FrequencyTable expected = count_frequencies(view_of(all))[0];
    EXPECT_EQ(expected.plus_infinite, 75U);
    EXPECT_EQ(expected.minus_infinite, 75U);
    const auto storage = std::make_shared<WatchedStorage>();
    for (int round = 0; round < 3; ++round) {
        std::shuffle(images.begin(), images.end(), random);
        FrequencyTable left(storage), right(storage);
        for (std::size_t i = 0; i < images.size(); ++i) {
            FrequencyTable& to = i < random() % images.size() ? left : right;
            to.add(count_frequencies(view_of(images[i]), storage)[0]);
            to.settle();
            EXPECT_LT(to.memory_bytes(), FrequencyTable::most_memory_bytes);
            EXPECT_LT(to.runs().size(), 150U);
        }
        left.add(right);
        EXPECT_TRUE(left == expected);
        EXPECT_EQ(bytes_of(left), bytes_of(expected));
        EXPECT_GT(storage->taken(), 0U);
    }
}

/// Bytes as they are written by hand.
std::vector<std::byte> bytes(std::initializer_list<int> numbers) {
    std::vector<std::byte> list;
    for (const int number : numbers) list.push_back(static_cast<std::byte>(number));
    return list;
}

TEST(FrequencyRun, IsWrittenAsPromised) {
    // The keys are 0x407FFFFF, 0x80000000, 0xBF800000 and 0xBFC00000.
    EXPECT_EQ(bytes_of(count_frequencies(view_of({-1, 0, -0.0F, 0, 1, 1.5F}))[0]),
              bytes({0xFE, 0xFF, 0xFF, 0x87, 0x08, 0x81, 0x80, 0x80, 0xF8, 0x07, 1,  //
                     0xFE, 0xFF, 0xFF, 0xF7, 0x07, 0xFE, 0xFF, 0xFF, 0x03}));
}

TEST(FrequencyRun, IsReadStrictly) {
    const auto refused = [](std::initializer_list<int> numbers, const std::string& why) {
        try {
            FrequencyRun run(bytes(numbers));
            FAIL() << why;
        } catch (const InvalidArgument& error) {
            EXPECT_EQ(error.what(), "counts of values: " + why);
        }
    };
    const FrequencyRun zero(bytes({0x81, 0x80, 0x80, 0x80, 0x10, 5}));  // 2 · 2^31 + 1, 7 − 2
    EXPECT_EQ(zero.lowest(), 0);
    EXPECT_EQ(zero.samples(), 7U);
    EXPECT_EQ(zero.values(), 1U);
    EXPECT_EQ(zero.bytes(), 6U);
    refused({}, "a run without values");
    refused({0x81, 0x80, 0x80, 0x80, 0x10}, "a number that does not end");
    refused({0x80, 0x80, 0x80, 0x80, 0x90}, "a number that does not end");
    refused({0x80, 0x80, 0x80, 0x80, 0x90, 0}, "a number with a zero before it");
    refused({0x80, 0x80, 0x80, 0x80, 0x20}, "a key beyond those of finite values");
    refused({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}, "a key beyond those of finite values");
    refused({0xFE, 0xFF, 0xFF, 0xFF, 0x0F}, "zero with a sign");
    refused({0}, "a value that is not finite");
    refused({0xFE, 0xFF, 0xFF, 0xFF, 0x1F}, "a key beyond those of finite values");
    refused({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}, "a number of more than 63 bits");
    refused({0x81, 0x80, 0x80, 0x80, 0x10, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x3F},
            "2^62 samples or more");
    refused({0x81, 0x80, 0x80, 0x80, 0x10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40},
            "a count of 2^62 or more");
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
            const Summary pool = pool_of(bands(picture.view(), random));
            const Analysis whole = analyze(picture.view());
            const std::vector<Statistics> expected = statistics(whole);
            const std::vector<SummaryRow> rows = pool.statistics();
            ASSERT_EQ(rows.size(), expected.size());
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const Statistics& row = rows[i].statistics;
                Statistics other = expected[i];  // powers are rounded about each image's pivot
                for (auto number : {&Statistics::mean, &Statistics::std, &Statistics::std_sample, &Statistics::skewness,
                                    &Statistics::kurtosis})
                    other.*number = row.*number;
                other.unique = row.unique;  // one image has neither
                other.mode = row.mode;
                test::expect_same(row, other);
                EXPECT_FALSE(row.entropy || row.clipped_low || row.clipped_high || row.effective_bits);
                const std::vector<float> finite = float_channel(picture.view(), row.channel).finite;
                EXPECT_EQ(row.mean.has_value(), !finite.empty());
                if (!finite.empty()) {
                    EXPECT_EQ(row.unique, std::set<float>(finite.begin(), finite.end()).size());
                    std::map<float, int> counts;
                    for (const float value : finite) ++counts[value];
                    const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
                    EXPECT_EQ(row.mode, std::max_element(counts.begin(), counts.end(), fewer)->first);
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
    Summary pool;
    for (const ImageView& part : bands(picture.view(), random))
        pool.add(analyze(part, request), count_frequencies(part));
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
    std::size_t unique;
    std::array<double, 7> percentiles;
    std::array<std::uint64_t, 16> counts;
};
const NumpyCase numpy_cases[] = {
#include "gpu/frequency_table.inc"
};

/// The samples of oracle/frequency_table.py.
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

TEST(FloatSet, IsWhatNumpyFinds) {
    ASSERT_EQ(std::size(numpy_cases), 4U);
    for (const NumpyCase& expected : numpy_cases) {
        SCOPED_TRACE(expected.name);
        const std::vector<float> samples = numpy_samples(expected.name);
        Summary pool;
        for (std::size_t begin = 0; begin < samples.size(); begin += 100'000) {
            const std::vector<float> part(
                samples.begin() + static_cast<std::ptrdiff_t>(begin),
                samples.begin() + static_cast<std::ptrdiff_t>(std::min(begin + 100'000, samples.size())));
            pool.add(analyze(view_of(part)), count_frequencies(view_of(part), std::make_shared<WatchedStorage>()));
        }
        const SummaryRow row = pool.statistics().at(0);
        EXPECT_EQ(row.statistics.unique, expected.unique);
        for (std::size_t i = 0; i < 7; ++i)
            EXPECT_EQ(row.statistics.percentiles[i].value, expected.percentiles[i]) << i;
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
    Summary one = pool_of({a.view()}), other;
    EXPECT_TRUE(one.statistics()[0].statistics.percentiles[0].value);
    one.add(analyze(b.view()));
    other.add(analyze(b.view()));
    other.add(analyze(a.view()), count_frequencies(a.view()));
    EXPECT_TRUE(one == other);
    EXPECT_FALSE(one.depths()[0].values_counted);
    EXPECT_FALSE(one.statistics()[0].statistics.percentiles[0].value || one.statistics()[0].statistics.unique);
    EXPECT_FALSE(one.histogram(Depth::f32));
    EXPECT_THROW(make_luts(one, Depth::f32, {NormalizeMode::equalize}), InvalidArgument);
    EXPECT_THROW(make_luts(one, Depth::f32, {NormalizeMode::percentile}), InvalidArgument);
    EXPECT_NO_THROW(make_luts(one, Depth::f32, {NormalizeMode::minmax}));
    EXPECT_NO_THROW(make_luts(one, Depth::f32, {NormalizeMode::zscore}));
}

TEST(FloatSet, GivesBothNumbersInOneReading) {
    std::mt19937 random(5);
    for (const int channels : {1, 4}) {
        const Picture picture({50, 30, channels, Depth::f32}, packed, Content::specials);
        const Summary pool = pool_of(bands(picture.view(), random));
        for (const HistogramOptions& options : {HistogramOptions{}, HistogramOptions{9, Range{-1, 2}}}) {
            const SummaryNumbers both = pool.numbers(Depth::f32, options);
            const std::vector<SummaryRow> rows = pool.statistics();
            ASSERT_EQ(both.rows.size(), rows.size());
            for (std::size_t i = 0; i < rows.size(); ++i) {
                EXPECT_EQ(both.rows[i].images, rows[i].images);
                EXPECT_EQ(both.rows[i].statistics.channel, rows[i].statistics.channel);
                EXPECT_EQ(both.rows[i].statistics.percentiles, rows[i].statistics.percentiles);
                EXPECT_EQ(both.rows[i].statistics.unique, rows[i].statistics.unique);
                EXPECT_EQ(both.rows[i].statistics.std, rows[i].statistics.std);
            }
            expect_same(*both.histogram, *pool.histogram(Depth::f32, options));
        }
        EXPECT_TRUE(pool.numbers(Depth::u8).rows.empty());
        EXPECT_TRUE(pool.merged_values(nullptr) == pool);
        EXPECT_THROW(pool.numbers(Depth::f32, {0, std::nullopt}), InvalidArgument);
    }
}

TEST(FloatSet, RefusesCountsThatAreNotTheImages) {
    const std::vector<float> samples{-1.5F, 0, 0.25F, 0.25F, infinity, 7, std::nanf("")};
    const auto refused = [&](const std::vector<float>& others, std::uint64_t plus = 1, std::uint64_t minus = 0) {
        FrequencyTable values;
        if (!others.empty()) values = count_frequencies(view_of(others))[0];
        values.plus_infinite = plus;
        values.minus_infinite = minus;
        Summary pool;
        EXPECT_THROW(pool.add(analyze(view_of(samples)), {values}), InvalidArgument);
        EXPECT_TRUE(pool.empty());
    };
    Summary().add(analyze(view_of(samples)), count_frequencies(view_of(samples)));
    refused({-1.5F, 0, 0.25F, 7});
    refused({-1.5F, 0, 0.25F, 0.25F, 0.25F, 7});
    refused({-1.75F, 0, 0.25F, 0.25F, 7});
    refused({-1.5F, 0, 0.25F, 0.25F, 8});
    refused({-1.5F, 0, 0.25F, 0.25F, 7}, 0);
    refused({-1.5F, 0, 0.25F, 0.25F, 7}, 1, 1);
    refused({});
    Summary pool;
    EXPECT_THROW(pool.add(analyze(view_of(samples)), {FrequencyTable(), FrequencyTable()}), InvalidArgument);
    const Picture bytes({3, 3, 1, Depth::u8}, packed, Content::ramp);
    EXPECT_THROW(Summary().add(analyze(bytes.view()), {FrequencyTable{}}), InvalidArgument);
}

}  // namespace
}  // namespace gpuhist::test
