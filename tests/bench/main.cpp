// gpuhist-bench: measures gpuhist against what else does the same work.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "bench/bench.hpp"

namespace {

/// A command that this build lacks: the reason is better than a word that is not understood.
[[maybe_unused]] void add_missing(CLI::App& app, const char* name) {
    app.add_subcommand(name, "(not in this build, which has no CUDA engine)")->prefix_command()->callback([name] {
        throw std::runtime_error(std::string(name) + " needs a build with the CUDA engine");
    });
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Measures gpuhist against what else does the same work.", "gpuhist-bench"};
    app.require_subcommand(1);
#ifdef GPUHIST_HAS_CUDA
    gpuhist::bench::add_kernels(app);
    gpuhist::bench::add_jpeg(app);
    gpuhist::bench::add_ladder(app);
    gpuhist::bench::add_seeds(app);
#else
    add_missing(app, "kernels");
    add_missing(app, "jpeg");
    add_missing(app, "ladder");
    add_missing(app, "seeds");
#endif
    gpuhist::bench::add_cpu(app);
    gpuhist::bench::add_regions(app);
    gpuhist::bench::add_startup(app);
    gpuhist::bench::add_pipeline(app);
    gpuhist::bench::add_auto(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gpuhist-bench: %s\n", error.what());
        return 1;
    }
}
