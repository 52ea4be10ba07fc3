// What the two engines offer to `make_engine`. The CUDA half exists only where it was built in.
#pragma once

#include <memory>

#include "gpuhist/engine.hpp"

namespace gpuhist {

namespace cpu {
std::unique_ptr<Engine> make(const EngineOptions& options);
EngineInfo info();
}  // namespace cpu

namespace cuda {
std::unique_ptr<Engine> make(const EngineOptions& options);
EngineInfo info();
std::vector<GpuInfo> gpus();
}  // namespace cuda

}  // namespace gpuhist
