// 8-bit images, merge and finish: from the lane replicas of blocks to counts, results, LUTs and normalized copies.
#pragma once

#include <type_traits>

#include "cuda/histogram/u8_accumulate.cuh"
#include "cuda/normalize/lut.cuh"
#include "cuda/results.cuh"

namespace gpuhist::cuda {
namespace {

/// Count of a bin over a block's 32 replicas, which are zero afterwards if `clear`.
template <int channels>
__device__ inline std::uint32_t gather(std::uint32_t bin, bool clear) {
    constexpr std::uint32_t quads = 8;
    uint4* first = reinterpret_cast<uint4*>(dynamic_shared + first_replica<channels>(bin / values, bin % values));
    uint4 quad[quads];
    auto place = [&](std::uint32_t i) { return first + (i + bin) % quads; };  // neighbors use other banks
#pragma unroll
    for (std::uint32_t i = 0; i < quads; ++i) quad[i] = *place(i);
    std::uint32_t sum = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < quads; ++i) sum += quad[i].x + quad[i].y + quad[i].z + quad[i].w;
    if (clear)
#pragma unroll
        for (std::uint32_t i = 0; i < quads; ++i) *place(i) = uint4{};
    return sum;
}
/// Count of a bin over `1 << replicas_log2` replicas, which are zero afterwards.
template <int C>
__device__ inline std::uint32_t gather_any(std::uint32_t bin, int channels, int replicas_log2) {
    if (replicas_log2 == 5) return channels == C ? gather<C>(bin, true) : gather<counted_channels<C, true>>(bin, true);
    std::uint32_t sum = 0;
    for (std::uint32_t i = bin << replicas_log2; i < (bin + 1) << replicas_log2; ++i) {
        sum += dynamic_shared[i];
        dynamic_shared[i] = 0;
    }
    return sum;
}

/// Sums of an image over its blocks, where it has several. Zero but for `generation` in between.
template <int C>
struct Meeting {
    Word counts[measured_channels(C) * values];
    BrightnessSums luma;       ///< where it is not counted
    std::uint32_t arrived;     ///< blocks that have added their counts
    std::uint32_t generation;  ///< grows when an image's result is complete
};

/// Sums of all blocks over a single image: two counts under 2^32 in each word.
template <int C>
struct Total {
    Word pairs[measured_channels(C) * values / 2];
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
    Meeting<C> meetings[1];    ///< one per block
};

constexpr int warps_of_channel = values / warp_lanes;

/// Part of all channels' sums that this thread sees to, or negative: the last lanes of a block have the least else to
/// do.
template <int C>
__device__ inline int part_of_thread() {
    constexpr int lanes = (measured_channels(C) * warps_of_channel + warp_lanes - 1) / warp_lanes * warp_lanes;
    return static_cast<int>(threadIdx.x) + lanes - static_cast<int>(blockDim.x);
}
/// Sums of luma that is not counted, from this block's warps.
__device__ inline BrightnessSums found_by_warps(const BrightnessSums* warp_luma, int part) {
    BrightnessSums sums{};
#pragma unroll
    for (int warp = 0; warp < warp_lanes; warp += warps_of_channel)
        if (warp + part < static_cast<int>(blockDim.x) / warp_lanes) sums.add(warp_luma[warp + part]);
    return sums;
}
/// Part of these sums, or of the sums of all blocks, for this thread, see write_sums.
template <int C>
__device__ inline BrightnessSums luma_part(const BrightnessSums* warp_luma) {
    const int part = part_of_thread<C>() - C * warps_of_channel;
    if (C == 1 || part < 0) return {};
    return found_by_warps(warp_luma, part % warps_of_channel);
}
template <int C>
__device__ inline BrightnessSums luma_part(const BrightnessSums& all) {
    if (C == 1 || part_of_thread<C>() != C * warps_of_channel) return {};
    return {__ldcg(&all.sum), __ldcg(&all.squares), __ldcg(&all.complement_minimum), __ldcg(&all.maximum)};
}
/// Adds the block's sums to the image's, by its last warp.
__device__ inline void add_luma(const BrightnessSums* warp_luma, BrightnessSums& all) {
    if (threadIdx.x < blockDim.x - warp_lanes) return;
    const int lane = threadIdx.x % warp_lanes;
    BrightnessSums sums = found_by_warps(warp_luma, lane % warps_of_channel);
    sums.reduce_over_lanes<warps_of_channel>();
    if (lane != 0 || sums.complement_minimum == 0) return;
    global_add(reinterpret_cast<Word*>(&all.sum), Word{sums.sum});
    global_add(reinterpret_cast<Word*>(&all.squares), Word{sums.squares});
    global_max(&all.complement_minimum, sums.complement_minimum);
    global_max(&all.maximum, sums.maximum);
}

/// Whether all sums over an image fit 32 bits.
__device__ inline bool is_narrow(std::int64_t pixels) {
    constexpr std::int64_t most = 0xFFFFFFFFu / ((values - 1) * (values - 1));
    return pixels <= most;
}

/// Sums up a warp's part of a channel: each lane has the next bin, and its code. `narrow`: see is_narrow.
__device__ inline void sum_up(bool narrow, std::uint32_t bin, std::uint32_t code, Word samples,
                              BrightnessSums* partial) {
    BrightnessSums sums{};
    sums.add(code, samples);
    sums.reduce_over_warp(narrow);
    if (bin % warp_lanes == 0) partial[bin / warp_lanes] = sums;
}
template <int C>
__device__ inline void write_count(const Common& common, std::int64_t index, bool narrow, std::uint32_t bin,
                                   Word samples, BrightnessSums* partial) {
    const std::uint32_t code = code_of_bin<std::uint8_t, C>(common, bin % values);
    counts_of(common, index, counted_channel(static_cast<int>(bin / values), C, common.rgb))[code] = samples;
    sum_up(narrow, bin, code, samples, partial);
}
/// Writes an image's counts: `count(bin)` of every channel's values.
template <int C, class Count>
__device__ inline void write_counts(const Common& common, std::int64_t index, std::int64_t pixels, int channels,
                                    BrightnessSums* partial, Count count) {
    const bool narrow = is_narrow(pixels);
#pragma unroll 1
    for (std::uint32_t bin = threadIdx.x; bin < static_cast<std::uint32_t>(channels * values); bin += blockDim.x)
        write_count<C>(common, index, narrow, bin, count(bin), partial);
}

/// Writes the results of the sums of `write_counts`, a barrier later, and of this thread's part of uncounted luma.
/// `samples`: valid ones of a channel.
template <int C>
__device__ inline void write_sums(const Common& common, std::int64_t index, std::int64_t pixels, std::int64_t samples,
                                  int channels, const BrightnessSums* partial, const BrightnessSums& luma) {
    const int part = part_of_thread<C>(), channel = part / warps_of_channel;
    if (threadIdx.x == 0) write_header(common, index, pixels, measured_channels(C));
    if (part < 0) return;
    BrightnessSums sums = channel < channels ? partial[part] : luma;
    sums.template reduce_over_lanes<warps_of_channel>();
    if (part % warps_of_channel == 0 && channel < measured_channels(C))
        write_channel(result_of(common, index)->channels[counted_channel(channel, C, common.rgb)], common.depth,
                      samples, sums.sum, sums.squares, ~sums.complement_minimum, sums.maximum);
}

/// Counts of an image in shared memory, and the parts of its channels' sums, as build_luts asks for them.
template <int C>
struct BlockCounts {
    const Word* counts;
    const BrightnessSums* partial;
    std::int64_t samples;  ///< of a channel

    __device__ Word count(int channel, int value) const { return counts[channel * values + value]; }
    __device__ LutNumbers numbers(const LutChannels<C>& channels) const {
        const int lane = threadIdx.x % warp_lanes, together = channels.together ? 3 : 1;
        BrightnessSums sums{};
        if (lane < together * warps_of_channel) sums = partial[channels.first * warps_of_channel + lane];
        sums.reduce_over_warp();
        return {~sums.complement_minimum, sums.maximum, static_cast<std::uint64_t>(together * samples), sums.sum,
                sums.squares};
    }
};
/// LUTs of an image, as a block keeps them.
template <int C, typename O>
struct BlockLuts {
    O value[colors_of(C) * values];
    core::Line<std::uint8_t> lines[colors_of(C)];  ///< one per color: the LUTs' formula, where `by_line`
    TableRoom room[colors_of(C)];
    bool by_line;
};
/// Makes the LUTs, by one block. Barriers: the counts, the recipes and the LUTs, for all.
template <int C, typename O>
__device__ __noinline__ void make_luts(const KernelNormalization& normalization, const BlockCounts<C> counts,
                                       BlockLuts<C, O>& luts) {
    __syncthreads();
    core::with_mode(normalization.mode, [&](auto mode) {
        using Mode = decltype(mode);
        if constexpr (std::is_same_v<O, Written<Mode, std::uint8_t>>)
            build_luts<Mode, std::uint8_t, C>(normalization, counts, luts.room, luts.lines, luts.value, 0, 1);
        if (threadIdx.x == 0) luts.by_line = is_stretch<Mode>;
    });
    __syncthreads();
}
template <int C, typename O>
__device__ inline void write_luts(const Common& common, std::int64_t index, const BlockLuts<C, O>& luts) {
    for (int v = threadIdx.x; v < lut_count(C, common.normalization) * values; v += blockDim.x)
        luts_of<O>(common, index)[v] = luts.value[v];
}
template <int C, typename O>
__device__ inline void read_luts(const Common& common, std::int64_t index, BlockLuts<C, O>& luts) {
    for (int v = threadIdx.x; v < lut_count(C, common.normalization) * values; v += blockDim.x)
        luts.value[v] = __ldcg(luts_of<O>(common, index) + v);
    if (threadIdx.x == 0) luts.by_line = false;
    __syncthreads();
}
/// Writes the copy of an image, or of a partition of its units_of_samples.
template <int C, typename O, class OfImage = NoResidentImage>
__device__ inline void apply_luts(const Common& common, const BlockLuts<C, O>& luts, const Image& image,
                                  const WorkPartition& partition, const Output& output, const OfImage& resident = {}) {
    auto apply = [&](auto map) {
        write_mapped(image, partition, MappedWriter<std::uint8_t, C, O, decltype(map)>{map, output}, resident);
    };
    if constexpr (std::is_same_v<O, std::uint8_t>)
        if (luts.by_line)
            return core::with_mode(common.normalization.mode, [&](auto mode) {
                using Mode = decltype(mode);
                if constexpr (is_stretch<Mode>) apply(LineMap<std::uint8_t, Mode>{luts.lines});
            });
    apply(LutMap<std::uint8_t, O, true>(luts.value, !common.normalization.joint));
}

/// Shared memory of a block beside its replicas; counts and LUTs only where there is a normalized copy.
template <int C, typename O, int Channels = measured_channels(C), int Threads = block_threads>
struct alignas(dynamic_alignment) Kept {
    BrightnessSums partial[Channels * warps_of_channel];
    Word samples[warps_of_channel];                               ///< of the first channel, where there is a mask
    BrightnessSums warp_luma[C == 1 ? 1 : Threads / warp_lanes];  ///< of colors
    Word counts[std::is_void_v<O> ? 1 : measured_channels(C) * values];
    std::conditional_t<std::is_void_v<O>, bool, BlockLuts<C, O>> luts;
    std::uint32_t launch;
    bool completes;  ///< the result is this block's to write
};
static_assert(sizeof(Kept<4, float>) <= static_shared_bytes);
static_assert(sizeof(Kept<1, std::uint8_t>) <= 3072,
              "leaves room for 12 rounds of a resident image, 25 MB, on a Hopper GPU");

/// Leaves the warps' sums of luma that is not counted, for found_by_warps.
template <class Kept>
__device__ inline void keep_luma(Kept& kept, BrightnessSums luma, bool narrow = false) {
    luma.reduce_over_warp(narrow);
    if (threadIdx.x % warp_lanes == 0) kept.warp_luma[threadIdx.x / warp_lanes] = luma;
}

/// Calls `function` with whether luma is counted, as a constant.
template <int C, class Function>
auto with_luma(const CountParameters& p, Function function) {
    if constexpr (C > 1)
        if (p.count_luma) return function(std::true_type{});
    return function(std::false_type{});
}

}  // namespace

/// Enqueues the kernel of a single image under 2^32 pixels; `shared_bytes`: its counters', 32 replicas of them.
template <int C>
void launch_u8_image(const Tensor& images, CountParameters parameters, std::size_t shared_bytes, const Launch& launch);

}  // namespace gpuhist::cuda
