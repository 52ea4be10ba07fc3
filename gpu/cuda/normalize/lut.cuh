// Normalised copies of 8- and 16-bit images: LUTs and lines applied to pixels.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/integers.hpp"
#include "cuda/block/shared_memory.cuh"
#include "cuda/host/parameters.hpp"
#include "cuda/normalize/build_lut.cuh"
#include "cuda/pixels/resident.cuh"
#include "cuda/pixels/sweep.cuh"
#include "normalize/modes.hpp"

namespace gpuhist::cuda {

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

/// Image of three colours as one of samples, since a group of theirs is 48 bytes: threads that wrote those would each
/// write parts of sectors. The channel then follows from the place.
template <int C>
__device__ inline Image samples_of(Image image) {
    if (C == 3) image.width *= 3;
    return image;
}
template <int C>
constexpr int written_channels = C == 3 ? 1 : C;
/// Channel of sample x of samples_of three colours. 2^32 is one more than a multiple of 3.
__device__ inline std::uint32_t channel_of_sample(std::int64_t x) {
    return (static_cast<std::uint32_t>(x) % 3 + static_cast<std::uint32_t>(x >> 32)) % 3;
}
template <typename T, int C>
__device__ inline std::int64_t pieces_of_samples(const Image& image) {
    return pieces_in_row(samples_of<C>(image).width, Group<T, written_channels<C>>::pixels) * image.height;
}

/// Map of samples through LUTs of `1 << 8 * sizeof(T)` values, in shared or in device memory: one for all colours, or
/// one each.
template <typename T, typename O, bool Shared>
struct LutMap {
    using Channel = std::uint32_t;  ///< where its table begins
    static constexpr int byte = 0;  ///< of what a sample is mapped to, where the written value begins
    const O* table;
    std::uint32_t address;  ///< of the tables in shared memory
    int stride;             ///< values from one channel's table to the next

    __device__ LutMap(const O* tables, bool separate)
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

/// Map of samples by lines, of a mode that is a stretch.
template <typename T, class Mode>
struct LineMap {
    using Channel = core::Line<T>;
    static constexpr int byte = 4 - sizeof(T);
    static constexpr bool may_lie_outside = traits_of(Mode::mode).needs != NormalizeNeeds::extremes;
    const core::Line<T>* lines;  ///< one a colour, in shared memory

    __device__ Channel channel(int c) const { return lines[c]; }
    __device__ std::uint32_t operator()(const Channel& line, std::uint32_t value) const {
        return static_cast<std::uint32_t>(line(may_lie_outside ? line.clamp(value) : value) >>
                                          (core::Line<T>::digits - 8 * byte));
    }
    static __device__ std::uint32_t same(std::uint32_t value) { return value << 8 * byte; }
};

/// Visitor that writes mapped pixels (of three colours: samples_of).
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

/// Writes the mapped copy of a share of an image's pieces_of_samples. `tile`: what is in shared memory of the image,
/// where it is a Tile.
template <typename T, int C, typename O, class Map, class OfImage = NoTile>
__device__ __noinline__ void write_mapped(Image image, Share share, MappedWriter<T, C, O, Map> writer,
                                          OfImage tile = {}) {
    constexpr int W = written_channels<C>, unroll = sizeof(T) == 1 || W == 1 ? 2 : 1;
    image = samples_of<C>(image);
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
