// Launches: the resident blocks of a kernel, their shared memory, and grid barriers between phases.
#pragma once

#include <cooperative_groups.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "cuda/host/device.hpp"
#include "cuda/host/parameters.hpp"
#include "cuda/tuning.hpp"

namespace gpuhist::cuda {
namespace {

/// Boundary of dynamic shared memory, so that no sector of a resident image crosses one.
constexpr std::size_t dynamic_alignment = 128;
extern __shared__ __align__(dynamic_alignment) std::uint32_t dynamic_shared[];
constexpr std::size_t aligned(std::size_t bytes) {
    return (bytes + dynamic_alignment - 1) / dynamic_alignment * dynamic_alignment;
}

/// Room for the kernels' own, static shared memory.
constexpr std::size_t static_shared_bytes = 16384;

/// Launch configuration: blocks and their shared memory.
struct LaunchConfiguration {
    std::int64_t blocks;  ///< for which there is enough work; no more are launched than can be resident
    int threads;
    std::size_t shared_bytes;                       ///< dynamic
    int most_resident = blocks_per_multiprocessor;  ///< per multiprocessor
};

/// Bytes of a kernel's own, static shared memory. CUDA is asked once per kernel and GPU.
inline std::size_t static_bytes(const Launch& launch, const void* kernel) {
    thread_local std::map<std::pair<int, const void*>, std::size_t> known;
    if (const auto at = known.find({launch.gpu, kernel}); at != known.end()) return at->second;
    cudaFuncAttributes attributes;
    GPUHIST_CUDA(cudaFuncGetAttributes(&attributes, kernel));
    return known[{launch.gpu, kernel}] = attributes.sharedSizeBytes;
}

/// Blocks of a kernel that a multiprocessor holds at once; the kernel is allowed all the shared memory that a block may
/// have. CUDA is asked once per kernel, configuration and GPU, since asking costs more than a launch.
inline int resident_blocks(const Launch& launch, const void* kernel, const LaunchConfiguration& configuration) {
    thread_local std::map<std::tuple<int, const void*, int, std::size_t>, int> known;
    const std::tuple key(launch.gpu, kernel, configuration.threads, configuration.shared_bytes);
    if (const auto at = known.find(key); at != known.end()) return at->second;
    // Not launch.shared_bytes: the same kernel may be launched with less, and with more again.
    const int all = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, launch.gpu);
    GPUHIST_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      all - static_cast<int>(static_bytes(launch, kernel))));
    int resident = 0;
    GPUHIST_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, configuration.threads,
                                                               configuration.shared_bytes));
    return known[key] = std::clamp(resident, 1, configuration.most_resident);
}

/// Enqueues a kernel, which resident_blocks has loaded. `cooperative`: it waits for its grid.
template <class Kernel, class... Arguments>
void launch_kernel(const Launch& launch, Kernel kernel, bool cooperative, const LaunchConfiguration& configuration,
                   const Arguments&... arguments) {
    const int resident = resident_blocks(launch, reinterpret_cast<const void*>(kernel), configuration);
    if (launch.only_loads) return;
    const auto blocks = static_cast<unsigned>(
        std::clamp<std::int64_t>(configuration.blocks, 1, std::int64_t{resident} * launch.multiprocessors));
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    const dim3 grid(blocks), block(configuration.threads);
    if (cooperative)
        GPUHIST_CUDA(
            cudaLaunchCooperativeKernel(kernel, grid, block, pointers, configuration.shared_bytes, launch.stream));
    else
        GPUHIST_CUDA(cudaLaunchKernel(kernel, grid, block, pointers, configuration.shared_bytes, launch.stream));
}

/// Barrier of a cooperative launch's grid.
__device__ inline void wait_for_grid() {
    cooperative_groups::this_grid().sync();
}

/// Lane replicas of a histogram that a block can keep beside `reserved` bytes: log2, up to one per lane; −1: not one.
inline int replicas_log2(const Launch& launch, std::size_t replica_bytes, std::size_t reserved = 0) {
    int log2 = 5;
    while (log2 >= 0 && (replica_bytes << log2) + reserved + static_shared_bytes > launch.shared_bytes) --log2;
    return log2;
}

/// Slices in which 65536 packed counters are kept where a block's shared memory is smaller than they are.
inline int slices_log2(const Launch& launch) {
    int log2 = 0;
    while ((std::size_t{131072} >> log2) + static_shared_bytes > launch.shared_bytes) ++log2;
    return log2;
}

inline std::int64_t blocks_for(std::int64_t pixels, std::int64_t pixels_per_block) {
    return (pixels + pixels_per_block - 1) / pixels_per_block;
}

/// Calls `function` with a null pointer to the normalized copy's type, to void where there is none.
template <typename T, class Function>
void with_output(const Common& common, Function function) {
    if (!common.normalize) return function(static_cast<void*>(nullptr));
    if (traits_of(common.normalization.mode).real) return function(static_cast<float*>(nullptr));
    function(static_cast<T*>(nullptr));
}

}  // namespace
}  // namespace gpuhist::cuda
