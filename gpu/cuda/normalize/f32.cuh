// Normalized copies of f32 images: the mappings of their values, an equalization's counts and LUTs, the writing.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "cuda/block/packed_counters.cuh"
#include "cuda/float/bins.cuh"
#include "cuda/float/selection.cuh"
#include "cuda/normalize/lut.cuh"

namespace gpuhist::cuda {
namespace {

/// Whether a FloatMap is a quotient, with its numbers in a Mapping; else the Mapping begins with the map itself.
template <class Map>
constexpr bool is_quotient = std::is_base_of_v<core::Quotient, Map>;

/// Plans the mapping of color channel `c`, in memory order. By one thread.
template <int C, bool Full>
__device__ inline void plan_mapping(const Task<C, Full>& task, int c, const ChannelFacts* facts,
                                    const core::CentralMoments* moments) {
    constexpr int colors = colors_of(C);
    const KernelNormalization& normalization = task.common().normalization;
    const bool joint = C > 1 && normalization.joint;
    std::uint64_t finite = 0;
    float low = INFINITY, high = -INFINITY;
    for (int i = 0; i < colors; ++i) {
        if (!(joint || i == c) || facts[i].finite == 0) continue;
        finite += facts[i].finite;
        low = fminf(low, facts[i].minimum);
        high = fmaxf(high, facts[i].maximum);
    }
    Mapping mapping{};
    mapping.keep = finite == 0;
    core::with_mode(normalization.mode, [&](auto mode) {
        using Map = typename decltype(mode)::FloatMap;
        constexpr NormalizeNeeds needs = traits_of(decltype(mode)::mode).needs;
        if (mapping.keep) return;
        core::FloatFacts found{low, high};
        if constexpr (needs == NormalizeNeeds::ranks && Full) {
            const F32Channel& source = task.channel(joint ? core::pooled_channel : c);
            found = {order_statistic(source, core::first_of_stretch),
                     order_statistic(source, core::first_of_stretch + 1)};
        }
        if constexpr (needs == NormalizeNeeds::mean_std) {
            core::CentralMoments parts[colors], all = moments[c];
            for (int i = 0; i < colors; ++i) parts[result_channel(i, C, task.common().rgb)] = moments[i];
            if (joint) all = core::combine(parts, colors);
            found.mean = all.mean;
            found.std = sqrt(all.m2);
        }
        const Map map(found);
        if constexpr (is_quotient<Map>) {
            mapping = {map.low, 1 / map.divisor, map.divisor, Map::keeps(found), !(map.divisor > 0)};
        } else if constexpr (needs != NormalizeNeeds::counts) {
            static_assert(sizeof map <= offsetof(Mapping, keep) && std::is_trivially_copyable_v<Map>);
            memcpy(&mapping, &map, sizeof map);
            mapping.keep = Map::keeps(found);
        }
    });
    task.state().maps[c] = mapping;
}

/// Counter of one channel's finite values into the bins of an equalization, in slices of these where shared memory is
/// small.
template <int C>
struct EqualizeCounter {
    using Counters = PackedCounters<16>;
    EstimatedBins bins;
    Word* counts;
    std::uint32_t slice;         ///< bins of one
    std::uint32_t first, words;  ///< first bin; shared address of the counters, as if the first were bin 0
    int channel;
    bool rgb;

    /// Books a carry. The first counter of a word carries into the second.
    __device__ void operator()(std::uint32_t bin, std::uint32_t times) const {
        global_add(counts + bin, Word{times} << 16);
        if (bin % 2 == 0) global_add(counts + bin + 1, Word{0} - times);
    }
    __device__ void noted() const {}

    template <class Pixels, class Valid = EveryPixel>
    __device__ void accumulate(const Pixels& pixels, Valid valid = {}) {
        constexpr int N = pixels_of<C, Pixels>;
        float value[N];
        channel_values<C>(pixels, channel, rgb, value);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (!is_valid(value[i], valid, i)) continue;
            const std::uint32_t bin[1] = {bins(value[i])};
            if (bin[0] - first < slice) Counters::add(words, bin, EveryPixel{}, *this);
        }
    }
};
/// Counts one channel's valid samples into bins, a slice of them at a time. By a block.
template <int C, bool Full, class OfImage = NoResidentImage>
__device__ __forceinline__ void count_into_bins(const Task<C, Full>& task, int channel, const WorkPartition& partition,
                                                const core::FloatBins& bins, const OfImage& valid = {}) {
    const std::uint32_t slice = 65536u >> task.work->slices_log2;
    EqualizeCounter<C> counter{EstimatedBins(&bins), task.equalized(channel), slice, 0, 0, channel, task.common().rgb};
    for (; counter.first < 65536; counter.first += slice) {
        clear_replicas(dynamic_shared, slice / 2, 0);
        __syncthreads();  // clear counters
        counter.words = shared_address(dynamic_shared) - counter.first / 2 * 4;
        sweep_f32<C, 2>(task.image, partition, counter, valid);
        __syncthreads();  // all are counted
        for (std::uint32_t bin = threadIdx.x; bin < slice; bin += blockDim.x)
            if (const std::uint32_t n = EqualizeCounter<C>::Counters::counter(dynamic_shared[bin / 2], bin % 2))
                global_add(counter.counts + counter.first + bin, Word{n});
        __syncthreads();  // the counters may be written again
    }
}
template <int C, bool Full>
__device__ __noinline__ void count_equalized_channel(const Task<C, Full>& task, int channel, WorkPartition partition) {
    __shared__ core::FloatBins bins;
    const Range& range = task.state().equalized;
    __syncthreads();  // shared memory may be written again
    if (threadIdx.x == 0)
        bins = core::FloatBins(fresh(range.lower), fresh(range.upper), core::equalize_float_bins, true);
    __syncthreads();  // the bins, for all
    count_into_bins(task, channel, partition, bins);
}

/// Channels with LUTs of an equalization: [first, first + channels).
template <int C>
struct EqualizedChannels {
    int first, channels;
    __device__ explicit EqualizedChannels(const KernelNormalization& normalization)
        : first(C > 1 && normalization.joint ? luma_channel : 0), channels(lut_count(C, normalization)) {}
};

template <int C, bool Full>
__device__ void count_equalized(const Task<C, Full>& task) {
    const EqualizedChannels<C> of(task.common().normalization);
    for_channels(task, of.channels, [&](int channel, const WorkPartition& partition) {
        count_equalized_channel(task, of.first + channel, partition);
    });
}

/// Makes one channel's LUT from its counts, which it clears. By a block.
template <int C, bool Full>
__device__ __noinline__ void equalize_channel(const Task<C, Full>& task, int channel) {
    __shared__ std::uint64_t scratch[warp_lanes];
    __shared__ std::uint64_t first_count;
    const std::uint32_t lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes,
                        warps = blockDim.x / warp_lanes;
    // A stretch of bins per warp, with a bin for each lane at any time.
    const std::uint32_t each = (65536 / warp_lanes + warps - 1) / warps * warp_lanes, begin = min(warp * each, 65536u),
                        end = min(begin + each, 65536u);
    Word* counts = task.equalized(channel);
    float* lut = task.lut(channel);
    std::uint64_t own = 0, total = 0;
    std::uint32_t filled = 0, complement_first = 0;
#pragma unroll 1
    for (std::uint32_t bin = begin + lane; bin < end; bin += warp_lanes) {
        const Word n = fresh_word(counts + bin);
        own += n;
        filled += n != 0;
        complement_first = max(complement_first, n != 0 ? ~bin : 0u);
    }
    __syncwarp();
    const std::uint64_t before = scan_warps(reduce_warp(own, Sum{}), scratch, total);
    const std::uint64_t bins = reduce_block(std::uint64_t{filled}, scratch, std::uint64_t{0}, Sum{});
    const std::uint64_t lowest = reduce_block(std::uint64_t{complement_first}, scratch, std::uint64_t{0}, Max{});
    if (threadIdx.x == 0) {
        first_count = bins ? fresh_word(counts + ~static_cast<std::uint32_t>(lowest)) : 0;
        for (int c = 0; c < colors_of(C); ++c)
            if (channel == c || channel == luma_channel) task.state().maps[c].keep = bins < 2;
    }
    __syncthreads();  // first_count, for all; and all have read the counts once
    const std::uint64_t skipped = first_count;
    const float scale = total > skipped ? core::equalize_scale(total, skipped, 1) : 0;
    std::uint64_t cumulative = before;
#pragma unroll 1
    for (std::uint32_t bin = begin + lane; bin < end; bin += warp_lanes) {
        const std::uint64_t through = cumulative + scan_lanes(fresh_word(counts + bin));
        lut[bin] = core::equalize(through > skipped ? through - skipped : 0, scale);
        counts[bin] = 0;
        cumulative = __shfl_sync(0xFFFFFFFFu, through, warp_lanes - 1);
    }
    __syncthreads();  // first_count may be written again
}

template <int C, bool Full>
__device__ void equalize(const Task<C, Full>& task) {
    const EqualizedChannels<C> of(task.common().normalization);
    for (int channel = blockIdx.x; channel < of.channels; channel += gridDim.x)
        equalize_channel(task, of.first + channel);
}

/// Writer of mapped samples, by the formulas of the mode's FloatMap. Each mode has its own loop: together they would be
/// too long for the instruction cache.
template <int C, class Mode>
struct F32Writer {
    using Map = typename Mode::FloatMap;
    static constexpr int W = written_channels<C>;
    static constexpr bool looks_up = traits_of(Mode::mode).needs == NormalizeNeeds::counts;
    const Mapping* maps;  ///< in shared memory, as the bins
    EstimatedBins bins;
    const float* luts;  ///< of the first channel equalized
    int lut_stride;
    Output output;
    bool estimated;  ///< no channel is kept or flat

    __device__ float equalized(int channel, float value) const {
        if (maps[channel].keep || value != value) return value;
        const std::uint32_t bin = bins(value);
        if (bin == core::FloatBins::below) return 0;
        if (bin == core::FloatBins::above) return 1;
        return __ldcg(luts + channel * lut_stride + bin);
    }
    static __device__ __noinline__ float exactly(const Mapping& map, float value) {
        if (map.keep || value != value) return value;
        if constexpr (is_quotient<Map>)
            return map.flat ? 0 : Map::written(core::Quotient{map.low, map.divisor}(value));
        else
            return reinterpret_cast<const Map&>(map)(value);
    }
    /// Samples from x on; alpha is left alone.
    template <class Pixels, int N>
    __device__ void map(std::int64_t x, const Pixels& pixels, float (&mapped)[N]) const {
        const int first = C == 3 ? channel_of_sample(x) : 0;
        auto channel = [&](int i) {
            const int c = first + i % C;
            return C == 3 && c > 2 ? c - 3 : c;
        };
        auto is_alpha = [](int i) { return C == 4 && i % 4 == 3; };
        bool sure = estimated;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const float value = pixels[i];
            if (is_alpha(i)) {
                mapped[i] = value;
            } else if constexpr (looks_up) {
                mapped[i] = equalized(channel(i), value);
            } else if constexpr (is_quotient<Map>) {  // of NaN too: a branch would cost more
                const float estimate = Map::written(maps[channel(i)].estimate(value, sure));
                mapped[i] = value != value ? value : estimate;
            }
        }
        if constexpr (!looks_up) {
            if (is_quotient<Map> && sure) return;
#pragma unroll
            for (int i = 0; i < N; ++i)
                if (!is_alpha(i)) mapped[i] = exactly(maps[channel(i)], pixels[i]);
        }
    }
    template <class Pixels>
    __device__ void accumulate(std::int64_t y, std::int64_t x, const Pixels& pixels) const {
        constexpr int N = pixels_of<W, Pixels> * W;
        float mapped[N];
        map(x, pixels, mapped);
        auto* to = reinterpret_cast<float*>(static_cast<char*>(output.data) + y * output.row_bytes) + x * W;
        if constexpr (N % 4 == 0)
            store_samples(to, mapped);
        else
            for (int c = 0; c < N; ++c) to[c] = mapped[c];
    }
};

template <int C, class Mode, class OfImage>
__device__ __noinline__ void apply_mode(const Image& image, const WorkPartition& partition, const Mapping* maps,
                                        const core::FloatBins* bins, const float* luts, int lut_stride,
                                        const Output& output, OfImage of_image) {
    bool estimated = true;
    for (int c = 0; c < colors_of(C); ++c) estimated = estimated && !maps[c].keep && !maps[c].flat;
    F32Writer<C, Mode> writer{maps, EstimatedBins(bins), luts, lut_stride, output, estimated};
    sweep_f32<written_channels<C>, apply_unroll_of(C)>(image, partition, writer, of_image);
}

template <int C, bool Full, class OfImage>
__device__ void apply(const Task<C, Full>& task, OfImage of_image) {
    __shared__ Mapping maps[3];
    __shared__ core::FloatBins bins;
    const F32State& state = task.state();
    __syncthreads();  // shared memory may be written again
    if (threadIdx.x < colors_of(C)) maps[threadIdx.x] = fresh_copy(state.maps[threadIdx.x]);
    if (threadIdx.x == 0)
        bins = core::FloatBins(fresh(state.equalized.lower), fresh(state.equalized.upper), core::equalize_float_bins,
                               true);
    __syncthreads();  // maps and bins, for all
    const EqualizedChannels<C> of(task.common().normalization);
    WorkPartition partition = task.partition_of_grid();
    partition.last = units_of_samples<float, C>(task.image);
    core::with_mode(task.common().normalization.mode, [&](auto mode) {
        apply_mode<C, decltype(mode)>(samples_of<C>(task.image), partition, maps, &bins, task.lut(of.first),
                                      of.channels == 1 ? 0 : 65536, task.output, of_image);
    });
}

}  // namespace
}  // namespace gpuhist::cuda
