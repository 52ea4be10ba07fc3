// Sweep 2: bins, moments and the low halves of keys; and the moments once more where their pivot was poor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/bins.hpp"
#include "cuda/block/reduce.cuh"
#include "cuda/float/counters.cuh"
#include "cuda/float/middle_digits.cuh"
#include "cuda/float/speculation.cuh"
#include "cuda/float/state.cuh"
#include "cuda/host/launcher.cuh"
#include "statistics/float_analysis.hpp"

namespace gpuhist::cuda {
namespace {

struct RowPlan {
    MomentScale scale;
    std::uint32_t small;  ///< RawSums::small_rank
    std::int32_t exponent;
    double pivot;
    float fill;  ///< what samples that are not finite are counted as, and taken back afterwards
    RowFacts facts;

    __device__ bool constant() const { return facts.minimum == facts.maximum; }
};

/// What every block works out for itself before sweep 2, in shared memory.
struct BlockPlan {
    RowPlan rows[5];
    core::FloatBins bins;
    /// Twice the same: of what a lane reads from an address of its own the compiler does not know that the warp has it
    /// in common. Else it would lie in uniform registers, of which an operation takes one, and be copied for every
    /// sample.
    BinPosition position[2];
    bool slots;  ///< they fit, and `position` gives the right bins
    bool plain;  ///< every sample is finite and within the range
    LowCounter::Chosen chosen[2];
    LowCounter low;
    bool rgb;
};

/// Of a brief analysis's sums, whose pivot is 0.
__device__ inline std::int32_t exponent_of(const RowFacts& facts) {
    return core::moment_exponent(0, facts.minimum, facts.maximum);
}

/// How a row is summed up whose facts are known, or guessed.
template <int C, bool Full>
__device__ inline void plan_sums(const Task<C, Full>& task, int r, RowPlan& row) {
    if constexpr (Full) {
        row.pivot = fresh(task.row(r).pivot);
        row.exponent = fresh(task.row(r).exponent);
        row.scale = CentralSums::scale_of(row.pivot, row.exponent);
    } else {
        row.pivot = 0;
        row.exponent = exponent_of(row.facts);
        row.scale = RawSums::scale_of(row.exponent);
    }
    row.small = RawSums::small_rank(row.exponent);
    row.fill = row.facts.minimum;
}

/// Where the bins' values lie; whether there is a way to tell. By all threads, for all.
__device__ inline bool find_position(const core::FloatBins& bins, BinPosition& position) {
    bool right = false;
#pragma unroll 1
    for (int way = 0; way < 2 && !right; ++way) {
        position = BinPosition::of(bins, way == 0);
        right = __syncthreads_and(position.right(bins));
    }
    return right;
}

/// By all threads; the first of each warp looks after a row, or after the bins.
template <int C, bool Full>
__device__ inline void make_plan(const Task<C, Full>& task, BlockPlan& plan) {
    constexpr int rows = rows_of(C);
    const int warp = threadIdx.x / warp_lanes;
    __syncthreads();  // the plan may be written again
    if (threadIdx.x % warp_lanes == 0 && warp < rows) {
        RowPlan& row = plan.rows[warp];
        row.facts = facts_of(task, warp);
        plan_sums(task, warp, row);
    } else if (threadIdx.x % warp_lanes == 0 && warp == rows) {
        plan.rgb = task.common().rgb;
        plan.bins = bins_of(task);
    }
    __syncthreads();  // the bins, and what is known of the rows, for all
    BinPosition position{};
    const bool right = task.work->slots_fit && find_position(plan.bins, position);
    if (threadIdx.x == 0) {
        bool odd = false;
        for (int r = 0; r < rows; ++r) odd = odd || plan.rows[r].facts.odd != 0;
        plan.plain = !odd && !task.work->has_range;
        plan.position[0] = plan.position[1] = position;
        plan.slots = right;
    }
    __syncthreads();  // the plan, for all
}

/// Else all of them take up registers.
__device__ inline void one_row_after_the_other() {
    asm volatile("" ::: "memory");
}

/// For a sum of each of a block's warps, in shared memory, the same of all who merge so many.
template <int sums>
__device__ inline auto& sums_of_warps() {
    __shared__ __align__(16) core::i128 of_warps[sums][warp_lanes];
    return of_warps;
}
/// Adds a warp's up. Called, since what is run through once takes longer to fetch than to execute.
__device__ __noinline__ void merge_lanes(core::i128 value, core::i128* sum) {
    const core::i128 all = wide_sum_over_warp(value);
    if (threadIdx.x % warp_lanes == 0) *sum = all;
}
/// Calls `add(row, power, part, sum)` with the parts of a block's sums, see PartSums. `total_of(row, power)`: a
/// thread's. By all threads, of which no warp is still in a merge before. The barrier shows what all of them did
/// before.
template <int rows, int powers, class TotalOf, class Add>
__device__ __forceinline__ void merge_moments(TotalOf total_of, Add add) {
    constexpr int sums = rows * powers;
    auto& of_warps = sums_of_warps<sums>();
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < sums; ++i) merge_lanes(total_of(i / powers, i % powers), &of_warps[i][warp]);
    __syncthreads();
#pragma unroll 1
    for (int i = warp; i < sums; i += warps) {
        const Word part = part_of(wide_sum_over_warp(lane < warps ? of_warps[i][lane] : core::i128{0}), lane);
        if (lane < 3 && part != 0) add(i / powers, i % powers, lane, part);
    }
    __syncwarp();
}
/// Adds a part of a sum to those of the image.
struct AddToRows {
    FloatRow* rows;

    __device__ void operator()(int r, int power, int part, Word sum) const {
        global_add(&rows[r].found.sums[power][part], sum);
    }
};

/// What is common to the counters of sweep 2. Brief: all rows together, two powers; full: one row, four powers, and low
/// halves.
template <int C, bool Full>
struct DetailCounter {
    using Sums = std::conditional_t<Full, CentralSums, RawSums>;
    static constexpr int rows = Full ? 1 : rows_of(C), powers = Sums::powers;

    /// What it seldom needs, of each row. In memory, which is far away once the sweep has passed through the caches;
    /// that of a caller, or else the compiler takes registers for it.
    struct Seldom {
        MomentTotals<powers> totals[rows];  ///< from the first `fold_every` samples on
        std::uint64_t rests[rows];          ///< of small samples, k = 1, see RawSums, from the first one on
    };
    Sums sums[rows];
    std::uint32_t samples = 0;
    MomentScale scale;
    std::uint32_t small;
    std::uint32_t scales;  ///< shared address of the first row's
    int row;               ///< full
    bool rgb;
    bool small_found = false;  ///< a small sample
    LowQueue<float_threads_of(C, Full)> low;
    Seldom& seldom;

    __device__ DetailCounter(const BlockPlan& plan, int of, Seldom& memory)
        : row(of), rgb(plan.rgb), low(&plan.low), seldom(memory) {
        scale = plan.rows[of].scale;
        small = plan.rows[of].small;
        scales = shared_address(&plan.rows[0].scale);
#pragma unroll
        for (int r = 0; r < rows; ++r) sums[r].clear(scale_of(r));
    }
    __device__ MomentScale scale_of(int r) const {
        return rows == 1 ? scale : MomentScale::load(scales + r * static_cast<int>(sizeof(RowPlan)));
    }
    __device__ std::uint32_t small_of(int r) const {
        constexpr std::uint32_t place = offsetof(RowPlan, small) - offsetof(RowPlan, scale);
        return rows == 1 ? small : shared_load(scales + place + r * static_cast<int>(sizeof(RowPlan)), 0u);
    }
    /// Of a row's facts; from shared memory at every use, as its scale.
    __device__ float2 extremes_of(int r) const {
        constexpr std::uint32_t place =
            offsetof(RowPlan, facts) + offsetof(RowFacts, minimum) - offsetof(RowPlan, scale);
        static_assert(place % sizeof(float2) == 0);
        float2 extremes;
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                     : "=f"(extremes.x), "=f"(extremes.y)
                     : "r"(scales + place + r * static_cast<int>(sizeof(RowPlan))));
        return extremes;
    }
    template <class Pixels, int N>
    __device__ void values_of(const Pixels& pixels, int r, float (&values)[N]) const {
        if constexpr (Full) {
            row_values<C>(pixels, row, rgb, values);
        } else {
#pragma unroll
            for (int p = 0; p < N; ++p) values[p] = row_value<C>(pixels, p, r, rgb);
        }
    }
    template <int N>
    __device__ void add(int r, const float (&values)[N], const double (&wide)[N]) {
        sums[r].add(wide, scale_of(r));
        if constexpr (Full) low.add(values);
    }
    /// Brief: the rests of small samples, which are seldom.
    template <int N, int each>
    __device__ void add_rests(int r, const float (&values)[N][each]) {
        std::uint32_t smallest = ~0u;
#pragma unroll
        for (int i = 0; i < N * each; ++i) smallest = min(smallest, RawSums::rank(values[i / each][i % each]));
        if (smallest >= small_of(r)) return;
        const MomentScale s = scale_of(r);
        std::uint64_t rests = 0;
#pragma unroll
        for (int i = 0; i < N * each; ++i) {
            float value;  // hidden from the compiler: it would convert all of them ahead, for both branches
            asm volatile("mov.f32 %0, %1;" : "=f"(value) : "f"(values[i / each][i % each]));
            rests += RawSums::rest_of(value, s);
        }
        if (!small_found)
            for (std::uint64_t& of_row : seldom.rests) of_row = 0;
        small_found = true;
        seldom.rests[r] += rests;
    }
    /// After N samples were added to each row.
    template <int N>
    __device__ void counted() {
        samples += N;
        if ((samples & (Sums::fold_every - 1)) < N) fold();
    }
    __device__ void fold() {
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            seldom.totals[r] = totals_of(r, samples >= 2 * Sums::fold_every);
            sums[r].clear(scale_of(r));
            one_row_after_the_other();
        }
    }
    /// `folded`: some were before.
    __device__ MomentTotals<powers> totals_of(int r, bool folded) const {
        MomentTotals<powers> totals = folded ? seldom.totals[r] : MomentTotals<powers>{};
        sums[r].add_to(totals, scale_of(r));
        return totals;
    }
    /// Merges the block's moments, see merge_moments. `odd`: samples of each row that were passed over.
    template <class Add>
    __device__ __forceinline__ void finish(const std::uint32_t (&odd)[rows], Add add) {
        if constexpr (Full) low.empty();
        MomentTotals<powers> totals;
        merge_moments<rows, powers>(
            [&](int r, int k) {
                if (k == 0) {
                    totals = totals_of(r, samples >= Sums::fold_every);
                    if (!Full && small_found) totals.low[0] += seldom.rests[r];
                }
                return Sums::total(totals, k, samples - odd[r]);
            },
            add);
    }
};

/// Value i, which need not be a constant, out of registers.
template <int rows, int each>
__device__ __forceinline__ float picked(const float (&values)[rows][each], int i) {
    constexpr int N = rows * each;
    float left[N];
#pragma unroll
    for (int k = 0; k < N; ++k) left[k] = values[k / each][k % each];
#pragma unroll
    for (int step = 1; step < N; step *= 2)
#pragma unroll
        for (int k = 0; k + step < N; k += 2 * step) left[k] = i & step ? left[k + step] : left[k];
    return left[0];
}

/// What samples may be: within the range, all of them; or outside, or not finite; or as a Guess says, of which those in
/// its windows, where it has any, are listed.
enum class Samples : std::uint8_t { within, any, guessed, guessed_and_listed };
constexpr bool is_guessed(Samples kind) {
    return kind == Samples::guessed || kind == Samples::guessed_and_listed;
}

template <int C, bool Full, Samples kind>
struct SlotCounter : DetailCounter<C, Full> {
    using Base = DetailCounter<C, Full>;
    Slots<Base::rows> slots;
    const RowPlan* plans;
    std::uint32_t guess;  ///< its shared address

    __device__ SlotCounter(const BlockPlan& plan, const std::uint32_t* table, int row, const Guess* on,
                           typename Base::Seldom& seldom)
        : Base(plan, row, seldom),
          slots(table, plan.position[threadIdx.x % 2], plan.bins.bins),
          plans(plan.rows),
          guess(is_guessed(kind) ? shared_address(on) : 0) {}

    template <class Pixels, int N>
    __device__ void filled_values_of(const Pixels& pixels, int r, float (&values)[N]) const {
        this->values_of(pixels, r, values);
        if constexpr (kind == Samples::any) {
            const float fill = plans[Full ? this->row : r].fill;
#pragma unroll
            for (int i = 0; i < N; ++i) values[i] = is_finite(values[i]) ? values[i] : fill;
        }
    }
    template <int r, int N, class Pixels>
    __device__ void count_row(const Pixels* pixels) {
        constexpr int each = pixels_of<C, Pixels>, all = N * each, together = all < 4 ? all : 4;
        static_assert(all % together == 0);
        float values[all / together][together], low = INFINITY, high = -INFINITY;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            float of[each];
            filled_values_of(pixels[i], r, of);
#pragma unroll
            for (int p = 0; p < each; ++p) {
                values[(i * each + p) / together][(i * each + p) % together] = of[p];
                low = min_or_nan(low, of[p]);
                high = fmaxf(high, of[p]);
            }
        }
        if constexpr (is_guessed(kind)) {
            const float2 sampled = this->extremes_of(r);
            if (__builtin_expect(!(low >= sampled.x && high <= sampled.y), 0)) {
                bool allowed = true;
#pragma unroll 1
                for (int i = 0; i < all; ++i) allowed = Guess::allows(guess, r, picked(values, i)) && allowed;
                if (!allowed) return;
            }
            one_row_after_the_other();
        }
        if constexpr (!Full) this->add_rests(r, values);
        std::uint32_t nearest[all / together], nearest_of_all = ~0u;
#pragma unroll
        for (int k = 0; k < all / together; ++k) {
            double wide[together];
            widen(values[k], wide);
            nearest[k] = slots.template count<r, kind == Samples::any>(wide);
            nearest_of_all = min(nearest_of_all, nearest[k]);
            this->add(r, values[k], wide);
        }
        if constexpr (kind == Samples::guessed_and_listed) {
            const std::uint32_t window = Guess::window_of(guess);
            if (__builtin_expect(nearest_of_all < window, 0)) {
#pragma unroll
                for (int k = 0; k < all / together; ++k)
                    if (nearest[k] < window) Guess::note(guess, r, values[k]);
            }
        }
        one_row_after_the_other();
    }
    template <int N, class Pixels>
    __device__ void look(const Pixels* pixels) {
        count_row<0, N>(pixels);
        if constexpr (Base::rows > 1) {
            count_row<1, N>(pixels);
            count_row<2, N>(pixels);
            count_row<3, N>(pixels);
        }
        if constexpr (Base::rows > 4) count_row<4, N>(pixels);
        this->template counted<N * pixels_of<C, Pixels>>();
    }
    template <int N>
    __device__ void look_at_all(const Group<float, C> (&groups)[N]) {
        look<N>(groups);
    }
    __device__ void look_at(const Group<float, C>& group) {
        look<1>(&group);
    }
    __device__ void look_at(const float (&samples)[C]) {
        look<1>(&samples);
    }
};

/// Groups that a thread loads together: as many as it has registers for.
template <int C, bool Full, Samples kind>
constexpr int detail_unroll = Full                   ? 2
                              : C == 1               ? 8
                              : C == 4               ? 4
                              : kind == Samples::any ? 2
                                                     : 3;

/// What counts a row's samples in a slot. Beyond closed ends there are none, but those at an end itself may be found
/// there (see BinPosition), and the fill of a row without a finite sample.
struct SlotCounts {
    Word* counts;
    Findings* found;
    std::uint32_t bins;
    bool closed;

    template <int C, bool Full>
    __device__ SlotCounts(const Task<C, Full>& task, const BlockPlan& plan, int row)
        : counts(task.counts(row)), found(&task.row(row).found), bins(plan.bins.bins), closed(plan.bins.upper_closed) {}
    __device__ Word* operator()(std::uint32_t slot) const {
        if (closed) slot = min(max(slot, 1u), bins);
        if (slot == 0) return &found->below;
        if (slot == bins + 1) return &found->above;
        return counts + (slot - 1);
    }
};

/// The same of a value.
template <int C, bool Full>
__device__ inline Word* count_of(const Task<C, Full>& task, const BlockPlan& plan, int row, float value) {
    const std::uint32_t bin = plan.bins(value);
    return SlotCounts(task, plan, row)(bin == core::FloatBins::below   ? 0
                                       : bin == core::FloatBins::above ? plan.bins.bins + 1
                                                                       : bin + 1);
}

/// Adds a block's counters, of `rows` rows from one on, to the counts. By all threads.
template <int rows, int C, bool Full>
__device__ inline void gather_slots(const Task<C, Full>& task, const BlockPlan& plan, const std::uint32_t* table,
                                    int row) {
    Slots<rows>::gather(table, plan.bins.bins, [&](int r) {
        return [counts = SlotCounts(task, plan, row + r)](std::uint32_t slot, std::uint32_t count) {
            global_add(counts(slot), Word{count});
        };
    });
}

/// A count in device memory taken back.
__device__ inline void subtract(Word* count, Word samples) {
    global_add(count, Word{0} - samples);
}

/// Adds the moments' terms of `times` samples of one value; they may be fewer than none. By one thread.
template <int C, bool Full>
__device__ void add_terms(const Task<C, Full>& task, const RowPlan& of, int row, float value, core::i128 times) {
    std::uint64_t high[4] = {}, low[4] = {};
    core::MomentTerms(of.pivot, of.exponent).add(value, high, low);
    for (int k = 0; k < (Full ? 4 : 2); ++k)
        add_to_sum(task.row(row).found.sums[k], core::MomentTerms::total(high[k], low[k], 1) * times);
}

/// Takes back what samples that are not finite were counted as, of a row that has some. By one thread.
template <int C, bool Full>
__device__ __noinline__ void take_back(const Task<C, Full>& task, const BlockPlan& plan, int row, bool bins) {
    const RowPlan& of = plan.rows[row];
    const Word times = of.facts.odd;
    if (bins) subtract(count_of(task, plan, row, of.fill), times);
    add_terms(task, of, row, of.fill, -static_cast<core::i128>(times));
    if constexpr (Full)
        if (bins) plan.low.count_in_memory(core::float_key(of.fill), Word{0} - times);
}

/// The loop, and what it ends in: what its caller keeps would crowd out what it has in registers.
template <int C, bool Full, Samples kind, class Add, class OfImage = NoTile>
__device__ __noinline__ void count_slots(const Image& image, const Share& share, const BlockPlan& plan,
                                         const std::uint32_t* table, int row, const Guess* guess,
                                         typename DetailCounter<C, Full>::Seldom& seldom, Add add, OfImage tile = {}) {
    SlotCounter<C, Full, kind> counter(plan, table, row, guess, seldom);
    sweep_floats<C, detail_unroll<C, Full, kind>>(image, share, counter, tile);
    counter.finish({}, add);
}

/// For any bins. Samples that are not finite are passed over.
template <int C, bool Full>
struct BinCounter : DetailCounter<C, Full> {
    using Base = DetailCounter<C, Full>;
    EstimatedBins bins;
    std::uint32_t* column;  ///< this lane's copy of bin 0, in shared memory; null: counted in device memory
    int columns_log2;
    std::uint32_t count;
    Word* counts;                        ///< of the first row
    std::uint32_t odd[Base::rows] = {};  ///< not finite
    Word below[Base::rows] = {}, above[Base::rows] = {};

    __device__ BinCounter(const Task<C, Full>& task, const BlockPlan& plan, std::uint32_t* table, int row,
                          typename Base::Seldom& seldom)
        : Base(plan, row, seldom),
          bins(&plan.bins),
          column(task.work->columns_log2 < 0 ? nullptr : table + threadIdx.x % (1u << task.work->columns_log2)),
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
            global_add(counts + static_cast<std::uint64_t>(r) * count + bin, Word{1});
        const float one[1][1] = {{value}};
        const double wide[1] = {value};
        if constexpr (!Full) this->add_rests(r, one);
        this->add(r, one[0], wide);
    }
    __device__ void look_at(const float (&samples)[C]) {
#pragma unroll
        for (int r = 0; r < Base::rows; ++r) {
            float value[1];
            this->values_of(samples, r, value);
            count_one(r, value[0]);
        }
        this->template counted<1>();
    }
    __device__ void look_at(const Group<float, C>& group) {
#pragma unroll 1
        for (int p = 0; p < Group<float, C>::pixels; ++p) {
            float samples[C];
#pragma unroll
            for (int c = 0; c < C; ++c) {
                samples[c] = group[c];
#pragma unroll
                for (int q = 1; q < Group<float, C>::pixels; ++q)
                    if (p == q) samples[c] = group[q * C + c];
            }
            look_at(samples);
        }
    }
};

template <int C, bool Full, class OfImage>
__device__ __noinline__ void count_bins(const Task<C, Full>& task, const Share& share, const BlockPlan& plan,
                                        std::uint32_t* table, int row, typename DetailCounter<C, Full>::Seldom& seldom,
                                        OfImage tile) {
    BinCounter<C, Full> counter(task, plan, table, row, seldom);
    sweep_floats<C, 1>(task.image, share, counter, tile);
    FloatRow* rows = &task.row(row);
    counter.finish(counter.odd, AddToRows{rows});
    for (int r = 0; r < counter.rows; ++r) {
        const Word below = reduce_warp(counter.below[r], Sum{}), above = reduce_warp(counter.above[r], Sum{});
        if (threadIdx.x % warp_lanes != 0) continue;
        if (below) global_add(&rows[r].found.below, below);
        if (above) global_add(&rows[r].found.above, above);
    }
}

/// One row whose finite samples are equal, by one thread: nothing need be read again.
template <int C, bool Full>
__device__ __noinline__ void count_constant(const Task<C, Full>& task, const BlockPlan& plan, int row) {
    const RowFacts& facts = plan.rows[row].facts;
    if (facts.finite == 0) return;
    global_add(count_of(task, plan, row, facts.minimum), Word{facts.finite});
    add_terms(task, plan.rows[row], row, facts.minimum, static_cast<core::i128>(facts.finite));
    if constexpr (Full) plan.low.count_in_memory(core::float_key(facts.minimum), facts.finite);
}

/// Which low halves are counted for one row and for the pooled row. By all threads.
template <int C>
__device__ __noinline__ void plan_low_halves(const Task<C, true>& task, BlockPlan& plan, int row) {
    const int rows = C > 1 && row < luma_row ? 2 : 1;
    const bool narrow = task.narrow();
    for (int i = threadIdx.x; i < LowCounter::words(task.work->map_log2, blockDim.x) / 4; i += blockDim.x)
        reinterpret_cast<uint4*>(dynamic_shared)[i] = uint4{};
    if (threadIdx.x < rows * core::max_ranks) {
        const int i = threadIdx.x / core::max_ranks, slot = threadIdx.x % core::max_ranks;
        const core::RankPlan& ranks = task.row(i == 0 ? row : core::pooled_row).ranks;
        plan.chosen[i].high[slot] = fresh(ranks.high[slot]);
        if (slot == 0) plan.chosen[i].count = fresh(ranks.selected);
    }
    if (threadIdx.x == 0)
        plan.low = {dynamic_shared, task.work->map_log2, rows, plan.chosen, {task.low(row), task.low(core::pooled_row)},
                    narrow};
    __syncthreads();  // the plan, and clear memory
    if (narrow)
        want_middles(task, plan.low, row);
    else
        plan.low.prepare();
}

/// Bins, moments and low halves of one row, or (brief) of all, by the blocks that share the pixels.
/// Barriers: before shared memory is written again, after it is prepared, and in merge_moments, before the counters are
/// merged.
template <int C, bool Full, class OfImage>
__device__ void count_details(const Task<C, Full>& task, BlockPlan& plan, int row, const Share& share, OfImage tile) {
    constexpr int rows = Full ? 1 : rows_of(C);
    using Table = Slots<rows>;
    std::uint32_t* table = dynamic_shared + (Full ? LowCounter::words(task.work->map_log2, blockDim.x) : 0);
    const std::uint32_t bins = plan.bins.bins;
    const int columns_log2 = task.work->columns_log2;
    bool constant = true;
    for (int r = 0; r < rows; ++r) constant = constant && plan.rows[Full ? row : r].constant();
    __syncthreads();
    if constexpr (Full) plan_low_halves(task, plan, row);
    if (constant) {
        if (share.first < rows) count_constant(task, plan, Full ? row : static_cast<int>(share.first));
        return;
    }
    if (plan.slots)
        Table::prepare(table, bins);
    else if (columns_log2 >= 0)
        for (std::uint32_t i = threadIdx.x; i < rows * bins << columns_log2; i += blockDim.x) table[i] = 0;
    __syncthreads();

    typename DetailCounter<C, Full>::Seldom seldom;
    const AddToRows add{&task.row(row)};
    if (!plan.slots)
        count_bins(task, share, plan, table, row, seldom, tile);
    else if (Full || !plan.plain)
        count_slots<C, Full, Samples::any>(task.image, share, plan, table, row, nullptr, seldom, add, tile);
    else
        count_slots<C, Full, Samples::within>(task.image, share, plan, table, row, nullptr, seldom, add, tile);
    if constexpr (Full) plan.low.merge();
    if (plan.slots) {
        gather_slots<rows>(task, plan, table, row);
        if (share.first == 0)
            for (int r = 0; r < rows; ++r)
                if (const int of = Full ? row : r; plan.rows[of].facts.odd != 0) take_back(task, plan, of, true);
    } else if (columns_log2 >= 0) {
        const std::uint32_t columns = 1u << columns_log2;
        for (std::uint32_t i = threadIdx.x; i < rows * bins; i += blockDim.x) {
            Word sum = 0;
            for (std::uint32_t c = 0; c < columns; ++c) sum += table[(i << columns_log2) + (i + c) % columns];
            if (sum) global_add(task.counts(Full ? row : i / bins) + i % bins, sum);
        }
    }
}

/// The moments of one row once more, about its mean. Of full analyses.
template <int C>
struct MomentCounter {
    CentralSums sums;
    MomentTotals<CentralSums::powers> totals = {};
    MomentScale scale;
    std::uint32_t samples = 0;
    float fill;
    int row;
    bool rgb;

    template <class Pixels>
    __device__ void look_at(const Pixels& pixels) {
        constexpr int N = pixels_of<C, Pixels>;
        float values[N];
        row_values<C>(pixels, row, rgb, values);
#pragma unroll
        for (float& value : values) value = is_finite(value) ? value : fill;
        double wide[N];
        widen(values, wide);
        sums.add(wide, scale);
        samples += N;
        if ((samples & (CentralSums::fold_every - 1)) < N) fold();
    }
    __device__ void fold() {
        sums.add_to(totals, scale);
        sums.clear(scale);
    }
};
template <int C>
__device__ __noinline__ void sum_again(const Task<C, true>& task, BlockPlan& plan, int row) {
    __syncthreads();  // the plan may be written again
    if (threadIdx.x == 0) {
        RowPlan& of = plan.rows[row];
        of.facts = facts_of(task, row);
        of.pivot = fresh(task.row(row).pivot);
        of.exponent = fresh(task.row(row).exponent);
        of.scale = CentralSums::scale_of(of.pivot, of.exponent);
        of.fill = of.facts.minimum;
    }
    __syncthreads();  // the plan, for all
    MomentCounter<C> counter;
    counter.scale = plan.rows[row].scale;
    counter.sums.clear(counter.scale);
    counter.fill = plan.rows[row].fill;
    counter.row = row;
    counter.rgb = task.common().rgb;
    sweep_floats<C, C == 3 ? 1 : 2>(task.image, task.share_of_grid(), counter);
    counter.fold();
    merge_moments<1, CentralSums::powers>(
        [&](int, int k) { return CentralSums::total(counter.totals, k, counter.samples); }, AddToRows{&task.row(row)});
    if (blockIdx.x == 0 && threadIdx.x == 0 && plan.rows[row].facts.odd != 0) take_back(task, plan, row, false);
}

}  // namespace
}  // namespace gpuhist::cuda
