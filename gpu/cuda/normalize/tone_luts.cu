// Tables of curves, and of other depths, for copies of u8 and u16: from the counts of a result.

#include "cuda/block/reduce.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/normalize/result_counts.cuh"
#include "cuda/normalize/tone.hpp"
#include "cuda/results.cuh"
#include "normalize/curves/map.hpp"

namespace gpuhist::cuda {
namespace {

/// Facts about the samples that a table is for.
struct ToneFacts {
    core::IntegerFacts integers;
    core::CurveNumbers numbers;
    bool keep;  ///< samples stay as they are
};

/// Facts that a normalization needs, by a warp.
template <typename T, int C, class Counts>
__device__ core::IntegerFacts facts_by_needs(const Common& common, const Counts& counts,
                                             const LutChannels<C>& channels) {
    const auto find = [&](auto mode) {
        return lut_facts<decltype(mode), T>(common.normalization, common.levels, counts, channels);
    };
    switch (common.needs) {
        case NormalizeNeeds::ranks:
            return find(core::PercentileMode{});
        case NormalizeNeeds::mean_std:
            return find(core::ZscoreMode{});
        case NormalizeNeeds::counts:
            return find(core::EqualizeMode{});
        default:
            return find(core::MinmaxMode{});
    }
}

/// Numbers of a curve about samples of type T.
template <typename T>
__device__ core::CurveNumbers numbers_of(const Common& common, const core::CurveParameters& curve,
                                         const core::IntegerFacts& facts, bool any) {
    core::CurveNumbers numbers(0, (1 << 8 * sizeof(T)) - 1, curve);
    numbers.samples = any ? facts.samples : 0;
    numbers.low = facts.low;
    numbers.high = facts.high;
    numbers.threshold = curve.threshold;
    if (common.needs != NormalizeNeeds::mean_std) return numbers;
    numbers.mean = facts.mean_std.mean;
    numbers.std = facts.mean_std.std;
    core::set_interval(numbers);
    return numbers;
}

/// Sample of a copy for a value. Formulas of all modes are here once.
template <class Out>
__device__ __noinline__ Out tone_of(const Common& common, const ToneTraits& traits, const ToneFacts& facts,
                                    std::uint32_t value, std::uint64_t through) {
    Out result{};
    if (traits.curve) {
        core::with_numeric_curve(facts.numbers, [&](const auto& curve) {
            result = core::written<Out>(curve(static_cast<double>(value)), core::unit_of(curve, facts.numbers),
                                        traits.real, common.levels);
        });
        return result;
    }
    core::with_mode(common.normalization.mode, [&](auto mode) {
        using Mode = decltype(mode);
        if constexpr (!traits_of(Mode::mode).real)
            result = typename Mode::template Scaled<Out>(facts.integers)(value, through);
        else if constexpr (core::is_real<Out>)
            result = core::rounded_to<Out>(core::exact_zscore(static_cast<double>(value), facts.integers.mean_std.mean,
                                                              facts.integers.mean_std.std));
    });
    return result;
}

/// Kernel that builds an image's tables from the counts of its result, and publishes that. Launch: lut_blocks.
template <typename T, int C, class Out>
__global__ void __launch_bounds__(lut_threads)
    tone_lut_kernel(const __grid_constant__ ToneTables p, std::uint32_t each, std::uint32_t* arrived) {
    __shared__ Word pages[measured_channels(C)][pages_of<T>];
    __shared__ __align__(16) char room[3 * sizeof(ToneFacts)];
    __shared__ bool last;
    constexpr int values = 1 << 8 * sizeof(T), items = values / warp_lanes;
    const Common& common = p.common;
    const ToneTraits traits = p.traits;
    const ResultCounts<T, C> counts{common, each, pages};
    auto* const facts = reinterpret_cast<ToneFacts*>(room);
    const int tables = lut_count(C, common.normalization), warp = static_cast<int>(threadIdx.x) / warp_lanes,
              lane = threadIdx.x % warp_lanes, warps = lut_threads / warp_lanes;
    if constexpr (sizeof(T) > 1) {
        if (needs_pages(common.needs)) {
            const LutChannels<C> channels(common.normalization, traits.by_luma, 0);
            const int end = channels.first == luma_channel ? luma_channel + 1 : colors_of(C);
            for (int channel = channels.first; channel < end; ++channel)
                add_up_pages<T>(counts_of(common, 0, counts.channel_of(channel)), pages[channel]);
            __syncthreads();  // the pages, for all
        }
    }
    if (warp < tables) {
        const LutChannels<C> channels(common.normalization, traits.by_luma, warp);
        const core::IntegerFacts found = facts_by_needs<T>(common, counts, channels);
        bool any = false;
        for (int c = channels.first; c < channels.first + (channels.together ? 3 : 1); ++c)
            any = any || result_of(common, 0)->channels[counts.channel_of(c)].samples > 0;
        if (lane == 0) facts[warp] = {found, numbers_of<T>(common, p.curve, found, any), false};
    }
    __syncthreads();  // the facts, for all
    if (threadIdx.x == 0) {
        const int red = common.rgb ? 0 : 2;
        if (traits.per_color && tables == 3)
            core::balance(facts[red].numbers, facts[1].numbers, facts[2 - red].numbers);
        for (int t = 0; t < tables; ++t)
            facts[t].keep = traits.curve ? core::keeps(facts[t].numbers, common.needs)
                                         : !traits.real && facts[t].integers.low == facts[t].integers.high;
    }
    __syncthreads();  // factors and verdicts, for all
    Out* const luts = luts_of<Out>(common, 0);
    const int all = tables + (p.has_alpha ? 1 : 0), blocks = static_cast<int>(gridDim.x);
#pragma unroll 1
    for (int item = warp * blocks + static_cast<int>(blockIdx.x); item < all * items; item += warps * blocks) {
        const int t = item / items, first = item % items * warp_lanes;
        const auto value = static_cast<T>(first + lane);
        Out* const to = luts + item * warp_lanes + lane;
        if (t == tables) {
            *to = core::kept<Out>(value, traits.real, core::levels_of_type<Out>());
            continue;
        }
        std::uint64_t through = 0;
        if (common.needs == NormalizeNeeds::counts)
            through = samples_through<T>(LutChannels<C>(common.normalization, traits.by_luma, t), counts, first);
        *to = facts[t].keep ? core::kept<Out>(value, traits.real, common.levels)
                            : tone_of<Out>(common, traits, facts[t], value, through);
    }
    __syncwarp();
    if (arrive_last(arrived, gridDim.x, &last) && threadIdx.x == 0) publish(result_of(common, 0));
}

template <typename T, int C>
void launch_tables(const ToneTables& tables, std::uint32_t each, std::uint32_t* arrived, const Launch& launch) {
    const LaunchConfiguration configuration{lut_blocks<T>, lut_threads, 0, 1};
    switch (tables.common.normalization.copies) {
        case Depth::u8:
            return launch_kernel(launch, tone_lut_kernel<T, C, std::uint8_t>, false, configuration, tables, each,
                                 arrived);
        case Depth::u16:
            return launch_kernel(launch, tone_lut_kernel<T, C, std::uint16_t>, false, configuration, tables, each,
                                 arrived);
        default:
            return launch_kernel(launch, tone_lut_kernel<T, C, float>, false, configuration, tables, each, arrived);
    }
}

}  // namespace

void launch_tone_luts(const ToneTables& tables, int channels, std::uint32_t each, std::uint32_t* arrived,
                      const Launch& launch) {
    const bool bytes = sample_bytes(tables.common.depth) == 1;
    if (channels == 1)
        bytes ? launch_tables<std::uint8_t, 1>(tables, each, arrived, launch)
              : launch_tables<std::uint16_t, 1>(tables, each, arrived, launch);
    else
        bytes ? launch_tables<std::uint8_t, 3>(tables, each, arrived, launch)
              : launch_tables<std::uint16_t, 3>(tables, each, arrived, launch);
}

}  // namespace gpuhist::cuda
