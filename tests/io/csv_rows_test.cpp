// Tables that runs wrote, read back.
#include "gpuhist/io/csv_rows.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "gpuhist/error.hpp"

namespace gpuhist::io {
namespace {

CsvRows rows_of(const std::string& text) {
    return {std::make_unique<std::istringstream>(text), "t.csv"};
}

std::string refusal(const std::string& text) {
    try {
        CsvRows rows = rows_of(text);
        while (rows.next())
            if (const auto value = rows.find("value")) rows.number(*value);
    } catch (const IoError& error) {
        return error.what();
    }
    return "";
}

TEST(CsvRows, FieldsAreThoseThatWereWritten) {
    CsvRows rows = rows_of("path,value,last\n\"a,b \"\"c\"\"\nd\",-1.5e-7,\n,,\"\"\nx,inf,\"\"\"\"\n");
    EXPECT_EQ(rows.column("last"), 2u);
    EXPECT_FALSE(rows.find("lost"));
    ASSERT_TRUE(rows.next());
    EXPECT_EQ(rows.text(0), "a,b \"c\"\nd");
    EXPECT_EQ(rows.number(1), -1.5e-7);
    EXPECT_EQ(rows.number(2), std::nullopt);
    EXPECT_EQ(rows.number(std::optional<std::size_t>()), std::nullopt);
    ASSERT_TRUE(rows.next());
    for (std::size_t column = 0; column < 3; ++column) EXPECT_EQ(rows.text(column), "") << column;
    ASSERT_TRUE(rows.next());
    EXPECT_EQ(rows.text(2), "\"");
    EXPECT_GT(rows.number(1), 1e308);
    EXPECT_FALSE(rows.next());
    EXPECT_FALSE(rows.next());
}

TEST(CsvRows, LongRowsCrossTheBlocksThatAreRead) {
    std::string text = "path,value\n";
    for (int i = 0; i < 3000; ++i)
        text += '"' + std::string(50 + i % 7, static_cast<char>('a' + i % 26)) + "\"\"\n\"," + std::to_string(i) + '\n';
    CsvRows rows = rows_of(text);
    for (int i = 0; i < 3000; ++i) {
        ASSERT_TRUE(rows.next());
        ASSERT_EQ(rows.text(0), std::string(50 + i % 7, static_cast<char>('a' + i % 26)) + "\"\n");
        ASSERT_EQ(rows.number(1), i);
    }
    EXPECT_FALSE(rows.next());
}

TEST(CsvRows, OtherFilesAreRefusedWithTheirLine) {
    EXPECT_EQ(refusal(""), "t.csv: is empty: a table begins with the names of its columns");
    EXPECT_EQ(refusal("path,value\na,1\n\"b\nc\",2,3\n"), "t.csv: line 3: 3 fields, but the header has 2");
    EXPECT_EQ(refusal("path,value\na,1\n\nb,2\n"), "t.csv: line 3: 1 fields, but the header has 2");
    EXPECT_EQ(refusal("path,value\na,1x\n"), "t.csv: line 2: '1x' in column 'value' is not a number");
    EXPECT_EQ(refusal("path,value\na,1\nb,2"), "t.csv: line 3: the last row has no end: the file is truncated");
    EXPECT_EQ(refusal("path,value\n\"a,1\n"), "t.csv: line 2: the last row has no end: the file is truncated");
    EXPECT_EQ(refusal("path,value\n\"a\"b,1\"\"\n"), "t.csv: line 2: text after a closing quote");
    EXPECT_EQ(refusal("path,value\n" + std::string(std::size_t{1} << 24, 'x')),
              "t.csv: line 2: a row of 16 MiB or more: a quote or the row's end is missing");
    EXPECT_THROW(CsvRows("/nowhere/quality.csv"), IoError);
    EXPECT_THROW(CsvRows("/tmp"), IoError);
    EXPECT_THROW(rows_of("path\n").column("value"), IoError);
}

}  // namespace
}  // namespace gpuhist::io
