// Pixels: blocks of coefficients become planes of samples, these pixels.

#include "cuda/jpeg/shared.cuh"
#include "jpeg/color.hpp"
#include "jpeg/idct.hpp"

namespace gpuhist::cuda {
namespace {

constexpr int transformer_threads = jpeg_transformer_blocks * jpeg::side;

/// Kernel of the inverse DCT: 8 threads per block, a column each and then a row.
__global__ void __launch_bounds__(transformer_threads) transform_kernel(const __grid_constant__ JpegBatch batch) {
    constexpr int stride = jpeg::block_samples + 8;  // so that the blocks of a warp lie in different banks
    __shared__ alignas(16) std::int16_t tile[jpeg_transformer_blocks][stride];
    __shared__ std::uint16_t quantization[jpeg::most_components][jpeg::block_samples];
    const BlockOfImage at = find_image(batch.first_transformer, batch.images);
    const jpeg::Image& image = batch.image[at.image];
    for (int i = threadIdx.x; i < image.components * jpeg::block_samples; i += transformer_threads)
        quantization[i / jpeg::block_samples][i % jpeg::block_samples] =
            image.component[i / jpeg::block_samples].quantization[i % jpeg::block_samples];
    const int lane = threadIdx.x % jpeg::side;
    const std::uint32_t block = at.block * jpeg_transformer_blocks + threadIdx.x / jpeg::side;
    const bool active = block < image.blocks();
    std::int16_t* own = tile[threadIdx.x / jpeg::side];
    jpeg::BlockPlace place{};
    if (active) {
        const std::int64_t number = image.first_block + block;
        uint4 row = reinterpret_cast<const uint4*>(batch.ac + number * jpeg::block_samples)[lane];
        if (lane == 0) row.x = (row.x & 0xFFFF0000U) | static_cast<std::uint16_t>(batch.dc[number]);
        reinterpret_cast<uint4*>(own)[lane] = row;
        place = jpeg::place_of(image, block);
    }
    __syncthreads();  // the quantization tables, and within a warp the tile
    std::int32_t v[jpeg::side];
    jpeg::Fits16 fits;
    if (active) jpeg::transform_column(own + lane, quantization[place.component] + lane, v, fits);
    __syncwarp();
    if (active)
        for (int i = 0; i < jpeg::side; ++i) own[i * jpeg::side + lane] = static_cast<std::int16_t>(v[i]);
    __syncwarp();
    if (!active) return;
    const uint4 row = reinterpret_cast<const uint4*>(own)[lane];
    const std::uint32_t pairs[] = {row.x, row.y, row.z, row.w};
    for (int i = 0; i < jpeg::side; ++i)
        v[i] = static_cast<std::int16_t>(i % 2 == 0 ? pairs[i / 2] & 0xFFFFU : pairs[i / 2] >> 16);
    std::uint8_t samples[jpeg::side];
    jpeg::transform_row(v, samples, fits);
    uint2 packed{0, 0};
    for (int i = 0; i < 4; ++i) {
        packed.x |= std::uint32_t{samples[i]} << (8 * i);
        packed.y |= std::uint32_t{samples[i + 4]} << (8 * i);
    }
    *reinterpret_cast<uint2*>(batch.planes + place.first_sample +
                              std::int64_t{lane} * image.component[place.component].row_samples) = packed;
    if (!fits.all()) atomicOr(batch.damage + at.image, std::uint32_t{jpeg::idct_out_of_range});
}

constexpr int painter_threads = jpeg_painter_pixels / jpeg::together;

/// Kernel of upsampling and colors: 4 pixels per thread.
__global__ void __launch_bounds__(painter_threads) paint_kernel(const __grid_constant__ JpegBatch batch) {
    const BlockOfImage at = find_image(batch.first_painter, batch.images);
    const jpeg::Image& image = batch.image[at.image];
    const std::uint32_t across = (static_cast<std::uint32_t>(image.width) + jpeg::together - 1) / jpeg::together,
                        quad = at.block * painter_threads + threadIdx.x, row = quad / across;
    if (row >= static_cast<std::uint32_t>(image.height)) return;
    const auto y = static_cast<std::int32_t>(row),
               x = static_cast<std::int32_t>((quad - row * across) * jpeg::together);
    std::uint8_t pixels[jpeg::together * jpeg::most_components];
    jpeg::make_pixels(image, batch.planes, x, y, pixels);
    const int channels = image.channels(), bytes = min(jpeg::together, image.width - x) * channels;
    std::uint8_t* to = batch.pixels + image.first_pixel_byte + (std::int64_t{y} * image.width + x) * channels;
    if (bytes == jpeg::together * channels && reinterpret_cast<std::uintptr_t>(to) % 4 == 0) {
        for (int w = 0; w < jpeg::most_components; ++w)
            if (w < channels)
                reinterpret_cast<std::uint32_t*>(to)[w] = pixels[4 * w] | std::uint32_t{pixels[4 * w + 1]} << 8 |
                                                          std::uint32_t{pixels[4 * w + 2]} << 16 |
                                                          std::uint32_t{pixels[4 * w + 3]} << 24;
    } else {
        for (int i = 0; i < jpeg::together * jpeg::most_components; ++i)
            if (i < bytes) to[i] = pixels[i];
    }
}

}  // namespace

void launch_jpeg_pixels(const JpegBatch& batch, const JpegLaunchBlocks& blocks, cudaStream_t stream) {
    transform_kernel<<<blocks.transformers, transformer_threads, 0, stream>>>(batch);
    check_launch("transform", stream);
    paint_kernel<<<blocks.painters, painter_threads, 0, stream>>>(batch);
    check_launch("paint", stream);
}

}  // namespace gpuhist::cuda
