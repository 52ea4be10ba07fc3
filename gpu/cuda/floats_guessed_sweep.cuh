// Sweep 1 as a guess lets it: it finds what sweep 2 would, which it spares where the guess was right.
#pragma once

#include <cstdint>

#include "cuda/floats_guess.cuh"
#include "cuda/floats_second_sweep.cuh"
#include "cuda/floats_state.cuh"

namespace gpuhist::cuda {
namespace {

/// From the sample of the image; none is made where it lets expect nothing. By all threads.
template <int C>
__device__ __noinline__ void make_guess(const Task<C, false>& task, BlockPlan& plan, Guess& guess) {
    constexpr int rows = rows_of(C);
    __shared__ Extremes halves[2][rows];
    const int warp = threadIdx.x / warp_lanes;
    __syncthreads();  // shared memory may be written again
    if (threadIdx.x % warp_lanes == 0 && warp < 2 * rows)
        halves[warp / rows][warp % rows] = fresh_copy(task.state().sampled[warp / rows][warp % rows]);
    __syncthreads();  // the sample's extremes, for all
    if (threadIdx.x < rows) {
        const int r = threadIdx.x;
        const Extremes &a = halves[0][r], &b = halves[1][r];
        std::uint32_t* keys = guess.extremes.keys[r];
        keys[0] = max(a.complement_minimum_key, b.complement_minimum_key);
        keys[1] = max(a.maximum_key, b.maximum_key);
        guess.extremes.odd[r] = {};
        for (auto& power : guess.sums[r])
            for (Word& part : power) part = 0;
        RowPlan& row = plan.rows[r];
        row.facts = {static_cast<std::uint64_t>(task.image.pixels()), 0, core::key_float(~keys[0]),
                     core::key_float(keys[1])};
        plan_sums(task, r, row);
    } else if (threadIdx.x == warp_lanes) {
        std::uint32_t low[2] = {}, high[2] = {};
        Word odd = 0;
        bool constant = true;
        for (int half = 0; half < 2; ++half)
            for (const Extremes& row : halves[half]) {
                low[half] = max(low[half], row.complement_minimum_key);
                high[half] = max(high[half], row.maximum_key);
                odd += row.nan + row.positive_infinite + row.negative_infinite;
                constant = constant && row.maximum_key == ~row.complement_minimum_key;
            }
        const float lower = core::key_float(~low[0]), upper = core::key_float(high[0]);
        guess.made = low[0] == low[1] && high[0] == high[1] && odd == 0 && !constant && lower < upper;
        guess.lowest = lower;
        guess.highest = upper;
        guess.belied = &task.state().belied;
        plan.rgb = task.common().rgb;
        plan.bins = core::FloatBins(lower, upper, task.common().bins, true);
    }
    __syncthreads();  // the guess, for all
    if (!guess.made) return;
    BinPosition position{};
    const bool right = find_position(plan.bins, position);
    if (threadIdx.x == 0) {
        plan.position[0] = plan.position[1] = position;
        guess.made = right;
    }
    __syncthreads();  // the plan, for all
}

/// Sweep 1 by a guess: what it counts and sums up stays in the block. Extremes are added to those of the image.
template <int C>
__device__ __noinline__ void count_guessed(const Task<C, false>& task, const BlockPlan& plan, Guess& guess) {
    constexpr int rows = rows_of(C);
    Slots<rows>::prepare(dynamic_shared, plan.bins.bins);
    __syncthreads();  // clear memory
    typename DetailCounter<C, false>::Found found;
    count_slots<C, false, Samples::guessed>(task.image, task.share_of_grid(), plan, dynamic_shared, 0, &guess, found);
    std::uint32_t samples[rows];
    for (std::uint32_t& of : samples) of = found.samples;
    merge_moments<RawSums>(found.totals, samples, guess.sums, sizeof(PartSums));
    __syncthreads();  // every thread's extremes have come
    if (threadIdx.x < rows) guess.extremes.merge(threadIdx.x, task.row(threadIdx.x).found);
}

/// Whether the guess was right; what the block counted is then added to that of the image. By all threads.
template <int C>
__device__ __noinline__ bool keep_guessed(const Task<C, false>& task, BlockPlan& plan, Guess& guess) {
    constexpr int rows = rows_of(C);
    const int warp = threadIdx.x / warp_lanes;
    bool right = true;
    if (threadIdx.x % warp_lanes == 0 && warp < rows) {
        const RowFacts facts = facts_of(task, warp);
        right = core::moment_exponent(0, facts.minimum, facts.maximum) == plan.rows[warp].exponent;
    } else if (threadIdx.x % warp_lanes == 0 && warp == rows) {
        right = fresh(task.state().belied) == 0;
    }
    right = __syncthreads_and(right);
    if (threadIdx.x == 0) guess.made = right;
    if (!right) return false;
    for (int i = threadIdx.x; i < rows * 12; i += blockDim.x)
        if (const Word sum = guess.sums[i / 12][i / 3 % 4][i % 3]; sum != 0)
            atomicAdd(&task.row(i / 12).found.sums[i / 3 % 4][i % 3], sum);
    gather_slots<rows>(task, plan, dynamic_shared, 0);
    return true;
}

}  // namespace
}  // namespace gpuhist::cuda
