/// The command `gpuhist`: options, then the run, then the exit code.
#pragma once

namespace gpuhist::app {

/// Does what a command line says, and returns the exit code; what was printed is flushed. To be called once per
/// process: signals are then the run's, and standard streams that were closed are open.
int run_command(int argc, const char* const* argv);

}  // namespace gpuhist::app
