/// Exit codes of the command.
#pragma once

namespace gpuhist::app {

/// Exit code of a command. Where several things went wrong the engine comes before output, output before inputs.
enum ExitCode : int {
    all_done = 0,
    inputs_failed = 1,
    usage_error = 2,
    engine_failed = 3,
    output_failed = 4,
    output_locked = 75,  ///< EX_TEMPFAIL: another process is writing there, so that later is another matter
    was_interrupted = 130
};

}  // namespace gpuhist::app
