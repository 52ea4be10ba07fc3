/// Ctrl-C and its kin.
#pragma once

namespace gpuhist::app {

/// From now on the first SIGINT, SIGTERM or SIGHUP is only noted; the second ends the process as ever.
void watch_for_interruption();
/// Whether there was one.
bool interrupted();

}  // namespace gpuhist::app
