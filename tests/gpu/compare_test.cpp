// Comparisons of sets, held to numpy, scipy and OpenCV.
#include "gpuhist/compare.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "support/summaries.hpp"

namespace gpuhist {
namespace {

using test::analyze;

struct Expected {
    const char* name;
    std::uint64_t bins;
    std::array<double, 12> numbers;
    std::array<double, 4> opencv;  ///< correlation, chi_square, intersection, bhattacharyya, from floats
};
const Expected expected_cases[] = {
#include "gpu/compared.inc"
};

constexpr std::size_t size_a = 5000, size_b = 3000;

/// The numbers of oracle/made_numbers.py.
std::vector<std::int64_t> made(std::size_t first, std::size_t count) {
    std::vector<std::int64_t> numbers;
    std::uint64_t state = 1;
    for (std::size_t i = 0; i < first + count; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        if (i >= first) numbers.push_back(static_cast<std::int64_t>(state >> 33));
    }
    return numbers;
}

/// Set of two images, in each of which are some of the samples.
template <class Sample, class Recipe>
Summary set_of(Depth depth, const std::vector<std::int64_t>& numbers, const Recipe& recipe, double white = 0) {
    static const auto engine = make_engine("cpu", {.threads = 1});
    Summary set;
    for (const auto& [begin, end] :
         {std::pair(numbers.begin(), numbers.begin() + 1000), {numbers.begin() + 1000, numbers.end()}}) {
        std::vector<Sample> samples;
        for (auto at = begin; at != end; ++at) samples.push_back(static_cast<Sample>(recipe(*at)));
        const ImageView view = packed_view(samples.data(), static_cast<std::int64_t>(samples.size()), 1, 1, depth);
        Analysis analysis = engine->analyze(view);
        if (white > 0) analysis.white = white;
        if (depth == Depth::f32)
            set.add(analysis, count_frequencies(view));
        else
            set.add(analysis);
    }
    return set;
}

Comparison compared(const std::string& name) {
    const std::vector<std::int64_t> a = made(0, size_a), b = made(size_a, size_b);
    const auto of = [&](Depth depth, auto sample, auto recipe_a, auto recipe_b) {
        using Sample = decltype(sample);
        return compare(set_of<Sample>(depth, a, recipe_a), set_of<Sample>(depth, b, recipe_b));
    };
    using Number = std::int64_t;
    if (name == "u8")
        return of(
            Depth::u8, std::uint8_t{}, [](Number r) { return r % 200; }, [](Number r) { return 20 + r % 180; });
    if (name == "few")
        return of(
            Depth::u8, std::uint8_t{}, [](Number r) { return r % 2 * 255; }, [](Number r) { return r % 3 * 100; });
    if (name == "constant")
        return of(
            Depth::u8, std::uint8_t{}, [](Number) { return 7; }, [](Number) { return 9; });
    if (name == "u16")
        return of(
            Depth::u16, std::uint16_t{}, [](Number r) { return r % 60000; },
            [](Number r) { return r % 30000 + (r >> 15) % 30000; });
    if (name == "s16")
        return of(
            Depth::s16, std::int16_t{}, [](Number r) { return r % 3000 - 1500; },
            [](Number r) { return r % 2000 - 1700; });
    if (name == "f32")
        return of(
            Depth::f32, float{}, [](Number r) { return static_cast<double>(r % 1048576) / 1048576; },
            [](Number r) { return static_cast<double>(r % 1048576) / 524288 - 0.25; });
    if (name == "u32")
        return of(
            Depth::u32, std::uint32_t{}, [](Number r) { return r; }, [](Number r) { return r / 2 + 5; });
    const auto any16 = set_of<std::uint16_t>(Depth::u16, b, [](Number r) { return r % 65536; });
    if (name == "depths") return compare(set_of<std::uint8_t>(Depth::u8, a, [](Number r) { return r % 256; }), any16);
    return compare(set_of<std::uint16_t>(
                       Depth::u16, a, [](Number r) { return r % 4096; }, 4095),
                   any16);
}

TEST(Compare, GivesTheNumbersOfNumpyAndScipy) {
    ASSERT_EQ(std::size(expected_cases), 9U);
    for (const Expected& expected : expected_cases) {
        SCOPED_TRACE(expected.name);
        const Comparison found = compared(expected.name);
        ASSERT_EQ(found.channels.size(), 1U);
        const ChannelComparison& channel = found.channels[0];
        const std::array<std::optional<double>, 12> numbers{
            channel.mean_difference, channel.std_difference, channel.std_ratio,    channel.smd,
            channel.correlation,     channel.chi_square,     channel.intersection, channel.bhattacharyya,
            channel.jensen_shannon,  channel.wasserstein,    channel.ks,           channel.psi};
        EXPECT_EQ(channel.bins, expected.bins);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            EXPECT_EQ(numbers[i].has_value(), !std::isnan(expected.numbers[i])) << i;
            if (!numbers[i]) continue;
            const double tolerance = 1e-11 * std::max(1.0, std::abs(expected.numbers[i]));
            EXPECT_NEAR(*numbers[i], expected.numbers[i], tolerance) << i;
        }
        for (std::size_t i = 0; i < 4; ++i)
            EXPECT_NEAR(*numbers[4 + i], expected.opencv[i], 1e-6 * std::max(1.0, std::abs(expected.opencv[i]))) << i;
        EXPECT_EQ(channel.valid_a, size_a);
        EXPECT_EQ(channel.valid_b, size_b);
        EXPECT_EQ(channel.images_a, 2U);
        EXPECT_FALSE(channel.same());
        EXPECT_EQ(channel.of_white, std::string(expected.name) == "depths" || std::string(expected.name) == "whites");
    }
}

TEST(Compare, EqualSharesAreTheSameExactly) {
    Summary once, thrice;
    const Analysis image = analyze<std::uint8_t>({3, 3, 3, 7, 9, 200, 255});
    once.add(image);
    for (int i = 0; i < 3; ++i) thrice.add(image);
    const ChannelComparison same = compare(once, thrice).channels.at(0);
    EXPECT_TRUE(same.same());
    for (const auto& [zero, name] : {std::pair(same.mean_difference, "mean"),
                                     {same.std_difference, "std"},
                                     {same.smd, "smd"},
                                     {same.chi_square, "chi_square"},
                                     {same.wasserstein, "w"},
                                     {same.bhattacharyya, "bhattacharyya"},
                                     {same.jensen_shannon, "js"},
                                     {same.ks, "ks"},
                                     {same.psi, "psi"}})
        EXPECT_EQ(zero, 0.0) << name;
    EXPECT_EQ(same.std_ratio, 1.0);
    thrice.add(analyze<std::uint8_t>({3}));
    EXPECT_FALSE(compare(once, thrice).channels.at(0).same());
}

TEST(Compare, WidenedSamplesAreTheSame) {
    Summary narrow, wide;
    std::vector<std::uint8_t> bytes;
    std::vector<std::uint16_t> words;
    for (int i = 0; i < 256; ++i)
        for (int k = 0; k <= i % 7; ++k) {
            bytes.push_back(static_cast<std::uint8_t>(i));
            words.push_back(static_cast<std::uint16_t>(i * 257));
        }
    narrow.add(analyze(bytes));
    wide.add(analyze(words));
    const ChannelComparison channel = compare(narrow, wide).channels.at(0);
    EXPECT_TRUE(channel.of_white);
    EXPECT_TRUE(channel.same());
    EXPECT_EQ(channel.wasserstein, 0.0);
}

TEST(Compare, TakesTheValuesOfFloatsAndNotTheirBins) {
    Summary a, b;  // one image each, whose counts are bins
    test::add_counted(a, {0, 0.25F, 1, 1});
    test::add_counted(b, {0.5F, 2});
    const ChannelComparison channel = compare(a, b).channels.at(0);
    EXPECT_EQ(channel.wasserstein, 0.6875);
    EXPECT_EQ(channel.ks, 0.5);
    EXPECT_EQ(channel.mean_difference, 0.6875);
}

TEST(Compare, NamesWhatOnlyOneHas) {
    Summary gray, colors, both;
    gray.add(analyze<std::uint8_t>({1, 2, 3}));
    colors.add(analyze<std::uint8_t>({1, 2, 3, 4, 5, 6}, 3));
    both.add(analyze<std::uint8_t>({1, 2, 3}));
    both.add(analyze<std::uint16_t>({1, 2, 3}));
    const Comparison none = compare(gray, colors);
    EXPECT_TRUE(none.channels.empty());
    EXPECT_EQ(none.only_a, std::vector<std::string>{"u8 gray"});
    EXPECT_EQ(none.only_b, (std::vector<std::string>{"u8 red", "u8 green", "u8 blue", "u8 luma", "u8 all"}));
    const Comparison one = compare(both, gray);
    EXPECT_EQ(one.channels.size(), 1U);
    EXPECT_EQ(one.only_a, std::vector<std::string>{"u16 gray"});
    EXPECT_TRUE(one.only_b.empty());
    EXPECT_EQ(compare(colors, colors).channels.size(), 5U);
    const Comparison whole = compare(colors, colors, ComparedChannels::whole);
    ASSERT_EQ(whole.channels.size(), 1U);
    EXPECT_EQ(whole.channels[0].channel, Channel::all);
    EXPECT_EQ(compare(gray, gray, ComparedChannels::whole).channels.size(), 1U);
    EXPECT_TRUE(compare(Summary(), gray).channels.empty());
}

TEST(Compare, WithoutValidSamplesNothingIsDefined) {
    Summary none, some;
    AnalysisRequest request;
    Validity validity;
    validity.nodata.push_back({std::nullopt, 5});
    request.validity = std::make_shared<const Validity>(validity);
    none.add(analyze<std::uint8_t>({5, 5}, 1, request));
    some.add(analyze<std::uint8_t>({5, 6}));
    const ChannelComparison channel = compare(none, some).channels.at(0);
    EXPECT_EQ(channel.valid_a, 0U);
    EXPECT_FALSE(channel.mean_a || channel.mean_difference || channel.smd || channel.ks || channel.psi);
    EXPECT_TRUE(channel.mean_b);
    EXPECT_FALSE(channel.same());
}

TEST(Compare, RefusesWhatCannotBeCompared) {
    Summary uncounted, mixed, words;
    uncounted.add(analyze<float>({1, 2}));
    EXPECT_THROW(compare(uncounted, uncounted), InvalidArgument);
    for (const double white : {100.0, 200.0}) {
        Analysis image = analyze<std::uint8_t>({1, 2});
        image.white = white;
        mixed.add(image);
    }
    words.add(analyze<std::uint16_t>({1, 2}));
    EXPECT_THROW(compare(mixed, words), InvalidArgument);
    EXPECT_THROW(compare(words, mixed), InvalidArgument);
    EXPECT_FALSE(compare(mixed, mixed).channels.at(0).of_white);
}

}  // namespace
}  // namespace gpuhist
