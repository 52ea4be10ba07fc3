#include "commands/devices.hpp"

#include <string>
#include <vector>

#include "cli/console.hpp"
#include "gpuhist/engine.hpp"
#include "run/exit_code.hpp"

namespace gpuhist::app {

int show_devices() {
    std::string text = "engines\n";
    std::string choice = "none: no engine can run here";
    std::string passed_over;
    bool chosen = false;
    for (const EngineInfo& info : engines()) {
        text += "  " + info.name + std::string(info.name.size() < 6 ? 6 - info.name.size() : 1, ' ') +
                (info.available ? "available      " : "not available  ") + info.description + '\n';
        if (info.available && !chosen) {
            chosen = true;
            choice = info.name + (passed_over.empty() ? ", the fastest that is available"
                                                      : ", because " + passed_over + " is not available");
        }
        if (!info.available) passed_over += (passed_over.empty() ? "" : " and ") + info.name;
    }
    text += "GPUs\n";
    const std::vector<GpuInfo> devices = gpus();
    if (devices.empty()) text += "  none that the CUDA driver shows\n";
    for (const GpuInfo& gpu : devices)
        text += "  " + std::to_string(gpu.index) + "  " + gpu.name + ", compute capability " +
                std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor) + ", " +
                std::to_string(gpu.memory_bytes >> 20) + " MiB, " + std::to_string(gpu.multiprocessors) +
                " multiprocessors" + (gpu.cooperative_launch ? "" : ", no cooperative launch") + '\n';
    text += "auto takes " + choice + '\n';
    Console console(true);
    console.print(text);
    return console.failed() ? output_failed : all_done;
}

}  // namespace gpuhist::app
