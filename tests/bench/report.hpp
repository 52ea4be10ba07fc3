// What every benchmark reports with: options, the machine's name, and measurements as a table and as CSV. plot.py draws
// the CSV.
//
//     Report report("gpuhist on the GPU", options, options.gpu);      // prints the machine
//     report.set_ceiling("sweep", 4450);                              // GB/s; the first one is 100 %
//     report.add({"K1", "u8 gray", "random", "gpuhist", bytes, timing, at_least_of_ceiling(0.97)});
//     report.skip({"K1", "u8 gray", "random", "NPP", "the toolkit has no NPP"});
//     report.finish();                                                // counts targets; the file's errors
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench.hpp"

namespace gpuhist::bench {

/// What the commands have in common.
struct ReportOptions {
    std::string csv;    ///< file for the table, or empty
    std::string image;  ///< the user's own picture, or empty
    std::string only;   ///< measure only cases whose group and name have this in them
    int repetitions = 15;
    int gpu = 0;
    int pause_ms = 20;                           ///< the GPU rests before each timing
    std::int64_t bytes = std::int64_t{1} << 30;  ///< pixels of a large image

    /// A case is wanted where `only` is found in "K1 u8 gray", say.
    bool wants(const std::string& group, const std::string& name) const {
        return (group + " " + name).find(only) != std::string::npos;
    }
};
void bind_report_options(CLI::App& command, ReportOptions& options);  ///< --csv --image --only --repetitions
void bind_gpu_options(CLI::App& command, ReportOptions& options);     ///< --gpu --bytes --pause

/// What a measurement must reach.
struct Target {
    enum class Of { ceiling, relative, microseconds } of = Of::ceiling;
    double value = 0;
    bool at_most = false;
};
inline Target at_least_of_ceiling(double fraction) {
    return {Target::Of::ceiling, fraction, false};
}
inline Target at_most_relative(double value) {
    return {Target::Of::relative, value, true};
}
inline Target at_least_relative(double value) {
    return {Target::Of::relative, value, false};
}
inline Target at_most_microseconds(double value) {
    return {Target::Of::microseconds, value, true};
}

/// A figure against another of the same run: {1.21, "x copy's time"}.
struct Relative {
    double value = 0;
    std::string to;
};

/// One tool at one case. Measurements of one group and name stand together, then those of one content.
struct Measurement {
    std::string group;    ///< "K1"
    std::string name;     ///< "u8 gray, all statistics"
    std::string content;  ///< "random"; may be empty
    std::string tool;     ///< "gpuhist"
    double bytes = 0;     ///< moved by one run; 0 where only the time matters
    Timing timing;
    std::optional<Target> target;
    std::optional<Relative> relative;  ///< shown instead of the fraction of the ceiling
    std::string note;

    double gb_per_s() const { return bytes / timing.median_ms * 1e-6; }
};

struct Skipped {
    std::string group, name, content, tool, reason;
};

/// Prints a row for each measurement as it comes, and writes it to the CSV file. Every function throws where it cannot
/// write.
class Report {
  public:
    /// Prints the machine. `gpu` < 0: none is used. Throws where this build is none to measure with.
    Report(const std::string& title, const ReportOptions& options, int gpu = -1);
    ~Report();
    Report(const Report&) = delete;
    Report& operator=(const Report&) = delete;

    /// A rate that nothing can pass, GB/s. Shares are of the first one.
    void set_ceiling(const std::string& name, double gb_per_s);
    /// The first ceiling, GB/s; 0 before there is one.
    double ceiling() const { return ceilings_.empty() ? 0 : ceilings_.front().second; }

    void add(const Measurement& measurement);
    void skip(const Skipped& skipped);
    /// A line of text between the rows.
    void say(const std::string& line);
    /// Makes sure that all is written. Prints how many targets were met.
    void finish();

  private:
    void heading(const std::string& group, const std::string& name);
    void row(const std::string& content, const std::string& tool, const std::string& rest);

    ReportOptions options_;
    std::vector<std::pair<std::string, std::string>> machine_;
    std::vector<std::pair<std::string, double>> ceilings_;
    std::string last_heading_, last_content_;
    bool header_printed_ = false;
    int targets_ = 0, met_ = 0;
    std::ofstream csv_;
};

/// Lines of name and value: processor, threads, GPU, driver, CUDA, compiler, OpenCV, date. `gpu` < 0: none.
std::vector<std::pair<std::string, std::string>> machine(int gpu = -1);
/// Lines of `machine` as text.
std::string machine_text(int gpu = -1);

/// Throws unless the program was compiled with optimization and without assertions.
void require_release();

}  // namespace gpuhist::bench
