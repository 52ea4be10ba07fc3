// How the kernels of one depth are launched: together in one cooperative grid, or one phase after another.
#pragma once

#include <cooperative_groups.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cuda/parameters.hpp"
#include "cuda/runtime.hpp"
#include "cuda/tuning.hpp"

namespace gpuhist::cuda {
namespace {

extern __shared__ __align__(16) std::uint32_t dynamic_shared[];

/// For the kernels' own, static shared memory.
constexpr std::size_t static_shared_bytes = 4096;

/// Blocks that the work is worth (as many are launched as can be resident, at most), their threads and dynamic shared
/// memory.
struct Shape {
    std::int64_t blocks;
    int threads;
    std::size_t shared_bytes;
};

template <class Kernel, class... Arguments>
void launch_kernel(const Launch& launch, Kernel kernel, bool cooperative, const Shape& shape, Arguments... arguments) {
    GPUHIST_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(shape.shared_bytes)));
    int resident = 0;
    GPUHIST_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, shape.threads, shape.shared_bytes));
    const auto blocks = static_cast<unsigned>(
        std::clamp<std::int64_t>(shape.blocks, 1, std::int64_t{std::max(resident, 1)} * launch.multiprocessors));
    void* pointers[] = {static_cast<void*>(&arguments)...};
    const dim3 grid(blocks), block(shape.threads);
    if (cooperative)
        GPUHIST_CUDA(cudaLaunchCooperativeKernel(kernel, grid, block, pointers, shape.shared_bytes, launch.stream));
    else
        GPUHIST_CUDA(cudaLaunchKernel(kernel, grid, block, pointers, shape.shared_bytes, launch.stream));
}

/// Phases [0, phases) of `kernel(parameters, first, last)`, each of which needs the one before complete: in one launch,
/// with grid barriers between, or in one launch each.
template <class Kernel, class Parameters>
void launch_phases(const Launch& launch, Kernel kernel, int phases, const Shape& shape, const Parameters& parameters) {
    if (launch.cooperative) return launch_kernel(launch, kernel, true, shape, parameters, 0, phases);
    for (int phase = 0; phase < phases; ++phase)
        launch_kernel(launch, kernel, false, shape, parameters, phase, phase + 1);
}

/// A grid barrier before every phase but the first of this launch.
__device__ inline void wait_for_phase(int phase, int first) {
    if (phase != first) cooperative_groups::this_grid().sync();
}

/// Copies of a histogram that a block can keep beside `reserved` bytes, as a power of two up to one a lane; −1: not
/// one.
inline int columns_log2(const Launch& launch, std::size_t copy_bytes, std::size_t reserved) {
    int log2 = 5;
    while (log2 >= 0 && (copy_bytes << log2) + reserved + static_shared_bytes > launch.shared_bytes) --log2;
    return log2;
}

/// Slices in which 65536 packed counters are kept where a block's shared memory is smaller than they are.
inline int parts_log2(const Launch& launch) {
    int log2 = 0;
    while ((std::size_t{131072} >> log2) + static_shared_bytes > launch.shared_bytes) ++log2;
    return log2;
}

inline std::int64_t blocks_for(std::int64_t pixels, std::int64_t pixels_per_block) {
    return (pixels + pixels_per_block - 1) / pixels_per_block;
}

/// Calls `function` with the number of channels as a constant.
template <class Function>
void with_channels(int channels, Function function) {
    if (channels == 1) return function(std::integral_constant<int, 1>{});
    if (channels == 3) return function(std::integral_constant<int, 3>{});
    function(std::integral_constant<int, 4>{});
}

}  // namespace
}  // namespace gpuhist::cuda
