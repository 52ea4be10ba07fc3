// Chunks of entropy-coded data: the state that each begins with, and the blocks before it.

#include <algorithm>

#include "cuda/jpeg/shared.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int own_chunks = jpeg_synchronizer_threads - jpeg_warm_up;

/// Kernel that decodes chunks again and again, each from where the one before it ended, until nothing changes. A block
/// of threads begins a few chunks before its own, so that its first one nearly always begins rightly.
__global__ void __launch_bounds__(jpeg_synchronizer_threads)
    synchronize_kernel(const __grid_constant__ JpegBatch batch) {
    __shared__ SharedCodes shared_codes;
    __shared__ jpeg::ChunkEnd ends[jpeg_synchronizer_threads];
    const BlockOfImage at = find_image(batch.first_synchronizer, batch.images);
    const jpeg::Image& image = batch.image[at.image];
    const jpeg::Codes codes = shared_codes.load(batch, image);
    const jpeg::Segment* segments = batch.segments + image.first_segment;

    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t number = std::int64_t{at.block} * own_chunks - jpeg_warm_up + thread;
    const bool active = number >= 0 && number < image.chunks;
    jpeg::Chunk chunk{};
    jpeg::State begin;
    const std::uint32_t* words = batch.words + image.first_word;
    if (active) {
        chunk = jpeg::find_chunk(image, segments, static_cast<std::uint32_t>(number));
        words += segments[chunk.segment].first_word;
        ends[thread] = jpeg::pass_chunk(codes, words, chunk, begin);
    }
    const bool follows = active && !chunk.first && thread > 0 && number > 0;
    __syncthreads();
    for (;;) {
        const jpeg::State before = follows ? ends[thread - 1].state() : begin;
        const bool changed = !(before == begin);
        if (!__syncthreads_or(changed)) break;  // all have read
        if (changed) {
            begin = before;
            ends[thread] = jpeg::pass_chunk(codes, words, chunk, begin);
        }
        __syncthreads();  // all have written
    }
    if (active && thread >= jpeg_warm_up) batch.ends[image.first_chunk + number] = ends[thread];
    if (thread == jpeg_warm_up) batch.begins[blockIdx.x] = jpeg::ChunkEnd::make(begin, 0);
}

constexpr int counter_threads = 1024, warps = counter_threads / 32;

/// Sum over the threads of a block before each one.
__device__ inline std::uint32_t sum_before(std::uint32_t own) {
    __shared__ std::uint32_t of_warp[warps];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    std::uint32_t sum = own;
    for (int step = 1; step < 32; step *= 2) {
        const std::uint32_t other = __shfl_up_sync(~0U, sum, step);
        if (lane >= step) sum += other;
    }
    if (lane == 31) of_warp[warp] = sum;
    __syncthreads();
    std::uint32_t before = sum - own;
    for (int w = 0; w < warp; ++w) before += of_warp[w];
    return before;
}

/// Kernel that checks whether blocks of threads began in the right state, decodes the others again, and counts the
/// blocks of samples before each chunk. Launch: a block of threads per image.
__global__ void __launch_bounds__(counter_threads) count_kernel(const __grid_constant__ JpegBatch batch) {
    const jpeg::Image& image = batch.image[blockIdx.x];
    const jpeg::Segment* segments = batch.segments + image.first_segment;
    jpeg::ChunkEnd* ends = batch.ends + image.first_chunk;
    const std::uint32_t first_block = batch.first_synchronizer[blockIdx.x],
                        blocks = batch.first_synchronizer[blockIdx.x + 1] - first_block;
    const auto wrong = [&](std::uint32_t block) {
        const std::uint32_t chunk = block * own_chunks;
        const jpeg::Chunk at = jpeg::find_chunk(image, segments, chunk);
        return !(jpeg::begin_of(at, ends, chunk) == batch.begins[first_block + block].state());
    };
    bool any = false;
    for (std::uint32_t b = 1 + threadIdx.x; b < blocks; b += counter_threads) any = any || wrong(b);
    if (__syncthreads_or(any)) {
        __shared__ SharedCodes shared_codes;
        const jpeg::Codes codes = shared_codes.load(batch, image);
        if (threadIdx.x == 0) {
            for (std::uint32_t b = 1; b < blocks; ++b)
                if (wrong(b))
                    jpeg::repair(codes, image, segments, batch.words + image.first_word, ends, b * own_chunks);
        }
        __syncthreads();
    }
    const std::uint32_t run = (image.chunks + counter_threads - 1) / counter_threads,
                        begin = min(image.chunks, threadIdx.x * run), end = min(image.chunks, begin + run);
    std::uint32_t own = 0;
    for (std::uint32_t c = begin; c < end; ++c) own += ends[c].blocks();
    std::uint32_t before = sum_before(own);
    for (std::uint32_t c = begin; c < end; ++c) {
        batch.starts[image.first_chunk + c] = before;
        before += ends[c].blocks();
    }
}

std::uint32_t divided(std::int64_t a, std::int64_t b) {
    return static_cast<std::uint32_t>((a + b - 1) / b);
}

}  // namespace

JpegLaunchBlocks jpeg_launch_blocks(const jpeg::Image& image) {
    const std::int64_t quads = (std::int64_t{image.width} + jpeg::together - 1) / jpeg::together * image.height;
    return {divided(image.chunks, own_chunks), divided(image.chunks, jpeg_writer_threads),
            divided(image.blocks(), jpeg_transformer_blocks), divided(quads, jpeg_painter_pixels / jpeg::together)};
}

void launch_jpeg_chunks(const JpegBatch& batch, const JpegLaunchBlocks& blocks, cudaStream_t stream) {
    synchronize_kernel<<<blocks.synchronizers, jpeg_synchronizer_threads, SharedCodes::bytes(batch), stream>>>(batch);
    check_launch("synchronize", stream);
    count_kernel<<<static_cast<unsigned>(batch.images), counter_threads, SharedCodes::bytes(batch), stream>>>(batch);
    check_launch("count", stream);
}

void launch_jpeg(const JpegBatch& batch, const JpegLaunchBlocks& blocks, cudaStream_t stream) {
    check_launch("staging and copies", stream);  // of what was enqueued before
    launch_jpeg_chunks(batch, blocks, stream);
    launch_jpeg_coefficients(batch, blocks, stream);
    launch_jpeg_pixels(batch, blocks, stream);
}

}  // namespace gpuhist::cuda
