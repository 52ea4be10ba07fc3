#include "cli/command.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>
#include <utility>

#include "cli/console.hpp"
#include "cli/options.hpp"
#include "cli/table.hpp"
#include "commands/check.hpp"
#include "commands/columns.hpp"
#include "commands/compare.hpp"
#include "commands/devices.hpp"
#include "commands/duplicates.hpp"
#include "commands/formats.hpp"
#include "commands/gate.hpp"
#include "commands/joint.hpp"
#include "commands/licenses.hpp"
#include "commands/manifest.hpp"
#include "commands/merge.hpp"
#include "commands/report.hpp"
#include "commands/same.hpp"
#include "commands/stack.hpp"
#include "commands/verify.hpp"
#include "gpuhist/error.hpp"
#include "run/exit_code.hpp"
#include "run/pipeline.hpp"
#include "run/written.hpp"

namespace gpuhist::app {
namespace {

/// Comparison of gpuhist's own decoders with OpenCV's.
SameOptions decoders_of(const Options& options) {
    SameOptions same;
    same.trees.assign(2, options.inputs.arguments.front());
    same.output = options.output;
    same.format = options.format == "none" ? "table" : options.format;
    same.resume = options.resume;
    same.force = options.force;
    same.notes = !options.quiet;
    same.by_opencv = true;
    return same;
}

/// Runs, and then writes the tables as Parquet if that was asked for.
int run_with_parquet(const Options& options, const ParquetWriter& parquet) {
    Console console(options.quiet);
    if (options.dry_run || !options.write || !options.write->parquet) return run_and_report(options);
    if (!parquet) {
        console.say(
            "--write parquet: the Python package writes it, with pyarrow: pip install 'gpuhist[tables]', then "
            "python -m gpuhist, or gpuhist.to_parquet(RESULTS)");
        return usage_error;
    }
    const int code = run_and_report(options);
    std::error_code failed;
    if ((code != all_done && code != inputs_failed) || !std::filesystem::exists(options.output / "stats.csv", failed))
        return code;
    try {
        std::vector<std::string> names = parquet(options.output, options.force);
        if (options.format == "table") console.print(written_text(options.output, std::move(names)));
    } catch (const Error& error) {
        console.say(error.what());
        return output_failed;
    }
    return code;
}

int execute(const CommandLine& line, const ParquetWriter& parquet) {
    switch (line.command) {
        case Command::run:
            return line.run.compare_decoders ? compare_pixels(decoders_of(line.run))
                                             : run_with_parquet(line.run, parquet);
        case Command::devices:
            return show_devices();
        case Command::columns:
            return show_columns(line.columns);
        case Command::formats:
            return show_formats(line.formats);
        case Command::gate:
            return gate(line.gate);
        case Command::compare:
            return compare(line.compare);
        case Command::check:
            return check_constants(line.check);
        case Command::verify:
            return verify(line.verify);
        case Command::report:
            return report(line.report);
        case Command::same:
            return compare_pixels(line.same);
        case Command::stack:
            return stack(line.stack);
        case Command::joint:
            return joint(line.joint);
        case Command::manifest:
            return make_manifest(line.manifest);
        case Command::merge:
            return merge(line.merge);
        case Command::duplicates:
            return find_duplicates(line.duplicates);
        case Command::licenses:
            return show_licenses();
        case Command::completion:
        case Command::manual:
        case Command::help:
            break;  // the parser has printed them
    }
    return usage_error;
}

}  // namespace

int run_command(int argc, const char* const* argv, const ParquetWriter& parquet) {
    // A standard stream that is closed leaves its number to the next file opened, which would then receive our text.
    for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (fcntl(stream, F_GETFD) == -1) static_cast<void>(open("/dev/null", O_RDONLY));
    std::signal(SIGPIPE, SIG_IGN);  // `gpuhist … | head` ends the printing, not the work
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like a full disk
    std::setlocale(LC_CTYPE, "");
    int code = inputs_failed;
    try {
        CommandLine line;
        if (const auto parsed = parse_command_line(argc, argv, line))
            code = *parsed;
        else
            code = execute(line, parquet);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gpuhist: %s\n", printable(error.what()).c_str());
    }
    std::fflush(stdout);
    std::fflush(stderr);
    return code;
}

}  // namespace gpuhist::app
