#include "engines.hpp"

#include "gpuhist/error.hpp"

namespace gpuhist {

#ifndef GPUHIST_HAS_CUDA
namespace cuda {
EngineInfo info() {
    return {"cuda", false, "gpuhist was built without CUDA: build it where nvcc is found"};
}
std::vector<GpuInfo> gpus() {
    return {};
}
std::unique_ptr<Engine> make(const EngineOptions&) {
    throw EngineUnavailable("engine cuda: " + info().description);
}
}  // namespace cuda
#endif

std::vector<EngineInfo> engines() {
    return {cuda::info(), cpu::info()};
}

std::vector<GpuInfo> gpus() {
    return cuda::gpus();
}

std::unique_ptr<Engine> make_engine(std::string_view name, const EngineOptions& options) {
    if (name == "cpu") return cpu::make(options);
    if (name == "cuda") return cuda::make(options);
    if (name == "auto") return cuda::info().available ? cuda::make(options) : cpu::make(options);
    throw InvalidArgument("engine '" + std::string(name) + "': there are auto, cuda and cpu");
}

}  // namespace gpuhist
