// Moments: exact sums of the powers of samples, by thread, block and image; and the moments that follow from them.
#pragma once

#include <type_traits>

#include "cuda/block/central_moments.cuh"
#include "cuda/float/digits.cuh"

namespace gpuhist::cuda {
namespace {

/// Totals of a thread's sums of one channel, see CentralSums.
template <int powers>
struct MomentTotals {
    std::int64_t high[powers];  ///< Σ q in units of 2^-40
    std::uint64_t low[powers];  ///< Σ of the bits of l; of RawSums Σ rint(r) and the rests

    /// Sum of power k, less `zeros`, the initial bits of its low parts.
    __device__ core::i128 sum(int k, std::uint64_t zeros) const {
        return (static_cast<core::i128>(high[k]) << 40) + static_cast<std::int64_t>(low[k] - zeros);
    }
};

/// Scale of a channel: the two numbers that its sums need, aligned for one load.
struct alignas(16) MomentScale {
    double first, second;

    /// Loads from shared memory at every use: in registers, the channels' scales would crowd out the sums.
    __device__ static MomentScale load(std::uint32_t address) {
        MomentScale scale;
        asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(scale.first), "=d"(scale.second) : "r"(address));
        return scale;
    }
};

__device__ inline std::uint64_t bits_of(double value) {
    return static_cast<std::uint64_t>(__double_as_longlong(value));
}

/// Sums over one channel's samples of rint(u^k · 2^80), k = 1 to 4, with u = (x − pivot)/R, as FloatMoments defines
/// them. Four operations in double precision for each:
///
///   S' = S + t   q = S' − S   r = t − q   l = r + 1.5 · 2^-28      with t = u^k as the definition rounds it, |t| ≤ 1
///
/// S begins at 1.5 · 2^12 and stays within [2^12, 2^13) for 2047 samples, where doubles are 2^-40 apart. So q, which is
/// exact, is t rounded to one of the two multiples of 2^-40 next to it (S decides only where t lies halfway). r, at
/// most 2^-41 in size, is exact too: a multiple of t's last digit, which is at least 2^-94 unless q is 0. l lies where
/// doubles are 2^-80 apart: its bits are those of 1.5 · 2^-28 plus rint(r · 2^80), ties to even. q · 2^80 is even, so
/// that q · 2^80 + rint(r · 2^80) = rint(t · 2^80), whichever way q went: neither the samples' order nor the work
/// partition shows. u is fma(x, 1/R, −pivot/R): R is a power of two, so only x − pivot is rounded.
/// Limit: fewer than 2^22 samples per thread, for 64 bits.
struct CentralSums {
    static constexpr int powers = 4;
    static constexpr double base = 0x1.8p12, low_base = 0x1.8p-28;
    static constexpr std::uint32_t fold_every = 1024;

    double sum[powers];         ///< S
    std::uint64_t low[powers];  ///< Σ of the bits of l

    /// 1/R, −pivot/R
    __device__ static MomentScale scale_of(double pivot, int exponent) {
        const double unit = core::power_of_two(-exponent);
        return {unit, -pivot * unit};
    }
    __device__ void clear() {
#pragma unroll
        for (int k = 0; k < powers; ++k) {
            sum[k] = base;
            low[k] = 0;
        }
    }
    template <int N>
    __device__ void add(const double (&values)[N], const MomentScale& scale) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const double u = fma(values[i], scale.first, scale.second);
            double power = u;
#pragma unroll
            for (int k = 0; k < powers; ++k, power *= u) {
                const double next = sum[k] + power, taken = next - sum[k];
                sum[k] = next;
                low[k] += bits_of((power - taken) + low_base);
            }
        }
    }
    /// Adds to the totals: every `fold_every` samples, and at the end.
    __device__ void add_to(MomentTotals<powers>& totals) const {
#pragma unroll
        for (int k = 0; k < powers; ++k) {
            totals.high[k] += __double_as_longlong(sum[k]) - __double_as_longlong(base);
            totals.low[k] += low[k];
        }
    }
};

/// Sums of a brief analysis, whose pivot is 0, for k = 1 and 2, to the same bits.
///
/// k = 1: neighboring samples are added to 12 R, rounding down. Between 8 R and 16 R doubles are R · 2^-49 apart, so
/// the bits of the sum are those of 12 R plus Σ floor(u · 2^49). A float x has 24 digits: only where 0 < |x| < R ·
/// 2^-26 can any lie below that; then the rests, rounded, are added on their own. Split as squares are, it would take
/// three more operations per sample.
///
/// k = 2: as in CentralSums, but R² times as large, so that no sample is scaled. The square, of 48 digits at most and
/// thus a double, is never computed alone: S + x² and x² − q are one operation each. r is added to the sum of the rests
/// at once, which stays within [2^-28, 2^-27) R² for 2047 samples, where doubles are 2^-80 R² apart. r never lies
/// halfway between two, since a square's last digit has an even place, in R² too: earlier additions do not show.
struct RawSums {
    static constexpr int powers = 2;

    std::uint64_t chains;  ///< k = 1: Σ of the bits of 12 R + Σx, less those of 12 R
    double sum, rests;     ///< k = 2: S, and 1.5 · 2^-28 R² + Σ rint(r)

    /// 12 R and 1.5 · 2^-28 R²
    __device__ static MomentScale scale_of(int exponent) {
        return {12 * core::power_of_two(exponent), CentralSums::low_base * core::power_of_two(2 * exponent)};
    }
    __device__ static double base(const MomentScale& scale) { return scale.second * 0x1p40; }
    /// Rank of a sample: it may have a rest, which 0 has not, where its rank is below that of R · 2^-26.
    __device__ static std::uint32_t rank(float value) { return (__float_as_uint(value) << 1) - 1; }
    __device__ static std::uint32_t small_rank(int exponent) {
        const auto limit = static_cast<float>(core::power_of_two(exponent - 26));
        return limit == 0 ? 0 : rank(limit);
    }
    __device__ void clear(const MomentScale& scale) {
        chains = 0;
        sum = base(scale);
        rests = scale.second;
    }
    template <int N>
    __device__ void add(const double (&values)[N], const MomentScale& scale) {
        static_assert(N <= 4);
        double chain = scale.first;
#pragma unroll
        for (int i = 0; i < N; ++i) chain = __dadd_rd(chain, values[i]);
        chains += bits_of(chain) - bits_of(scale.first);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const double next = fma(values[i], values[i], sum), left = sum - next;
            sum = next;
            rests += fma(values[i], values[i], left);
        }
    }
    /// Rest that rounding down took from a sample, in units of R · 2^-80.
    __device__ static std::uint64_t rest_of(double value, const MomentScale& scale) {
        const double base = scale.first * 0x1p-31, rest = value - (__dadd_rd(scale.first, value) - scale.first);
        return bits_of(rest + base) - bits_of(base);
    }
    __device__ void add_to(MomentTotals<powers>& totals, const MomentScale& scale) const {
        const auto chained = static_cast<std::int64_t>(chains);
        totals.high[0] += chained >> 9;
        totals.low[0] += static_cast<std::uint64_t>(chained & 511) << 31;
        totals.high[1] += __double_as_longlong(sum) - __double_as_longlong(base(scale));
        totals.low[1] += bits_of(rests) - bits_of(scale.second);
    }
};

/// Part of a sum, see PartSums; and the sum of its parts.
__device__ inline Word part_of(core::i128 sum, int part) {
    const auto bits = static_cast<core::u128>(sum);
    const auto word = static_cast<Word>(part == 2 ? bits >> 64 : bits);
    return part == 0 ? word & 0xFFFFFFFFu : part == 1 ? word >> 32 : word;
}
__device__ inline core::i128 sum_of(const Word (&parts)[3]) {
    return static_cast<core::i128>(parts[0] + (static_cast<core::u128>(parts[1]) << 32) +
                                   (static_cast<core::u128>(parts[2]) << 64));
}

/// Sums of a block's warps, in shared memory that all merges of as many sums have in common.
template <int sums>
__device__ inline auto& sums_of_warps() {
    __shared__ __align__(16) core::i128 of_warps[sums][warp_lanes];
    return of_warps;
}
/// Adds a warp's values up. Called, not inlined: code that runs once takes longer to fetch than to execute.
__device__ __noinline__ void merge_lanes(core::i128 value, core::i128* sum) {
    const core::i128 all = wide_sum_over_warp(value);
    if (threadIdx.x % warp_lanes == 0) *sum = all;
}
/// Calls `add(channel, power, part, sum)` with the parts of a block's sums; `total_of(channel, power)`: a thread's. By
/// all threads, with no warp still in an earlier merge; its barrier shows all earlier writes.
template <int channels, int powers, class TotalOf, class Add>
__device__ __forceinline__ void merge_moments(TotalOf total_of, Add add) {
    constexpr int sums = channels * powers;
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
/// Adds a part of a sum to the image's.
struct AddToChannels {
    F32Channel* channels;

    __device__ void operator()(int c, int k, int part, Word sum) const {
        global_add(&channels[c].found.sums[k][part], sum);
    }
};

/// Plan of a channel: how it is summed up.
struct ChannelPlan {
    MomentScale scale;
    std::uint32_t small;  ///< RawSums::small_rank
    std::int32_t exponent;
    double pivot;
    ChannelFacts facts;

    __device__ bool constant() const { return facts.minimum == facts.maximum; }
    /// Value for rejected samples, which are counted and summed up as it and taken back afterwards.
    __device__ float fill() const { return facts.minimum; }
    /// Samples of that value that a sweep has yet to count: all of a constant channel, which needs no sweep; fewer than
    /// none where it `filled` rejected ones.
    __device__ std::int64_t in_fill(bool filled) const {
        if (constant()) return static_cast<std::int64_t>(facts.finite);
        return filled ? -static_cast<std::int64_t>(facts.rejected) : 0;
    }
    /// Plans the sums of a brief analysis by facts that are known, or expected.
    __device__ void plan_sums() {
        pivot = 0;
        exponent = facts.brief_exponent();
        scale = RawSums::scale_of(exponent);
        small = RawSums::small_rank(exponent);
    }
};

/// Adds the moments' terms of `times` samples of one value, which may be fewer than none. By one thread.
template <int C, bool Full>
__device__ void add_terms(const Task<C, Full>& task, const ChannelPlan& of, int channel, float value,
                          core::i128 times) {
    std::uint64_t high[4] = {}, low[4] = {};
    core::MomentTerms(of.pivot, of.exponent).add(value, high, low);
    for (int k = 0; k < (Full ? 4 : 2); ++k) {
        const core::i128 terms = core::PowerTerms::total(high[k], low[k], 1) * times;
        for (int part = 0; part < 3; ++part)
            global_add(&task.channel(channel).found.sums[k][part], part_of(terms, part));
    }
}

template <int C, bool Full>
__device__ inline FloatMoments moments_of(const Task<C, Full>& task, int c, const Findings& found,
                                          const ChannelFacts& facts) {
    FloatMoments moments;
    if constexpr (Full) {
        moments.pivot = fresh(task.channel(c).pivot);
        moments.exponent = fresh(task.channel(c).exponent);
    } else {
        moments.exponent = facts.brief_exponent();
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) moments.sums[k] = core::to_public(sum_of(found.sums[k]));
    return moments;
}

/// Decides which channels' moments are summed again, about the mean. By a block: a warp per channel.
template <int C>
__device__ __noinline__ void decide_pivots(const Task<C, true>& task) {
    const int c = threadIdx.x / warp_lanes;
    if (c >= measured_channels(C)) return;
    const Findings found = fresh_copy(task.channel(c).found);
    const ChannelFacts facts = task.facts(found);
    const FloatMoments moments = moments_of(task, c, found, facts);
    const core::CentralMoments central = central_moments_of(facts.finite, moments);
    const bool again = core::poor_pivot(moments, central);
    __syncwarp();  // all lanes have read the sums
    if (threadIdx.x % warp_lanes != 0) return;
    F32Channel& channel = task.channel(c);
    channel.again = again;
    channel.central = central;
    if (!again) return;
    channel.pivot = central.mean;
    channel.exponent = core::moment_exponent(central.mean, facts.minimum, facts.maximum);
    for (auto& sum : channel.found.sums)
        for (Word& part : sum) part = 0;
}

/// Sums of one channel's moments, and third digits. `Plain`: every sample is valid.
template <int C, bool Plain>
struct MomentCounter {
    CentralSums sums;
    MomentTotals<CentralSums::powers>& totals;  ///< seldom used, so in a caller's memory
    MomentScale scale;
    std::uint32_t samples = 0;
    float fill;
    int channel;
    bool rgb;
    DigitCounter<2> digits;

    __device__ MomentCounter(const ChannelPlan& plan, int of, bool red_first, const DigitTable& table,
                             MomentTotals<CentralSums::powers>& memory)
        : totals(memory), scale(plan.scale), fill(plan.fill()), channel(of), rgb(red_first), digits(table) {
        sums.clear();
    }
    template <class Pixels, class Valid = EveryPixel>
    __device__ void accumulate(const Pixels& pixels, Valid valid = {}) {
        constexpr int N = pixels_of<C, Pixels>;
        float values[N];
        channel_values<C>(pixels, channel, rgb, values);
#pragma unroll
        for (int i = 0; i < N; ++i)
            if (!Plain || !Valid::every) values[i] = is_valid(values[i], valid, i) ? values[i] : fill;
        double wide[N];
        widen(values, wide);
        sums.add(wide, scale);
        digits.add(values);
        samples += N;
        if ((samples & (CentralSums::fold_every - 1)) < N) fold();
    }
    __device__ void fold() {
        sums.add_to(totals);
        sums.clear();
    }
};

/// Sweep of a channel's moments and third digits; returns the samples. Called, so that it has all registers.
template <int C, bool Plain, class OfImage>
__device__ __noinline__ std::uint32_t sweep_moments(const Image& image, const WorkPartition& partition,
                                                    const ChannelPlan& plan, const DigitTable& table, int channel,
                                                    bool rgb, MomentTotals<CentralSums::powers>& totals,
                                                    OfImage of_image) {
    MomentCounter<C, Plain> counter(plan, channel, rgb, table, totals);
    sweep_f32<C, C == 3 ? 1 : 2>(image, partition, counter, of_image);
    counter.fold();
    return counter.samples;
}

/// Sums up one channel's moments and counts its third digits. `about_mean`: moments alone, once more.
template <int C, class OfImage>
__device__ __noinline__ void sum_moments(const Task<C, true>& task, DigitTable& table, int channel,
                                         WorkPartition partition, bool about_mean, OfImage of_image) {
    __shared__ ChannelPlan plan;
    __syncthreads();  // the plan may be written again
    if (threadIdx.x == 0) {
        plan.facts = task.facts(channel);
        plan.pivot = fresh(task.channel(channel).pivot);
        plan.exponent = fresh(task.channel(channel).exponent);
        plan.scale = CentralSums::scale_of(plan.pivot, plan.exponent);
    }
    __syncthreads();  // the plan, for all
    const std::int64_t times = plan.in_fill(true);
    const auto sweep = [&](bool again) {
        MomentTotals<CentralSums::powers> totals{};
        std::uint32_t samples = 0;
        const auto sum = [&](auto plain, auto of) {
            samples =
                sweep_moments<C, plain()>(task.image, partition, plan, table, channel, task.common().rgb, totals, of);
        };
        if (!plan.constant() && plan.facts.rejected == 0) sum(std::true_type{}, NoResidentImage{});
        if (!plan.constant() && plan.facts.rejected != 0) sum(std::false_type{}, of_image);
        merge_moments<1, CentralSums::powers>(
            [&](int, int k) { return again ? core::i128{0} : totals.sum(k, samples * bits_of(CentralSums::low_base)); },
            AddToChannels{&task.channel(channel)});
        if (!again && partition.first == 0 && times != 0) add_terms(task, plan, channel, plan.fill(), times);
    };
    if (!about_mean) return count_digits<2>(task, table, channel, partition, 0, plan.fill(), times, sweep);
    table.template prepare<2>(task, channel, 0, 0, dynamic_shared);
    sweep(false);
}

}  // namespace
}  // namespace gpuhist::cuda
