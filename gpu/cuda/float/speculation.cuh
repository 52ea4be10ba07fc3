// Speculation: from a sample of a large image's pixels a brief analysis expects its range. Where the speculation is
// right, sweep 1 does the work of sweep 2, which is spared; else it is a misprediction, after which some images back
// off.
// Removable: kernel.cuh calls speculate(), keep_speculation() and back_off(), finish.cuh clear_sample(), and f32.cu
// sets F32Work::speculates and listed_of_channel; without a call of speculate() the others do nothing.
#pragma once

#include "cuda/float/extremes.cuh"
#include "cuda/float/second_sweep.cuh"

namespace gpuhist::cuda {
namespace {

/// Speculation about an image whose range is to be found. In shared memory, from a sweep 1 that relies on it on.
///
/// Parts of a sample with the same extremes have found the image's: pixels are clipped, or of few values, as in
/// pictures with 8 bits. Where parts differ, they tell how far beyond the sample's the image's extreme may be, and so
/// between which two positions each edge of the bins lies: its window. A sample in a window is counted as if the edge
/// were at its lower end, and listed, to be counted right once the edges are known. Every sample is expected within
/// those bounds, and no channel's largest magnitude to reach the next power of two, on which its sums depend. The
/// block's counts and sums stay in its shared memory until all blocks know whether that was right.
struct Speculation {
    static constexpr int most_channels = 5;

    bool made;
    float lowest, highest;                  ///< every sample is expected to lie between
    BinPosition position;                   ///< that samples are counted by: a window begins with a whole number
    std::uint32_t window;                   ///< and ends at this low word; 0: there are none
    std::int32_t exponents[most_channels];  ///< of each channel's sums
    float fills[most_channels];  ///< of each channel, for excluded samples, which are taken back: in no window
    std::uint32_t excluded;      ///< pixels of this block
    std::uint32_t listed[most_channels], capacity;  ///< fours of samples, of each channel
    uint4* list;                                    ///< this block's, in device memory: channel after channel
    std::uint32_t* mispredicted;                    ///< in device memory: a sample of any block is not as expected
    BlockExtremes<most_channels> extremes;
    PartSums sums[most_channels];

    __device__ uint4* list_of(int channel) const { return list + static_cast<std::size_t>(channel) * capacity; }
    __device__ std::uint32_t listed_of(int channel) const { return min(listed[channel], capacity); }
};

/// Minimum; NaN where one is NaN.
__device__ inline float min_or_nan(float a, float b) {
#if __CUDA_ARCH__ >= 800
    float lower;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(lower) : "f"(a), "f"(b));
    return lower;
#else
    return a != a || a < b ? a : b;
#endif
}

/// Samples that a SlotCounter counts by a speculation, which has windows where `Listed`. By its shared address: the
/// compiler looks for hours for the origin of a generic pointer made in the sweep's loop.
template <bool Listed>
struct SpeculativeSamples {
    static constexpr bool any = false, speculative = true;
    std::uint32_t address;

    /// Whether samples of a channel may be counted. `plans`: shared address of the channels' plans, with the sample's
    /// extremes.
    template <int N, int each>
    __device__ __forceinline__ bool allows(int c, const float (&values)[N][each], std::uint32_t plans) const {
        float all[N * each], low = INFINITY, high = -INFINITY;
#pragma unroll
        for (int i = 0; i < N * each; ++i) {
            all[i] = values[i / each][i % each];
            low = min_or_nan(low, all[i]);
            high = fmaxf(high, all[i]);
        }
        constexpr std::uint32_t place = offsetof(ChannelPlan, facts) + offsetof(ChannelFacts, minimum);
        static_assert(offsetof(ChannelPlan, scale) == 0 && place % sizeof(float2) == 0);
        const std::uint32_t from = plans + place + c * static_cast<int>(sizeof(ChannelPlan));
        float lowest, highest;
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(lowest), "=f"(highest) : "r"(from));
        bool allowed = true;
        if (__builtin_expect(!(low >= lowest && high <= highest), 0)) {
#pragma unroll 1
            for (int i = 0; i < N * each; ++i) allowed = allows_one(address, c, picked(all, i)) && allowed;
        }
        return allowed;
    }
    /// Value that a channel's excluded samples are counted as.
    __device__ float fill(int c) const {
        return __uint_as_float(shared_load(address + std::uint32_t{offsetof(Speculation, fills)} + c * 4, 0.0f));
    }
    /// Adds a thread's excluded pixels to the block's.
    __device__ void exclude(std::uint32_t pixels) const {
        const std::uint32_t of_warp = narrow_sum_over_warp(pixels);
        if (threadIdx.x % warp_lanes == 0)
            shared_add(address + std::uint32_t{offsetof(Speculation, excluded)}, of_warp);
    }
    /// Lists each four with a sample in a window.
    template <int N, int each>
    __device__ __forceinline__ void list(int c, const float (&values)[N][each], const std::uint32_t (&nearest)[N],
                                         std::uint32_t nearest_of_all) const {
        if constexpr (Listed) {
            const std::uint32_t window = shared_load(address + std::uint32_t{offsetof(Speculation, window)}, 0.0f);
            if (__builtin_expect(nearest_of_all < window, 0)) {
#pragma unroll
                for (int k = 0; k < N; ++k)
                    if (nearest[k] < window) list_four(c, values[k]);
            }
        }
    }

  private:
    /// Whether a sample may be counted that lies beyond the sampled extremes, or is non-finite.
    static __device__ __noinline__ bool allows_one(std::uint32_t address, int channel, float value) {
        auto& speculation = *static_cast<Speculation*>(__cvta_shared_to_generic(address));
        if (is_finite(value)) {
            const std::uint32_t key = core::float_key(value);
            atomicMax(&speculation.extremes.keys[channel][0], ~key);
            atomicMax(&speculation.extremes.keys[channel][1], key);
            if (value >= speculation.lowest && value <= speculation.highest) return true;
        } else {
            NonFiniteCounts::count(speculation.extremes.non_finite + channel, value);
        }
        *static_cast<volatile std::uint32_t*>(speculation.mispredicted) = 1;
        return false;
    }
    template <int N>
    __device__ void list_four(int channel, const float (&values)[N]) const {
        static_assert(N == 1 || N == 4);
        constexpr std::uint32_t listed_at = offsetof(Speculation, listed), list_at = offsetof(Speculation, list);
        const std::uint32_t at = shared_add(address + listed_at + channel * 4, 1),
                            capacity = shared_load(address + std::uint32_t{offsetof(Speculation, capacity)}, 0u);
        if (at >= capacity) return;  // the count tells it
        std::uint64_t list;
        asm volatile("ld.shared.u64 %0, [%1];" : "=l"(list) : "r"(address + list_at));
        list += (static_cast<std::uint64_t>(channel) * capacity + at) * sizeof(uint4);
        const float none = NAN;
        asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(list), "f"(values[0]),
                     "f"(N > 1 ? values[N > 1] : none), "f"(N > 2 ? values[N > 2 ? 2 : 0] : none),
                     "f"(N > 3 ? values[N > 3 ? 3 : 0] : none)
                     : "memory");
    }
};

/// Reach of an image beyond a sample of it at one end. By a warp, each lane with the key of a part's extreme there (of
/// a minimum the complement: the larger the further out), 0 where it has none; `furthest`: of all.
///
/// Where values are about as dense near the image's extreme as a little before it, the extremes of n parts lie
/// independent exponential distances from it. The outermost then lies E / n from it, and the m-th Σ E_k / k from the
/// outermost, for k from n − m + 1 to n − 1, with independent exponential E of one mean. So the image's is more than f
/// times that sum beyond the outermost in Π k / (k + f n) of images: one of 280 for the 16th of 32 and f = 1 / 3, one
/// of 210 for the 8th and f = 1. The m-th, not the mean of all: rare values, as the pixels of one bright spot, may be
/// in some of the parts alone, in fewer where a mask excludes some of them. The 16th makes narrower windows.
__device__ __noinline__ double beyond_sample(std::uint32_t own, std::uint32_t furthest, bool minimum, bool masked) {
    constexpr int agreeing = 5;  // parts that agree: the image has nothing beyond
    const int m = masked ? sample_parts / 4 : sample_parts / 2;
    static_assert(sample_parts == warp_lanes);
    if (__popc(__ballot_sync(0xFFFFFFFFu, own == furthest)) >= agreeing) return 0;
    int further = 0;
#pragma unroll 4
    for (int lane = 0; lane < warp_lanes; ++lane) {
        const std::uint32_t other = __shfl_sync(0xFFFFFFFFu, own, lane);
        further += other > own || (other == own && lane < threadIdx.x % warp_lanes);
    }
    const std::uint32_t at = __ballot_sync(0xFFFFFFFFu, further == m - 1),
                        inner = __shfl_sync(0xFFFFFFFFu, own, __ffs(at) - 1), flip = minimum ? ~0u : 0u;
    if (inner == 0) return INFINITY;
    return fabs(static_cast<double>(core::key_float(furthest ^ flip)) - core::key_float(inner ^ flip)) *
           (masked ? 1 : 1.0 / 3);
}

/// Expects samples, and the edges of the bins, somewhere. By a warp, each lane with a part of the sample.
template <int C>
__device__ inline void expect_edges(const Task<C, false>& task, const Extremes (&part)[measured_channels(C)],
                                    BlockPlan& plan, Speculation& speculation) {
    std::uint32_t minimum = 0, maximum = 0;
    bool non_finite = false, constant = true;
#pragma unroll 1
    for (const Extremes& channel : part) {
        minimum = max(minimum, channel.complement_minimum_key);
        maximum = max(maximum, channel.maximum_key);
        non_finite = non_finite || (channel.nan | channel.positive_infinite | channel.negative_infinite) != 0;
        constant = constant && (channel.maximum_key == 0 || channel.maximum_key == ~channel.complement_minimum_key);
    }
    const bool finite = __all_sync(0xFFFFFFFFu, !non_finite), varied = __any_sync(0xFFFFFFFFu, !constant);
    const std::uint32_t lowest = max_over_warp(minimum), highest = max_over_warp(maximum);
    const bool masked = task.work->mask.data != nullptr;
    const double below = beyond_sample(minimum, lowest, true, masked),
                 above = beyond_sample(maximum, highest, false, masked);
    if (threadIdx.x % warp_lanes != 0) return;

    // Edges a little over the image's, by less than a window; but not where pixels may be clipped: none may lie in one.
    const double lower = core::key_float(~lowest), upper = core::key_float(highest), little = (upper - lower) * 0x1p-28;
    const std::uint32_t bins = task.common().bins;
    plan.rgb = task.common().rgb;
    plan.bins =
        core::FloatBins(below > 0 ? lower + little : lower, above > 0 ? upper + above + little : upper, bins, true);
    const double beyond = fmax(below, above),
                 window = beyond > 0 ? (beyond + 4 * little) * plan.bins.scale + 0x1p-28 : 0,
                 pixels = static_cast<double>(task.image.pixels());
    speculation.capacity = task.work->listed_of_channel;
    speculation.made = finite && varied && lower < upper &&
                       (window == 0 || (pixels >= listed_pixels(C) && window < most_window &&
                                        2 * pixels * window < static_cast<double>(speculation.capacity) * gridDim.x));
    speculation.lowest = __double2float_rd(lower - below);
    speculation.highest = __double2float_ru(upper + above);
    speculation.window = static_cast<std::uint32_t>(window * 0x1p32);
    speculation.position = {plan.bins.scale, BinPosition::whole - plan.bins.lower * plan.bins.scale + window + 0x1p-29};
    plan.position[0] = plan.position[1] = speculation.position;
    speculation.list = task.template place<uint4>(Places<C>::listed) +
                       static_cast<std::size_t>(blockIdx.x) * measured_channels(C) * speculation.capacity;
    speculation.mispredicted = &task.state().speculation.mispredicted;
}

/// Finds a value in a channel's sampled range that lies in no window; returns whether there is one.
__device__ inline bool find_fill(const Speculation& speculation, const ChannelFacts& sampled, float& fill) {
    constexpr double step = 0.618;  // windows are at equal distances: multiples of it do not all lie in one
    double place = 0;
#pragma unroll 1
    for (int i = 0; i < 6; ++i, place += place < 1 - step ? step : step - 1) {
        fill = static_cast<float>(sampled.minimum + (double{sampled.maximum} - sampled.minimum) * place);
        if (static_cast<std::uint32_t>(bits_of(speculation.position.of(fill))) >= speculation.window) return true;
    }
    return false;
}

/// Makes a speculation from the image's sample, unless the sample supports none. By all threads.
template <int C, class OfImage>
__device__ __noinline__ void make_speculation(const Task<C, false>& task, BlockPlan& plan, Speculation& speculation) {
    constexpr int channels = measured_channels(C);
    __shared__ Extremes parts[sample_parts][channels];
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;
    __syncthreads();  // shared memory may be written again
    for (int i = threadIdx.x; i < sample_parts * channels; i += blockDim.x)
        parts[i / channels][i % channels] = fresh_copy(task.state().speculation.sampled[i / channels][i % channels]);
    __syncthreads();  // the sample's extremes, for all
    if (warp < channels) {
        const Extremes& part = parts[lane][warp];
        const std::uint32_t minimum = max_over_warp(part.complement_minimum_key),
                            maximum = max_over_warp(part.maximum_key);
        if (lane == 0) {
            speculation.extremes.keys[warp][0] = minimum;
            speculation.extremes.keys[warp][1] = maximum;
            speculation.extremes.non_finite[warp] = {};
            speculation.listed[warp] = 0;
            ChannelPlan& channel = plan.channels[warp];
            const auto pixels = static_cast<std::uint64_t>(task.image.pixels());
            channel.facts = {pixels, 0, core::key_float(~minimum), core::key_float(maximum)};
            channel.plan_sums();
            speculation.exponents[warp] = channel.exponent;
        } else if (lane <= 12) {
            speculation.sums[warp][(lane - 1) / 3][(lane - 1) % 3] = 0;
        }
    } else if (warp == channels) {
        expect_edges(task, parts[lane], plan, speculation);
    }
    __syncthreads();  // the speculation, for all
    if constexpr (std::is_same_v<OfImage, Mask>) {
        bool found = true;
        if (threadIdx.x == 0) speculation.excluded = 0;
        if (threadIdx.x < channels)
            found = find_fill(speculation, plan.channels[threadIdx.x].facts, speculation.fills[threadIdx.x]);
        found = __syncthreads_and(found);
        if (threadIdx.x == 0 && !found) speculation.made = false;
        __syncthreads();  // likewise
    }
    if (!speculation.made || speculation.window != 0) return;
    BinPosition position{};
    const bool right = find_position(plan.bins, position);
    if (threadIdx.x == 0) {
        plan.position[0] = plan.position[1] = position;
        speculation.made = right;
    }
    __syncthreads();  // the plan, for all
}

/// Sweep 1 by a speculation. Its counts and sums stay in the block; extremes and excluded pixels are added to the
/// image's.
template <int C, class OfImage>
__device__ __noinline__ void count_speculatively(const Task<C, false>& task, const BlockPlan& plan,
                                                 Speculation& speculation, OfImage of_image) {
    constexpr int channels = measured_channels(C);
    Slots<channels>::prepare(dynamic_shared, plan.bins.bins);
    __syncthreads();  // clear memory
    typename DetailCounter<C, false>::Seldom seldom;
    const auto count = [&](auto samples) {
        const auto add = [of = speculation.sums](int c, int power, int part, Word sum) { of[c][power][part] = sum; };
        count_slots<C, false>(task.image, task.partition_of_grid(), plan, dynamic_shared, 0, samples, seldom, add,
                              of_image);
    };
    if (speculation.window == 0)
        count(SpeculativeSamples<false>{shared_address(&speculation)});
    else
        count(SpeculativeSamples<true>{shared_address(&speculation)});
    // The barrier of merge_moments has shown every thread's extremes, list and excluded pixels.
    if (threadIdx.x < channels) {
        speculation.extremes.merge(threadIdx.x, task.channel(threadIdx.x).found);
        if (speculation.listed[threadIdx.x] > speculation.capacity)
            *static_cast<volatile std::uint32_t*>(speculation.mispredicted) = 1;
    }
    if constexpr (std::is_same_v<OfImage, Mask>)
        if (threadIdx.x == 0) global_add(&task.state().masked, Word{speculation.excluded});
    if (speculation.window == 0) return;
    // Lists that the sweep has driven out of L2 are there again once all blocks have come.
    constexpr int in_a_line = 128 / sizeof(uint4);
    for (int channel = 0; channel < channels; ++channel)
        for (std::uint32_t i = threadIdx.x * in_a_line; i < speculation.listed_of(channel); i += blockDim.x * in_a_line)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(speculation.list_of(channel) + i));
}

/// Plans sweep 2 as if there were one. Returns whether this thread's edges are where they were expected, so that
/// samples outside the list are on their right side: no float at or over an edge is below its window, none below the
/// edge over the window.
template <int C>
__device__ __noinline__ bool expected_edges(const Task<C, false>& task, BlockPlan& plan,
                                            const Speculation& speculation) {
    make_plan(task, plan);
    bool right = plan.slots;
    for (std::uint32_t i = 1 + threadIdx.x; i < plan.bins.bins && right; i += blockDim.x) {
        const float here = BinPosition::edge(plan.bins, i), before = BinPosition::before(here);
        const std::uint64_t begin = bits_of(BinPosition::whole) + (std::uint64_t{i} << 32);
        right = bits_of(speculation.position.of(here)) >= begin &&
                bits_of(speculation.position.of(before)) < begin + speculation.window;
    }
    return right;
}

/// Counts the block's list by the plan's edges, if the speculation was `right`; clears the list. By all threads.
template <int C>
__device__ __noinline__ void count_listed(const BlockPlan& plan, const Speculation& speculation, bool right) {
    constexpr int channels = measured_channels(C);
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;
    const int channel = warp % channels, warps_of_channel = blockDim.x / warp_lanes / channels;
    const BinPosition expected = speculation.position, known = plan.position[0];
    uint4* list = speculation.list_of(channel);
    const std::uint32_t listed = warp < channels * warps_of_channel ? speculation.listed_of(channel) : 0;
#pragma unroll 1
    for (std::uint32_t i = warp / channels * warp_lanes + lane; i < listed; i += warps_of_channel * warp_lanes) {
        uint4 four = __ldcg(list + i);
        list[i] = uint4{};
#pragma unroll 1
        for (int k = 0; k < 4 && right; ++k, four = {four.y, four.z, four.w, four.x}) {
            const float value = __uint_as_float(four.x);
            if (value != value) continue;
            const std::int32_t from = expected.bin(value), to = known.bin(value);
            if (from == to) continue;
            atomicSub(Slots<channels>::counter(dynamic_shared, from, channel), 1u);
            atomicAdd(Slots<channels>::counter(dynamic_shared, to, channel), 1u);
        }
    }
    __syncthreads();  // every sample is counted where it belongs
}

/// Returns whether the speculation was right; then the block's counts are added to the image's. By all threads.
template <int C, class OfImage>
__device__ __noinline__ bool keep_speculation(const Task<C, false>& task, BlockPlan& plan, Speculation& speculation) {
    constexpr int channels = measured_channels(C);
    const int warp = threadIdx.x / warp_lanes;
    const bool listed = speculation.window != 0;
    bool right = !listed || expected_edges(task, plan, speculation);
    if (threadIdx.x % warp_lanes == 0 && warp < channels)
        right = right && task.facts(warp).brief_exponent() == speculation.exponents[warp];
    else if (threadIdx.x % warp_lanes == 0 && warp == channels)
        right = right && fresh(task.state().speculation.mispredicted) == 0;
    right = __syncthreads_and(right);
    if (listed) count_listed<C>(plan, speculation, right);
    if (!right) return false;
    for (int i = threadIdx.x; i < channels * 12; i += blockDim.x)
        if (const Word sum = speculation.sums[i / 12][i / 3 % 4][i % 3]; sum != 0)
            global_add(&task.channel(i / 12).found.sums[i / 3 % 4][i % 3], sum);
    Slots<channels>::gather(dynamic_shared, plan.bins.bins, [&](int c) { return SlotCounts(task, plan, c); });
    if constexpr (std::is_same_v<OfImage, Mask>)
        if (const int c = threadIdx.x; blockIdx.x == 0 && c < channels)
            if (const Word excluded = fresh_word(&task.state().masked); excluded != 0)
                count_value(task, plan, c, speculation.fills[c], -static_cast<std::int64_t>(excluded));
    return true;
}

template <int C>
__device__ inline bool is_large(const Task<C, false>& task) {
    return task.work->speculates && task.image.pixels() >= sampled_pixels(C);
}

/// Does sweep 1 by a speculation, where one is tried and can be made: in all blocks or none.
template <int C, class OfImage>
__device__ inline bool speculate(const Task<C, false>& task, BlockPlan& plan, Speculation& speculation,
                                 OfImage of_image) {
    SpeculationState& state = task.state().speculation;
    if (!is_large(task) || fresh(state.backoff) != 0) return false;
    const WorkPartition all = task.partition_of_grid();  // one of so many units of a warp
    const WorkPartition sample = {all.first / warp_lanes * warp_lanes * sample_every + all.first % warp_lanes, all.last,
                                  all.step * sample_every};
    find_extremes(task, sample, state.sampled[blockIdx.x % sample_parts], sizeof(Extremes), of_image);
    wait_for_grid();  // the sample's extremes, for all blocks
    make_speculation<C, OfImage>(task, plan, speculation);
    if (speculation.made) count_speculatively(task, plan, speculation, of_image);
    return speculation.made;
}

/// Backs off: the more often a speculation was useless, the longer none is tried. By one thread of the last block.
template <int C>
__device__ inline void back_off(const Task<C, false>& task, bool right) {
    if (!is_large(task)) return;
    SpeculationState& state = task.state().speculation;
    if (const std::uint32_t left = fresh(state.backoff); left > 0)
        state.backoff = left - 1;
    else
        state.backoff = state.last_backoff = right ? 0 : min(2 * fresh(state.last_backoff) + 1, most_backoff);
}

/// Leaves the state as the next image needs it. By the last block.
template <int C>
__device__ inline void clear_sample(const Task<C, false>& task) {
    constexpr int channels = measured_channels(C);
    SpeculationState& state = task.state().speculation;
    if (is_large(task))
        for (int i = threadIdx.x; i < sample_parts * channels; i += blockDim.x)
            state.sampled[i / channels][i % channels] = {};
    if (threadIdx.x == 0) state.mispredicted = 0;
}

}  // namespace
}  // namespace gpuhist::cuda
