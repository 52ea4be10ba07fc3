/// The parts that a sharded run leaves: what each holds, and how they become one result again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/report.hpp"

namespace gpuhist::io {

/// Part K of N has the inputs whose index i, counted from 0 over all inputs, is K − 1 modulo N.
struct Part {
    std::uint64_t part = 1, parts = 1;           ///< K, N
    std::uint64_t inputs = 0;                    ///< of all parts together
    std::string inputs_hash;                     ///< of all inputs' paths
    std::uint64_t rows = 0, errors = 0;          ///< of stats.csv and of errors.csv, in its rows file
    std::map<std::string, std::string> options;  ///< all that changes results, versions included: alike in all parts
    Percentiles percentiles;                     ///< that have a column; alike in all parts
    HistogramOptions histogram;                  ///< of dataset.json and the plots; alike in all parts
    bool log_counts = false;
    std::vector<Group> groups;  ///< in byte order, "" first
};

/// `part-K-of-N.json`, `part-K-of-N.stats.csv` and, where runs of values are too long for the first,
/// `part-K-of-N.values`.
std::string part_file_name(std::uint64_t part, std::uint64_t parts);
std::string part_rows_file_name(std::uint64_t part, std::uint64_t parts);
std::string part_values_file_name(std::uint64_t part, std::uint64_t parts);

/// One line of JSON.
std::string part_json(const Part& part);

/// Reads it back. `name` is for messages. Throws IoError naming it and the place where the text is not what `part_json`
/// writes.
Part parse_part(std::string_view json, const std::string& name, const FrequencyFiles& files = {});

/// Writes the values, and then the part file, with which the part is there: the same bytes for equal parts. Returns the
/// names of the files. Throws IoError.
std::vector<std::string> write_part(const std::filesystem::path& directory, const Part& part);

/// Removes the part file and the values of an earlier run: no part is there any more. Throws IoError.
void remove_part(const std::filesystem::path& directory, const Part& part);

/// The part's rows file: those of stats.csv and of errors.csv, in the order of the inputs, after the columns `index`,
/// of the input, and `file`, which is `stats` or `errors`. The header is that of stats.csv.
std::string part_rows_header(const Percentiles& percentiles = {});
std::string part_stats_rows(std::uint64_t index, const ImageInfo& image, const std::vector<Statistics>& rows,
                            const Percentiles& percentiles = {});
std::string part_error_row(std::uint64_t index, const Failure& failure);

/// All of these as a sink.
std::unique_ptr<Sink> make_shard_sink(const Percentiles& percentiles = {});

/// Reads a part's rows file row by row, whose quoted fields may hold line ends.
class PartRows {
  public:
    /// Throws IoError where the file cannot be opened or its header is another.
    explicit PartRows(const std::filesystem::path& path, const Percentiles& percentiles = {});

    /// Goes to the next row; false at the end. Throws IoError, with the line, for a row without the first two columns
    /// or without end, one of more than 16 MiB, and where reading fails.
    bool next();
    std::uint64_t index() const { return index_; }
    bool is_error() const { return is_error_; }      ///< a row of errors.csv, not of stats.csv
    const std::string& row() const { return row_; }  ///< of that file, with its LF

    [[noreturn]] void refuse(const std::string& what) const;

  private:
    bool read_record();

    std::string name_;
    std::ifstream file_;
    std::uint64_t line_ = 0, next_line_ = 1;
    std::uint64_t index_ = 0;
    bool is_error_ = false;
    std::string row_;
};

/// A part and its files. Its groups are not here but in PartSet.
struct PartFile {
    std::filesystem::path path, rows_path, values_path;
    Part part;
};

/// All parts of one run.
struct PartSet {
    std::vector<PartFile> files;  ///< part 1, 2, …
    std::vector<Group> groups;    ///< of all parts, merged
};

/// Reads the part files lying in these directories. They must be of one run and none missing; parts that are there
/// twice must be the same, byte for byte, with their rows and values. Long runs of values that are made of theirs will
/// lie in `values`, if it is not null. Throws IoError naming the files and what is wrong.
PartSet collect_parts(const std::vector<std::filesystem::path>& directories,
                      const std::shared_ptr<FrequencyStorage>& values = nullptr);

/// Hands out the rows of all parts, in the order of the inputs: the lines of stats.csv and those of errors.csv, after
/// their headers. All rows files are open at a time; memory does not grow with the rows. Throws IoError for a file that
/// cannot be read, rows that are not the part's or not as many as it says, and an input without any; and what the
/// functions throw.
void merge_rows(const PartSet& parts, const std::function<void(const std::string& row)>& write_stats,
                const std::function<void(const std::string& row)>& write_error);

}  // namespace gpuhist::io
