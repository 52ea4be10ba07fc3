/// The pipeline that joins io and gpu: what the command does once its options are known.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/engine.hpp"
#include "gpuhist/io/image_file.hpp"
#include "gpuhist/normalization.hpp"
#include "gpuhist/statistics.hpp"
#include "merge.hpp"
#include "table.hpp"

namespace gpuhist::app {

/// The exit codes of the command. Where several things went wrong the engine comes before output, output before inputs.
enum ExitCode : int { all_done = 0, inputs_failed = 1, usage_error = 2, engine_failed = 3, output_failed = 4 };

/// What standard output gets.
enum class Format { none, table, csv, json };

/// Which files are written.
struct Writes {
    bool stats = false, histogram = false, plot = false, normalized = false;
    bool any() const { return stats || histogram || plot || normalized; }
};

enum class Command { run, devices, merge };

struct Options {
    Command command = Command::run;
    MergeOptions merge;
    std::vector<std::string> inputs;  ///< files, directories, `-`, as given
    std::filesystem::path output = "gpuhist-out";
    std::optional<Writes> write;  ///< absent: everything of a file, only stats of what a directory holds
    Normalization normalization;
    HistogramOptions histogram;
    bool log_counts = false;  ///< plots and the table's histogram on a logarithmic axis
    std::string engine = "auto";
    EngineOptions engine_options;
    io::DecodeOptions decode;
    Format format = Format::table;
    TableStyle style;
    bool notes = true;  ///< remarks on standard error; errors are always said
};

/// Measures the inputs. Prints results on standard output, and failures, each with its file and cause, on standard
/// error. Returns an ExitCode.
int run(const Options& options);

/// Prints the engines, the GPUs, and which engine `auto` takes and why. Returns an ExitCode.
int show_devices();

}  // namespace gpuhist::app
