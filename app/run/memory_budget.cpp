#include "run/memory_budget.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace gpuhist::app {

std::uint64_t available_memory() {
    std::uint64_t bytes =
        static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    // A container sees its own group at the root; elsewhere the process's group is named in /proc.
    std::string group;
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);)
        if (line.rfind("0::", 0) == 0) group = line.substr(3);
    for (const std::string& file : {"/sys/fs/cgroup" + group + "/memory.max", std::string("/sys/fs/cgroup/memory.max"),
                                    std::string("/sys/fs/cgroup/memory/memory.limit_in_bytes")}) {
        std::uint64_t limit = 0;
        if (std::ifstream stream(file); stream >> limit && limit > 0) bytes = std::min(bytes, limit);
    }
    return bytes;
}

}  // namespace gpuhist::app
