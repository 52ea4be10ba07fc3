/// Sinks of a run: which tables of results go where, in which format. Only these know.
#pragma once

#include <memory>
#include <string>

#include "gpuhist/io/sink.hpp"

namespace gpuhist::app {

struct Options;

/// Formatted records, for each sink that takes these.
struct Formatted {
    std::string rows, regions, printed;
    Formatted& operator+=(const Formatted& next);
};

/// Sinks that take the results; null where nobody wants them.
struct Sinks {
    std::unique_ptr<io::Sink> rows;     ///< of stats.csv, or of all tables in a shard's rows file
    std::unique_ptr<io::Sink> regions;  ///< of regions.csv
    std::unique_ptr<io::Sink> errors;   ///< of errors.csv
    std::unique_ptr<io::Sink> printed;  ///< of standard output

    /// Formats an image, or a region of one. Safe to call from several threads.
    Formatted format(const io::Record& record) const;
};

/// Sinks that a run needs. Throws InvalidArgument for a format that is not known.
Sinks make_sinks(const Options& options);

}  // namespace gpuhist::app
