// What the writers of results share: the columns of a row of numbers, and how a field of CSV is written.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

#include "gpuhist/io/report.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::io {

/// The columns of stats.csv after those of the image, each with how to read it: the order of the CSV and of the JSON.
template <class Visit>
void visit_fields(const Statistics& row, Visit visit) {
    visit("pixels", row.pixels);
    visit("nan", row.nan);
    visit("inf", row.inf);
    visit("min", row.min);
    visit("max", row.max);
    visit("mean", row.mean);
    visit("std", row.std);
    visit("std_sample", row.std_sample);
    visit("skewness", row.skewness);
    visit("kurtosis", row.kurtosis);
    visit("entropy", row.entropy);
    const Percentiles percentiles;
    for (std::size_t i = 0; i < percentiles.size(); ++i)
        visit(percentiles.name(i).c_str(), i < row.percentiles.size() ? row.percentiles[i].value : std::nullopt);
    visit("clipped_low", row.clipped_low);
    visit("clipped_high", row.clipped_high);
    visit("unique", row.unique);
    visit("effective_bits", row.effective_bits);
}

inline void append_text(std::string& line, std::uint64_t value) {
    std::array<char, 20> digits;
    line.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}
/// As `shortest`, which writes whole numbers of up to five digits without an exponent; these are quicker by themselves.
inline void append_text(std::string& line, double value) {
    if (value > 0 && value < 1e5 && value == static_cast<double>(static_cast<std::uint32_t>(value)))
        return append_text(line, static_cast<std::uint64_t>(value));
    std::array<char, 32> text;
    line.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}
template <class T>
void append_text(std::string& line, const std::optional<T>& value) {
    if (value) append_text(line, *value);
}

/// A field as RFC 4180 wants it: in quotes where it holds a comma, a quote or a line's end.
std::string csv_field(const std::string& field);

}  // namespace gpuhist::io
