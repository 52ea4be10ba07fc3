// LUTs of normalised 8- and 16-bit images, from counts: one builder for both.
#pragma once

#include <cstdint>

#include "core/integers.hpp"
#include "cuda/block/rank_search.cuh"
#include "cuda/block/reduce.cuh"
#include "cuda/host/parameters.hpp"
#include "normalize/modes.hpp"

namespace gpuhist::cuda {

/// Number of an image's LUTs: one for all colours, or one for each.
__device__ inline int tables_of(int channels, const Normalization& normalization) {
    return normalization.joint ? 1 : colors_of(channels);
}

/// Modes whose LUTs are a core::Line.
constexpr bool is_stretch(NormalizeMode mode) {
    return mode == NormalizeMode::minmax || mode == NormalizeMode::percentile;
}

/// Numbers of all samples that a LUT is for.
struct LutNumbers {
    std::uint32_t low, high;  ///< extremes, or percentiles
    std::uint64_t samples, sum;
    core::u128 squares;
};

/// Recipe by which a LUT's values follow from what is known of a colour channel, or of all together.
template <typename T>
struct LutRecipe {
    NormalizeMode mode;
    core::Line<T> line;      ///< stretch
    core::MeanStd mean_std;  ///< z-score
    bool keep;               ///< equalisation: samples stay as they are
    std::uint64_t skipped;   ///< likewise: samples of the lowest value
    float scale;             ///< likewise

    static constexpr std::uint32_t top = (1u << 8 * sizeof(T)) - 1;

    /// `lowest_samples`: those of the lowest value, for an equalisation.
    __device__ void set(NormalizeMode of, const LutNumbers& n, std::uint64_t lowest_samples) {
        mode = of;
        if (mode == NormalizeMode::zscore) {
            mean_std = core::mean_std(n.samples, n.sum, n.squares);
        } else if (mode == NormalizeMode::equalize) {
            keep = n.low == n.high;
            skipped = lowest_samples;
            scale = keep ? 0 : core::equalize_scale(n.samples, skipped, top);
        } else {
            line = core::Line<T>::between(n.low, n.high);
        }
    }
    /// `through`: samples up to this value, for an equalisation.
    template <typename O>
    __device__ O value(std::uint32_t v, std::uint64_t through) const {
        if (mode == NormalizeMode::zscore) return static_cast<O>(core::zscore(v, mean_std.mean, mean_std.std));
        if (mode != NormalizeMode::equalize) return static_cast<O>(line.map(v));
        if (keep) return static_cast<O>(v);
        return static_cast<O>(core::equalize(through > skipped ? through - skipped : 0, scale, top));
    }
};

/// Sets the line of each colour that LUT t is for, where its mode is a stretch. By one thread.
template <int C, typename T>
__device__ inline void set_lines(const Normalization& normalization, int t, const core::Line<T>& line,
                                 core::Line<T>* lines) {
    if (!is_stretch(normalization.mode)) return;
    for (int c = t; c < (C > 1 && normalization.joint ? 3 : t + 1); ++c) lines[c] = line;
}

/// Rows of counts that LUT t is for, in the order in which u8 and u16 are counted: a colour's, luma's, or those of
/// three colours together.
template <int C>
struct LutRows {
    bool together;
    int row;

    __device__ LutRows(const Normalization& normalization, int t) {
        const bool joint = C > 1 && normalization.joint;
        together = joint && normalization.mode != NormalizeMode::equalize;
        row = together ? 0 : joint ? C : t;
    }
    /// `of(row)` of the row, or of the rows together.
    template <class Of>
    __device__ Word sum(Of of) const {
        return together ? of(0) + of(1) + of(2) : of(row);
    }
};

/// Values that share the high byte: of u8 all, of u16 those whose samples are added up too, for what needs running
/// sums.
constexpr int page_values = 256;
constexpr bool needs_pages(NormalizeMode mode) {
    return mode == NormalizeMode::percentile || mode == NormalizeMode::equalize;
}

/// Makes the recipe of a LUT, by a warp. `counts`: see build_luts.
template <typename T, int C, class Counts>
__device__ inline void make_recipe(const Normalization& normalization, const Counts& counts, const LutRows<C>& rows,
                                   LutRecipe<T>& recipe) {
    LutNumbers numbers = counts.numbers(rows);
    auto count = [&](int value) { return rows.sum([&](int row) { return counts.count(row, value); }); };
    const Word lowest_samples =
        normalization.mode == NormalizeMode::equalize ? count(static_cast<int>(numbers.low)) : 0;
    if (normalization.mode == NormalizeMode::percentile) {
        auto find = [&](double percent) {
            std::uint64_t rank = core::nearest_rank(percent, numbers.samples) - 1;
            std::uint32_t first = 0;
            if constexpr (sizeof(T) > 1) {
                auto count_page = [&](int page) {
                    return rows.sum([&](int row) { return counts.count_page(row, page); });
                };
                const Located page = WarpBins<page_values / warp_lanes, decltype(count_page)>(count_page).locate(rank);
                first = page.bin * page_values;
                rank = page.within;
            }
            auto count_value = [&](int k) { return count(first + k); };
            return first + WarpBins<page_values / warp_lanes, decltype(count_value)>(count_value).locate(rank).bin;
        };
        numbers.low = find(normalization.low);
        numbers.high = find(normalization.high);
    }
    if (threadIdx.x % warp_lanes == 0) recipe.set(normalization.mode, numbers, lowest_samples);
}

/// Builds an image's LUTs, one behind the other in `luts`, together with other blocks, of which this one has the given
/// rank: a warp 32 values at a time. Recipes and lines, a line a colour, each block makes for itself; they are there
/// for all its threads behind the barrier inside. `counts` knows, of the rows as they are counted,
///     count(row, value)      samples of a value,
///     count_page(row, page)  samples of the values that share a page; u16,
///     numbers(rows)          LutNumbers with the extremes, by a warp.
template <typename T, int C, typename O, class Counts>
__device__ inline void build_luts(const Normalization& normalization, const Counts& counts, LutRecipe<T>* recipes,
                                  core::Line<T>* lines, O* luts, int rank, int blocks) {
    constexpr int values = 1 << 8 * sizeof(T), items = values / warp_lanes;
    const int tables = tables_of(C, normalization), warps = static_cast<int>(blockDim.x) / warp_lanes,
              warp = static_cast<int>(threadIdx.x) / warp_lanes, lane = threadIdx.x % warp_lanes;
    if (warp < tables) {
        make_recipe(normalization, counts, LutRows<C>(normalization, warp), recipes[warp]);
        if (lane == 0) set_lines<C>(normalization, warp, recipes[warp].line, lines);
    }
    __syncthreads();  // the recipes and lines, for all
#pragma unroll 1
    for (int item = warp * blocks + rank; item < tables * items; item += warps * blocks) {
        const int t = item / items, first = item % items * warp_lanes;
        Word through = 0;
        if (normalization.mode == NormalizeMode::equalize) {
            const LutRows<C> rows(normalization, t);
            auto count = [&](int value) { return rows.sum([&](int row) { return counts.count(row, value); }); };
            const int page = first / page_values;
            Word before = 0;
            if constexpr (sizeof(T) > 1)
#pragma unroll
                for (int k = 0; k < values / page_values / warp_lanes; ++k)
                    if (const int p = k * warp_lanes + lane; p < page)
                        before += rows.sum([&](int row) { return counts.count_page(row, p); });
#pragma unroll
            for (int k = 0; k < page_values / warp_lanes; ++k)
                if (const int v = page * page_values + k * warp_lanes + lane; v < first) before += count(v);
            through = reduce_warp(before, Sum{}) + scan_lanes(count(first + lane));
        }
        luts[item * warp_lanes + lane] = recipes[t].template value<O>(first + lane, through);
    }
    __syncwarp();  // what follows a call may be a barrier
}

}  // namespace gpuhist::cuda
