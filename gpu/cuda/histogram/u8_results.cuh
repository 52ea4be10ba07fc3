// 8-bit images: from counts to what is written of them, results, tables and normalised copies.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/histogram/brightness.cuh"
#include "cuda/histogram/u8_counters.cuh"
#include "cuda/normalize/lut.cuh"
#include "cuda/pixels/resident.cuh"
#include "cuda/results.cuh"

namespace gpuhist::cuda {
namespace {

/// Where the blocks that share an image of several add what they counted. Zero but for `generation` while none does.
template <int C>
struct Meeting {
    Word counts[rows_of(C) * values];
    BrightnessSums luma;       ///< where it is not counted
    std::uint32_t arrived;     ///< blocks that have added what they found
    std::uint32_t generation;  ///< grows when an image's result is complete
};

/// Where all blocks add what they counted of a single image: two counts under 2^32 in each word.
template <int C>
struct Total {
    Word pairs[rows_of(C) * values / 2];
    BrightnessSums luma;
};

template <int C>
__device__ inline Word counted(const Total<C>& total, std::uint32_t bin) {
    return __ldcg(&total.pairs[bin / 2]) >> bin % 2 * 32 & 0xFFFFFFFFu;
}

template <int C>
struct ByteWorkspace {
    Total<C> totals[2];        ///< used in turn: each launch clears the next one's
    std::uint32_t arrived;     ///< blocks that have added to a total; zero between launches
    std::uint32_t generation;  ///< launches that have used a total
    std::uint32_t completed;   ///< the last of them whose result a block has begun to write, counted from one
    Meeting<C> meetings[1];    ///< one a block
};

constexpr int warps_of_row = values / warp_lanes;

/// Whether all sums over an image fit 32 bits.
__device__ inline bool is_narrow(std::int64_t pixels) {
    constexpr std::int64_t most = 0xFFFFFFFFu / ((values - 1) * (values - 1));
    return pixels <= most;
}

/// Writes the count of a bin, each lane of a warp that of the next one. The warp's part of its row's sums goes to
/// `partial`. `narrow`: see is_narrow.
template <int C>
__device__ inline void write_count(const Common& common, std::int64_t index, bool narrow, std::uint32_t bin,
                                   Word samples, BrightnessSums* partial) {
    const std::uint32_t value = bin % values;
    counts_of(common, index, counted_row(static_cast<int>(bin / values), C, common.rgb))[value] = samples;
    BrightnessSums sums{};
    sums.add(value, samples);
    sums.reduce_over_warp(narrow);
    if (bin % warp_lanes == 0) partial[bin / warp_lanes] = sums;
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

/// The last lanes of a block, which have the least else to do, see to the parts of all rows' sums in turn: the part of
/// this thread, negative where it has none.
template <int C>
__device__ inline int part_of_thread() {
    constexpr int lanes = (rows_of(C) * warps_of_row + warp_lanes - 1) / warp_lanes * warp_lanes;
    return static_cast<int>(threadIdx.x) + lanes - static_cast<int>(blockDim.x);
}
/// Writes what follows from the sums: of `write_counts`, a barrier later, and of luma that is not counted this thread's
/// part.
template <int C>
__device__ inline void write_sums(const Common& common, std::int64_t index, std::int64_t pixels, int rows,
                                  const BrightnessSums* partial, const BrightnessSums& luma) {
    const int part = part_of_thread<C>(), row = part / warps_of_row;
    if (threadIdx.x == 0) write_header(common, index, pixels, Depth::u8, rows_of(C));
    if (part < 0) return;
    BrightnessSums sums = row < rows ? partial[part] : luma;
    sums.template reduce_over_lanes<warps_of_row>();
    if (part % warps_of_row == 0 && row < rows_of(C))
        write_channel(result_of(common, index)->channels[counted_row(row, C, common.rgb)], pixels, sums.sum,
                      sums.squares, ~sums.complement_minimum, sums.maximum);
}

/// What this block's warps found of luma that is not counted.
__device__ inline BrightnessSums found_by_warps(const BrightnessSums* warp_luma, int part) {
    BrightnessSums sums{};
#pragma unroll
    for (int warp = 0; warp < warp_lanes; warp += warps_of_row)
        if (warp + part < static_cast<int>(blockDim.x) / warp_lanes) sums.add(warp_luma[warp + part]);
    return sums;
}
/// This thread's part of it, for write_sums.
template <int C>
__device__ inline BrightnessSums luma_part(const BrightnessSums* warp_luma) {
    const int part = part_of_thread<C>() - C * warps_of_row;
    if (C == 1 || part < 0) return {};
    return found_by_warps(warp_luma, part % warps_of_row);
}
/// The same where others have added to it.
template <int C>
__device__ inline BrightnessSums luma_part(const BrightnessSums& all) {
    if (C == 1 || part_of_thread<C>() != C * warps_of_row) return {};
    return {__ldcg(&all.sum), __ldcg(&all.squares), __ldcg(&all.complement_minimum), __ldcg(&all.maximum)};
}
/// By the last warp of the block.
__device__ inline void add_luma(const BrightnessSums* warp_luma, BrightnessSums& all) {
    if (threadIdx.x < blockDim.x - warp_lanes) return;
    const int lane = threadIdx.x % warp_lanes;
    BrightnessSums sums = found_by_warps(warp_luma, lane % warps_of_row);
    sums.reduce_over_lanes<warps_of_row>();
    if (lane != 0 || sums.complement_minimum == 0) return;
    global_add(reinterpret_cast<Word*>(&all.sum), Word{sums.sum});
    global_add(reinterpret_cast<Word*>(&all.squares), Word{sums.squares});
    global_max(&all.complement_minimum, sums.complement_minimum);
    global_max(&all.maximum, sums.maximum);
}

template <typename O>
__device__ inline O* written_tables(const Common& common, std::int64_t index) {
    return reinterpret_cast<O*>(reinterpret_cast<char*>(result_of(common, index)) + common.layout.tables_offset);
}
/// An image's tables, as a block keeps them. A warp looks at a part of a table at a time, a value a lane.
template <int C, typename O>
struct LutSet {
    static constexpr int most = colors_of(C), parts = values / warp_lanes;

    O value[most * values];
    core::Line<std::uint8_t> lines[most];  ///< one a colour: what the tables say, where `by_line`
    bool by_line;
    Word samples[most * parts];
    std::uint32_t low[most], high[most];
};
/// Makes them from the image's counts, by one block; they are there for all its threads afterwards. `partial`: room for
/// each part's sums.
/// Barriers: the counts, what the parts are in sum, the percentiles and the tables, for all.
template <int C, typename O>
__device__ __noinline__ void build_tables(const Normalization& normalization, const Word* counts,
                                          BrightnessSums* partial, LutSet<C, O>& tables) {
    constexpr int parts = LutSet<C, O>::parts;
    const NormalizeMode mode = normalization.mode;
    const bool joint = C > 1 && normalization.joint, pooled = joint && mode != NormalizeMode::equalize;
    const int end = tables_of(C, normalization) * values, lane = threadIdx.x % warp_lanes;
    auto count = [&](int i) {  // of value i of all tables in a row
        if (pooled) return counts[i] + counts[values + i] + counts[2 * values + i];
        return counts[joint ? C * values + i : i];
    };
    __syncthreads();
#pragma unroll 1
    for (int i = threadIdx.x; i < end; i += blockDim.x) {
        BrightnessSums sums{};
        sums.add(i % values, count(i));
        sums.reduce_over_warp();
        const Word samples = sum_over_warp(count(i));
        if (lane == 0) {
            partial[i / warp_lanes] = sums;
            tables.samples[i / warp_lanes] = samples;
        }
    }
    __syncthreads();
    auto through = [&](int i) {  // samples of its table up to value i
        Word sum = scan_lanes(count(i));
        for (int part = i / values * parts; part < i / warp_lanes; ++part) sum += tables.samples[part];
        return sum;
    };
    auto total = [&](int t) {
        Word sum = 0;
        for (int k = 0; k < parts; ++k) sum += tables.samples[t * parts + k];
        return sum;
    };
    if (mode == NormalizeMode::percentile) {
#pragma unroll 1
        for (int i = threadIdx.x; i < end; i += blockDim.x) {
            const int t = i / values;
            const Word all = total(t), upto = through(i), before = upto - count(i),
                       low_rank = core::nearest_rank(normalization.low, all),
                       high_rank = core::nearest_rank(normalization.high, all);
            if (before < low_rank && low_rank <= upto) tables.low[t] = i % values;
            if (before < high_rank && high_rank <= upto) tables.high[t] = i % values;
        }
        __syncthreads();
    }
#pragma unroll 1
    for (int i = threadIdx.x; i < end; i += blockDim.x) {
        const int t = i / values;
        BrightnessSums sums{};
#pragma unroll
        for (int k = 0; k < parts; ++k) sums.add(partial[t * parts + k]);
        std::uint32_t low = ~sums.complement_minimum, high = sums.maximum;
        if (mode == NormalizeMode::percentile) {
            low = tables.low[t];
            high = tables.high[t];
        }
        TableRecipe<std::uint8_t> recipe;
        const bool equalize = mode == NormalizeMode::equalize;
        recipe.set(mode, low, high, total(t), equalize ? count(t * values + static_cast<int>(low)) : 0, sums.sum,
                   sums.squares);
        tables.value[i] = recipe.template value<O>(i % values, equalize ? through(i) : 0);
        if (i % values == 0) set_lines<C>(normalization, t, recipe.line, tables.lines);
    }
    if (threadIdx.x == 0) tables.by_line = is_stretch(mode);
    __syncthreads();
}
template <int C, typename O>
__device__ inline void write_tables(const Common& common, std::int64_t index, const LutSet<C, O>& tables) {
    for (int v = threadIdx.x; v < tables_of(C, common.normalization) * values; v += blockDim.x)
        written_tables<O>(common, index)[v] = tables.value[v];
}
template <int C, typename O>
__device__ inline void read_tables(const Common& common, std::int64_t index, LutSet<C, O>& tables) {
    for (int v = threadIdx.x; v < tables_of(C, common.normalization) * values; v += blockDim.x)
        tables.value[v] = __ldcg(written_tables<O>(common, index) + v);
    if (threadIdx.x == 0) tables.by_line = false;
    __syncthreads();
}
/// The copy of an image, or of a share of its pieces_of_samples.
template <int C, typename O, class OfImage = NoTile>
__device__ inline void apply_luts(const Common& common, const LutSet<C, O>& tables, const Image& image,
                                  const Share& share, const Output& output, const OfImage& tile = {}) {
    auto apply = [&](auto map) {
        write_mapped<false>(image, share, MappedWriter<std::uint8_t, C, O, decltype(map)>{map, output}, tile);
    };
    if constexpr (std::is_same_v<O, std::uint8_t>)
        if (tables.by_line)
            return common.normalization.mode == NormalizeMode::minmax
                       ? apply(LineMap<std::uint8_t, false>{tables.lines})
                       : apply(LineMap<std::uint8_t, true>{tables.lines});
    apply(TableMap<std::uint8_t, O, true>(tables.value, !common.normalization.joint));
}

/// What a block keeps in shared memory beside its columns; counts and tables only for a normalised copy.
template <int C, typename O, int Rows = rows_of(C), int Threads = block_threads>
struct alignas(dynamic_alignment) Kept {
    BrightnessSums partial[Rows * warps_of_row];
    BrightnessSums warp_luma[C == 1 ? 1 : Threads / warp_lanes];  ///< of colours
    Word counts[std::is_void_v<O> ? 1 : rows_of(C) * values];
    std::conditional_t<std::is_void_v<O>, bool, LutSet<C, O>> tables;
    std::uint32_t taken;  ///< turns, by the block's warps
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
void launch_byte_image(const Tensor& images, CountParameters parameters, std::size_t shared_bytes,
                       const Launch& launch);

}  // namespace gpuhist::cuda
