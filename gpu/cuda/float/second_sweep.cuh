// Sweep 2: bins; beside them moments in brief analyses, second digits in full ones.
#pragma once

#include <cstddef>
#include <type_traits>

#include "cuda/float/moments.cuh"

namespace gpuhist::cuda {
namespace {

/// Plan that every block works out for itself before sweep 2, in shared memory.
struct BlockPlan {
    ChannelPlan channels[5];
    core::FloatBins bins;
    /// Position, twice the same: lanes read either, so that the compiler does not know that the warp has it in common.
    /// Otherwise it would lie in uniform registers (an operation takes one) and be copied for every sample.
    BinPosition position[2];
    bool slots;  ///< they fit, and `position` gives the right bins
    bool plain;  ///< every sample is valid and within the range
    bool rgb;
    DigitTable* digits;  ///< full
};

/// Makes the plan. By all threads; the first of a warp looks after a channel, or the bins.
template <int C, bool Full>
__device__ inline void make_plan(const Task<C, Full>& task, BlockPlan& plan) {
    constexpr int channels = measured_channels(C);
    const int warp = threadIdx.x / warp_lanes;
    __syncthreads();  // the plan may be written again
    if (threadIdx.x % warp_lanes == 0 && warp < channels) {
        ChannelPlan& channel = plan.channels[warp];
        channel.facts = task.facts(warp);
        if constexpr (!Full) channel.plan_sums();
    } else if (threadIdx.x % warp_lanes == 0 && warp == channels) {
        plan.rgb = task.common().rgb;
        plan.bins = task.bins();
    }
    __syncthreads();  // the bins, and the channels' plans, for all
    BinPosition position{};
    const bool right = task.work->slots_fit && find_position(plan.bins, position);
    if (threadIdx.x == 0) {
        plan.plain = !task.work->has_range;
        for (int c = 0; c < channels; ++c) plan.plain = plan.plain && plan.channels[c].facts.rejected == 0;
        plan.position[0] = plan.position[1] = position;
        plan.slots = right;
    }
    __syncthreads();  // the plan, for all
}

/// Bars the compiler from accumulating all channels together, which would take up registers.
__device__ inline void one_channel_after_the_other() {
    asm volatile("" ::: "memory");
}

/// Base of the two counters of sweep 2 in full: counts second digits, of one channel.
template <int C>
struct SecondDigitCounter {
    struct Seldom {};
    static constexpr int channels = 1;
    int channel;
    bool rgb;
    DigitCounter<1> digits;

    __device__ SecondDigitCounter(const BlockPlan& plan, int of, Seldom&)
        : channel(of), rgb(plan.rgb), digits(*plan.digits) {}
    template <class Pixels, int N>
    __device__ void values_of(const Pixels& pixels, int, float (&values)[N]) const {
        channel_values<C>(pixels, channel, rgb, values);
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

/// Base of both counters in brief: sums up two powers, of all channels together.
template <int C>
struct SumCounter {
    static constexpr int channels = measured_channels(C), powers = RawSums::powers;

    /// Sums of each channel that it seldom needs. In a caller's memory, or else the compiler takes registers for them;
    /// and not touched before, since memory is far away once the sweep has passed through the caches.
    struct Seldom {
        MomentTotals<powers> totals[channels];  ///< from the first `fold_every` samples on
        std::uint64_t rests[channels];          ///< of small samples, k = 1, see RawSums, from the first one on
    };
    RawSums sums[channels];
    std::uint32_t samples = 0;
    MomentScale scale;
    std::uint32_t small, scales;    ///< the first channel's; shared address of the first channel's scale
    bool rgb, small_found = false;  ///< a small sample
    Seldom& seldom;

    __device__ SumCounter(const BlockPlan& plan, int, Seldom& memory) : rgb(plan.rgb), seldom(memory) {
        scale = plan.channels[0].scale;
        small = plan.channels[0].small;
        scales = shared_address(&plan.channels[0].scale);
#pragma unroll
        for (int c = 0; c < channels; ++c) sums[c].clear(scale_of(c));
    }
    __device__ MomentScale scale_of(int c) const {
        return channels == 1 ? scale : MomentScale::load(scales + c * static_cast<int>(sizeof(ChannelPlan)));
    }
    __device__ std::uint32_t small_of(int c) const {
        constexpr std::uint32_t place = offsetof(ChannelPlan, small) - offsetof(ChannelPlan, scale);
        return channels == 1 ? small : shared_load(scales + place + c * static_cast<int>(sizeof(ChannelPlan)), 0u);
    }
    template <class Pixels, int N>
    __device__ void values_of(const Pixels& pixels, int c, float (&values)[N]) const {
#pragma unroll
        for (int p = 0; p < N; ++p) values[p] = channel_value<C>(pixels, p, c, rgb);
    }
    template <int N>
    __device__ void add(int c, const float (&)[N], const double (&wide)[N]) {
        sums[c].add(wide, scale_of(c));
    }
    /// Adds the rests of small samples, a rare case.
    template <int N, int each>
    __device__ void add_rests(int c, const float (&values)[N][each]) {
        std::uint32_t smallest = ~0u;
#pragma unroll
        for (int i = 0; i < N * each; ++i) smallest = min(smallest, RawSums::rank(values[i / each][i % each]));
        if (smallest >= small_of(c)) return;
        const MomentScale s = scale_of(c);
        std::uint64_t rests = 0;
#pragma unroll
        for (int i = 0; i < N * each; ++i) {
            float value;  // hidden from the compiler: it would convert all of them ahead, for both branches
            asm volatile("mov.f32 %0, %1;" : "=f"(value) : "f"(values[i / each][i % each]));
            rests += RawSums::rest_of(value, s);
        }
        if (!small_found)
            for (std::uint64_t& of_channel : seldom.rests) of_channel = 0;
        small_found = true;
        seldom.rests[c] += rests;
    }
    /// Ends the adding of N samples to each channel.
    template <int N>
    __device__ void counted() {
        samples += N;
        if ((samples & (CentralSums::fold_every - 1)) < N) fold();
    }
    __device__ void fold() {
#pragma unroll
        for (int c = 0; c < channels; ++c) {
            seldom.totals[c] = totals_of(c, samples >= 2 * CentralSums::fold_every);
            sums[c].clear(scale_of(c));
            one_channel_after_the_other();
        }
    }
    /// Totals with the earlier folds, if `some` were.
    __device__ MomentTotals<powers> totals_of(int c, bool some) const {
        MomentTotals<powers> totals = some ? seldom.totals[c] : MomentTotals<powers>{};
        sums[c].add_to(totals, scale_of(c));
        return totals;
    }
    template <class Add>
    __device__ __forceinline__ void finish(Add add) {
        MomentTotals<powers> totals;
        const auto total_of = [&](int c, int k) {
            if (k == 0) totals = totals_of(c, samples >= CentralSums::fold_every);
            if (k == 0 && small_found) totals.low[0] += seldom.rests[c];
            return totals.sum(k, 0);
        };
        merge_moments<channels, powers>(total_of, add);
    }
};

template <int C, bool Full>
using DetailCounter = std::conditional_t<Full, SecondDigitCounter<C>, SumCounter<C>>;

/// Samples that a SlotCounter may meet: `Any`, or only valid ones within the range. Or SpeculativeSamples.
template <bool Any>
struct Samples {
    static constexpr bool any = Any, speculative = false;
};

/// Counter into Slots. Excluded and non-finite samples are counted as the channel's fill; excluded ones by a
/// speculation as its own.
template <int C, bool Full, class Allowed>
struct SlotCounter : DetailCounter<C, Full> {
    using Base = DetailCounter<C, Full>;
    Slots<Base::channels> slots;
    const ChannelPlan* plans;
    Allowed allowed;
    std::uint32_t excluded = 0;  ///< pixels, by a speculation

    __device__ SlotCounter(const BlockPlan& plan, const std::uint32_t* table, int channel, const Allowed& may_be,
                           typename Base::Seldom& seldom)
        : Base(plan, channel, seldom),
          slots(table, plan.position[threadIdx.x % 2], plan.bins.bins),
          plans(plan.channels + channel),
          allowed(may_be) {}

    template <int c, int N, class Pixels, class Valid>
    __device__ void count_channel(const Pixels* pixels, const Valid* valid) {
        constexpr int each = pixels_of<C, Pixels>, all = N * each, together = all < 4 ? all : 4;
        static_assert(all % together == 0 && (Valid::every || Allowed::any || Allowed::speculative));
        float values[all / together][together];
#pragma unroll
        for (int i = 0; i < N; ++i) {
            float of[each];
            this->values_of(pixels[i], c, of);
            if constexpr (Allowed::any) {
                const float fill = plans[c].fill();
#pragma unroll
                for (int p = 0; p < each; ++p) of[p] = is_finite(of[p]) && (Valid::every || valid[i][p]) ? of[p] : fill;
            } else if constexpr (!Valid::every) {
                const float fill = allowed.fill(c);
#pragma unroll
                for (int p = 0; p < each; ++p) of[p] = valid[i][p] ? of[p] : fill;
            }
#pragma unroll
            for (int p = 0; p < each; ++p) values[(i * each + p) / together][(i * each + p) % together] = of[p];
        }
        if constexpr (Allowed::speculative) {
            if (!allowed.allows(c, values, this->scales)) return;
            one_channel_after_the_other();
        }
        if constexpr (!Full) this->add_rests(c, values);
        std::uint32_t nearest[all / together], nearest_of_all = ~0u;
#pragma unroll
        for (int k = 0; k < all / together; ++k) {
            double wide[together];
            widen(values[k], wide);
            nearest[k] = slots.template count<c, Allowed::any>(wide);
            nearest_of_all = min(nearest_of_all, nearest[k]);
            this->add(c, values[k], wide);
        }
        if constexpr (Allowed::speculative) allowed.list(c, values, nearest, nearest_of_all);
        one_channel_after_the_other();
    }
    template <int N, class Pixels, class Valid>
    __device__ void accumulate_channels(const Pixels* pixels, const Valid* valid) {
        count_channel<0, N>(pixels, valid);
        if constexpr (Base::channels > 1) {
            count_channel<1, N>(pixels, valid);
            count_channel<2, N>(pixels, valid);
            count_channel<3, N>(pixels, valid);
        }
        if constexpr (Base::channels > 4) count_channel<4, N>(pixels, valid);
        if constexpr (Allowed::speculative && !Valid::every)
#pragma unroll
            for (int i = 0; i < N; ++i) excluded += valid[i].excluded();
        this->template counted<N * pixels_of<C, Pixels>>();
    }
    template <int N, class Valid = EveryPixel>
    __device__ void accumulate_all(const Group<float, C> (&groups)[N], const Valid* valid = nullptr) {
        accumulate_channels<N>(groups, valid);
    }
    template <class Pixels, class Valid = EveryPixel>
    __device__ void accumulate(const Pixels& pixels, Valid valid = {}) {
        accumulate_channels<1>(&pixels, &valid);
    }
};

/// Groups that a thread loads together: as many as it has registers for. Resident groups of colors are accumulated one
/// by one, since a longer loop's instructions take longer to fetch than it saves.
template <int C, bool Full, class Allowed, class OfImage>
constexpr int detail_unroll = [] {
    if constexpr (Full) return C == 1 ? 4 : 2;
    if constexpr (Allowed::speculative && std::is_same_v<OfImage, Mask>) return C == 3 ? 2 : 4;
    return C == 1 ? 8 : is_resident<OfImage> ? 1 : C == 4 ? 4 : Allowed::any ? 2 : 3;
}();

/// Counts of a channel in device memory, by slot. None lie beyond closed ends, but the ends' own values may be found
/// there (see BinPosition), and the fill of a channel without a finite sample.
struct SlotCounts {
    Word* counts;
    Findings* found;
    std::uint32_t bins;
    bool closed;

    template <int C, bool Full>
    __device__ SlotCounts(const Task<C, Full>& task, const BlockPlan& plan, int channel)
        : counts(task.counts(channel)),
          found(&task.channel(channel).found),
          bins(plan.bins.bins),
          closed(plan.bins.upper_closed) {}
    __device__ void operator()(std::uint32_t slot, Word times) const {
        if (closed) slot = min(max(slot, 1u), bins);
        global_add(slot == 0 ? &found->below : slot == bins + 1 ? &found->above : counts + (slot - 1), times);
    }
};

/// Counts `times` samples of one value, fewer than none where they are taken back. By one thread.
template <int C, bool Full>
__device__ __noinline__ void count_value(const Task<C, Full>& task, const BlockPlan& plan, int channel, float value,
                                         std::int64_t times) {
    const std::uint32_t bin = plan.bins(value), bins = plan.bins.bins;
    const std::uint32_t slot = bin == core::FloatBins::below ? 0 : bin == core::FloatBins::above ? bins + 1 : bin + 1;
    SlotCounts(task, plan, channel)(slot, static_cast<Word>(times));
    if constexpr (!Full) add_terms(task, plan.channels[channel], channel, value, times);
}

/// Sweep by slots. Called, so that the caller's variables take up no registers.
template <int C, bool Full, class Allowed, class Add, class OfImage = NoResidentImage>
__device__ __noinline__ void count_slots(const Image& image, const WorkPartition& partition, const BlockPlan& plan,
                                         const std::uint32_t* table, int channel, const Allowed& allowed,
                                         typename DetailCounter<C, Full>::Seldom& seldom, Add add,
                                         OfImage of_image = {}) {
    SlotCounter<C, Full, Allowed> counter(plan, table, channel, allowed, seldom);
    sweep_f32<C, detail_unroll<C, Full, Allowed, OfImage>>(image, partition, counter, of_image);
    if constexpr (Allowed::speculative && std::is_same_v<OfImage, Mask>) allowed.exclude(counter.excluded);
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
    Word* counts;  ///< of the first channel
    Word below[Base::channels] = {}, above[Base::channels] = {};

    __device__ BinCounter(const Task<C, Full>& task, const BlockPlan& plan, std::uint32_t* table, int channel,
                          bool bins_again, typename Base::Seldom& seldom)
        : Base(plan, channel, seldom),
          bins(&plan.bins),
          replica(task.work->replicas_log2 < 0 ? nullptr : table + threadIdx.x % (1u << task.work->replicas_log2)),
          replicas_log2(task.work->replicas_log2),
          count(task.common().bins),
          again(bins_again),
          counts(task.counts(Full ? channel : 0)) {}

    __device__ void count_one(int c, float value) {
        const std::uint32_t bin = bins(value);
        if (bin == core::FloatBins::below)
            ++below[c];
        else if (bin == core::FloatBins::above)
            ++above[c];
        else if (replica)
            atomicAdd(replica + ((c * count + bin) << replicas_log2), 1u);
        else if (!again)
            global_add(counts + static_cast<std::uint64_t>(c) * count + bin, Word{1});
        const float one[1][1] = {{value}};
        const double wide[1] = {value};
        if constexpr (!Full) this->add_rests(c, one);
        this->add(c, one[0], wide);
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
            for (int c = 0; c < Base::channels; ++c) {
                float value[1];
                this->values_of(samples, c, value);
                if (is_valid(value[0], valid, p)) count_one(c, value[0]);
            }
            this->template counted<1>();
        }
    }
    /// Adds samples beyond the range to the image's. By all threads.
    __device__ void merge_outside(F32Channel* of_channels) const {
        for (int c = 0; c < Base::channels; ++c) {
            const Word under = reduce_warp(below[c], Sum{}), over = reduce_warp(above[c], Sum{});
            if (threadIdx.x % warp_lanes != 0) continue;
            if (under) global_add(&of_channels[c].found.below, under);
            if (over) global_add(&of_channels[c].found.above, over);
        }
    }
};

template <int C, bool Full, class OfImage>
__device__ __noinline__ void count_bins(const Task<C, Full>& task, const WorkPartition& partition,
                                        const BlockPlan& plan, std::uint32_t* table, int channel, bool again,
                                        typename DetailCounter<C, Full>::Seldom& seldom, OfImage of_image) {
    BinCounter<C, Full> counter(task, plan, table, channel, again, seldom);
    sweep_f32<C, 1>(task.image, partition, counter, of_image);
    counter.finish(AddToChannels{&task.channel(channel)});
    if (!again) counter.merge_outside(&task.channel(channel));
}

/// Counts bins, and sums up moments of all channels (brief) or counts second digits of one; `again`: without the bins.
/// Barriers: before shared memory is written again, after it is prepared, and in the counter's finish, before merging.
template <int C, bool Full, class OfImage>
__device__ __forceinline__ void count_details(const Task<C, Full>& task, BlockPlan& plan, int channel,
                                              const WorkPartition& partition, bool again, OfImage of_image) {
    constexpr int channels = Full ? 1 : measured_channels(C);
    std::uint32_t* table = dynamic_shared;
    const std::uint32_t bins = plan.bins.bins;
    const int replicas_log2 = task.work->replicas_log2;
    bool constant = true;
    for (int c = 0; c < channels; ++c) constant = constant && plan.channels[channel + c].constant();
    __syncthreads();
    if (constant) {  // a thread per channel: no pixel need be read again
        const int of = channel + static_cast<int>(partition.first);
        if (partition.first >= channels || again) return;
        const ChannelFacts& facts = plan.channels[of].facts;
        if (facts.finite != 0) count_value(task, plan, of, facts.minimum, static_cast<std::int64_t>(facts.finite));
        return;
    }
    if (plan.slots)
        Slots<channels>::prepare(table, bins);
    else if (replicas_log2 >= 0)
        clear_replicas(table, channels * bins, replicas_log2);
    __syncthreads();

    typename DetailCounter<C, Full>::Seldom seldom;
    const AddToChannels add{&task.channel(channel)};
    if (!plan.slots)
        count_bins(task, partition, plan, table, channel, again, seldom, of_image);
    else if (!plan.plain)
        count_slots<C, Full>(task.image, partition, plan, table, channel, Samples<true>{}, seldom, add, of_image);
    else if constexpr (std::is_same_v<OfImage, Mask>)  // every pixel is valid
        count_slots<C, Full>(task.image, partition, plan, table, channel, Samples<false>{}, seldom, add);
    else
        count_slots<C, Full>(task.image, partition, plan, table, channel, Samples<false>{}, seldom, add, of_image);
    if (again) return;
    if (plan.slots) {
        Slots<channels>::gather(table, bins, [&](int c) { return SlotCounts(task, plan, channel + c); });
        for (int c = channel; partition.first == 0 && c < channel + channels; ++c)
            if (const std::uint64_t rejected = plan.channels[c].facts.rejected)
                count_value(task, plan, c, plan.channels[c].fill(), -static_cast<std::int64_t>(rejected));
    } else if (replicas_log2 >= 0) {
        merge_replicas(table, channels * bins, replicas_log2, [&](std::uint32_t i, std::uint32_t samples) {
            if (samples != 0) global_add(task.counts(channel) + i, Word{samples});
        });
    }
}

}  // namespace
}  // namespace gpuhist::cuda
