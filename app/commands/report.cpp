#include "commands/report.hpp"

#include <optional>

#include "cli/console.hpp"
#include "commands/output_failure.hpp"
#include "commands/report_page.hpp"
#include "commands/results_there.hpp"
#include "gpuhist/io/encode.hpp"
#include "run/exit_code.hpp"
#include "run/options.hpp"
#include "run/output_directory.hpp"
#include "run/pipeline.hpp"
#include "run/written.hpp"

namespace gpuhist::app {
namespace {

/// Beginning of each page, by which one is known.
constexpr const char* beginning = "<!doctype html>\n<!-- gpuhist report -->\n";

void check_place(const std::filesystem::path& path, bool force, Console& console) {
    output([&] { OutputDirectory(".", force, console).reserve_elsewhere(path, {beginning}); });
}

void write_page(const ReportOptions& options, Console& console) {
    check_place(options.output, options.force, console);
    const ResultsThere results(options.directories.front());
    std::optional<ResultsThere> earlier;
    if (!options.against.empty()) earlier.emplace(options.against);
    const std::string html = io::page_html(page_of(results, earlier ? &*earlier : nullptr, options.title));
    output([&] {
        make_directories(options.output.parent_path());
        io::write_file(options.output, html);
    });
    if (options.notes) console.print(written_text({}, {}, {}, {options.output}));
}

}  // namespace

int report(const ReportOptions& options) {
    Console console(!options.notes);
    return exit_code_of(console, [&] {
        write_page(options, console);
        return static_cast<int>(console.failed() ? output_failed : all_done);
    });
}

int run_and_report(const Options& options) {
    if (options.report.empty() || options.dry_run) return run(options);
    Console console(options.quiet);
    ReportOptions page;
    page.directories = {options.output.string()};
    page.output = options.report;
    page.force = options.force;
    page.notes = options.format == "table";
    const int refused = exit_code_of(console, [&] {
        check_place(page.output, page.force, console);
        return static_cast<int>(all_done);
    });
    if (refused != all_done) return refused;
    const int code = run(options);
    if (code != all_done && code != inputs_failed) return code;
    const int reported = report(page);
    return reported == all_done ? code : reported;
}

}  // namespace gpuhist::app
