// Normalised copies of 8- and 16-bit images: tables from counts, and their application.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/integers.hpp"
#include "cuda/block/reduce.cuh"
#include "cuda/block/shared_memory.cuh"
#include "cuda/histogram/brightness.cuh"
#include "cuda/host/parameters.hpp"
#include "cuda/pixels/resident.cuh"
#include "cuda/pixels/sweep.cuh"
#include "normalize/modes.hpp"

namespace gpuhist::cuda {

/// One table for all colours, or one for each.
__device__ inline int tables_of(int channels, const Normalization& normalization) {
    return normalization.joint ? 1 : colors_of(channels);
}

/// Modes whose tables are a core::Line.
constexpr bool is_stretch(NormalizeMode mode) {
    return mode == NormalizeMode::minmax || mode == NormalizeMode::percentile;
}

/// How a table's values follow from what is known of a colour channel, or of all together.
template <typename T>
struct TableRecipe {
    NormalizeMode mode;
    core::Line<T> line;      ///< of a stretch
    core::MeanStd mean_std;  ///< z-score
    bool keep;               ///< equalisation: samples stay as they are
    std::uint64_t skipped;   ///< likewise: samples of the lowest value
    float scale;             ///< likewise

    static constexpr std::uint32_t top = (1u << 8 * sizeof(T)) - 1;

    /// `low`, `high`: extremes, or percentiles; `total`: of all samples.
    __device__ void set(NormalizeMode of, std::uint32_t low, std::uint32_t high, std::uint64_t total,
                        std::uint64_t lowest_samples, std::uint64_t sum, core::u128 squares) {
        mode = of;
        if (mode == NormalizeMode::zscore) {
            mean_std = core::mean_std(total, sum, squares);
        } else if (mode == NormalizeMode::equalize) {
            keep = low == high;
            skipped = lowest_samples;
            scale = keep ? 0 : core::equalize_scale(total, skipped, top);
        } else {
            line = core::Line<T>::between(low, high);
        }
    }
    /// `through`: samples up to this value, for an equalisation.
    template <typename O>
    __device__ O value(std::uint32_t v, std::uint64_t through) const {
        if (mode == NormalizeMode::zscore) return static_cast<O>(core::zscore(v, mean_std.mean, mean_std.std));
        if (mode != NormalizeMode::equalize) return static_cast<O>(line.map(v));
        if (keep) return static_cast<O>(v);
        return static_cast<O>(core::equalize(through > skipped ? through - skipped : 0, scale, top));
    }
};

/// Of table t, which is `line` if its mode is a stretch: one a colour. By one thread.
template <int C, typename T>
__device__ inline void set_lines(const Normalization& normalization, int t, const core::Line<T>& line,
                                 core::Line<T>* lines) {
    if (!is_stretch(normalization.mode)) return;
    for (int c = t; c < (C > 1 && normalization.joint ? 3 : t + 1); ++c) lines[c] = line;
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

/// Samples of three colours as so many of one, since a group of theirs is 48 bytes: threads that wrote those would each
/// write parts of sectors. The channel then follows from the place.
template <int C>
__device__ inline Image samples_of(Image image) {
    if (C == 3) image.width *= 3;
    return image;
}
template <int C>
constexpr int written_channels = C == 3 ? 1 : C;
/// The channel of sample x of samples_of three colours. 2^32 is one more than a multiple of 3.
__device__ inline std::uint32_t channel_of_sample(std::int64_t x) {
    return (static_cast<std::uint32_t>(x) % 3 + static_cast<std::uint32_t>(x >> 32)) % 3;
}
template <typename T, int C>
__device__ inline std::int64_t pieces_of_samples(const Image& image) {
    return pieces_in_row(samples_of<C>(image).width, Group<T, written_channels<C>>::pixels) * image.height;
}

/// Maps samples through tables of `1 << 8 * sizeof(T)` values, in shared or in device memory: one for all colours, or
/// one each.
template <typename T, typename O, bool Shared>
struct TableMap {
    using Channel = std::uint32_t;  ///< where its table begins
    static constexpr int byte = 0;  ///< of what a sample is mapped to, where the written value begins
    const O* table;
    std::uint32_t address;  ///< of the tables in shared memory
    int stride;             ///< values from one channel's table to the next

    __device__ TableMap(const O* tables, bool separate)
        : table(tables), address(Shared ? shared_address(tables) : 0), stride(separate ? 1 << 8 * sizeof(T) : 0) {}
    __device__ Channel channel(int c) const { return c * stride; }
    __device__ std::uint32_t operator()(Channel table_at, std::uint32_t value) const {
        if constexpr (Shared)
            return shared_load(address + (table_at + value) * sizeof(O), O{});
        else
            return same(__ldg(table + table_at + value));
    }
    static __device__ std::uint32_t same(O value) {
        if constexpr (std::is_same_v<O, float>)
            return __float_as_uint(value);
        else
            return value;
    }
};

/// Maps samples by lines. `clamped`: some may lie outside.
template <typename T, bool clamped>
struct LineMap {
    using Channel = core::Line<T>;
    static constexpr int byte = 4 - sizeof(T);
    const core::Line<T>* lines;  ///< one a colour, in shared memory

    __device__ Channel channel(int c) const { return lines[c]; }
    __device__ std::uint32_t operator()(const Channel& line, std::uint32_t value) const {
        return static_cast<std::uint32_t>(line(clamped ? line.clamp(value) : value) >>
                                          (core::Line<T>::digits - 8 * byte));
    }
    static __device__ std::uint32_t same(std::uint32_t value) { return value << 8 * byte; }
};

/// Writes mapped pixels (of three colours: samples_of).
template <typename T, int C, typename O, class Map>
struct MappedWriter {
    static constexpr int W = written_channels<C>;
    using Channel = typename Map::Channel;
    Map map;
    Output output;

    __device__ std::uint32_t map_sample(const Group<T, W>& g, int i, const Channel (&at)[3]) const {
        if (C == 4 && i % 4 == 3) return Map::same(static_cast<O>(g.bits(i)));  // alpha is left alone
        return map(at[C == 1 ? 0 : C == 3 ? i % 3 : i % 4], g.bits(i));
    }
    __device__ O* target(std::int64_t y, std::int64_t x) const {
        return reinterpret_cast<O*>(static_cast<char*>(output.data) + y * output.row_bytes) + x * W;
    }
    __device__ void look_at(std::int64_t y, std::int64_t x, const Group<T, W>& g) const {
        constexpr int per_word = 4 / sizeof(O), words = Group<T, W>::samples / per_word, byte = Map::byte;
        const int phase = C == 3 ? channel_of_sample(x) : 0;
        Channel at[3];
#pragma unroll
        for (int c = 0; c < colors_of(C); ++c) at[c] = map.channel(phase + c < 3 ? phase + c : phase + c - 3);
        O* to = target(y, x);
        const bool aligned = reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
#pragma unroll
        for (int w = 0; w < words; w += 4) {
            std::uint32_t word[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
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
                reinterpret_cast<uint4*>(to)[w / 4] = make_uint4(word[0], word[1], word[2], word[3]);
            } else {
#pragma unroll
                for (int i = 0; i < 4 * per_word; ++i)
                    to[w * per_word + i] = value_of(word[i / per_word] >> i % per_word * 8 * sizeof(O));
            }
        }
    }
    __device__ void look_at(std::int64_t y, std::int64_t x, const T (&samples)[W]) const {
#pragma unroll
        for (int c = 0; c < W; ++c)
            target(y, x)[c] =
                C == 4 && c == 3
                    ? static_cast<O>(samples[c])
                    : value_of(map(map.channel(C == 3 ? channel_of_sample(x) : c), samples[c]) >> 8 * Map::byte);
    }

  private:
    static __device__ O value_of(std::uint32_t bits) {
        if constexpr (std::is_same_v<O, float>)
            return __uint_as_float(bits);
        else
            return static_cast<O>(bits);
    }
};

/// The mapped copy of a share of an image's pieces_of_samples. `Backwards`: see Share. `tile`: what is in shared memory
/// of the image, where it is a Tile.
template <bool Backwards, typename T, int C, typename O, class Map, class OfImage = NoTile>
__device__ __noinline__ void write_mapped(Image image, Share share, MappedWriter<T, C, O, Map> writer,
                                          OfImage tile = {}) {
    constexpr int W = written_channels<C>, unroll = sizeof(T) == 1 || W == 1 ? 2 : 1;
    image = samples_of<C>(image);
    share.backwards = Backwards;
    if constexpr (is_kept<OfImage>) {
        if (!tile.empty()) {
            tile.template sweep<W, unroll>(writer);
            tile.template sweep_behind<W>(image, share, Loads<unroll>{}, writer);
            __syncwarp();  // what follows a call may be a barrier
            return;
        }
    }
    if (in_one_row<T, W>(image)) {
        sweep_one_row<T, W>(image, share, Loads<unroll>{}, writer);
    } else {
        sweep_rows<T, W>(image, share, Loads<unroll>{}, writer);
    }
    __syncwarp();  // what follows a call may be a barrier
}

}  // namespace gpuhist::cuda
