/// The report command: results as one page for a browser.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gpuhist::app {

struct Options;

struct ReportOptions {
    std::vector<std::string> directories;  ///< the one with results
    std::filesystem::path output = "report.html";
    std::string against;  ///< directory with earlier results, if it has a name
    std::string title;    ///< empty: the directory of the images
    bool force = false;
    bool notes = true;
};

/// Writes the page. Returns the program's exit code.
int report(const ReportOptions& options);

/// Measures, and then writes the page of the option --report, if there is one. Returns the program's exit code.
int run_and_report(const Options& options);

}  // namespace gpuhist::app
