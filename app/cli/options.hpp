/// The command line.
#pragma once

#include <optional>

#include "commands/columns.hpp"
#include "commands/merge.hpp"
#include "run/options.hpp"

namespace gpuhist::app {

enum class Command { run, devices, columns, merge };

/// A command and its options: those of the others are not looked at.
struct CommandLine {
    Command command = Command::run;
    Options run;
    ColumnsOptions columns;
    MergeOptions merge;
};

/// Reads the command line and the environment (NO_COLOR, TERM, the locale). Returns the exit code where there is
/// nothing left to run: after --help and --version, which it prints, and after an error of usage, which it says on
/// standard error.
std::optional<int> parse_command_line(int argc, const char* const* argv, CommandLine& line);

}  // namespace gpuhist::app
