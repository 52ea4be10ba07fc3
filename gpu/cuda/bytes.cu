// 8-bit images: one bin per possible value, and the brightness sums, in one sweep of the pixels.

#include <cstdint>

#include "cuda/brightness.cuh"
#include "cuda/launch.cuh"
#include "cuda/sweep.cuh"
#include "cuda/tables.cuh"

namespace gpuhist::cuda {
namespace {

template <int C>
__device__ constexpr int row_of_channel(int channel) {
    return channel < luma_row ? channel : channel + 1;
}

/// `Columns`: copies of each bin, as a constant where it is the usual 32; 0: `1 << columns_log2`.
template <int C, int Columns>
struct ByteCounter : PixelVisitor<ByteCounter<C, Columns>, std::uint8_t, C> {
    std::uint32_t* column;  ///< this lane's copy of bin 0, row 0
    int columns_log2;
    bool rgb, count_luma;
    ThreadBrightness brightness;  ///< of luma, where it is not counted

    __device__ void end_of_group() {
        if (C > 1 && !count_luma) brightness.fold();
    }
    __device__ void count(int row, std::uint32_t value) {
        const std::uint32_t bin = row * 256 + value;
        atomicAdd(column + (Columns ? bin * Columns : bin << columns_log2), 1u);
    }
    __device__ void pixel(std::int64_t, std::int64_t, const std::uint8_t (&sample)[C]) {
#pragma unroll
        for (int c = 0; c < C; ++c) count(row_of_channel<C>(c), sample[c]);
        if constexpr (C > 1) {
            const std::uint32_t value = luma_of(sample, rgb);
            if (count_luma)
                count(luma_row, value);
            else
                brightness.add_byte(value);
        }
    }
};

template <int C, int Columns>
__device__ ThreadBrightness sweep_bytes(const CountParameters& p, std::uint32_t* shared) {
    ByteCounter<C, Columns> counter;
    counter.column = shared + threadIdx.x % (1u << p.columns_log2);
    counter.columns_log2 = p.columns_log2;
    counter.rgb = p.rgb;
    counter.count_luma = p.count_luma;
    sweep<std::uint8_t, C, C == 3 ? 1 : 2>(p.image, static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                                           static_cast<std::int64_t>(gridDim.x) * blockDim.x, counter);
    return counter.brightness;
}

/// Counts per value of every channel and of luma, and the brightness sums: from the block's luma counts where there are
/// some (grey: from its counts), else from the pixels.
/// Launch: any grid of whole warps. Every thread takes every n-th group of pixels of the whole grid.
/// A block keeps `1 << columns_log2` copies of each bin side by side, a lane adding to copy lane mod copies: with 32,
/// no two lanes of a warp ever meet in a bank, whatever the picture. Shared memory: rows × 1 KiB × copies. Barriers:
/// after clearing, since any lane may count into any bin; before merging, for the same reason. Bytes: each pixel is
/// read once. Limit: fewer than 2^32 pixels a block, for the 32-bit counters.
template <int C>
__device__ void count_bytes(const CountParameters& p, std::uint32_t* shared) {
    const int words = rows_of(C) * 256 << p.columns_log2, columns = 1 << p.columns_log2;
    for (int i = threadIdx.x; i < words; i += blockDim.x) shared[i] = 0;
    __syncthreads();
    ThreadBrightness brightness = p.columns_log2 == 5 ? sweep_bytes<C, 32>(p, shared) : sweep_bytes<C, 0>(p, shared);
    __syncthreads();

    constexpr int bright_row = C == 1 ? 0 : luma_row;
    for (int bin = threadIdx.x; bin < rows_of(C) * 256; bin += blockDim.x) {
        std::uint64_t sum = 0;  // each lane starts at another column: 32 bins' copies of one column share a bank
        for (int i = 0; i < columns; ++i) sum += shared[(bin << p.columns_log2) + (i + bin) % columns];
        if (sum == 0) continue;
        atomicAdd(p.counts + bin, Word{sum});
        if (bin / 256 == bright_row) brightness.add(bin % 256, sum);
    }
    __shared__ std::uint64_t scratch[warp_lanes];
    brightness.store(p.brightness, scratch);
}

template <int C>
__global__ void __launch_bounds__(block_threads) count_kernel(const __grid_constant__ CountParameters p) {
    count_bytes<C>(p, dynamic_shared);
}

/// Analyse, build the tables, apply them: phases 0, 1, 2. Counts are complete before tables are derived, tables before
/// they are used.
template <int C, typename O>
__global__ void __launch_bounds__(block_threads)
    normalize_kernel(const __grid_constant__ CountParameters p, int first, int last) {
    for (int phase = first; phase < last; ++phase) {
        wait_for_phase(phase, first);
        if (phase == 0) count_bytes<C>(p, dynamic_shared);
        if (phase == 1) build_tables<std::uint8_t, C, O>(p.counts, p.copy);
        if (phase == 2) apply_tables<std::uint8_t, C, O>(p.image, p.copy, dynamic_shared);
    }
}

}  // namespace

void launch_bytes(CountParameters p, int channels, const Launch& launch) {
    const std::size_t copy_bytes = rows_of(channels) * 256 * sizeof(std::uint32_t);
    p.columns_log2 = columns_log2(launch, copy_bytes, 0);
    const std::size_t shared_bytes = copy_bytes << p.columns_log2;
    const std::int64_t blocks = blocks_for(p.image.pixels(), byte_pixels_per_block);
    const Shape shape{blocks, block_threads, shared_bytes};
    with_channels(channels, [&](auto constant) {
        constexpr int C = decltype(constant)::value;
        if (!p.copy.output)
            launch_kernel(launch, count_kernel<C>, false, shape, p);
        else if (p.copy.normalization.mode == NormalizeMode::zscore)
            launch_phases(launch, normalize_kernel<C, float>, 3, shape, p);
        else
            launch_phases(launch, normalize_kernel<C, std::uint8_t>, 3, shape, p);
    });
}

}  // namespace gpuhist::cuda
