/// Results of images, and their text: CSV (RFC 4180, LF, numbers in the fewest digits that read back to the same
/// double) and JSON. gpuhist/columns.hpp defines the columns; gpuhist/io/sink.hpp has tables of many images.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/histogram.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::io {

/// Facts about an image, for the files beside its numbers.
struct ImageInfo {
    std::string path;  ///< as the user gave it; any bytes
    std::int64_t width = 0;
    std::int64_t height = 0;
    Depth depth = Depth::u8;
    double white = 0;                          ///< value that stands for white; 0: the highest of the depth
    const char* alpha = "";                    ///< `straight` or `premultiplied`; empty without alpha
    const char* damage = "";                   ///< `damaged` or `truncated` if such a file was accepted; else empty
    std::uint64_t pages = 1;                   ///< number of pages in the file of the image
    double pixel_width = 0, pixel_height = 0;  ///< size of a pixel in `pixel_unit`; 0: unknown
    std::string pixel_unit{};                  ///< such as `µm`; empty: unknown
};

/// Region of an image, for files.
struct RegionInfo {
    std::string name;  ///< label in decimal, or name of a rectangle
    std::int64_t x = 0, y = 0, width = 0, height = 0;
    std::uint64_t area = 0;
    double centroid_x = 0, centroid_y = 0;
};

/// Results of one image.
struct ImageResult {
    std::uint64_t index = 0;  ///< number of the input, counted from 0
    ImageInfo info;
    std::vector<Statistics> rows;          ///< rows of `statistics()`
    std::vector<MeasureValue> measures{};  ///< `measure_values()`
    std::string counts{};                  ///< `image_counts()`, if they are kept
};

/// Input that could not be measured, or whose files could not all be written.
struct Failure {
    std::string path;  ///< any bytes
    std::string kind;
    std::string message;
};

/// Header line of stats.csv, with its LF. It has the columns of `columns(asked, ColumnFile::stats)`.
std::string stats_csv_header(const StatisticsRequest& asked = {});

/// Lines of an image in stats.csv, one per channel. Undefined values are empty. A name that looks like a formula (= + -
/// @) begins with ./ instead.
std::string stats_csv_rows(const ImageInfo& image, const std::vector<Statistics>& rows,
                           const StatisticsRequest& asked = {});

/// Histogram as CSV: bin,lower,upper and one column per channel. Rows `below`, `above` and `nan` follow if any of their
/// counts is not zero.
std::string histogram_csv(const Histogram& histogram);

/// JSON object of an image, on one line with its LF. It has `schema`, which is 1; the columns of ColumnFile::stats that
/// belong to the image, as members; `luma`, its formula, if there is such a row; and `channels`, with one object per
/// channel. Undefined values are null. In a text KEY, bytes that are not UTF-8 become U+FFFD; then KEY_base64 has the
/// original bytes.
std::string stats_json(const ImageInfo& image, const std::vector<Statistics>& rows,
                       const StatisticsRequest& asked = {});

/// Text of a finite double, in the fewest digits that read back to the same double.
std::string shortest(double value);
/// Text of a double, by a format of std::printf for one double, such as "%.4g". At most 39 characters of it.
std::string formatted(const char* format, double value);
/// Text of a whole number, with a comma between thousands.
std::string grouped(std::uint64_t number);

}  // namespace gpuhist::io
