/// Failures of what a command writes, which have an exit code of their own.
#pragma once

#include "cli/console.hpp"
#include "gpuhist/error.hpp"
#include "run/exit_code.hpp"

namespace gpuhist::app {

/// Failure of the output, not of the inputs.
class OutputFailure : public Error {
    using Error::Error;
};

/// End of a command because a run over its inputs ended, which said why.
class RunEnded : public Error {
  public:
    explicit RunEnded(int code) : Error("the images could not be measured"), code_(code) {}
    int code() const { return code_; }

  private:
    int code_;
};

/// Runs a writer. What it throws is a failure of the output.
template <class Writer>
void output(const Writer& writer) {
    try {
        writer();
    } catch (const IoError& error) {  // of inputs that are read on the way
        if (error.kind() == IoError::Kind::damaged || error.kind() == IoError::Kind::truncated) throw;
        throw OutputFailure(error.what());
    } catch (const std::exception& error) {
        throw OutputFailure(error.what());
    }
}

/// Runs a command, and says on standard error what fails. Returns the command's ExitCode, or that of the failure, which
/// is `refused` if what the command reads has failed.
template <class Command>
int exit_code_of(Console& console, const Command& command, ExitCode refused = data_refused) {
    try {
        return command();
    } catch (const RunEnded& end) {
        return end.code();
    } catch (const OutputFailure& error) {
        console.say(error.what());
        return output_failed;
    } catch (const std::exception& error) {
        console.say(error.what());
        return refused;
    }
}

}  // namespace gpuhist::app
