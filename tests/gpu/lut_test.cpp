// LUTs that outlive an image: the same bits as its normalized copy, and files that read back.
#include "gpuhist/lut.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/lut_file.hpp"
#include "normalize/lut.hpp"
#include "normalize/modes.hpp"
#include "support/damage.hpp"
#include "support/modes.hpp"
#include "support/oracle.hpp"
#include "support/repetitions.hpp"

namespace gpuhist::test {
namespace {

Shape output_shape(Shape shape, NormalizeMode mode) {
    shape.depth = normalized_depth(shape.depth, mode);
    return shape;
}

/// What reading a file of this text says.
std::string message(const std::string& text) {
    try {
        io::parse_luts(text, "my.csv");
        return "no error";
    } catch (const IoError& error) {
        return error.what();
    }
}

/// Text of a file without its first line, the checksum.
std::string unsealed(const std::string& csv) {
    return csv.substr(csv.find('\n') + 1);
}

class TablesTest : public testing::Test {
  protected:
    Summary pool_of(const std::vector<const Picture*>& pictures) {
        Summary pool;
        for (const Picture* picture : pictures) {
            const ImageView image = picture->view();
            const bool floats = image.depth == Depth::f32;
            pool.add(engine->analyze(image), floats ? count_frequencies(image) : std::vector<FrequencyTable>());
        }
        return pool;
    }
    std::unique_ptr<Engine> engine = make_engine("cpu", {.threads = 1});
};

/// (v − lo) · top / (hi − lo), halves rounded up, in integers.
std::uint64_t stretched(std::uint64_t v, std::uint64_t lo, std::uint64_t hi, std::uint64_t top) {
    return v <= lo ? 0 : v >= hi ? top : ((v - lo) * top * 2 + (hi - lo)) / (2 * (hi - lo));
}

TEST(Line, OfBytesIsTheStretchOfEveryRange) {
    for (std::uint32_t lo = 0; lo < 255; ++lo)
        for (std::uint32_t hi = lo + 1; hi < 256; ++hi) {
            const auto line = core::Line<std::uint8_t>::between(lo, hi);
            for (std::uint32_t v = 0; v < 256; ++v)
                ASSERT_EQ(line.map(v), stretched(v, lo, hi, 255)) << lo << ' ' << hi << ' ' << v;
        }
}

// Values from all over each width, and its highest, where the rounded factor is furthest off. (All 2,147,516,415 pairs
// of a width and a value were compared once, on 2026-11-22: equal.)
TEST(Line, OfWordsIsTheStretchOfEveryWidth) {
    for (std::uint32_t width = 1; width < 65536; ++width) {
        const std::uint32_t lo = width * 40503u % (65536 - width), hi = lo + width;
        const auto line = core::Line<std::uint16_t>::between(lo, hi);
        auto check = [&](std::uint32_t v) {
            ASSERT_EQ(line.map(v), stretched(v, lo, hi, 65535)) << lo << ' ' << hi << ' ' << v;
        };
        for (std::uint32_t k = 0; k < 64; ++k) {
            check(lo + static_cast<std::uint32_t>(std::uint64_t{width} * k / 63));
            check(hi - std::min(k, width));
        }
        check(0);
        check(65535);
    }
}

TEST(Line, OfOneValueLeavesAllAsTheyAre) {
    for (std::uint32_t v : {0u, 1u, 128u, 255u}) {
        const auto line = core::Line<std::uint8_t>::between(7, 7);
        EXPECT_EQ(line.map(v), v);
    }
    for (std::uint32_t v : {0u, 1u, 255u, 32768u, 65535u}) {
        const auto line = core::Line<std::uint16_t>::between(65535, 65535);
        EXPECT_EQ(line.map(v), v);
    }
}

TEST(FillTable, OfNoSamplesLeavesAllAsTheyAre) {
    const std::vector<std::uint64_t> none(256);
    for (const NormalizeTraits& mode : exact_modes()) {
        const Normalization normalization{mode.mode};
        std::vector<std::uint8_t> whole(256, 7);
        std::vector<float> real(256, 7);
        core::fill_table(Depth::u8, Depth::u8, none, normalization, whole.data());
        core::fill_table(Depth::u8, Depth::f32, none, normalization, real.data());
        for (std::size_t v = 0; v < 256; ++v) {
            ASSERT_EQ(whole[v], v) << mode.name;
            ASSERT_EQ(real[v], mode.real ? static_cast<float>(v) : static_cast<float>(v) / 255) << mode.name;
        }
    }
}

TEST_F(TablesTest, OfAnImageGiveItsNormalizedCopy) {
    for (Depth depth : {Depth::u8, Depth::u16})
        for (int channels : {1, 3, 4})
            for (ChannelOrder order : {ChannelOrder::bgr, ChannelOrder::rgb})
                for (NormalizeMode mode : all_exact_modes)
                    for (bool joint : {true, false})
                        for (Content content :
                             {Content::constant, Content::two_values, Content::gaussian, Content::natural}) {
                            if (left_out()) continue;
                            const Picture picture({23, 9, channels, depth, order}, layouts[2], content);
                            const Normalization normalization{mode, 2.5, 97, joint};
                            const Shape shape = output_shape(picture.shape(), mode);
                            Picture wanted(shape, packed), got(shape, layouts[1]);
                            Analysis analysis;
                            engine->normalize(picture.view(), {}, normalization, wanted.mutable_view(), analysis);
                            const LutSet tables = make_luts(pool_of({&picture}), depth, normalization);
                            const auto read = io::parse_luts(io::luts_csv({tables}), "tables");
                            ASSERT_EQ(read.size(), 1U);
                            ASSERT_TRUE(read[0] == tables);
                            apply_luts(read[0], picture.view(), got.mutable_view(), joint ? 1 : 3);
                            ASSERT_EQ(difference(got.view(), wanted.view()), "")
                                << to_string(depth) << " " << channels << " mode " << static_cast<int>(mode)
                                << (joint ? " joint" : " separate") << " content " << static_cast<int>(content);
                        }
}

TEST_F(TablesTest, OfASetAreThoseOfOneImageOfAllPixels) {
    const Picture left({20, 10, 3, Depth::u8}, packed, Content::gaussian);
    const Picture right({20, 10, 3, Depth::u8}, packed, Content::natural);
    Picture both({20, 20, 3, Depth::u8}, packed);
    for (std::int64_t y = 0; y < 20; ++y)
        for (std::int64_t x = 0; x < 20; ++x)
            for (int c = 0; c < 3; ++c) both.set(x, y, c, sample((y < 10 ? left : right).view(), x, y % 10, c));
    for (NormalizeMode mode : all_exact_modes)
        for (bool joint : {true, false}) {
            const Normalization normalization{mode, 1, 99, joint};
            const LutSet tables = make_luts(pool_of({&left, &right}), Depth::u8, normalization);
            Picture wanted(output_shape(both.shape(), mode), packed), got(output_shape(both.shape(), mode), packed);
            Analysis analysis;
            engine->normalize(both.view(), {}, normalization, wanted.mutable_view(), analysis);
            apply_luts(tables, both.view(), got.mutable_view());
            EXPECT_EQ(difference(got.view(), wanted.view()), "") << static_cast<int>(mode) << joint;
        }
}

/// The place where f32 images differ by more than the last digits, which the mean and std of a pool may leave to be
/// otherwise.
std::string large_difference(const Picture& got, const Picture& wanted, NormalizeMode mode) {
    if (traits_of(mode).needs != NormalizeNeeds::mean_std) return difference(got.view(), wanted.view());
    const ImageView a = got.view(), b = wanted.view();
    for (std::int64_t y = 0; y < a.height; ++y)
        for (std::int64_t i = 0; i < a.width * a.channels; ++i) {
            const auto at = [&](const ImageView& image) {
                return reinterpret_cast<const float*>(static_cast<const std::byte*>(image.data) +
                                                      y * image.row_bytes)[i];
            };
            const bool same = std::isnan(at(b))   ? std::isnan(at(a))
                              : std::isinf(at(b)) ? at(a) == at(b)
                                                  : std::abs(at(a) - at(b)) <= 3e-7F * std::max(1.0F, std::abs(at(b)));
            if (!same) return std::to_string(at(a)) + " instead of " + std::to_string(at(b));
        }
    return "";
}

TEST_F(TablesTest, OfFloatsNormalizeASetAsOneImageOfAllPixels) {
    for (int channels : {1, 3, 4})
        for (NormalizeMode mode : all_exact_modes)
            for (bool joint : {true, false})
                for (Content content : contents_of(Depth::f32)) {
                    if (left_out()) continue;
                    SCOPED_TRACE(std::to_string(channels) + " mode " + std::to_string(static_cast<int>(mode)) +
                                 (joint ? " joint" : " separate") + " content " +
                                 std::to_string(static_cast<int>(content)));
                    const Picture picture({23, 19, channels, Depth::f32}, layouts[2], content);
                    const Normalization normalization{mode, 2.5, 97, joint};
                    Picture wanted(picture.shape(), packed), got(picture.shape(), layouts[1]);
                    Analysis analysis;
                    engine->normalize(picture.view(), {}, normalization, wanted.mutable_view(), analysis);
                    ImageView upper = picture.view(), lower = upper;
                    upper.height = 7;
                    lower.height -= upper.height;
                    lower.data = static_cast<const std::byte*>(lower.data) + upper.height * upper.row_bytes;
                    Summary pool;
                    for (const ImageView& part : {lower, upper})
                        pool.add(engine->analyze(part), count_frequencies(part));
                    const LutSet tables = make_luts(pool, Depth::f32, normalization);
                    const auto read = io::parse_luts(io::luts_csv({tables}), "tables");
                    ASSERT_EQ(read.size(), 1U);
                    ASSERT_TRUE(read[0] == tables);
                    apply_luts(read[0], picture.view(), got.mutable_view(), joint ? 1 : 3);
                    ASSERT_EQ(large_difference(got, wanted, mode), "");
                }
}

TEST_F(TablesTest, OfFloatsOfManyValuesAreExact) {
    std::vector<float> samples;
    for (int i = 0; i < 1 << 19; ++i) samples.push_back(1 + static_cast<float>(i) * 0x1p-19F);  // 1 to 2
    const ImageView image = packed_view(samples.data(), static_cast<std::int64_t>(samples.size()), 1, 1, Depth::f32);
    Summary pool;
    pool.add(engine->analyze(image), count_frequencies(image));
    const auto column = [&](NormalizeMode mode) { return make_luts(pool, Depth::f32, {mode, 25.0001, 75}).luts.at(0); };
    EXPECT_EQ(column(NormalizeMode::minmax).upper, samples.back());
    EXPECT_EQ(column(NormalizeMode::percentile).lower, 1.25F);
    EXPECT_EQ(column(NormalizeMode::percentile).upper, 1.75F - 0x1p-19F);
    const std::vector<float> equalized = column(NormalizeMode::equalize).values;
    ASSERT_EQ(equalized.size(), 65536U);
    for (std::size_t bin = 0; bin < 65536; ++bin) ASSERT_NEAR(equalized[bin], bin / 65535.0, 1e-4) << bin;
}

TEST_F(TablesTest, FilesOfFloatsAreReadStrictly) {
    const Picture gray({8, 8, 1, Depth::f32}, packed, Content::ramp);
    const Picture color({8, 8, 3, Depth::f32}, packed, Content::constant);
    const auto tables_of = [&](NormalizeMode mode) {
        LutSet tables = make_luts(pool_of({&gray}), Depth::f32, {mode, 1, 99});
        tables.luts.push_back(make_luts(pool_of({&color}), Depth::f32, {mode, 1, 99}).luts.front());
        return tables;
    };
    const auto csv = [&](NormalizeMode mode) { return unsealed(io::luts_csv({tables_of(mode)})); };
    const std::string head = "# gpuhist tables: depth f32, mode ";
    const std::string minmax = head + "minmax, channels joint\nnumber,gray\nlower,0\nupper,1.5\n";
    EXPECT_EQ(message(minmax), "no error");
    EXPECT_EQ(csv(NormalizeMode::minmax).substr(0, csv(NormalizeMode::minmax).find("lower")),
              head + "minmax, channels joint\nnumber,gray,all\n");
    EXPECT_EQ(message(head + "minmax, channels joint\nvalue,gray\n"),
              "my.csv: line 2: expected a header 'number', then 'gray', 'all' or both");
    const auto changed = [&](std::string text, const std::string& from, const std::string& to) {
        const auto at = text.find(from);
        EXPECT_NE(at, text.npos) << from;
        return message(text.replace(at, from.size(), to));
    };
    EXPECT_EQ(changed(minmax, "upper", "uper"), "my.csv: line 4: expected the row of number upper");
    EXPECT_EQ(changed(minmax, "1.5", "-1.5"), "my.csv: line 4: an upper value is not below the lower one");
    EXPECT_EQ(changed(minmax, "1.5", "1e39"), "my.csv: line 4: '1e39' is not a number in single precision");
    EXPECT_EQ(changed(minmax, "1.5", "1,5"), "my.csv: line 4: 3 fields, the header has 2");
    EXPECT_EQ(
        message(minmax + "0,1\n"),
        "my.csv: line 5: expected '# gpuhist tables: depth ' and one of u8, s8, u16, s16, u32, s32, f16, f32, f64");
    const std::string zscore = head + "zscore, channels joint\nnumber,gray\nmean,-2.5\nstd,0\n";
    EXPECT_EQ(message(zscore), "no error");
    EXPECT_EQ(changed(zscore, "std,0", "std,-1"), "my.csv: line 4: a std is not below 0");
    EXPECT_EQ(changed(zscore, "-2.5", "inf"), "my.csv: line 3: 'inf' is not a number in double precision");
    const std::string equalize = csv(NormalizeMode::equalize);  // the colors are constant
    EXPECT_EQ(message(equalize), "no error");
    EXPECT_NE(equalize.find("\n65535,1,\n"), equalize.npos);
    EXPECT_EQ(changed(equalize, "\n65535,1,", "\n65535,1.5,"), "my.csv: line 65540: '1.5' is not a number from 0 to 1");
    EXPECT_EQ(changed(equalize, "\n65535,1,", "\n65535,1,1"),
              "my.csv: line 65540: a channel that stays as it is has no values");
    EXPECT_EQ(changed(equalize, "\n65535,1,\n", "\n"), "my.csv: line 65540: expected the row of number 65535");

    const LutSet tables = tables_of(NormalizeMode::equalize);
    Picture out(gray.shape(), packed);
    EXPECT_NO_THROW(apply_luts(tables, gray.view(), out.mutable_view()));
    for (const auto& change : std::vector<std::function<void(LutSet::Lut&)>>{
             [](auto& column) { column.values.pop_back(); }, [](auto& column) { column.values[7] = 2; },
             [](auto& column) { column.lower = column.upper; }, [](auto& column) { column.std = 2; },
             [](auto& column) { column.upper = std::numeric_limits<float>::infinity(); }}) {
        LutSet broken = tables;
        change(broken.luts[0]);
        EXPECT_THROW(apply_luts(broken, gray.view(), out.mutable_view()), InvalidArgument);
    }
}

TEST_F(TablesTest, InPlace) {
    Picture picture({40, 7, 4, Depth::u16}, packed, Content::gaussian);
    const LutSet tables = make_luts(pool_of({&picture}), Depth::u16, {});
    Picture wanted(picture.shape(), packed);
    apply_luts(tables, picture.view(), wanted.mutable_view());
    apply_luts(tables, picture.view(), picture.mutable_view());
    EXPECT_EQ(difference(picture.view(), wanted.view()), "");
}

TEST_F(TablesTest, GrayAmongColorsCountsAsEqualColors) {
    for (Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (NormalizeMode mode : all_exact_modes) {
            SCOPED_TRACE(std::string(to_string(depth)) + " mode " + std::to_string(static_cast<int>(mode)));
            const Picture gray({8, 8, 1, depth}, packed, Content::ramp);
            const Picture color({8, 8, 3, depth}, packed, Content::gaussian);
            Picture equal({8, 8, 3, depth}, packed);
            for (std::int64_t y = 0; y < 8; ++y)
                for (std::int64_t x = 0; x < 8; ++x)
                    for (int c = 0; c < 3; ++c)
                        if (depth == Depth::f32)
                            test::store(equal.mutable_view(), x, y, c, test::load<float>(gray.view(), x, y, 0));
                        else
                            equal.set(x, y, c, sample(gray.view(), x, y, 0));
            const LutSet tables = make_luts(pool_of({&gray, &color}), depth, {mode, 1, 99});
            LutSet::Lut one = *tables.find(Channel::gray), all = *tables.find(Channel::red);
            const LutSet::Lut wanted = *make_luts(pool_of({&equal, &color}), depth, {mode, 1, 99}).find(Channel::all);
            if (depth != Depth::f32) {
                EXPECT_TRUE(all == wanted);
            } else {  // luma of three equal floats is rounded, and one of the extremes
                EXPECT_NEAR(all.lower, wanted.lower, 1e-6 * std::abs(wanted.lower));
                EXPECT_NEAR(all.upper, wanted.upper, 1e-6 * std::abs(wanted.upper));
                EXPECT_NEAR(all.mean, wanted.mean, 1e-12 + 1e-9 * std::abs(wanted.mean));
                EXPECT_NEAR(all.std, wanted.std, 1e-9 * wanted.std);
            }
            one.channel = all.channel;
            EXPECT_TRUE(one == all);
            EXPECT_THROW(make_luts(pool_of({&gray, &color}), depth, {mode, 1, 99, false}), InvalidArgument);
        }
}

TEST_F(TablesTest, ChannelsOfOneValueStayAsTheyAre) {
    for (Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (int channels : {1, 3, 4})
            for (NormalizeMode mode : all_exact_modes)
                for (bool joint : {true, false})
                    for (Content content : {Content::constant, Content::two_values, Content::gaussian}) {
                        const Picture picture({23, 9, channels, depth}, packed, content);
                        const Normalization normalization{mode, 50, 50.0001, joint};
                        Picture copy(output_shape(picture.shape(), mode), packed);
                        AnalysisRequest request;
                        request.percentiles = Percentiles({50, 50.0001});
                        Analysis analysis;
                        engine->normalize(picture.view(), request, normalization, copy.mutable_view(), analysis);
                        const std::vector<Channel> unchanged = unchanged_channels(analysis, normalization);
                        const std::size_t all = joint || channels == 1 ? 1 : 3;
                        const NormalizeNeeds needs = traits_of(mode).needs;
                        const bool constant = content == Content::constant && all == 1 + 2U * (channels > 1);
                        if ((constant && !traits_of(mode).real) || needs == NormalizeNeeds::ranks) {
                            ASSERT_EQ(unchanged.size(), all);
                        } else if (needs == NormalizeNeeds::extremes && content != Content::constant) {
                            ASSERT_TRUE(unchanged.empty());
                        }
                        if (unchanged.size() == all) {
                            ASSERT_EQ(difference(copy.view(), picture.view()), "");
                        }
                    }
}

TEST_F(TablesTest, ImagesThatFillTheirRangeStayAsTheyAre) {
    for (Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (NormalizeMode mode : all_exact_modes)
            for (bool full : {true, false}) {
                Picture picture({9, 7, 3, depth}, packed, Content::constant);
                picture.set(0, 0, 1, traits_of(depth).lowest);
                picture.set(1, 0, 2, full ? traits_of(depth).highest : traits_of(depth).highest / 2);
                const Normalization normalization{mode, 0, 100};
                Picture copy(output_shape(picture.shape(), mode), packed);
                AnalysisRequest request;
                request.percentiles = Percentiles({0, 100});
                Analysis analysis;
                engine->normalize(picture.view(), request, normalization, copy.mutable_view(), analysis);
                const NormalizeNeeds needs = traits_of(mode).needs;
                const bool stretched =
                    needs == NormalizeNeeds::extremes || (needs == NormalizeNeeds::ranks && depth != Depth::f32);
                const std::vector<Channel> filled = filled_channels(analysis, normalization);
                EXPECT_EQ(filled, full && stretched ? std::vector{Channel::all} : std::vector<Channel>{});
                if (!filled.empty()) {
                    EXPECT_EQ(difference(copy.view(), picture.view()), "");
                }
            }
}

TEST_F(TablesTest, GrayAndColorsAreToldApart) {
    const Picture gray({8, 8, 1, Depth::u8}, packed, Content::ramp);
    const Picture color({8, 8, 3, Depth::u8}, packed, Content::gaussian);
    const LutSet both = make_luts(pool_of({&gray, &color}), Depth::u8, {});
    EXPECT_TRUE(both.find(Channel::red) == both.find(Channel::blue));

    Picture out(color.shape(), packed);
    EXPECT_THROW(apply_luts(make_luts(pool_of({&gray}), Depth::u8, {}), color.view(), out.mutable_view()),
                 InvalidArgument);
    const Picture deep({8, 8, 3, Depth::u16}, packed, Content::gaussian);
    EXPECT_THROW(make_luts(pool_of({&color}), Depth::u16, {}), InvalidArgument);
    EXPECT_THROW(make_luts(pool_of({&color}), Depth::f32, {}), InvalidArgument);
    Picture deep_out(deep.shape(), packed);
    EXPECT_THROW(apply_luts(both, deep.view(), deep_out.mutable_view()), InvalidArgument);
    LutSet broken = both;
    broken.luts[0].values[7] = 0.5F;
    EXPECT_THROW(apply_luts(broken, gray.view(), Picture(gray.shape(), packed).mutable_view()), InvalidArgument);
}

TEST_F(TablesTest, FilesAreReadStrictly) {
    const Picture picture({8, 8, 1, Depth::u8}, packed, Content::ramp);
    const LutSet tables = make_luts(pool_of({&picture}), Depth::u8, {});
    const std::string good = unsealed(io::luts_csv({tables}));
    EXPECT_EQ(good.substr(0, good.find("\n0,") + 1),
              "# gpuhist tables: depth u8, mode minmax, channels joint\nvalue,gray\n");
    std::string dos = good;
    for (std::size_t at = 0; (at = dos.find('\n', at)) != dos.npos; at += 2) dos.insert(at, 1, '\r');
    EXPECT_TRUE(io::parse_luts(dos, "t")[0] == tables);

    const auto changed = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        const auto at = text.find(from);
        EXPECT_NE(at, text.npos) << from;
        return message(text.replace(at, from.size(), to));
    };
    EXPECT_EQ(message(""), "my.csv: line 1: '# gpuhist tables: depth …' is expected, but the file ends");
    EXPECT_EQ(
        changed("u8", "u9"),
        "my.csv: line 1: expected '# gpuhist tables: depth ' and one of u8, s8, u16, s16, u32, s32, f16, f32, f64");
    EXPECT_EQ(changed("minmax", "min"), "my.csv: line 1: expected ', mode ' and one of " + mode_names());
    EXPECT_EQ(changed("joint", "joint, more"), "my.csv: line 1: unexpected text: ', more'");
    EXPECT_EQ(changed("value,gray", "value,grey"),
              "my.csv: line 2: expected a header 'value', then 'gray', 'all' or both");
    EXPECT_EQ(changed("\n3,", "\n4,"), "my.csv: line 6: expected the row of value 3");
    EXPECT_EQ(changed("\n3,", "\n3,1,"), "my.csv: line 6: 3 fields, the header has 2");
    EXPECT_EQ(changed("\n3,", "\n3,-"), "my.csv: line 6: '-" +
                                            std::to_string(static_cast<int>(tables.luts[0].values[3])) +
                                            "' is not a whole number from 0 to 255");
    EXPECT_EQ(changed("\n3,", "\n3,99"), "my.csv: line 6: '99" +
                                             std::to_string(static_cast<int>(tables.luts[0].values[3])) +
                                             "' is not a whole number from 0 to 255");
    EXPECT_EQ(message(good.substr(0, good.find("\n255,") + 1)), "my.csv: line 258: expected the row of value 255");
    EXPECT_EQ(message(good + good), "my.csv: line 517: tables of this depth were there before");

    std::mt19937 random(5);
    for (int round = 0; round < 2000; ++round) {
        std::string text = good;
        for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits)
            text[random() % text.size()] = "0123456789,\n\r #-.xe"[random() % 19];
        try {
            const auto read = io::parse_luts(text, "t");
            Picture out(picture.shape(), packed);
            for (const LutSet& each : read)
                if (!traits_of(each.mode).real) apply_luts(each, picture.view(), out.mutable_view());
        } catch (const IoError&) {
        }
    }
}

TEST_F(TablesTest, TheChecksumTellsOfDamageButNotOfLineEnds) {
    const Picture gray({8, 8, 1, Depth::u8}, packed, Content::ramp);
    const Picture floats({8, 8, 3, Depth::f32}, packed, Content::ramp);
    const std::vector<LutSet> tables{make_luts(pool_of({&gray}), Depth::u8, {}),
                                     make_luts(pool_of({&floats}), Depth::f32, {})};
    const std::string good = io::luts_csv(tables);
    EXPECT_TRUE(io::has_checksum(good));
    EXPECT_FALSE(io::has_checksum(unsealed(good)));
    EXPECT_TRUE(io::parse_luts(unsealed(good), "t") == tables);
    std::string dos = good;
    for (std::size_t at = 0; (at = dos.find('\n', at)) != dos.npos; at += 2) dos.insert(at, 1, '\r');
    EXPECT_TRUE(io::parse_luts(dos, "t") == tables);
    EXPECT_TRUE(io::parse_luts(good.substr(0, good.size() - 1), "t") == tables);
    const std::string edited = std::string(good).replace(good.find("\n7,"), 4, "\n7,1");
    EXPECT_EQ(message(edited).substr(0, 23), "my.csv: line 1: the che") << message(edited);
    EXPECT_NE(message(good.substr(0, good.find("# gpuhist tables: depth f32"))), "no error");  // a whole table is gone

    std::mt19937 random(11);
    for (int round = 0; round < 2000; ++round) {
        const std::string text = damaged(good, random);
        try {
            EXPECT_TRUE(io::parse_luts(text, "t") == tables) << round;
        } catch (const IoError&) {
        }
    }
}

}  // namespace
}  // namespace gpuhist::test
