// Normalized copies of 8- and 16-bit images: LUTs from counts, by one builder for both, and their application to
// pixels.
#pragma once

#include <cstring>
#include <limits>
#include <type_traits>

#include "cuda/block/rank_search.cuh"
#include "cuda/block/shared_memory.cuh"
#include "cuda/pixels/resident.cuh"
#include "normalize/modes.hpp"

namespace gpuhist::cuda {

/// Number of an image's LUTs: one for all colors, or one each.
__device__ inline int lut_count(int channels, const KernelNormalization& normalization) {
    return normalization.joint ? 1 : colors_of(channels);
}

/// Whether a mode's LUTs are a core::Line.
template <class Mode>
constexpr bool is_stretch = std::is_base_of_v<core::Line<std::uint8_t>, typename Mode::template Table<std::uint8_t>>;

/// Type of the samples that a mode writes for type T.
template <class Mode, typename T>
using Written = std::conditional_t<traits_of(Mode::mode).real, float, T>;

/// Table of a mode for another type of integers than T. If all samples are equal, they stay at their fraction of the
/// range.
template <class Mode, typename T, typename O>
struct ScaledTable : Mode::template Scaled<O> {
    core::Levels kept_levels;
    bool keeps;

    __device__ explicit ScaledTable(const core::IntegerFacts& facts)
        : Mode::template Scaled<O>(facts), kept_levels(facts.levels), keeps(facts.low == facts.high) {}
    __device__ O operator()(std::uint32_t code, Word through) const {
        return keeps ? core::to_depth<O>(static_cast<T>(code), kept_levels)
                     : Mode::template Scaled<O>::operator()(code, through);
    }
};

/// Table of a mode that maps samples of type T to type O.
template <class Mode, typename T, typename O, bool scales = !std::is_same_v<O, Written<Mode, T>>>
struct TableOf {
    using Type = typename Mode::template Table<T>;
};
template <class Mode, typename T, typename O>
struct TableOf<Mode, T, O, true> {
    using Type = ScaledTable<Mode, T, O>;
};

/// Numbers of all samples that a LUT is for.
struct LutNumbers {
    std::uint32_t low, high;  ///< extremes
    std::uint64_t samples, sum;
    core::u128 squares;
};

/// Room for any mode's table.
struct alignas(8) TableRoom {
    char bytes[48];
};

/// Channels of counts that LUT t is for: a color's, luma's, or three colors' together.
template <int C>
struct LutChannels {
    bool together;
    int first;

    __device__ LutChannels(const KernelNormalization& normalization, bool by_luma, int t) {
        const bool joint = C > 1 && normalization.joint;
        together = joint && !by_luma;
        first = together ? 0 : joint ? C : t;
    }
    template <class Of>
    __device__ Word sum(Of of) const {
        return together ? of(0) + of(1) + of(2) : of(first);
    }
};

/// Page: values with the same high byte; of u8 all. Of u16 their samples are added up too, for running sums.
constexpr int page_values = 256;
constexpr bool needs_pages(NormalizeNeeds needs) {
    return needs == NormalizeNeeds::ranks || needs == NormalizeNeeds::counts;
}

/// Facts that a LUT's values follow from, by a warp. `counts`: see build_luts.
template <class Mode, typename T, int C, class Counts>
__device__ inline core::IntegerFacts lut_facts(const KernelNormalization& normalization, core::Levels levels,
                                               const Counts& counts, const LutChannels<C>& channels) {
    constexpr NormalizeNeeds needs = traits_of(Mode::mode).needs;
    const LutNumbers numbers = counts.numbers(channels);
    core::IntegerFacts facts{std::numeric_limits<T>::lowest(), numbers.low, numbers.high, numbers.samples};
    facts.levels = levels;
    auto count = [&](int value) { return channels.sum([&](int channel) { return counts.count(channel, value); }); };
    if constexpr (needs == NormalizeNeeds::counts) facts.lowest_samples = count(static_cast<int>(facts.low));
    if constexpr (needs == NormalizeNeeds::mean_std)
        facts.mean_std = core::mean_std(numbers.samples, numbers.sum, numbers.squares);
    if constexpr (needs == NormalizeNeeds::ranks) {
        auto find = [&](double percent) {
            std::uint64_t rank = core::nearest_rank(percent, facts.samples) - 1;
            std::uint32_t first = 0;
            if constexpr (sizeof(T) > 1) {
                auto count_page = [&](int page) {
                    return channels.sum([&](int channel) { return counts.count_page(channel, page); });
                };
                const Located page = WarpBins<page_values / warp_lanes, decltype(count_page)>(count_page).locate(rank);
                first = page.bin * page_values;
                rank = page.within;
            }
            auto count_value = [&](int k) { return count(first + k); };
            return first + WarpBins<page_values / warp_lanes, decltype(count_value)>(count_value).locate(rank).bin;
        };
        facts.low = find(normalization.low);
        facts.high = find(normalization.high);
    }
    return facts;
}

/// Samples of values up to a lane's own, first + lane. By a warp.
template <typename T, int C, class Counts>
__device__ inline Word samples_through(const LutChannels<C>& channels, const Counts& counts, int first) {
    constexpr int values = 1 << 8 * sizeof(T);
    const int lane = threadIdx.x % warp_lanes, page = first / page_values;
    auto count = [&](int value) { return channels.sum([&](int channel) { return counts.count(channel, value); }); };
    Word before = 0;
    if constexpr (sizeof(T) > 1)
#pragma unroll
        for (int k = 0; k < values / page_values / warp_lanes; ++k)
            if (const int p = k * warp_lanes + lane; p < page)
                before += channels.sum([&](int channel) { return counts.count_page(channel, p); });
#pragma unroll
    for (int k = 0; k < page_values / warp_lanes; ++k)
        if (const int v = page * page_values + k * warp_lanes + lane; v < first) before += count(v);
    return reduce_warp(before, Sum{}) + scan_lanes(count(first + lane));
}

/// Builds an image's LUTs, one behind the other in `luts`, together with other blocks, this one with the given rank: a
/// warp 32 values at a time. Tables, and a line per color where the mode is a stretch, each block makes for itself, for
/// all its threads. `counts` knows, of the channels as they are counted,
///     count(channel, value)      samples of a value,
///     count_page(channel, page)  samples of a page; u16,
///     numbers(channels)          LutNumbers with the extremes, by a warp.
/// `levels`: that the mapped values may have.
template <class Mode, typename T, int C, class Counts, typename O>
__device__ inline void build_luts(const KernelNormalization& normalization, const Counts& counts, TableRoom* room,
                                  core::Line<T>* lines, O* luts, int rank, int blocks,
                                  core::Levels levels = core::levels_of_type<O>()) {
    using Table = typename TableOf<Mode, T, O>::Type;
    constexpr bool has_lines = is_stretch<Mode> && std::is_same_v<O, T>;
    static_assert(sizeof(Table) <= sizeof(TableRoom) && std::is_trivially_copyable_v<Table>);
    constexpr bool by_luma = traits_of(Mode::mode).joint_by_luma;
    constexpr int values = 1 << 8 * sizeof(T), items = values / warp_lanes;
    auto* tables = reinterpret_cast<Table*>(room);
    const int count_of_tables = lut_count(C, normalization), warps = static_cast<int>(blockDim.x) / warp_lanes,
              warp = static_cast<int>(threadIdx.x) / warp_lanes, lane = threadIdx.x % warp_lanes;
    if (warp < count_of_tables) {
        const core::IntegerFacts facts =
            lut_facts<Mode, T>(normalization, levels, counts, LutChannels<C>(normalization, by_luma, warp));
        if (lane == 0) {
            tables[warp] = Table(facts);
            if constexpr (has_lines)
                for (int c = warp; c < (C > 1 && normalization.joint ? 3 : warp + 1); ++c) lines[c] = tables[warp];
        }
    }
    __syncthreads();  // the tables and lines, for all
#pragma unroll 1
    for (int item = warp * blocks + rank; item < count_of_tables * items; item += warps * blocks) {
        const int t = item / items, first = item % items * warp_lanes;
        Word through = 0;
        if constexpr (traits_of(Mode::mode).needs == NormalizeNeeds::counts) {
            through = samples_through<T>(LutChannels<C>(normalization, by_luma, t), counts, first);
        }
        luts[item * warp_lanes + lane] = static_cast<O>(tables[t](first + lane, through));
    }
    __syncwarp();  // a barrier may follow the call
}

template <typename T, int N>
__device__ inline void store_samples(T* target, const T (&samples)[N]) {
    static_assert(N * sizeof(T) % 16 == 0);
    if (reinterpret_cast<std::uintptr_t>(target) % 16 == 0) {
        uint4 words[N * sizeof(T) / 16];
        memcpy(words, samples, sizeof words);
#pragma unroll
        for (int w = 0; w < static_cast<int>(N * sizeof(T) / 16); ++w) reinterpret_cast<uint4*>(target)[w] = words[w];
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) target[i] = samples[i];
    }
}

/// Image of three colors as one of samples: threads that wrote their groups of 48 bytes would each write parts of
/// sectors. The channel then follows from the place.
template <int C>
__device__ inline Image samples_of(Image image) {
    if (C == 3) image.width *= 3;
    return image;
}
template <int C>
constexpr int written_channels = C == 3 ? 1 : C;
/// Channel of sample x of samples_of three colors. 2^32 is one more than a multiple of 3.
__device__ inline std::uint32_t channel_of_sample(std::int64_t x) {
    return (static_cast<std::uint32_t>(x) % 3 + static_cast<std::uint32_t>(x >> 32)) % 3;
}
template <typename T, int C>
__device__ inline std::int64_t units_of_samples(const Image& image) {
    return units_in_row(samples_of<C>(image).width, Group<T, written_channels<C>>::pixels) * image.height;
}

/// Map of samples through LUTs, in shared or in device memory: one for all colors, or one each.
template <typename T, typename O, bool Shared>
struct LutMap {
    using Channel = std::uint32_t;  ///< where its LUT begins
    static constexpr int byte = 0;  ///< of the mapped value, where the written one begins
    const O* luts;
    std::uint32_t address;  ///< of the LUTs in shared memory
    int stride;             ///< values from one channel's LUT to the next

    __device__ LutMap(const O* from, bool separate)
        : luts(from), address(Shared ? shared_address(from) : 0), stride(separate ? 1 << 8 * sizeof(T) : 0) {}
    __device__ Channel channel(int c) const { return c * stride; }
    __device__ std::uint32_t operator()(Channel lut_at, std::uint32_t value) const {
        if constexpr (Shared)
            return shared_load(address + (lut_at + value) * sizeof(O), O{});
        else
            return same(__ldg(luts + lut_at + value));
    }
    static __device__ std::uint32_t same(O value) {
        if constexpr (std::is_same_v<O, float>)
            return __float_as_uint(value);
        else
            return value;
    }
};

/// Map of samples by lines, of a mode that is a stretch.
template <typename T, class Mode>
struct LineMap {
    using Channel = core::Line<T>;
    static constexpr int byte = 4 - sizeof(T);
    static constexpr bool may_lie_outside = traits_of(Mode::mode).needs != NormalizeNeeds::extremes;
    const core::Line<T>* lines;  ///< one per color, in shared memory

    __device__ Channel channel(int c) const { return lines[c]; }
    __device__ std::uint32_t operator()(const Channel& line, std::uint32_t value) const {
        return static_cast<std::uint32_t>(line(may_lie_outside ? line.clamp(value) : value) >>
                                          (core::Line<T>::digits - 8 * byte));
    }
    static __device__ std::uint32_t same(std::uint32_t value) { return value << 8 * byte; }
};

/// Writer of mapped pixels (of three colors: samples_of), a visitor.
template <typename T, int C, typename O, class Map>
struct MappedWriter {
    static constexpr int W = written_channels<C>;
    using Channel = typename Map::Channel;
    Map map;
    Output output;

    __device__ std::uint32_t map_sample(const Group<T, W>& g, int i, const Channel (&at)[3]) const {
        if (C == 4 && i % 4 == 3) return Map::same(alpha(static_cast<T>(g[i])));
        return map(at[C == 1 ? 0 : C == 3 ? i % 3 : i % 4], g[i]);
    }
    __device__ O* target(std::int64_t y, std::int64_t x) const {
        return reinterpret_cast<O*>(static_cast<char*>(output.data) + y * output.row_bytes) + x * W;
    }
    __device__ void accumulate(std::int64_t y, std::int64_t x, const Group<T, W>& g) const {
        constexpr int per_word = 4 / sizeof(O), words = Group<T, W>::samples / per_word, byte = Map::byte,
                      together = words < 4 ? words : 4;  // words that are stored at once
        static_assert(words % together == 0 && (together == 4 || together == 2));
        const int phase = C == 3 ? channel_of_sample(x) : 0;
        Channel at[3];
#pragma unroll
        for (int c = 0; c < colors_of(C); ++c) at[c] = map.channel(phase + c < 3 ? phase + c : phase + c - 3);
        O* const to = target(y, x);
        const bool aligned = reinterpret_cast<std::uintptr_t>(to) % (4 * together) == 0;
#pragma unroll
        for (int w = 0; w < words; w += together) {
            std::uint32_t word[together];
#pragma unroll
            for (int k = 0; k < together; ++k) {
                const int i = (w + k) * per_word;
                word[k] = map_sample(g, i, at);
                if constexpr (per_word == 2)
                    word[k] = __byte_perm(word[k], map_sample(g, i + 1, at), 0x5410 + 0x1111 * byte);
                if constexpr (per_word == 4) {
                    const std::uint32_t low = __byte_perm(word[k], map_sample(g, i + 1, at), 0x0040 + 0x0011 * byte);
                    const std::uint32_t high =
                        __byte_perm(map_sample(g, i + 2, at), map_sample(g, i + 3, at), 0x0040 + 0x0011 * byte);
                    word[k] = __byte_perm(low, high, 0x5410);
                }
            }
            if (aligned) {
                if constexpr (together == 4)
                    reinterpret_cast<uint4*>(to)[w / 4] = make_uint4(word[0], word[1], word[2], word[3]);
                else
                    reinterpret_cast<uint2*>(to)[w / 2] = make_uint2(word[0], word[1]);
            } else {
#pragma unroll
                for (int i = 0; i < together * per_word; ++i)
                    to[w * per_word + i] = value_of(word[i / per_word] >> i % per_word * 8 * sizeof(O));
            }
        }
    }
    __device__ void accumulate(std::int64_t y, std::int64_t x, const T (&samples)[W]) const {
#pragma unroll
        for (int c = 0; c < W; ++c)
            target(y, x)[c] =
                C == 4 && c == 3
                    ? alpha(samples[c])
                    : value_of(map(map.channel(C == 3 ? channel_of_sample(x) : c), samples[c]) >> 8 * Map::byte);
    }

  private:
    /// Alpha is left alone, at its fraction of the range.
    static __device__ O alpha(T value) {
        if constexpr (sizeof(O) < sizeof(T))
            return core::to_depth<O>(value);
        else
            return static_cast<O>(value);
    }
    static __device__ O value_of(std::uint32_t bits) {
        if constexpr (std::is_same_v<O, float>)
            return __uint_as_float(bits);
        else
            return static_cast<O>(bits);
    }
};

/// Writes the mapped copy of a partition of an image's units_of_samples; `resident`: the resident part, or
/// NoResidentImage.
template <typename T, int C, typename O, class Map, class OfImage = NoResidentImage>
__device__ __noinline__ void write_mapped(Image image, WorkPartition partition, MappedWriter<T, C, O, Map> writer,
                                          OfImage resident = {}) {
    constexpr int W = written_channels<C>, unroll = sizeof(T) == 1 || W == 1 ? 2 : 1;
    image = samples_of<C>(image);
    if constexpr (is_resident<OfImage>)
        if (!resident.empty()) {
            resident.template sweep<W, unroll>(writer);
            resident.template sweep_behind<W>(image, partition, Loads<unroll>{}, writer);
            __syncwarp();  // a barrier may follow the call
            return;
        }
    if (in_one_row<T, W>(image))
        sweep_one_row<T, W>(image, partition, Loads<unroll>{}, writer);
    else
        sweep_rows<T, W>(image, partition, Loads<unroll>{}, writer);
    __syncwarp();  // a barrier may follow the call
}

}  // namespace gpuhist::cuda
