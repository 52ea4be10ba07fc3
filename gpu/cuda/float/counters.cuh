// What a block keeps while it looks at the samples of f32 images: moments, bins, and the counters of order statistics.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/bins.hpp"
#include "core/luma.hpp"
#include "cuda/block/hot_bins.cuh"
#include "cuda/block/packed_counters.cuh"
#include "cuda/block/reduce.cuh"
#include "cuda/block/shared_memory.cuh"
#include "cuda/host/parameters.hpp"
#include "cuda/pixels/sweep.cuh"
#include "cuda/tuning.hpp"
#include "statistics/float_analysis.hpp"

namespace gpuhist::cuda {

// ---- Samples

/// The samples of a group, or of one pixel, as they lie in memory.
template <int C>
__device__ inline float sample_of(const Group<float, C>& group, int i) {
    return group[i];
}
template <int C>
__device__ inline float sample_of(const float (&pixel)[C], int i) {
    return pixel[i];
}
template <int C, class Pixels>
constexpr int pixels_of = std::is_array_v<Pixels> ? 1 : Group<float, C>::pixels;

/// The value of pixel p in a row of the results: a channel's, luma, or alpha.
template <int C, class Pixels>
__device__ inline float row_value(const Pixels& pixels, int p, int row, bool rgb) {
    const float first = sample_of<C>(pixels, p * C);
    if constexpr (C == 1) {
        return first;
    } else {
        const float second = sample_of<C>(pixels, p * C + 1), third = sample_of<C>(pixels, p * C + 2);
        if (row == luma_row) return core::luma(rgb ? first : third, second, rgb ? third : first);
        if constexpr (C == 4)
            if (row == 4) return sample_of<C>(pixels, p * C + 3);
        return row == 0 ? first : row == 1 ? second : third;
    }
}
/// Those of all pixels; `row` need not be a constant.
template <int C, class Pixels, int N>
__device__ inline void row_values(const Pixels& pixels, int row, bool rgb, float (&values)[N]) {
    static_assert(N == pixels_of<C, Pixels>);
    if (C > 1 && row == luma_row) {
#pragma unroll
        for (int p = 0; p < N; ++p) values[p] = row_value<C>(pixels, p, luma_row, rgb);
        return;
    }
#pragma unroll
    for (int p = 0; p < N; ++p)
        values[p] = C == 4 && row == 4 ? sample_of<C>(pixels, p * C + C - 1)
                    : row == 0         ? sample_of<C>(pixels, p * C)
                    : row == 1         ? sample_of<C>(pixels, p * C + (C > 1))
                                       : sample_of<C>(pixels, p * C + (C > 1 ? 2 : 0));
}

__device__ inline bool is_finite(float value) {
    return fabsf(value) < INFINITY;
}

template <int N>
__device__ inline void widen(const float (&values)[N], double (&wide)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) wide[i] = values[i];
}

// ---- Extremes, and what is not finite

/// Shared counters of one row's samples that are not finite.
struct OddCounts {
    std::uint32_t nan, positive_infinite, negative_infinite;

    __device__ static void count(OddCounts* counts, float value) {
        shared_increment(shared_address(value != value ? &counts->nan
                                        : value > 0    ? &counts->positive_infinite
                                                       : &counts->negative_infinite));
    }
};

/// A sum over samples of 0 · x: 0 where all are finite, NaN where one is not.
__device__ inline void notice(float value, float& all) {
    all = fmaf(value, 0.0f, all);
}

/// The lower one; NaN where one is NaN.
__device__ inline float min_or_nan(float a, float b) {
#if __CUDA_ARCH__ >= 800
    float lower;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(lower) : "f"(a), "f"(b));
    return lower;
#else
    return a != a || a < b ? a : b;
#endif
}

// ---- Moments

/// What a thread has summed up of one row, see CentralSums.
template <int powers>
struct MomentTotals {
    std::int64_t high[powers];  ///< Σ q in units of 2^-40
    std::uint64_t low[powers];  ///< Σ of the bits of l; of RawSums Σ rint(r) and the rests

    /// What all of power k come to, less `zeros`, the bits that its low parts began with.
    __device__ core::i128 sum(int k, std::uint64_t zeros) const {
        return (static_cast<core::i128>(high[k]) << 40) + static_cast<std::int64_t>(low[k] - zeros);
    }
};

/// The two numbers of a row that a sum of its powers needs, aligned for one load.
struct alignas(16) MomentScale {
    double first, second;

    /// From shared memory at every use: kept in registers, the rows' scales would crowd out the sums.
    __device__ static MomentScale load(std::uint32_t address) {
        MomentScale scale;
        asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(scale.first), "=d"(scale.second) : "r"(address));
        return scale;
    }
};

__device__ inline std::uint64_t bits_of(double value) {
    return static_cast<std::uint64_t>(__double_as_longlong(value));
}

/// Sums over one row's samples of rint(u^k · 2^80), k = 1 to 4, with u = (x − pivot)/R: those that FloatMoments
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
struct CentralSums {
    static constexpr int powers = 4;
    static constexpr double base = 0x1.8p12, low_base = 0x1.8p-28;
    static constexpr std::uint32_t fold_every = 1024;

    double sum[powers];         ///< S
    std::uint64_t low[powers];  ///< Σ of the bits of l

    /// 1/R, −pivot/R
    __device__ static MomentScale scale_of(double pivot, int exponent) {
        const double unit = core::power_of_two(-exponent);
        return {unit, -pivot * unit};
    }
    __device__ void clear(const MomentScale&) {
#pragma unroll
        for (int k = 0; k < powers; ++k) {
            sum[k] = base;
            low[k] = 0;
        }
    }
    __device__ static std::uint64_t split(double term, double& sum) {
        const double next = sum + term, taken = next - sum;
        sum = next;
        return bits_of((term - taken) + low_base);
    }
    template <int N>
    __device__ void add(const double (&values)[N], const MomentScale& scale) {
#pragma unroll
        for (int i = 0; i + 1 < N; i += 2) {
            const double u = fma(values[i], scale.first, scale.second),
                         w = fma(values[i + 1], scale.first, scale.second);
            double first = u, second = w;
#pragma unroll
            for (int k = 0; k < powers; ++k) {
                low[k] += split(first, sum[k]) + split(second, sum[k]);
                first *= u;
                second *= w;
            }
        }
        if constexpr (N % 2 == 1) {
            const double u = fma(values[N - 1], scale.first, scale.second);
            double power = u;
#pragma unroll
            for (int k = 0; k < powers; ++k) {
                low[k] += split(power, sum[k]);
                power *= u;
            }
        }
    }
    /// Added to what was summed up before. Every `fold_every` samples, and at the end.
    __device__ void add_to(MomentTotals<powers>& totals, const MomentScale&) const {
#pragma unroll
        for (int k = 0; k < powers; ++k) {
            totals.high[k] += __double_as_longlong(sum[k]) - __double_as_longlong(base);
            totals.low[k] += low[k];
        }
    }
    /// The sum over this thread's `samples`.
    static __device__ core::i128 total(const MomentTotals<powers>& totals, int k, std::uint64_t samples) {
        return totals.sum(k, samples * bits_of(low_base));
    }
};

/// The same of brief analyses, whose pivot is 0, for k = 1 and 2.
///
/// k = 1: samples that come together are added to 12 R, rounding down. Between 8 R and 16 R doubles are R · 2^-49
/// apart, so the bits of the sum are those of 12 R plus Σ floor(u · 2^49). A float x has 24 digits: only where
/// 0 < |x| < R · 2^-26 can any lie below that, and where one is so small the rests, rounded, are added on their own.
///
/// k = 2: as in CentralSums, but that all is R² times as large, so that no sample is scaled; that the square, of 48
/// digits at most and thus a double, is never looked at: S + x² and x² − q are one operation each; and that r is added
/// to the sum of the rests at once. That stays within [2^-28, 2^-27) R² for 2047 samples, where doubles are 2^-80 R²
/// apart, so it rounds r to a whole number of these. r never lies halfway between two, since the last digit of a square
/// has an even place, in R² too, so that what was added before does not show.
struct RawSums {
    static constexpr int powers = 2;
    static constexpr std::uint32_t fold_every = CentralSums::fold_every;

    std::uint64_t chains;  ///< k = 1: Σ of the bits of 12 R + Σx, less those of 12 R
    double sum, rests;     ///< k = 2: S, and 1.5 · 2^-28 R² + Σ rint(r)

    /// 12 R and 1.5 · 2^-28 R²
    __device__ static MomentScale scale_of(int exponent) {
        return {12 * core::power_of_two(exponent), CentralSums::low_base * core::power_of_two(2 * exponent)};
    }
    __device__ static double base(const MomentScale& scale) { return scale.second * 0x1p40; }
    /// Whether a sample may have a rest, which 0 has not: its rank is below that of R · 2^-26.
    __device__ static std::uint32_t rank(float value) { return (__float_as_uint(value) << 1) - 1; }
    __device__ static std::uint32_t small_rank(int exponent) {
        const auto limit = static_cast<float>(core::power_of_two(exponent - 26));
        return limit == 0 ? 0 : rank(limit);
    }

    __device__ void clear(const MomentScale& scale) {
        chains = 0;
        sum = base(scale);
        rests = scale.second;
    }
    template <int N>
    __device__ void add(const double (&values)[N], const MomentScale& scale) {
        static_assert(N <= 4);
        double chain = scale.first;
#pragma unroll
        for (int i = 0; i < N; ++i) chain = __dadd_rd(chain, values[i]);
        chains += bits_of(chain) - bits_of(scale.first);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const double next = fma(values[i], values[i], sum), left = sum - next;
            sum = next;
            rests += fma(values[i], values[i], left);
        }
    }
    /// What rounding down took from a sample, in units of R · 2^-80.
    static __device__ std::uint64_t rest_of(double value, const MomentScale& scale) {
        const double base = scale.first * 0x1p-31, rest = value - (__dadd_rd(scale.first, value) - scale.first);
        return bits_of(rest + base) - bits_of(base);
    }
    __device__ void add_to(MomentTotals<powers>& totals, const MomentScale& scale) const {
        const auto chained = static_cast<std::int64_t>(chains);
        totals.high[0] += chained >> 9;
        totals.low[0] += static_cast<std::uint64_t>(chained & 511) << 31;
        totals.high[1] += __double_as_longlong(sum) - __double_as_longlong(base(scale));
        totals.low[1] += bits_of(rests) - bits_of(scale.second);
    }
    static __device__ core::i128 total(const MomentTotals<powers>& totals, int k, std::uint64_t) {
        return totals.sum(k, 0);
    }
};

// ---- Bins

/// Where a value lies among equal bins, by one operation: the high word of fma(v, scale, offset), rounded down, is the
/// number of its bin, which is −1 below the first. An offset of 1.5 · 2^20 and more gives 32 digits of the fraction,
/// which are the low word. It is core::FloatBins' bin where it changes at the edges, see `right`.
struct BinPosition {
    static constexpr double whole = 0x1.8p20;
    static constexpr std::int32_t whole_high = 0x41380000;  ///< the high word of `whole`

    double scale, offset;

    /// Two ways to round that put positions on the side of the edges where they belong: upwards, as most ranges that
    /// begin at 0 or above it need; to nearest, as those do that have an edge at 0 amidst them.
    __device__ static BinPosition of(const core::FloatBins& bins, bool upwards) {
        const double scale = __ddiv_ru(bins.bins, __dadd_rd(bins.upper, -bins.lower));
        return {scale, upwards ? __fma_ru(-bins.lower, scale, whole) : __fma_rn(-bins.lower, scale, whole)};
    }
    /// Whether every float's bin is right, so far as it depends on the edges of this thread. Positions rise with
    /// values: they need only change where they should.
    __device__ bool right(const core::FloatBins& bins) const {
        bool all = true;
        for (std::uint32_t i = threadIdx.x; i <= bins.bins; i += blockDim.x) all = all && at_edge(bins, i);
        return all;
    }
    __device__ double of(double value) const { return __fma_rd(value, scale, offset); }
    __device__ std::int32_t bin(float value) const { return __double2hiint(of(value)) - whole_high; }

    /// The smallest float at or over the edge of a bin.
    __device__ static float edge(const core::FloatBins& bins, std::uint32_t bin) {
        return __double2float_ru(core::bin_edge(bins.lower, bins.upper, bins.bins, bin));
    }
    /// Whether the bin changes at this edge, 0 to `bins`. What is beyond closed ends does not occur, so that their
    /// values may be found in the bin beyond.
    __device__ bool at_edge(const core::FloatBins& bins, std::uint32_t i) const {
        const float here = edge(bins, i);
        if (!(fabsf(here) < INFINITY)) return false;
        const auto number = static_cast<std::int32_t>(i);
        if (bins.upper_closed && (i == 0 || i == bins.bins)) return bin(here) == number || bin(here) == number - 1;
        const bool begins = bin(here) == number, ends = bin(before(here)) == number - 1;
        return (begins && ends) || at_same_edges(bins, i, here, begins, ends);
    }
    /// The same where several edges are the same float: the last of them begins its bin, the first ends the one before.
    __device__ static __noinline__ bool at_same_edges(const core::FloatBins& bins, std::uint32_t i, float here,
                                                      bool begins, bool ends) {
        return (begins || (i < bins.bins && edge(bins, i + 1) == here)) &&
               (ends || (i > 0 && edge(bins, i - 1) == here));
    }
    /// The next float below a finite one.
    __device__ static float before(float value) {
        const auto bits = __float_as_int(value);
        return value == 0 ? -0x1p-149f : __int_as_float(value > 0 ? bits - 1 : bits + 1);
    }
};

/// Counters of equal bins in shared memory for `rows` rows that are counted together, a copy for each lane, so that no
/// two lanes of a warp meet in a bank. Slot 0 counts what is below the range, slot i + 1 bin i, slot bins + 1 what is
/// above; in a slot each row has a counter for each lane.
template <int rows>
struct Slots {
    static constexpr int lane_bytes = warp_lanes * 4, bytes = rows * lane_bytes;

    std::uint32_t base;
    BinPosition position;
    std::int32_t most;

    __host__ __device__ static std::size_t total_bytes(std::uint32_t bins) {
        return (std::size_t{bins} + 2) * static_cast<std::size_t>(bytes);
    }

    __device__ Slots(const std::uint32_t* memory, const BinPosition& at, std::uint32_t bins)
        : base(shared_address(memory) + threadIdx.x % warp_lanes * 4 -
               static_cast<std::uint32_t>(BinPosition::whole_high - 1) * bytes),
          position(at),
          most(BinPosition::whole_high + static_cast<std::int32_t>(bins)) {}

    /// `Clamped`: finite values may lie outside the range. Returns how far the one that comes closest lies over the
    /// edge below it, as the low word of its position.
    template <int row, bool Clamped, int N>
    __device__ std::uint32_t count(const double (&values)[N]) const {
        std::uint32_t nearest = ~0u;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const double at = position.of(values[i]);
            std::int32_t high = __double2hiint(at);
            nearest = min(nearest, static_cast<std::uint32_t>(__double2loint(at)));
            if constexpr (Clamped) high = min(max(high, BinPosition::whole_high - 1), most);
            shared_increment(static_cast<std::uint32_t>(high) * bytes + base + row * lane_bytes);
        }
        return nearest;
    }
    /// The counter of a bin, or of what is below or above, of lane 0.
    __device__ static std::uint32_t* counter(std::uint32_t* memory, std::int32_t bin, int row) {
        return memory + (bin + 1) * (bytes / 4) + row * warp_lanes;
    }

    /// Counters of zero. By all threads.
    __device__ static void prepare(std::uint32_t* memory, std::uint32_t bins) {
        const auto fours = static_cast<std::uint32_t>(total_bytes(bins) / sizeof(uint4));
        for (std::uint32_t i = threadIdx.x; i < fours; i += blockDim.x) reinterpret_cast<uint4*>(memory)[i] = uint4{};
    }

    /// Hands what was counted to `found_of(row)`, as `found(slot, count)`: neighbouring lanes neighbouring slots of a
    /// row. By all threads, a slot each, which begin at different lanes' counters so that they use different banks.
    template <class FoundOf>
    __device__ static void gather(const std::uint32_t* memory, std::uint32_t bins, FoundOf found_of) {
        const int warp = threadIdx.x / warp_lanes, row = warp % rows, warps_of_row = blockDim.x / warp_lanes / rows;
        if (warp >= warps_of_row * rows) return;
        const auto found = found_of(row);
#pragma unroll 1
        for (std::uint32_t slot = warp / rows * warp_lanes + threadIdx.x % warp_lanes; slot < bins + 2;
             slot += warps_of_row * warp_lanes) {
            const auto* fours = reinterpret_cast<const uint4*>(memory + (slot * rows + row) * warp_lanes);
            constexpr int all = warp_lanes / 4;
            std::uint32_t sum = 0;
#pragma unroll
            for (int i = 0; i < all; ++i) {
                const uint4 four = fours[(i + threadIdx.x) % all];
                sum += four.x + four.y + four.z + four.w;
            }
            if (sum != 0) found(slot, sum);
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
    __device__ static std::uint32_t half(std::uint32_t place) {
        return place & 1u ? 0x7FFFu - (place >> 1) : place >> 1 | 0x8000u;
    }
};

/// Tells of the bits of a value, of which −0 has none, which of up to 32 high halves they begin with. In shared memory:
/// by the upper twelve bits a group, from 1 on; by group and the next four bits a slot. Two small tables, where one of
/// 65536 would leave no room for what is counted by them.
struct HalfFilter {
    static constexpr std::uint32_t most_halves = 2 * core::max_ranks, most_slots = most_halves + 1;
    static constexpr std::uint32_t none = most_halves;  ///< the slot of all other values
    static constexpr std::uint32_t groups_bytes = 4096, bytes = groups_bytes + (most_halves + 1) * 16;
    static_assert(bytes % 16 == 0);

    std::uint32_t address;

    __device__ std::uint32_t slot(std::uint32_t value_bits) const {
        const std::uint32_t group = shared_load(address + (value_bits >> 20), std::uint8_t{});
        return shared_load(address + groups_bytes + group * 16 + (value_bits >> 16 & 15), std::uint8_t{});
    }
    /// In the order of values' bits, which that of keys is, or for negative ones its reverse.
    __device__ static std::uint32_t middle(std::uint32_t value_bits) { return value_bits / middle_lows % middles; }

    /// LutSet without a half, by all threads.
    __device__ static void clear(std::uint8_t* memory) {
        for (std::uint32_t i = threadIdx.x; i < bytes; i += blockDim.x) memory[i] = i < groups_bytes ? 0 : none;
    }
    /// After them and a barrier, those of different halves, by one thread.
    __device__ static void fill(std::uint8_t* memory, const std::uint32_t* halves, int count) {
        std::uint8_t groups = 0;
        for (int slot = 0; slot < count; ++slot) {
            const std::uint32_t bits = __float_as_uint(core::key_float(halves[slot] << 16)) >> 16;
            std::uint8_t& group = memory[bits >> 4];
            if (group == 0) group = ++groups;
            memory[groups_bytes + group * 16 + (bits & 15)] = static_cast<std::uint8_t>(slot);
        }
    }
};

/// Counts low halves under chosen high halves, of one row's samples: for that row, and for the pooled row.
///
/// A byte of a map in shared memory says of the leading bits of a value whether it may be wanted. Every value is
/// written to the thread's own queue, and is overwritten by the next unless it was: no branch, which some lane of
/// nearly every warp would take. A warp's queues are counted when one of them is full.
///
/// Of narrow images the map's place is taken by a HalfFilter and two tables of bits, the middles that are wanted for
/// either row.
///
/// Few values are wanted in most images, and those are counted in device memory. In an image of few different values
/// nearly all are, always the same ones: so the first to come to each place of a small table in shared memory are
/// counted there.
struct LowCounter {
    static constexpr int places_log2 = 10, places = 1 << places_log2, queue = 8;
    static constexpr int table_words = 2 * places;  ///< keys, counts

    /// The high halves chosen, in shared memory.
    struct Chosen {
        int count;
        std::uint32_t high[core::max_ranks];

        __device__ int slot_of(std::uint32_t half) const {
            for (int slot = 0; slot < count; ++slot)
                if (high[slot] == half) return slot;
            return -1;
        }
    };

    std::uint32_t* table;  ///< in shared memory: this, the map and the queues
    int map_log2;          ///< leading bits of a value that the map knows; 16 is all that matters
    int rows;              ///< 2: the pooled row too
    const Chosen* chosen;  ///< of each
    Word* counts[2];       ///< of each: slots × 65536
    bool narrow;

    /// Of a narrow image.
    static constexpr int narrow_map_log2 = 14, bits_bytes = HalfFilter::most_slots * middles / 8;
    static_assert(HalfFilter::bytes + 2 * bits_bytes <= 1 << narrow_map_log2);
    __device__ HalfFilter filter() const { return {map()}; }
    /// Where the bits of a slot of the filter begin, of the row's middles and of the pooled row's.
    __device__ std::uint32_t bits(int of, std::uint32_t slot) const {
        return map() + HalfFilter::bytes + of * bits_bytes + slot * (middles / 8);
    }
    __device__ bool wants(int of, std::uint32_t value_bits) const {
        const std::uint32_t middle = HalfFilter::middle(value_bits);
        return shared_load(bits(of, filter().slot(value_bits)) + middle / 32 * 4, 0u) >> middle % 32 & 1;
    }

    /// Words of shared memory.
    __host__ __device__ static constexpr int words(int map_log2, int threads) {
        return table_words + (1 << map_log2) / 4 + queue * threads;
    }
    __device__ std::uint32_t map() const { return shared_address(table + table_words); }
    __device__ std::uint32_t first_in_queue() const { return map() + (1u << map_log2) + threadIdx.x * 4; }

    /// Of images that are not narrow. By all threads, between barriers.
    __device__ void prepare() const {
        auto* bytes = reinterpret_cast<volatile std::uint8_t*>(table + table_words);
        if (static_cast<int>(threadIdx.x) >= rows * core::max_ranks) return;
        const Chosen& of = chosen[threadIdx.x / core::max_ranks];
        const int slot = threadIdx.x % core::max_ranks;
        if (slot >= of.count) return;
        const std::uint32_t half = of.high[slot];
        bytes[(half & 0x8000u ? half & 0x7FFFu : 0xFFFFu - half) >> (16 - map_log2)] = 1;
        if (half == 0x8000u) bytes[0x8000u >> (16 - map_log2)] = 1;  // −0 counts as +0
    }

    /// For values counted once; afterwards by all threads of the block, after a barrier.
    __device__ void merge() const {
        for (int i = threadIdx.x; i < places; i += blockDim.x)
            if (table[places + i] != 0) count_in_memory(table[i], table[places + i]);
    }
    /// Whether it was wanted.
    __device__ bool count_in_memory(std::uint32_t key, Word samples) const {
        bool wanted = false;
        for (int row = 0; row < rows; ++row) {
            const int slot = chosen[row].slot_of(key >> 16);
            if (slot < 0 || (narrow && !wants(row, __float_as_uint(core::key_float(key))))) continue;
            wanted = true;
            if (samples) global_add(counts[row] + slot * 65536 + (key & 0xFFFFu), samples);
        }
        return wanted;
    }
    __device__ void count(float value) const {
        const std::uint32_t key = core::float_key(value), place = key * 2654435761u >> (32 - places_log2);
        std::uint32_t there = *static_cast<volatile std::uint32_t*>(table + place);
        if (there == 0 && count_in_memory(key, 0)) {
            there = atomicCAS(table + place, 0u, key);
            if (there == 0) there = key;
        }
        if (there == key)
            shared_increment(shared_address(table + places + place));
        else
            count_in_memory(key, 1);
    }
};

/// A thread's queue of a LowCounter, in a block of `threads`.
template <int threads>
struct LowQueue {
    static constexpr std::uint32_t stride = threads * 4, to_limit = (LowCounter::queue - 4) * stride;
    const LowCounter* counter;            ///< in shared memory
    std::uint32_t map, shift, at, limit;  ///< shift 0: of a narrow image

    __device__ explicit LowQueue(const LowCounter* of)
        : counter(of),
          map(of->map()),
          shift(of->narrow ? 0 : 32 - of->map_log2),
          at(of->first_in_queue()),
          limit(at + to_limit) {}

    template <int N>
    __device__ void add(const float (&values)[N]) {
        static_assert(N <= 4);
        std::uint32_t wanted[N];
        if (shift == 0) {
            const std::uint32_t all =
                wants(counter, values[0], values[N > 1], values[N > 2 ? 2 : 0], values[N > 3 ? 3 : 0]);
#pragma unroll
            for (int i = 0; i < N; ++i) wanted[i] = all >> i & 1;
        } else {
#pragma unroll
            for (int i = 0; i < N; ++i)
                wanted[i] = shared_load(map + (__float_as_uint(values[i]) >> shift), std::uint8_t{});
        }
#pragma unroll
        for (int i = 0; i < N; ++i) {
            asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(values[i]) : "memory");
            at += wanted[i] * stride;
        }
        if (__any_sync(__activemask(), at > limit)) empty();
    }
    __device__ void empty() {
        count(counter, limit - to_limit, at);
        at = limit - to_limit;
    }

  private:
    /// Of a narrow image: which of four, as bits.
    static __device__ __noinline__ std::uint32_t wants(const LowCounter* counter, float a, float b, float c, float d) {
        const float values[] = {a, b, c, d};
        std::uint32_t wanted = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const std::uint32_t bits = __float_as_uint(values[i] + 0.0f), middle = HalfFilter::middle(bits),
                                slot = counter->filter().slot(bits),  // −0 counts as +0
                words = shared_load(counter->bits(0, slot) + middle / 32 * 4, 0u) |
                        shared_load(counter->bits(1, slot) + middle / 32 * 4, 0u);
            wanted |= (words >> middle % 32 & 1) << i;
        }
        return wanted;
    }
    static __device__ __noinline__ void count(const LowCounter* counter, std::uint32_t first, std::uint32_t end) {
        for (std::uint32_t at = first; at < end; at += stride) counter->count(__uint_as_float(shared_load(at, 0.0f)));
    }
};

}  // namespace gpuhist::cuda
