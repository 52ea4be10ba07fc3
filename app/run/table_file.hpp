/// Table of a set that is made from rows of its parts.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "gpuhist/columns.hpp"
#include "gpuhist/io/csv_rows.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/statistics.hpp"
#include "run/image_flags.hpp"

namespace gpuhist::app {

/// CSV of a table, complete except for its name. Functions throw IoError.
class TableFile {
  public:
    TableFile(const std::filesystem::path& directory, const TableTraits& traits, const StatisticsRequest& asked);
    /// Adds a row, with its LF.
    void add(std::string_view row);
    /// Writes what was added: call it before `read` and `take`.
    void flush();
    io::CsvRows read() const;
    io::NewFile take() { return std::move(*file_); }

  private:
    std::string rows_;
    std::optional<io::NewFile> file_;
};

/// Tables from which the flags of images follow.
struct FlagTables {
    TableFile stats, quality;

    FlagTables(const std::filesystem::path& directory, const StatisticsRequest& asked)
        : stats(directory, traits_of(ColumnFile::stats), asked),
          quality(directory, traits_of(ColumnFile::quality), asked) {}
    /// Adds a row of one of the two; rows of others are left out.
    void add(ColumnFile table, std::string_view row) {
        if (table == ColumnFile::stats) stats.add(row);
        if (table == ColumnFile::quality) quality.add(row);
    }
    /// Flags of the images. The tables must outlive them.
    FlagFinder flags(const FlagThresholds& thresholds);
};

}  // namespace gpuhist::app
