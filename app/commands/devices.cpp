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
    text << "auto begins on the CPU, and measures a single image there. It adds the GPU once measuring takes\n"
         << terms.least_share * 100
         << " % or more of the time of all threads, and the waiting images would keep each of them busy for\n"
         << terms.least_seconds << " s. It returns to the CPU if the GPU is slower.\n";
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
    if (devices.empty()) text += "  none that the CUDA driver finds\n";
    for (const GpuInfo& gpu : devices)
        text += "  " + std::to_string(gpu.index) + "  " + gpu.name + ", compute capability " +
                std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor) + ", " +
                std::to_string(gpu.memory_bytes >> 20) + " MiB, " + std::to_string(gpu.multiprocessors) +
                " multiprocessors" + (gpu.cooperative_launch ? "" : ", no cooperative launch") + '\n';
    text += gpu_works ? rule(GpuTerms{}) : "auto uses the CPU, because cuda is not available\n";
    text += "decoders ('gpuhist formats' lists the formats)\n";
    for (const io::LibraryVersion& library : io::library_versions())
        text += "  " + library.name + std::string(15 - std::min<std::size_t>(14, library.name.size()), ' ') +
                library.version + '\n';
    Console console(true);
    console.print(text);
    return console.failed() ? output_failed : all_done;
}

}  // namespace gpuhist::app
