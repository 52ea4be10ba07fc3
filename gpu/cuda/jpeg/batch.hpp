// Batch of JPEG images in device memory, and the launches that decode it, one after the other. Plain C++.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "jpeg/chunk.hpp"
#include "jpeg/image.hpp"

namespace gpuhist::cuda {

/// Images of a batch share every launch: blocks are dealt to them by lists of the first block of each, with the number
/// of all at the end.
struct JpegBatch {
    int images;
    int most_tables;  ///< of an image
    const jpeg::Image* image;
    const std::uint32_t *first_synchronizer, *first_writer, *first_transformer, *first_painter;
    const jpeg::HuffmanTable* tables;
    const jpeg::Segment* segments;
    const std::uint32_t* words;  ///< entropy-coded data
    jpeg::ChunkEnd* ends;        ///< per chunk
    jpeg::ChunkEnd* begins;      ///< per block that synchronizes: the state that its first chunk began with
    std::uint32_t* starts;       ///< blocks of the image before each chunk
    std::int16_t *ac, *dc;       ///< coefficients; the former are 0 before they are written
    std::uint8_t *planes, *pixels;
    std::uint32_t* damage;  ///< per image, jpeg::Damage; 0 before
};

inline constexpr int jpeg_synchronizer_threads = 128;
inline constexpr int jpeg_warm_up = 8;  ///< chunks before a block's own, whose only use is the state that they end with
inline constexpr int jpeg_writer_threads = 128;
inline constexpr int jpeg_transformer_blocks = 32;  ///< of 8 × 8 samples, per block of threads
inline constexpr int jpeg_painter_pixels = 1024;    ///< per block of threads, at most

/// Blocks of threads that an image needs in each launch.
struct JpegLaunchBlocks {
    std::uint32_t synchronizers, writers, transformers, painters;
};
JpegLaunchBlocks jpeg_launch_blocks(const jpeg::Image& image);

/// Enqueues the decoding of a batch whose compressed data are on the GPU. `blocks`: number of blocks in all images.
/// Throws CudaError.
void launch_jpeg(const JpegBatch& batch, const JpegLaunchBlocks& blocks, cudaStream_t stream);

/// Hook of benchmarks, called after each launch with the kernel's name, and once before; null: none.
inline void (*jpeg_launched)(const char* kernel, cudaStream_t stream) = nullptr;

/// Parts of launch_jpeg.
void launch_jpeg_chunks(const JpegBatch& batch, const JpegLaunchBlocks& blocks, cudaStream_t stream);
void launch_jpeg_coefficients(const JpegBatch& batch, const JpegLaunchBlocks& blocks, cudaStream_t stream);
void launch_jpeg_pixels(const JpegBatch& batch, const JpegLaunchBlocks& blocks, cudaStream_t stream);

}  // namespace gpuhist::cuda
