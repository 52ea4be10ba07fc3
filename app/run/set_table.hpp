/// Table of a whole set, as a run prints it at its end.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/table.hpp"
#include "gpuhist/io/dataset.hpp"
#include "run/options.hpp"

namespace gpuhist::app {

/// Groups of a set, for the table: rows of the first, and how many there are.
class GroupRows {
  public:
    /// Records a group, but not the whole set, "".
    void add(const std::string& name, const io::SetNumbers& numbers);
    /// Lines about the groups that have images of a depth, under a heading; empty if there are none. The last line
    /// names the file with the other groups.
    std::string text(Depth depth, const std::filesystem::path& others, const TableStyle& style) const;

  private:
    static constexpr std::size_t most = 20;
    std::vector<std::pair<std::string, SummaryRow>> rows_;
    std::size_t groups_ = 0;
};

/// Text about images of one depth of a set: a table with histograms, the numbers for training code, and the groups.
std::string set_table(const std::string& name, const Summary& whole, std::size_t depth, const io::SetNumbers& numbers,
                      const GroupRows& groups, const Options& options);

}  // namespace gpuhist::app
