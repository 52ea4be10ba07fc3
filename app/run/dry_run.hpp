/// A run that only lists its inputs.
#pragma once

#include "run/options.hpp"

namespace gpuhist::app {

/// Prints the inputs that a run would take, of a shard its own: each path on a line of standard output, or with a zero
/// byte behind it. Says on standard error what cannot be listed and, unless quiet, what is left out. Opens no input and
/// writes no file. Returns an ExitCode. Throws IoError where the list of paths cannot be opened.
int list_inputs(const Options& options);

}  // namespace gpuhist::app
