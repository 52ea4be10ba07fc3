// Expected outputs, to the byte.
//
// Environment: GPUHIST_GOLDEN, their folder; GPUHIST_UPDATE_GOLDEN=1 rewrites them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <stdexcept>
#include <string>

#include "gpuhist/columns.hpp"
#include "support/text_files.hpp"

namespace gpuhist::test {

/// CSV with as many fields alone of each record as the header of other CSV has.
inline std::string first_fields(const std::string& csv, const std::string& other) {
    const std::string header = other.substr(0, other.find('\n'));
    const auto last = std::count(header.begin(), header.end(), ',');
    std::string kept;
    std::ptrdiff_t field = 0;
    bool quoted = false;
    for (const char c : csv) {
        if (c == '"') quoted = !quoted;
        if (c == ',' && !quoted) ++field;
        if (c == '\n' && !quoted) field = 0;
        if (field <= last) kept += c;
    }
    return kept;
}

/// JSON without the columns that have no key in other JSON.
inline std::string without_new_keys(std::string json, const std::string& other) {
    for (const Column& column : columns()) {
        const std::string key = '"' + column.name + "\":";
        if (other.find(key) == other.npos) json = std::regex_replace(json, std::regex(',' + key + "[^,}]*"), "");
    }
    return json;
}

/// JSON without the definitions of its columns, which columns_test.cpp holds to the table.
inline std::string without_definitions(std::string json) {
    const std::size_t at = json.find(",\"columns\":{");
    return at == json.npos ? json : json.erase(at, json.find("}}", at) + 2 - at);
}

inline void expect_golden(const std::string& name, std::string actual) {
    const char* folder = std::getenv("GPUHIST_GOLDEN");
    if (!folder) throw std::runtime_error("GPUHIST_GOLDEN is not set");
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    if (const char* update = std::getenv("GPUHIST_UPDATE_GOLDEN"); update && std::string(update) == "1")
        return write_text(path, actual);
    const std::string expected = read_text(path);
    // Files made from the table of columns are held to the columns that they had: newer ones come last.
    if (path.extension() == ".json") actual = without_new_keys(without_definitions(actual), expected);
    if (name.ends_with("stats.csv") || name == "dataset.csv") actual = first_fields(actual, expected);
    EXPECT_EQ(actual, expected) << "expected output: " << path;
}

}  // namespace gpuhist::test
