// LUTs of normalised 8- and 16-bit images, from counts: one builder for both.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

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

/// Whether a mode's LUTs are a core::Line.
template <class Mode>
constexpr bool is_stretch = std::is_base_of_v<core::Line<std::uint8_t>, typename Mode::template Table<std::uint8_t>>;

/// Type of the samples that a mode writes for those of type T.
template <class Mode, typename T>
using Written = std::conditional_t<traits_of(Mode::mode).real, float, T>;

/// Numbers of all samples that a LUT is for.
struct LutNumbers {
    std::uint32_t low, high;  ///< extremes
    std::uint64_t samples, sum;
    core::u128 squares;
};

/// Room for any mode's Table.
struct alignas(8) TableRoom {
    char bytes[32];
};

/// Rows of counts that LUT t is for, in the order in which u8 and u16 are counted: a colour's, luma's, or those of
/// three colours together.
template <int C>
struct LutRows {
    bool together;
    int row;

    __device__ LutRows(const Normalization& normalization, bool by_luma, int t) {
        const bool joint = C > 1 && normalization.joint;
        together = joint && !by_luma;
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
constexpr bool needs_pages(NormalizeNeeds needs) {
    return needs == NormalizeNeeds::ranks || needs == NormalizeNeeds::counts;
}

/// Facts that a LUT's values follow from, by a warp. `counts`: see build_luts.
template <class Mode, typename T, int C, class Counts>
__device__ inline core::IntegerFacts lut_facts(const Normalization& normalization, const Counts& counts,
                                               const LutRows<C>& rows) {
    constexpr NormalizeNeeds needs = traits_of(Mode::mode).needs;
    const LutNumbers numbers = counts.numbers(rows);
    core::IntegerFacts facts{std::numeric_limits<T>::lowest(), numbers.low, numbers.high, numbers.samples};
    auto count = [&](int value) { return rows.sum([&](int row) { return counts.count(row, value); }); };
    if constexpr (needs == NormalizeNeeds::counts) facts.lowest_samples = count(static_cast<int>(facts.low));
    if constexpr (needs == NormalizeNeeds::mean_std)
        facts.mean_std = core::mean_std(numbers.samples, numbers.sum, numbers.squares);
    if constexpr (needs == NormalizeNeeds::ranks) {
        auto find = [&](double percent) {
            std::uint64_t rank = core::nearest_rank(percent, facts.samples) - 1;
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
        facts.low = find(normalization.low);
        facts.high = find(normalization.high);
    }
    return facts;
}

/// Builds an image's LUTs, one behind the other in `luts`, together with other blocks, of which this one has the given
/// rank: a warp 32 values at a time. Tables and lines, a line a colour where the mode is a stretch, each block makes
/// for itself; they are there for all its threads behind the barrier inside. `counts` knows, of the rows as they are
/// counted,
///     count(row, value)      samples of a value,
///     count_page(row, page)  samples of the values that share a page; u16,
///     numbers(rows)          LutNumbers with the extremes, by a warp.
template <class Mode, typename T, int C, class Counts>
__device__ inline void build_luts(const Normalization& normalization, const Counts& counts, TableRoom* room,
                                  core::Line<T>* lines, Written<Mode, T>* luts, int rank, int blocks) {
    using Table = typename Mode::template Table<T>;
    static_assert(sizeof(Table) <= sizeof(TableRoom) && std::is_trivially_copyable_v<Table>);
    constexpr bool by_luma = traits_of(Mode::mode).joint_by_luma;
    constexpr int values = 1 << 8 * sizeof(T), items = values / warp_lanes;
    auto* tables = reinterpret_cast<Table*>(room);
    const int count_of_tables = tables_of(C, normalization), warps = static_cast<int>(blockDim.x) / warp_lanes,
              warp = static_cast<int>(threadIdx.x) / warp_lanes, lane = threadIdx.x % warp_lanes;
    if (warp < count_of_tables) {
        const core::IntegerFacts facts =
            lut_facts<Mode, T>(normalization, counts, LutRows<C>(normalization, by_luma, warp));
        if (lane == 0) {
            tables[warp] = Table(facts);
            if constexpr (is_stretch<Mode>)
                for (int c = warp; c < (C > 1 && normalization.joint ? 3 : warp + 1); ++c) lines[c] = tables[warp];
        }
    }
    __syncthreads();  // the tables and lines, for all
#pragma unroll 1
    for (int item = warp * blocks + rank; item < count_of_tables * items; item += warps * blocks) {
        const int t = item / items, first = item % items * warp_lanes;
        Word through = 0;
        if constexpr (traits_of(Mode::mode).needs == NormalizeNeeds::counts) {
            const LutRows<C> rows(normalization, by_luma, t);
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
        luts[item * warp_lanes + lane] = static_cast<Written<Mode, T>>(tables[t](first + lane, through));
    }
    __syncwarp();  // what follows a call may be a barrier
}

}  // namespace gpuhist::cuda
