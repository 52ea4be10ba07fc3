// Results as text: CSV to the letter of RFC 4180, JSON that parses back, numbers that read back to the same double.
#include "gpuhist/io/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "gpuhist/columns.hpp"
#include "gpuhist/io/sink.hpp"

namespace {

using namespace gpuhist;
using namespace gpuhist::io;

Statistics full_row() {
    Statistics row;
    row.channel = Channel::luma;
    row.pixels = 12;
    row.min = 0;
    row.max = 255;
    row.mean = 0.1;
    row.std = 1.0 / 3;
    row.std_sample = 2.5e-9;
    row.skewness = -0.5;
    row.kurtosis = 1e22;
    row.entropy = 7;
    const Percentiles percentiles;
    for (std::size_t i = 0; i < percentiles.size(); ++i)
        row.percentiles.push_back({percentiles.micro(i), 10.0 * static_cast<double>(i) + 0.25});
    row.clipped_low = 0;
    row.clipped_high = 0.5;
    row.unique = 9;
    row.effective_bits = 6;
    row.sum = Int128{~std::uint64_t{0}, -2};  // -2^64 - 1
    row.mode = 7;
    return row;
}

std::size_t number_of_columns() {
    return columns({}, ColumnFile::stats).size();
}

/// The fields of a text of RFC 4180, record by record.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
    std::vector<std::vector<std::string>> records{{""}};
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
            records.back().back() += '"';
            ++i;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            records.back().emplace_back();
        } else if (c == '\n' && !quoted) {
            records.push_back({""});
        } else {
            records.back().back() += c;
        }
    }
    records.pop_back();
    return records;
}

TEST(Report, RowsAreExact) {
    // Empty fields up to pages, valid, masked and nodata, and behind these the weight and its seven percentiles; then
    // sum and mode, and three columns of the size of pixels.
    const auto line = [](const std::string& fields, int valid, const std::string& last) {
        constexpr std::size_t weights = 8;
        const auto commas = static_cast<std::size_t>(std::count(fields.begin(), fields.end(), ','));
        return fields + std::string(number_of_columns() - 10 - weights - commas, ',') + ",1," + std::to_string(valid) +
               ",0,0" + std::string(weights + 1, ',') + last + ",,,\n";
    };
    const ImageInfo image{"photo.jpg", 4, 3, Depth::u8};
    EXPECT_EQ(stats_csv_rows(image, {full_row()}),
              line("photo.jpg,4,3,u8,luma,12,0,0,0,255,0.1,0.3333333333333333,2.5e-09,-0.5,1e+22,7,0.25,10.25,20.25,"
                   "30.25,40.25,50.25,60.25,0,0.5,9,6,255",
                   12, "-18446744073709551617,7"));
    Statistics empty;
    empty.pixels = empty.nan = 12;
    const std::string empty_line = line("f,4,3,f32,gray,12,12,0" + std::string(20, ',') + "1", 0, ",");
    EXPECT_EQ(stats_csv_rows({"f", 4, 3, Depth::f32}, {empty, empty}), empty_line + empty_line);
    EXPECT_EQ(stats_csv_rows(image, {}), "");
}

TEST(Report, PathsAreQuoted) {
    for (const std::string path :
         {"plain name.png", "a,b", "say \"hi\"", "two\nlines", "a\rb", "\"", "", "\xFF,\xFE"}) {
        const auto records = parse_csv(stats_csv_rows({path, 1, 1, Depth::u16}, {full_row()}));
        ASSERT_EQ(records.size(), 1U) << path;
        ASSERT_EQ(records[0].size(), number_of_columns()) << path;
        EXPECT_EQ(records[0][0], path);
    }
    EXPECT_EQ(stats_csv_rows({"a,\"b\"", 1, 1, Depth::u8}, {full_row()}).substr(0, 11), "\"a,\"\"b\"\"\",1");
}

TEST(Report, FailuresAreQuotedWhereverTheyNeedIt) {
    const auto errors_csv = make_sink("csv", {Table(ColumnFile::errors)});
    EXPECT_EQ(errors_csv->begin(), "path,kind,message\n");
    EXPECT_EQ(errors_csv->format(record_of(0, {"x.png", "missing", "no such file"})), "x.png,missing,no such file\n");
    EXPECT_EQ(errors_csv->format(record_of(0, {"\xfe,\n", "decode", "\"quoted\"\r"})),
              "\"\xfe,\n\",decode,\"\"\"quoted\"\"\r\"\n");
}

TEST(Report, NumbersReadBack) {
    EXPECT_EQ(shortest(12), "12");
    EXPECT_EQ(shortest(-0.5), "-0.5");
    EXPECT_EQ(shortest(0.1), "0.1");
    EXPECT_EQ(shortest(65535), "65535");
    std::mt19937_64 random(1);
    for (int i = 0; i < 200000; ++i) {
        const std::uint64_t bits = random();
        double value = 0;
        std::memcpy(&value, &bits, sizeof value);
        if (!std::isfinite(value)) continue;
        const std::string text = shortest(value);
        ASSERT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
        ASSERT_LE(text.size(), 24U);
    }
    EXPECT_EQ(std::strtod(shortest(std::numeric_limits<double>::denorm_min()).c_str(), nullptr), 5e-324);
}

TEST(Report, HistogramIsExact) {
    Histogram histogram;
    histogram.range = {0, 3};
    histogram.columns = {{{}, Channel::red, {1, 2}}, {{}, Channel::alpha, {3, 18446744073709551615U}, 0, 4}};
    EXPECT_EQ(histogram_csv(histogram),
              "bin,lower,upper,red,alpha\n"
              "0,0,1.5,1,3\n"
              "1,1.5,3,2,18446744073709551615\n"
              "above,,,0,4\n");
    histogram.columns = {{{.nan = 2}, Channel::gray, {5}, 1, 0}};
    EXPECT_EQ(histogram_csv(histogram), "bin,lower,upper,gray\n0,0,3,5\nbelow,,,1\nnan,,,2\n");
}

TEST(Report, JsonParsesBack) {
    const ImageInfo image{"dir/\"photo\"\n.jpg", 4, 3, Depth::u16};
    Statistics empty;
    empty.channel = Channel::gray;
    const std::string text = stats_json(image, {full_row(), empty});
    EXPECT_EQ(text.find('\n'), text.size() - 1);
    const auto json = nlohmann::ordered_json::parse(text);
    EXPECT_EQ(json.at("schema"), 1);
    EXPECT_EQ(json.at("luma"), "(9798 R + 19235 G + 3735 B + 16384) >> 15");
    EXPECT_EQ(json.at("path"), image.path);
    EXPECT_EQ(json.at("width"), 4);
    EXPECT_EQ(json.at("height"), 3);
    EXPECT_EQ(json.at("depth"), "u16");
    ASSERT_EQ(json.at("channels").size(), 2U);

    // The names and their order are those of stats.csv, and so are the values.
    const auto columns = parse_csv(stats_csv_header()).at(0);
    const auto cells = parse_csv(stats_csv_rows(image, {full_row()})).at(0);
    const std::set<std::string> of_image{"path",   "width", "height",      "depth",        "white",     "alpha",
                                         "damage", "pages", "pixel_width", "pixel_height", "pixel_unit"};
    std::size_t i = 0;
    const auto go_on = [&] {
        while (i < columns.size() && of_image.count(columns[i]) > 0) EXPECT_TRUE(json.contains(columns[i++]));
    };
    for (const auto& [name, value] : json["channels"][0].items()) {
        go_on();
        ASSERT_LT(i, columns.size());
        EXPECT_EQ(name, columns[i]);
        if (name == "channel")
            EXPECT_EQ(value, "luma");
        else if (value.is_null())
            EXPECT_EQ(cells[i], "") << name;
        else
            EXPECT_EQ(value.get<double>(), std::strtod(cells[i].c_str(), nullptr)) << name;
        ++i;
    }
    go_on();
    EXPECT_EQ(i, columns.size());
    EXPECT_TRUE(json["channels"][1]["mean"].is_null());
    EXPECT_TRUE(json["channels"][1]["unique"].is_null());
    EXPECT_TRUE(json["channels"][1]["effective_bits"].is_null());
    EXPECT_EQ(json["channels"][1]["nan"], 0);
}

TEST(Report, JsonReplacesWhatIsNotUtf8) {
    const auto json = nlohmann::json::parse(stats_json({"a\xFFz", 1, 1, Depth::u8}, {}));
    EXPECT_EQ(json.at("path"), "a\uFFFDz");
    EXPECT_EQ(json.at("path_base64"), "Yf96");
    EXPECT_TRUE(json.at("channels").empty());
    const auto base64 = [](const std::string& path) {
        return nlohmann::json::parse(stats_json({path, 1, 1, Depth::u8}, {})).value("path_base64", "none");
    };
    EXPECT_EQ(base64("\xFF"), "/w==");
    EXPECT_EQ(base64("\xFF\xFE"), "//4=");
    EXPECT_EQ(base64("plain"), "none");
}

TEST(Report, JsonEscapesEveryControlCharacter) {
    const std::string path = "a\x01\x1b\x7f\u0080\u009f\u00a0\u00e9";
    const std::string text = stats_json({path, 1, 1, Depth::u8}, {});
    EXPECT_NE(text.find("\"a\\u0001\\u001b\\u007f\\u0080\\u009f\u00a0\u00e9\""), text.npos) << text;
    EXPECT_EQ(nlohmann::json::parse(text).at("path"), path);
}

TEST(Report, NoFieldIsAFormula) {
    const auto errors_csv = make_sink("csv", {Table(ColumnFile::errors)});
    const ImageInfo image{"@x.png", 1, 1, Depth::f32};
    Statistics band;
    band.channel = Channel::named;
    band.name = "=1+1";
    band.mean = -3.5;
    const auto fields = parse_csv(stats_csv_rows(image, {band})).at(0);
    EXPECT_EQ(fields[0], "./@x.png");
    EXPECT_EQ(fields[4], "'=1+1");
    EXPECT_EQ(std::count(fields.begin(), fields.end(), "-3.5"), 1);
    EXPECT_EQ(parse_csv(stats_csv_rows({"-", 1, 1, Depth::u8}, {band})).at(0).at(0), "-");
    EXPECT_EQ(errors_csv->format(record_of(0, {"+", "other", "=2,3"})), "./+,other,\"'=2,3\"\n");
}

}  // namespace
