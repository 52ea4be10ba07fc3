/// The command line.
#pragma once

#include <optional>

#include "commands/columns.hpp"
#include "commands/formats.hpp"
#include "commands/manifest.hpp"
#include "commands/merge.hpp"
#include "run/options.hpp"

namespace gpuhist::app {

enum class Command { run, devices, columns, formats, manifest, merge, licenses, completion, manual };

/// A command and its options: those of the others are not looked at.
struct CommandLine {
    Command command = Command::run;
    Options run;
    ColumnsOptions columns;
    FormatsOptions formats;
    ManifestOptions manifest;
    MergeOptions merge;
};

/// Reads the command line, then variables (GPUHIST_*, NO_COLOR, TERM, the locale) and the configuration file, if one is
/// named. Returns the exit code where there is nothing left to run: after texts about the command line, which it
/// prints, and after an error of usage, which it says on standard error.
std::optional<int> parse_command_line(int argc, const char* const* argv, CommandLine& line);

}  // namespace gpuhist::app
