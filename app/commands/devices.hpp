/// `gpuhist devices`: what can measure here.
#pragma once

namespace gpuhist::app {

/// Prints the engines, the GPUs, and which engine `auto` takes and why. Returns an ExitCode.
int show_devices();

}  // namespace gpuhist::app
