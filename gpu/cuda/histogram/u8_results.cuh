// 8-bit images, finish: from counts to results, LUTs and normalised copies.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/histogram/brightness.cuh"
#include "cuda/histogram/u8_merge.cuh"
#include "cuda/normalize/lut.cuh"
#include "cuda/pixels/resident.cuh"
#include "cuda/results.cuh"

namespace gpuhist::cuda {
namespace {

/// Whether all sums over an image fit 32 bits.
__device__ inline bool is_narrow(std::int64_t pixels) {
    constexpr std::int64_t most = 0xFFFFFFFFu / ((values - 1) * (values - 1));
    return pixels <= most;
}

/// Sums up a warp's part of a row, of which each lane has the next bin, to `partial`. `narrow`: see is_narrow.
__device__ inline void sum_up(bool narrow, std::uint32_t bin, Word samples, BrightnessSums* partial) {
    BrightnessSums sums{};
    sums.add(bin % values, samples);
    sums.reduce_over_warp(narrow);
    if (bin % warp_lanes == 0) partial[bin / warp_lanes] = sums;
}
/// Writes the count of a bin, and sums it up.
template <int C>
__device__ inline void write_count(const Common& common, std::int64_t index, bool narrow, std::uint32_t bin,
                                   Word samples, BrightnessSums* partial) {
    counts_of(common, index, counted_row(static_cast<int>(bin / values), C, common.rgb))[bin % values] = samples;
    sum_up(narrow, bin, samples, partial);
}
/// Writes an image's counts: `count(bin)` of every row's values.
template <int C, class Count>
__device__ inline void write_counts(const Common& common, std::int64_t index, std::int64_t pixels, int rows,
                                    BrightnessSums* partial, Count count) {
    const bool narrow = is_narrow(pixels);
#pragma unroll 1
    for (std::uint32_t bin = threadIdx.x; bin < static_cast<std::uint32_t>(rows * values); bin += blockDim.x)
        write_count<C>(common, index, narrow, bin, count(bin), partial);
}

/// Writes what follows from the sums of `write_counts`, a barrier later, and this thread's part of uncounted luma's.
template <int C>
__device__ inline void write_sums(const Common& common, std::int64_t index, std::int64_t pixels, int rows,
                                  const BrightnessSums* partial, const BrightnessSums& luma) {
    const int part = part_of_thread<C>(), row = part / warps_of_row;
    if (threadIdx.x == 0) write_header(common, index, pixels, Depth::u8, rows_of(C));
    if (part < 0) return;
    BrightnessSums sums = row < rows ? partial[part] : luma;
    sums.template reduce_over_lanes<warps_of_row>();
    if (part % warps_of_row == 0 && row < rows_of(C))
        write_channel(result_of(common, index)->channels[counted_row(row, C, common.rgb)], counted_samples(pixels),
                      sums.sum, sums.squares, ~sums.complement_minimum, sums.maximum);
}

/// Counts of an image in shared memory, and the parts of its rows' sums, as build_luts asks for them.
template <int C>
struct BlockCounts {
    const Word* counts;
    const BrightnessSums* partial;
    std::int64_t pixels;

    __device__ Word count(int row, int value) const { return counts[row * values + value]; }
    __device__ LutNumbers numbers(const LutRows<C>& rows) const {
        const int lane = threadIdx.x % warp_lanes, together = rows.together ? 3 : 1;
        BrightnessSums sums{};
        if (lane < together * warps_of_row) sums = partial[rows.row * warps_of_row + lane];
        sums.reduce_over_warp();
        return {~sums.complement_minimum, sums.maximum, static_cast<std::uint64_t>(together * counted_samples(pixels)),
                sums.sum, sums.squares};
    }
};
/// LUTs of an image, as a block keeps them.
template <int C, typename O>
struct BlockLuts {
    O value[colors_of(C) * values];
    core::Line<std::uint8_t> lines[colors_of(C)];  ///< one a colour: what the LUTs say, where `by_line`
    TableRoom room[colors_of(C)];
    bool by_line;
};
/// Makes them from the image's counts and their sums, by one block; they are there for all its threads afterwards.
/// Barriers: the counts, the recipes and the LUTs, for all.
template <int C, typename O>
__device__ __noinline__ void make_luts(const Normalization& normalization, const BlockCounts<C> counts,
                                       BlockLuts<C, O>& tables) {
    __syncthreads();
    core::with_mode(normalization.mode, [&](auto mode) {
        using Mode = decltype(mode);
        if constexpr (std::is_same_v<O, Written<Mode, std::uint8_t>>)
            build_luts<Mode, std::uint8_t, C>(normalization, counts, tables.room, tables.lines, tables.value, 0, 1);
        if (threadIdx.x == 0) tables.by_line = is_stretch<Mode>;
    });
    __syncthreads();
}
template <int C, typename O>
__device__ inline void write_luts(const Common& common, std::int64_t index, const BlockLuts<C, O>& tables) {
    for (int v = threadIdx.x; v < tables_of(C, common.normalization) * values; v += blockDim.x)
        luts_of<O>(common, index)[v] = tables.value[v];
}
template <int C, typename O>
__device__ inline void read_luts(const Common& common, std::int64_t index, BlockLuts<C, O>& tables) {
    for (int v = threadIdx.x; v < tables_of(C, common.normalization) * values; v += blockDim.x)
        tables.value[v] = __ldcg(luts_of<O>(common, index) + v);
    if (threadIdx.x == 0) tables.by_line = false;
    __syncthreads();
}
/// Writes the copy of an image, or of a share of its pieces_of_samples.
template <int C, typename O, class OfImage = NoTile>
__device__ inline void apply_luts(const Common& common, const BlockLuts<C, O>& tables, const Image& image,
                                  const Share& share, const Output& output, const OfImage& tile = {}) {
    auto apply = [&](auto map) {
        write_mapped(image, share, MappedWriter<std::uint8_t, C, O, decltype(map)>{map, output}, tile);
    };
    if constexpr (std::is_same_v<O, std::uint8_t>)
        if (tables.by_line)
            return core::with_mode(common.normalization.mode, [&](auto mode) {
                using Mode = decltype(mode);
                if constexpr (is_stretch<Mode>) apply(LineMap<std::uint8_t, Mode>{tables.lines});
            });
    apply(LutMap<std::uint8_t, O, true>(tables.value, !common.normalization.joint));
}

/// Shared memory of a block beside its columns; counts and LUTs only for a normalised copy.
template <int C, typename O, int Rows = rows_of(C), int Threads = block_threads>
struct alignas(dynamic_alignment) Kept {
    BrightnessSums partial[Rows * warps_of_row];
    BrightnessSums warp_luma[C == 1 ? 1 : Threads / warp_lanes];  ///< of colours
    Word counts[std::is_void_v<O> ? 1 : rows_of(C) * values];
    std::conditional_t<std::is_void_v<O>, bool, BlockLuts<C, O>> luts;
    std::uint32_t launch;
    bool completes;  ///< the result is this block's to write
};
static_assert(sizeof(Kept<4, float>) <= static_shared_bytes);
static_assert(sizeof(Kept<1, std::uint8_t>) <= 3072, "leaves room for 12 rounds of a Tile, 25 MB, on a Hopper GPU");

/// Calls `function` with whether luma is counted, as a constant.
template <int C, class Function>
auto with_luma(const CountParameters& p, Function function) {
    if constexpr (C > 1)
        if (p.count_luma) return function(std::true_type{});
    return function(std::false_type{});
}

}  // namespace

/// Enqueues the kernel of a single image under 2^32 pixels; `shared_bytes`: its counters', 32 columns of them.
template <int C>
void launch_u8_image(const Tensor& images, CountParameters parameters, std::size_t shared_bytes, const Launch& launch);

}  // namespace gpuhist::cuda
