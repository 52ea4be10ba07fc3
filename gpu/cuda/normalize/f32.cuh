// The normalised copy of an f32 image, and the counts and tables of its equalisation.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/bins.hpp"
#include "cuda/float/counters.cuh"
#include "cuda/float/first_sweep.cuh"
#include "cuda/float/state.cuh"
#include "cuda/normalize/lut.cuh"
#include "cuda/tuning.hpp"
#include "normalize/modes.hpp"

namespace gpuhist::cuda {
namespace {

/// One row's finite values counted into the bins of an equalisation.
template <int C>
struct EqualizeCounter {
    PlaceCounter<AddPlaces<false>> counters;
    EstimatedBins bins;
    int row;
    bool rgb;

    template <class Pixels>
    __device__ void look_at(const Pixels& pixels) {
        float value[pixels_of<C, Pixels>];
        row_values<C>(pixels, row, rgb, value);
#pragma unroll
        for (float v : value)
            if (is_finite(v)) counters.add_one(bins(v));
    }
};
template <int C, bool Full>
__device__ __noinline__ void count_equalized_row(const Task<C, Full>& task, int row, Share share) {
    __shared__ core::FloatBins bins;
    const Range& range = task.state().equalized;
    __syncthreads();  // shared memory may be written again
    if (threadIdx.x == 0)
        bins = core::FloatBins(fresh(range.lower), fresh(range.upper), core::equalize_float_bins, true);
    __syncthreads();  // the bins, for all
    EqualizeCounter<C> counter{{}, EstimatedBins(&bins), row, task.common().rgb};
    count_places(task, share, counter, AddPlaces<false>{task.high(row)});
    __syncthreads();
}

/// Rows whose tables an equalisation needs: [first, first + rows).
template <int C>
struct EqualizedRows {
    int first, rows;
    __device__ explicit EqualizedRows(const Normalization& normalization)
        : first(C > 1 && normalization.joint ? luma_row : 0), rows(tables_of(C, normalization)) {}
};

template <int C, bool Full>
__device__ void count_equalized(const Task<C, Full>& task) {
    const EqualizedRows<C> of(task.common().normalization);
    for_rows(task, of.rows, [&](int row, const Share& share) { count_equalized_row(task, of.first + row, share); });
}

/// One row's table from its counts, which are zero afterwards, by one block.
template <int C, bool Full>
__device__ __noinline__ void equalize_row(const Task<C, Full>& task, int row) {
    __shared__ std::uint64_t scratch[warp_lanes];
    __shared__ std::uint64_t first_count;
    const std::uint32_t lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes,
                        warps = blockDim.x / warp_lanes;
    // A stretch of bins a warp, each lane of which always has one.
    const std::uint32_t each = (65536 / warp_lanes + warps - 1) / warps * warp_lanes, begin = min(warp * each, 65536u),
                        end = min(begin + each, 65536u);
    Word* counts = task.high(row);
    float* table = task.table(row);
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
            if (row == c || row == luma_row) task.state().maps[c].keep = bins < 2;
    }
    __syncthreads();  // first_count, for all; and all have read the counts once
    const std::uint64_t skipped = first_count;
    const float scale = total > skipped ? core::equalize_scale(total, skipped, 1) : 0;
    std::uint64_t cumulative = before;
#pragma unroll 1
    for (std::uint32_t bin = begin + lane; bin < end; bin += warp_lanes) {
        const std::uint64_t through = cumulative + scan_lanes(fresh_word(counts + bin));
        table[bin] = core::equalize(through > skipped ? through - skipped : 0, scale);
        counts[bin] = 0;
        cumulative = __shfl_sync(0xFFFFFFFFu, through, warp_lanes - 1);
    }
    __syncthreads();  // first_count may be written again
}

template <int C, bool Full>
__device__ void equalize(const Task<C, Full>& task) {
    const EqualizedRows<C> of(task.common().normalization);
    for (int row = blockIdx.x; row < of.rows; row += gridDim.x) equalize_row(task, of.first + row);
}

/// A Mapping as it is applied. Aligned for one load of what `estimate` needs.
struct alignas(16) AppliedMapping {
    double low, inverse, divisor;
    bool keep, flat;  ///< samples stay as they are; become 0

    /// (value − low) / divisor by a product: as a float it is the same unless its digits beyond a float's lie so near
    /// the middle of two floats that what it is off by, under 8 of its last digit, may decide, or it is under 2^-120.
    /// There `sure` becomes false.
    __device__ float estimate(float value, bool& sure) const {
        constexpr std::uint32_t smallest = 0x38700000, middle = 0x10000000;  // the high word of 2^-120; of 29 digits
        const double product = (value - low) * inverse;
        const auto high = static_cast<std::uint32_t>(__double2hiint(product)),
                   beyond = static_cast<std::uint32_t>(__double2loint(product));
        // Without the sign and with 0 as the largest; without the three digits that a float has.
        sure = sure && high * 2 - 2 >= smallest * 2 - 2 && (beyond - (middle - 8)) * 8 > 16 * 8;
        return static_cast<float>(product);
    }
};

/// The formulas of core::stretch and core::zscore. Each mode has its own loop: together they would be too long for the
/// instruction cache.
template <int C, NormalizeMode mode>
struct FloatWriter {
    static constexpr int W = written_channels<C>;
    const AppliedMapping* maps;  ///< in shared memory, as the bins
    bool estimated;              ///< no channel is kept or flat
    EstimatedBins bins;
    const float* tables;  ///< of the first row equalised
    int table_stride;
    Output output;

    __device__ FloatWriter(const AppliedMapping* applied, const core::FloatBins* equalize_bins,
                           const float* equalize_tables, int stride, const Output& to)
        : maps(applied),
          estimated(true),
          bins(equalize_bins),
          tables(equalize_tables),
          table_stride(stride),
          output(to) {
        for (int c = 0; c < colors_of(C); ++c) estimated = estimated && !maps[c].keep && !maps[c].flat;
    }

    __device__ float equalized(int channel, float value) const {
        if (maps[channel].keep || value != value) return value;
        const std::uint32_t bin = bins(value);
        if (bin == core::FloatBins::below) return 0;
        if (bin == core::FloatBins::above) return 1;
        return __ldcg(tables + channel * table_stride + bin);
    }
    static __device__ float within(float value) {
        return mode == NormalizeMode::percentile ? core::clamp_unit(value) : value;
    }
    static __device__ __noinline__ float exactly(const AppliedMapping& map, float value) {
        if (map.keep || value != value) return value;
        return map.flat ? 0 : within(static_cast<float>((value - map.low) / map.divisor));
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
            const float value = sample_of<W>(pixels, i);
            if (is_alpha(i)) {
                mapped[i] = value;
            } else if constexpr (mode == NormalizeMode::equalize) {
                mapped[i] = equalized(channel(i), value);
            } else {  // of NaN too: a branch would be dearer
                const float estimate = within(maps[channel(i)].estimate(value, sure));
                mapped[i] = value != value ? value : estimate;
            }
        }
        if constexpr (mode != NormalizeMode::equalize) {
            if (sure) return;
#pragma unroll
            for (int i = 0; i < N; ++i)
                if (!is_alpha(i)) mapped[i] = exactly(maps[channel(i)], sample_of<W>(pixels, i));
        }
    }
    __device__ float* place(std::int64_t y, std::int64_t x) const {
        return reinterpret_cast<float*>(static_cast<char*>(output.data) + y * output.row_bytes) + x * W;
    }
    __device__ void look_at(std::int64_t y, std::int64_t x, const Group<float, W>& group) const {
        float mapped[Group<float, W>::samples];
        map(x, group, mapped);
        store_samples(place(y, x), mapped);
    }
    __device__ void look_at(std::int64_t y, std::int64_t x, const float (&samples)[W]) const {
        float mapped[W];
        map(x, samples, mapped);
#pragma unroll
        for (int c = 0; c < W; ++c) place(y, x)[c] = mapped[c];
    }
};

template <int C, NormalizeMode mode, class OfImage>
__device__ __noinline__ void apply_mode(const Image& image, const Share& share, const AppliedMapping* maps,
                                        const core::FloatBins* bins, const float* tables, int table_stride,
                                        const Output& output, OfImage tile) {
    FloatWriter<C, mode> writer(maps, bins, tables, table_stride, output);
    sweep_floats<written_channels<C>, apply_unroll_of(C)>(image, share, writer, tile);
}

template <int C, bool Full, class OfImage>
__device__ void apply(const Task<C, Full>& task, OfImage tile) {
    __shared__ AppliedMapping maps[3];
    __shared__ core::FloatBins bins;
    const FloatState& state = task.state();
    __syncthreads();  // shared memory may be written again
    if (threadIdx.x < colors_of(C)) {
        const Mapping& map = state.maps[threadIdx.x];
        const bool zscore = task.common().normalization.mode == NormalizeMode::zscore;
        const double low = fresh(map.low), high = fresh(map.high), divisor = zscore ? high : high - low;
        maps[threadIdx.x] = {low, 1 / divisor, divisor, *static_cast<const volatile bool*>(&map.keep),
                             zscore && !(divisor > 0)};
    }
    if (threadIdx.x == 0)
        bins = core::FloatBins(fresh(state.equalized.lower), fresh(state.equalized.upper), core::equalize_float_bins,
                               true);
    __syncthreads();  // maps and bins, for all
    const EqualizedRows<C> of(task.common().normalization);
    Share share = task.share_of_grid();
    share.last = pieces_of_samples<float, C>(task.image);
    auto with = [&](auto mode) {
        apply_mode<C, decltype(mode)::value>(samples_of<C>(task.image), share, maps, &bins, task.table(of.first),
                                             of.rows == 1 ? 0 : 65536, task.output, tile);
    };
    switch (task.common().normalization.mode) {
        case NormalizeMode::minmax:
            return with(std::integral_constant<NormalizeMode, NormalizeMode::minmax>{});
        case NormalizeMode::percentile:
            return with(std::integral_constant<NormalizeMode, NormalizeMode::percentile>{});
        case NormalizeMode::equalize:
            return with(std::integral_constant<NormalizeMode, NormalizeMode::equalize>{});
        case NormalizeMode::zscore:
            return with(std::integral_constant<NormalizeMode, NormalizeMode::zscore>{});
    }
}

}  // namespace
}  // namespace gpuhist::cuda
