/// Resources that a process may use: those of the machine, within the limits of its control group, such as those of a
/// container.
#pragma once

#include <cstdint>

namespace gpuhist {

/// Number of processors on which the process may run: those in the affinity mask of its first thread. At least 1.
int usable_processors();

/// Number of threads that may run at a time: one per usable processor, or fewer if the control group of the process, or
/// one above it, has a quota of CPU time (`cpu.max`, or `cpu.cfs_quota_us` in version 1). A quota of 1.5 processors
/// gives 2 threads. At least 1. Engines and runs use as many by default.
int available_threads();

/// Memory in bytes: that of the machine, or less if the control group of the process, or one above it, has a limit
/// (`memory.max`, or `memory.limit_in_bytes` in version 1).
std::uint64_t available_memory();

}  // namespace gpuhist
