// Normalised copies of 8- and 16-bit images: tables from counts, and their application.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/integers.hpp"
#include "core/tables.hpp"
#include "cuda/brightness.cuh"
#include "cuda/parameters.hpp"
#include "cuda/reduce.cuh"
#include "cuda/shared.cuh"
#include "cuda/sweep.cuh"

namespace gpuhist::cuda {

/// One table for all colours, or one for each.
__device__ inline int tables_of(int channels, const Normalization& normalization) {
    return channels == 1 || normalization.joint ? 1 : 3;
}

/// How a table's values follow from what is known of a colour channel, or of all together.
struct TableRecipe {
    NormalizeMode mode;
    std::uint32_t low, high, top;  ///< extremes or percentiles; the largest value of all
    std::uint64_t skipped;         ///< equalisation: samples of the lowest value
    float scale;                   ///< likewise
    core::MeanStd mean_std;        ///< z-score

    /// By one thread, for all but percentiles, which replace `low` and `high`. `total`: of all samples.
    __device__ void set(NormalizeMode of, std::uint32_t lowest, std::uint32_t highest, std::uint32_t largest,
                        std::uint64_t total, std::uint64_t lowest_samples, std::uint64_t sum, core::u128 squares) {
        mode = of;
        low = lowest;
        high = highest;
        top = largest;
        skipped = lowest_samples;
        scale = low == high ? 0 : core::equalize_scale(total, skipped, top);
        if (mode == NormalizeMode::zscore) mean_std = core::mean_std(total, sum, squares);
    }
    /// `through`: samples up to this value, for an equalisation.
    template <typename O>
    __device__ O value(std::uint32_t v, std::uint64_t through) const {
        if (mode == NormalizeMode::zscore) return static_cast<O>(core::zscore(v, mean_std.mean, mean_std.std));
        if (low == high) return static_cast<O>(v);
        if (mode == NormalizeMode::equalize)
            return static_cast<O>(core::equalize(through > skipped ? through - skipped : 0, scale, top));
        return static_cast<O>(core::stretch(v, low, high, top));
    }
};

/// The table of one colour channel (or of all) from `count(value)`, by one block; all its threads must call it, and
/// wait at a barrier before they use the table. O is the output's type.
/// Each warp looks after a stretch of values, whose counts its lanes read side by side: once for totals and extremes,
/// once more, for the modes that need them, as running sums.
template <int values, typename Count, typename O>
__device__ void build_table(Count count, const Normalization& normalization, O* table) {
    __shared__ std::uint64_t scratch[warp_lanes];
    __shared__ TableRecipe recipe;

    const NormalizeMode mode = normalization.mode;
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
    const int each = (values + warps - 1) / warps;
    const int first = min(warp * each, values), last = min(first + each, values);

    std::uint64_t own = 0, sum = 0, squares_low = 0, squares_high = 0;
    std::uint32_t complement_minimum = 0, maximum = 0;
#pragma unroll 4
    for (int v = first + lane; v < last; v += warp_lanes) {
        const std::uint64_t n = count(v);
        own += n;
        if (n == 0) continue;
        complement_minimum = max(complement_minimum, ~static_cast<std::uint32_t>(v));
        maximum = max(maximum, static_cast<std::uint32_t>(v));
        sum += n * v;
        const core::u128 squares = static_cast<core::u128>(n) * (static_cast<std::uint64_t>(v) * v);
        squares_low += static_cast<std::uint32_t>(squares);
        squares_high += static_cast<std::uint64_t>(squares >> 32);
    }
    std::uint64_t total = 0;
    const std::uint64_t before = scan_warps(reduce_warp(own, Sum{}), scratch, total);
    complement_minimum = reduce_block(std::uint64_t{complement_minimum}, scratch, std::uint64_t{0}, Max{});
    maximum = reduce_block(std::uint64_t{maximum}, scratch, std::uint64_t{0}, Max{});
    if (mode == NormalizeMode::zscore) {
        sum = reduce_block(sum, scratch, std::uint64_t{0}, Sum{});
        squares_low = reduce_block(squares_low, scratch, std::uint64_t{0}, Sum{});
        squares_high = reduce_block(squares_high, scratch, std::uint64_t{0}, Sum{});
    }
    if (threadIdx.x == 0)
        recipe.set(mode, ~complement_minimum, maximum, values - 1, total,
                   mode == NormalizeMode::equalize ? count(~complement_minimum) : 0, sum,
                   static_cast<core::u128>(squares_low) + (static_cast<core::u128>(squares_high) << 32));
    __syncthreads();  // the recipe, for all
    /// Calls `each(value, samples before it, its samples)`.
    auto running = [&](auto visit) {
        std::uint64_t cumulative = before;
        for (int base = first; base < last; base += warp_lanes) {
            const int v = base + lane;
            const std::uint64_t n = v < last ? count(v) : 0;
            const std::uint64_t inclusive = scan_lanes(n);
            if (v < last) visit(v, cumulative + inclusive - n, n);
            cumulative += __shfl_sync(0xFFFFFFFFu, inclusive, warp_lanes - 1);
        }
    };

    if (mode == NormalizeMode::equalize) {
        running([&](int v, std::uint64_t before_it, std::uint64_t n) { table[v] = recipe.value<O>(v, before_it + n); });
    } else {
        if (mode == NormalizeMode::percentile) {
            const std::uint64_t low_rank = core::nearest_rank(normalization.low, total),
                                high_rank = core::nearest_rank(normalization.high, total);
            running([&](int v, std::uint64_t before_it, std::uint64_t n) {
                if (before_it < low_rank && low_rank <= before_it + n) recipe.low = v;
                if (before_it < high_rank && high_rank <= before_it + n) recipe.high = v;
            });
            __syncthreads();  // the percentiles, for all
        }
        for (int v = threadIdx.x; v < values; v += blockDim.x) table[v] = recipe.value<O>(v, 0);
    }
    __syncthreads();  // the shared values may be written again
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

/// Writes pixels (of three colours: samples_of) through tables of `1 << 8 * sizeof(T)` values, in shared or in device
/// memory: one for all colours, or one each.
template <typename T, int C, typename O, bool Shared>
struct TableWriter {
    static constexpr int W = written_channels<C>;
    const O* table;
    std::uint32_t address;  ///< of the tables in shared memory
    int table_stride;       ///< values from one channel's table to the next
    Output output;

    __device__ TableWriter(const O* tables, bool separate, const Output& to)
        : table(tables),
          address(Shared ? shared_address(tables) : 0),
          table_stride(C > 1 && separate ? 1 << 8 * sizeof(T) : 0),
          output(to) {}

    /// The bits of the written value. `table_at`: where its channel's table begins.
    __device__ std::uint32_t map(std::uint32_t table_at, std::uint32_t value) const {
        if constexpr (Shared)
            return shared_load(address + (table_at + value) * sizeof(O), O{});
        else
            return bits_of(__ldg(table + table_at + value));
    }
    __device__ std::uint32_t map_sample(const Group<T, W>& g, int i, const std::uint32_t (&at)[3]) const {
        if (C == 4 && i % 4 == 3) return bits_of(static_cast<O>(g.bits(i)));  // alpha is left alone
        return map(C == 1 ? 0 : at[C == 3 ? i % 3 : i % 4], g.bits(i));
    }
    __device__ O* target(std::int64_t y, std::int64_t x) const {
        return reinterpret_cast<O*>(static_cast<char*>(output.data) + y * output.row_bytes) + x * W;
    }
    __device__ void group(std::int64_t y, std::int64_t x, const Group<T, W>& g) const {
        constexpr int per_word = 4 / sizeof(O), words = Group<T, W>::samples / per_word;
        const std::uint32_t stride = table_stride, phase = C == 3 ? channel_of_sample(x) : 0;
        const std::uint32_t at[3] = {phase * stride, (phase + 1) % 3 * stride, (phase + 2) % 3 * stride};
        O* to = target(y, x);
        const bool aligned = reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
#pragma unroll
        for (int w = 0; w < words; w += 4) {
            std::uint32_t word[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int i = (w + k) * per_word;
                word[k] = map_sample(g, i, at);
                if constexpr (per_word == 2) word[k] = __byte_perm(word[k], map_sample(g, i + 1, at), 0x5410);
                if constexpr (per_word == 4) {
                    const std::uint32_t low = __byte_perm(word[k], map_sample(g, i + 1, at), 0x0040);
                    const std::uint32_t high = __byte_perm(map_sample(g, i + 2, at), map_sample(g, i + 3, at), 0x0040);
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
    __device__ void pixel(std::int64_t y, std::int64_t x, const T (&samples)[W]) const {
#pragma unroll
        for (int c = 0; c < W; ++c) {
            const std::uint32_t channel = C == 3 ? channel_of_sample(x) : c;
            target(y, x)[c] =
                C == 4 && c == 3 ? static_cast<O>(samples[c]) : value_of(map(channel * table_stride, samples[c]));
        }
    }

  private:
    static __device__ std::uint32_t bits_of(O value) {
        if constexpr (std::is_same_v<O, float>)
            return __float_as_uint(value);
        else
            return value;
    }
    static __device__ O value_of(std::uint32_t bits) {
        if constexpr (std::is_same_v<O, float>)
            return __uint_as_float(bits);
        else
            return static_cast<O>(bits);
    }
};

}  // namespace gpuhist::cuda
