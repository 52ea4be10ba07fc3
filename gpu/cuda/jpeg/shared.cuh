// Shared parts of the JPEG kernels: the image on which a block works, and its Huffman tables in shared memory.
#pragma once

#include <cstdint>

#include "cuda/host/device.hpp"
#include "cuda/jpeg/batch.hpp"

namespace gpuhist::cuda {

/// Image of a block of threads, and the block's number among those of the image.
struct BlockOfImage {
    int image;
    std::uint32_t block;
};
__device__ inline BlockOfImage find_image(const std::uint32_t* first, int images) {
    int low = 0, high = images;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (first[middle] <= blockIdx.x)
            low = middle;
        else
            high = middle;
    }
    return {low, blockIdx.x - first[low]};
}

/// Huffman tables of an image, in dynamic shared memory.
struct SharedCodes {
    std::uint8_t dc_table[jpeg::most_mcu_blocks], ac_table[jpeg::most_mcu_blocks];

    /// Call it with all threads of a block.
    __device__ jpeg::Codes load(const JpegBatch& batch, const jpeg::Image& image) {
        extern __shared__ uint4 shared_tables[];
        constexpr int words = sizeof(jpeg::HuffmanTable) / sizeof(uint4);
        static_assert(sizeof(jpeg::HuffmanTable) % sizeof(uint4) == 0 && alignof(jpeg::HuffmanTable) == sizeof(uint4));
        const auto* from = reinterpret_cast<const uint4*>(batch.tables + image.first_table);
        for (int i = threadIdx.x; i < image.tables * words; i += blockDim.x) shared_tables[i] = from[i];
        if (threadIdx.x < jpeg::most_mcu_blocks) {
            dc_table[threadIdx.x] = image.dc_table[threadIdx.x];
            ac_table[threadIdx.x] = image.ac_table[threadIdx.x];
        }
        __syncthreads();
        return {reinterpret_cast<const jpeg::HuffmanTable*>(shared_tables), dc_table, ac_table,
                static_cast<std::uint32_t>(image.phases)};
    }
    static std::size_t bytes(const JpegBatch& batch) {
        return static_cast<std::size_t>(batch.most_tables) * sizeof(jpeg::HuffmanTable);
    }
};

/// Call it after each launch.
inline void check_launch(const char* kernel, cudaStream_t stream) {
    GPUHIST_CUDA(cudaGetLastError());
    if (jpeg_launched) jpeg_launched(kernel, stream);
}

}  // namespace gpuhist::cuda
