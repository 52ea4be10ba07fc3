// 16-bit images: one bin per possible value, and the brightness sums, in one sweep of the pixels.

#include <cstdint>

#include "cuda/brightness.cuh"
#include "cuda/launch.cuh"
#include "cuda/packed.cuh"
#include "cuda/sweep.cuh"
#include "cuda/tables.cuh"

namespace gpuhist::cuda {
namespace {

template <int C>
struct WordCounter : PixelVisitor<WordCounter<C>, std::uint16_t, C> {
    int row;
    bool rgb, count;
    RunCounter runs;
    ThreadBrightness brightness;

    __device__ void pixel(std::int64_t, std::int64_t, const std::uint16_t (&sample)[C]) {
        std::uint32_t value = sample[0];
        if constexpr (C > 1) {
            value = row == luma_row ? luma_of(sample, rgb) : row == 1 ? sample[1] : row == 2 ? sample[2] : value;
            if constexpr (C == 4) value = row == 4 ? sample[3] : value;
        }
        if (count)
            runs.add(value);
        else
            brightness.add(value);
    }
};

/// Counts per value of every channel and of luma, and the brightness sums, from counts or pixels as in count_bytes.
/// Launch: at least rows × slices blocks of whole warps. 65536 counters of 16 bits fill 128 KiB, so a block counts one
/// row of the result (and, where shared memory is smaller, one slice of its values): blocks are dealt to these roles in
/// turn, and those of a role share the pixels. Blocks of different roles read the same pixels at about the same time,
/// mostly from L2. Barriers: after clearing and before merging, since any thread may count any value. Limit: fewer than
/// 2^32 pixels a block.
template <int C>
__device__ void count_words(const CountParameters& p, std::uint32_t* shared) {
    const int roles = rows_of(C) << p.parts_log2, values = 65536 >> p.parts_log2;
    const int role = blockIdx.x % roles, team_rank = blockIdx.x / roles;
    const int team = gridDim.x / roles + (static_cast<int>(gridDim.x) % roles > role);
    const int row = role >> p.parts_log2, first = (role - (row << p.parts_log2)) * values;
    const bool bright_row = row == (C == 1 ? 0 : luma_row);
    const bool count = C == 1 || row != luma_row || p.count_luma;
    if (!count && first != 0) return;  // the brightness sums need one block's look at each pixel

    WordCounter<C> counter;
    counter.row = row;
    counter.rgb = p.rgb;
    counter.count = count;
    const PackedCounters counters{shared, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(values),
                                  p.counts + row * 65536 + first, bright_row ? p.brightness : nullptr};
    counter.runs.counters = counters;
    counters.clear();
    __syncthreads();
    sweep<std::uint16_t, C, C == 3 ? 1 : 2>(p.image, static_cast<std::int64_t>(team_rank) * blockDim.x + threadIdx.x,
                                            static_cast<std::int64_t>(team) * blockDim.x, counter);
    counter.runs.flush();
    __syncthreads();
    if (count)
        counters.merge([&](std::uint32_t value, std::uint32_t samples) {
            if (bright_row) counter.brightness.add(value, samples);
        });
    __shared__ std::uint64_t scratch[warp_lanes];
    if (bright_row) counter.brightness.store(p.brightness, scratch);
}

template <int C>
__global__ void __launch_bounds__(block_threads, 1) count_kernel(const __grid_constant__ CountParameters p) {
    count_words<C>(p, dynamic_shared);
}

/// Analyse, build the tables, apply them: phases 0, 1, 2. Counts are complete before tables are derived, tables before
/// they are used.
template <int C, typename O>
__global__ void __launch_bounds__(block_threads)
    normalize_kernel(const __grid_constant__ CountParameters p, int first, int last) {
    for (int phase = first; phase < last; ++phase) {
        wait_for_phase(phase, first);
        if (phase == 0) count_words<C>(p, dynamic_shared);
        if (phase == 1) build_tables<std::uint16_t, C, O>(p.counts, p.copy);
        if (phase == 2) apply_tables<std::uint16_t, C, O>(p.image, p.copy, dynamic_shared);
    }
}

}  // namespace

void launch_words(CountParameters p, int channels, const Launch& launch) {
    p.parts_log2 = parts_log2(launch);
    const std::size_t shared_bytes = std::size_t{131072} >> p.parts_log2;
    const std::int64_t blocks =
        blocks_for(p.image.pixels(), word_pixels_per_block) * (rows_of(channels) << p.parts_log2);
    const Shape shape{blocks, block_threads, shared_bytes};
    with_channels(channels, [&](auto constant) {
        constexpr int C = decltype(constant)::value;
        if (!p.copy.output)
            launch_kernel(launch, count_kernel<C>, false, shape, p);
        else if (p.copy.normalization.mode == NormalizeMode::zscore)
            launch_phases(launch, normalize_kernel<C, float>, 3, shape, p);
        else
            launch_phases(launch, normalize_kernel<C, std::uint16_t>, 3, shape, p);
    });
}

}  // namespace gpuhist::cuda
