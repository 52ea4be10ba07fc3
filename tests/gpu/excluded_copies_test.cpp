// Excluded samples in copies: numbers worked by hand, and the rule sample by sample in images of every depth.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/dataset.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/lut_file.hpp"
#include "gpuhist/lut.hpp"
#include "gpuhist/reduce.hpp"
#include "support/engines_under_test.hpp"
#include "support/modes.hpp"
#include "support/validity_cases.hpp"

namespace gpuhist::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

std::vector<double> values_of(const Raster& image) {
    std::vector<double> values;
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x)
            for (int c = 0; c < image.channels; ++c) values.push_back(image.value(x, y, c));
    return values;
}

/// Values that may stand for nodata in copies of a depth.
std::vector<std::optional<double>> fills_of(Depth copy) {
    const DepthTraits& traits = traits_of(copy);
    if (traits.floating) return {std::nullopt, -9.5, nan};
    return {std::nullopt, traits.lowest, traits.highest};
}

class ExcludedCopies : public EngineTest {
  protected:
    /// Row of gray samples, what stands for nodata, and the mask; NaN of integers stands for no rule.
    struct Given {
        Depth depth;
        std::vector<double> samples;
        std::vector<double> nodata{};
        std::vector<std::uint8_t> mask{};
        std::vector<Validity::Interval> valid{};
    };

    std::vector<double> copy_of(const Given& given, const Normalization& normalization) {
        Raster image(static_cast<std::int64_t>(given.samples.size()), 1, 1, given.depth);
        for (std::size_t i = 0; i < given.samples.size(); ++i)
            image.set(static_cast<std::int64_t>(i), 0, 0, given.samples[i]);
        Raster copy(image.width, 1, 1, normalized_depth(given.depth, normalization));
        ImageView view = image.view();
        if (!given.mask.empty()) view.mask = given.mask.data();
        view.mask_row_bytes = view.width;
        Validity validity;
        for (const double value : given.nodata) validity.nodata.push_back({{}, value});
        validity.valid = given.valid;
        AnalysisRequest request;
        if (!(validity == Validity())) request.validity = std::make_shared<Validity>(validity);
        Analysis result;
        engine->normalize(view, request, normalization, copy.mutable_view(), result);
        return values_of(copy);
    }
    static Normalization to(std::optional<Depth> depth, std::optional<double> fill = {},
                            NormalizeMode mode = NormalizeMode::minmax, bool valid_only = false) {
        Normalization normalization;
        normalization.mode = mode;
        normalization.depth = depth;
        normalization.fill = fill;
        normalization.valid_only = valid_only;
        return normalization;
    }
    void expect(const Given& given, const Normalization& normalization, const std::vector<double>& wanted) {
        const std::vector<double> got = copy_of(given, normalization);
        ASSERT_EQ(got.size(), wanted.size());
        for (std::size_t i = 0; i < got.size(); ++i)
            EXPECT_TRUE(same(got[i], wanted[i])) << "sample " << i << ": " << got[i] << ", and not " << wanted[i];
    }
};
INSTANTIATE_TEST_SUITE_P(Engines, ExcludedCopies, testing::ValuesIn(engines_under_test), label_of);

TEST_P(ExcludedCopies, OfIntegersByHand) {
    const Given bytes{Depth::u8, {10, 0, 20, 30}, {0}};
    expect(bytes, to({}), {0, 0, 128, 255});  // (20 - 10) · 255 / 20 is 127.5
    expect(bytes, to({}, 0), {1, 0, 128, 255});
    expect(bytes, to({}, 255), {0, 255, 127, 254});
    expect(bytes, to(Depth::u16), {0, 0, 32768, 65535});
    expect(bytes, to(Depth::u16, 0), {1, 0, 32768, 65535});
    expect(bytes, to(Depth::f32), {0, nan, 0.5, 1});
    expect(bytes, to(Depth::f32, -1), {0, -1, 0.5, 1});
    expect(bytes, to(Depth::s8), {-128, 0, 0, 127});
    expect(bytes, to(Depth::s8, -128), {-127, -128, 0, 127});
    expect({Depth::s16, {-32768, -100, 0, 100}, {-32768}}, to({}), {-32768, -32768, 0, 32767});
    expect({Depth::s16, {-32768, -100, 0, 100}, {-32768}}, to({}, -32768), {-32768, -32767, 0, 32767});
    expect({Depth::u16, {7, 1000, 1001, 1002}, {7}}, to(Depth::u8, 255), {255, 0, 127, 254});
    expect({Depth::u32, {5, 10, 12, 14}, {5}}, to({}, 4294967295.0), {4294967295.0, 0, 2147483647.0, 4294967294.0});
    expect({Depth::s32, {5, 10, 12, 14}, {5}}, to(Depth::u8, 0), {0, 1, 128, 255});
    // 5, 5, 7, 9 in ranks: two of the lowest, and one each of others.
    const Given ranks{Depth::u8, {5, 5, 7, 9, 200}, {200}};
    expect(ranks, to({}, {}, NormalizeMode::equalize), {0, 0, 128, 255, 200});
    expect(ranks, to({}, 0, NormalizeMode::equalize), {1, 1, 128, 255, 0});
    expect(ranks, to({}, 255, NormalizeMode::equalize), {0, 0, 127, 254, 255});
    expect(ranks, to(Depth::u16, 65535, NormalizeMode::equalize), {0, 0, 32767, 65534, 65535});
    expect({Depth::u32, {5, 5, 7, 9, 200}, {200}}, to(Depth::u8, 0, NormalizeMode::equalize), {1, 1, 128, 255, 0});
    const Given scores{Depth::u8, {2, 4, 6, 0}, {0}};
    const std::vector<double> got = copy_of(scores, to({}, {}, NormalizeMode::zscore));
    EXPECT_EQ(got[1], 0);
    EXPECT_TRUE(std::isnan(got[3]));
    EXPECT_EQ(copy_of(scores, to({}, 7, NormalizeMode::zscore))[3], 7);
}

TEST_P(ExcludedCopies, OfFloatsByHand) {
    for (const Depth depth : {Depth::f16, Depth::f32, Depth::f64}) {
        SCOPED_TRACE(to_string(depth));
        const Given heights{depth, {1, -9992, 2, 3}, {-9992}};
        expect(heights, to({}), {0, -9992, 0.5, 1});
        expect(heights, to({}, -1), {0, -1, 0.5, 1});
        expect(heights, to({}, nan), {0, nan, 0.5, 1});
        expect(heights, to(Depth::u8), {0, 0, 128, 255});
        expect(heights, to(Depth::u8, 0), {1, 0, 128, 255});
        expect(heights, to(Depth::u8, 255), {0, 255, 127, 254});
        expect(heights, to(depth == Depth::f32 ? Depth::f64 : Depth::f32), {0, nan, 0.5, 1});
        // NaN that no rule names is no valid sample either.
        expect({depth, {1, nan, 2, 3}}, to(Depth::u8), {0, 0, 128, 255});
        expect({depth, {1, nan, 2, 3}}, to(Depth::u8, 255), {0, 255, 127, 254});
        expect({depth, {1, nan, 2, 3}}, to({}, 5), {0, nan, 0.5, 1});
        expect({depth, {1, nan, 2, 3}, {nan}}, to({}, 5), {0, 5, 0.5, 1});
        expect({depth, {1, nan, 2, 3}, {nan}}, to({}), {0, nan, 0.5, 1});
    }
}

TEST_P(ExcludedCopies, OfOneValueHaveTheNearestLevel) {
    expect({Depth::u8, {0, 0}}, to({}, 0), {1, 1});
    expect({Depth::u8, {255, 255, 3}, {3}}, to({}, 255), {254, 254, 255});
    expect({Depth::u8, {9, 9, 3}, {3}}, to({}, 255), {9, 9, 255});
    expect({Depth::u16, {0, 0}}, to(Depth::u8, 0), {1, 1});
    expect({Depth::s32, {-2147483648.0, -2147483648.0}}, to({}, -2147483648.0), {-2147483647.0, -2147483647.0});
    expect({Depth::f32, {1, 1, -5}, {-5}}, to(Depth::u8, 255), {254, 254, 255});
    expect({Depth::u8, {4, 4}, {4}}, to({}, 0), {0, 0});
}

TEST_P(ExcludedCopies, OfMasksAndBoundsFollowWhatIsAsked) {
    const Given masked{Depth::u8, {10, 20, 30, 15, 40}, {}, {1, 1, 1, 0, 0}};
    expect(masked, to({}), {0, 128, 255, 64, 255});
    expect(masked, to({}, 0), {1, 128, 255, 65, 255});
    expect(masked, to({}, {}, NormalizeMode::minmax, true), {0, 128, 255, 15, 40});
    expect(masked, to(Depth::u16), {0, 32768, 65535, 0, 0});
    expect(masked, to(Depth::u16, 65535), {0, 32767, 65534, 65535, 65535});
    const Given bounded{Depth::f32, {10, 20, 30, 40, -9999}, {-9999}, {}, {{{}, 0, 30}}};
    expect(bounded, to({}), {0, 0.5, 1, 1.5, -9999});
    expect(bounded, to({}, nan), {0, 0.5, 1, 1.5, nan});
    expect(bounded, to({}, 7, NormalizeMode::minmax, true), {0, 0.5, 1, 40, 7});
    // Nodata that is masked as well does not pass through the table.
    const Given both{Depth::f32, {10, 20, -9999, -9999, 15}, {-9999}, {1, 1, 1, 0, 0}};
    expect(both, to({}), {0, 1, -9999, -9999, 0.5});
    expect(both, to({}, {}, NormalizeMode::minmax, true), {0, 1, -9999, -9999, 15});
    expect(both, to(Depth::u8, 255), {0, 254, 255, 255, 255});
}

/// Verdicts on a sample of a case.
bool is_alpha(const ValidityCase& given, int c) {
    return given.image.channels == 4 && given.channel(c) == Channel::alpha;
}
bool excludes(const ValidityCase& given, std::int64_t x, std::int64_t y, int c) {
    return given.masks(x, y) || given.nodata(x, y, c) || given.names(x, y, c);
}

/// Expects of a pixel of a copy what the rule says of it.
void expect_rule(const ValidityCase& given, const Raster& copy, const Normalization& normalization, std::int64_t x,
                 std::int64_t y) {
    const DepthTraits& traits = traits_of(copy.depth);
    const bool converted = copy.depth != given.image.depth;
    const std::optional<double> fill = normalization.fill;
    bool all = true;
    for (int c = 0; c < copy.channels; ++c) all = all && (is_alpha(given, c) || !excludes(given, x, y, c));
    for (int c = 0; c < copy.channels; ++c) {
        const double from = given.image.value(x, y, c), got = copy.value(x, y, c);
        std::optional<double> wanted;
        if (is_alpha(given, c)) {
            if (!converted) wanted = from;
            if (converted && (!all || excludes(given, x, y, c))) wanted = 0;
        } else if (given.names(x, y, c)) {
            wanted = fill ? *fill : !converted ? from : traits.floating ? nan : 0;
        } else if (excludes(given, x, y, c)) {
            if (converted) wanted = fill.value_or(0);
            if (normalization.valid_only) wanted = from;
        } else if (std::isnan(from) && !traits.floating) {
            wanted = fill.value_or(traits.lowest);
        }
        if (wanted) {
            ASSERT_TRUE(same(got, *wanted)) << x << "," << y << " channel " << c << ": " << got << ", not " << *wanted;
        } else if (fill && !traits.floating && !is_alpha(given, c) && !std::isnan(from)) {
            ASSERT_NE(got, *fill) << x << "," << y << " channel " << c << " was " << from;
        }
    }
}

TEST_P(ExcludedCopies, ObeyTheRuleInEverySample) {
    std::size_t turn = 0;
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {1, 3, 4, 5})
            for (int variant = 0; variant < validity_variants; ++variant)
                for (const NormalizeTraits& mode : exact_modes())
                    for (const std::optional<Depth> asked :
                         {std::optional<Depth>(), {Depth::u8}, {Depth::s16}, {Depth::u32}, {Depth::f32}}) {
                        if (left_out()) continue;
                        ++turn;
                        Normalization normalization{mode.mode, 5, 95, turn % 2 == 0, asked};
                        if (mode.real && asked && !traits_of(*asked).floating) continue;
                        if (normalization.joint && mode.joint_by_luma && channels == 5) continue;
                        const ValidityCase given = make_validity_case(traits.depth, channels, variant);
                        const Depth depth = normalized_depth(traits.depth, normalization);
                        const bool converted = depth != traits.depth;
                        normalization.valid_only = !converted && turn % 3 == 0;
                        normalization.fill = fills_of(depth)[turn / 2 % 3];
                        SCOPED_TRACE(std::string(traits.name) + " to " + to_string(depth) + " " +
                                     std::to_string(channels) + " variant " + std::to_string(variant) + " " +
                                     mode.name + (normalization.joint ? " joint" : "") +
                                     (normalization.valid_only ? " valid" : "") +
                                     (normalization.fill ? " fill " + std::to_string(*normalization.fill) : ""));
                        Raster copy(given.image.width, given.image.height, channels, depth), again = copy;
                        copy.order = again.order = given.image.order;
                        copy.samples = again.samples = given.image.samples;
                        Analysis found;
                        engine->normalize(given.view(), given.request(), normalization, copy.mutable_view(), found);
                        reference->normalize(given.view(), given.request(), normalization, again.mutable_view(), found);
                        ASSERT_TRUE(copy.memory == again.memory);
                        if (!converted) {
                            ValidityCase over = given;
                            engine->normalize(over.view(), over.request(), normalization, over.image.mutable_view(),
                                              found);
                            const std::vector<double> a = values_of(over.image), b = values_of(copy);
                            for (std::size_t i = 0; i < a.size(); ++i) ASSERT_TRUE(same(a[i], b[i])) << "in place";
                        }
                        for (std::int64_t y = 0; y < copy.height; ++y)
                            for (std::int64_t x = 0; x < copy.width; ++x)
                                ASSERT_NO_FATAL_FAILURE(expect_rule(given, copy, normalization, x, y));
                    }
}

TEST_P(ExcludedCopies, OfStripsAreThoseOfTheWhole) {
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {1, 3, 4})
            for (const std::optional<Depth> asked : {std::optional<Depth>(), {Depth::u8}, {Depth::f32}}) {
                if (traits.counting == Counting::sorted) continue;
                Normalization normalization{NormalizeMode::minmax, 1, 99, true, asked};
                const Depth depth = normalized_depth(traits.depth, normalization);
                normalization.fill = fills_of(depth)[1];
                const ValidityCase given = make_validity_case(traits.depth, channels, 2);
                SCOPED_TRACE(std::string(traits.name) + " to " + to_string(depth) + " " + std::to_string(channels));
                Raster copy(given.image.width, given.image.height, channels, depth), whole = copy, over = given.image;
                copy.order = whole.order = given.image.order;
                Analysis found;
                reference->normalize(given.view(), given.request(), normalization, whole.mutable_view(), found);
                ImageView sides = given.view();
                sides.data = nullptr;
                const auto strips = engine->analyze_strips(sides, given.request(), found, &normalization);
                const auto each = [&](const auto& use) {
                    for (std::int64_t y = 0; y < copy.height; y += 5) {
                        ImageView strip = given.view();
                        strip.height = std::min<std::int64_t>(5, copy.height - y);
                        strip.data = static_cast<const std::byte*>(strip.data) + y * strip.row_bytes;
                        if (strip.mask) strip.mask += y * strip.mask_row_bytes;
                        use(strip, y);
                    }
                };
                do each([&](const ImageView& strip, std::int64_t) { strips->take(strip); });
                while (strips->end_pass());
                each([&](ImageView strip, std::int64_t y) {
                    MutableImageView to = copy.mutable_view();
                    to.height = strip.height;
                    to.data = static_cast<std::byte*>(to.data) + y * to.row_bytes;
                    strips->copy(strip, to);
                    if (depth != strip.depth) return;
                    to = over.mutable_view();  // in its place
                    to.height = strip.height;
                    to.data = static_cast<std::byte*>(to.data) + y * to.row_bytes;
                    strip.data = to.data;
                    strips->copy(strip, to);
                });
                EXPECT_TRUE(copy.memory == whole.memory);
                const std::vector<double> a = values_of(over), b = values_of(whole);
                for (std::size_t i = 0; depth == traits.depth && i < a.size(); ++i) ASSERT_TRUE(same(a[i], b[i])) << i;
            }
}

TEST_P(ExcludedCopies, OfManyJobsAreThoseOfEach) {
    std::deque<ValidityCase> cases;
    std::deque<Raster> copies;
    std::deque<Analysis> results;
    std::vector<Job> jobs;
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (const std::optional<Depth> asked : {std::optional<Depth>(), {Depth::u8}})
            for (const NormalizeMode mode : {NormalizeMode::minmax, NormalizeMode::percentile, NormalizeMode::equalize})
                for (const bool excludes : {false, true})
                    for (std::size_t i = 0; i < 3; ++i) {
                        ValidityCase& given = cases.emplace_back(make_validity_case(depth, 3, 2));
                        Normalization normalization{mode, 3, 97, true, asked};
                        const Depth copied = normalized_depth(depth, normalization);
                        normalization.fill = fills_of(copied)[i];
                        Raster& copy = copies.emplace_back(given.image.width, given.image.height, 3, copied);
                        copy.order = given.image.order;
                        Job& job = jobs.emplace_back();
                        job.image = excludes ? given.view() : given.image.view();
                        if (excludes) job.request = given.request();
                        job.normalization = normalization;
                        job.output = copy.mutable_view();
                        job.result = &results.emplace_back();
                    }
    engine->run(jobs.data(), jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        ASSERT_FALSE(jobs[i].error) << i;
        Raster wanted(copies[i].width, copies[i].height, 3, copies[i].depth);
        wanted.order = copies[i].order;
        Analysis found;
        reference->normalize(jobs[i].image, jobs[i].request, *jobs[i].normalization, wanted.mutable_view(), found);
        EXPECT_TRUE(copies[i].memory == wanted.memory) << i;
        EXPECT_TRUE(found == results[i]) << i;
    }
}

TEST_P(ExcludedCopies, OfAValueThatTheyDoNotHoldAreRefusedByName) {
    const auto refusal = [&](Depth depth, std::optional<Depth> asked, double fill) -> std::string {
        try {
            copy_of({depth, {1, 2, 3}}, to(asked, fill));
        } catch (const InvalidArgument& error) {
            return error.what();
        }
        return "none";
    };
    EXPECT_EQ(refusal(Depth::u8, {}, 7),
              "fill: nodata in copies of u8 is their lowest or highest value, 0 or 255, and not 7");
    EXPECT_EQ(refusal(Depth::f32, Depth::s16, 0),
              "fill: nodata in copies of s16 is their lowest or highest value, -32768 or 32767, and not 0");
    EXPECT_EQ(refusal(Depth::u16, {}, nan),
              "fill: nodata in copies of u16 is their lowest or highest value, 0 or 65535, and not nan");
    EXPECT_EQ(refusal(Depth::f64, Depth::f16, 1e6), "fill: copies of f16 do not hold 1e+06");
    EXPECT_EQ(refusal(Depth::u8, Depth::f32, 7), "none");
}

TEST(ExcludedCopiesByTables, AreThoseOfTheImage) {
    const auto engine = make_engine("cpu", {.threads = 1});
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {1, 4})
            for (const NormalizeTraits& mode : exact_modes())
                for (const std::optional<Depth> asked : {std::optional<Depth>(), {Depth::u8}, {Depth::f32}}) {
                    Normalization normalization{mode.mode, 5, 95, true, asked};
                    if (mode.real && asked && !traits_of(*asked).floating) continue;
                    if (traits.counting == Counting::sorted && mode.needs == NormalizeNeeds::counts) continue;
                    const Depth depth = normalized_depth(traits.depth, normalization);
                    if (traits.counting == Counting::values && sample_bytes(depth) > 2 && depth != Depth::f32) continue;
                    for (const std::optional<double>& fill : fills_of(depth)) {
                        if (left_out()) continue;
                        normalization.fill = fill;
                        SCOPED_TRACE(std::string(traits.name) + " to " + to_string(depth) + " " +
                                     std::to_string(channels) + " " + mode.name +
                                     (fill ? " fill " + std::to_string(*fill) : ""));
                        const ValidityCase given = make_validity_case(traits.depth, channels, 2);
                        Raster wanted(given.image.width, given.image.height, channels, depth), got = wanted;
                        wanted.order = got.order = given.image.order;
                        Analysis found;
                        engine->normalize(given.view(), given.request(), normalization, wanted.mutable_view(), found);
                        Summary summary;
                        summary.add(engine->analyze(given.view(), given.request()),
                                    traits.depth == Depth::f32
                                        ? count_frequencies(given.view(), nullptr, given.request())
                                        : std::vector<FrequencyTable>());
                        const LutSet tables = make_luts(summary, traits.depth, normalization);
                        const std::string csv = io::luts_csv({tables});
                        ASSERT_EQ(csv.find(", fill ") != std::string::npos, fill.has_value());
                        const auto read = io::parse_luts(csv, "tables");
                        ASSERT_TRUE(read.at(0) == tables);
                        apply_luts(read[0], given.view(), got.mutable_view());
                        Normalization settled = normalization;
                        settled.fill = read[0].fill;
                        settle_copy(given.view(), given.request(), settled, got.mutable_view());
                        const std::vector<double> a = values_of(got), b = values_of(wanted);
                        for (std::size_t i = 0; i < a.size(); ++i)
                            ASSERT_TRUE(same(a[i], b[i])) << i << ": " << a[i] << ", not " << b[i];
                    }
                }
}

TEST(ExcludedCopiesByTables, HaveNoTableWithTheValueForNodata) {
    Summary summary;
    const ValidityCase given = make_validity_case(Depth::u8, 1, 1);
    summary.add(make_engine("cpu")->analyze(given.view(), given.request()));
    Normalization normalization;
    normalization.fill = 0;
    LutSet tables = make_luts(summary, Depth::u8, normalization);
    Raster copy(given.image.width, given.image.height, 1, Depth::u8);
    copy.order = given.image.order;
    EXPECT_NO_THROW(apply_luts(tables, given.view(), copy.mutable_view()));
    tables.luts[0].values[9] = 0;
    EXPECT_THROW(apply_luts(tables, given.view(), copy.mutable_view()), InvalidArgument);
    tables.fill = 7;
    EXPECT_THROW(apply_luts(tables, given.view(), copy.mutable_view()), InvalidArgument);
    normalization.fill = 7;
    EXPECT_THROW(make_luts(summary, Depth::u8, normalization), InvalidArgument);
    const std::string csv = "# gpuhist tables: depth u8, mode minmax, channels joint, fill ";
    const auto message = [](const std::string& text) {
        try {
            io::parse_luts(text, "t.csv");
        } catch (const IoError& error) {
            return std::string(error.what());
        }
        return std::string("none");
    };
    EXPECT_EQ(message(csv + "7\n"),
              "t.csv: line 1: nodata in copies of u8 is their lowest or highest value, 0 or 255, and not 7");
    EXPECT_EQ(message(csv + "x\n"), "t.csv: line 1: 'x' is neither a number nor nan");
    std::string lines = csv + "0\nvalue,gray\n";
    for (int value = 0; value < 256; ++value) lines += std::to_string(value) + "," + std::to_string(value) + "\n";
    EXPECT_EQ(message(lines), "t.csv: line 3: '0' stands for nodata");
}

// ---- copies that are made smaller -----------------------------------------------------------------------------------

/// Row of gray samples made smaller, by the copy of an image and what is excluded there.
std::vector<double> smaller(Depth from, const std::vector<double>& samples, const std::vector<double>& nodata,
                            std::optional<Depth> asked, std::int64_t width,
                            const std::vector<std::uint8_t>& mask = {}) {
    Raster image(static_cast<std::int64_t>(samples.size()), 1, 1, from);
    for (std::size_t i = 0; i < samples.size(); ++i) image.set(static_cast<std::int64_t>(i), 0, 0, samples[i]);
    Normalization normalization;
    normalization.depth = asked;
    Raster copy(image.width, 1, 1, normalized_depth(from, normalization)), small(width, 1, 1, copy.depth);
    ImageView view = image.view();
    if (!mask.empty()) view.mask = mask.data();
    view.mask_row_bytes = view.width;
    Validity validity;
    for (const double value : nodata) validity.nodata.push_back({{}, value});
    AnalysisRequest request;
    if (!nodata.empty()) request.validity = std::make_shared<Validity>(validity);
    Analysis found;
    make_engine("cpu")->normalize(view, request, normalization, copy.mutable_view(), found);
    reduce_copy(copy.view(), small.mutable_view(), view, request, normalization);
    return values_of(small);
}

TEST(ReduceCopy, AveragesValidSamplesAlone) {
    using List = std::vector<double>;
    const auto expect = [](const List& got, const List& wanted) {
        ASSERT_EQ(got.size(), wanted.size());
        for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same(got[i], wanted[i])) << i << ": " << got[i];
    };
    expect(smaller(Depth::f32, {5, 5, 7, -9999}, {-9999}, Depth::u8, 2), {0, 255});
    expect(smaller(Depth::f32, {5, 5, 7, nan}, {}, Depth::u8, 2), {0, 255});
    expect(smaller(Depth::f32, {5, 5, 7, nan}, {}, {}, 2), {0, 1});
    expect(smaller(Depth::f32, {5, 7, -9999, -9999}, {-9999}, {}, 2), {0.5, -9999});
    expect(smaller(Depth::f64, {5, 7, -9999, -9999}, {-9999}, Depth::f32, 2), {0.5, nan});
    expect(smaller(Depth::s16, {5, 7, -9999, -9999}, {-9999}, Depth::u8, 2), {128, 0});
    expect(smaller(Depth::u16, {0, 5, 7, 9}, {0}, {}, 2), {0, 49152});  // (32768 + 65535) / 2, halves up
    expect(smaller(Depth::u8, {10, 20, 30, 15, 40, 40}, {}, {}, 3, {1, 1, 1, 0, 0, 0}), {64, 255, 255});
    expect(smaller(Depth::u8, {10, 30, 15, 20, 0, 0}, {0}, {}, 3, {1, 1, 0, 0, 0, 0}), {128, 96, 0});
}

/// Average of a cell by the rule, in whole numbers or extended precision.
double average_of(const ValidityCase& given, const Raster& copy, const Raster& small, std::int64_t x, std::int64_t y,
                  int c, bool by_alpha) {
    const bool converted = copy.depth != given.image.depth, floating = traits_of(copy.depth).floating;
    const bool by_code = traits_of(copy.depth).counting == Counting::values && !floating;
    const double lowest = by_code ? traits_of(copy.depth).lowest : 0;
    const auto parts = [](std::int64_t i, std::int64_t from, std::int64_t to, std::int64_t at) {
        return std::max<std::int64_t>(0, std::min((i + 1) * to, (at + 1) * from) - std::max(i * to, at * from));
    };
    long double sums[2] = {}, weights[2] = {};
    bool there[2] = {};
    std::optional<double> first;
    for (std::int64_t v = y * copy.height / small.height; v * small.height < (y + 1) * copy.height; ++v)
        for (std::int64_t u = x * copy.width / small.width; u * small.width < (x + 1) * copy.width; ++u) {
            const auto area = static_cast<long double>(parts(u, copy.width, small.width, x)) *
                              static_cast<long double>(parts(v, copy.height, small.height, y));
            if (area == 0) continue;
            const double value = copy.value(u, v, c);
            if (!first) first = value;
            if (given.names(u, v, c) || std::isnan(given.image.value(u, v, c))) continue;
            bool excluded = excludes(given, u, v, c);
            if (is_alpha(given, c) && converted)
                for (int other = 0; other < 3; ++other) excluded = excluded || excludes(given, u, v, other);
            if (is_alpha(given, c) && given.validity.alpha == AlphaRule::mask && given.image.value(u, v, 3) == 0)
                excluded = !given.mask.empty() && given.mask[static_cast<std::size_t>(v * given.mask_row + u)] == 0;
            long double weight = area;
            if (by_alpha && c != 3) {
                const double alpha = copy.value(u, v, 3) - lowest;
                weight *= alpha > 0 && std::isfinite(alpha) ? static_cast<long double>(alpha) : 0;
            }
            there[excluded] = true;
            if (weight > 0)
                sums[excluded] += weight * (static_cast<long double>(value) - static_cast<long double>(lowest));
            weights[excluded] += weight;
        }
    if (!there[0] && !there[1]) return *first;
    const int tier = there[0] ? 0 : 1;
    if (!(weights[tier] > 0)) return 0;
    const long double average = sums[tier] / weights[tier];
    return lowest + static_cast<double>(floating ? average : std::floor(average + 0.5L));
}

TEST(ReduceCopy, IsTheAverageOfEveryAreaByTheRule) {
    const auto engine = make_engine("cpu", {.threads = 1});
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {1, 3, 4, 5})
            for (int variant = 0; variant < validity_variants; ++variant)
                for (const std::optional<Depth> asked :
                     {std::optional<Depth>(), {Depth::u8}, {Depth::s16}, {Depth::f32}}) {
                    if (left_out()) continue;
                    ValidityCase given = make_validity_case(traits.depth, channels, variant);
                    const Normalization normalization{NormalizeMode::minmax, 1, 99, true, asked};
                    const Depth depth = normalized_depth(traits.depth, normalization);
                    SCOPED_TRACE(std::string(traits.name) + " to " + to_string(depth) + " " + std::to_string(channels) +
                                 " variant " + std::to_string(variant));
                    Raster copy(given.image.width, given.image.height, channels, depth), small(37, 7, channels, depth);
                    copy.order = small.order = given.image.order;
                    copy.samples = small.samples = given.image.samples;
                    Analysis found;
                    engine->normalize(given.view(), given.request(), normalization, copy.mutable_view(), found);
                    for (const bool by_alpha : {false, true}) {
                        if (by_alpha && channels != 4) continue;
                        reduce_copy(copy.view(), small.mutable_view(), given.view(), given.request(), normalization,
                                    by_alpha ? ReduceWeight::alpha : ReduceWeight::area, variant + 1);
                        for (std::int64_t y = 0; y < small.height; ++y)
                            for (std::int64_t x = 0; x < small.width; ++x)
                                for (int c = 0; c < channels; ++c) {
                                    const double wanted = average_of(given, copy, small, x, y, c, by_alpha),
                                                 got = small.value(x, y, c);
                                    const bool exact = !traits_of(depth).floating &&
                                                       !(by_alpha && traits_of(depth).counting == Counting::sorted);
                                    const double far = 1e-3 * std::max(1.0, std::fabs(wanted));
                                    const bool near = same(got, wanted) || (!exact && std::fabs(got - wanted) <= far);
                                    ASSERT_TRUE(near)
                                        << x << "," << y << " channel " << c << (by_alpha ? " by alpha" : "") << ": "
                                        << got << ", not " << wanted;
                                }
                    }
                }
}

TEST(ReduceCopy, RefusesAnotherImage) {
    const ValidityCase given = make_validity_case(Depth::u8, 1, 1);
    Raster copy(given.image.width, given.image.height - 1, 1, Depth::u8), small(5, 5, 1, Depth::u8);
    EXPECT_THROW(reduce_copy(copy.view(), small.mutable_view(), given.view(), given.request(), {}), InvalidArgument);
}

}  // namespace
}  // namespace gpuhist::test
