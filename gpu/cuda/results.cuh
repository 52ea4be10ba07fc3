// Writing ImageResult, and telling that it is complete.
#pragma once

#include "core/integers.hpp"
#include "cuda/host/parameters.hpp"

namespace gpuhist::cuda {

/// Writes a channel of 8- or 16-bit integers from the exact sums of its codes; zeros where it has no samples.
__device__ inline void write_channel(ChannelResult& result, Depth depth, std::uint64_t samples, std::uint64_t sum,
                                     core::u128 squares, std::uint32_t minimum, std::uint32_t maximum) {
    result = ChannelResult{};
    if (samples == 0) return;
    const int lowest = depth == Depth::s8 ? -128 : depth == Depth::s16 ? -32768 : 0;
    const core::MeanStd of = core::mean_std(samples, sum, squares);
    result = {samples,
              double(static_cast<int>(minimum) + lowest),
              double(static_cast<int>(maximum) + lowest),
              lowest == 0
                  ? of.mean
                  : core::ratio(static_cast<core::i128>(sum) + static_cast<core::i128>(samples) * lowest, samples),
              of.std,
              sum,
              core::to_public(static_cast<core::i128>(squares))};
}

/// Writes the header: all but `ready`, `channels` and, for f32, the range. By one thread.
__device__ inline void write_header(const Common& common, std::int64_t image, std::int64_t pixels, int channels) {
    ImageResult& result = *result_of(common, image);
    result.depth = common.depth;
    result.detail = Detail::full;
    result.luma_counted = common.report_luma;
    result.upper_closed = false;
    result.weighted = false;
    result.channel_count = channels;
    result.bins = common.bins;
    result.pixels = static_cast<std::uint64_t>(pixels);
    result.range = common.range;
    result.counts_offset = common.layout.counts_offset;
    result.tables_offset = common.layout.tables_offset;
    result.details_offset = common.layout.details_offset;
}

/// Verdict on a block: whether it is the last of `blocks` to arrive, and so sees all that any of them wrote. By one
/// thread, behind a barrier. `arrived` is zero before the first and after the last.
__device__ inline bool arrives_last(std::uint32_t* arrived, unsigned blocks) {
    __threadfence();  // what all threads wrote before the barrier is visible before this block counts as arrived
    const bool last = atomicAdd(arrived, 1u) + 1 == blocks;
    if (last) {
        *arrived = 0;
        __threadfence();
    }
    return last;
}
/// Verdict for all threads of a block, by a barrier before and one behind. `last` is in shared memory.
__device__ inline bool arrive_last(std::uint32_t* arrived, unsigned blocks, bool* last) {
    __syncthreads();
    if (threadIdx.x == 0) *last = arrives_last(arrived, blocks);
    __syncthreads();
    return *last;
}

__device__ inline void set_ready(ImageResult* result) {
    *static_cast<volatile std::uint32_t*>(&result->ready) = 1;
}
/// Publishes a result, by one thread, a barrier behind what others wrote: the fence makes that visible before `ready`.
__device__ inline void publish(ImageResult* result) {
    __threadfence_system();
    set_ready(result);
}

}  // namespace gpuhist::cuda
