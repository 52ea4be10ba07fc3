/// Sinks of a run: which tables of results go where, in which format. Only these know.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpuhist/io/sink.hpp"

namespace gpuhist::app {

struct Options;

/// Formatted records, for each sink.
struct Formatted {
    std::vector<std::string> files;
    std::string printed;
    io::RowCounts rows;
    Formatted& operator+=(const Formatted& next);
};

/// Sink of a file whose rows grow while a run lasts: that of a table, or a shard's with all tables.
struct RowSink {
    std::string name;
    std::vector<TableTraits> tables;
    std::unique_ptr<io::Sink> sink;
};

/// Sinks that take the results.
struct Sinks {
    std::vector<RowSink> files;         ///< in the order in which they get their names
    std::unique_ptr<io::Sink> printed;  ///< of standard output; null where nobody wants it

    /// Formats a record. Safe to call from several threads.
    Formatted format(const io::Record& record) const;
};

/// Sinks that a run needs. Throws InvalidArgument for a format that is not known.
Sinks make_sinks(const Options& options);

}  // namespace gpuhist::app
