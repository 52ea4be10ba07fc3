/// Results for a person at a terminal: aligned numbers and a small histogram drawn in text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/io/report.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::app {

struct TableStyle {
    bool colour = false;   ///< ANSI escape sequences
    bool unicode = false;  ///< block elements; otherwise ASCII
    bool log_counts = false;
};

/// What the heading says of an image.
struct TableHeading {
    io::ImageInfo image;
    int channels = 1;
    std::string_view engine;
    std::string written;  ///< the files, empty where there are none
};

/// One image's block: heading, a row a channel, the histogram with the axis of its values, the files written. Lines
/// have at most 100 columns but for long paths.
std::string format_table(const TableHeading& heading, const std::vector<Statistics>& rows, const Histogram& histogram,
                         const TableStyle& style);

/// The text with control characters, which could steer a terminal, replaced by `?`.
std::string printable(std::string_view text);

}  // namespace gpuhist::app
