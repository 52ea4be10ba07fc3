// f32 images: the two sweeps of core/float_analysis.hpp, their plans, and the normalised copy.

#include <cstdint>

#include "core/bins.hpp"
#include "core/float_analysis.hpp"
#include "core/float_details.hpp"
#include "core/tables.hpp"
#include "cuda/floats_counters.cuh"
#include "cuda/floats_sweep.cuh"
#include "cuda/launch.cuh"
#include "cuda/packed.cuh"
#include "cuda/reduce.cuh"
#include "cuda/results.cuh"
#include "cuda/sweep.cuh"
#include "cuda/tables.cuh"

namespace gpuhist::cuda {
namespace {

// ---- What is known of an image, in device memory

/// What all blocks add up about one row. Zero between images. Extremes are kept as keys, a minimum as the complement.
struct Findings {
    // sweep 1
    Word nan, positive_infinite, negative_infinite;
    std::uint32_t complement_minimum_key, maximum_key;
    std::uint32_t carried;  ///< whether high halves were counted more often than their counters hold
    // sweep 2, of the finite samples
    Word below, above;
    Word sums[4][3];  ///< Σ of the moments' low, middle 32 and high 64 bits
};

struct FloatRow {
    Findings found;
    double pivot;
    std::int32_t exponent;
    std::uint32_t again;  ///< the pivot was poor: the moments are summed once more
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
    Mapping maps[3];
    Range equalized;         ///< the range of colours and luma
    std::uint32_t arrived;   ///< blocks that have come to the end of a step
    std::uint32_t complete;  ///< the result was written with sweep 2
};

/// The workspace: two states, used by images in turn, so that the next image's first sweep may begin while the last
/// block writes a result; counts of high halves, then of bins of an equalisation, with carries; counts of low halves;
/// tables of an equalisation; and the counts of the bins, which are last since their number varies. Zero between images
/// but for what is always written before it is read.
template <int C>
struct Places {
    static constexpr std::size_t rows = rows_of(C), ranked = C == 1 ? 1 : core::float_rows, mapped = C == 1 ? 1 : 4;
    static constexpr std::size_t high = (2 * sizeof(FloatState) + 255) / 256 * 256;
    static constexpr std::size_t carries = high + rows * 65536 * sizeof(Word);
    static constexpr std::size_t low = carries + rows * 65536 * sizeof(std::uint32_t);
    static constexpr std::size_t tables = low + ranked * core::max_ranks * 65536 * sizeof(Word);
    static constexpr std::size_t counts = tables + mapped * 65536 * sizeof(float);
};

enum class Step : std::uint8_t { first_sweep, plan, second_sweep, finish, count_equalized, equalize, apply };

/// How images are gone through: the same for all of a launch.
struct FloatWork : FloatParameters {
    int steps;
    Step step[7];
    bool slots_fit;  ///< all rows' Slots fit a block's shared memory
    bool wide;       ///< so many counts that all blocks write them
};

/// One image of a launch.
template <int C>
struct Task {
    const FloatWork* work;
    std::int64_t index;
    Image image;
    Output output;

    __device__ const Common& common() const { return work->common; }
    __device__ bool full() const { return work->detail == Detail::full; }
    template <typename T>
    __device__ T* place(std::size_t offset) const {
        return reinterpret_cast<T*>(static_cast<char*>(work->workspace) + offset);
    }
    __device__ FloatState& state() const { return place<FloatState>(0)[index & 1]; }
    __device__ FloatRow& row(int row) const { return state().rows[row]; }
    __device__ Word* high(int row) const { return place<Word>(Places<C>::high) + row * 65536; }
    __device__ std::uint32_t* carries(int row) const { return place<std::uint32_t>(Places<C>::carries) + row * 65536; }
    __device__ Word* low(int row) const { return place<Word>(Places<C>::low) + row * (core::max_ranks * 65536); }
    __device__ float* table(int row) const { return place<float>(Places<C>::tables) + row * 65536; }
    __device__ Word* counts(int row) const {
        return place<Word>(Places<C>::counts) + static_cast<std::uint64_t>(row) * common().bins;
    }
    /// Out of the cache that the multiprocessors share, if the image is too large to stay there from sweep to sweep.
    __device__ bool backwards() const {
        return image.pixels() * static_cast<std::int64_t>(C * sizeof(float)) > cached_bytes;
    }
    static constexpr std::int64_t cached_bytes = std::int64_t{64} << 20;

    /// All threads of the grid.
    __device__ Crew everybody() const {
        return {static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                static_cast<std::int64_t>(gridDim.x) * blockDim.x};
    }
};

/// What others wrote: not from this multiprocessor's own cache.
template <typename T>
__device__ inline T fresh(const T& value) {
    return __ldcg(&value);
}

struct RowFacts {
    std::uint64_t finite, odd;  ///< samples that are, and are not
    float minimum, maximum;     ///< 0 where none is
};
__device__ inline RowFacts facts_of(const Findings& found, std::int64_t pixels) {
    RowFacts facts{};
    facts.odd = fresh(found.nan) + fresh(found.positive_infinite) + fresh(found.negative_infinite);
    facts.finite = static_cast<std::uint64_t>(pixels) - facts.odd;
    if (facts.finite == 0) return facts;
    facts.minimum = core::key_float(~fresh(found.complement_minimum_key));
    facts.maximum = core::key_float(fresh(found.maximum_key));
    return facts;
}

/// The finite extremes of rows [0, rows) as a range.
template <int C>
__device__ inline Range finite_range(const Task<C>& task, int rows) {
    std::uint32_t low = 0, high = 0;
    for (int r = 0; r < rows; ++r) {
        low = max(low, fresh(task.row(r).found.complement_minimum_key));
        high = max(high, fresh(task.row(r).found.maximum_key));
    }
    return core::found_range(high != 0, core::key_float(~low), core::key_float(high));
}
template <int C>
__device__ inline core::FloatBins bins_of(const Task<C>& task) {
    const FloatWork& work = *task.work;
    const Range range = work.has_range ? work.range : finite_range(task, rows_of(C));
    return core::FloatBins(range.lower, range.upper, work.common.bins, !work.has_range);
}

__device__ inline FloatMoments moments_of(const FloatRow& row) {
    FloatMoments moments{fresh(row.pivot), fresh(row.exponent), {}};
    for (int k = 0; k < 4; ++k) {
        const Word parts[3] = {fresh(row.found.sums[k][0]), fresh(row.found.sums[k][1]), fresh(row.found.sums[k][2])};
        moments.sums[k] = core::to_public(static_cast<core::i128>(static_cast<core::u128>(parts[0]) +
                                                                  (static_cast<core::u128>(parts[1]) << 32) +
                                                                  (static_cast<core::u128>(parts[2]) << 64)));
    }
    return moments;
}
__device__ inline void add_to_sum(Word (&parts)[3], core::i128 value) {
    const auto bits = static_cast<core::u128>(value);
    atomicAdd(&parts[0], static_cast<Word>(bits) & 0xFFFFFFFFu);
    atomicAdd(&parts[1], static_cast<Word>(bits) >> 32);
    atomicAdd(&parts[2], static_cast<Word>(bits >> 64));
}

/// Blocks are dealt to `rows` rows in turn; those of a row share its pixels. Calls `each(row, crew)`: more than once
/// only where there are fewer blocks than rows.
template <class Each>
__device__ inline void for_rows(int rows, Each each) {
    const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    for (int row = block % rows; row < rows; row += blocks) {
        const int rank = blocks < rows ? 0 : block / rows;
        const int sharing = blocks < rows ? 1 : blocks / rows + (blocks % rows > row);
        each(row, Crew{static_cast<std::int64_t>(rank) * blockDim.x + threadIdx.x,
                       static_cast<std::int64_t>(sharing) * blockDim.x});
    }
}

// ---- Sweep 1

/// A block's extremes and odd samples, in shared memory.
template <int rows>
struct BlockExtremes {
    OddCounts odd[rows];
    std::uint32_t keys[rows][2];  ///< minimum, as the complement, and maximum

    __device__ void clear() {
        if (threadIdx.x < rows) {
            odd[threadIdx.x] = {};
            keys[threadIdx.x][0] = keys[threadIdx.x][1] = 0;
        }
        __syncthreads();
    }
    /// Every lane's extremes of one row; the lower is over the higher one where there is none.
    __device__ void add(int row, float minimum, float maximum) {
        const bool any = minimum <= maximum;
        const std::uint32_t low = max_over_warp(any ? ~core::float_key(minimum) : 0u),
                            high = max_over_warp(any ? core::float_key(maximum) : 0u);
        if (threadIdx.x % warp_lanes != 0) return;
        atomicMax(&keys[row][0], low);
        atomicMax(&keys[row][1], high);
    }
    /// One row's, by all threads.
    __device__ void merge(int row, Findings& found) {
        __syncthreads();  // every warp's have come
        if (threadIdx.x == 0) {
            atomicMax(&found.complement_minimum_key, keys[row][0]);
            atomicMax(&found.maximum_key, keys[row][1]);
            if (odd[row].nan) atomicAdd(&found.nan, Word{odd[row].nan});
            if (odd[row].positive_infinite) atomicAdd(&found.positive_infinite, Word{odd[row].positive_infinite});
            if (odd[row].negative_infinite) atomicAdd(&found.negative_infinite, Word{odd[row].negative_infinite});
        }
    }
};

/// Brief: extremes of all rows.
template <int C>
struct ExtremeFinder {
    static constexpr int rows = rows_of(C);
    float minimum[rows], maximum[rows];
    OddCounts* odd;
    bool rgb;

    template <int S>
    __device__ void operator()(const float (&samples)[S], const Where&) {
        float low[rows], high[rows], all = 0;
#pragma unroll
        for (int r = 0; r < rows; ++r)
#pragma unroll
            for (int p = 0; p < S / C; ++p) {
                const float value = row_value<C>(samples, p, r, rgb);
                low[r] = p == 0 ? value : fminf(low[r], value);
                high[r] = p == 0 ? value : fmaxf(high[r], value);
                if (C == 1 || r >= luma_row) notice(value, all);  // luma is not finite where a colour is not
            }
        if (all == 0) {
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                minimum[r] = fminf(minimum[r], low[r]);
                maximum[r] = fmaxf(maximum[r], high[r]);
            }
            return;
        }
#pragma unroll
        for (int r = 0; r < rows; ++r)
#pragma unroll
            for (int p = 0; p < S / C; ++p) {
                const float value = row_value<C>(samples, p, r, rgb);
                if (is_finite(value)) {
                    minimum[r] = fminf(minimum[r], value);
                    maximum[r] = fmaxf(maximum[r], value);
                } else {
                    OddCounts::count(odd + r, value);
                }
            }
    }
};

template <int C>
__device__ __noinline__ void find_extremes(const Task<C>& task) {
    constexpr int rows = rows_of(C);
    __shared__ BlockExtremes<rows> extremes;
    extremes.clear();
    ExtremeFinder<C> finder;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        finder.minimum[r] = INFINITY;
        finder.maximum[r] = -INFINITY;
    }
    finder.odd = extremes.odd;
    finder.rgb = task.common().rgb;
    sweep_floats<C, C == 3 ? 1 : 2, true>(task.image, task.everybody(), false, finder);
#pragma unroll
    for (int r = 0; r < rows; ++r) extremes.add(r, finder.minimum[r], finder.maximum[r]);
    for (int r = 0; r < rows; ++r) extremes.merge(r, task.row(r).found);
}

/// 65536 places: of high halves, or of the bins of an equalisation. Neighbours lie in different banks as they are.
using Counters = PackedCounters<false>;

/// Full: extremes of one row, and counts of the high halves of its keys.
template <int C>
struct HalfCounter {
    Counters counters;
    float minimum, maximum;
    OddCounts* odd;
    int row;
    bool rgb;

    template <int S>
    __device__ void operator()(const float (&samples)[S], const Where&) {
        constexpr int N = S / C;
        float value[N];
        row_values<C>(samples, row, rgb, value);
        float low = value[0], high = value[0], all = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            low = fminf(low, value[i]);
            high = fmaxf(high, value[i]);
            notice(value[i], all);
        }
        if (all == 0) {
            minimum = fminf(minimum, low);
            maximum = fmaxf(maximum, high);
            std::uint32_t place[N];
#pragma unroll
            for (int i = 0; i < N; ++i) place[i] = HalfPlace::of_value(value[i]);
            if constexpr (N == 1)
                counters.add_one(place[0]);
            else
                counters.add(place);
            return;
        }
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (is_finite(value[i])) {
                minimum = fminf(minimum, value[i]);
                maximum = fmaxf(maximum, value[i]);
                counters.add_one(HalfPlace::of_value(value[i]));
            } else {
                OddCounts::count(odd, value[i]);
            }
        }
    }
};

template <int C>
constexpr int half_unroll = C == 3 ? 1 : 2;

/// Counts 65536 places of one row in shared memory, in slices where it is small, `counter` telling them, and adds them
/// up in device memory by `merge(place, count)`. Carries stay where they are, and `carried` says that there are some.
/// Barriers: any thread may count any place, and merge it.
template <int C, class Counter, class Merge>
__device__ inline void count_places(const Task<C>& task, const Crew& crew, int row, bool* carried, Counter& counter,
                                    Merge merge) {
    const int places = 65536 >> task.work->parts_log2;
    if (threadIdx.x == 0) *carried = false;
    for (int first = 0; first < 65536; first += places) {
        auto* words = reinterpret_cast<uint4*>(dynamic_shared);
        for (int w = threadIdx.x; w < places / 8; w += blockDim.x) words[w] = uint4{};
        __syncthreads();
        counter.counters = {shared_address(dynamic_shared), static_cast<std::uint32_t>(first),
                            static_cast<std::uint32_t>(places), task.carries(row) + first, carried};
        sweep_floats<C, half_unroll<C>, false>(task.image, crew, false, counter);
        __syncthreads();
        for (int pair = threadIdx.x; pair < places / 2; pair += blockDim.x) {
            const std::uint32_t word = dynamic_shared[Counters::place(pair)];
            if (word & 0xFFFFu) merge(first + 2 * pair, word & 0xFFFFu);
            if (word >> 16) merge(first + 2 * pair + 1, word >> 16);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0 && *carried) atomicOr(&task.row(row).found.carried, 1u);
}

template <int C>
__device__ __noinline__ void count_high_halves(const Task<C>& task, int row, Crew crew) {
    __shared__ BlockExtremes<1> extremes;
    __shared__ bool carried;
    extremes.clear();
    HalfCounter<C> counter;
    counter.minimum = INFINITY;
    counter.maximum = -INFINITY;
    counter.odd = extremes.odd;
    counter.row = row;
    counter.rgb = task.common().rgb;
    Word* counts = task.high(row);
    count_places(task, crew, row, &carried, counter, [&](std::uint32_t place, std::uint64_t count) {
        const std::uint32_t half = place & 1u ? HalfPlace::negative(place >> 1) : HalfPlace::positive(place >> 1);
        atomicAdd(counts + half, Word{count});
    });
    extremes.add(0, counter.minimum, counter.maximum);
    if (threadIdx.x == 0 && task.work->parts_log2) {  // every slice looked at them
        OddCounts& odd = extremes.odd[0];
        odd = {odd.nan >> task.work->parts_log2, odd.positive_infinite >> task.work->parts_log2,
               odd.negative_infinite >> task.work->parts_log2};
    }
    extremes.merge(0, task.row(row).found);
    __syncthreads();  // shared memory may be written again
}

// ---- Plan

/// Finds, among the bins [first, last) counted by `count`, the one that holds each rank, and the rank inside it. Each
/// warp looks after a stretch of bins. By all threads; `scratch` holds a value a warp.
template <class Count>
__device__ void locate(Count count, std::uint32_t first, std::uint32_t last, const std::uint64_t* ranks, int n,
                       std::uint32_t* bins, std::uint64_t* within, std::uint64_t* scratch) {
    const std::uint32_t lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;
    const std::uint32_t each = ((last - first) / blockDim.x + 1) * warp_lanes;  // bins of a warp
    const std::uint32_t begin = min(first + warp * each, last), end = min(begin + each, last);
    std::uint64_t own = 0, total = 0;
#pragma unroll 8
    for (std::uint32_t b = begin + lane; b < end; b += warp_lanes) own += count(b);
    const std::uint64_t sum = reduce_warp(own, Sum{});
    std::uint64_t before = scan_warps(sum, scratch, total);
    bool any = false;
    for (int r = 0; r < n; ++r) any = any || (ranks[r] >= before && ranks[r] < before + sum);
    for (std::uint32_t base = begin; any && base < end; base += warp_lanes) {
        const std::uint32_t b = base + lane;
        const std::uint64_t own_count = b < end ? count(b) : 0, through = before + scan_lanes(own_count);
        for (int r = 0; r < n; ++r)
            if (ranks[r] < through && ranks[r] >= through - own_count) {
                bins[r] = b;
                within[r] = ranks[r] - (through - own_count);
            }
        before = __shfl_sync(0xFFFFFFFFu, through, warp_lanes - 1);
    }
    __syncthreads();  // bins and within, for all
}

/// What the plan and the finishing of order statistics share.
struct RankScratch {
    std::uint64_t warps[warp_lanes];
    std::uint64_t ranks[core::max_ranks + 1], within[core::max_ranks + 1];
    std::uint32_t bins[core::max_ranks + 1];
    int wanted;
};

/// Ranks, high halves and pivot of one row, by one block. Reads the row's counts of the high halves between its
/// extremes twice.
template <int C>
__device__ __noinline__ void plan_row(const Task<C>& task, int index, RankScratch& scratch) {
    const bool pooled = index == core::pooled_row;
    FloatRow& row = task.row(index);
    const std::int64_t pixels = task.image.pixels();
    std::uint64_t finite = 0;
    std::uint32_t first = 0xFFFFu, last = 0;  // high halves
    for (int r = pooled ? 0 : index; r < (pooled ? 3 : index + 1); ++r) {
        const RowFacts facts = facts_of(task.row(r).found, pixels);
        if (facts.finite == 0) continue;
        finite += facts.finite;
        first = min(first, core::float_key(facts.minimum) >> 16);
        last = max(last, core::float_key(facts.maximum) >> 16);
    }
    core::RankPlan& plan = row.ranks;
    if (finite == 0) {
        if (threadIdx.x == 0) {
            plan.ranks = plan.selected = 0;
            row.pivot = 0;
            row.exponent = core::moment_exponent(0, 0, 0);
        }
        return;
    }
    std::uint32_t carried = 0;
    for (int r = 0; r < (pooled ? 3 : 1); ++r) carried |= fresh(task.row(pooled ? r : index).found.carried);
    auto count = [&](std::uint32_t half) {
        std::uint64_t sum = 0;
#pragma unroll
        for (int r = 0; r < 3; ++r) {
            if (!pooled && r > 0) break;
            const int of = pooled ? r : index;
            sum += __ldcg(task.high(of) + half);
            if (carried) sum += std::uint64_t{__ldcg(task.carries(of) + HalfPlace::of_half(half))} << 16;
        }
        return sum;
    };
    __syncthreads();  // scratch may be written again
    if (threadIdx.x == 0) {
        std::uint64_t required[core::max_ranks];
        const Normalization& normalization = task.common().normalization;
        scratch.wanted =
            core::required_ranks(finite, task.work->stretch, normalization.low, normalization.high, required);
        for (int r = 0; r < scratch.wanted; ++r) scratch.ranks[r] = required[r];
        scratch.ranks[scratch.wanted] = finite / 2;  // the median's high half, for the pivot
    }
    __syncthreads();  // ranks, for all
    const int wanted = scratch.wanted;
    locate(count, first, last + 1, scratch.ranks, wanted + 1, scratch.bins, scratch.within, scratch.warps);
    if (threadIdx.x == 0) {
        int selected = 0;
        for (int r = 0; r < wanted; ++r) {
            if (r == 0 || scratch.bins[r] != scratch.bins[r - 1]) plan.high[selected++] = scratch.bins[r];
            plan.rank[r] = scratch.ranks[r];
            plan.within[r] = scratch.within[r];
            plan.slot[r] = static_cast<std::uint8_t>(selected - 1);
        }
        plan.ranks = wanted;
        plan.selected = selected;
        if (!pooled) {
            const RowFacts facts = facts_of(row.found, pixels);
            const double pivot = core::middle_of_high_half(scratch.bins[wanted], facts.minimum, facts.maximum);
            row.pivot = pivot;
            row.exponent = core::moment_exponent(pivot, facts.minimum, facts.maximum);
        }
    }
}

// ---- Sweep 2

struct RowPlan {
    MomentScale scale;
    double pivot;
    std::int32_t exponent;
    float fill;  ///< what samples that are not finite are counted as, and taken back afterwards
    RowFacts facts;
};

/// What every block works out for itself before sweep 2, in shared memory.
struct BlockPlan {
    RowPlan rows[5];
    core::FloatBins bins;
    bool slots;     ///< Slots give the right bins
    bool plain;     ///< every sample is finite and within the range
    bool constant;  ///< no row has two values
    LowCounter::Chosen chosen[2];
};

/// By all threads; the first of each warp looks after a row, or after the bins.
template <int C>
__device__ inline void make_plan(const Task<C>& task, BlockPlan& plan) {
    constexpr int rows = rows_of(C);
    const std::int64_t pixels = task.image.pixels();
    const int warp = threadIdx.x / warp_lanes;
    __syncthreads();  // the plan may be written again
    if (threadIdx.x % warp_lanes == 0 && warp < rows) {
        RowPlan& row = plan.rows[warp];
        row.facts = facts_of(task.row(warp).found, pixels);
        if (task.full()) {
            row.pivot = fresh(task.row(warp).pivot);
            row.exponent = fresh(task.row(warp).exponent);
        } else {
            row.pivot = core::middle_of_extremes(row.facts.minimum, row.facts.maximum);
            row.exponent = core::moment_exponent(row.pivot, row.facts.minimum, row.facts.maximum);
        }
        row.scale.set(row.pivot, row.exponent);
        row.fill = row.facts.minimum;
    } else if (threadIdx.x % warp_lanes == 0 && warp == rows) {
        plan.bins = bins_of(task);
        plan.slots = task.work->slots_fit && Slots<1>::quick(plan.bins);
        bool odd = false, constant = true;
        for (int r = 0; r < rows; ++r) {
            const RowFacts facts = facts_of(task.row(r).found, pixels);
            odd = odd || facts.odd != 0;
            constant = constant && facts.minimum == facts.maximum;
        }
        plan.plain = !odd && !task.work->has_range;
        plan.constant = constant;
    }
    __syncthreads();  // the plan, for all
}

/// Shared memory before the bins: the counters of low halves, of the row and of the pooled row.
template <int C, bool Full>
constexpr int low_words = Full ? LowCounter::words*(C == 1 ? 1 : 2) : 0;

/// What is common to the counters of sweep 2. Brief: all rows together, two powers; full: one row, four powers, and low
/// halves.
template <int C, bool Full>
struct DetailCounter {
    static constexpr int rows = Full ? 1 : rows_of(C), powers = Full ? 4 : 2;
    static constexpr bool scales_in_registers = rows == 1;

    MomentSums<powers> sums[rows];
    std::uint32_t samples = 0;
    MomentScale scale;
    std::uint32_t scales;  ///< shared address of the first row's
    int row;               ///< full
    bool rgb;
    bool pool;
    LowCounter own, pooled;

    __device__ DetailCounter(const Task<C>& task, const BlockPlan& plan, int of) : row(of), rgb(task.common().rgb) {
#pragma unroll
        for (int r = 0; r < rows; ++r) sums[r].clear();
        scale = plan.rows[of].scale;
        scales = shared_address(&plan.rows[0].scale);
        pool = Full && C > 1 && of < luma_row;
        own = {dynamic_shared, &plan.chosen[0], task.low(of)};
        if constexpr (C > 1) pooled = {dynamic_shared + LowCounter::words, &plan.chosen[1], task.low(core::pooled_row)};
    }
    template <int S>
    __device__ void values_of(const float (&samples_of)[S], int r, float (&values)[S / C]) const {
        if constexpr (Full) {
            row_values<C>(samples_of, row, rgb, values);
        } else {
#pragma unroll
            for (int p = 0; p < S / C; ++p) values[p] = row_value<C>(samples_of, p, r, rgb);
        }
    }
    template <int N>
    __device__ void add_moments(int r, const float (&values)[N]) {
        const MomentScale s =
            scales_in_registers ? scale : MomentScale::load(scales + r * static_cast<int>(sizeof(RowPlan)));
        sums[r].add(values, s.unit, s.offset);
    }
    template <int N>
    __device__ void add_low(const float (&values)[N]) const {
        if constexpr (Full) {
            add_low(own, values);
            if constexpr (C > 1)
                if (pool) add_low(pooled, values);
        }
    }
    template <int N>
    __device__ static void add_low(const LowCounter& counter, const float (&values)[N]) {
        std::uint32_t wanted = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) wanted |= static_cast<std::uint32_t>(counter.wants(values[i])) << i;
        while (wanted) {
            float value = values[0];
#pragma unroll
            for (int i = 1; i < N; ++i) value = wanted & ((1u << i) - 1) ? value : values[i];
            wanted &= wanted - 1;
            counter.count(value);
        }
    }
    /// After each call, which added N samples to each row.
    template <int N>
    __device__ void counted() {
        samples += N;
        if ((samples & (MomentSums<powers>::fold_every - 1)) < N) {
#pragma unroll
            for (int r = 0; r < rows; ++r) sums[r].fold();
        }
    }
};

/// `Filled`: samples may lie outside the range, or not be finite.
template <int C, bool Full, bool Filled>
struct SlotCounter : DetailCounter<C, Full> {
    using Base = DetailCounter<C, Full>;
    Slots<Base::rows> slots;
    const RowPlan* plans;

    __device__ SlotCounter(const Task<C>& task, const BlockPlan& plan, int row)
        : Base(task, plan, row), slots(dynamic_shared + low_words<C, Full>, plan.bins), plans(plan.rows) {}

    template <int r, int S>
    __device__ void count_row(const float (&samples)[S]) {
        float values[S / C];
        this->values_of(samples, r, values);
        if constexpr (Filled) {
            const float fill = plans[Full ? this->row : r].fill;
#pragma unroll
            for (int i = 0; i < S / C; ++i) values[i] = is_finite(values[i]) ? values[i] : fill;
        }
#pragma unroll
        for (int i = 0; i < S / C; ++i) slots.template count<r, Filled>(values[i]);
        this->add_moments(r, values);
        this->add_low(values);
    }
    template <int S>
    __device__ void operator()(const float (&samples)[S], const Where&) {
        count_row<0>(samples);
        if constexpr (Base::rows > 1) {
            count_row<1>(samples);
            count_row<2>(samples);
            count_row<3>(samples);
        }
        if constexpr (Base::rows > 4) count_row<4>(samples);
        this->template counted<S / C>();
    }
};

template <int C>
constexpr int detail_unroll = C == 3 ? 1 : 2;

/// A count in device memory taken back.
__device__ inline void subtract(Word* count, Word samples) {
    atomicAdd(count, Word{0} - samples);
}

/// Takes back what samples that are not finite, `times` of them, were counted as. By one thread.
template <int C, bool Full>
__device__ __noinline__ void take_back(const Task<C>& task, const BlockPlan& plan, int row, bool bins) {
    const RowPlan& of = plan.rows[row];
    const Word times = of.facts.odd;
    if (times == 0) return;
    Findings& found = task.row(row).found;
    if (bins) {
        const std::uint32_t bin = plan.bins(of.fill);
        subtract(bin == core::FloatBins::below   ? &found.below
                 : bin == core::FloatBins::above ? &found.above
                                                 : task.counts(row) + bin,
                 times);
    }
    std::uint64_t high[4] = {}, low[4] = {};
    core::MomentTerms(of.pivot, of.exponent).add(of.fill, high, low);
    for (int k = 0; k < (Full ? 4 : 2); ++k)
        add_to_sum(found.sums[k], -core::MomentTerms::total(high[k], low[k], 1) * static_cast<core::i128>(times));
    if (!Full || !bins) return;
    const std::uint32_t key = core::float_key(of.fill);
    for (int i = 0; i < (C > 1 && row < luma_row ? 2 : 1); ++i) {
        const int index = i == 0 ? row : core::pooled_row;
        for (int slot = 0; slot < plan.chosen[i].count; ++slot)
            if (plan.chosen[i].high[slot] == key >> 16)
                subtract(task.low(index) + slot * 65536 + (key & 0xFFFFu), times);
    }
}

/// Adds every thread's sums of one row to those of the image. By all threads.
template <int powers>
__device__ __noinline__ void merge_moments(const MomentSums<powers>& sums, std::uint32_t samples, Findings& found,
                                           int stored) {
    __shared__ Word scratch[powers * 3 * warp_lanes];
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
    __syncthreads();  // scratch may be written again
#pragma unroll
    for (int k = 0; k < powers; ++k) {
        const auto bits = static_cast<core::u128>(sums.total(k, samples));
        const Word low = reduce_warp(static_cast<Word>(bits) & 0xFFFFFFFFu, Sum{});
        const Word middle = reduce_warp(static_cast<Word>(bits) >> 32, Sum{});
        const Word high = reduce_warp(static_cast<Word>(bits >> 64), Sum{});
        if (lane == 0) {
            scratch[(3 * k + 0) * warp_lanes + warp] = low;
            scratch[(3 * k + 1) * warp_lanes + warp] = middle;
            scratch[(3 * k + 2) * warp_lanes + warp] = high;
        }
    }
    __syncthreads();  // every warp's sums are there
    for (int i = warp; i < stored * 3; i += warps) {
        const Word sum = reduce_warp(lane < warps ? scratch[i * warp_lanes + lane] : Word{0}, Sum{});
        if (lane == 0 && sum != 0) atomicAdd(&found.sums[i / 3][i % 3], sum);
    }
}

template <int C, bool Full, bool Filled>
__device__ __noinline__ void count_slots(const Task<C>& task, const BlockPlan& plan, int row, Crew crew) {
    SlotCounter<C, Full, Filled> counter(task, plan, row);
    sweep_floats<C, Full ? 1 : detail_unroll<C>, true>(task.image, crew, task.backwards(), counter);
    constexpr int rows = Full ? 1 : rows_of(C);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        counter.sums[r].fold();
        merge_moments(counter.sums[r], counter.samples, task.row(Full ? row : r).found, Full ? 4 : 2);
    }
}

/// For any bins. Samples that are not finite are passed over.
template <int C, bool Full>
struct BinCounter : DetailCounter<C, Full> {
    using Base = DetailCounter<C, Full>;
    EstimatedBins bins;
    std::uint32_t* column;  ///< this lane's copy of bin 0, in shared memory; null: counted in device memory
    int columns_log2;
    std::uint32_t count;
    Word* counts;  ///< of the first row
    std::uint32_t odd[Base::rows] = {};
    std::uint64_t below[Base::rows] = {}, above[Base::rows] = {};

    __device__ BinCounter(const Task<C>& task, const BlockPlan& plan, int row)
        : Base(task, plan, row),
          bins(&plan.bins),
          column(task.work->columns_log2 < 0
                     ? nullptr
                     : dynamic_shared + low_words<C, Full> + threadIdx.x % (1u << task.work->columns_log2)),
          columns_log2(task.work->columns_log2),
          count(task.common().bins),
          counts(task.counts(Full ? row : 0)) {}

    __device__ void count_one(int r, float value) {
        if (!is_finite(value)) {
            ++odd[r];
            return;
        }
        const std::uint32_t bin = bins(value);
        if (bin == core::FloatBins::below)
            ++below[r];
        else if (bin == core::FloatBins::above)
            ++above[r];
        else if (column)
            atomicAdd(column + ((r * count + bin) << columns_log2), 1u);
        else
            atomicAdd(counts + static_cast<std::uint64_t>(r) * count + bin, Word{1});
        const float one[1] = {value};
        this->add_moments(r, one);
        this->add_low(one);
    }
    template <int S>
    __device__ void operator()(const float (&samples)[S], const Where&) {
#pragma unroll
        for (int r = 0; r < Base::rows; ++r) {
            float values[S / C];
            this->values_of(samples, r, values);
#pragma unroll
            for (int i = 0; i < S / C; ++i) count_one(r, values[i]);
        }
        this->template counted<S / C>();
    }
};

template <int C, bool Full>
__device__ __noinline__ void count_bins(const Task<C>& task, const BlockPlan& plan, int row, Crew crew) {
    BinCounter<C, Full> counter(task, plan, row);
    sweep_floats<C, 1, false>(task.image, crew, task.backwards(), counter);
    constexpr int rows = Full ? 1 : rows_of(C);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        Findings& found = task.row(Full ? row : r).found;
        counter.sums[r].fold();
        merge_moments(counter.sums[r], counter.samples - counter.odd[r], found, Full ? 4 : 2);
        const Word below = reduce_warp(counter.below[r], Sum{}), above = reduce_warp(counter.above[r], Sum{});
        if (threadIdx.x % warp_lanes != 0) continue;
        if (below) atomicAdd(&found.below, below);
        if (above) atomicAdd(&found.above, above);
    }
}

/// Bins, moments and low halves of one row, or (brief) of all, by a crew of which this block is one.
/// Barriers: after clearing shared memory, after marking the high halves, before merging.
template <int C, bool Full>
__device__ void count_details(const Task<C>& task, BlockPlan& plan, int row, const Crew& crew) {
    constexpr int rows = Full ? 1 : rows_of(C);
    using Table = Slots<rows>;
    std::uint32_t* low = dynamic_shared;
    std::uint32_t* table = dynamic_shared + low_words<C, Full>;
    const std::uint32_t bins = plan.bins.bins;
    const int columns_log2 = task.work->columns_log2;
    __syncthreads();  // shared memory may be written again
    if constexpr (Full) {
        for (int i = threadIdx.x; i < low_words<C, Full>; i += blockDim.x) low[i] = 0;
        for (int i = 0; i < (C == 1 ? 1 : 2); ++i) {
            const core::RankPlan& ranks = task.row(i == 0 ? row : core::pooled_row).ranks;
            if (threadIdx.x == 0) plan.chosen[i].count = fresh(ranks.selected);
            if (threadIdx.x < core::max_ranks) plan.chosen[i].high[threadIdx.x] = fresh(ranks.high[threadIdx.x]);
        }
        __syncthreads();
        for (int i = 0; i < (C == 1 ? 1 : 2); ++i)
            LowCounter{low + i * LowCounter::words, &plan.chosen[i], nullptr}.prepare();
    }
    if (plan.slots)
        Table::prepare(table, plan.bins);
    else if (columns_log2 >= 0)
        for (std::uint32_t i = threadIdx.x; i < rows * bins << columns_log2; i += blockDim.x) table[i] = 0;
    __syncthreads();

    if (!plan.slots)
        count_bins<C, Full>(task, plan, row, crew);
    else if (Full || !plan.plain)
        count_slots<C, Full, true>(task, plan, row, crew);
    else
        count_slots<C, Full, false>(task, plan, row, crew);
    __syncthreads();

    if constexpr (Full) {
        LowCounter{low, &plan.chosen[0], task.low(row)}.merge();
        if (C > 1 && row < luma_row)
            LowCounter{low + (C > 1) * LowCounter::words, &plan.chosen[C > 1], task.low(core::pooled_row)}.merge();
    }
    if (plan.slots) {
        Table::gather(table, bins, [&](int r, std::uint32_t slot, std::uint32_t count) {
            const int of = Full ? row : r;
            atomicAdd(slot == 0          ? &task.row(of).found.below
                      : slot == bins + 1 ? &task.row(of).found.above
                                         : task.counts(of) + (slot - 1),
                      Word{count});
        });
        if (crew.rank == 0)
            for (int r = 0; r < rows; ++r) take_back<C, Full>(task, plan, Full ? row : r, true);
    } else if (columns_log2 >= 0) {
        const std::uint32_t columns = 1u << columns_log2;
        for (std::uint32_t i = threadIdx.x; i < rows * bins; i += blockDim.x) {
            Word sum = 0;
            for (std::uint32_t c = 0; c < columns; ++c) sum += table[(i << columns_log2) + (i + c) % columns];
            if (sum) atomicAdd(task.counts(Full ? row : i / bins) + i % bins, sum);
        }
    }
}

/// Brief, and no row has two values: nothing need be read again. By one block.
template <int C>
__device__ inline void count_constants(const Task<C>& task, const BlockPlan& plan) {
    if (threadIdx.x >= rows_of(C)) return;
    const int row = threadIdx.x;
    const RowFacts& facts = plan.rows[row].facts;
    if (facts.finite == 0) return;
    const std::uint32_t bin = plan.bins(facts.minimum);
    *(bin == core::FloatBins::below   ? &task.row(row).found.below
      : bin == core::FloatBins::above ? &task.row(row).found.above
                                      : task.counts(row) + bin) = facts.finite;
}

// ---- The result

/// Whether rows' moments are to be summed again, and about what. By the last block; returns whether any are.
template <int C>
__device__ __noinline__ bool decide(const Task<C>& task, const BlockPlan& plan) {
    const int row = threadIdx.x / warp_lanes;
    bool again = false;
    if (threadIdx.x % warp_lanes == 0 && row < rows_of(C)) {
        FloatRow& of = task.row(row);
        const RowPlan& planned = plan.rows[row];
        of.pivot = planned.pivot;
        of.exponent = planned.exponent;
        FloatMoments moments = moments_of(of);
        moments.pivot = planned.pivot;
        moments.exponent = planned.exponent;
        double mean = 0;
        again = core::poor_pivot(planned.facts.finite, moments, mean);
        of.again = again;
        if (again) {
            of.pivot = mean;
            of.exponent = core::moment_exponent(mean, planned.facts.minimum, planned.facts.maximum);
            for (int k = 0; k < 4; ++k)
                for (int part = 0; part < 3; ++part) of.found.sums[k][part] = 0;
        }
    }
    return __syncthreads_or(again);
}

__device__ inline float order_statistic(const FloatRow& row, double percent, std::uint64_t finite) {
    const std::uint64_t rank = core::nearest_rank(percent, finite) - 1;
    int r = 0;
    while (fresh(row.ranks.rank[r]) != rank) ++r;
    return fresh(row.order[r]);
}

/// What colour channel `c`, in memory order, is mapped by. By one thread.
template <int C>
__device__ inline void plan_mapping(const Task<C>& task, int c, const RowFacts* facts,
                                    const core::CentralMoments* moments) {
    constexpr int colors = C == 1 ? 1 : 3;
    const Normalization& normalization = task.common().normalization;
    const bool joint = C > 1 && normalization.joint;
    Mapping map{};
    std::uint64_t finite = 0;
    float low = INFINITY, high = -INFINITY;
    for (int i = 0; i < colors; ++i) {
        if (!(joint || i == c) || facts[i].finite == 0) continue;
        finite += facts[i].finite;
        low = fminf(low, facts[i].minimum);
        high = fmaxf(high, facts[i].maximum);
    }
    map.keep = finite == 0;
    if (!map.keep) {
        switch (normalization.mode) {
            case NormalizeMode::zscore: {
                core::CentralMoments parts[colors], all = moments[c];
                for (int i = 0; i < colors; ++i) parts[result_row(i, C, task.common().rgb)] = moments[i];
                if (joint) all = core::pool(parts, colors);
                map.low = all.mean;
                map.high = sqrt(all.m2);
                break;
            }
            case NormalizeMode::percentile: {
                const FloatRow& source = task.row(joint ? core::pooled_row : c);
                map.low = order_statistic(source, normalization.low, finite);
                map.high = order_statistic(source, normalization.high, finite);
                map.keep = map.low == map.high;
                break;
            }
            case NormalizeMode::minmax:
                map.low = low;
                map.high = high;
                map.keep = low == high;
                break;
            case NormalizeMode::equalize:  // see equalize_row
                break;
        }
    }
    task.state().maps[c] = map;
}

/// Writes the result, and leaves the state as the next image needs it. By the last block.
template <int C>
__device__ __noinline__ void complete(const Task<C>& task) {
    constexpr int rows = rows_of(C), ranked = C == 1 ? 1 : core::float_rows;
    __shared__ RowFacts facts[rows];
    __shared__ core::CentralMoments moments[rows];
    const Common& common = task.common();
    ImageResult& result = *result_of(common, task.index);
    auto& details =
        *reinterpret_cast<core::FloatDetails*>(reinterpret_cast<char*>(&result) + common.layout.details_offset);
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;
    const std::int64_t pixels = task.image.pixels();

    if (lane == 0 && warp < rows) {
        const Findings& found = task.row(warp).found;
        const int to = result_row(warp, C, common.rgb);
        const RowFacts own = facts[warp] = facts_of(found, pixels);
        const FloatMoments summed = moments_of(task.row(warp));
        const core::CentralMoments central = moments[warp] = core::central_moments(own.finite, summed);
        ChannelResult channel;
        channel.samples = own.finite;
        channel.minimum = own.minimum;
        channel.maximum = own.maximum;
        channel.mean = central.mean;
        channel.std = sqrt(central.m2);
        channel.nan = fresh(found.nan);
        channel.infinite = fresh(found.positive_infinite) + fresh(found.negative_infinite);
        channel.below = fresh(found.below) + fresh(found.negative_infinite);
        channel.above = fresh(found.above) + fresh(found.positive_infinite);
        result.channels[to] = channel;
        details.moments[to] = summed;
    } else if (lane == 0 && warp == rows) {
        const core::FloatBins bins = bins_of(task);
        write_header(common, task.index, pixels, Depth::f32, rows);
        result.detail = task.work->detail;
        result.range = {bins.lower, bins.upper};
        result.upper_closed = bins.upper_closed;
        if (common.normalize) task.state().equalized = finite_range(task, C == 1 ? 1 : luma_row + 1);
    }
    for (int i = threadIdx.x; i < core::float_rows * core::max_ranks; i += blockDim.x) {
        const int index = i / core::max_ranks, r = i % core::max_ranks;
        const FloatRow& row = task.row(index);
        core::FloatRanks& to = details.ranks[index == core::pooled_row ? index : result_row(index, C, common.rgb)];
        const bool there = task.full() && (index < rows || (index == core::pooled_row && ranked > rows));
        const int ranks = there ? fresh(row.ranks.ranks) : 0;
        if (r == 0) to.count = ranks;
        if (r >= ranks) continue;
        to.rank[r] = fresh(row.ranks.rank[r]);
        to.value[r] = fresh(row.order[r]);
    }
    if (!task.work->wide)
        for (std::uint32_t i = threadIdx.x; i < rows * common.bins; i += blockDim.x) {
            Word& count = task.counts(0)[i];
            counts_of(common, task.index,
                      result_row(static_cast<int>(i / common.bins), C, common.rgb))[i % common.bins] = fresh(count);
            count = 0;
        }
    __syncthreads();  // everything is written but the mapping, and read but what it needs
    if (common.normalize && threadIdx.x < (C == 1 ? 1 : 3)) plan_mapping(task, threadIdx.x, facts, moments);
    if (threadIdx.x < rows) task.row(threadIdx.x).found = Findings{};
    if (threadIdx.x == 0) publish(&result);
    __syncthreads();  // shared memory may be written again
}

// ---- Steps

template <int C>
__device__ void first_sweep(const Task<C>& task) {
    if (!task.full()) return find_extremes(task);
    for_rows(rows_of(C), [&](int row, const Crew& crew) { count_high_halves(task, row, crew); });
}

template <int C>
__device__ void second_sweep(const Task<C>& task, BlockPlan& plan, bool* last) {
    make_plan(task, plan);
    const Crew everybody = task.everybody();
    if (task.full()) {
        for_rows(rows_of(C), [&](int row, const Crew& crew) { count_details<C, true>(task, plan, row, crew); });
        // The plan is made: the counts of high halves are zero again for the next image.
        for (int r = 0; r < rows_of(C); ++r) {
            const RowFacts& facts = plan.rows[r].facts;
            if (facts.finite == 0) continue;
            const std::int64_t first = core::float_key(facts.minimum) >> 16,
                               end = (core::float_key(facts.maximum) >> 16) + 1;
            for (std::int64_t half = first + everybody.rank; half < end; half += everybody.workers)
                task.high(r)[half] = 0;
            if (!fresh(task.row(r).found.carried)) continue;
            for (std::int64_t i = everybody.rank; i < 65536; i += everybody.workers) task.carries(r)[i] = 0;
        }
    } else if (!plan.constant) {
        count_details<C, false>(task, plan, 0, everybody);
    } else if (blockIdx.x == 0) {
        count_constants(task, plan);
    }
    if (!arrive_last(&task.state().arrived, gridDim.x, last)) return;
    const bool again = decide(task, plan), done = !again && !task.full() && !task.work->wide;
    if (done) complete(task);
    if (threadIdx.x == 0) task.state().complete = done;
}

/// The moments of one row once more, about its mean.
template <int C>
struct MomentCounter {
    MomentSums<4> sums;
    MomentScale scale;
    std::uint32_t samples = 0;
    float fill;
    int row;
    bool rgb;

    template <int S>
    __device__ void operator()(const float (&of)[S], const Where&) {
        float values[S / C];
        row_values<C>(of, row, rgb, values);
#pragma unroll
        for (int i = 0; i < S / C; ++i) values[i] = is_finite(values[i]) ? values[i] : fill;
        sums.add(values, scale.unit, scale.offset);
        samples += S / C;
        if ((samples & (MomentSums<4>::fold_every - 1)) < S / C) sums.fold();
    }
};
template <int C>
__device__ __noinline__ void sum_again(const Task<C>& task, BlockPlan& plan, int row) {
    __syncthreads();  // the plan may be written again
    if (threadIdx.x == 0) {
        RowPlan& of = plan.rows[row];
        of.facts = facts_of(task.row(row).found, task.image.pixels());
        of.pivot = fresh(task.row(row).pivot);
        of.exponent = fresh(task.row(row).exponent);
        of.scale.set(of.pivot, of.exponent);
        of.fill = of.facts.minimum;
    }
    __syncthreads();  // the plan, for all
    MomentCounter<C> counter;
    counter.sums.clear();
    counter.scale = plan.rows[row].scale;
    counter.fill = plan.rows[row].fill;
    counter.row = row;
    counter.rgb = task.common().rgb;
    sweep_floats<C, C == 3 ? 1 : 2, false>(task.image, task.everybody(), false, counter);
    counter.sums.fold();
    merge_moments(counter.sums, counter.samples, task.row(row).found, task.full() ? 4 : 2);
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    if (task.full())
        take_back<C, true>(task, plan, row, false);
    else
        take_back<C, false>(task, plan, row, false);
}

/// The order statistics of one row under one high half, by one block; leaves the counts of its low halves zero.
template <int C>
__device__ __noinline__ void finish_ranks(const Task<C>& task, int index, int slot, RankScratch& scratch) {
    FloatRow& row = task.row(index);
    const core::RankPlan& plan = row.ranks;
    const int ranks = fresh(plan.ranks);
    int first = 0, end = 0;  // the slot's ranks
    for (int r = 0; r < ranks; ++r) {
        const int of = *static_cast<const volatile std::uint8_t*>(&plan.slot[r]);
        if (of < slot) first = r + 1;
        if (of <= slot) end = r + 1;
    }
    __syncthreads();  // scratch may be written again
    if (static_cast<int>(threadIdx.x) < end - first)
        scratch.ranks[threadIdx.x] = fresh(plan.within[first + threadIdx.x]);
    __syncthreads();  // ranks, for all
    Word* counts = task.low(index) + slot * 65536;
    locate([&](std::uint32_t b) -> std::uint64_t { return __ldcg(counts + b); }, 0, 65536, scratch.ranks, end - first,
           scratch.bins, scratch.within, scratch.warps);
    if (static_cast<int>(threadIdx.x) < end - first)
        row.order[first + threadIdx.x] = core::key_float(fresh(plan.high[slot]) << 16 | scratch.bins[threadIdx.x]);
    auto* words = reinterpret_cast<uint4*>(counts);
    for (int i = threadIdx.x; i < 65536 / 2; i += blockDim.x) words[i] = uint4{};
}

/// Order statistics, dealt to the blocks; moments of which the pivot was poor; many counts. The last block writes the
/// result.
template <int C>
__device__ void finish(const Task<C>& task, BlockPlan& plan, RankScratch& scratch, bool* last) {
    FloatState& state = task.state();
    if (fresh(state.complete)) return;
    if (task.full())
        for (int i = blockIdx.x; i < core::float_rows * core::max_ranks; i += gridDim.x) {
            const int index = i / core::max_ranks, slot = i % core::max_ranks;
            if (index < rows_of(C) || (C > 1 && index == core::pooled_row))
                if (slot < fresh(state.rows[index].ranks.selected)) finish_ranks(task, index, slot, scratch);
        }
    for (int row = 0; row < rows_of(C); ++row)
        if (fresh(state.rows[row].again)) sum_again(task, plan, row);
    if (task.work->wide) {
        const Common& common = task.common();
        const Crew everybody = task.everybody();
        const std::int64_t bins = common.bins;
        for (int row = 0; row < rows_of(C); ++row) {
            Word *from = task.counts(row), *to = counts_of(common, task.index, result_row(row, C, common.rgb));
            for (std::int64_t bin = everybody.rank; bin < bins; bin += everybody.workers) {
                to[bin] = __ldcg(from + bin);
                from[bin] = 0;
            }
        }
    }
    if (arrive_last(&state.arrived, gridDim.x, last)) complete(task);
}

// ---- Normalised copy

/// One row's finite values counted into the bins of an equalisation.
template <int C>
struct EqualizeCounter {
    Counters counters;
    EstimatedBins bins;
    int row;
    bool rgb;

    template <int S>
    __device__ void operator()(const float (&samples)[S], const Where&) {
        float value[S / C];
        row_values<C>(samples, row, rgb, value);
#pragma unroll
        for (int i = 0; i < S / C; ++i)
            if (is_finite(value[i])) counters.add_one(bins(value[i]));
    }
};
template <int C>
__device__ __noinline__ void count_equalized_row(const Task<C>& task, int row, Crew crew) {
    __shared__ core::FloatBins bins;
    __shared__ bool carried;
    const Range& range = task.state().equalized;
    __syncthreads();  // shared memory may be written again
    if (threadIdx.x == 0)
        bins = core::FloatBins(fresh(range.lower), fresh(range.upper), core::equalize_float_bins, true);
    __syncthreads();  // the bins, for all
    EqualizeCounter<C> counter{{}, EstimatedBins(&bins), row, task.common().rgb};
    Word* counts = task.high(row);
    count_places(task, crew, row, &carried, counter,
                 [&](std::uint32_t bin, std::uint64_t count) { atomicAdd(counts + bin, Word{count}); });
    __syncthreads();
}

/// Rows whose tables an equalisation needs: [first, first + rows).
template <int C>
struct EqualizedRows {
    int first, rows;
    __device__ explicit EqualizedRows(const Normalization& normalization)
        : first(C > 1 && normalization.joint ? luma_row : 0), rows(C == 1 || normalization.joint ? 1 : 3) {}
};

template <int C>
__device__ void count_equalized(const Task<C>& task) {
    const EqualizedRows<C> of(task.common().normalization);
    for_rows(of.rows, [&](int row, const Crew& crew) { count_equalized_row(task, of.first + row, crew); });
}

/// One row's table from its counts, which are zero afterwards, by one block.
template <int C>
__device__ __noinline__ void equalize_row(const Task<C>& task, int row) {
    __shared__ std::uint64_t scratch[warp_lanes];
    __shared__ std::uint64_t first_count;
    const std::uint32_t lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes,
                        each = 65536 / (blockDim.x / warp_lanes), begin = warp * each, end = begin + each;
    Word* counts = task.high(row);
    std::uint32_t* carries = task.carries(row);
    float* table = task.table(row);
    const bool carried = fresh(task.row(row).found.carried) != 0;
    // Carries are added first, so that a count is a load and nothing else. A sum with a term that is zero where nothing
    // was carried is what this was, and it went wrong once in some thousand launches on an H200 (CUDA 13.0): ptxas
    // cleared the term's registers behind the load, and a warp then added what they had held before, the bins' numbers.
    if (carried)
        for (std::uint32_t bin = begin + lane; bin < end; bin += warp_lanes) {
            counts[bin] = fresh(counts[bin]) + (Word{fresh(carries[bin])} << 16);
            carries[bin] = 0;
        }
    auto count = [&](std::uint32_t bin) { return fresh(counts[bin]); };
    std::uint64_t own = 0, total = 0;
    std::uint32_t filled = 0, complement_first = 0;
#pragma unroll 8
    for (std::uint32_t bin = begin + lane; bin < end; bin += warp_lanes) {
        const Word n = count(bin);
        own += n;
        if (n == 0) continue;
        ++filled;
        complement_first = max(complement_first, ~bin);
    }
    const std::uint64_t before = scan_warps(reduce_warp(own, Sum{}), scratch, total);
    const std::uint64_t bins = reduce_block(std::uint64_t{filled}, scratch, std::uint64_t{0}, Sum{});
    const std::uint64_t lowest = reduce_block(std::uint64_t{complement_first}, scratch, std::uint64_t{0}, Max{});
    if (threadIdx.x == 0) {
        first_count = bins ? count(~static_cast<std::uint32_t>(lowest)) : 0;
        for (int c = 0; c < (C == 1 ? 1 : 3); ++c)
            if (row == c || row == luma_row) task.state().maps[c].keep = bins < 2;
    }
    __syncthreads();  // first_count, for all; and all have read the counts once
    const std::uint64_t skipped = first_count;
    const float scale = total > skipped ? core::equalize_scale(total, skipped, 1) : 0;
    std::uint64_t cumulative = before;
    for (std::uint32_t base = begin; base < end; base += warp_lanes) {
        const std::uint64_t through = cumulative + scan_lanes(count(base + lane));
        table[base + lane] = core::equalize(through > skipped ? through - skipped : 0, scale);
        counts[base + lane] = 0;
        cumulative = __shfl_sync(0xFFFFFFFFu, through, warp_lanes - 1);
    }
    __syncthreads();  // first_count may be written again
    if (threadIdx.x == 0) task.row(row).found.carried = 0;
}

template <int C>
__device__ void equalize(const Task<C>& task) {
    const EqualizedRows<C> of(task.common().normalization);
    for (int row = blockIdx.x; row < of.rows; row += gridDim.x) equalize_row(task, of.first + row);
}

template <int C>
struct FloatWriter {
    const Mapping* maps;  ///< in shared memory, as the bins
    const core::FloatBins* bins;
    const float* tables;  ///< of the first row equalised
    int table_stride;
    NormalizeMode mode;
    Output output;

    __device__ float map(int channel, float value) const {
        if (channel == 3) return value;  // alpha is left alone
        const Mapping& map = maps[channel];
        if (map.keep || value != value) return value;
        switch (mode) {
            case NormalizeMode::zscore:
                return core::zscore(value, map.low, map.high);
            case NormalizeMode::equalize: {
                const std::uint32_t bin = EstimatedBins(bins)(value);
                if (bin == core::FloatBins::below) return 0;
                if (bin == core::FloatBins::above) return 1;
                return tables[channel * table_stride + static_cast<int>(bin)];
            }
            case NormalizeMode::percentile:
                return core::clamp_unit(core::stretch(value, map.low, map.high));
            default:
                return core::stretch(value, map.low, map.high);
        }
    }
    template <int S>
    __device__ void operator()(const float (&samples)[S], const Where& where) const {
        constexpr int each = S < Group<float, C>::samples ? S : Group<float, C>::samples;
#pragma unroll
        for (int group = 0; group < S / each; ++group) {
            float* to = reinterpret_cast<float*>(static_cast<char*>(output.data) + where.y * output.row_bytes) +
                        (where.x + group * where.apart) * C;
            float mapped[each];
#pragma unroll
            for (int i = 0; i < each; ++i) mapped[i] = map(i % C, samples[group * each + i]);
            if constexpr (each % 4 == 0) {
                store_samples(to, mapped);
            } else {
#pragma unroll
                for (int i = 0; i < each; ++i) to[i] = mapped[i];
            }
        }
    }
};

template <int C>
__device__ __noinline__ void apply(const Task<C>& task) {
    __shared__ Mapping maps[3];
    __shared__ core::FloatBins bins;
    const FloatState& state = task.state();
    __syncthreads();  // shared memory may be written again
    if (threadIdx.x < (C == 1 ? 1 : 3)) {
        const Mapping& map = state.maps[threadIdx.x];
        maps[threadIdx.x] = {*static_cast<const volatile bool*>(&map.keep), fresh(map.low), fresh(map.high)};
    }
    if (threadIdx.x == 0)
        bins = core::FloatBins(fresh(state.equalized.lower), fresh(state.equalized.upper), core::equalize_float_bins,
                               true);
    __syncthreads();  // maps and bins, for all
    const EqualizedRows<C> of(task.common().normalization);
    FloatWriter<C> writer{
        maps, &bins, task.table(of.first), of.rows == 1 ? 0 : 65536, task.common().normalization.mode, task.output};
    sweep_floats<C, C == 1 ? 2 : 1, false>(task.image, task.everybody(), false, writer);
}

// ---- The kernel

template <int C>
constexpr int threads_of = C == 1 ? 1024 : 512;

/// Extremes, NaN, ±Inf, bins, moments and, in full, order statistics of every row of every image; then its normalised
/// copy.
/// Launch: cooperative, one block a multiprocessor; or one launch a phase. Images follow each other, all blocks at the
/// same step of the same image; a phase is a step of an image.
/// Brief: all blocks share the pixels, and each looks at all rows of its pixels. Full: blocks are dealt to the rows in
/// turn, since 65536 counters of 16 bits fill the shared memory, and those of a row share the pixels; blocks of
/// different rows read the same pixels at about the same time, mostly from L2. In device memory blocks meet by atomic
/// additions; the last to come to the end of a step decides, and writes the result.
/// Barriers: before the phases, each of which needs the one before complete, but for an image's first, which adds to
/// the other state; those within a block are told where they stand. Bytes: each pixel is read twice (the second time
/// from L2 where it fits); once more where a pivot was poor, for equalisation, and for the copy, which is written once.
/// Limit: fewer than 2^22 samples a thread, see MomentSums, and 2^32 pixels a block.
template <int C, class Images>
__global__ void __launch_bounds__(threads_of<C>, 1)
    floats_kernel(const __grid_constant__ Images images, const __grid_constant__ FloatWork work, int first, int last) {
    __shared__ BlockPlan plan;
    __shared__ RankScratch scratch;
    __shared__ bool last_block;
    for (int phase = first; phase < last; ++phase) {
        const Step step = work.step[phase % work.steps];
        if (step != Step::first_sweep) wait_for_phase(phase, first);
        const int index = phase / work.steps;
        const Task<C> task{&work, index, images.image(index), images.output_of(index)};
        switch (step) {
            case Step::first_sweep:
                first_sweep(task);
                break;
            case Step::plan:
                for (int i = blockIdx.x; i < core::float_rows; i += gridDim.x)
                    if (i < rows_of(C) || (C > 1 && i == core::pooled_row)) plan_row(task, i, scratch);
                break;
            case Step::second_sweep:
                second_sweep(task, plan, &last_block);
                break;
            case Step::finish:
                finish(task, plan, scratch, &last_block);
                break;
            case Step::count_equalized:
                count_equalized(task);
                break;
            case Step::equalize:
                equalize(task);
                break;
            case Step::apply:
                apply(task);
                break;
        }
    }
}

/// So many counts that one block would take long to write them.
constexpr std::uint64_t wide_counts = 4096;

constexpr std::int64_t pixels_per_block = 16 * 1024;

}  // namespace

std::size_t floats_workspace(int channels, std::uint32_t bins, bool, const Launch&) {
    std::size_t bytes = 0;
    with_channels(channels, [&](auto constant) {
        constexpr int C = decltype(constant)::value;
        bytes = Places<C>::counts + static_cast<std::size_t>(rows_of(C)) * bins * sizeof(Word);
    });
    return bytes;
}

template <class Images>
void launch_floats(const Images& images, FloatParameters p, int channels, const Launch& launch) {
    if (p.stretch) p.detail = Detail::full;  // between percentiles
    const bool full = p.detail == Detail::full;
    const bool equalized = p.common.normalize && p.common.normalization.mode == NormalizeMode::equalize;
    p.parts_log2 = parts_log2(launch);
    FloatWork work{p, 0, {}, false, false};
    auto add = [&](Step step) { work.step[work.steps++] = step; };
    add(Step::first_sweep);
    if (full) add(Step::plan);
    add(Step::second_sweep);
    add(Step::finish);
    if (equalized) {
        add(Step::count_equalized);
        add(Step::equalize);
    }
    if (p.common.normalize) add(Step::apply);
    std::int64_t largest = 0;
    for (std::int64_t i = 0; i < images.count; ++i) largest = std::max(largest, images.image(i).pixels());

    with_channels(channels, [&](auto constant) {
        constexpr int C = decltype(constant)::value;
        const int rows = full ? 1 : rows_of(C);
        const std::size_t low_bytes = (full ? low_words<C, true> : 0) * sizeof(std::uint32_t);
        const std::size_t slot_bytes =
            full ? Slots<1>::total_bytes(p.common.bins) : Slots<rows_of(C)>::total_bytes(p.common.bins);
        const std::size_t copy_bytes = rows * std::size_t{p.common.bins} * sizeof(std::uint32_t);
        work.slots_fit = low_bytes + slot_bytes + static_shared_bytes <= launch.shared_bytes;
        work.columns_log2 = columns_log2(launch, copy_bytes, low_bytes);
        // Where the slots fit, they are what is mostly used.
        if (work.slots_fit) work.columns_log2 = std::min(work.columns_log2, 3);
        work.wide = rows_of(C) * std::uint64_t{p.common.bins} > wide_counts;
        std::size_t bytes = low_bytes + std::max(work.slots_fit ? slot_bytes : 0,
                                                 work.columns_log2 < 0 ? 0 : copy_bytes << work.columns_log2);
        if (full || equalized) bytes = std::max(bytes, std::size_t{131072} >> p.parts_log2);
        const Shape shape{blocks_for(largest, pixels_per_block) * (full ? rows_of(C) : 1), threads_of<C>, bytes};
        launch_phases(launch, floats_kernel<C, Images>, shape, 0, static_cast<int>(images.count) * work.steps, images,
                      work);
    });
}
template void launch_floats(const Tensor&, FloatParameters, int, const Launch&);
template void launch_floats(const List&, FloatParameters, int, const Launch&);

}  // namespace gpuhist::cuda
