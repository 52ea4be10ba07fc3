// Sweep 1 as a guess lets it: it finds what sweep 2 would, which it spares where the guess was right.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/float/second_sweep.cuh"
#include "cuda/float/speculation.cuh"
#include "cuda/float/state.cuh"

namespace gpuhist::cuda {
namespace {

/// How far an image may go beyond a sample of it at one end; 0: not at all. By a warp each of whose lanes has the key
/// of what a part of the sample found there, the larger the further out, the complement of a minimum's; 0 where it
/// found nothing. `furthest`: of all.
///
/// Where values are about as dense near the image's extreme as a little before it, those of n parts lie independent
/// exponential distances from it. The outermost then lies E / n from it, and the m-th Σ E_k / k from the outermost, for
/// k from n − m + 1 to n − 1, with independent exponential E of one mean. So the image's is more than a third of that
/// sum beyond the outermost in Π k / (k + n / 3) of images, one of 280. The m-th, not the mean of all: what is rare, as
/// the pixels of one bright spot, may be in some of the parts alone.
__device__ __noinline__ double beyond_sample(std::uint32_t own, std::uint32_t furthest, bool minimum) {
    constexpr int agreeing = 5, m = sample_parts / 2;  // agreeing parts: the image has nothing beyond
    static_assert(sample_parts == warp_lanes);
    if (__popc(__ballot_sync(0xFFFFFFFFu, own == furthest)) >= agreeing) return 0;
    int further = 0;
#pragma unroll 4
    for (int lane = 0; lane < warp_lanes; ++lane) {
        const std::uint32_t other = __shfl_sync(0xFFFFFFFFu, own, lane);
        further += other > own || (other == own && lane < threadIdx.x % warp_lanes);
    }
    const std::uint32_t at = __ballot_sync(0xFFFFFFFFu, further == m - 1),
                        middle = __shfl_sync(0xFFFFFFFFu, own, __ffs(at) - 1), flip = minimum ? ~0u : 0u;
    if (middle == 0) return INFINITY;
    return fabs(static_cast<double>(core::key_float(furthest ^ flip)) - core::key_float(middle ^ flip)) * (1.0 / 3);
}

/// Where samples and the edges of the bins are expected. By a warp, each lane with a part of the sample.
template <int C>
__device__ inline void expect_edges(const Task<C, false>& task, const Extremes (&part)[rows_of(C)], BlockPlan& plan,
                                    Guess& guess) {
    std::uint32_t minimum = 0, maximum = 0;
    bool odd = false, constant = true;
#pragma unroll 1
    for (const Extremes& row : part) {
        minimum = max(minimum, row.complement_minimum_key);
        maximum = max(maximum, row.maximum_key);
        odd = odd || (row.nan | row.positive_infinite | row.negative_infinite) != 0;
        constant = constant && (row.maximum_key == 0 || row.maximum_key == ~row.complement_minimum_key);
    }
    const bool finite = __all_sync(0xFFFFFFFFu, !odd), varied = __any_sync(0xFFFFFFFFu, !constant);
    const std::uint32_t lowest = max_over_warp(minimum), highest = max_over_warp(maximum);
    const double below = beyond_sample(minimum, lowest, true), above = beyond_sample(maximum, highest, false);
    if (threadIdx.x % warp_lanes != 0) return;

    // Bins whose edges the image's are not over, by a little, and not further below than a window. But none is moved
    // where pixels may be clipped: these must not lie in one.
    const double lower = core::key_float(~lowest), upper = core::key_float(highest), little = (upper - lower) * 0x1p-28;
    const std::uint32_t bins = task.common().bins;
    plan.rgb = task.common().rgb;
    plan.bins =
        core::FloatBins(below > 0 ? lower + little : lower, above > 0 ? upper + above + little : upper, bins, true);
    const double beyond = fmax(below, above),
                 window = beyond > 0 ? (beyond + 4 * little) * plan.bins.scale + 0x1p-28 : 0,
                 pixels = static_cast<double>(task.image.pixels());
    guess.capacity = task.work->listed_of_row;
    guess.made = finite && varied && lower < upper &&
                 (window == 0 || (pixels >= listed_pixels(C) && window < most_window &&
                                  2 * pixels * window < static_cast<double>(guess.capacity) * gridDim.x));
    guess.lowest = __double2float_rd(lower - below);
    guess.highest = __double2float_ru(upper + above);
    guess.window = static_cast<std::uint32_t>(window * 0x1p32);
    guess.position = {plan.bins.scale, BinPosition::whole - plan.bins.lower * plan.bins.scale + window + 0x1p-29};
    plan.position[0] = plan.position[1] = guess.position;
    guess.list =
        task.template place<uint4>(Places<C>::low) + static_cast<std::size_t>(blockIdx.x) * rows_of(C) * guess.capacity;
    guess.belied = &task.state().belied;
}

/// From the sample of the image; none is made where it lets expect nothing. By all threads.
template <int C>
__device__ __noinline__ void make_guess(const Task<C, false>& task, BlockPlan& plan, Guess& guess) {
    constexpr int rows = rows_of(C);
    __shared__ Extremes parts[sample_parts][rows];
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;
    __syncthreads();  // shared memory may be written again
    for (int i = threadIdx.x; i < sample_parts * rows; i += blockDim.x)
        parts[i / rows][i % rows] = fresh_copy(task.state().sampled[i / rows][i % rows]);
    __syncthreads();  // the sample's extremes, for all
    if (warp < rows) {
        const Extremes& part = parts[lane][warp];
        const std::uint32_t minimum = max_over_warp(part.complement_minimum_key),
                            maximum = max_over_warp(part.maximum_key);
        if (lane == 0) {
            guess.extremes.keys[warp][0] = minimum;
            guess.extremes.keys[warp][1] = maximum;
            guess.extremes.odd[warp] = {};
            guess.listed[warp] = 0;
            RowPlan& row = plan.rows[warp];
            row.facts = {static_cast<std::uint64_t>(task.image.pixels()), 0, core::key_float(~minimum),
                         core::key_float(maximum)};
            plan_sums(task, warp, row);
            guess.exponents[warp] = row.exponent;
        } else if (lane <= 12) {
            guess.sums[warp][(lane - 1) / 3][(lane - 1) % 3] = 0;
        }
    } else if (warp == rows) {
        expect_edges(task, parts[lane], plan, guess);
    }
    __syncthreads();  // the guess, for all
    if (!guess.made || guess.window != 0) return;
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
    typename DetailCounter<C, false>::Seldom seldom;
    const auto count = [&](auto kind) {
        const auto add = [sums = guess.sums](int r, int power, int part, Word sum) { sums[r][power][part] = sum; };
        count_slots<C, false, kind()>(task.image, task.share_of_grid(), plan, dynamic_shared, 0, &guess, seldom, add);
    };
    if (guess.window == 0)
        count(std::integral_constant<Samples, Samples::guessed>{});
    else
        count(std::integral_constant<Samples, Samples::guessed_and_listed>{});
    // Behind the barrier of merge_moments: every thread's extremes have come, and what it listed.
    if (threadIdx.x < rows) {
        guess.extremes.merge(threadIdx.x, task.row(threadIdx.x).found);
        if (guess.overflowed(threadIdx.x)) *static_cast<volatile std::uint32_t*>(guess.belied) = 1;
    }
    if (guess.window == 0) return;
    // What the sweep has driven out of L2 is there again once all blocks have come.
    constexpr int in_a_line = 128 / sizeof(uint4);
    for (int row = 0; row < rows; ++row)
        for (std::uint32_t i = threadIdx.x * in_a_line; i < guess.listed_of(row); i += blockDim.x * in_a_line)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(guess.list_of(row) + i));
}

/// Plans sweep 2 as if there were one. Whether its edges are where they were expected, so far as this thread looks.
template <int C>
__device__ __noinline__ bool expected_edges(const Task<C, false>& task, BlockPlan& plan, const Guess& guess) {
    make_plan(task, plan);
    bool right = plan.slots;
    for (std::uint32_t i = 1 + threadIdx.x; i < plan.bins.bins; i += blockDim.x)
        right = right && guess.expects_edge(plan.bins, i);
    return right;
}

/// Counts what the block listed by the edges that were found, `plan`, if the guess was `right`, and clears the list,
/// where full analyses count low halves. By all threads.
template <int C>
__device__ __noinline__ void count_listed(const BlockPlan& plan, const Guess& guess, bool right) {
    constexpr int rows = rows_of(C);
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;
    const int row = warp % rows, warps_of_row = blockDim.x / warp_lanes / rows;
    const BinPosition guessed = guess.position, known = plan.position[0];
    uint4* list = guess.list_of(row);
    const std::uint32_t listed = warp < rows * warps_of_row ? guess.listed_of(row) : 0;
#pragma unroll 1
    for (std::uint32_t i = warp / rows * warp_lanes + lane; i < listed; i += warps_of_row * warp_lanes) {
        uint4 four = __ldcg(list + i);
        list[i] = uint4{};
#pragma unroll 1
        for (int k = 0; k < 4 && right; ++k, four = {four.y, four.z, four.w, four.x}) {
            const float value = __uint_as_float(four.x);
            if (value != value) continue;
            const std::int32_t from = guessed.bin(value), to = known.bin(value);
            if (from == to) continue;
            atomicSub(Slots<rows>::counter(dynamic_shared, from, row), 1u);
            atomicAdd(Slots<rows>::counter(dynamic_shared, to, row), 1u);
        }
    }
    __syncthreads();  // every sample is counted where it belongs
}

/// Whether the guess was right; what the block counted is then added to that of the image. By all threads.
template <int C>
__device__ __noinline__ bool keep_guessed(const Task<C, false>& task, BlockPlan& plan, Guess& guess) {
    constexpr int rows = rows_of(C);
    const int warp = threadIdx.x / warp_lanes;
    const bool listed = guess.window != 0;
    bool right = !listed || expected_edges(task, plan, guess);
    if (threadIdx.x % warp_lanes == 0 && warp < rows)
        right = right && exponent_of(facts_of(task, warp)) == guess.exponents[warp];
    else if (threadIdx.x % warp_lanes == 0 && warp == rows)
        right = right && fresh(task.state().belied) == 0;
    right = __syncthreads_and(right);
    if (threadIdx.x == 0) guess.made = right;
    if (listed) count_listed<C>(plan, guess, right);
    if (!right) return false;
    for (int i = threadIdx.x; i < rows * 12; i += blockDim.x)
        if (const Word sum = guess.sums[i / 12][i / 3 % 4][i % 3]; sum != 0)
            global_add(&task.row(i / 12).found.sums[i / 3 % 4][i % 3], sum);
    gather_slots<rows>(task, plan, dynamic_shared, 0);
    return true;
}

}  // namespace
}  // namespace gpuhist::cuda
