// f32 images: the two sweeps of core/float_analysis.hpp, their plans, and the normalised copy.

#include <cstdint>

#include "core/bins.hpp"
#include "core/float_analysis.hpp"
#include "core/luma.hpp"
#include "core/tables.hpp"
#include "cuda/launch.cuh"
#include "cuda/packed.cuh"
#include "cuda/reduce.cuh"
#include "cuda/sweep.cuh"
#include "cuda/tables.cuh"

namespace gpuhist::cuda {
namespace {

/// Blocks are dealt to rows in turn; the blocks of a row share its pixels.
struct Team {
    int row, rank, blocks;
};
template <int C>
__device__ inline Team team_of_block() {
    const int rows = rows_of(C), row = blockIdx.x % rows;
    return {row, static_cast<int>(blockIdx.x) / rows,
            static_cast<int>(gridDim.x) / rows + (static_cast<int>(gridDim.x) % rows > row)};
}

template <int C>
__device__ inline float row_value(const float (&pixel)[C], int row, bool rgb) {
    if constexpr (C == 1) {
        return pixel[0];
    } else {
        if (row == luma_row) return core::luma(rgb ? pixel[0] : pixel[2], pixel[1], rgb ? pixel[2] : pixel[0]);
        if constexpr (C == 4)
            if (row == 4) return pixel[3];
        return row == 0 ? pixel[0] : row == 1 ? pixel[1] : pixel[2];
    }
}

/// Sweeps one row's values with all threads of its team.
template <int C, class Visit>
struct RowVisitor : PixelVisitor<RowVisitor<C, Visit>, float, C> {
    Visit& visit;
    int row;
    bool rgb;
    __device__ RowVisitor(Visit& v, int r, bool is_rgb) : visit(v), row(r), rgb(is_rgb) {}
    __device__ void pixel(std::int64_t, std::int64_t, const float (&samples)[C]) {
        visit(row_value(samples, row, rgb));
    }
};
template <int C, class Visit>
__device__ void sweep_row(const FloatParameters& p, const Team& team, Visit& visit) {
    RowVisitor<C, Visit> visitor(visit, team.row, p.rgb);
    sweep<float, C, C == 1 ? 2 : 1>(p.image, static_cast<std::int64_t>(team.rank) * blockDim.x + threadIdx.x,
                                    static_cast<std::int64_t>(team.blocks) * blockDim.x, visitor);
}

__device__ inline bool is_nan(float v) {
    return v != v;
}
/// Keys of finite values are consecutive.
__device__ inline bool is_finite_key(std::uint32_t key) {
    return key - 0x00800000u <= 0xFF7FFFFFu - 0x00800000u;
}

// ---- Sweep 1

struct HighCounter {
    RunCounter runs;
    std::uint64_t nan = 0, positive = 0, negative = 0;
    std::uint32_t complement_minimum = 0, maximum = 0;

    __device__ void operator()(float value) {
        const std::uint32_t key = core::float_key(value);
        if (!is_finite_key(key)) {
            ++(is_nan(value) ? nan : value > 0 ? positive : negative);
            return;
        }
        complement_minimum = max(complement_minimum, ~key);
        maximum = max(maximum, key);
        runs.add(key >> 16);
    }
};

/// Counts 65536 keys of one row's values, `counter.runs` being told the keys by `counter(value)`. Shared memory,
/// barriers and limits as count_words, but that slices of the keys, where shared memory is small, are swept one after
/// the other. Returns the counter of the first sweep: what it found beside the counts.
template <int C, class Counter>
__device__ Counter count_keys(const FloatParameters& p, const Team& team, Counter counter, Word* counts,
                              std::uint32_t* shared) {
    const int keys = 65536 >> p.parts_log2;
    Counter found = counter;
    for (int part = 0; part < 1 << p.parts_log2; ++part) {
        Counter sliced = counter;
        const PackedCounters counters{shared, static_cast<std::uint32_t>(part * keys), static_cast<std::uint32_t>(keys),
                                      counts + part * keys, nullptr};
        sliced.runs.counters = counters;
        counters.clear();
        __syncthreads();
        sweep_row<C>(p, team, sliced);
        sliced.runs.flush();
        __syncthreads();
        counters.merge([](std::uint32_t, std::uint32_t) {});
        __syncthreads();
        if (part == 0) found = sliced;
    }
    return found;
}

/// Extremes, NaN, ±Inf, and counts of the high halves of the keys.
template <int C>
__device__ void count_high_halves(const FloatParameters& p, std::uint32_t* shared) {
    __shared__ std::uint64_t scratch[warp_lanes];
    const Team team = team_of_block<C>();
    FloatRow& row = p.rows[team.row];
    const HighCounter counter = count_keys<C>(p, team, HighCounter{}, p.high_counts + team.row * 65536, shared);
    const std::uint64_t nan = reduce_block(counter.nan, scratch, std::uint64_t{0}, Sum{});
    const std::uint64_t positive = reduce_block(counter.positive, scratch, std::uint64_t{0}, Sum{});
    const std::uint64_t negative = reduce_block(counter.negative, scratch, std::uint64_t{0}, Sum{});
    const std::uint64_t low = reduce_block(std::uint64_t{counter.complement_minimum}, scratch, std::uint64_t{0}, Max{});
    const std::uint64_t high = reduce_block(std::uint64_t{counter.maximum}, scratch, std::uint64_t{0}, Max{});
    if (threadIdx.x == 0) {
        if (nan) atomicAdd(&row.nan, Word{nan});
        if (positive) atomicAdd(&row.positive_infinite, Word{positive});
        if (negative) atomicAdd(&row.negative_infinite, Word{negative});
        atomicMax(&row.complement_minimum_key, static_cast<std::uint32_t>(low));
        atomicMax(&row.maximum_key, static_cast<std::uint32_t>(high));
    }
}

// ---- Plan

/// Finds, among `counts` of 65536 bins, the bin that holds each rank and the rank inside it. All threads must call it.
template <class Count>
__device__ void locate(Count count, const std::uint64_t* ranks, int n, std::uint32_t* bins, std::uint64_t* within,
                       std::uint64_t* scratch) {
    const int each = 65536 / blockDim.x, first = threadIdx.x * each;
    std::uint64_t own = 0, total = 0;
    for (int b = first; b < first + each; ++b) own += count(b);
    std::uint64_t before = exclusive_scan(own, scratch, total);
    for (int r = 0; r < n; ++r) {
        if (ranks[r] < before || ranks[r] >= before + own) continue;
        std::uint64_t left = ranks[r] - before;
        int b = first;
        for (std::uint64_t c; left >= (c = count(b)); ++b) left -= c;
        bins[r] = b;
        within[r] = left;
    }
    __syncthreads();  // bins and within, for all
}

__device__ inline std::uint64_t finite_of(const FloatParameters& p, int row) {
    const FloatRow& r = p.rows[row];
    return static_cast<std::uint64_t>(p.image.width) * p.image.height - r.nan - r.positive_infinite -
           r.negative_infinite;
}

/// The range of the bins: that given, or the finite extremes of rows [0, rows).
__device__ inline Range finite_range(const FloatParameters& p, int rows) {
    std::uint32_t low = 0, high = 0;
    bool any = false;
    for (int r = 0; r < rows; ++r) {
        any = any || finite_of(p, r) > 0;
        low = max(low, p.rows[r].complement_minimum_key);
        high = max(high, p.rows[r].maximum_key);
    }
    return core::found_range(any, core::key_float(~low), core::key_float(high));
}
template <int C>
__device__ inline core::FloatBins written_bins(const FloatParameters& p) {
    const Range range = p.has_range ? p.range : finite_range(p, rows_of(C));
    return core::FloatBins(range.lower, range.upper, p.bins, !p.has_range);
}

/// Ranks, high halves and pivot of one row, by one block.
template <int C>
__device__ void plan_row(const FloatParameters& p, int index) {
    __shared__ std::uint64_t scratch[warp_lanes];
    __shared__ std::uint64_t ranks[core::max_ranks + 1], within[core::max_ranks + 1];
    __shared__ std::uint32_t bins[core::max_ranks + 1];
    __shared__ int wanted;
    FloatRow& row = p.rows[index];
    const bool pooled = index == core::pooled_row;
    const std::uint64_t finite = pooled ? finite_of(p, 0) + finite_of(p, 1) + finite_of(p, 2) : finite_of(p, index);
    if (finite == 0) return;  // the row stays zero
    const Word* high = p.high_counts + (pooled ? 0 : index * 65536);
    auto count = [&](int b) -> std::uint64_t {
        return pooled ? high[b] + high[65536 + b] + high[2 * 65536 + b] : high[b];
    };
    if (threadIdx.x == 0) {
        std::uint64_t required[core::max_ranks];
        wanted = core::required_ranks(finite, p.stretch, p.copy.normalization.low, p.copy.normalization.high, required);
        for (int r = 0; r < wanted; ++r) ranks[r] = required[r];
        ranks[wanted] = finite / 2;  // the median's high half, for the pivot
    }
    __syncthreads();  // ranks, for all
    locate(count, ranks, wanted + 1, bins, within, scratch);
    if (threadIdx.x == 0) {
        core::RankPlan& plan = row.ranks;
        plan.ranks = wanted;
        for (int r = 0; r < wanted; ++r) {
            if (r == 0 || bins[r] != plan.high[plan.selected - 1]) plan.high[plan.selected++] = bins[r];
            plan.rank[r] = ranks[r];
            plan.within[r] = within[r];
            plan.slot[r] = static_cast<std::uint8_t>(plan.selected - 1);
        }
        row.finite = finite;
        if (!pooled) {
            row.minimum = core::key_float(~row.complement_minimum_key);
            row.maximum = core::key_float(row.maximum_key);
            row.pivot = core::middle_of_high_half(bins[wanted], row.minimum, row.maximum);
            row.exponent = core::moment_exponent(row.pivot, row.minimum, row.maximum);
        }
    }
    __syncthreads();  // the shared values may be written again
}

template <int C>
__device__ void plan_rows(const FloatParameters& p) {
    for (int i = blockIdx.x; i < core::float_rows; i += gridDim.x)
        if (i < rows_of(C) || (C > 1 && i == core::pooled_row)) plan_row<C>(p, i);
}

// ---- Sweep 2

/// Counts low halves under chosen high halves. Few values qualify in most images, and those are counted in device
/// memory. In an image of few different values nearly all qualify, always the same ones: so the first to come to each
/// place of a small table in shared memory are counted there, and a lane adds equal neighbours at once.
struct LowCounter {
    static constexpr int places_log2 = 11, places = 1 << places_log2;

    const std::uint32_t* chosen;  ///< a bit a high half, in shared memory
    std::uint32_t* keys;          ///< the table: keys, 0 where free (no finite value's), then their counts
    const core::RankPlan* plan;
    Word* counts;  ///< slots × 65536
    std::uint32_t key = 0;
    std::uint32_t run = 0;

    __device__ void add(std::uint32_t next) {
        if (!(chosen[next >> 21] >> (next >> 16 & 31) & 1u)) return;
        if (next == key && run != 0xFFFFFFFFu) {
            ++run;
            return;
        }
        flush();
        key = next;
        run = 1;
    }
    __device__ void flush() const {
        if (run == 0) return;
        const int place = key * 2654435761u >> (32 - places_log2);
        std::uint32_t there = keys[place];
        if (there == 0) {
            there = atomicCAS(keys + place, 0u, key);
            if (there == 0) there = key;
        }
        if (there == key)
            atomicAdd(keys + places + place, run);
        else
            count_in_memory(key, run, plan, counts);
    }
    /// Out of the loop around `add`, which it would swell.
    static __device__ __noinline__ void count_in_memory(std::uint32_t key, std::uint32_t samples,
                                                        const core::RankPlan* plan, Word* counts) {
        int slot = 0;
        while (plan->high[slot] != key >> 16) ++slot;
        atomicAdd(counts + slot * 65536 + (key & 0xFFFFu), Word{samples});
    }
    /// By all threads of the block, after all have flushed.
    __device__ void merge() const {
        for (int i = threadIdx.x; i < places; i += blockDim.x)
            if (keys[places + i] != 0) count_in_memory(keys[i], keys[places + i], plan, counts);
    }
};

/// FloatBins in single precision where that is certain to give the same bin.
struct QuickBins {
    const core::FloatBins* exact;  ///< in shared memory
    float lower, scale, margin, bins;

    __device__ explicit QuickBins(const core::FloatBins* in)
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

/// Sums of moment terms: 64 bits for a while, then 128, which lie in memory since they are rarely touched.
struct MomentSums {
    core::MomentTerms terms;
    core::i128* sums;  ///< four, the thread's own
    std::uint64_t high[4] = {}, low[4] = {};
    std::uint32_t samples = 0;

    __device__ void add(float value) {
        terms.add(value, high, low);
        if (++samples == 4096) fold();
    }
    __device__ void fold() {
        fold(sums, high[0], high[1], high[2], high[3], low[0], low[1], low[2], low[3], samples);
#pragma unroll
        for (int k = 0; k < 4; ++k) high[k] = low[k] = 0;
        samples = 0;
    }
    static __device__ __noinline__ void fold(core::i128* sums, std::uint64_t h0, std::uint64_t h1, std::uint64_t h2,
                                             std::uint64_t h3, std::uint64_t l0, std::uint64_t l1, std::uint64_t l2,
                                             std::uint64_t l3, std::uint32_t samples) {
        sums[0] += core::MomentTerms::total(h0, l0, samples);
        sums[1] += core::MomentTerms::total(h1, l1, samples);
        sums[2] += core::MomentTerms::total(h2, l2, samples);
        sums[3] += core::MomentTerms::total(h3, l3, samples);
    }
};

template <int C>
struct DetailCounter {
    QuickBins bins;
    bool pool;
    LowCounter own, pooled;
    std::uint32_t* column;  ///< this lane's copy of bin 0, in shared memory; null: count in device memory
    int columns_log2;
    Word* counts;
    MomentSums moments;
    std::uint64_t below = 0, above = 0;

    __device__ void operator()(float value) {
        if (is_nan(value)) return;
        const std::uint32_t bin = bins(value);
        if (bin == core::FloatBins::below)
            ++below;
        else if (bin == core::FloatBins::above)
            ++above;
        else if (column)
            atomicAdd(column + (bin << columns_log2), 1u);
        else
            atomicAdd(counts + bin, Word{1});
        const std::uint32_t key = core::float_key(value);
        if (!is_finite_key(key)) return;
        own.add(key);
        if constexpr (C > 1)
            if (pool) pooled.add(key);
        moments.add(value);
    }
};

__device__ inline void store_moments(FloatRow& row, const core::i128 (&sums)[4], std::uint64_t* scratch) {
    const std::uint64_t mask = 0xFFFFFFFFu;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const auto bits = static_cast<core::u128>(sums[k]);
        const std::uint64_t low =
            reduce_block(static_cast<std::uint64_t>(bits) & mask, scratch, std::uint64_t{0}, Sum{});
        const std::uint64_t middle =
            reduce_block(static_cast<std::uint64_t>(bits) >> 32, scratch, std::uint64_t{0}, Sum{});
        const std::uint64_t high =
            reduce_block(static_cast<std::uint64_t>(bits >> 64), scratch, std::uint64_t{0}, Sum{});
        if (threadIdx.x == 0) {
            atomicAdd(&row.sums[k][0], Word{low});
            atomicAdd(&row.sums[k][1], Word{middle});
            atomicAdd(&row.sums[k][2], Word{high});
        }
    }
}

/// Shared memory of count_details before the bins: for the row and for the pooled row, a bit map of chosen high halves
/// and a LowCounter's table.
inline constexpr int chosen_words = 65536 / 32;
inline constexpr int detail_words = 2 * (chosen_words + 2 * LowCounter::places);

/// Bins, moments and low halves. Shared memory: detail_words, then the copies of the bins as in count_bytes.
/// Barriers: after clearing, after filling the maps, before merging.
template <int C>
__device__ void count_details(const FloatParameters& p, std::uint32_t* shared) {
    __shared__ std::uint64_t scratch[warp_lanes];
    __shared__ core::FloatBins bins;
    const Team team = team_of_block<C>();
    FloatRow& row = p.rows[team.row];
    const core::RankPlan& own_plan = row.ranks;
    const core::RankPlan& pooled_plan = p.rows[core::pooled_row].ranks;
    std::uint32_t* own_chosen = shared;
    std::uint32_t* pooled_chosen = own_chosen + chosen_words;
    std::uint32_t* own_table = pooled_chosen + chosen_words;
    std::uint32_t* pooled_table = own_table + 2 * LowCounter::places;
    std::uint32_t* hist = shared + detail_words;
    const bool local = p.columns_log2 >= 0;
    const std::uint32_t columns = 1u << max(p.columns_log2, 0);
    for (std::uint32_t i = threadIdx.x; i < detail_words + (local ? p.bins * columns : 0); i += blockDim.x)
        shared[i] = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        bins = written_bins<C>(p);
        for (int s = 0; s < own_plan.selected; ++s) own_chosen[own_plan.high[s] >> 5] |= 1u << (own_plan.high[s] & 31);
        for (int s = 0; s < pooled_plan.selected; ++s)
            pooled_chosen[pooled_plan.high[s] >> 5] |= 1u << (pooled_plan.high[s] & 31);
    }
    __syncthreads();

    Word* counts = p.counts + static_cast<std::uint64_t>(team.row) * p.bins;
    core::i128 sums[4] = {};
    DetailCounter<C> counter{
        QuickBins(&bins),
        C > 1 && team.row < luma_row,
        {own_chosen, own_table, &own_plan, p.low_counts + team.row * core::max_ranks * 65536},
        {pooled_chosen, pooled_table, &pooled_plan, p.low_counts + core::pooled_row * core::max_ranks * 65536},
        local ? hist + threadIdx.x % columns : nullptr,
        p.columns_log2,
        counts,
        {core::MomentTerms(row.pivot, row.exponent), sums}};
    sweep_row<C>(p, team, counter);
    counter.own.flush();
    counter.pooled.flush();
    __syncthreads();

    counter.own.merge();
    counter.pooled.merge();
    if (local) {
        for (std::uint32_t bin = threadIdx.x; bin < p.bins; bin += blockDim.x) {
            Word sum = 0;
            for (std::uint32_t i = 0; i < columns; ++i) sum += hist[(bin << p.columns_log2) + (i + bin) % columns];
            if (sum) atomicAdd(counts + bin, sum);
        }
    }
    const std::uint64_t below = reduce_block(counter.below, scratch, std::uint64_t{0}, Sum{});
    const std::uint64_t above = reduce_block(counter.above, scratch, std::uint64_t{0}, Sum{});
    if (threadIdx.x == 0) {
        if (below) atomicAdd(&row.below, Word{below});
        if (above) atomicAdd(&row.above, Word{above});
    }
    counter.moments.fold();
    store_moments(row, sums, scratch);
}

// ---- Finish

__device__ inline FloatMoments moments_of(const FloatRow& row) {
    FloatMoments moments{row.pivot, row.exponent, {}};
    for (int k = 0; k < 4; ++k) moments.sums[k] = sum_of(row.sums[k]);
    return moments;
}

/// Order statistics from the low halves, dealt to the blocks; whether the moments are summed again, and about what.
template <int C>
__device__ void finish_rows(const FloatParameters& p) {
    __shared__ std::uint64_t scratch[warp_lanes];
    __shared__ std::uint64_t within;
    __shared__ std::uint32_t low;
    for (int i = blockIdx.x; i < core::float_rows * core::max_ranks; i += gridDim.x) {
        const int index = i / core::max_ranks, r = i % core::max_ranks;
        FloatRow& row = p.rows[index];
        if (r < row.ranks.ranks) {
            const int slot = row.ranks.slot[r];
            const Word* counts = p.low_counts + (index * core::max_ranks + slot) * 65536;
            locate([&](int b) -> std::uint64_t { return counts[b]; }, &row.ranks.within[r], 1, &low, &within, scratch);
            if (threadIdx.x == 0) row.order[r] = core::key_float(row.ranks.high[slot] << 16 | low);
            __syncthreads();  // low may be written again
        }
        if (threadIdx.x != 0 || r != 0 || index >= rows_of(C)) continue;
        double mean = 0;
        row.again = core::poor_pivot(row.finite, moments_of(row), mean);
        if (!row.again) continue;
        row.pivot = mean;
        row.exponent = core::moment_exponent(mean, row.minimum, row.maximum);
        for (int k = 0; k < 4; ++k)
            for (int part = 0; part < 3; ++part) row.sums[k][part] = 0;
    }
}

struct MomentCounter {
    MomentSums moments;
    __device__ void operator()(float value) {
        if (is_finite_key(core::float_key(value))) moments.add(value);
    }
};

/// The moments once more, of the rows whose pivot was poor.
template <int C>
__device__ void sum_moments_again(const FloatParameters& p) {
    __shared__ std::uint64_t scratch[warp_lanes];
    const Team team = team_of_block<C>();
    FloatRow& row = p.rows[team.row];
    if (!row.again) return;
    core::i128 sums[4] = {};
    MomentCounter counter{{core::MomentTerms(row.pivot, row.exponent), sums}};
    sweep_row<C>(p, team, counter);
    counter.moments.fold();
    store_moments(row, sums, scratch);
}

// ---- Normalised copy

struct BinCounter {
    RunCounter runs;
    core::FloatBins bins;
    __device__ void operator()(float value) {
        if (is_finite_key(core::float_key(value))) runs.add(bins(value));
    }
};

/// Equalisation counts 65536 bins over the finite range of colours and luma: alpha lies outside it.
template <int C>
__device__ inline core::FloatBins equalize_bins(const FloatParameters& p) {
    const Range range = finite_range(p, C == 1 ? 1 : luma_row + 1);
    return core::FloatBins(range.lower, range.upper, core::equalize_float_bins, true);
}
template <int C>
__device__ void count_equalize_bins(const FloatParameters& p, std::uint32_t* shared) {
    const Team team = team_of_block<C>();
    if (team.row > luma_row || p.copy.normalization.mode != NormalizeMode::equalize) return;
    BinCounter counter;
    counter.bins = equalize_bins<C>(p);
    count_keys<C>(p, team, counter, p.equalize_counts + team.row * 65536, shared);
}

__device__ inline float order_statistic(const FloatRow& row, double percent) {
    const std::uint64_t rank = core::nearest_rank(percent, row.finite) - 1;
    int r = 0;
    while (row.ranks.rank[r] != rank) ++r;
    return row.order[r];
}

/// Counts of one row's equalisation bins to running sums after the first non-empty bin, by one block.
__device__ inline void accumulate_equalize_bins(FloatRow& row, Word* counts) {
    __shared__ std::uint64_t scratch[warp_lanes];
    __shared__ std::uint64_t first_count;
    const int each = 65536 / blockDim.x, first = threadIdx.x * each;
    std::uint64_t own = 0, total = 0;
    int filled = 0;
    for (int b = first; b < first + each; ++b) {
        own += counts[b];
        filled += counts[b] != 0;
    }
    std::uint64_t cumulative = exclusive_scan(own, scratch, total);
    if (cumulative == 0 && own != 0) {
        int b = first;
        while (counts[b] == 0) ++b;
        first_count = counts[b];
    }
    const std::uint64_t bins = reduce_block(static_cast<std::uint64_t>(filled), scratch, std::uint64_t{0}, Sum{});
    __syncthreads();  // first_count, for all
    if (threadIdx.x == 0) {
        row.keep = bins < 2;
        row.equalize_scale = bins < 2 ? 0 : core::equalize_scale(total, first_count, 1);
    }
    for (int b = first; b < first + each; ++b) {
        cumulative += counts[b];
        counts[b] = cumulative > first_count ? cumulative - first_count : 0;
    }
    __syncthreads();  // first_count may be written again
}

/// What each colour channel is mapped by.
template <int C>
__device__ void plan_mapping(const FloatParameters& p) {
    const Normalization& normalization = p.copy.normalization;
    const bool joint = C > 1 && normalization.joint;
    constexpr int colors = C == 1 ? 1 : 3;
    if (normalization.mode == NormalizeMode::equalize) {
        for (int i = blockIdx.x; i < (C == 1 ? 1 : luma_row + 1); i += gridDim.x)
            accumulate_equalize_bins(p.rows[i], p.equalize_counts + i * 65536);
        return;
    }
    if (blockIdx.x != 0 || threadIdx.x >= colors) return;
    FloatRow& row = p.rows[threadIdx.x];
    const FloatRow& source = joint ? p.rows[core::pooled_row] : row;
    row.keep = source.finite == 0;
    if (row.keep) return;
    if (normalization.mode == NormalizeMode::zscore) {
        core::CentralMoments parts[colors], moments;
        for (int c = 0; c < colors; ++c) parts[c] = core::central_moments(p.rows[c].finite, moments_of(p.rows[c]));
        moments = joint ? core::pool(parts, colors) : parts[threadIdx.x];
        row.low = moments.mean;
        row.high = sqrt(moments.m2);
        return;
    }
    if (normalization.mode == NormalizeMode::percentile) {
        row.low = order_statistic(source, normalization.low);
        row.high = order_statistic(source, normalization.high);
    } else if (joint) {
        std::uint32_t low = 0, high = 0;
        for (int c = 0; c < colors; ++c) {
            low = max(low, p.rows[c].complement_minimum_key);
            high = max(high, p.rows[c].maximum_key);
        }
        row.low = core::key_float(~low);
        row.high = core::key_float(high);
    } else {
        row.low = row.minimum;
        row.high = row.maximum;
    }
    row.keep = row.low == row.high;
}

template <int C>
struct FloatWriter {
    const FloatParameters* p;
    core::FloatBins bins;

    __device__ float map(int channel, float value) const {
        if (channel == 3) return value;  // alpha is left alone
        const NormalizeMode mode = p->copy.normalization.mode;
        const int index = mode == NormalizeMode::equalize && C > 1 && p->copy.normalization.joint ? luma_row : channel;
        const FloatRow& row = p->rows[index];
        if (row.keep || is_nan(value)) return value;
        if (mode == NormalizeMode::zscore) return core::zscore(value, row.low, row.high);
        if (mode == NormalizeMode::equalize) {
            const std::uint32_t bin = bins(value);
            if (bin == core::FloatBins::below) return 0;
            if (bin == core::FloatBins::above) return 1;
            return core::equalize(p->equalize_counts[index * 65536 + bin], row.equalize_scale);
        }
        const float stretched = core::stretch(value, row.low, row.high);
        return mode == NormalizeMode::percentile ? core::clamp_unit(stretched) : stretched;
    }
    __device__ float* target(std::int64_t y, std::int64_t x) const {
        return reinterpret_cast<float*>(static_cast<char*>(p->copy.output) + y * p->copy.row_bytes) + x * C;
    }
    __device__ void group(std::int64_t y, std::int64_t x, const float (&samples)[Group<float, C>::samples]) const {
        float mapped[Group<float, C>::samples];
#pragma unroll
        for (int i = 0; i < Group<float, C>::samples; ++i) mapped[i] = map(i % C, samples[i]);
        store_samples(target(y, x), mapped);
    }
    __device__ void pixel(std::int64_t y, std::int64_t x, const float (&samples)[C]) const {
#pragma unroll
        for (int c = 0; c < C; ++c) target(y, x)[c] = map(c, samples[c]);
    }
};

template <int C>
__device__ void apply_mapping(const FloatParameters& p) {
    FloatWriter<C> writer{&p, equalize_bins<C>(p)};
    sweep<float, C, 1>(p.image, static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                       static_cast<std::int64_t>(gridDim.x) * blockDim.x, writer);
}

/// Phases of the analysis, then those of the normalised copy. Every one needs the one before complete.
enum class Phase { high_halves, plan, details, finish, again, equalize, mapping, apply };
constexpr int analysis_phases = static_cast<int>(Phase::again) + 1, copy_phases = static_cast<int>(Phase::apply) + 1;

template <int C>
__global__ void __launch_bounds__(float_block_threads)
    float_kernel(const __grid_constant__ FloatParameters p, int first, int last) {
    for (int phase = first; phase < last; ++phase) {
        wait_for_phase(phase, first);
        switch (static_cast<Phase>(phase)) {
            case Phase::high_halves:
                count_high_halves<C>(p, dynamic_shared);
                break;
            case Phase::plan:
                plan_rows<C>(p);
                break;
            case Phase::details:
                count_details<C>(p, dynamic_shared);
                break;
            case Phase::finish:
                finish_rows<C>(p);
                break;
            case Phase::again:
                sum_moments_again<C>(p);
                break;
            case Phase::equalize:
                count_equalize_bins<C>(p, dynamic_shared);
                break;
            case Phase::mapping:
                plan_mapping<C>(p);
                break;
            case Phase::apply:
                apply_mapping<C>(p);
                break;
        }
    }
}

}  // namespace

void launch_floats(FloatParameters p, int channels, const Launch& launch) {
    p.parts_log2 = parts_log2(launch);
    const std::size_t details = detail_words * sizeof(std::uint32_t), copy_bytes = p.bins * sizeof(std::uint32_t);
    p.columns_log2 = columns_log2(launch, copy_bytes, details);
    const std::size_t shared_bytes = std::max(std::size_t{131072} >> p.parts_log2,
                                              details + (p.columns_log2 < 0 ? 0 : copy_bytes << p.columns_log2));
    const std::int64_t blocks = blocks_for(p.image.pixels(), word_pixels_per_block) * rows_of(channels);
    const Shape shape{blocks, float_block_threads, shared_bytes};
    with_channels(channels, [&](auto constant) {
        launch_phases(launch, float_kernel<decltype(constant)::value>, p.copy.output ? copy_phases : analysis_phases,
                      shape, p);
    });
}

}  // namespace gpuhist::cuda
