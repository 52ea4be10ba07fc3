// Facts that rows and summaries both tell, so that one can be held against the other.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/dataset.hpp"
#include "gpuhist/io/shard.hpp"

namespace gpuhist::io {

/// Facts of a summary.
Facts facts_of(const Summary& summary);

/// Adds further images.
void add_facts(Facts& sum, const Facts& more);

/// First difference in words, or empty.
std::string difference(const Facts& found, const Facts& wanted);

/// Facts of rows of stats.csv.
class RowFacts {
  public:
    explicit RowFacts(const StatisticsRequest& asked);
    /// Adds a row. Returns false where it is no such row.
    bool add(std::string_view row);
    const Facts& all() const { return all_; }

  private:
    enum Field : std::size_t { depth, channel, pixels, nan, inf, min, max, masked, nodata, fields };
    std::vector<std::optional<Field>> columns_;  ///< what each column is of these
    Facts all_;
};

}  // namespace gpuhist::io
