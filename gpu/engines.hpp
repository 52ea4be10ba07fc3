// Engines as they offer themselves to `make_engine`. The CUDA one exists only where it was built in.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "gpuhist/engine.hpp"

namespace gpuhist {

namespace cpu {
std::unique_ptr<Engine> make(const EngineOptions& options);
EngineInfo info();
/// Threads that an engine uses on the CPU, at least one.
int threads_of(const EngineOptions& options);
}  // namespace cpu

/// Engine that makes copies of any depth, with the findings and copies of one that makes only those of the mode's
/// depth.
std::unique_ptr<Engine> with_copy_depths(std::unique_ptr<Engine> engine, const EngineOptions& options);

/// Engine that measures images of any number of channels, by one that measures 1, 3 and 4.
std::unique_ptr<Engine> with_parts(std::unique_ptr<Engine> engine);

namespace cuda {
std::unique_ptr<Engine> make(const EngineOptions& options);
EngineInfo info();
std::vector<GpuInfo> gpus();
/// Pinned host memory, or null where there is none to be had.
void* allocate_pinned(std::size_t bytes, int gpu) noexcept;
void free_pinned(void* memory) noexcept;
}  // namespace cuda

}  // namespace gpuhist
