/// `gpuhist licenses`: whose work the program is made of, and on what terms.
#pragma once

namespace gpuhist::app {

/// Prints the licenses of gpuhist and of what is compiled into it, in full, and the names of those of the libraries
/// that it loads. Returns an ExitCode.
int show_licenses();

}  // namespace gpuhist::app
