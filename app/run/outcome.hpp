/// Outcome of an input, on its way from the thread that measures it to the one that records it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/io/groups.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/regions.hpp"
#include "run/inputs.hpp"
#include "run/region_rows.hpp"
#include "run/sinks.hpp"

namespace gpuhist::app {

struct Failure {
    std::string kind;     ///< a word: missing, permission, truncated, …
    std::string message;  ///< begins with the path
};

/// Word for output that another process is writing: no failure of an input.
inline constexpr const char* locked = "locked";

/// The failure that an error is.
Failure failure_of(const IoError& error);
/// The exception being handled, as the failure of an input of that path.
Failure current_failure(const std::string& path);

/// Remark about an input that was measured.
struct Remark {
    std::string subject;  ///< remarks of one subject are said once in a run over many inputs
    std::string text;     ///< what follows the path
};

/// Whose the names of an input's files are: its own, or those of the same file before it, or of another.
enum class Names { own, same_file, taken };

/// Outcome of an input.
struct Outcome {
    Input input;
    Names names = Names::own;
    std::optional<Stamp> first_stamp;  ///< in the second pass: that of the first
    std::vector<std::string> gone;     ///< and inputs of the first that the second does not find before this one
    bool left_out = false;             ///< another shard's, or nothing is to be done for it in this pass
    std::optional<Failure> failure;    ///< why it could not be measured; then only this is set
    /// Reason why the run cannot continue: the results of this input and of all later ones are dropped.
    std::optional<Failure> end;
    bool engine_ended = false;  ///< it is the engine, rather than a full disk
    bool interrupted = false;   ///< the run was told to end while this input was read: as with `end`
    bool ends_run() const { return end.has_value() || interrupted; }

    std::uint64_t pixels = 0;
    std::uint64_t excluded_by_file = 0;  ///< samples that are nodata or masked because the file says so
    std::string engine;                  ///< that measured it, for the summary of the run: no result may depend on it
    io::ImageResult result;
    Analysis analysis;                   ///< where analyses are kept
    std::vector<FrequencyTable> values;  ///< f32: with it, where values are
    std::vector<Region> labeled;         ///< with it: the regions of its label image
    Formatted formatted;                 ///< the result
    RegionRows regions;                  ///< and behind it its regions
    std::string table;                   ///< of the result, for standard output
    std::vector<std::string> files;      ///< written about it in this pass, by what their names end in
    std::vector<Failure> not_written;    ///< files that could not be
    std::vector<Remark> remarks;
    void add(std::vector<Remark> more) { std::move(more.begin(), more.end(), std::back_inserter(remarks)); }
    /// Sums of this image and of those before it in its batch that have none, where they are wanted. Images after a
    /// failure are apart, so that a run can end there.
    std::vector<io::Group> summaries;
    std::vector<std::pair<std::string, io::StoredSummary>> stored;  ///< of groups, with those in `summaries`
};

/// Inputs that follow each other, which one thread takes at once.
using Batch = std::vector<Outcome>;

}  // namespace gpuhist::app
