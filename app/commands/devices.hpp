/// `gpuhist devices`: the engines and GPUs of this machine.
#pragma once

namespace gpuhist::app {

/// Prints the engines, the GPUs, and the rule by which `auto` takes one. Returns an ExitCode.
int show_devices();

}  // namespace gpuhist::app
