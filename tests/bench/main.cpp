// gpuhist-bench: measures gpuhist against what else does the same work.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <opencv2/core/utility.hpp>
#include <opencv2/core/version.hpp>
#include <string>
#include <thread>

#include "bench.hpp"

namespace gpuhist::bench {

std::string machine() {
    std::string processor = "unknown";
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.rfind("model name", 0) == 0) {
            processor = line.substr(line.find(':') + 2);
            break;
        }
    char date[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
    std::string compiler = __VERSION__;
#ifndef __clang__
    compiler = "GCC " + compiler;
#endif
    return "processor  " + processor + "\nthreads    " + std::to_string(std::thread::hardware_concurrency()) +
           "\ncompiler   " + compiler + "\nOpenCV     " CV_VERSION "\ndate       " + date + "\n";
}

}  // namespace gpuhist::bench

int main(int argc, char** argv) {
    CLI::App app{"Measures gpuhist against what else does the same work.", "gpuhist-bench"};
    app.require_subcommand(1);
    gpuhist::bench::add_cpu(app);
    gpuhist::bench::add_startup(app);
#ifdef GPUHIST_HAS_CUDA
    gpuhist::bench::add_kernels(app);
#endif
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gpuhist-bench: %s\n", error.what());
        return 1;
    }
}
