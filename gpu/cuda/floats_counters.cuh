// What a block keeps while it looks at the samples of f32 images: moments, bins, and the counters of order statistics.
#pragma once

#include <cstdint>

#include "core/bins.hpp"
#include "core/float_analysis.hpp"
#include "core/luma.hpp"
#include "cuda/packed.cuh"
#include "cuda/parameters.hpp"
#include "cuda/reduce.cuh"
#include "cuda/shared.cuh"

namespace gpuhist::cuda {

// ---- Samples

/// The value of pixel p in a row of the results: a channel's, luma, or alpha.
template <int C, int S>
__device__ inline float row_value(const float (&samples)[S], int p, int row, bool rgb) {
    if constexpr (C == 1) {
        return samples[p];
    } else {
        const float first = samples[p * C], second = samples[p * C + 1], third = samples[p * C + 2];
        if (row == luma_row) return core::luma(rgb ? first : third, second, rgb ? third : first);
        if constexpr (C == 4)
            if (row == 4) return samples[p * C + 3];
        return row == 0 ? first : row == 1 ? second : third;
    }
}
/// Those of all pixels; `row` need not be a constant.
template <int C, int S>
__device__ inline void row_values(const float (&samples)[S], int row, bool rgb, float (&values)[S / C]) {
    if (C > 1 && row == luma_row) {
#pragma unroll
        for (int p = 0; p < S / C; ++p) values[p] = row_value<C>(samples, p, luma_row, rgb);
        return;
    }
#pragma unroll
    for (int p = 0; p < S / C; ++p)
        values[p] = C == 4 && row == 4 ? samples[p * C + C - 1]
                    : row == 0         ? samples[p * C]
                    : row == 1         ? samples[p * C + (C > 1)]
                                       : samples[p * C + (C > 1 ? 2 : 0)];
}

__device__ inline bool is_finite(float value) {
    return fabsf(value) < INFINITY;
}

/// Adds 1 in shared memory. Nothing is returned, so that equal addresses of a warp are one addition to the hardware.
template <int offset = 0>
__device__ inline void increment(std::uint32_t address) {
    asm volatile("red.shared.add.u32 [%0 + %1], 1;" ::"r"(address), "n"(offset));
}

// ---- Extremes, and what is not finite

/// Shared counters of one row's samples that are not finite.
struct OddCounts {
    std::uint32_t nan, positive_infinite, negative_infinite;

    __device__ static void count(OddCounts* counts, float value) {
        increment(shared_address(value != value ? &counts->nan
                                 : value > 0    ? &counts->positive_infinite
                                                : &counts->negative_infinite));
    }
};

/// A sum over samples of 0 · x: 0 where all are finite, NaN where one is not.
__device__ inline void notice(float value, float& all) {
    all = fmaf(value, 0.0f, all);
}

// ---- Moments

/// Sums over one row's samples of rint(u^k · 2^80), k = 1 to `powers`, with u = (x − pivot)/R: those that FloatMoments
/// defines. Four operations in double precision for each:
///
///   S' = S + t   q = S' − S   r = t − q   l = r + 1.5 · 2^-28      with t = u^k as the definition rounds it, |t| ≤ 1
///
/// S begins at 1.5 · 2^12 and stays within [2^12, 2^13) for 2047 samples, where doubles are 2^-40 apart. So S' is S + t
/// rounded to a whole number of 2^-40, and q, which is exact, is t rounded to one of the two such numbers next to it
/// (which, depends on S only where t lies halfway). r, at most 2^-41 in size, is exact too: it is a multiple of t's
/// last digit, which is at least 2^-94 unless q is 0. Between 2^-28 and 2^-27 doubles are 2^-80 apart: the bits of l
/// are those of 1.5 · 2^-28 plus rint(r · 2^80), ties to even. And q · 2^80 is a multiple of 2^40, thus even, so that
/// q · 2^80 + rint(r · 2^80) = rint((q + r) · 2^80) = rint(t · 2^80), whichever way q went. Neither the order of the
/// samples nor how they are dealt to threads shows.
///
/// u is one operation, fma(x, 1/R, −pivot/R): R is a power of two, so both products are exact and rounding their
/// difference is rounding x − pivot.
///
/// Limit: fewer than 2^22 samples a thread, for 64 bits.
template <int powers>
struct MomentSums {
    static constexpr double base = 0x1.8p12, low_base = 0x1.8p-28;
    static constexpr std::uint32_t fold_every = 1024;

    double sum[powers];         ///< S
    std::uint64_t low[powers];  ///< Σ of the bits of l
    std::int64_t high[powers];  ///< Σ q in units of 2^-40, of the samples before the last fold

    __device__ void clear() {
#pragma unroll
        for (int k = 0; k < powers; ++k) {
            sum[k] = base;
            low[k] = 0;
            high[k] = 0;
        }
    }
    __device__ static std::uint64_t split(double term, double& sum) {
        const double next = sum + term, taken = next - sum;
        sum = next;
        return static_cast<std::uint64_t>(__double_as_longlong((term - taken) + low_base));
    }
    template <int N>
    __device__ void add(const float (&values)[N], double unit, double offset) {
#pragma unroll
        for (int i = 0; i + 1 < N; i += 2) {
            const double u = fma(static_cast<double>(values[i]), unit, offset),
                         w = fma(static_cast<double>(values[i + 1]), unit, offset);
            double first = u, second = w;
#pragma unroll
            for (int k = 0; k < powers; ++k) {
                low[k] += split(first, sum[k]) + split(second, sum[k]);
                first *= u;
                second *= w;
            }
        }
        if constexpr (N % 2 == 1) {
            const double u = fma(static_cast<double>(values[N - 1]), unit, offset);
            double power = u;
#pragma unroll
            for (int k = 0; k < powers; ++k) {
                low[k] += split(power, sum[k]);
                power *= u;
            }
        }
    }
    __device__ void fold() {
#pragma unroll
        for (int k = 0; k < powers; ++k) {
            high[k] += __double_as_longlong(sum[k]) - __double_as_longlong(base);
            sum[k] = base;
        }
    }
    /// After a fold: the sum over this thread's `samples`.
    __device__ core::i128 total(int k, std::uint64_t samples) const {
        const std::uint64_t zero = samples * static_cast<std::uint64_t>(__double_as_longlong(low_base));
        return (static_cast<core::i128>(high[k]) << 40) + static_cast<std::int64_t>(low[k] - zero);
    }
};

/// How one row's samples become terms. Aligned for one load.
struct alignas(16) MomentScale {
    double unit, offset;  ///< 1/R, −pivot/R

    __device__ void set(double pivot, int exponent) {
        unit = ldexp(1.0, -exponent);
        offset = -pivot * unit;
    }
    /// From shared memory at every use: kept in registers, the rows' scales would crowd out the sums.
    __device__ static MomentScale load(std::uint32_t address) {
        MomentScale scale;
        asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(scale.unit), "=d"(scale.offset) : "r"(address));
        return scale;
    }
};

// ---- Bins

/// Counters of equal bins in shared memory for `rows` rows that are counted together, a copy for each lane, so that no
/// two lanes of a warp meet in a bank. Slot 0 counts what is below the range, slot i + 1 bin i, slot bins + 1 what is
/// above. A slot holds, for each lane, an edge and then a counter a row:
///
///   n = rint((v − lower) · scale), in float, is the number of the edge next to v; edge n, in slot n, is the smallest
///   float that is at or over the edge of bin n; v is counted in slot n + 1 where it is at or over that, else in slot
///   n.
///
/// That is core::FloatBins' bin as long as n is off by less than half a bin, see `quick`: seven instructions a sample.
template <int rows>
struct Slots {
    static constexpr int lane_bytes = warp_lanes * 4, bytes = (rows + 1) * lane_bytes;
    static constexpr float whole =
        0x1.8p23f;  ///< added to a float below 2^22 in size, leaves rint of that in its low bits
    static constexpr std::uint32_t whole_bits = 0x4B400000u;

    std::uint32_t base;
    float lower, scale, most;

    __host__ __device__ static std::size_t total_bytes(std::uint32_t bins) {
        return (std::size_t{bins} + 2) * static_cast<std::size_t>(bytes);
    }

    __device__ Slots(const std::uint32_t* memory, const core::FloatBins& bins)
        : base(shared_address(memory) + threadIdx.x % warp_lanes * 4 - whole_bits * bytes),
          lower(static_cast<float>(bins.lower)),
          scale(static_cast<float>(bins.scale)),
          most(whole + static_cast<float>(bins.bins)) {}

    /// `Clamped`: finite values may lie outside the range.
    template <int row, bool Clamped>
    __device__ void count(float value) const {
        float nearest = fmaf(value - lower, scale, whole);
        if constexpr (Clamped) nearest = fminf(fmaxf(nearest, whole), most);
        const std::uint32_t at = __float_as_uint(nearest) * bytes + base;
        float edge;
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(edge) : "r"(at));
        increment<(row + 1) * lane_bytes>(value >= edge ? at + bytes : at);
    }

    /// Whether n is off by less than a quarter of a bin, and the double edges by less than another. The difference and
    /// the scale are each 2^-24 off in proportion, the position at most `bins`; the range's lower end is rounded to
    /// float. Differences must not overflow, nor the scale become denormal.
    __device__ static bool quick(const core::FloatBins& bins) {
        const double rounded = static_cast<float>(bins.lower);
        const double off = fabs(bins.lower - rounded) * bins.scale + bins.bins * 0x1p-22;
        const double edges_off = (fabs(bins.lower) + fabs(bins.upper)) * 0x1p-50 * bins.scale;
        return off < 0.25 && edges_off < 0.25 && bins.scale >= 0x1p-120 && bins.scale <= 0x1p120 &&
               bins.upper - bins.lower < 0x1p126;
    }

    /// Edges, and counters of zero. By all threads.
    __device__ static void prepare(std::uint32_t* memory, const core::FloatBins& bins) {
        constexpr std::uint32_t quads = bytes / 16, lane_quads = lane_bytes / 16;
        const double width = (bins.upper - bins.lower) / bins.bins;
        auto* words = reinterpret_cast<uint4*>(memory);
        for (std::uint32_t i = threadIdx.x; i < (bins.bins + 2) * quads; i += blockDim.x) {
            const std::uint32_t slot = i / quads;
            std::uint32_t word = 0;
            if (i % quads < lane_quads) {
                // as core::bin_edge; nothing finite is over a closed upper end
                const double edge = slot < bins.bins    ? static_cast<double>(slot) * width + bins.lower
                                    : bins.upper_closed ? INFINITY
                                                        : bins.upper;
                word = __float_as_uint(__double2float_ru(edge));
            }
            words[i] = make_uint4(word, word, word, word);
        }
    }

    /// Calls `found(row, slot, count)` for what was counted. By all threads: four a counter, each for eight lanes.
    template <class Found>
    __device__ static void gather(const std::uint32_t* memory, std::uint32_t bins, Found found) {
        const std::uint32_t items = (bins + 2) * rows * 4, rounded = (items + warp_lanes - 1) / warp_lanes * warp_lanes;
        for (std::uint32_t i = threadIdx.x; i < rounded; i += blockDim.x) {
            const std::uint32_t counter = i / 4, slot = counter / rows, row = counter % rows;
            std::uint32_t sum = 0;
            if (i < items) {
                const auto* quads =
                    reinterpret_cast<const uint4*>(memory + (slot * (rows + 1) + row + 1) * warp_lanes) + i % 4 * 2;
                const uint4 a = quads[0], b = quads[1];
                sum = a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
            }
            sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 1);
            sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 2);
            if (i < items && i % 4 == 0 && sum != 0) found(static_cast<int>(row), slot, sum);
        }
    }
};

/// core::FloatBins for any range and number of bins: in single precision where that is certain to give the same bin.
struct EstimatedBins {
    const core::FloatBins* exact;  ///< in shared memory
    float lower, scale, margin, bins;

    __device__ explicit EstimatedBins(const core::FloatBins* in)
        : exact(in),
          lower(static_cast<float>(in->lower)),
          scale(static_cast<float>(in->scale)),
          // Three roundings of 2^-24 each, of a quotient up to `bins`, and that of the lower end; doubled.
          margin(static_cast<float>(in->bins * 0x1p-21 + 2 * fabs(in->lower - lower) * in->scale)),
          bins(static_cast<float>(in->bins)) {}

    __device__ std::uint32_t operator()(float value) const {
        const float quotient = (value - lower) * scale, bin = floorf(quotient), rest = quotient - bin;
        if (rest > margin && rest < 1 - margin && bin >= 0 && quotient < bins) return static_cast<std::uint32_t>(bin);
        return exact_bin(exact, value);
    }
    static __device__ __noinline__ std::uint32_t exact_bin(const core::FloatBins* exact, float value) {
        return (*exact)(value);
    }
};

// ---- Order statistics

/// The 65536 high halves of finite values' keys, in the order in which PackedCounters count them: both signs of a
/// magnitude share a word, and magnitudes that are close use different banks.
struct HalfPlace {
    __device__ static std::uint32_t of_value(float value) {
        const std::uint32_t bits = __float_as_uint(value + 0.0f);  // −0 counts as +0
        return (bits >> 15 & 0xFFFEu) | bits >> 31;
    }
    __device__ static std::uint32_t of_half(std::uint32_t half) {
        return half & 0x8000u ? (half & 0x7FFFu) << 1 : (0x7FFFu - half) << 1 | 1u;
    }
    /// The high halves of a pair of places.
    __device__ static std::uint32_t positive(std::uint32_t pair) { return pair | 0x8000u; }
    __device__ static std::uint32_t negative(std::uint32_t pair) { return 0x7FFFu - pair; }
};

/// Counts low halves under chosen high halves. Few values qualify in most images, and those are counted in device
/// memory. In an image of few different values nearly all qualify, always the same ones: so the first to come to each
/// place of a small table in shared memory are counted there.
struct LowCounter {
    static constexpr int places_log2 = 11, places = 1 << places_log2, map_words = 65536 / 32;
    static constexpr int words = map_words + 2 * places;  ///< of shared memory: a bit a high half, keys, counts

    /// The high halves chosen, in shared memory.
    struct Chosen {
        int count;
        std::uint32_t high[core::max_ranks];
    };

    std::uint32_t* map;  ///< by the upper 16 bits of a value
    const Chosen* chosen;
    Word* counts;  ///< slots × 65536

    __device__ std::uint32_t* keys() const { return map + map_words; }

    /// By all threads, at zero memory, before a barrier.
    __device__ void prepare() const {
        if (static_cast<int>(threadIdx.x) >= chosen->count) return;
        const std::uint32_t half = chosen->high[threadIdx.x];
        auto mark = [&](std::uint32_t upper) { atomicOr(&map[upper >> 5], 1u << (upper & 31u)); };
        mark(half & 0x8000u ? half & 0x7FFFu : 0xFFFFu - half);
        if (half == 0x8000u) mark(0x8000u);  // −0 counts as +0
    }
    __device__ bool wants(float value) const {
        const std::uint32_t bits = __float_as_uint(value);
        return map[bits >> 21] >> (bits >> 16 & 31u) & 1u;
    }
    /// For a value that is wanted.
    __device__ void count(float value) const {
        const std::uint32_t key = core::float_key(value);
        if (__float_as_uint(value) >> 16 == 0x8000u && slot_of(key >> 16) < 0)
            return;  // −0 and denormals share the bit
        const std::uint32_t place = key * 2654435761u >> (32 - places_log2);
        std::uint32_t there = *static_cast<volatile std::uint32_t*>(keys() + place);
        if (there == 0) {
            there = atomicCAS(keys() + place, 0u, key);
            if (there == 0) there = key;
        }
        if (there == key)
            increment(shared_address(keys() + places + place));
        else
            count_in_memory(key, 1);
    }
    /// By all threads of the block, after a barrier.
    __device__ void merge() const {
        for (int i = threadIdx.x; i < places; i += blockDim.x)
            if (keys()[places + i] != 0) count_in_memory(keys()[i], keys()[places + i]);
    }
    __device__ int slot_of(std::uint32_t half) const {
        for (int slot = 0; slot < chosen->count; ++slot)
            if (chosen->high[slot] == half) return slot;
        return -1;
    }
    __device__ void count_in_memory(std::uint32_t key, Word samples) const {
        atomicAdd(counts + slot_of(key >> 16) * 65536 + (key & 0xFFFFu), samples);
    }
};

}  // namespace gpuhist::cuda
