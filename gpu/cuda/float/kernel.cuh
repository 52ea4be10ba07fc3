// f32 images: the two sweeps of core/float_analysis.hpp, step by step.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/float/finish.cuh"
#include "cuda/float/first_sweep.cuh"
#include "cuda/float/middle_digits.cuh"
#include "cuda/float/second_sweep.cuh"
#include "cuda/float/selection.cuh"
#include "cuda/float/speculative_sweep.cuh"
#include "cuda/float/state.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/normalize/f32.cuh"
#include "cuda/results.cuh"

namespace gpuhist::cuda {
namespace {

// ---- Steps

template <int C, bool Full, class OfImage>
__device__ void first_sweep(const Task<C, Full>& task, BlockPlan& plan, Guess& guess, OfImage tile) {
    if constexpr (Full) {
        for_rows(task, rows_of(C), [&](int row, const Share& share) { count_high_halves(task, row, share); });
    } else if constexpr (is_kept<OfImage>) {
        find_extremes(task, task.share_of_grid(), &task.row(0).found, sizeof(FloatRow), tile);
    } else {
        bool guessed = false;
        if (task.sampled()) {
            find_extremes(task, task.sample(), task.state().sampled[blockIdx.x % sample_parts], sizeof(Extremes), tile);
            wait_for_grid();  // the sample's extremes, for all blocks
            make_guess(task, plan, guess);
            guessed = guess.made;
        }
        if (guessed)
            count_guessed(task, plan, guess);
        else
            find_extremes(task, task.share_of_grid(), &task.row(0).found, sizeof(FloatRow), tile);
    }
}

/// Ranks and pivots, the rows dealt to the blocks.
template <int C, bool Full>
__device__ void plan_ranks(const Task<C, Full>& task) {
    if constexpr (Full)
        for (int i = blockIdx.x; i < core::float_rows; i += gridDim.x)
            if (is_ranked<C>(i)) plan_row(task, i);
}

/// Where a guess is of no use it is not of the next images either, most likely; the more often, the longer none is
/// tried. By one thread of the last block.
template <int C>
__device__ void count_images_without(const Task<C, false>& task, const Guess& guess) {
    if (!task.large()) return;
    FloatState& state = task.state();
    if (const std::uint32_t left = fresh(state.without); left > 0)
        state.without = left - 1;
    else
        state.without = state.doubts = guess.made ? 0 : min(2 * fresh(state.doubts) + 1, most_images_without_guess);
}

template <int C, bool Full, class OfImage>
__device__ void second_sweep(const Task<C, Full>& task, BlockPlan& plan, Guess& guess, OfImage tile, bool* last) {
    if constexpr (Full) {
        const Share all = task.share_of_grid();
        make_plan(task, plan);
        for_rows(task, rows_of(C), [&](int row, const Share& share) { count_details(task, plan, row, share, tile); });
        // The plan is made: the counts of high halves are zero again for the next image.
        for (int r = 0; r < rows_of(C); ++r) {
            const RowFacts& facts = plan.rows[r].facts;
            if (facts.finite == 0) continue;
            const std::int64_t first = core::float_key(facts.minimum) >> 16,
                               end = (core::float_key(facts.maximum) >> 16) + 1;
            for (std::int64_t half = first + all.first; half < end; half += all.step) task.high(r)[half] = 0;
        }
    } else {
        bool found = false;
        if constexpr (!is_kept<OfImage>) found = guess.made && keep_guessed(task, plan, guess);
        if (!found) {
            make_plan(task, plan);
            count_details(task, plan, 0, task.share_of_grid(), tile);
        }
        if (!arrive_last(&task.state().arrived, gridDim.x, last)) return;
        if (threadIdx.x == blockDim.x - 1) count_images_without(task, guess);  // its warp is the least busy
        if (!task.work->wide) complete(task);
    }
}

/// Low halves by middles; the last block, and no other, decides about moments meanwhile.
template <int C, bool Full>
__device__ void sum_up(const Task<C, Full>& task) {
    if constexpr (Full) {
        const int others = static_cast<int>(gridDim.x) - 1;
        if (static_cast<int>(blockIdx.x) == others) decide(task);
        if (static_cast<int>(blockIdx.x) < others || others == 0) sum_lows(task, max(others, 1));
    }
}

/// Order statistics; moments of which the pivot was poor; many counts. The last block writes the result.
template <int C, bool Full>
__device__ void finish(const Task<C, Full>& task, BlockPlan& plan, bool* last) {
    FloatState& state = task.state();
    if constexpr (Full) {
        finish_all_ranks(task);
        for (int row = 0; row < rows_of(C); ++row)
            if (fresh(state.rows[row].again)) sum_again(task, plan, row);
    }
    if (task.work->wide) {
        const Common& common = task.common();
        const Share all = task.share_of_grid();
        const std::int64_t bins = common.bins;
        for (int row = 0; row < rows_of(C); ++row) {
            Word *from = task.counts(row), *to = counts_of(common, task.index, result_row(row, C, common.rgb));
            for (std::int64_t bin = all.first; bin < bins; bin += all.step) {
                to[bin] = __ldcg(from + bin);
                from[bin] = 0;
            }
        }
    }
    if (!arrive_last(&state.arrived, gridDim.x, last)) return;
    complete(task);
}

// ---- The kernel

/// Extremes, NaN, ±Inf, bins, moments and, in full, order statistics of every row of every image; then its normalised
/// copy.
/// Launch: cooperative, one block a multiprocessor; or one launch a phase. Images follow each other, all blocks at the
/// same step of the same image; a phase is a step of an image.
/// Brief: all blocks share the pixels, and each looks at all rows of its pixels. Full: blocks are dealt to the rows in
/// turn, since 65536 counters of 16 bits fill the shared memory, and those of a row share the pixels; blocks of
/// different rows read the same pixels at about the same time, mostly from L2. Of large images, in brief analyses, a
/// sample may let sweep 1 find all, see Guess. A single image may stay in shared memory, see Tile: then it is read
/// once. In device memory blocks meet by atomic additions; the last to come to the end writes the result.
/// Barriers: before the phases, each of which needs the one before complete, but for an image's first, which adds to
/// the other state, and one behind a phase with nothing to do; behind the sample; those within a block are told where
/// they stand. Bytes: each pixel is read twice (the second time from L2 where it fits), or once where a guess is right;
/// once more where an image is narrow, where a pivot was poor, for equalisation, and for the copy, which is written
/// once. Limit: fewer than 2^22 samples a thread, see CentralSums, and 2^32 pixels a block.
template <int C, bool Full, class Images, class OfImage>
__global__ void __launch_bounds__(float_threads_of(C, Full), 1)
    floats_kernel(const __grid_constant__ Images images, const __grid_constant__ FloatWork work, int first, int last) {
    // In shared memory: once a sweep has passed through the caches, what threads keep in memory of their own is far
    // away, and so are the launch's parameters where a pointer leads to them.
    __shared__ Task<C, Full> task;
#pragma nv_diag_push
#pragma nv_diag_suppress 20054  // that shared memory does not begin with their members' initial values
    __shared__ FloatWork near;
    __shared__ BlockPlan plan;
#pragma nv_diag_pop
    __shared__ Guess guess;
    __shared__ bool last_block;
    const OfImage tile =
        tile_of<OfImage>(images.image(0), shared_address(dynamic_shared) + work.tile_at, work.tile_rounds);
    if constexpr (is_kept<OfImage>) tile.begin();
    if (threadIdx.x == 0) near = work;
    auto task_of = [&](int phase, const FloatWork& parameters) {
        const int index = phase / work.steps;
        const bool after_a_guess = work.step[phase % work.steps] > Step::second_sweep && guess.made;
        return Task<C, Full>{&parameters, index, images.image(index), images.output_of(index),
                             work.backwards[phase % work.steps] != after_a_guess};
    };
    bool same_step = false;  // the phase before had nothing to do
    for (int phase = first; phase < last; ++phase) {
        const Step step = work.step[phase % work.steps];
        if (step == Step::first_sweep || same_step)
            __syncthreads();  // the block is done with what was before
        else
            wait_for_grid();
        same_step = false;
        if (threadIdx.x == 0) {
            if (step == Step::first_sweep || phase == first) guess.made = false;
            task = task_of(phase, near);
        }
        __syncthreads();  // the task, for all
        switch (step) {
            case Step::first_sweep:
                first_sweep(task, plan, guess, tile);
                break;
            case Step::plan:
                plan_ranks(task);
                break;
            case Step::refine:
                if constexpr (Full) same_step = !count_middles(task);
                break;
            case Step::second_sweep:
                second_sweep(task, plan, guess, tile, &last_block);
                break;
            case Step::sum_up:
                sum_up(task);
                break;
            case Step::finish:
                finish(task, plan, &last_block);
                break;
            case Step::count_equalized:
                count_equalized(task);
                break;
            case Step::equalize:
                equalize(task);
                break;
            case Step::apply:  // inlined: of its own the compiler knows that all threads have it in common
                apply(task_of(phase, work), tile);
                break;
        }
    }
}

}  // namespace

/// Enqueues the brief analysis of a single image that stays in shared memory from the first sweep on, if there is room
/// for it behind the `bytes` of dynamic shared memory that the analysis takes; else returns false.
template <int C>
bool launch_kept_floats(const Tensor& images, FloatWork work, std::int64_t blocks, std::size_t bytes,
                        const Launch& launch);

}  // namespace gpuhist::cuda
