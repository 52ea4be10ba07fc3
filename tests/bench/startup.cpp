// What starting gpuhist costs: a tiny picture, against a program that only decodes it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <opencv2/core.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench.hpp"
#include "bench/programs.hpp"
#include "bench/report.hpp"
#include "support/codecs.hpp"
#include "support/temporary_directory.hpp"

namespace gpuhist::bench {
namespace {

namespace fs = std::filesystem;

struct Options {
    std::string program, reference, image;
    int repetitions = 50;
};

void execute(const std::vector<std::string>& words) {
    if (const int code = exit_code(words); code != 0)
        throw std::runtime_error(words[0] + ": failed (exit code " + std::to_string(code) + ")");
}

void run(const Options& options) {
    require_release();
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    const std::string program = options.program.empty() ? here / "gpuhist" : fs::path(options.program);
    const std::string reference =
        options.reference.empty() ? here / "gpuhist-bench-imread" : fs::path(options.reference);
    if (!fs::exists(reference))
        throw std::runtime_error(reference + " is not there: it is built where OpenCV's imgcodecs is installed");
    const test::TemporaryDirectory directory;
    std::string image = options.image;
    if (image.empty()) {
        image = directory.path() / "tiny.png";
        cv::Mat picture(16, 16, CV_8UC3);
        cv::theRNG().state = 1;
        cv::randu(picture, 0, 256);
        test::write_picture(image, picture);
    }
    std::printf("%s\n", machine_text().c_str());
    std::printf("%-34s %10s %10s %10s\n", "", "gpuhist", "imread", "more");
    const std::string output = directory.path() / "out";
    const std::vector<std::pair<const char*, std::vector<std::string>>> ways{
        {"no files (--write none)", {program, "--engine", "cpu", "--write", "none", image}},
        {"all files (plot and copy encoded)", {program, "--engine", "cpu", "-o", output, image}},
    };
    for (const auto& [name, words] : ways) {
        const Comparison found = compare(
            options.repetitions, [&, words = words] { execute(words); },
            [&] {
                execute({reference, image});
            });
        std::printf("%-34s %7.2f ms %7.2f ms %7.2f ms\n", name, found.ours.median_ms, found.other.median_ms,
                    found.ours.median_ms - found.other.median_ms);
    }
}

}  // namespace

void add_startup(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command =
        app.add_subcommand("startup", "A 16 x 16 PNG from start to end, against a program that only does cv::imread");
    command->add_option("--program", options->program, "gpuhist [the one beside this program]")
        ->check(CLI::ExistingFile);
    command->add_option("--reference", options->reference, "The other [gpuhist-bench-imread beside this program]")
        ->check(CLI::ExistingFile);
    command->add_option("--image", options->image, "Another picture")->check(CLI::ExistingFile);
    command->add_option("--repetitions", options->repetitions, "Runs of each, taken in turns")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    command->callback([options] { run(*options); });
}

}  // namespace gpuhist::bench
