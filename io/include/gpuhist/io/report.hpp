/// Results of images, and their text: CSV (RFC 4180, LF, shortest numbers that read back to the same double) and JSON.
/// What the columns are called and hold stands in gpuhist/columns.hpp; tables of many images are in
/// gpuhist/io/sink.hpp.
#pragma once

#include <cstdint>
#include <string>
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
    std::vector<Statistics> rows;      ///< of `statistics()`
    std::vector<Measured> measured{};  ///< of its measures
};

/// Input that could not be measured, or one of whose files could not be written.
struct Failure {
    std::string path;  ///< any bytes
    std::string kind;
    std::string message;
};

/// Header line of stats.csv, with its LF: the columns of `columns(percentiles, ColumnFile::stats)`.
std::string stats_csv_header(const Percentiles& percentiles = {});

/// Lines of an image, one row each. What is undefined is empty; a name like a formula (= + - @) begins with ./ instead.
std::string stats_csv_rows(const ImageInfo& image, const std::vector<Statistics>& rows,
                           const Percentiles& percentiles = {});

/// bin,lower,upper, and one column per channel; then rows `below`, `above`, `nan` where any is not zero.
std::string histogram_csv(const Histogram& histogram);

/// JSON object on one line with its LF: `schema`, which is 1; the columns of ColumnFile::stats, those of the image
/// as members; `luma`, the formula, where there is such a row; and `channels`, one object per row; what is undefined is
/// null. Bytes of a text KEY that are not UTF-8 become U+FFFD; then KEY_base64 has them all.
std::string stats_json(const ImageInfo& image, const std::vector<Statistics>& rows,
                       const Percentiles& percentiles = {});

/// Text of a finite double, in the fewest digits that read back to it.
std::string shortest(double value);

}  // namespace gpuhist::io
