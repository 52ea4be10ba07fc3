/// Results of a run in a directory, as commands read them.
#pragma once

#include <filesystem>
#include <string>

#include "gpuhist/columns.hpp"
#include "gpuhist/io/csv_rows.hpp"
#include "run/image_flags.hpp"

namespace gpuhist::app {

/// Directory with results. Functions throw IoError, which names what is missing and the remedy.
class ResultsThere {
  public:
    /// Refuses directories without stats.csv, with parts of a run, or from an interrupted run.
    explicit ResultsThere(std::filesystem::path directory);

    /// Returns whether a directory has results, whole or not, rather than images.
    static bool are_in(const std::filesystem::path& directory);

    const std::filesystem::path& directory() const { return directory_; }
    std::string path_of(ColumnFile table) const;
    bool has(ColumnFile table) const;
    bool has(const std::string& file) const;
    io::CsvRows open(ColumnFile table) const;
    ImageTables images() const;

  private:
    std::filesystem::path directory_;
};

}  // namespace gpuhist::app
