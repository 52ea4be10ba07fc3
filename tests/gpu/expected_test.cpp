// The sample images against data/expected/, which numpy, scipy and exact arithmetic computed (oracle/expected.py).
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpuhist/gpuhist.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/io/walk.hpp"
#include "support/engines_under_test.hpp"

namespace gpuhist {
namespace {

namespace fs = std::filesystem;

fs::path data() {
    const char* folder = std::getenv("GPUHIST_DATA");
    if (!folder) throw std::runtime_error("GPUHIST_DATA must name the folder data/ of the sources");
    return folder;
}

/// Fields of a CSV file without quotes, one vector per line.
std::vector<std::vector<std::string>> read_csv(const fs::path& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    std::vector<std::vector<std::string>> lines;
    for (std::string line; std::getline(file, line);) {
        auto& fields = lines.emplace_back();
        std::size_t begin = 0, comma;
        while ((comma = line.find(',', begin)) != std::string::npos) {
            fields.push_back(line.substr(begin, comma - begin));
            begin = comma + 1;
        }
        fields.push_back(line.substr(begin));
    }
    return lines;
}

template <class Number>
Number parse(const std::string& text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) throw std::runtime_error("not a number: " + text);
    return value;
}

using Row = std::map<std::string, std::string>;  // of stats.csv, by column

/// The expected rows of each image.
std::map<std::string, std::vector<Row>> expected_statistics() {
    const auto lines = read_csv(data() / "expected" / "stats.csv");
    std::map<std::string, std::vector<Row>> images;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        Row row;
        for (std::size_t column = 0; column < lines[0].size(); ++column) row[lines[0][column]] = lines[i].at(column);
        images[row.at("path")].push_back(row);
    }
    return images;
}

/// Numbers are equal to 1e-12 of the value, pure ones (their unit is 1) of 1 where that is more; all else is the same.
void expect_row(const Row& expected, const Statistics& row) {
    for (const Column& column : columns()) {
        const auto field = expected.find(column.name);
        if (!column.of_channel || field == expected.end()) continue;
        SCOPED_TRACE(column.name);
        const ColumnValue value = column.value(ColumnRow{&row});
        if (field->second.empty()) {
            EXPECT_TRUE(std::holds_alternative<std::monostate>(value));
        } else if (column.type == ColumnType::text) {
            EXPECT_EQ(std::get<std::string_view>(value), field->second);
        } else if (column.type == ColumnType::integer) {
            EXPECT_EQ(std::get<std::uint64_t>(value), parse<std::uint64_t>(field->second));
        } else if (const auto* whole = std::get_if<std::uint64_t>(&value)) {  // a sum of integers
            EXPECT_EQ(*whole, parse<std::uint64_t>(field->second));
        } else {
            const bool sample = column.name == "min" || column.name == "max";
            const auto number = parse<double>(field->second);
            const double scale = std::max(std::abs(number), std::string(column.unit) == "1" ? 1.0 : 0.0);
            EXPECT_NEAR(std::get<double>(value), number, sample ? 0 : 1e-12 * scale);
        }
    }
}

void expect_histogram(const fs::path& file, const Histogram& histogram) {
    const auto lines = read_csv(file);
    std::vector<std::string> header{"bin", "lower", "upper"};
    for (const auto& column : histogram.columns) header.push_back(to_string(column.channel));
    ASSERT_EQ(lines.at(0), header);

    const std::size_t bins = histogram.columns.at(0).counts.size();
    ASSERT_GT(lines.size(), bins);
    for (std::size_t bin = 0; bin < bins; ++bin) {
        const auto& line = lines[bin + 1];
        EXPECT_EQ(line.at(0), std::to_string(bin));
        const double span = histogram.range.upper - histogram.range.lower;
        EXPECT_NEAR(histogram.edge(bin), parse<double>(line.at(1)), 1e-14 * span);
        EXPECT_NEAR(histogram.edge(bin + 1), parse<double>(line.at(2)), 1e-14 * span);
        for (std::size_t c = 0; c < histogram.columns.size(); ++c)
            EXPECT_EQ(histogram.columns[c].counts.at(bin), parse<std::uint64_t>(line.at(3 + c))) << "bin " << bin;
    }
    std::map<std::string, std::vector<std::string>> outside;  // rows that are there only where something fell there
    for (std::size_t i = bins + 1; i < lines.size(); ++i) outside[lines[i].at(0)] = lines[i];
    for (std::size_t c = 0; c < histogram.columns.size(); ++c) {
        auto count = [&](const char* row) {
            return outside.count(row) ? parse<std::uint64_t>(outside[row].at(3 + c)) : std::uint64_t{0};
        };
        EXPECT_EQ(histogram.columns[c].below, count("below"));
        EXPECT_EQ(histogram.columns[c].above, count("above"));
        EXPECT_EQ(histogram.columns[c].nan, count("nan"));
    }
}

class Samples : public test::EngineTest {};

TEST_P(Samples, MatchTheExpectedNumbers) {
    for (const auto& [name, expected] : expected_statistics()) {
        SCOPED_TRACE(name);
        const cv::Mat image = io::read_image(data() / name);
        EXPECT_EQ(std::to_string(image.cols), expected[0].at("width"));
        EXPECT_EQ(std::to_string(image.rows), expected[0].at("height"));
        const ImageView view = io::view(image);
        EXPECT_EQ(to_string(view.depth), expected[0].at("depth"));

        const Analysis analysis = engine->analyze(view);
        const auto rows = statistics(analysis);
        ASSERT_EQ(rows.size(), expected.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            SCOPED_TRACE(expected[i].at("channel"));
            expect_row(expected[i], rows[i]);
        }
        expect_histogram(data() / "expected" / (name + ".histogram.csv"), histogram(analysis));
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, Samples, testing::ValuesIn(test::engines_under_test), test::label_of);

TEST(SampleFiles, AllHaveExpectedNumbers) {
    std::set<std::string> images, expected;
    for (const auto& path : io::list_images(data())) images.insert(path.lexically_relative(data()).string());
    for (const auto& [name, rows] : expected_statistics()) expected.insert(name);
    EXPECT_EQ(images, expected);
}

}  // namespace
}  // namespace gpuhist
