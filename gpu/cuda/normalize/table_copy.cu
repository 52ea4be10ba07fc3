// Copies by tables of the CPU.

#include "cuda/normalize/table_copy.hpp"

#include "cuda/normalize/pixel_copy.cuh"

namespace gpuhist::cuda {
namespace {

/// Sample of so many bytes in a table.
__device__ Bits entry_of(const void* table, Bits at, int bytes) {
    switch (bytes) {
        case 1:
            return __ldg(static_cast<const std::uint8_t*>(table) + at);
        case 2:
            return __ldg(static_cast<const std::uint16_t*>(table) + at);
        case 4:
            return __ldg(static_cast<const std::uint32_t*>(table) + at);
        default:
            return __ldg(static_cast<const unsigned long long*>(table) + at);
    }
}

/// Kernel of a copy by tables. Launch: any grid. Bytes: each pixel is read once, and written once.
__global__ void __launch_bounds__(copy_threads) table_copy_kernel(const __grid_constant__ TableCopy p) {
    const int bytes = bytes_of(p.copy);
    write_pixels(p, [&](std::int64_t, std::int64_t, const Bits(&pixel)[4], Bits(&written)[4]) {
#pragma unroll
        for (int c = 0; c < 4; ++c)
            if (c < p.channels) written[c] = entry_of(p.tables[c], pixel[c], bytes);
    });
}

}  // namespace

void launch_table_copy(const TableCopy& copy, const Launch& launch) {
    launch_kernel(launch, table_copy_kernel, false, copy_configuration(copy.image), copy);
}

}  // namespace gpuhist::cuda
