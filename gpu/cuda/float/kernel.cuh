// Kernel of f32 images: the two sweeps of statistics/float_analysis.hpp, and the normalized copy.
#pragma once

#include "cuda/float/finish.cuh"
#include "cuda/float/second_sweep.cuh"
#include "cuda/float/selection.cuh"
#include "cuda/float/speculation.cuh"

namespace gpuhist::cuda {
namespace {

/// State of a block, in shared memory: once a sweep has passed through the caches, threads' own memory is far away, and
/// so are the launch's parameters where a pointer leads to them.
struct BlockState {
    F32Work work;
    BlockPlan plan;
    Speculation speculation;
    bool last;  ///< the last block to come to the end of a step
};

/// Finds extremes, bins and moments of all channels. The pixels are dealt to all blocks, and each accumulates all
/// channels of its pixels.
template <int C, class OfImage>
__device__ void analyze(const Task<C, false>& task, BlockState& block, OfImage of_image) {
    constexpr bool may_speculate = std::is_same_v<OfImage, NoResidentImage> || std::is_same_v<OfImage, Mask>;
    bool counted = false;
    if constexpr (may_speculate) counted = speculate(task, block.plan, block.speculation, of_image);
    if (!counted) find_extremes(task, task.partition_of_grid(), &task.channel(0).found, sizeof(F32Channel), of_image);
    wait_for_grid();
    if constexpr (may_speculate) counted = counted && keep_speculation<C, OfImage>(task, block.plan, block.speculation);
    if (!counted) {
        make_plan(task, block.plan);
        count_details(task, block.plan, 0, task.partition_of_grid(), false, of_image);
    }
    if (task.work->wide) {
        wait_for_grid();
        write_counts(task);
    }
    if (!arrive_last(&task.state().arrived, gridDim.x, &block.last)) return;
    if (threadIdx.x == blockDim.x - 1) back_off(task, counted);  // its warp is the least busy
    complete(task);
}

/// Finds order statistics too, by a digit per sweep. From the second sweep on a channel's counters fill the shared
/// memory, so that blocks are dealt to channels; blocks of different channels read the same pixels at about the same
/// time, mostly from L2.
template <int C, class OfImage>
__device__ void analyze(const Task<C, true>& task, BlockState& block, OfImage of_image) {
    constexpr int channels = measured_channels(C);
    __shared__ DigitTable table;
    find_extremes(task, task.partition_of_grid(), &task.channel(0).found, sizeof(F32Channel), of_image);
    wait_for_grid();
    locate<0>(task);
    if (threadIdx.x == 0) block.plan.digits = &table;
    make_plan(task, block.plan);
    wait_for_grid();
    for_channels(task, channels, [&](int channel, const WorkPartition& partition) {
        const ChannelPlan& plan = block.plan.channels[channel];
        count_digits<1>(task, table, channel, partition, task.work->digits_at, plan.fill(),
                        plan.in_fill(block.plan.slots),
                        [&](bool again) { count_details(task, block.plan, channel, partition, again, of_image); });
    });
    clear_digits<0>(task);
    wait_for_grid();
    locate<1>(task);
    if (task.work->wide) write_counts(task);
    wait_for_grid();
    for_channels(task, channels, [&](int channel, const WorkPartition& partition) {
        sum_moments(task, table, channel, partition, false, of_image);
    });
    clear_digits<1>(task);
    wait_for_grid();
    if (blockIdx.x == gridDim.x - 1) decide_pivots(task);
    locate<2>(task);
    wait_for_grid();
    clear_digits<2>(task);
    for (int channel = 0; channel < channels; ++channel)
        if (fresh(task.channel(channel).again))
            sum_moments(task, table, channel, task.partition_of_grid(), true, of_image);
    if (arrive_last(&task.state().arrived, gridDim.x, &block.last)) complete(task);
}

/// Kernel that finds extremes, non-finite samples, bins, moments and, in full, order statistics of every channel of
/// every image, and writes its normalized copy. Launch: cooperative, one block per multiprocessor; all blocks at the
/// same step of the same image, where they meet by atomic additions in device memory. The last to come to the end
/// writes the result. The next image's first sweep does not wait for it: it adds to the other state. Bytes: each pixel
/// is read twice (the second time from L2 where it fits), or once where a speculation is right or the image is
/// resident; in full three times; once more where a pivot was poor, for equalization, and for the copy, which is
/// written once. Limit: fewer than 2^22 samples per thread, see CentralSums, and 2^32 pixels per block.
template <int C, bool Full, class Images, class OfImage>
__global__ void __launch_bounds__(f32_threads_of(C, Full), 1)
    f32_kernel(const __grid_constant__ Images images, const __grid_constant__ F32Work work) {
    __shared__ Task<C, Full> task;
#pragma nv_diag_push
#pragma nv_diag_suppress 20054  // shared memory does not begin with their members' initial values
    __shared__ BlockState block;
#pragma nv_diag_pop
    const OfImage of_image = [&] {
        if constexpr (std::is_same_v<OfImage, Mask>)
            return work.mask;
        else
            return resident_image_of<OfImage>(images.image(0), shared_address(dynamic_shared) + work.resident_at,
                                              work.resident_rounds);
    }();
    if constexpr (is_resident<OfImage>) of_image.begin();
    if (threadIdx.x == 0) block.work = work;
    for (int index = 0; index < static_cast<int>(images.count); ++index) {
        __syncthreads();  // the block is done with the image before
        const auto task_of = [&](const F32Work& parameters) {
            return Task<C, Full>{&parameters, index, images.image(index), images.output_of(index)};
        };
        if (threadIdx.x == 0) task = task_of(block.work);
        __syncthreads();  // the task, for all
        analyze(task, block, of_image);
        if constexpr (!std::is_same_v<OfImage, Mask>) {  // no copy of a masked image is written here
            if (!work.common.normalize) continue;
            wait_for_grid();
            if (work.common.needs == NormalizeNeeds::counts) {
                count_equalized(task);
                wait_for_grid();
                equalize(task);
                wait_for_grid();
            }
            apply(task_of(work), of_image);  // inlined, the compiler knows that all threads have the task in common
        }
    }
}

}  // namespace

/// Enqueues the brief analysis of a single image that is resident from the first sweep on; false: there is no room for
/// it behind the `bytes` of dynamic shared memory that the analysis takes.
template <int C>
bool launch_resident_f32(const Tensor& images, F32Work work, std::int64_t blocks, std::size_t bytes,
                         const Launch& launch);

/// Enqueues the analysis of a single image with a mask, likewise.
template <int C, bool Full>
void launch_masked_f32(const Tensor& images, const F32Work& work, std::int64_t blocks, std::size_t bytes,
                       const Launch& launch);

}  // namespace gpuhist::cuda
