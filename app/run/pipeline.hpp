/// What the command does once its options are known.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "cli/table.hpp"
#include "commands/columns.hpp"
#include "commands/merge.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/io/image_file.hpp"
#include "gpuhist/normalize.hpp"
#include "gpuhist/statistics.hpp"
#include "run/engine_pool.hpp"
#include "run/inputs.hpp"
#include "run/stages.hpp"

namespace gpuhist::app {

/// The exit codes of the command. Where several things went wrong the engine comes before output, output before inputs.
enum ExitCode : int {
    all_done = 0,
    inputs_failed = 1,
    usage_error = 2,
    engine_failed = 3,
    output_failed = 4,
    was_interrupted = 130
};

/// Which files are written.
struct Writes {
    bool stats = false, histogram = false, plot = false, normalized = false;
    bool any() const { return stats || histogram || plot || normalized; }
};

/// A part of the inputs: those whose index is `part` − 1 modulo `parts`.
struct Shard {
    std::uint64_t part = 1, parts = 1;

    bool has(std::uint64_t index) const { return index % parts == part - 1; }
    /// How many of the first `inputs` are its own.
    std::uint64_t own(std::uint64_t inputs) const { return (inputs + parts - part) / parts; }
};

enum class Command { run, devices, columns, merge };

struct Options {
    Command command = Command::run;
    ColumnsOptions columns;
    MergeOptions merge;
    InputOptions inputs;
    std::filesystem::path output = "gpuhist-out";
    std::optional<Writes> write;  ///< absent: everything of a file, only stats of what a directory or list holds
    bool group_by_directory = false;
    Normalization normalization;
    bool normalize = false;             ///< was asked for by more than --write: of what a directory or list holds too
    bool linked = false;                ///< all images are normalised by one table, that of the whole set
    std::filesystem::path tables_from;  ///< or by those of this file, if it has a name
    std::filesystem::path tables_to;    ///< where the tables of the whole set are kept, if it has a name
    Percentiles percentiles;            ///< that have a column
    HistogramOptions histogram;
    bool log_counts = false;  ///< plots and the table's histogram on a logarithmic axis
    std::string engine = "auto";
    EngineOptions engine_options;
    io::DecodeOptions decode;
    std::string format = "table";  ///< of standard output: `none`, `table`, or one of io::make_sink
    bool table_of_each = false;    ///< of what a directory or list holds too, instead of one of the whole set
    TableStyle style;
    bool quiet = false;  ///< no remarks on standard error; errors are always said

    bool resume = false;
    std::optional<std::uint64_t> max_errors;  ///< stop once so many inputs have failed
    std::uint64_t memory = 0;                 ///< bytes for images in flight; 0: a quarter of what there is
    std::optional<Shard> shard;
    double checkpoint_seconds = 5;  ///< how much work an interruption may cost

    Writes writes_of(const Input& input) const {
        if (write) return *write;
        return input.from_directory ? Writes{true, false, false, normalize} : Writes{true, true, true, true};
    }
    bool table_of(const Input& input) const { return format == "table" && (table_of_each || !input.from_directory); }
};

/// What a run did, and where its time went.
struct RunSummary {
    std::uint64_t inputs = 0, images = 0;         ///< of the shard; those of a run that this one resumed included
    std::uint64_t measured_now = 0, pixels = 0;   ///< without these; pixels: width × height
    std::map<std::string, std::uint64_t> errors;  ///< by kind
    double seconds = 0;
    int threads = 1;
    StageTimes stages;
};

/// Measures the inputs. Prints results on standard output, and failures, each with its file and cause, on standard
/// error. Returns an ExitCode. `summary` receives what was done, where it is wanted; engines come from `make`.
int run(const Options& options, RunSummary* summary = nullptr, const EngineFactory& make = make_engine);

}  // namespace gpuhist::app
