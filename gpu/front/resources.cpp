#include "gpuhist/resources.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>

#include "front/control_groups.hpp"

namespace gpuhist {
namespace front {
namespace {

/// Calls read(folder) for a group and all groups above it. A container may not see the path of its group, but sees the
/// group itself at the top.
void for_each_group(const std::string& top, std::string group, const std::function<void(const std::string&)>& read) {
    for (; !group.empty() && group != "/"; group.erase(group.rfind('/'))) read(top + group);
    read(top);
}

template <class Number>
void lower(std::optional<Number>& limit, Number other) {
    limit = limit ? std::min(*limit, other) : other;
}

void read_memory(const std::string& file, GroupLimits& limits) {
    std::uint64_t bytes = 0;
    if (std::ifstream stream(file); stream >> bytes && bytes > 0) lower(limits.memory, bytes);
}

void lower_processors(double microseconds, double period, GroupLimits& limits) {
    if (microseconds > 0 && period > 0) lower(limits.processors, microseconds / period);
}

void read_version_2(const std::string& folder, GroupLimits& limits) {
    read_memory(folder + "/memory.max", limits);
    double quota = 0, period = 0;  // without a limit, the quota is "max"
    if (std::ifstream stream(folder + "/cpu.max"); stream >> quota >> period) lower_processors(quota, period, limits);
}

void read_quota_of_version_1(const std::string& folder, GroupLimits& limits) {
    double quota = 0, period = 0;  // without a limit, the quota is -1
    std::ifstream quotas(folder + "/cpu.cfs_quota_us"), periods(folder + "/cpu.cfs_period_us");
    if (quotas >> quota && periods >> period) lower_processors(quota, period, limits);
}

bool contains(const std::string& list, const std::string& word) {
    std::istringstream words(list);
    for (std::string one; std::getline(words, one, ',');)
        if (one == word) return true;
    return false;
}

}  // namespace

GroupLimits group_limits(const std::string& root) {
    GroupLimits limits;
    const std::string top = root + "/sys/fs/cgroup";
    std::string of_version_2, of_cpu, of_memory;
    std::ifstream groups(root + "/proc/self/cgroup");  // NUMBER:CONTROLLERS:GROUP
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
        if (controllers.empty()) of_version_2 = group;
        if (contains(controllers, "cpu")) of_cpu = group;
        if (contains(controllers, "memory")) of_memory = group;
    }
    for_each_group(top, of_version_2, [&](const std::string& folder) { read_version_2(folder, limits); });
    for_each_group(top + "/cpu", of_cpu, [&](const std::string& folder) { read_quota_of_version_1(folder, limits); });
    for_each_group(top + "/memory", of_memory,
                   [&](const std::string& folder) { read_memory(folder + "/memory.limit_in_bytes", limits); });
    return limits;
}

}  // namespace front

int usable_processors() {
    cpu_set_t mask;
    if (sched_getaffinity(getpid(), sizeof mask, &mask) == 0) return std::max(1, CPU_COUNT(&mask));
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));  // more than the mask has room for
}

int available_threads() {
    const int processors = usable_processors();
    const std::optional<double> quota = front::group_limits().processors;
    return quota && *quota < processors ? std::max(1, static_cast<int>(std::ceil(*quota))) : processors;
}

std::uint64_t available_memory() {
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return std::min(bytes, front::group_limits().memory.value_or(bytes));
}

}  // namespace gpuhist
