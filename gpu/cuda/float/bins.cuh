// Bins: the place of a sample among equal bins, and a block's counters of them.
#pragma once

#include "cuda/float/state.cuh"

namespace gpuhist::cuda {

/// Position of a value among equal bins, by one operation. The high word of fma(v, scale, offset), rounded down, is the
/// number of its bin, −1 below the first; an offset of 1.5 · 2^20 and more leaves 32 digits of the fraction, which are
/// the low word. The bin is core::FloatBins' where it changes at the edges, see find_position.
struct BinPosition {
    static constexpr double whole = 0x1.8p20;
    static constexpr std::int32_t whole_high = 0x41380000;  ///< the high word of `whole`

    double scale, offset;

    /// Position by an offset rounded upwards, so that values are on the right side of the edges: right for most ranges
    /// that begin at 0 or above. Or to nearest: right for ranges with an edge at 0 in their middle.
    __device__ static BinPosition of(const core::FloatBins& bins, bool upwards) {
        const double scale = __ddiv_ru(bins.bins, __dadd_rd(bins.upper, -bins.lower));
        return {scale, upwards ? __fma_ru(-bins.lower, scale, whole) : __fma_rn(-bins.lower, scale, whole)};
    }
    __device__ double of(double value) const { return __fma_rd(value, scale, offset); }
    __device__ std::int32_t bin(float value) const { return __double2hiint(of(value)) - whole_high; }

    /// Edge of a bin: the smallest float at or over it.
    __device__ static float edge(const core::FloatBins& bins, std::uint32_t bin) {
        return __double2float_ru(core::bin_edge(bins.lower, bins.upper, bins.bins, bin));
    }
    /// Returns whether the bin changes at an edge, 0 to `bins`. There are no samples beyond closed ends, so the bin of
    /// the ends' own values may be off by one.
    __device__ bool at_edge(const core::FloatBins& bins, std::uint32_t i) const {
        const float here = edge(bins, i);
        if (!is_finite(here)) return false;
        const auto number = static_cast<std::int32_t>(i);
        if (bins.upper_closed && (i == 0 || i == bins.bins)) return bin(here) == number || bin(here) == number - 1;
        const bool begins = bin(here) == number, ends = bin(before(here)) == number - 1;
        return (begins && ends) || at_same_edges(bins, i, here, begins, ends);
    }
    /// Verdict likewise, where edges are the same float: the last of them begins its bin, the first ends the one
    /// before.
    __device__ static __noinline__ bool at_same_edges(const core::FloatBins& bins, std::uint32_t i, float here,
                                                      bool begins, bool ends) {
        return (begins || (i < bins.bins && edge(bins, i + 1) == here)) &&
               (ends || (i > 0 && edge(bins, i - 1) == here));
    }
    /// Next float below a finite one.
    __device__ static float before(float value) {
        const auto bits = __float_as_int(value);
        return value == 0 ? -0x1p-149f : __int_as_float(value > 0 ? bits - 1 : bits + 1);
    }
};

/// Slots are counters of equal bins in shared memory: slot 0 of values below the range, i + 1 of bin i, bins + 1 of
/// values above. In each, every one of `channels` channels has a counter per lane, so that no two lanes meet in a bank.
template <int channels>
struct Slots {
    static constexpr int lane_bytes = warp_lanes * 4, bytes = channels * lane_bytes;

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

    /// Counts values, `Clamped` to the range. Returns the distance of the nearest from the edge below it, as a low
    /// word.
    template <int channel, bool Clamped, int N>
    __device__ std::uint32_t count(const double (&values)[N]) const {
        std::uint32_t nearest = ~0u;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const double at = position.of(values[i]);
            std::int32_t high = __double2hiint(at);
            nearest = min(nearest, static_cast<std::uint32_t>(__double2loint(at)));
            if constexpr (Clamped) high = min(max(high, BinPosition::whole_high - 1), most);
            shared_increment(static_cast<std::uint32_t>(high) * bytes + base + channel * lane_bytes);
        }
        return nearest;
    }
    /// Counter of lane 0 of a bin, or of values below or above.
    __device__ static std::uint32_t* counter(std::uint32_t* memory, std::int32_t bin, int channel) {
        return memory + (bin + 1) * (bytes / 4) + channel * warp_lanes;
    }

    /// Clears the counters. By all threads.
    __device__ static void prepare(std::uint32_t* memory, std::uint32_t bins) {
        const auto fours = static_cast<std::uint32_t>(total_bytes(bins) / sizeof(uint4));
        for (std::uint32_t i = threadIdx.x; i < fours; i += blockDim.x) reinterpret_cast<uint4*>(memory)[i] = uint4{};
    }

    /// Hands the counts to `found_of(channel)`, as `found(slot, count)`. By all threads, each beginning in its bank.
    template <class FoundOf>
    __device__ static void gather(const std::uint32_t* memory, std::uint32_t bins, FoundOf found_of) {
        const int warp = threadIdx.x / warp_lanes, channel = warp % channels,
                  warps_of_channel = blockDim.x / warp_lanes / channels;
        if (warp >= warps_of_channel * channels) return;
        const auto found = found_of(channel);
#pragma unroll 1
        for (std::uint32_t slot = warp / channels * warp_lanes + threadIdx.x % warp_lanes; slot < bins + 2;
             slot += warps_of_channel * warp_lanes) {
            const auto* fours = reinterpret_cast<const uint4*>(memory + (slot * channels + channel) * warp_lanes);
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

/// Counters in `1 << log2` lane replicas side by side: clears them; hands their sums to `add`. By all threads.
__device__ inline void clear_replicas(std::uint32_t* table, std::uint32_t counters, int log2) {
    for (std::uint32_t i = threadIdx.x; i < counters << log2; i += blockDim.x) table[i] = 0;
}
template <class Add>
__device__ inline void merge_replicas(const std::uint32_t* table, std::uint32_t counters, int log2, Add add) {
    const std::uint32_t replicas = 1u << log2;
    for (std::uint32_t i = threadIdx.x; i < counters; i += blockDim.x) {
        std::uint32_t sum = 0;
        for (std::uint32_t c = 0; c < replicas; ++c) sum += table[(i << log2) + (i + c) % replicas];
        add(i, sum);
    }
}

/// Bins of core::FloatBins, in single precision where that is certain to give the same bin.
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
    __device__ static __noinline__ std::uint32_t exact_bin(const core::FloatBins* exact, float value) {
        return (*exact)(value);
    }
};

/// Finds a position that gives every float the right bin, if there is one. Positions rise with values, so that bins
/// need only change at the edges; each thread checks its own. By all threads, for all.
__device__ inline bool find_position(const core::FloatBins& bins, BinPosition& position) {
    bool right = false;
#pragma unroll 1
    for (int way = 0; way < 2 && !right; ++way) {
        position = BinPosition::of(bins, way == 0);
        right = true;
        for (std::uint32_t i = threadIdx.x; i <= bins.bins; i += blockDim.x) right = right && position.at_edge(bins, i);
        right = __syncthreads_and(right);
    }
    return right;
}

}  // namespace gpuhist::cuda
