#include "commands/devices.hpp"

#include <algorithm>
#include <sstream>
#include <string>

#include "cli/console.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/io/versions.hpp"
#include "run/engine_choice.hpp"
#include "run/exit_code.hpp"

namespace gpuhist::app {

namespace {

/// The rule by which `auto` chooses, where a GPU works.
std::string rule(const GpuTerms& terms) {
    std::ostringstream text;
    text << "auto begins on cpu, which does a single image alone. It starts cuda beside that once measuring, without\n"
            "reading and decoding, is "
         << terms.least_share * 100
         << " % of the work or more, and what waits would keep each thread busy with it for\n"
         << terms.least_seconds << " s; it goes back to cpu if cuda is slower.\n";
    return text.str();
}

}  // namespace

int show_devices() {
    std::string text = "engines\n";
    bool gpu_works = false;
    for (const EngineInfo& info : engines()) {
        gpu_works = gpu_works || (info.name == "cuda" && info.available);
        text += "  " + info.name + std::string(info.name.size() < 6 ? 6 - info.name.size() : 1, ' ') +
                (info.available ? "available      " : "not available  ") + info.description + '\n';
    }
    text += "GPUs\n";
    const auto devices = gpus();
    if (devices.empty()) text += "  none that the CUDA driver shows\n";
    for (const GpuInfo& gpu : devices)
        text += "  " + std::to_string(gpu.index) + "  " + gpu.name + ", compute capability " +
                std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor) + ", " +
                std::to_string(gpu.memory_bytes >> 20) + " MiB, " + std::to_string(gpu.multiprocessors) +
                " multiprocessors" + (gpu.cooperative_launch ? "" : ", no cooperative launch") + '\n';
    text += gpu_works ? rule(GpuTerms{}) : "auto takes cpu, because cuda is not available\n";
    text += "decoders, of the formats that 'gpuhist formats' lists\n";
    for (const io::LibraryVersion& library : io::library_versions())
        text += "  " + library.name + std::string(15 - std::min<std::size_t>(14, library.name.size()), ' ') +
                library.version + '\n';
    Console console(true);
    console.print(text);
    return console.failed() ? output_failed : all_done;
}

}  // namespace gpuhist::app
