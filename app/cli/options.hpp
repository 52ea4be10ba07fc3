/// The command line.
#pragma once

#include <optional>

#include "run/pipeline.hpp"

namespace gpuhist::app {

/// Reads the command line and the environment (NO_COLOR, TERM, the locale) into `options`. Returns the exit code where
/// there is nothing left to run: after --help and --version, which it prints, and after an error of usage, which it
/// says on standard error.
std::optional<int> parse_command_line(int argc, const char* const* argv, Options& options);

}  // namespace gpuhist::app
