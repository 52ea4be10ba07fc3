#include "run/near_gpu.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
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

/// Where the calling thread was put, as long as whoever put it there exists.
struct Place {
    int gpu = any_gpu;
    std::weak_ptr<const int> while_exists{};
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
    return place.while_exists.expired() ? any_gpu : place.gpu;
}

ThreadsNearGpus::~ThreadsNearGpus() {
    observe(false);  // threads that are in the arena leave it later, without a word
    const std::lock_guard lock(mutex_);
    for (const Entered& one : entered_) (void)sched_setaffinity(one.thread, sizeof one.before, &one.before);
}

void ThreadsNearGpus::on_scheduler_entry(bool) {
    Entered own{gettid(), {}};
    if (near_gpu() != any_gpu || sched_getaffinity(0, sizeof own.before, &own.before) != 0) return;
    const std::lock_guard lock(mutex_);
    const NearProcessors& near = gpus_[next_++ % gpus_.size()];
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    for (const int processor : near.processors)
        if (CPU_ISSET(processor, &own.before)) CPU_SET(processor, &wanted);
    if (CPU_COUNT(&wanted) == 0 || sched_setaffinity(0, sizeof wanted, &wanted) != 0) return;
    entered_.push_back(own);
    place = {near.gpu, exists_};
}

void ThreadsNearGpus::on_scheduler_exit(bool) {
    const std::lock_guard lock(mutex_);
    const auto own = std::find_if(entered_.begin(), entered_.end(),
                                  [thread = gettid()](const Entered& one) { return one.thread == thread; });
    if (own == entered_.end()) return;
    (void)sched_setaffinity(0, sizeof own->before, &own->before);
    entered_.erase(own);
    place = {};
}

}  // namespace gpuhist::app
