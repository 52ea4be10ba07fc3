/// `gpuhist licenses`: the authors and licenses of all parts of the program.
#pragma once

namespace gpuhist::app {

/// Prints the full licenses of gpuhist and of the code compiled into it, and the names of the licenses of the libraries
/// that it loads. Returns an ExitCode.
int show_licenses();

}  // namespace gpuhist::app
