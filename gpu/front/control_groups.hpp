/// Limits of the control groups of Linux, versions 1 and 2, on a process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gpuhist::front {

struct GroupLimits {
    std::optional<double> processors;     ///< quota of CPU time per time
    std::optional<std::uint64_t> memory;  ///< bytes
};

/// Lowest limits of the group of this process and of those above it. `root` stands before the paths /proc and /sys.
GroupLimits group_limits(const std::string& root = {});

}  // namespace gpuhist::front
