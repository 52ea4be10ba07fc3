// Coefficients of blocks: written by a thread per chunk, and DC differences summed by a block of threads per image.

#include "cuda/jpeg/shared.cuh"
#include "jpeg/dc.hpp"

namespace gpuhist::cuda {
namespace {

__constant__ jpeg::Order constant_order = jpeg::natural_order;

__global__ void __launch_bounds__(jpeg_writer_threads) write_kernel(const __grid_constant__ JpegBatch batch) {
    __shared__ SharedCodes shared_codes;
    __shared__ jpeg::Order order;  // threads ask for different places
    if (threadIdx.x < jpeg::block_samples) order.place[threadIdx.x] = constant_order.place[threadIdx.x];
    const BlockOfImage at = find_image(batch.first_writer, batch.images);
    const jpeg::Image& image = batch.image[at.image];
    const jpeg::Codes codes = shared_codes.load(batch, image);  // a barrier
    const std::uint32_t number = at.block * jpeg_writer_threads + threadIdx.x;
    if (number >= image.chunks) return;
    const jpeg::Segment* segments = batch.segments + image.first_segment;
    const jpeg::Chunk chunk = jpeg::find_chunk(image, segments, number);
    const jpeg::Segment& segment = segments[chunk.segment];
    const std::uint32_t* starts = batch.starts + image.first_chunk;
    const std::uint32_t damage =
        jpeg::write_chunk(codes, batch.words + image.first_word + segment.first_word, chunk, segment.bits,
                          jpeg::begin_of(chunk, batch.ends + image.first_chunk, number),
                          jpeg::first_block(image, chunk.segment) + starts[number] - starts[segment.first_chunk],
                          jpeg::end_block(image, chunk.segment), order,
                          {batch.ac + image.first_block * jpeg::block_samples, batch.dc + image.first_block});
    if (damage != 0) atomicOr(batch.damage + at.image, damage);
}

constexpr int summer_threads = 512;

/// Launch: a block of threads per image.
__global__ void __launch_bounds__(summer_threads) sum_dc_kernel(const __grid_constant__ JpegBatch batch) {
    __shared__ jpeg::DcSums sums[2][summer_threads];
    const jpeg::Image& image = batch.image[blockIdx.x];
    std::int16_t* dc = batch.dc + image.first_block;
    const std::uint32_t mcus = image.mcus(), run = (mcus + summer_threads - 1) / summer_threads,
                        begin = min(mcus, threadIdx.x * run), end = min(mcus, begin + run);
    jpeg::DcSums own;
    for (std::uint32_t m = begin; m < end; ++m) jpeg::add_mcu(image, m, false, dc, own);
    int turn = 0;
    sums[turn][threadIdx.x] = own;
    for (unsigned step = 1; step < summer_threads; step *= 2) {
        __syncthreads();
        if (threadIdx.x >= step) own = sums[turn][threadIdx.x - step].then(own);
        turn ^= 1;
        sums[turn][threadIdx.x] = own;
    }
    __syncthreads();
    jpeg::DcSums before;
    if (threadIdx.x > 0) before = sums[turn][threadIdx.x - 1];
    std::uint32_t damage = 0;
    for (std::uint32_t m = begin; m < end; ++m) damage |= jpeg::add_mcu(image, m, true, dc, before);
    if (damage != 0) atomicOr(batch.damage + blockIdx.x, damage);
}

}  // namespace

void launch_jpeg_coefficients(const JpegBatch& batch, const JpegLaunchBlocks& blocks, cudaStream_t stream) {
    write_kernel<<<blocks.writers, jpeg_writer_threads, SharedCodes::bytes(batch), stream>>>(batch);
    check_launch("write", stream);
    sum_dc_kernel<<<static_cast<unsigned>(batch.images), summer_threads, 0, stream>>>(batch);
    check_launch("sum dc", stream);
}

}  // namespace gpuhist::cuda
