// Normalised copies of 8- and 16-bit images: tables from counts, and their application.
#pragma once

#include <cstdint>

#include "core/integers.hpp"
#include "core/tables.hpp"
#include "cuda/parameters.hpp"
#include "cuda/reduce.cuh"
#include "cuda/sweep.cuh"

namespace gpuhist::cuda {

__device__ inline core::u128 sum_block(core::u128 value, std::uint64_t* scratch) {
    const std::uint64_t mask = 0xFFFFFFFFu;
    const core::u128 low = reduce_block(static_cast<std::uint64_t>(value) & mask, scratch, std::uint64_t{0}, Sum{});
    const core::u128 middle = reduce_block(static_cast<std::uint64_t>(value) >> 32, scratch, std::uint64_t{0}, Sum{});
    const core::u128 high = reduce_block(static_cast<std::uint64_t>(value >> 64), scratch, std::uint64_t{0}, Sum{});
    return low + (middle << 32) + (high << 64);
}

/// The table of one colour channel, by one block; all its threads must call it. T is the input's type, O the output's.
template <typename T, int C, typename O>
__device__ void build_table(const Word* counts, const Normalization& normalization, int channel, O* table) {
    constexpr int values = 1 << 8 * sizeof(T);
    constexpr std::uint32_t top = values - 1;
    __shared__ std::uint64_t scratch[warp_lanes];
    __shared__ std::uint64_t shared_low, shared_high;
    __shared__ core::MeanStd shared_mean_std;

    const NormalizeMode mode = normalization.mode;
    const bool pooled = C > 1 && normalization.joint && mode != NormalizeMode::equalize;
    const Word* row = counts + values * (C == 1 ? 0 : normalization.joint ? luma_row : channel);
    auto count = [&](int v) -> std::uint64_t {
        return pooled ? counts[v] + counts[values + v] + counts[2 * values + v] : row[v];
    };

    // Each thread looks after a run of values.
    const int each = (values + blockDim.x - 1) / blockDim.x;
    const int first = min(static_cast<int>(threadIdx.x) * each, values), last = min(first + each, values);
    std::uint64_t own = 0, total = 0;
    std::uint32_t complement_minimum = 0, maximum = 0;
    core::u128 sum = 0, squares = 0;
    for (int v = first; v < last; ++v) {
        const std::uint64_t n = count(v);
        if (n == 0) continue;
        own += n;
        complement_minimum = max(complement_minimum, ~static_cast<std::uint32_t>(v));
        maximum = max(maximum, static_cast<std::uint32_t>(v));
        sum += static_cast<core::u128>(n) * v;
        squares += static_cast<core::u128>(n) * (static_cast<std::uint64_t>(v) * v);
    }
    const std::uint64_t before = exclusive_scan(own, scratch, total);
    complement_minimum = reduce_block(std::uint64_t{complement_minimum}, scratch, std::uint64_t{0}, Max{});
    maximum = reduce_block(std::uint64_t{maximum}, scratch, std::uint64_t{0}, Max{});
    if (threadIdx.x == 0) {
        shared_low = ~complement_minimum;
        shared_high = maximum;
    }
    __syncthreads();  // the extremes, for all
    const std::uint32_t lowest = static_cast<std::uint32_t>(shared_low),
                        highest = static_cast<std::uint32_t>(shared_high);
    const bool constant = lowest == highest;

    if (mode == NormalizeMode::equalize) {
        const std::uint64_t skipped = count(lowest);
        const float scale = core::equalize_scale(total, constant ? 0 : skipped, top);
        std::uint64_t cumulative = before;
        for (int v = first; v < last; ++v) {
            cumulative += count(v);
            const std::uint64_t after = cumulative > skipped ? cumulative - skipped : 0;
            table[v] = static_cast<O>(constant ? v : core::equalize(after, scale, top));
        }
    } else if (mode == NormalizeMode::zscore) {
        const core::u128 all = sum_block(sum, scratch), all_squares = sum_block(squares, scratch);
        if (threadIdx.x == 0) shared_mean_std = core::mean_std(total, all, all_squares);
        __syncthreads();  // mean and std, for all
        for (int v = first; v < last; ++v)
            table[v] = static_cast<O>(core::zscore(v, shared_mean_std.mean, shared_mean_std.std));
    } else {
        std::uint32_t lo = lowest, hi = highest;
        if (mode == NormalizeMode::percentile) {
            const std::uint64_t low_rank = core::nearest_rank(normalization.low, total),
                                high_rank = core::nearest_rank(normalization.high, total);
            std::uint64_t cumulative = before;
            __syncthreads();  // all have read the extremes
            for (int v = first; v < last; ++v) {
                const std::uint64_t next = cumulative + count(v);
                if (cumulative < low_rank && low_rank <= next) shared_low = v;
                if (cumulative < high_rank && high_rank <= next) shared_high = v;
                cumulative = next;
            }
            __syncthreads();  // the percentiles, for all
            lo = static_cast<std::uint32_t>(shared_low);
            hi = static_cast<std::uint32_t>(shared_high);
        }
        for (int v = first; v < last; ++v) table[v] = static_cast<O>(lo == hi ? v : core::stretch(v, lo, hi, top));
    }
    __syncthreads();  // the shared values may be written again
}

/// All tables, dealt to the blocks of the grid.
template <typename T, int C, typename O>
__device__ void build_tables(const Word* counts, const Copy& copy) {
    const int tables = C == 1 || copy.normalization.joint ? 1 : 3;
    for (int t = blockIdx.x; t < tables; t += gridDim.x)
        build_table<T, C, O>(counts, copy.normalization, t, static_cast<O*>(copy.table) + (t << 8 * sizeof(T)));
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

template <typename T, int C, typename O>
struct TableWriter {
    const O* table;
    int table_stride;  ///< values from one channel's table to the next; 0: one for all
    char* output;
    std::int64_t row_bytes;

    __device__ O map(int channel, T value) const {
        return channel == 3 ? static_cast<O>(value) : table[channel * table_stride + value];  // alpha is left alone
    }
    __device__ O* target(std::int64_t y, std::int64_t x) const {
        return reinterpret_cast<O*>(output + y * row_bytes) + x * C;
    }
    __device__ void group(std::int64_t y, std::int64_t x, const T (&samples)[Group<T, C>::samples]) const {
        O mapped[Group<T, C>::samples];
#pragma unroll
        for (int i = 0; i < Group<T, C>::samples; ++i) mapped[i] = map(i % C, samples[i]);
        store_samples(target(y, x), mapped);
    }
    __device__ void pixel(std::int64_t y, std::int64_t x, const T (&samples)[C]) const {
#pragma unroll
        for (int c = 0; c < C; ++c) target(y, x)[c] = map(c, samples[c]);
    }
};

/// Writes the normalised image through the tables. 8-bit tables are first copied into the block's shared memory (1 KiB
/// a channel at most); 16-bit ones are read through the caches. Bytes: each pixel read and written once.
template <typename T, int C, typename O>
__device__ void apply_tables(const Image& image, const Copy& copy, std::uint32_t* shared) {
    constexpr int values = 1 << 8 * sizeof(T);
    const bool one = C == 1 || copy.normalization.joint;
    const O* table = static_cast<const O*>(copy.table);
    if constexpr (sizeof(T) == 1) {
        O* near = reinterpret_cast<O*>(shared);
        for (int i = threadIdx.x; i < (one ? values : 3 * values); i += blockDim.x) near[i] = table[i];
        __syncthreads();
        table = near;
    }
    TableWriter<T, C, O> writer{table, one ? 0 : values, static_cast<char*>(copy.output), copy.row_bytes};
    sweep<T, C, C == 3 ? 1 : 2>(image, static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                                static_cast<std::int64_t>(gridDim.x) * blockDim.x, writer);
}

}  // namespace gpuhist::cuda
