// Test hooks: settings that only tests may change. They need no CUDA, so that tests compile without it.
#pragma once

#include <atomic>
#include <cstddef>

namespace gpuhist::cuda {

/// Limit of the shared memory per block, for analyzers that are made while it is set: at least 65536, as much as the
/// smallest GPUs have. 0: no limit.
inline std::atomic<std::size_t> shared_memory_bound{0};

}  // namespace gpuhist::cuda
