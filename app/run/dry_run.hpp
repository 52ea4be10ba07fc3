/// A run that only lists its inputs.
#pragma once

#include "run/options.hpp"

namespace gpuhist::app {

/// Prints the inputs that a run or a shard would measure: one path per line of standard output, or each followed by a
/// zero byte. Names on standard error the directories that cannot be listed and, unless quiet, the entries that are
/// left out. Opens no input and writes no file. Returns an ExitCode. Throws IoError where the list of paths cannot be
/// opened.
int list_inputs(const Options& options);

}  // namespace gpuhist::app
