// Shards: files that read back, and what is refused of them.
#include "gpuhist/io/shard.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "gpuhist/error.hpp"
#include "support/damage.hpp"
#include "support/sealed.hpp"
#include "support/summaries.hpp"
#include "support/temporary_directory.hpp"
#include "support/text_files.hpp"

namespace {

using namespace gpuhist;
using namespace gpuhist::io;
using test::analyze, test::failure_of, test::small_pool, test::write_text;
namespace fs = std::filesystem;

Shard small_part() {
    Shard part;
    part.id = {2, 3, {}};
    part.inputs = 9;
    part.inputs_hash = "0123abcd";
    part.rows = {{ColumnFile::stats, 4}, {ColumnFile::regions, 7}, {ColumnFile::errors, 2}};
    part.options = {{"engine", "cpu"}, {"version", "1"}};
    part.percentiles = Percentiles({0.1, 50, 99.999999});
    part.histogram.range = Range{0.5, 100};
    part.plots = {{1200, 600, true, PlotTheme::dark}, {PlotRange::Kind::given, {-1, 0.5}}, {PlotFormat::svg}};
    part.groups = {{"", small_pool()}, {"a\xff", small_pool()}};
    part.notes.add("pages", {3, "b\xff", "only the first of its 2 pages is measured", 1});
    part.notes.add("pages", {1, "a\xff", "only the first of its 9 pages is measured", 4});
    part.notes.add("gray u8", {2, "c", "", 1});
    return part;
}

TEST(ShardFile, ReadsBackTheSameShard) {
    const Shard part = small_part();
    const std::string text = shard_json(part);
    const Shard read = parse_shard(text, "p");
    EXPECT_EQ(shard_json(read), text);
    EXPECT_EQ(read.id.number, 2U);
    EXPECT_EQ(read.id.count, 3U);
    EXPECT_EQ(read.inputs, 9U);
    EXPECT_EQ(read.rows, part.rows);
    EXPECT_EQ(read.rows_of(ColumnFile::regions), 7U);
    EXPECT_EQ(read.options, part.options);
    EXPECT_EQ(read.histogram.range, part.histogram.range);
    EXPECT_TRUE(read.plots == part.plots);
    EXPECT_TRUE(read.percentiles == part.percentiles);
    ASSERT_EQ(read.groups.size(), 2U);
    EXPECT_EQ(read.groups[1].name, "a\xff");
    EXPECT_TRUE(read.groups[1].summary == part.groups[1].summary);
    EXPECT_EQ(read.notes.lines(),
              (std::vector<std::string>{"a\xff: only the first of its 9 pages is measured (and 4 more)"}));
    EXPECT_EQ(read.notes.find("gray u8")->path, "c");
    EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(ShardFile, IsReadStrictly) {
    const auto changed = [](const std::function<void(nlohmann::ordered_json&)>& change) {
        auto json = nlohmann::ordered_json::parse(shard_json(small_part()));
        change(json);
        return failure_of([&] { parse_shard(test::resealed(json.dump()), "p"); });
    };
    EXPECT_EQ(changed([](auto& part) { part["format"] = "gpuhist part 7"; }),
              "p: its format is 'gpuhist part 7', which another version of gpuhist wrote; this one reads 'gpuhist part "
              "13': run this part again, or merge with that version");
    EXPECT_EQ(changed([](auto& part) { part["format"] = "part"; }),
              "p: not a part file: it does not begin with '{\"format\":\"gpuhist part 13\"'");
    const std::string good = shard_json(small_part());
    EXPECT_EQ(failure_of([&] { parse_shard(good.substr(0, good.rfind(",\"checksum")) + "}\n", "p"); }),
              "p: it is damaged: its checksum is missing or differs");
    EXPECT_EQ(changed([](auto& part) { part["part"] = 4; }), "p/part: 4 is more than 3");
    EXPECT_EQ(changed([](auto& part) { part["notes"][1]["subject"] = "gray u8"; }),
              "p/notes/1/subject: subjects are in byte order, each once");
    EXPECT_EQ(changed([](auto& part) { part["part"] = 0; }), "p/part: shards are counted from 1");
    EXPECT_EQ(changed([](auto& part) { part["lines"] = {2, 1}; }), "p/lines: the first line comes before the end");
    EXPECT_EQ(changed([](auto& part) {
                  part["lines"] = {0, 1000};
              }),
              "p/lines/1: 1000 is more than " + std::to_string(small_part().inputs));
    EXPECT_EQ(changed([](auto& part) { part.erase("rows"); }), "p: 'rows' is missing");
    EXPECT_EQ(changed([](auto& part) { part["rows"].erase("errors"); }), "p/rows: 'errors' is missing");
    EXPECT_EQ(changed([](auto& part) { part["rows"].erase("regions"); }), "no failure");
    EXPECT_NE(changed([](auto& part) { part["rows"]["dataset"] = 1; }), "no failure");
    EXPECT_EQ(changed([](auto& part) { part["rows"]["errors"] = -1; }),
              "p/rows/errors: expected a whole number, in quotes from 2^53 on");
    EXPECT_EQ(changed([](auto& part) { part["groups"][1]["group"]["hex"] = "61f"; }),
              "p/groups/1/group: expected two hexadecimal digits per byte");
    EXPECT_EQ(changed([](auto& part) { part["groups"][1]["group"]["hex"] = "41"; }),
              "p/groups/1/group: bytes that are UTF-8 are written as a string");
    EXPECT_EQ(changed([](auto& part) { part["groups"].erase(0); }),
              "p/groups/0/group: groups are in byte order, each once, and the whole set comes first");
    EXPECT_EQ(changed([](auto& part) { part["groups"] = nlohmann::ordered_json::array(); }),
              "p/groups: the whole set is missing");
    EXPECT_EQ(changed([](auto& part) {
                  part["histogram"]["range"] = {2, 1};
              }),
              "p/histogram/range: the lower number comes first");
    EXPECT_EQ(changed([](auto& part) {
                  part["percentiles"] = {50, 50};
              }),
              "p/percentiles: percentile median is given twice");
    EXPECT_EQ(changed([](auto& part) { part["percentiles"] = {"50"}; }), "p/percentiles/0: expected a number");
    EXPECT_EQ(changed([](auto& part) { part["options"]["engine"] = 5; }), "p/options/engine: expected an object");
}

TEST(ShardFile, DamageIsSeen) {
    const std::string good = shard_json(small_part());
    std::mt19937 random(9);
    for (int round = 0; round < 2000; ++round)
        EXPECT_THROW(parse_shard(test::damaged(good, random), "p"), IoError) << round;
}

TEST(ShardFile, ManyOptionsTakeTimeWithTheirNumberAlone) {
    std::string options, text = shard_json(small_part());
    for (int i = 0; i < 100'000; ++i) options += "\"--option-" + std::to_string(i) + "\":\"1\",";
    text.insert(text.find("\"engine\":"), options);
    EXPECT_EQ(parse_shard(test::resealed(text), "p").options.size(), 100'002U);  // not for minutes
}

class ShardRowsTest : public testing::Test {
  protected:
    const std::unique_ptr<Sink> sink_ = make_shard_sink();
    const std::string header_ = sink_->begin();
    std::string stats(std::uint64_t index, const ImageInfo& image, const std::vector<Statistics>& rows) const {
        return sink_->format(record_of({index, image, rows}));
    }
    std::string error(std::uint64_t index, const Failure& failure) const {
        return sink_->format(record_of(index, failure));
    }
    struct Row {
        std::uint64_t index;
        bool is_error;
        std::string text;
    };
    /// Reads all rows of a file of this text.
    std::vector<Row> read(const std::string& text) { return read(text, test::checksums_of(text)); }
    std::vector<Row> read(const std::string& text, const FileChecksums& checksums) {
        const fs::path path = directory_ / "r.csv";
        write_text(path, text);
        std::vector<Row> found;
        for (ShardRows rows(path, checksums); rows.next();)
            found.push_back({rows.index(), rows.table() == ColumnFile::errors, std::string(rows.row())});
        return found;
    }
    std::string failure(const std::string& text) {
        const std::string message = failure_of([&] { read(text); });
        return message.substr(0, directory_.string().size()) == directory_
                   ? message.substr(directory_.string().size() + 1)
                   : message;
    }

    const test::TemporaryDirectory temporary_;
    const fs::path directory_ = temporary_.path();
};

TEST_F(ShardRowsTest, RowsComeBackAsThoseOfTheirFiles) {
    const ImageInfo odd{"line\nend, \"quote\"", 4, 1, Depth::u8}, plain{"x.png", 2, 1, Depth::u8};
    const Failure bad{"\xfe,\r\n\"", "decode", "\"quoted\"\n3,stats,"};
    const auto first = statistics(analyze<std::uint8_t>({0, 255, 10, 20, 1, 2}, 3));
    const auto second = statistics(analyze<std::uint8_t>({255, 255}));
    const auto rows = read(header_ + stats(1, odd, first) + error(3, bad) + stats(12345678901, plain, second));
    ASSERT_EQ(rows.size(), first.size() + 2);
    std::string of_images, errors;
    for (const Row& row : rows) (row.is_error ? errors : of_images) += row.text;
    EXPECT_EQ(of_images, stats_csv_rows(odd, first) + stats_csv_rows(plain, second));
    EXPECT_EQ(errors, make_sink("csv", {Table(ColumnFile::errors)})->format(record_of(3, bad)));
    EXPECT_EQ(rows.front().index, 1U);
    EXPECT_EQ(rows[first.size()].index, 3U);
    EXPECT_EQ(rows.back().index, 12345678901U);
    EXPECT_TRUE(read(header_).empty());
}

TEST_F(ShardRowsTest, DamageIsNamedWithItsLine) {
    EXPECT_EQ(failure(""), "r.csv: line 1: this is not the header of a shard's rows");
    EXPECT_EQ(failure(stats_csv_header()), "r.csv: line 1: this is not the header of a shard's rows");
    EXPECT_EQ(failure(header_ + "1,stats,\"a\nb\",2\nx\n"),
              "r.csv: line 4: the row does not start with the input's index and 'stats', 'regions', 'quality', "
              "'image_counts' or 'errors'");
    for (const char* row : {"01,stats,a\n", "-1,stats,a\n", ",stats,a\n", "1,a\n", "1,error,a\n", "1,stats\n", "1\n",
                            "\n", "18446744073709551616,stats,a\n"})
        EXPECT_EQ(failure(header_ + row),
                  "r.csv: line 2: the row does not start with the input's index and 'stats', 'regions', 'quality', "
                  "'image_counts' or 'errors'")
            << row;
    EXPECT_EQ(failure(header_ + "1,errors,a"), "r.csv: line 2: the last row has no end: the file is truncated");
    EXPECT_EQ(failure(header_ + "1,stats,\"" + std::string(17'000'000, 'a')),
              "r.csv: line 2: a row of 16 MiB or more: a quote is missing");
    EXPECT_NE(failure_of([&] { ShardRows(directory_ / "none.csv", {}); }).find("cannot be read"), std::string::npos);
}

TEST_F(ShardRowsTest, EachBlockIsCheckedBeforeItIsUsed) {
    const auto rows = statistics(analyze<std::uint8_t>({0, 255, 10, 20, 1, 2}, 3));
    std::string good = header_;
    for (int i = 0; good.size() < 3 * BlockChecksums::block_bytes; ++i)
        good += stats(static_cast<std::uint64_t>(i), {"a.png", 2, 1, Depth::u8}, rows);
    const FileChecksums checksums = test::checksums_of(good);
    EXPECT_EQ(checksums.blocks.size(), 4 * checksum_digits);
    EXPECT_FALSE(read(good, checksums).empty());
    std::mt19937 random(2);
    for (int round = 0; round < 300; ++round)
        EXPECT_THROW(read(test::damaged(good, random), checksums), IoError) << round;
    EXPECT_THROW(read(good + error(1'000'000, {"a", "b", "c"}), checksums), IoError);
    EXPECT_THROW(read(good.substr(0, 2 * BlockChecksums::block_bytes), checksums), IoError);
}

TEST_F(ShardRowsTest, BandsWithNamesSayWhichTheyAre) {
    Analysis bands = analyze<std::uint8_t>({1, 2, 3, 4, 5, 6}, 3);
    name_channels(bands, Samples::bands, {"red", "a,b", "=all"});
    const ImageInfo info{"x.exr", 2, 1, Depth::u8};
    const std::string text = header_ + stats(4, info, statistics(bands));
    write_text(directory_ / "r.csv", text);
    std::string lines;
    for (ShardRows rows(directory_ / "r.csv", test::checksums_of(text)); rows.next();) lines += rows.row();
    EXPECT_EQ(lines, stats_csv_rows(info, statistics(bands)));
    for (const char* field : {",u8,band:red,", ",u8,\"a,b\",", ",u8,'=all,", ",u8,all,"})
        EXPECT_NE(lines.find(field), lines.npos) << field << lines;
}

}  // namespace
