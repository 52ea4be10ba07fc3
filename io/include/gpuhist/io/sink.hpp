/// Tables of results: records of typed columns, and sinks, each of which writes them in one format.
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

/// Table: a name and typed columns.
struct Table {
    explicit Table(ColumnFile of, const StatisticsRequest& asked = {})
        : name(of), columns(gpuhist::columns(asked, of)) {}
    ColumnFile name;
    std::vector<Column> columns;
};

/// Column `decoder` of rows about images that another decoder than gpuhist's own has read: OpenCV. Runs that use it add
/// it to their tables of images.
const Column& decoder_column();

/// Rows of a table about one subject: an image, a region, the images of a group and depth, or a failure. Nothing is
/// copied: the sources of a record must outlive it.
struct Record {
    ColumnFile table;
    ColumnRow about{};              ///< values of columns that do not belong to a channel
    std::vector<ColumnRow> rows{};  ///< as `about`, each with the statistics of a channel; none for a failure
    // Records of a group and depth have these.
    const TrainingNumbers* training = nullptr;
    const Histogram* histogram = nullptr;  ///< null if there is none
    std::vector<ColumnRow> measures{};     ///< rows of the table `set_quality`
    std::string_view manifest{};           ///< checksum of the manifest of the set; empty: it has none
};

/// Numbers of rows, by table.
using RowCounts = std::map<ColumnFile, std::uint64_t>;

/// Row of an image, from which columns read, without statistics and without the index of the input.
ColumnRow row_of(const ImageInfo& info);

// `records_of` a group are in gpuhist/io/dataset.hpp.
Record record_of(const ImageResult& image);
/// Record with the measures of an image.
Record quality_of(const ImageResult& image);
/// Record with the counts of an image.
Record counts_of(const ImageResult& image);
/// Record of a region of an image. The rows of the image itself are not used.
Record record_of(const ImageResult& image, const RegionInfo& region, const std::vector<Statistics>& rows);
/// Record of the failure of the input with this index.
Record record_of(std::uint64_t index, const Failure& failure);

/// Sink: tables in one output, in one format. Any thread may format records, several at a time. One thread at a time
/// appends the results, in the order of the records. `begin`, `append` and `end` return the next bytes of the output.
/// The caller owns the output, a file or standard output, and writes them.
class Sink {
  public:
    virtual ~Sink() = default;

    /// Begins the output. Returns its first bytes.
    virtual std::string begin() { return {}; }
    /// Formats a record for `append`. Returns an empty text if its table is not in this output. May be called by
    /// several threads.
    virtual std::string format(const Record& record) const = 0;
    /// Appends the text of `format` for one record, or for several consecutive records, joined.
    virtual std::string append(std::string formatted) { return formatted; }
    /// Ends the output. Returns its last bytes.
    virtual std::string end() { return {}; }
};

/// Names of the formats that `make_sink` knows.
std::vector<std::string> sink_formats();

/// Makes a sink of a format for one or more tables. A format in which all rows are alike, such as csv, only has the
/// first table. Throws InvalidArgument for an unknown format; the message names the formats.
std::unique_ptr<Sink> make_sink(std::string_view format, std::vector<Table> tables);

}  // namespace gpuhist::io
