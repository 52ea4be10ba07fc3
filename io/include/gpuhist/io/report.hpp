/// Results as text: CSV (RFC 4180, LF, shortest numbers that read back to the same double) and JSON. What the columns
/// are called and hold stands in gpuhist/columns.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/histogram.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::io {

/// Facts about one image that are written beside its numbers.
struct ImageInfo {
    std::string path;  ///< as the user gave it; any bytes
    std::int64_t width = 0;
    std::int64_t height = 0;
    Depth depth = Depth::u8;
    double white = 0;         ///< value that stands for white; 0: the depth's highest
    const char* alpha = "";   ///< `straight` or `premultiplied`; empty without alpha
    const char* damage = "";  ///< `damaged` or `truncated`, of a file that was accepted all the same; else empty
    std::vector<std::string> bands{};  ///< their names by place, where the file has such: those of their rows
    std::uint64_t pages = 1;           ///< of the file, of which the image is one
};

/// Region of an image, as files name it.
struct RegionInfo {
    std::string name;  ///< the label in decimal, or that of a rectangle
    std::int64_t x = 0, y = 0, width = 0, height = 0;
    std::uint64_t area = 0;
};

/// Results of one image.
struct ImageResult {
    std::uint64_t index = 0;  ///< of the input, counted from 0
    ImageInfo info;
    std::vector<Statistics> rows;  ///< of `statistics()`
};

/// Input that could not be measured, or one of whose files could not be written.
struct Failure {
    std::string path;  ///< any bytes
    std::string kind;
    std::string message;
};

/// Sink: a format of the results of many images. An image is formatted on any thread, several at a time; what that
/// gives is appended in the order of the inputs, by one thread at a time. What `begin`, `append`, `append_failure` and
/// `end` return are the bytes that come next in the output, which is the caller's: a file, or standard output.
class Sink {
  public:
    virtual ~Sink() = default;

    /// Begins the output: its first bytes.
    virtual std::string begin() { return {}; }
    /// Formats what `append` is to be given with the image. Safe to call from several threads.
    virtual std::string format(const ImageResult& image) const = 0;
    virtual std::string append(const ImageResult& image, std::string formatted) {
        static_cast<void>(image);
        return formatted;
    }
    /// Takes an input that failed, or a file that could not be written: a format without a place for it has no bytes.
    virtual std::string append_failure(std::uint64_t index, const Failure& failure) {
        static_cast<void>(index), static_cast<void>(failure);
        return {};
    }
    /// Ends the output: its last bytes.
    virtual std::string end() { return {}; }
};

/// Words of the formats that `make_sink` knows; `csv` gives the lines of stats.csv.
std::vector<std::string> sink_formats();

/// Sink of a format. Throws InvalidArgument, which names the formats, for another.
std::unique_ptr<Sink> make_sink(std::string_view format, const Percentiles& percentiles = {});

/// Header line of stats.csv, with its LF: the columns of `columns(percentiles, ColumnFile::stats_csv)`.
std::string stats_csv_header(const Percentiles& percentiles = {});

/// Lines of an image, a row each. What is undefined is empty; a name like a formula (= + - @) begins with ./ instead.
std::string stats_csv_rows(const ImageInfo& image, const std::vector<Statistics>& rows,
                           const Percentiles& percentiles = {});

/// Text of regions, each as an image: lines of regions.csv, which has the columns of ColumnFile::regions_csv and a line
/// a channel, and JSON, an object a line.
class RegionRows {
  public:
    explicit RegionRows(const Percentiles& percentiles = {});
    ~RegionRows();
    std::string csv_header() const;
    /// Appends the lines, each after `start`.
    void append_csv(std::string& lines, const ImageInfo& image, const RegionInfo& region,
                    const std::vector<Statistics>& rows, std::string_view start = {}) const;
    void append_json(std::string& lines, const ImageInfo& image, const RegionInfo& region,
                     const std::vector<Statistics>& rows) const;

  private:
    struct Columns;
    const std::unique_ptr<const Columns> columns_;
};

/// errors.csv: `path,kind,message`, and a line a failure.
std::string errors_csv_header();
std::string errors_csv_row(const Failure& failure);

/// bin,lower,upper, and a column a channel; then rows `below`, `above`, `nan` where any is not zero.
std::string histogram_csv(const Histogram& histogram);

/// JSON object on one line with its LF: `schema`, which is 1; the columns of ColumnFile::stats_json, those of the image
/// as members; `luma`, the formula, where there is such a row; and `channels`, an object a row; what is undefined is
/// null. Bytes of a text KEY that are not UTF-8 become U+FFFD; then KEY_base64 has them all.
std::string stats_json(const ImageInfo& image, const std::vector<Statistics>& rows,
                       const Percentiles& percentiles = {});

/// Text of a finite double, in the fewest digits that read back to it.
std::string shortest(double value);

}  // namespace gpuhist::io
