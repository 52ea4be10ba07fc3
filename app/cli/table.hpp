/// Results for a person at a terminal: aligned numbers and a small histogram drawn in text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpuhist/dataset.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/plot.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::app {

struct TableStyle {
    bool color = false;    ///< ANSI escape sequences
    bool unicode = false;  ///< block elements; otherwise ASCII
    bool log_counts = false;
};

/// First line: a name, which is highlighted, and its description.
struct TableHeading {
    std::string name, description;
};
TableHeading heading_of(const io::ImageResult& result, const TableStyle& style);

/// Block of text: heading, one row per channel, the histograms, each with the axis of its values, and the files
/// written, if any. Lines have at most 100 columns but for long paths.
std::string format_table(const TableHeading& heading, const std::vector<Statistics>& rows,
                         const std::vector<io::PlotPanel>& panels, std::string_view written, const TableStyle& style);

/// Lines with the mean and std for training code; empty if there are none.
std::string format_training(const io::TrainingNumbers& numbers, const TableStyle& style);

/// Block of text: one line per row of a set's groups, each with the name of its group, under a heading.
std::string format_groups(const std::vector<std::pair<std::string, SummaryRow>>& rows, const TableStyle& style);

/// Text in which `?` replaces bytes that are not UTF-8, and control characters, which could steer a terminal or reorder
/// its text.
std::string printable(std::string_view text);

}  // namespace gpuhist::app
