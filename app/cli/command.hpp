/// The command `gpuhist`: options, then the run, then the exit code.
#pragma once

namespace gpuhist::app {

/// Executes a command line, flushes the output, and returns the exit code. Call it once per process: it installs signal
/// handlers and opens standard streams that were closed.
int run_command(int argc, const char* const* argv);

}  // namespace gpuhist::app
