#include "run/near_gpu.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "run/engine_pool.hpp"

namespace gpuhist::app {
namespace {

/// Numbers of a list of the kernel, such as 0-15,32-47. Empty if it is damaged.
std::vector<int> numbers_in(const std::string& list) {
    std::vector<int> numbers;
    std::istringstream ranges(list);
    for (std::string range; std::getline(ranges, range, ',');) {
        int first = 0, last = 0;
        const int read = std::sscanf(range.c_str(), "%d-%d", &first, &last);
        if (read == 1) last = first;
        if (read < 1 || first < 0 || last < first || last >= CPU_SETSIZE) return {};
        for (int number = first; number <= last; ++number) numbers.push_back(number);
    }
    return numbers;
}

struct Place {
    int gpu = any_gpu;
    std::optional<cpu_set_t> before;  ///< where the thread could run
};
thread_local Place place;

}  // namespace

std::vector<NearProcessors> near_processors(const std::vector<GpuInfo>& gpus, const std::filesystem::path& devices) {
    std::vector<NearProcessors> near;
    for (const GpuInfo& gpu : gpus) {
        std::string list;
        std::ifstream file(devices / gpu.pci_address / "local_cpulist");
        std::getline(file, list);
        near.push_back({gpu.index, numbers_in(list)});
        if (near.back().processors.empty()) return {};
    }
    const bool same = std::all_of(near.begin(), near.end(),
                                  [&](const NearProcessors& one) { return one.processors == near.front().processors; });
    return same ? std::vector<NearProcessors>() : near;
}

std::vector<NearProcessors> near_processors(const std::vector<int>& numbers) {
    if (numbers.size() < 2) return {};
    std::vector<GpuInfo> used = gpus();
    std::erase_if(used, [&](const GpuInfo& gpu) {
        return std::find(numbers.begin(), numbers.end(), gpu.index) == numbers.end();
    });
    return near_processors(used, "/sys/bus/pci/devices");
}

int near_gpu() {
    return place.gpu;
}

void ThreadsNearGpus::on_scheduler_entry(bool) {
    const NearProcessors& near = gpus_[next_++ % gpus_.size()];
    cpu_set_t allowed, wanted;
    CPU_ZERO(&wanted);
    if (place.before || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    for (const int processor : near.processors)
        if (CPU_ISSET(processor, &allowed)) CPU_SET(processor, &wanted);
    if (CPU_COUNT(&wanted) == 0 || sched_setaffinity(0, sizeof wanted, &wanted) != 0) return;
    place = {near.gpu, allowed};
}

void ThreadsNearGpus::on_scheduler_exit(bool) {
    if (place.before) (void)sched_setaffinity(0, sizeof *place.before, &*place.before);
    place = {};
}

}  // namespace gpuhist::app
