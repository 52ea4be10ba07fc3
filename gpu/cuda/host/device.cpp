#include "cuda/host/device.hpp"

#include <cstdio>
#include <filesystem>
#include <string>

#include "gpuhist/error.hpp"
#include "plan/executor.hpp"

namespace gpuhist::cuda {
void check(cudaError_t status, const char* call, const char* file, int line) {
    if (status == cudaSuccess) return;
    (void)cudaGetLastError();
    const std::string what = std::string("CUDA: ") + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) +
                             ") in " + call + " at " + std::filesystem::path(file).filename().string() + ":" +
                             std::to_string(line);
    if (status == cudaErrorMemoryAllocation) throw OutOfMemory(what + ": use a smaller image or the cpu engine");
    throw CudaError(what);
}

int attribute(cudaDeviceAttr name, int gpu) {
    int value = 0;
    GPUHIST_CUDA(cudaDeviceGetAttribute(&value, name, gpu));
    return value;
}

std::string why_unavailable(int gpu) {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    ignore(status);
    if (status == cudaErrorInsufficientDriver) {
        int driver = 0;
        ignore(cudaDriverGetVersion(&driver));
        return driver == 0 ? "no CUDA driver is installed" : "the CUDA driver is older than this program needs";
    }
    if (status != cudaSuccess) return cudaGetErrorString(status);
    if (count == 0) return "no GPU is visible";
    if (gpu < 0 || gpu >= count)
        return "there is no GPU " + std::to_string(gpu) + ": they are numbered 0 to " + std::to_string(count - 1);
    const int major = attribute(cudaDevAttrComputeCapabilityMajor, gpu),
              minor = attribute(cudaDevAttrComputeCapabilityMinor, gpu);
    if (major * 10 + minor < 75)  // the oldest that CUDA 13 compiles for
        return "GPU " + std::to_string(gpu) + " has compute capability " + std::to_string(major) + "." +
               std::to_string(minor) + ", at least 7.5 is needed";
    if (attribute(cudaDevAttrCooperativeLaunch, gpu) == 0)
        return "GPU " + std::to_string(gpu) + " cannot launch cooperative grids here, which is needed";
    return "";
}

void require_gpu(const char* name, int gpu) {
    if (const std::string why = why_unavailable(gpu); !why.empty())
        throw EngineUnavailable(std::string(name) + ": " + why);
}

std::vector<GpuInfo> gpus() {
    int count = 0;
    ignore(cudaGetDeviceCount(&count));
    std::vector<GpuInfo> result;
    for (int gpu = 0; gpu < count; ++gpu) {
        cudaDeviceProp properties;
        GPUHIST_CUDA(cudaGetDeviceProperties(&properties, gpu));
        char address[32];
        std::snprintf(address, sizeof address, "%04x:%02x:%02x.0", properties.pciDomainID, properties.pciBusID,
                      properties.pciDeviceID);
        result.push_back({gpu, properties.name, properties.major, properties.minor, properties.totalGlobalMem,
                          properties.multiProcessorCount, properties.cooperativeLaunch != 0, address});
    }
    return result;
}

EngineInfo info() {
    const std::string why = why_unavailable(0);
    if (!why.empty()) return {"cuda", false, why};
    return {"cuda", true, gpus().front().name};
}

void* allocate_pinned(std::size_t bytes, int gpu) noexcept {
    try {
        const CurrentDevice current(gpu);
        void* memory = nullptr;
        if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) == cudaSuccess) return memory;
        (void)cudaGetLastError();
    } catch (const CudaError&) {
    }
    return nullptr;
}
void free_pinned(void* memory) noexcept {
    ignore(cudaFreeHost(memory));
}

}  // namespace gpuhist::cuda
