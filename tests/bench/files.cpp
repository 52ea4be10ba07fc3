// Single files from start to end, each in a process: gpuhist against libvips. The time is that of all processors, of
// user and system, which other work on the machine disturbs least.
#include "bench/files.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <opencv2/core.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/pictures.hpp"
#include "bench/programs.hpp"
#include "support/codecs.hpp"
#include "support/temporary_directory.hpp"

namespace gpuhist::bench {
namespace {

/// File to measure. libvips makes it from another one, unless that is the file.
struct File {
    std::string name, path, from, made_as;  ///< `made_as`: options behind the path
    double target;                          ///< by the time of libvips, at most
};

Ended run_well(const std::vector<std::string>& words) {
    const Ended ended = run_program(words);
    if (ended.exit_code != 0)
        throw std::runtime_error(words[0] + ": failed (exit code " + std::to_string(ended.exit_code) + ")");
    return ended;
}

}  // namespace

void run_files(Report& report, const cv::Mat& photograph, const ReportOptions& options) {
    const std::string group = "F1", case_name = "12 MP BGR, a process, CPU time";
    const test::TemporaryDirectory directory;
    const auto at = [&](const char* name) { return (directory.path() / name).string(); };
    const std::string floats = at("floats.tiff"), words = at("words.png");
    const std::vector<File> files{{"f32 TIFF", at("f32.tiff"), floats, "[compression=none]", 1.4},
                                  {"u16 PNG", words, words, "", 1},
                                  {"u16 deflate", at("deflate.tiff"), words, "[compression=deflate]", 1},
                                  {"u16 LZW", at("lzw.tiff"), words, "[compression=lzw]", 1}};
    if (std::none_of(files.begin(), files.end(),
                     [&](const File& file) { return options.wants(group, case_name + " " + file.name); }))
        return;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "gpuhist";
    if (!std::filesystem::exists(program))
        return report.skip({group, case_name, "", "gpuhist", "not beside this program"});
    try {
        run_well({"vips", "--version"});
    } catch (const std::exception&) {
        return report.skip({group, case_name, "", "vips stats", "not installed (Debian: libvips-tools)"});
    }
    const cv::Mat image = tiled(photograph, {4000, 3000});
    test::write_picture(floats, with_depth(image, CV_32F));
    test::write_picture(words, with_depth(image, CV_16U));
    for (const File& file : files) {
        if (!options.wants(group, case_name + " " + file.name)) continue;
        if (file.path != file.from) run_well({"vips", "copy", file.from, file.path + file.made_as});
        const std::vector<std::string> own{program, "-q", "--engine", "cpu", "--write", "none", file.path},
            other{"vips", "stats", file.path, at("stats.v")};
        std::vector<double> own_ms, other_ms;
        run_well(own);
        for (int i = 0; i < options.repetitions; ++i) {
            own_ms.push_back(run_well(own).cpu_ms);
            other_ms.push_back(run_well(other).cpu_ms);
        }
        const Timing ours = timing_of(own_ms), theirs = timing_of(other_ms);
        report.add({group, case_name, file.name, "gpuhist", 0, ours, at_most_relative(file.target),
                    Relative{ours.median_ms / theirs.median_ms, "x vips stats"}, ""});
        report.add({group, case_name, file.name, "vips stats", 0, theirs, {}, {}, ""});
    }
}

}  // namespace gpuhist::bench
