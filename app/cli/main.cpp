/// The command `gpuhist`: options, then the run, then the exit code.
#include <fcntl.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "cli/options.hpp"
#include "commands/columns.hpp"
#include "commands/devices.hpp"
#include "commands/formats.hpp"
#include "commands/licenses.hpp"
#include "commands/merge.hpp"
#include "run/pipeline.hpp"

namespace {

int execute(const gpuhist::app::CommandLine& line) {
    using gpuhist::app::Command;
    switch (line.command) {
        case Command::run:
            return gpuhist::app::run(line.run);
        case Command::devices:
            return gpuhist::app::show_devices();
        case Command::columns:
            return gpuhist::app::show_columns(line.columns);
        case Command::formats:
            return gpuhist::app::show_formats(line.formats);
        case Command::merge:
            return gpuhist::app::merge(line.merge);
        case Command::licenses:
            return gpuhist::app::show_licenses();
        case Command::completion:
        case Command::manual:
            break;  // the parser has printed them
    }
    return gpuhist::app::usage_error;
}

}  // namespace

int main(int argc, char** argv) {
    // A standard stream that is closed leaves its number to the next file opened, which would then receive our text.
    for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (fcntl(stream, F_GETFD) == -1) static_cast<void>(open("/dev/null", O_RDONLY));
    std::signal(SIGPIPE, SIG_IGN);  // `gpuhist … | head` ends the printing, not the work
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like a full disk
    std::setlocale(LC_CTYPE, "");
    int code = gpuhist::app::inputs_failed;
    try {
        gpuhist::app::CommandLine line;
        if (const auto parsed = gpuhist::app::parse_command_line(argc, argv, line))
            code = *parsed;
        else
            code = execute(line);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gpuhist: %s\n", error.what());
    }
    // All files are written. Unloading the libraries behind OpenCV in an orderly way would take time, and to
    // flush all streams would wait for one that a thread is reading a list from.
    std::fflush(stdout);
    std::fflush(stderr);
    std::_Exit(code);
}
