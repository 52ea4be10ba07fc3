/// Results as text: CSV (RFC 4180, LF, shortest numbers that read back to the same double) and JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/histogram.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::io {

/// What is written about one image beside its numbers.
struct ImageInfo {
    std::string path;  ///< as the user gave it; any bytes
    std::int64_t width = 0;
    std::int64_t height = 0;
    Depth depth = Depth::u8;
};

/// The header line of stats.csv, with its LF:
/// path,width,height,depth,channel,pixels,nan,inf,min,max,mean,std,std_sample,skewness,kurtosis,entropy,p01,p05,p25,
/// median,p75,p95,p99,clipped_low,clipped_high,unique,effective_bits
std::string stats_csv_header();

/// One line a row, each with its LF. What is undefined is an empty field.
std::string stats_csv_rows(const ImageInfo& image, const std::vector<Statistics>& rows);

/// An input that could not be measured, or one of whose files could not be written.
struct Failure {
    std::string path;  ///< any bytes
    std::string kind;
    std::string message;
};

/// errors.csv: `path,kind,message`, and a line a failure.
std::string errors_csv_header();
std::string errors_csv_row(const Failure& failure);

/// bin,lower,upper, and a column a channel; then rows `below`, `above`, `nan` where any is not zero.
std::string histogram_csv(const Histogram& histogram);

/// One JSON object on one line with its LF: the image's info, `engine`, and `channels`, an object a row with the names
/// of stats.csv; what is undefined is null. Bytes of the path that are not UTF-8 are replaced by U+FFFD.
std::string stats_json(const ImageInfo& image, std::string_view engine, const std::vector<Statistics>& rows);

/// A finite double in the fewest digits that read back to it.
std::string shortest(double value);

}  // namespace gpuhist::io
