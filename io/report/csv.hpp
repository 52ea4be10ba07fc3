// Lines of CSV, made from the table of columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/columns.hpp"
#include "gpuhist/io/report.hpp"

namespace gpuhist::io {

/// Lines of a file that has a row a channel.
class CsvRows {
  public:
    CsvRows(ColumnFile file, const Percentiles& percentiles) : columns_(columns(percentiles, file)) {}

    /// The names, with their LF.
    std::string header() const;
    /// Appends a line.
    void append(std::string& lines, const ColumnRow& row) const;
    /// Appends the lines of an image, each after `start`.
    void append(std::string& lines, const ImageInfo& image, const std::vector<Statistics>& rows,
                std::string_view start = {}) const;

  private:
    std::vector<Column> columns_;
};

}  // namespace gpuhist::io
