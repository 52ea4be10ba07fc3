// Tables that outlive an image: the same bits as its normalised copy, and files that read back.
#include "gpuhist/tables.hpp"

#include <gtest/gtest.h>

#include <random>

#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/tables_file.hpp"
#include "oracle.hpp"

namespace gpuhist::test {
namespace {

Shape output_shape(Shape shape, NormalizeMode mode) {
    shape.depth = normalized_depth(shape.depth, mode);
    return shape;
}

class TablesTest : public testing::Test {
  protected:
    Pool pool_of(const std::vector<const Picture*>& pictures) {
        Pool pool;
        for (const Picture* picture : pictures) pool.add(engine->analyze(picture->view()));
        return pool;
    }
    std::unique_ptr<Engine> engine = make_engine("cpu", {.threads = 1});
};

TEST_F(TablesTest, OfAnImageGiveItsNormalizedCopy) {
    for (Depth depth : {Depth::u8, Depth::u16})
        for (int channels : {1, 3, 4})
            for (ChannelOrder order : {ChannelOrder::bgr, ChannelOrder::rgb})
                for (NormalizeMode mode :
                     {NormalizeMode::minmax, NormalizeMode::percentile, NormalizeMode::equalize, NormalizeMode::zscore})
                    for (bool joint : {true, false})
                        for (Content content :
                             {Content::constant, Content::two_values, Content::gaussian, Content::natural}) {
                            const Picture picture({23, 9, channels, depth, order}, layouts[2], content);
                            const Normalization normalization{mode, 2.5, 97, joint};
                            const Shape shape = output_shape(picture.shape(), mode);
                            Picture wanted(shape, packed), got(shape, layouts[1]);
                            Analysis analysis;
                            engine->normalize(picture.view(), {}, normalization, wanted.mutable_view(), analysis);
                            const Tables tables = make_tables(pool_of({&picture}), depth, normalization);
                            const auto read = io::parse_tables(io::tables_csv({tables}), "tables");
                            ASSERT_EQ(read.size(), 1U);
                            ASSERT_TRUE(read[0] == tables);
                            apply_tables(read[0], picture.view(), got.mutable_view(), joint ? 1 : 3);
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
    for (NormalizeMode mode :
         {NormalizeMode::minmax, NormalizeMode::percentile, NormalizeMode::equalize, NormalizeMode::zscore})
        for (bool joint : {true, false}) {
            const Normalization normalization{mode, 1, 99, joint};
            const Tables tables = make_tables(pool_of({&left, &right}), Depth::u8, normalization);
            Picture wanted(output_shape(both.shape(), mode), packed), got(output_shape(both.shape(), mode), packed);
            Analysis analysis;
            engine->normalize(both.view(), {}, normalization, wanted.mutable_view(), analysis);
            apply_tables(tables, both.view(), got.mutable_view());
            EXPECT_EQ(difference(got.view(), wanted.view()), "") << static_cast<int>(mode) << joint;
        }
}

TEST_F(TablesTest, InPlace) {
    Picture picture({40, 7, 4, Depth::u16}, packed, Content::gaussian);
    const Tables tables = make_tables(pool_of({&picture}), Depth::u16, {});
    Picture wanted(picture.shape(), packed);
    apply_tables(tables, picture.view(), wanted.mutable_view());
    apply_tables(tables, picture.view(), picture.mutable_view());
    EXPECT_EQ(difference(picture.view(), wanted.view()), "");
}

TEST_F(TablesTest, GreyAndColoursHaveTheirOwn) {
    const Picture gray({8, 8, 1, Depth::u8}, packed, Content::ramp);
    const Picture colour({8, 8, 3, Depth::u8}, packed, Content::gaussian);
    const Tables both = make_tables(pool_of({&gray, &colour}), Depth::u8, {});
    EXPECT_TRUE(*both.find(Channel::gray) == *make_tables(pool_of({&gray}), Depth::u8, {}).find(Channel::gray));
    EXPECT_TRUE(*both.find(Channel::red) == *make_tables(pool_of({&colour}), Depth::u8, {}).find(Channel::all));
    EXPECT_TRUE(both.find(Channel::red) == both.find(Channel::blue));

    Picture out(colour.shape(), packed);
    EXPECT_THROW(apply_tables(make_tables(pool_of({&gray}), Depth::u8, {}), colour.view(), out.mutable_view()),
                 InvalidArgument);
    const Picture deep({8, 8, 3, Depth::u16}, packed, Content::gaussian);
    EXPECT_THROW(make_tables(pool_of({&colour}), Depth::u16, {}), InvalidArgument);
    EXPECT_THROW(make_tables(pool_of({&colour}), Depth::f32, {}), InvalidArgument);
    Picture deep_out(deep.shape(), packed);
    EXPECT_THROW(apply_tables(both, deep.view(), deep_out.mutable_view()), InvalidArgument);
    Tables broken = both;
    broken.columns[0].values[7] = 0.5F;
    EXPECT_THROW(apply_tables(broken, gray.view(), Picture(gray.shape(), packed).mutable_view()), InvalidArgument);
}

TEST_F(TablesTest, FilesAreReadStrictly) {
    const Picture picture({8, 8, 1, Depth::u8}, packed, Content::ramp);
    const Tables tables = make_tables(pool_of({&picture}), Depth::u8, {});
    const std::string good = io::tables_csv({tables});
    EXPECT_EQ(good.substr(0, good.find("\n0,") + 1),
              "# gpuhist tables: depth u8, mode minmax, channels joint\nvalue,gray\n");
    std::string dos = good;
    for (std::size_t at = 0; (at = dos.find('\n', at)) != dos.npos; at += 2) dos.insert(at, 1, '\r');
    EXPECT_TRUE(io::parse_tables(dos, "t")[0] == tables);

    const auto message = [](const std::string& text) -> std::string {
        try {
            io::parse_tables(text, "my.csv");
            return "no error";
        } catch (const IoError& error) {
            return error.what();
        }
    };
    const auto changed = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        const auto at = text.find(from);
        EXPECT_NE(at, text.npos) << from;
        return message(text.replace(at, from.size(), to));
    };
    EXPECT_EQ(message(""), "my.csv: line 1: '# gpuhist tables: depth …' is wanted, and the file ends");
    EXPECT_EQ(changed("u8", "u9"), "my.csv: line 1: '# gpuhist tables: depth ' and one of u8, u16, f32 are wanted");
    EXPECT_EQ(changed("minmax", "min"),
              "my.csv: line 1: ', mode ' and one of minmax, percentile, equalize, zscore are wanted");
    EXPECT_EQ(changed("joint", "joint, more"), "my.csv: line 1: more than is wanted there: ', more'");
    EXPECT_EQ(changed("value,gray", "value,grey"),
              "my.csv: line 2: a header 'value', then 'gray', 'all' or both is wanted");
    EXPECT_EQ(changed("\n3,", "\n4,"), "my.csv: line 6: the row of value 3 is wanted");
    EXPECT_EQ(changed("\n3,", "\n3,1,"), "my.csv: line 6: 3 fields, the header has 2");
    EXPECT_EQ(changed("\n3,", "\n3,-"), "my.csv: line 6: '-" +
                                            std::to_string(static_cast<int>(tables.columns[0].values[3])) +
                                            "' is no whole number from 0 to 255");
    EXPECT_EQ(changed("\n3,", "\n3,99"), "my.csv: line 6: '99" +
                                             std::to_string(static_cast<int>(tables.columns[0].values[3])) +
                                             "' is no whole number from 0 to 255");
    EXPECT_EQ(message(good.substr(0, good.find("\n255,") + 1)), "my.csv: line 258: the row of value 255 is wanted");
    EXPECT_EQ(message(good + good), "my.csv: line 517: tables of this depth were there before");

    std::mt19937 random(5);
    for (int round = 0; round < 2000; ++round) {
        std::string text = good;
        for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits)
            text[random() % text.size()] = "0123456789,\n\r #-.xe"[random() % 19];
        try {
            const auto read = io::parse_tables(text, "t");
            Picture out(picture.shape(), packed);
            for (const Tables& each : read)
                if (each.mode != NormalizeMode::zscore) apply_tables(each, picture.view(), out.mutable_view());
        } catch (const IoError&) {
        }
    }
}

}  // namespace
}  // namespace gpuhist::test
