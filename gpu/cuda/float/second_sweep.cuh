// Sweep 2: bins; beside them moments in brief analyses, second digits in full ones.
#pragma once

#include <cstddef>
#include <type_traits>

#include "cuda/float/moments.cuh"

namespace gpuhist::cuda {
namespace {

/// Plan that every block works out for itself before sweep 2, in shared memory.
struct BlockPlan {
    RowPlan rows[5];
    core::FloatBins bins;
    /// Position, twice the same: lanes read either, so that the compiler does not know that the warp has it in common.
    /// Otherwise it would lie in uniform registers (an operation takes one) and be copied for every sample.
    BinPosition position[2];
    bool slots;  ///< they fit, and `position` gives the right bins
    bool plain;  ///< every sample is valid and within the range
    bool rgb;
    DigitTable* digits;  ///< full
};

/// Makes the plan. By all threads; the first of a warp looks after a row, or the bins.
template <int C, bool Full>
__device__ inline void make_plan(const Task<C, Full>& task, BlockPlan& plan) {
    constexpr int rows = rows_of(C);
    const int warp = threadIdx.x / warp_lanes;
    __syncthreads();  // the plan may be written again
    if (threadIdx.x % warp_lanes == 0 && warp < rows) {
        RowPlan& row = plan.rows[warp];
        row.facts = task.facts(warp);
        if constexpr (!Full) row.plan_sums();
    } else if (threadIdx.x % warp_lanes == 0 && warp == rows) {
        plan.rgb = task.common().rgb;
        plan.bins = task.bins();
    }
    __syncthreads();  // the bins, and the rows' plans, for all
    BinPosition position{};
    const bool right = task.work->slots_fit && find_position(plan.bins, position);
    if (threadIdx.x == 0) {
        plan.plain = !task.work->has_range;
        for (int r = 0; r < rows; ++r) plan.plain = plan.plain && plan.rows[r].facts.rejected == 0;
        plan.position[0] = plan.position[1] = position;
        plan.slots = right;
    }
    __syncthreads();  // the plan, for all
}

/// Bars the compiler from accumulating all rows together, which would take up registers.
__device__ inline void one_row_after_the_other() {
    asm volatile("" ::: "memory");
}

/// Base of the two counters of sweep 2 in full: counts second digits, of one row.
template <int C>
struct SecondDigitCounter {
    struct Seldom {};
    static constexpr int rows = 1;
    int row;
    bool rgb;
    DigitCounter<1> digits;

    __device__ SecondDigitCounter(const BlockPlan& plan, int of, Seldom&)
        : row(of), rgb(plan.rgb), digits(*plan.digits) {}
    template <class Pixels, int N>
    __device__ void values_of(const Pixels& pixels, int, float (&values)[N]) const {
        row_values<C>(pixels, row, rgb, values);
    }
    template <int N>
    __device__ void add(int, const float (&values)[N], const double (&)[N]) const {
        digits.add(values);
    }
    template <int N>
    __device__ void counted() const {}
    template <class Add>
    __device__ void finish(Add) const {
        __syncthreads();  // all threads' counts
    }
};

/// Base of both counters in brief: sums up two powers, of all rows together.
template <int C>
struct SumCounter {
    static constexpr int rows = rows_of(C), powers = RawSums::powers;

    /// Sums of each row that it seldom needs. In a caller's memory, or else the compiler takes registers for them; and
    /// not touched before, since memory is far away once the sweep has passed through the caches.
    struct Seldom {
        MomentTotals<powers> totals[rows];  ///< from the first `fold_every` samples on
        std::uint64_t rests[rows];          ///< of small samples, k = 1, see RawSums, from the first one on
    };
    RawSums sums[rows];
    std::uint32_t samples = 0;
    MomentScale scale;
    std::uint32_t small, scales;    ///< the first row's; shared address of the first row's scale
    bool rgb, small_found = false;  ///< a small sample
    Seldom& seldom;

    __device__ SumCounter(const BlockPlan& plan, int, Seldom& memory) : rgb(plan.rgb), seldom(memory) {
        scale = plan.rows[0].scale;
        small = plan.rows[0].small;
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
    template <class Pixels, int N>
    __device__ void values_of(const Pixels& pixels, int r, float (&values)[N]) const {
#pragma unroll
        for (int p = 0; p < N; ++p) values[p] = row_value<C>(pixels, p, r, rgb);
    }
    template <int N>
    __device__ void add(int r, const float (&)[N], const double (&wide)[N]) {
        sums[r].add(wide, scale_of(r));
    }
    /// Adds the rests of small samples, a rare case.
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
    /// Ends the adding of N samples to each row.
    template <int N>
    __device__ void counted() {
        samples += N;
        if ((samples & (CentralSums::fold_every - 1)) < N) fold();
    }
    __device__ void fold() {
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            seldom.totals[r] = totals_of(r, samples >= 2 * CentralSums::fold_every);
            sums[r].clear(scale_of(r));
            one_row_after_the_other();
        }
    }
    /// Totals with the earlier folds, if `some` were.
    __device__ MomentTotals<powers> totals_of(int r, bool some) const {
        MomentTotals<powers> totals = some ? seldom.totals[r] : MomentTotals<powers>{};
        sums[r].add_to(totals, scale_of(r));
        return totals;
    }
    template <class Add>
    __device__ __forceinline__ void finish(Add add) {
        MomentTotals<powers> totals;
        const auto total_of = [&](int r, int k) {
            if (k == 0) totals = totals_of(r, samples >= CentralSums::fold_every);
            if (k == 0 && small_found) totals.low[0] += seldom.rests[r];
            return totals.sum(k, 0);
        };
        merge_moments<rows, powers>(total_of, add);
    }
};

template <int C, bool Full>
using DetailCounter = std::conditional_t<Full, SecondDigitCounter<C>, SumCounter<C>>;

/// Samples that a SlotCounter may meet: `Any`, or only valid ones within the range. Or SpeculativeSamples.
template <bool Any>
struct Samples {
    static constexpr bool any = Any, speculative = false;
};

/// Counter into Slots. Excluded and non-finite samples are counted as the row's fill.
template <int C, bool Full, class Allowed>
struct SlotCounter : DetailCounter<C, Full> {
    using Base = DetailCounter<C, Full>;
    Slots<Base::rows> slots;
    const RowPlan* plans;
    Allowed allowed;

    __device__ SlotCounter(const BlockPlan& plan, const std::uint32_t* table, int row, const Allowed& may_be,
                           typename Base::Seldom& seldom)
        : Base(plan, row, seldom),
          slots(table, plan.position[threadIdx.x % 2], plan.bins.bins),
          plans(plan.rows + row),
          allowed(may_be) {}

    template <int r, int N, class Pixels, class Valid>
    __device__ void count_row(const Pixels* pixels, const Valid* valid) {
        constexpr int each = pixels_of<C, Pixels>, all = N * each, together = all < 4 ? all : 4;
        static_assert(all % together == 0 && (Valid::every || Allowed::any));
        float values[all / together][together];
#pragma unroll
        for (int i = 0; i < N; ++i) {
            float of[each];
            this->values_of(pixels[i], r, of);
            if constexpr (Allowed::any) {
                const float fill = plans[r].fill();
#pragma unroll
                for (int p = 0; p < each; ++p) of[p] = is_finite(of[p]) && (Valid::every || valid[i][p]) ? of[p] : fill;
            }
#pragma unroll
            for (int p = 0; p < each; ++p) values[(i * each + p) / together][(i * each + p) % together] = of[p];
        }
        if constexpr (Allowed::speculative) {
            if (!allowed.allows(r, values, this->scales)) return;
            one_row_after_the_other();
        }
        if constexpr (!Full) this->add_rests(r, values);
        std::uint32_t nearest[all / together], nearest_of_all = ~0u;
#pragma unroll
        for (int k = 0; k < all / together; ++k) {
            double wide[together];
            widen(values[k], wide);
            nearest[k] = slots.template count<r, Allowed::any>(wide);
            nearest_of_all = min(nearest_of_all, nearest[k]);
            this->add(r, values[k], wide);
        }
        if constexpr (Allowed::speculative) allowed.list(r, values, nearest, nearest_of_all);
        one_row_after_the_other();
    }
    template <int N, class Pixels, class Valid>
    __device__ void accumulate_rows(const Pixels* pixels, const Valid* valid) {
        count_row<0, N>(pixels, valid);
        if constexpr (Base::rows > 1) {
            count_row<1, N>(pixels, valid);
            count_row<2, N>(pixels, valid);
            count_row<3, N>(pixels, valid);
        }
        if constexpr (Base::rows > 4) count_row<4, N>(pixels, valid);
        this->template counted<N * pixels_of<C, Pixels>>();
    }
    template <int N, class Valid = EveryPixel>
    __device__ void accumulate_all(const Group<float, C> (&groups)[N], const Valid* valid = nullptr) {
        accumulate_rows<N>(groups, valid);
    }
    template <class Pixels, class Valid = EveryPixel>
    __device__ void accumulate(const Pixels& pixels, Valid valid = {}) {
        accumulate_rows<1>(&pixels, &valid);
    }
};

/// Groups that a thread loads together: as many as it has registers for. Resident groups of colors are accumulated one
/// by one, since a longer loop's instructions take longer to fetch than it saves.
template <int C, bool Full, class Allowed, class OfImage>
constexpr int detail_unroll = Full ? (C == 1 ? 4 : 2)
                                   : (C == 1 ? 8 : (is_resident<OfImage> ? 1 : (C == 4 ? 4 : (Allowed::any ? 2 : 3))));

/// Counts of a row in device memory, by slot. None lie beyond closed ends, but the ends' own values may be found there
/// (see BinPosition), and the fill of a row without a finite sample.
struct SlotCounts {
    Word* counts;
    Findings* found;
    std::uint32_t bins;
    bool closed;

    template <int C, bool Full>
    __device__ SlotCounts(const Task<C, Full>& task, const BlockPlan& plan, int row)
        : counts(task.counts(row)), found(&task.row(row).found), bins(plan.bins.bins), closed(plan.bins.upper_closed) {}
    __device__ void operator()(std::uint32_t slot, Word times) const {
        if (closed) slot = min(max(slot, 1u), bins);
        global_add(slot == 0 ? &found->below : slot == bins + 1 ? &found->above : counts + (slot - 1), times);
    }
};

/// Counts `times` samples of one value, fewer than none where they are taken back. By one thread.
template <int C, bool Full>
__device__ __noinline__ void count_value(const Task<C, Full>& task, const BlockPlan& plan, int row, float value,
                                         std::int64_t times) {
    const std::uint32_t bin = plan.bins(value), bins = plan.bins.bins;
    const std::uint32_t slot = bin == core::FloatBins::below ? 0 : bin == core::FloatBins::above ? bins + 1 : bin + 1;
    SlotCounts(task, plan, row)(slot, static_cast<Word>(times));
    if constexpr (!Full) add_terms(task, plan.rows[row], row, value, times);
}

/// Sweep by slots. Called, so that the caller's variables take up no registers.
template <int C, bool Full, class Allowed, class Add, class OfImage = NoResidentImage>
__device__ __noinline__ void count_slots(const Image& image, const WorkPartition& partition, const BlockPlan& plan,
                                         const std::uint32_t* table, int row, const Allowed& allowed,
                                         typename DetailCounter<C, Full>::Seldom& seldom, Add add,
                                         OfImage of_image = {}) {
    SlotCounter<C, Full, Allowed> counter(plan, table, row, allowed, seldom);
    sweep_f32<C, detail_unroll<C, Full, Allowed, OfImage>>(image, partition, counter, of_image);
    counter.finish(add);
}

/// Counter into any bins. Excluded and non-finite samples are passed over.
template <int C, bool Full>
struct BinCounter : DetailCounter<C, Full> {
    using Base = DetailCounter<C, Full>;
    EstimatedBins bins;
    std::uint32_t* replica;  ///< this lane's replica of bin 0, in shared memory; null: counted in device memory
    int replicas_log2;
    std::uint32_t count;
    bool again;    ///< another sweep has counted the bins
    Word* counts;  ///< of the first row
    Word below[Base::rows] = {}, above[Base::rows] = {};

    __device__ BinCounter(const Task<C, Full>& task, const BlockPlan& plan, std::uint32_t* table, int row,
                          bool bins_again, typename Base::Seldom& seldom)
        : Base(plan, row, seldom),
          bins(&plan.bins),
          replica(task.work->replicas_log2 < 0 ? nullptr : table + threadIdx.x % (1u << task.work->replicas_log2)),
          replicas_log2(task.work->replicas_log2),
          count(task.common().bins),
          again(bins_again),
          counts(task.counts(Full ? row : 0)) {}

    __device__ void count_one(int r, float value) {
        const std::uint32_t bin = bins(value);
        if (bin == core::FloatBins::below)
            ++below[r];
        else if (bin == core::FloatBins::above)
            ++above[r];
        else if (replica)
            atomicAdd(replica + ((r * count + bin) << replicas_log2), 1u);
        else if (!again)
            global_add(counts + static_cast<std::uint64_t>(r) * count + bin, Word{1});
        const float one[1][1] = {{value}};
        const double wide[1] = {value};
        if constexpr (!Full) this->add_rests(r, one);
        this->add(r, one[0], wide);
    }
    template <class Pixels, class Valid = EveryPixel>
    __device__ void accumulate(const Pixels& pixels, Valid valid = {}) {
        constexpr int N = pixels_of<C, Pixels>;
#pragma unroll 1
        for (int p = 0; p < N; ++p) {
            float samples[C];
#pragma unroll
            for (int c = 0; c < C; ++c) {
                samples[c] = pixels[c];
#pragma unroll
                for (int q = 1; q < N; ++q)
                    if (p == q) samples[c] = pixels[q * C + c];
            }
#pragma unroll
            for (int r = 0; r < Base::rows; ++r) {
                float value[1];
                this->values_of(samples, r, value);
                if (is_valid(value[0], valid, p)) count_one(r, value[0]);
            }
            this->template counted<1>();
        }
    }
    /// Adds samples beyond the range to the image's. By all threads.
    __device__ void merge_outside(F32Row* of_rows) const {
        for (int r = 0; r < Base::rows; ++r) {
            const Word under = reduce_warp(below[r], Sum{}), over = reduce_warp(above[r], Sum{});
            if (threadIdx.x % warp_lanes != 0) continue;
            if (under) global_add(&of_rows[r].found.below, under);
            if (over) global_add(&of_rows[r].found.above, over);
        }
    }
};

template <int C, bool Full, class OfImage>
__device__ __noinline__ void count_bins(const Task<C, Full>& task, const WorkPartition& partition,
                                        const BlockPlan& plan, std::uint32_t* table, int row, bool again,
                                        typename DetailCounter<C, Full>::Seldom& seldom, OfImage of_image) {
    BinCounter<C, Full> counter(task, plan, table, row, again, seldom);
    sweep_f32<C, 1>(task.image, partition, counter, of_image);
    counter.finish(AddToRows{&task.row(row)});
    if (!again) counter.merge_outside(&task.row(row));
}

/// Counts bins, and sums up moments of all rows (brief) or counts second digits of one; `again`: without the bins.
/// Barriers: before shared memory is written again, after it is prepared, and in the counter's finish, before merging.
template <int C, bool Full, class OfImage>
__device__ __forceinline__ void count_details(const Task<C, Full>& task, BlockPlan& plan, int row,
                                              const WorkPartition& partition, bool again, OfImage of_image) {
    constexpr int rows = Full ? 1 : rows_of(C);
    std::uint32_t* table = dynamic_shared;
    const std::uint32_t bins = plan.bins.bins;
    const int replicas_log2 = task.work->replicas_log2;
    bool constant = true;
    for (int r = 0; r < rows; ++r) constant = constant && plan.rows[row + r].constant();
    __syncthreads();
    if (constant) {  // a thread per row: no pixel need be read again
        const int of = row + static_cast<int>(partition.first);
        if (partition.first >= rows || again) return;
        const RowFacts& facts = plan.rows[of].facts;
        if (facts.finite != 0) count_value(task, plan, of, facts.minimum, static_cast<std::int64_t>(facts.finite));
        return;
    }
    if (plan.slots)
        Slots<rows>::prepare(table, bins);
    else if (replicas_log2 >= 0)
        clear_replicas(table, rows * bins, replicas_log2);
    __syncthreads();

    typename DetailCounter<C, Full>::Seldom seldom;
    const AddToRows add{&task.row(row)};
    if (!plan.slots)
        count_bins(task, partition, plan, table, row, again, seldom, of_image);
    else if (!plan.plain)
        count_slots<C, Full>(task.image, partition, plan, table, row, Samples<true>{}, seldom, add, of_image);
    else if constexpr (std::is_same_v<OfImage, Mask>)  // every pixel is valid
        count_slots<C, Full>(task.image, partition, plan, table, row, Samples<false>{}, seldom, add);
    else
        count_slots<C, Full>(task.image, partition, plan, table, row, Samples<false>{}, seldom, add, of_image);
    if (again) return;
    if (plan.slots) {
        Slots<rows>::gather(table, bins, [&](int r) { return SlotCounts(task, plan, row + r); });
        for (int r = row; partition.first == 0 && r < row + rows; ++r)
            if (const std::uint64_t rejected = plan.rows[r].facts.rejected)
                count_value(task, plan, r, plan.rows[r].fill(), -static_cast<std::int64_t>(rejected));
    } else if (replicas_log2 >= 0) {
        merge_replicas(table, rows * bins, replicas_log2, [&](std::uint32_t i, std::uint32_t samples) {
            if (samples != 0) global_add(task.counts(row) + i, Word{samples});
        });
    }
}

}  // namespace
}  // namespace gpuhist::cuda
