/// Interruptions: Ctrl-C and its kin.
#pragma once

namespace gpuhist::app {

/// Notes the first SIGINT, SIGTERM or SIGHUP, from now on; the second ends the process as ever.
void watch_for_interruption();
/// Treats the end of the parent process, from now on, as a SIGTERM. Throws UsageError where it cannot be watched: the
/// system has no pidfd_open (Linux 5.3), or the parent is in another PID namespace.
void watch_parent();
/// Tells whether one was noted.
bool interrupted();

/// Thrown where work that may take for ever is given up because of one.
struct Interrupted {};
/// Throws Interrupted if one was noted.
void end_if_interrupted();

}  // namespace gpuhist::app
