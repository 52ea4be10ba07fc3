// Copies of another depth than their image, of every engine and of tables that are kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/io/lut_file.hpp"
#include "gpuhist/lut.hpp"
#include "support/engines_under_test.hpp"
#include "support/oracle.hpp"

namespace gpuhist::test {
namespace {

constexpr std::array modes{NormalizeMode::minmax, NormalizeMode::percentile, NormalizeMode::equalize};
constexpr std::array depths{Depth::u8, Depth::u16, Depth::f32};

Shape with_depth(Shape shape, Depth depth) {
    shape.depth = depth;
    return shape;
}

double value_of(const ImageView& image, std::int64_t x, std::int64_t y, int c) {
    return image.depth == Depth::f32 ? double{load<float>(image, x, y, c)}
                                     : static_cast<double>(sample(image, x, y, c));
}

/// A fraction of a top as the definitions round it; the product is exact.
double of_top(double fraction, Depth depth) {
    if (depth == Depth::f32) return fraction;
    return std::isnan(fraction) ? 0 : std::floor(std::clamp(fraction, 0.0, 1.0) * top_of(depth) + 0.5);
}

/// What becomes of a whole number v: in whole numbers throughout, but for equalize, whose definition is one of floats.
double expected_of(std::uint32_t v, std::vector<std::uint32_t> population, const Normalization& normalization,
                   Depth from, Depth to) {
    std::sort(population.begin(), population.end());
    const std::uint64_t top = to == Depth::f32 ? 1 : top_of(to), own = top_of(from);
    const auto ratio = [&](std::uint64_t a, std::uint64_t b) {  // a / b of the top
        return to == Depth::f32 ? static_cast<float>(static_cast<double>(a) / static_cast<double>(b))
                                : static_cast<double>((2 * a * top + b) / (2 * b));
    };
    std::uint64_t low = population.front(), high = population.back();
    if (normalization.mode == NormalizeMode::percentile) {
        low = nearest_rank(population, normalization.low);
        high = nearest_rank(population, normalization.high);
    }
    if (low == high) return ratio(v, own);
    if (normalization.mode != NormalizeMode::equalize)
        return ratio(std::clamp<std::uint64_t>(v, low, high) - low, high - low);
    const auto first = std::upper_bound(population.begin(), population.end(), population.front());
    const auto through = std::max(first, std::upper_bound(population.begin(), population.end(), v));
    const float scale = static_cast<float>(top) / static_cast<float>(population.end() - first);
    const float scaled = static_cast<float>(through - first) * scale;
    return std::min<double>(to == Depth::f32 ? scaled : std::rint(scaled), static_cast<double>(top));
}

/// The place where a copy is not what the definitions say; empty where it is.
std::string wrong_place(const ImageView& image, const Normalization& normalization, const ImageView& copy) {
    const bool joint = normalization.joint && image.channels > 1;
    std::optional<Picture> in_floats;
    if (image.depth == Depth::f32) {
        Normalization own = normalization;
        own.depth.reset();
        in_floats.emplace(expected_normalized(image, own, make_engine("cpu")->analyze(image)));
    }
    for (int c = 0; c < image.channels; ++c) {
        const Channel name = image.channels == 1                              ? Channel::gray
                             : c == 3                                         ? Channel::alpha
                             : c == 1                                         ? Channel::green
                             : (c == 0) == (image.order == ChannelOrder::rgb) ? Channel::red
                                                                              : Channel::blue;
        const Channel decides = name == Channel::alpha || !joint                ? name
                                : normalization.mode == NormalizeMode::equalize ? Channel::luma
                                                                                : Channel::all;
        std::vector<double> known(65536, -1);
        const std::vector<std::uint32_t> population =
            in_floats ? std::vector<std::uint32_t>() : values_of(image, decides);
        for (std::int64_t y = 0; y < image.height; ++y)
            for (std::int64_t x = 0; x < image.width; ++x) {
                double expected = 0;
                if (in_floats) {
                    expected = of_top(load<float>(in_floats->view(), x, y, c), copy.depth);
                } else if (const std::uint32_t v = sample(image, x, y, c); name == Channel::alpha) {
                    expected = copy.depth == Depth::f32
                                   ? static_cast<float>(v) / static_cast<float>(top_of(image.depth))
                                   : (2.0 * v * top_of(copy.depth) + top_of(image.depth)) / (2.0 * top_of(image.depth));
                    if (copy.depth != Depth::f32) expected = std::floor(expected);
                } else {
                    if (known[v] < 0) known[v] = expected_of(v, population, normalization, image.depth, copy.depth);
                    expected = known[v];
                }
                const double got = value_of(copy, x, y, c);
                if (got != expected && !(std::isnan(got) && std::isnan(expected)))
                    return std::to_string(x) + "," + std::to_string(y) + " channel " + std::to_string(c) + ": " +
                           std::to_string(got) + " instead of " + std::to_string(expected);
            }
    }
    return "";
}

class CopyDepthTest : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Engines, CopyDepthTest, testing::ValuesIn(engines_under_test), label_of);

TEST_P(CopyDepthTest, IsWrittenByTheDefinitionOfTheMode) {
    std::size_t turn = 0;
    for (const Depth from : depths)
        for (const Depth to : depths)
            for (const int channels : {1, 3, 4})
                for (const Content content : contents_of(from))
                    for (const NormalizeMode mode : modes)
                        for (const bool joint : {true, false}) {
                            if (from == to || (!joint && channels == 1) || left_out()) continue;
                            const auto order = ++turn % 2 ? ChannelOrder::rgb : ChannelOrder::bgr;
                            const Picture picture({19, 7, channels, from, order}, layouts[turn % 5], content);
                            Picture copy(with_depth(picture.shape(), to), layouts[(turn + 2) % 5]);
                            const std::vector<std::byte> around = copy.bytes_between_pixels();
                            const Normalization normalization{mode, 2.5, 97, joint, to};
                            Analysis result;
                            poison(result);
                            engine->normalize(picture.view(), {}, normalization, copy.mutable_view(), result);
                            SCOPED_TRACE(std::string(to_string(from)) + " to " + to_string(to) + " " +
                                         std::to_string(channels) + " " + to_string(mode) +
                                         (joint ? " joint" : " separate") + " content " +
                                         std::to_string(static_cast<int>(content)));
                            ASSERT_EQ(wrong_place(picture.view(), normalization, copy.view()), "");
                            ASSERT_TRUE(copy.bytes_between_pixels() == around);
                            if (mode == NormalizeMode::percentile && from == Depth::f32) continue;  // more ranks
                            ASSERT_EQ(difference(result, reference->analyze(picture.view())), "");
                        }
}

TEST_P(CopyDepthTest, OfIntegersInFloatsIsThatOfFloatsOfTheSameNumbers) {
    for (const Depth from : {Depth::u8, Depth::u16})
        for (const NormalizeMode mode : {NormalizeMode::minmax, NormalizeMode::percentile}) {
            const Picture whole({40, 30, 3, from}, packed, Content::natural);
            Picture real({40, 30, 3, Depth::f32}, packed), got(real.shape(), packed), wanted(real.shape(), packed);
            for (std::int64_t y = 0; y < 30; ++y)
                for (std::int64_t x = 0; x < 40; ++x)
                    for (int c = 0; c < 3; ++c) real.set(x, y, c, sample(whole.view(), x, y, c));
            Analysis ignored;
            engine->normalize(whole.view(), {}, {mode, 3, 95, true, Depth::f32}, got.mutable_view(), ignored);
            engine->normalize(real.view(), {}, {mode, 3, 95, true}, wanted.mutable_view(), ignored);
            EXPECT_EQ(difference(got.view(), wanted.view()), "") << to_string(mode);
        }
}

// By hand: of 1000 to 1004 the middle is 127.5 of 255, and 1003 is 191.25.
TEST_P(CopyDepthTest, RoundsOnceAndHalvesUp) {
    const std::uint16_t words[] = {1000, 1002, 1003, 1004};
    const float floats[] = {-1, 0, 1, 3, NAN, INFINITY, -INFINITY};
    const std::uint16_t one_word[] = {1000, 1000};
    const float one_float[] = {0.25F, NAN};
    const auto normalized = [&](const void* data, int width, Depth depth) {
        std::vector<std::uint8_t> out(static_cast<std::size_t>(width));
        Analysis result;
        const auto bytes = static_cast<std::int64_t>(sample_bytes(depth));
        engine->normalize({data, width, 1, 1, depth, width * bytes}, {},
                          {NormalizeMode::minmax, 1, 99, true, Depth::u8}, {out.data(), width, 1, 1, Depth::u8, width},
                          result);
        return out;
    };
    using Bytes = std::vector<std::uint8_t>;
    EXPECT_EQ(normalized(words, 4, Depth::u16), (Bytes{0, 128, 191, 255}));
    EXPECT_EQ(normalized(floats, 7, Depth::f32), (Bytes{0, 64, 128, 255, 0, 255, 0}));
    EXPECT_EQ(normalized(one_word, 2, Depth::u16), (Bytes{4, 4}));  // 3.89: left as it is
    EXPECT_EQ(normalized(one_float, 2, Depth::f32), (Bytes{64, 0}));
}

TEST_P(CopyDepthTest, OfManyJobsIsThatOfEach) {
    std::deque<Picture> pictures, copies;
    std::deque<Analysis> results;
    std::vector<Job> jobs;
    for (const Depth from : depths)
        for (const std::optional<Depth> to : {std::optional<Depth>(), {Depth::u8}, {Depth::u16}, {Depth::f32}})
            for (const NormalizeMode mode : modes)
                for (const int side : {5, 60}) {
                    const Picture& picture =
                        pictures.emplace_back(Shape{side, side, 3, from}, layouts[1], Content::natural);
                    const Normalization normalization{mode, 1, 99, true, to};
                    Picture& copy =
                        copies.emplace_back(with_depth(picture.shape(), normalized_depth(from, normalization)), packed);
                    AnalysisRequest request;
                    request.luma_histogram = false;
                    jobs.push_back(
                        {picture.view(), request, normalization, copy.mutable_view(), &results.emplace_back(), {}});
                }
    jobs[3].normalization = Normalization{NormalizeMode::zscore, 1, 99, true, Depth::u8};
    engine->run(jobs.data(), jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (i == 3) {
            EXPECT_THROW(std::rethrow_exception(jobs[i].error), InvalidArgument);
            continue;
        }
        ASSERT_FALSE(jobs[i].error) << i;
        Picture copy(copies[i].shape(), packed);
        Analysis result;
        reference->normalize(jobs[i].image, jobs[i].request, *jobs[i].normalization, copy.mutable_view(), result);
        ASSERT_EQ(difference(copies[i].view(), copy.view()), "") << i;
        ASSERT_EQ(difference(results[i], result), "") << i;
    }
}

TEST_P(CopyDepthTest, IsRefusedWhereThereIsNone) {
    const Picture picture({4, 4, 3, Depth::u16}, packed, Content::ramp);
    Picture bytes({4, 4, 3, Depth::u8}, packed), same({4, 4, 3, Depth::u16}, packed);
    Analysis result;
    const auto to = [&](NormalizeMode mode, Picture& output) {
        engine->normalize(picture.view(), {}, {mode, 1, 99, true, Depth::u8}, output.mutable_view(), result);
    };
    EXPECT_NO_THROW(to(NormalizeMode::minmax, bytes));
    EXPECT_THROW(to(NormalizeMode::zscore, bytes), InvalidArgument);
    EXPECT_THROW(to(NormalizeMode::minmax, same), InvalidArgument);
    const Picture floats({4, 4, 3, Depth::f32}, packed, Content::ramp);
    ImageView on_gpu = floats.view();
    on_gpu.memory = Memory::device;
    Picture words({4, 4, 3, Depth::s16}, packed);
    MutableImageView output = words.mutable_view();
    output.memory = Memory::device;
    EXPECT_THROW(engine->normalize(on_gpu, {}, {NormalizeMode::minmax, 1, 99, true, Depth::s16}, output, result),
                 InvalidArgument);
}

TEST(CopyDepth, OfKeptTablesIsThatOfTheImage) {
    const auto engine = make_engine("cpu", {.threads = 1});
    for (const Depth from : depths)
        for (const Depth to : depths)
            for (const int channels : {1, 4})
                for (const NormalizeMode mode : modes)
                    for (const bool joint : {true, false})
                        for (const Content content : {Content::constant, Content::gaussian, Content::natural}) {
                            if (left_out()) continue;
                            const Picture picture({23, 9, channels, from}, layouts[2], content);
                            const Normalization normalization{mode, 2.5, 97, joint, to};
                            Picture wanted(with_depth(picture.shape(), to), packed), got(wanted.shape(), layouts[1]);
                            Analysis analysis;
                            engine->normalize(picture.view(), {}, normalization, wanted.mutable_view(), analysis);
                            Summary summary;
                            summary.add(engine->analyze(picture.view()), from == Depth::f32
                                                                             ? count_frequencies(picture.view())
                                                                             : std::vector<FrequencyTable>());
                            const LutSet tables = make_luts(summary, from, normalization);
                            const std::string csv = io::luts_csv({tables});
                            ASSERT_EQ(csv.find(", copies ") != std::string::npos, from != to);
                            const auto read = io::parse_luts(csv, "tables");
                            ASSERT_EQ(read.size(), 1U);
                            ASSERT_TRUE(read[0] == tables);
                            apply_luts(read[0], picture.view(), got.mutable_view(), joint ? 1 : 3);
                            ASSERT_EQ(difference(got.view(), wanted.view()), "")
                                << to_string(from) << to_string(to) << to_string(mode) << channels << joint;
                            if (channels == 1) {
                                ASSERT_EQ(tables.leaves_all(), content == Content::constant);
                            }
                        }
}

TEST(CopyDepth, OfATableFileIsReadStrictly) {
    const auto engine = make_engine("cpu", {.threads = 1});
    const Picture picture({8, 8, 1, Depth::u8}, packed, Content::ramp);
    Summary summary;
    summary.add(engine->analyze(picture.view()));
    const auto lines = [&](NormalizeMode mode, std::optional<Depth> depth) {
        const std::string csv = io::luts_csv({make_luts(summary, Depth::u8, {mode, 1, 99, true, depth})});
        return csv.substr(csv.find('\n') + 1);  // without the checksum
    };
    const auto message = [](std::string text, const std::string& old, const std::string& replacement) {
        text.replace(text.find(old), old.size(), replacement);
        try {
            io::parse_luts(text, "my.csv");
            return std::string("no error");
        } catch (const IoError& error) {
            return std::string(error.what());
        }
    };
    const std::string real = lines(NormalizeMode::minmax, Depth::f32), words = lines(NormalizeMode::minmax, Depth::u16);
    EXPECT_EQ(real.substr(0, real.find('\n')), "# gpuhist tables: depth u8, mode minmax, channels joint, copies f32");
    EXPECT_EQ(message(real, "copies f32", "copies f64"),
              "my.csv: line 1: a table of u8 makes no copies of f64, for which it has too few digits");
    EXPECT_EQ(message(real, "copies f32", "copies f65"),
              "my.csv: line 1: expected ', copies ' and one of u8, s8, u16, s16, u32, s32, f16, f32, f64");
    EXPECT_EQ(message(real, "\n255,", "\n255,2"), "my.csv: line 258: '21' is not a number from 0 to 1");
    EXPECT_EQ(message(words, "\n255,", "\n255,1"), "my.csv: line 258: '165535' is not a whole number from 0 to 65535");
    EXPECT_EQ(message(lines(NormalizeMode::zscore, {}), "channels joint", "channels joint, copies u8"),
              "my.csv: line 1: zscore makes no copies of u8");
}

}  // namespace
}  // namespace gpuhist::test
