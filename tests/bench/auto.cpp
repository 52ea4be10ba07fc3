// A1: whole runs of `--engine auto`, from start to end, against the better of the two engines.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <opencv2/core.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench.hpp"
#include "bench/pictures.hpp"
#include "bench/programs.hpp"
#include "bench/report.hpp"
#include "support/codecs.hpp"
#include "support/temporary_directory.hpp"

namespace gpuhist::bench {
namespace {

namespace fs = std::filesystem;
using test::write_picture;

struct Options {
    std::string program, csv, only;
    int repetitions = 7, threads = 0;
};

/// Inputs, and how they are made below a directory of their own. Each is wanted no slower under `auto` than under the
/// better engine, by more than a tenth or 5 ms.
struct Case {
    const char* name;
    std::function<void(const fs::path& directory)> make;
};

cv::Mat photograph(int width, int height) {
    return tiled(natural_picture("").pixels, {width, height});
}

/// A file under many names.
void repeat(const fs::path& first, int count) {
    for (int i = 1; i < count; ++i)
        fs::create_hard_link(first, first.parent_path() / (std::to_string(100000 + i) + first.extension().string()));
}

void write_many(const fs::path& directory, const char* extension, int count, const cv::Mat& image) {
    const fs::path first = directory / (std::string("100000") + extension);
    write_picture(first, image);
    repeat(first, count);
}

std::vector<Case> cases() {
    return {
        {"a PNG of 16 x 16", [](const fs::path& directory) { write_picture(directory / "x.png", photograph(16, 16)); }},
        {"a JPEG of 12 MP",
         [](const fs::path& directory) { write_picture(directory / "x.jpg", photograph(4000, 3000)); }},
        {"100 JPEGs of 640 x 480",
         [](const fs::path& directory) { write_many(directory, ".jpg", 100, photograph(640, 480)); }},
        {"a BMP of 480 MB",
         [](const fs::path& directory) { write_picture(directory / "x.bmp", photograph(16000, 10000)); }},
        {"10,000 JPEGs of 640 x 480",
         [](const fs::path& directory) { write_many(directory, ".jpg", 10000, photograph(640, 480)); }},
        // What follows is work for a GPU, the more the fewer the processors.
        {"300 JPEGs of 12 MP",
         [](const fs::path& directory) { write_many(directory, ".jpg", 300, photograph(4000, 3000)); }},
        {"400 BMPs of 12 MP",
         [](const fs::path& directory) { write_many(directory, ".bmp", 400, photograph(4000, 3000)); }},
        {"60 PFMs of 12 MP",
         [](const fs::path& directory) {
             write_many(directory, ".pfm", 60, with_depth(photograph(4000, 3000), CV_32F));
         }},
        {"300 PFMs of 12 MP", [](const fs::path& directory) {
             write_many(directory, ".pfm", 300, with_depth(photograph(4000, 3000), CV_32F));
         }}};
}

/// The summary's words on which engine did how many, or nothing.
std::string engines_of(const fs::path& errors) {
    std::ifstream file(errors);
    for (std::string line; std::getline(file, line);)
        if (const auto end = line.find("; the limit: "); end != line.npos) {
            const auto begin = line.rfind("; ", end - 1);
            return line.substr(begin + 2, end - begin - 2);
        }
    return {};
}

void run(const Options& options) {
    require_release();
    const fs::path program = options.program.empty() ? fs::read_symlink("/proc/self/exe").parent_path() / "gpuhist"
                                                     : fs::absolute(options.program);
    std::ofstream csv;
    if (!options.csv.empty()) {
        csv.open(options.csv);
        csv << "case,cpu_ms,cuda_ms,auto_ms,auto_of_better,auto_more_ms,meets,auto_did\n";
    }
    std::printf("%s\n%-30s %10s %10s %10s %8s %9s\n", machine_text(0).c_str(), "", "cpu", "cuda", "auto", "of best",
                "more");
    for (const Case& one : cases()) {
        if (std::string(one.name).find(options.only) == std::string::npos) continue;
        const test::TemporaryDirectory temporary;
        const fs::path inputs = temporary.path() / "images", errors = temporary.path() / "errors";
        fs::create_directory(inputs);
        one.make(inputs);
        const bool alone = std::distance(fs::directory_iterator(inputs), {}) == 1;
        const auto measure = [&](const char* engine) {
            std::vector<std::string> words{program, "--engine", engine, "--write", "none", "--format", "csv"};
            if (options.threads > 0) words.insert(words.end(), {"--threads", std::to_string(options.threads)});
            words.push_back(alone ? fs::directory_iterator(inputs)->path() : inputs);
            return milliseconds([&] {
                if (const int code = exit_code(words, "/dev/null", errors); code != 0)
                    throw std::runtime_error(std::string("--engine ") + engine + ": exit code " + std::to_string(code));
            });
        };
        constexpr std::array<const char*, 3> engines{"cpu", "cuda", "auto"};
        std::array<std::vector<double>, 3> times;
        std::string did;
        for (int i = -1; i < options.repetitions; ++i)  // once untimed, then in turns
            for (std::size_t engine = 0; engine < engines.size(); ++engine) {
                const double time = measure(engines[engine]);
                if (i >= 0) times[engine].push_back(time);
                if (engine == 2) did = engines_of(errors);
            }
        std::array<double, 3> median;
        for (std::size_t engine = 0; engine < engines.size(); ++engine)
            median[engine] = timing_of(times[engine]).median_ms;
        const double better = std::min(median[0], median[1]), more = median[2] - better, ratio = median[2] / better;
        const bool meets = ratio <= 1.1 || more <= 5;
        std::printf("%-30s %7.1f ms %7.1f ms %7.1f ms %8.3f %6.1f ms  %s  %s\n", one.name, median[0], median[1],
                    median[2], ratio, more, meets ? "met   " : "MISSED", did.c_str());
        std::fflush(stdout);
        csv << '"' << one.name << "\"," << median[0] << ',' << median[1] << ',' << median[2] << ',' << ratio << ','
            << more << ',' << (meets ? "yes" : "no") << ",\"" << did << "\"\n";
    }
    csv.flush();
    if (!options.csv.empty() && !csv) throw std::runtime_error(options.csv + ": cannot be written");
}

}  // namespace

void add_auto(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command =
        app.add_subcommand("auto", "Runs under --engine auto against cpu and cuda, from start to end: A1");
    command->add_option("--program", options->program, "gpuhist [the one beside this program]")
        ->check(CLI::ExistingFile);
    command->add_option("--only", options->only, "Only cases that have this in their names");
    command->add_option("--threads", options->threads, "CPU threads [all]")->check(CLI::PositiveNumber);
    command->add_option("--repetitions", options->repetitions, "Runs of each, taken in turns; the median counts")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    command->add_option("--csv", options->csv, "Write the table to this file");
    command->callback([options] { run(*options); });
}

}  // namespace gpuhist::bench
