/// Comparisons in files: rows of comparison.csv, and the picture of two sets.
#pragma once

#include <string_view>
#include <vector>

#include "gpuhist/compare.hpp"
#include "gpuhist/io/plot.hpp"
#include "gpuhist/io/sink.hpp"

namespace gpuhist::io {

/// Names of what is compared, any bytes.
struct ComparedNames {
    std::string_view a, b;
    std::string_view group{};  ///< empty: whole sets
};

/// Record of a comparison for the table `comparison`, with one row per channel. The arguments must outlive it.
Record record_of(const ComparedNames& names, const Comparison& found);

/// Picture of a comparison: a panel per channel, at most 16, with the shares of the samples of both sets in the same
/// bins, as two outlines over one axis. Channels without valid samples have none, nor has `all`.
Plot comparison_plot(const ComparedNames& names, const ComparedSet& a, const ComparedSet& b, const Comparison& found);

}  // namespace gpuhist::io
