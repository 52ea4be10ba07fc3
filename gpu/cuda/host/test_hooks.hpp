// Test hooks: what only tests may change. Needs no CUDA, so that tests compile without it.
#pragma once

#include <atomic>
#include <cstddef>

namespace gpuhist::cuda {

/// Bound on the shared memory that a block may take, of analyzers made while it is set, at least 65536, which is what
/// the smallest GPUs have; 0: all that there is.
inline std::atomic<std::size_t> shared_memory_bound{0};

}  // namespace gpuhist::cuda
