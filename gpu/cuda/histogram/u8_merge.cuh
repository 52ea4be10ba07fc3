// 8-bit images, merge: from a block's columns to an image's counts, from its warps' sums of luma to the image's.
#pragma once

#include <cstdint>

#include "cuda/block/shared_memory.cuh"
#include "cuda/histogram/brightness.cuh"
#include "cuda/histogram/u8_accumulate.cuh"

namespace gpuhist::cuda {
namespace {

/// A bin's count over a block's 32 columns, which are zero afterwards if `clear`.
template <int rows>
__device__ inline std::uint32_t gather(std::uint32_t bin, bool clear) {
    constexpr std::uint32_t quads = 8;
    uint4* first = reinterpret_cast<uint4*>(dynamic_shared + first_column<rows>(bin / values, bin % values));
    uint4 quad[quads];
    auto place = [&](std::uint32_t i) { return first + (i + bin) % quads; };  // neighbours use other banks
#pragma unroll
    for (std::uint32_t i = 0; i < quads; ++i) quad[i] = *place(i);
    std::uint32_t sum = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < quads; ++i) sum += quad[i].x + quad[i].y + quad[i].z + quad[i].w;
    if (clear) {
#pragma unroll
        for (std::uint32_t i = 0; i < quads; ++i) *place(i) = uint4{};
    }
    return sum;
}
/// A bin's count over `1 << columns_log2` columns, which are zero afterwards.
template <int C>
__device__ inline std::uint32_t gather_any(std::uint32_t bin, int rows, int columns_log2) {
    if (columns_log2 == 5) return rows == C ? gather<C>(bin, true) : gather<counted_rows<C, true>>(bin, true);
    std::uint32_t sum = 0;
    for (std::uint32_t i = bin << columns_log2; i < (bin + 1) << columns_log2; ++i) {
        sum += dynamic_shared[i];
        dynamic_shared[i] = 0;
    }
    return sum;
}

/// Sums of the blocks that share an image of several. Zero but for `generation` while none does.
template <int C>
struct Meeting {
    Word counts[rows_of(C) * values];
    BrightnessSums luma;       ///< where it is not counted
    std::uint32_t arrived;     ///< blocks that have added what they found
    std::uint32_t generation;  ///< grows when an image's result is complete
};

/// Sums of all blocks over a single image: two counts under 2^32 in each word.
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
struct U8Workspace {
    Total<C> totals[2];        ///< used in turn: each launch clears the next one's
    std::uint32_t arrived;     ///< blocks that have added to a total; zero between launches
    std::uint32_t generation;  ///< launches that have used a total
    std::uint32_t completed;   ///< the last of them whose result a block has begun to write, counted from one
    Meeting<C> meetings[1];    ///< one a block
};

constexpr int warps_of_row = values / warp_lanes;

/// The last lanes of a block, which have the least else to do, see to the parts of all rows' sums in turn: the part of
/// this thread, negative where it has none.
template <int C>
__device__ inline int part_of_thread() {
    constexpr int lanes = (rows_of(C) * warps_of_row + warp_lanes - 1) / warp_lanes * warp_lanes;
    return static_cast<int>(threadIdx.x) + lanes - static_cast<int>(blockDim.x);
}
/// Sums of luma that is not counted, as this block's warps found it.
__device__ inline BrightnessSums found_by_warps(const BrightnessSums* warp_luma, int part) {
    BrightnessSums sums{};
#pragma unroll
    for (int warp = 0; warp < warp_lanes; warp += warps_of_row)
        if (warp + part < static_cast<int>(blockDim.x) / warp_lanes) sums.add(warp_luma[warp + part]);
    return sums;
}
/// Part of them for this thread, for write_sums.
template <int C>
__device__ inline BrightnessSums luma_part(const BrightnessSums* warp_luma) {
    const int part = part_of_thread<C>() - C * warps_of_row;
    if (C == 1 || part < 0) return {};
    return found_by_warps(warp_luma, part % warps_of_row);
}
/// Part for this thread of sums that others have added to.
template <int C>
__device__ inline BrightnessSums luma_part(const BrightnessSums& all) {
    if (C == 1 || part_of_thread<C>() != C * warps_of_row) return {};
    return {__ldcg(&all.sum), __ldcg(&all.squares), __ldcg(&all.complement_minimum), __ldcg(&all.maximum)};
}
/// Adds the block's sums to the image's. By its last warp.
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

}  // namespace
}  // namespace gpuhist::cuda
