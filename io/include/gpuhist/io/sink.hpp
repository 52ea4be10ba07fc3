/// Tables of results: records of typed columns, and the sinks that write these in one format each.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/columns.hpp"
#include "gpuhist/io/report.hpp"

namespace gpuhist::io {

struct TrainingNumbers;  // gpuhist/io/dataset.hpp

/// Table: its columns, each of a type.
struct Table {
    explicit Table(ColumnFile of, const Percentiles& percentiles = {})
        : name(of), columns(gpuhist::columns(percentiles, of)) {}
    ColumnFile name;
    std::vector<Column> columns;
};

/// Rows of a table about one thing: an image, a region of one, the images of a group and depth, or a failure. Nothing
/// is copied: what a record is made of must outlive it.
struct Record {
    ColumnFile table;
    ColumnRow about{};              ///< what columns of no channel read
    std::vector<ColumnRow> rows{};  ///< as `about`, each with the statistics of a channel; of a failure none
    // Records of a group and depth have these.
    const TrainingNumbers* training = nullptr;
    const Histogram* histogram = nullptr;  ///< null where there is none
};

/// Numbers of rows, by table.
using RowCounts = std::map<ColumnFile, std::uint64_t>;

/// Row of an image, as columns read it, without statistics and its index among the inputs.
ColumnRow row_of(const ImageInfo& info);

// `records_of` a group are in gpuhist/io/dataset.hpp.
Record record_of(const ImageResult& image);
/// What the measures of an image found.
Record quality_of(const ImageResult& image);
/// Region of an image, whose own rows are not looked at.
Record record_of(const ImageResult& image, const RegionInfo& region, const std::vector<Statistics>& rows);
/// Failure of the input with that index.
Record record_of(std::uint64_t index, const Failure& failure);

/// Sink: tables in one output, in one format. Records are formatted on any thread, several at a time; what that gives
/// is appended in their order, by one thread at a time. What `begin`, `append` and `end` return are the bytes that come
/// next in the output, which is the caller's: a file, or standard output.
class Sink {
  public:
    virtual ~Sink() = default;

    /// Begins the output: its first bytes.
    virtual std::string begin() { return {}; }
    /// Formats a record for `append`; nothing where its table is not in this output. Safe to call from several threads.
    virtual std::string format(const Record& record) const = 0;
    /// Appends what `format` gave of a record, or of several that follow each other, put together.
    virtual std::string append(std::string formatted) { return formatted; }
    /// Ends the output: its last bytes.
    virtual std::string end() { return {}; }
};

/// Words of the formats that `make_sink` knows.
std::vector<std::string> sink_formats();

/// Sink of a format for some tables, at least one. A format whose rows are all alike, as csv, has the first of them
/// alone. Throws InvalidArgument, which names the formats, for another.
std::unique_ptr<Sink> make_sink(std::string_view format, std::vector<Table> tables);

}  // namespace gpuhist::io
