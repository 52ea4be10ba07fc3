// What is known of an f32 image, in device memory, and the threads that find it out.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/bins.hpp"
#include "core/float_details.hpp"
#include "cuda/block/reduce.cuh"
#include "cuda/block/shared_memory.cuh"
#include "cuda/host/parameters.hpp"
#include "cuda/pixels/resident.cuh"
#include "cuda/pixels/sweep.cuh"
#include "cuda/tuning.hpp"
#include "statistics/float_analysis.hpp"

namespace gpuhist::cuda {

enum class Step : std::uint8_t {
    first_sweep,
    plan,
    refine,
    second_sweep,
    sum_up,
    finish,
    count_equalized,
    equalize,
    apply
};

/// How images are gone through: the same for all of a launch.
struct FloatWork : FloatParameters {
    static constexpr int most_steps = static_cast<int>(Step::apply) + 1;
    int steps;
    Step step[most_steps];
    bool backwards[most_steps];   ///< every other sweep of the pixels, see Share
    int map_log2;                 ///< see LowCounter
    bool slots_fit;               ///< all rows' Slots fit a block's shared memory
    bool guesses;                 ///< see Guess
    std::uint32_t listed_of_row;  ///< fours of samples that a block has room for
    bool refines;                 ///< middles are counted where that is worth it
    bool wide;                    ///< so many counts that all blocks write them
    int tile_rounds;              ///< of a Tile
    std::uint32_t tile_at;        ///< where in dynamic shared memory it begins
};

namespace {

/// Σ of each of the moments, of its low and middle 32 and its high 64 bits.
using PartSums = Word[4][3];
__device__ inline Word part_of(core::i128 sum, int part) {
    const auto bits = static_cast<core::u128>(sum);
    const auto word = static_cast<Word>(part == 2 ? bits >> 64 : bits);
    return part == 0 ? word & 0xFFFFFFFFu : part == 1 ? word >> 32 : word;
}
__device__ inline core::i128 sum_of(const Word (&parts)[3]) {
    return static_cast<core::i128>(parts[0] + (static_cast<core::u128>(parts[1]) << 32) +
                                   (static_cast<core::u128>(parts[2]) << 64));
}

/// What all blocks add up about one row, zero between images: in sweep 1, with extremes as keys, a minimum as the
/// complement;
struct Extremes {
    Word nan, positive_infinite, negative_infinite;
    std::uint32_t complement_minimum_key, maximum_key;
};
/// and in sweep 2, of the finite samples.
struct Findings : Extremes {
    Word below, above;
    PartSums sums;
};

struct FloatRow {
    Findings found;
    double pivot;
    std::int32_t exponent;
    std::uint32_t again;           ///< the pivot was poor: the moments are summed once more
    core::CentralMoments central;  ///< of full analyses, where the pivot was not poor
    core::RankPlan ranks;
    float order[core::max_ranks];
};

/// What a colour channel's values are mapped by.
struct Mapping {
    bool keep;         ///< constant, or without a finite value: left as it is
    double low, high;  ///< what is mapped to 0 and 1; or mean and std
};

struct FloatState {
    FloatRow rows[core::float_rows];
    Extremes sampled[sample_parts][core::float_rows];  ///< of the parts of a sample of the pixels
    std::uint32_t belied;                              ///< a pixel is not what the sample let expect, see Guess
    std::uint32_t without;  ///< so many images from here on are analysed without a guess; stays
    std::uint32_t doubts;   ///< so many were to be, the last time one was of no use, or none since; stays
    Mapping maps[3];
    Range equalized;        ///< the range of colours and luma
    std::uint32_t narrow;   ///< so many samples lie under the high halves wanted that middles are counted
    std::uint32_t arrived;  ///< blocks that have come to the end of a step
};

/// The workspace: two states, used by images in turn, so that the next image's first sweep may begin while the last
/// block writes a result; counts of high halves, then of bins of an equalisation; counts of low halves, and
/// of middles; what the low halves come to under each middle; tables of an equalisation; and the counts of the bins,
/// which are last since their number varies. Zero between images but for what is always written before it is read.
template <int C>
struct Places {
    static constexpr std::size_t rows = rows_of(C), ranked = C == 1 ? 1 : core::float_rows, mapped = C == 1 ? 1 : 4;
    static constexpr std::size_t high = (2 * sizeof(FloatState) + 255) / 256 * 256;
    static constexpr std::size_t low = high + rows * 65536 * sizeof(Word);
    static constexpr std::size_t low_bytes = ranked * core::max_ranks * 65536 * sizeof(Word);
    static constexpr std::size_t middle = low + low_bytes;
    static constexpr std::size_t summed = middle + rows * 65536 * sizeof(Word);
    static constexpr std::size_t tables = summed + ranked * core::max_ranks * middles * sizeof(Word);
    static constexpr std::size_t counts = tables + mapped * 65536 * sizeof(float);
};

/// What others wrote: not from this multiprocessor's own cache.
template <typename T>
__device__ inline T fresh(const T& value) {
    return __ldcg(&value);
}

/// One image of a launch. `Full`: of a full analysis.
template <int C, bool Full>
struct Task {
    const FloatWork* work;
    std::int64_t index;
    Image image;
    Output output;
    bool backwards;

    __device__ const Common& common() const { return work->common; }
    template <typename T>
    __device__ T* place(std::size_t offset) const {
        return reinterpret_cast<T*>(static_cast<char*>(work->workspace) + offset);
    }
    __device__ FloatState& state() const { return place<FloatState>(0)[index & 1]; }
    __device__ FloatRow& row(int row) const { return state().rows[row]; }
    __device__ Word* high(int row) const { return place<Word>(Places<C>::high) + row * 65536; }
    __device__ Word* low(int row) const { return place<Word>(Places<C>::low) + row * (core::max_ranks * 65536); }
    __device__ Word* middle(int row) const { return place<Word>(Places<C>::middle) + row * 65536; }
    __device__ Word* summed(int row) const {
        return place<Word>(Places<C>::summed) + row * (core::max_ranks * static_cast<int>(middles));
    }
    __device__ bool narrow() const { return work->refines && fresh(state().narrow) != 0; }
    __device__ float* table(int row) const { return place<float>(Places<C>::tables) + row * 65536; }
    __device__ Word* counts(int row) const {
        return place<Word>(Places<C>::counts) + static_cast<std::uint64_t>(row) * common().bins;
    }
    /// This thread's share of the image beside `blocks` like its own, of which it is the one of this rank.
    __device__ Share share(int rank, int blocks) const {
        return {static_cast<std::int64_t>(rank) * blockDim.x + threadIdx.x,
                pieces_in_row(image.width, Group<float, C>::pixels) * image.height,
                static_cast<std::int64_t>(blocks) * blockDim.x};
    }
    __device__ Share share_of_grid() const { return share(blockIdx.x, gridDim.x); }
    /// Whether a Guess may be worth it, and whether one is tried.
    __device__ bool large() const { return work->guesses && image.pixels() >= sampled_pixels(C); }
    __device__ bool sampled() const { return large() && fresh(state().without) == 0; }
    /// Of a warp's pieces of share_of_grid one of so many.
    __device__ Share sample() const {
        const Share all = share_of_grid();
        return {all.first / warp_lanes * warp_lanes * sample_every + all.first % warp_lanes, all.last,
                all.step * sample_every};
    }
};

/// Rows of which order statistics are found, in full analyses.
template <int C>
__device__ constexpr bool is_ranked(int row) {
    return row < rows_of(C) || (C > 1 && row == core::pooled_row);
}

/// Stays where it is written: several of them are under way before the first is used.
__device__ inline Word fresh_word(const Word* from) {
    Word value;
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(from));
    return value;
}
/// Of several words.
template <typename T>
__device__ inline T fresh_copy(const T& value) {
    constexpr int words = sizeof(T) / sizeof(Word);
    static_assert(sizeof(T) % sizeof(Word) == 0 && alignof(T) == alignof(Word));
    Word copy[words];
#pragma unroll
    for (int w = 0; w < words; ++w) copy[w] = fresh_word(reinterpret_cast<const Word*>(&value) + w);
    T result;
    memcpy(&result, copy, sizeof(T));
    return result;
}

struct RowFacts {
    std::uint64_t finite, odd;  ///< samples that are, and are not
    float minimum, maximum;     ///< 0 where none is
};
__device__ inline RowFacts facts_of(const Extremes& found, std::int64_t pixels) {
    RowFacts facts{};
    facts.odd = found.nan + found.positive_infinite + found.negative_infinite;
    facts.finite = static_cast<std::uint64_t>(pixels) - facts.odd;
    if (facts.finite == 0) return facts;
    facts.minimum = core::key_float(~found.complement_minimum_key);
    facts.maximum = core::key_float(found.maximum_key);
    return facts;
}
template <int C, bool Full>
__device__ inline RowFacts facts_of(const Task<C, Full>& task, int row) {
    return facts_of(fresh_copy(static_cast<const Extremes&>(task.row(row).found)), task.image.pixels());
}

/// The finite extremes of rows [0, rows) as a range.
template <int C, bool Full>
__device__ inline Range finite_range(const Task<C, Full>& task, int rows) {
    std::uint32_t low = 0, high = 0;
    for (int r = 0; r < rows; ++r) {
        low = max(low, fresh(task.row(r).found.complement_minimum_key));
        high = max(high, fresh(task.row(r).found.maximum_key));
    }
    return core::found_range(high != 0, core::key_float(~low), core::key_float(high));
}
template <int C, bool Full>
__device__ inline core::FloatBins bins_of(const Task<C, Full>& task) {
    const FloatWork& work = *task.work;
    const Range range = work.has_range ? work.range : finite_range(task, rows_of(C));
    return core::FloatBins(range.lower, range.upper, work.common.bins, !work.has_range);
}

/// From what was found of row r.
template <int C, bool Full>
__device__ inline FloatMoments moments_of(const Task<C, Full>& task, int r, const Findings& found,
                                          const RowFacts& facts) {
    FloatMoments moments;
    if constexpr (Full) {
        moments.pivot = fresh(task.row(r).pivot);
        moments.exponent = fresh(task.row(r).exponent);
    } else {
        moments.exponent = core::moment_exponent(0, facts.minimum, facts.maximum);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) moments.sums[k] = core::to_public(sum_of(found.sums[k]));
    return moments;
}
/// By a warp.
__device__ inline core::CentralMoments central_moments_of(std::uint64_t n, const FloatMoments& moments) {
    if (n == 0) return {};
    const double own = core::RawMeans(n, moments)[min(threadIdx.x % warp_lanes, core::RawMeans::count - 1)];
    double raw[core::RawMeans::count];
#pragma unroll
    for (int i = 0; i < core::RawMeans::count; ++i) raw[i] = __shfl_sync(0xFFFFFFFFu, own, i);
    return core::central_moments(n, moments, raw);
}
__device__ inline void add_to_sum(Word (&parts)[3], core::i128 value) {
    for (int part = 0; part < 3; ++part) global_add(&parts[part], part_of(value, part));
}

/// Calls `visit` for all pixels of this thread's share, see sweep_one_row. `Unroll` groups are loaded before any is
/// looked at. `tile`: a Tile with all groups of the image, where there is one.
template <int C, int Unroll, class Visit, class OfImage = NoTile>
__device__ __forceinline__ void sweep_floats(const Image& image, const Share& share, Visit& visit,
                                             const OfImage& tile = {}) {
    if constexpr (is_kept<OfImage>) {
        tile.template sweep<C, Unroll>(visit);
        tile.template sweep_end<C>(image, visit);
    } else if (in_one_row<float, C>(image)) {
        sweep_one_row<float, C>(image, share, Loads<Unroll>{}, visit);
    } else {
        sweep_rows<float, C>(image, share, Loads<Unroll>{}, visit);
    }
}

/// Blocks are dealt to `rows` rows in turn; those of a row share its pixels. Calls `each(row, share)`: more than once
/// only where there are fewer blocks than rows.
template <int C, bool Full, class Each>
__device__ inline void for_rows(const Task<C, Full>& task, int rows, Each each) {
    const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    for (int row = block % rows; row < rows; row += blocks) {
        const bool few = blocks < rows;
        each(row, few ? task.share(0, 1) : task.share(block / rows, blocks / rows + (blocks % rows > row)));
    }
}

}  // namespace
}  // namespace gpuhist::cuda
