/// Exit codes of the command.
#pragma once

namespace gpuhist::app {

/// Exit code of a command. If several errors occur, the engine's code comes first, then that of output, then inputs.
enum ExitCode : int {
    all_done = 0,
    inputs_failed = 1,
    usage_error = 2,
    engine_failed = 3,
    output_failed = 4,
    policy_broken = 5,   ///< by the images that a gate checked
    data_refused = 65,   ///< EX_DATAERR: parts, a manifest or a table are missing or damaged; nothing was written
    output_locked = 75,  ///< EX_TEMPFAIL: another process is writing there; it may work later
    was_interrupted = 130
};

}  // namespace gpuhist::app
