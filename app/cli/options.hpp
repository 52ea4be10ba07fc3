/// The command line.
#pragma once

#include <optional>

#include "commands/check.hpp"
#include "commands/columns.hpp"
#include "commands/compare.hpp"
#include "commands/duplicates.hpp"
#include "commands/formats.hpp"
#include "commands/gate.hpp"
#include "commands/joint.hpp"
#include "commands/manifest.hpp"
#include "commands/merge.hpp"
#include "commands/report.hpp"
#include "commands/same.hpp"
#include "commands/stack.hpp"
#include "commands/verify.hpp"
#include "run/options.hpp"

namespace gpuhist::app {

enum class Command {
    run,
    devices,
    columns,
    formats,
    manifest,
    merge,
    duplicates,
    gate,
    compare,
    same,
    stack,
    joint,
    check,
    verify,
    report,
    licenses,
    completion,
    manual,
    help
};

/// A command and its options: those of the others are not looked at.
struct CommandLine {
    Command command = Command::run;
    Options run;
    ColumnsOptions columns;
    FormatsOptions formats;
    GateOptions gate;
    ManifestOptions manifest;
    MergeOptions merge;
    DuplicatesOptions duplicates;
    CompareOptions compare;
    SameOptions same;
    StackOptions stack;
    JointOptions joint;
    CheckOptions check;
    VerifyOptions verify;
    ReportOptions report;
};

/// Reads the command line, then variables (GPUHIST_*, NO_COLOR, TERM, the locale) and the configuration file, if one is
/// named. Returns the exit code if there is nothing to run: after it has printed a text about the command line, or a
/// usage error on standard error.
std::optional<int> parse_command_line(int argc, const char* const* argv, CommandLine& line);

}  // namespace gpuhist::app
