// Few regions: of 8 bits, a histogram per label in a block's shared memory, by one sweep and without sorting.

#include <algorithm>
#include <climits>
#include <limits>

#include "core/luma.hpp"
#include "cuda/block/reduce.cuh"
#include "cuda/block/shared_memory.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/pixels/walk.cuh"
#include "cuda/results.cuh"
#include "cuda/sorted/regions.cuh"
#include "statistics/percentiles.hpp"

namespace gpuhist::cuda {
namespace {

constexpr int values = 256, threads = 1024, finish_threads = 256, lane_pixels = 4,
              warp_pixels = warp_lanes * lane_pixels;

/// Block's counters and boxes of an image's labels, in dynamic shared memory.
struct BlockRegions {
    std::uint32_t* counts;    ///< [label][value]
    std::uint32_t* excluded;  ///< [label][2], as FewRegionsMemory
    RegionBox* boxes;

    __device__ explicit BlockRegions(std::uint64_t labels)
        : counts(dynamic_shared),
          excluded(counts + labels * values),
          boxes(reinterpret_cast<RegionBox*>(excluded + (labels + 1) / 2 * 4)) {}
    static std::size_t bytes(std::uint64_t labels) {
        return labels * values * sizeof(std::uint32_t) + (labels + 1) / 2 * 16 + labels * sizeof(RegionBox);
    }
};

/// Kernel that clears the memory. Launch: any grid.
__global__ void __launch_bounds__(threads)
    begin_kernel(const __grid_constant__ FewRegionsMemory memory, std::uint64_t numbers, bool first) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * threads;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x; i < numbers * values; i += step) {
        memory.counts[i] = 0;
        if (i < 2 * numbers) memory.excluded[i] = 0;
        if (first && i < numbers) memory.boxes[i] = no_box;
        if (first && i == 0) *memory.refused = 0;
    }
}

/// Kernel that counts the codes of a channel of the results, and with the first one finds boxes. Launch: a block per
/// multiprocessor, in rows of the grid for the images. Limit: fewer than 2^32 pixels per block.
template <class Label>
__global__ void __launch_bounds__(threads, 1)
    few_kernel(const __grid_constant__ LabeledImages images, const __grid_constant__ LabelNumbers numbers,
               const __grid_constant__ FewRegionsMemory memory, bool first) {
    const SortedChannel& channel = images.channel;
    const auto labels = static_cast<std::uint32_t>(numbers.of_each);
    const BlockRegions block(labels);
    const std::int64_t width = channel.image.width, segments = (width + warp_pixels - 1) / warp_pixels,
                       warps = std::int64_t{gridDim.x} * (threads / warp_lanes),
                       warp = std::int64_t{blockIdx.x} * (threads / warp_lanes) + threadIdx.x / warp_lanes;
    for (std::int64_t image = blockIdx.y; image < images.images; image += gridDim.y) {
        for (std::uint32_t i = threadIdx.x; i < labels * values; i += threads) block.counts[i] = 0;
        for (std::uint32_t i = threadIdx.x; i < 2 * labels; i += threads) block.excluded[i] = 0;
        for (std::uint32_t i = threadIdx.x; i < labels; i += threads) block.boxes[i] = no_box;
        __syncthreads();  // clear memory
        for (std::int64_t item = warp; item < segments * channel.image.height; item += warps) {
            const std::int64_t y = divide(item, segments),
                               x = (item - y * segments) * warp_pixels + threadIdx.x % warp_lanes * lane_pixels;
            const auto* label_at =
                reinterpret_cast<const Label*>(static_cast<const char*>(images.labels.data) +
                                               image * images.labels_bytes + y * images.labels.row_bytes) +
                x;
            const auto* pixel = static_cast<const std::uint8_t*>(channel.image.data) + image * images.image_bytes +
                                y * channel.image.row_bytes + x * channel.pixel_samples;
            const std::uint8_t* mask =
                channel.mask.data ? channel.mask.data + image * images.mask_bytes + y * channel.mask.row_bytes + x
                                  : nullptr;
            const int pixels = static_cast<int>(min(std::int64_t{lane_pixels}, width - x));
            std::uint32_t label[lane_pixels], code[lane_pixels];
            bool valid[lane_pixels], nodata[lane_pixels];
#pragma unroll
            for (int k = 0; k < lane_pixels; ++k) {
                const bool in = k < pixels;
                const auto sample = [&](int place) {
                    return static_cast<std::uint8_t>(pixel[k * channel.pixel_samples + place] ^ images.flip);
                };
                label[k] = in ? std::uint32_t{label_at[k]} : 0;
                valid[k] = in && (!mask || is_valid(images, mask[k]));
                nodata[k] = in && images.classes && mask[k] == nodata_class;
                code[k] = !in            ? 0
                          : channel.luma ? core::luma_code<std::uint8_t>(sample(channel.first), sample(channel.green),
                                                                         sample(channel.last))
                                         : sample(channel.first);
            }
            int run = 0;  // where the equal labels began
#pragma unroll
            for (int k = 0; k < lane_pixels; ++k) {
                if (k >= pixels) continue;
                const std::uint32_t of = label[k] - numbers.first;
                if (first && label[k] > numbers.largest) atomicAdd(memory.refused, Word{1});
                if (of < labels) {
                    std::uint32_t* const counter =
                        valid[k] ? block.counts + of * values + code[k] : block.excluded + 2 * of + nodata[k];
                    if (valid[k] || nodata[k] || first) shared_increment(shared_address(counter));
                }
                const bool ends = k + 1 == pixels || (k + 1 < lane_pixels && label[k + 1] != label[k]);
                if (first && ends && of < labels)
                    widen(block.boxes[of], {static_cast<int>(x) + run, static_cast<int>(y), static_cast<int>(x) + k,
                                            static_cast<int>(y)});
                if (ends) run = k + 1;
            }
        }
        __syncthreads();  // all are counted
        const std::uint64_t begin = static_cast<std::uint64_t>(image) * labels;
        for (std::uint32_t i = threadIdx.x; i < labels * values; i += threads)
            if (block.counts[i] != 0) global_add(memory.counts + begin * values + i, Word{block.counts[i]});
        for (std::uint32_t i = threadIdx.x; i < 2 * labels; i += threads)
            if (block.excluded[i] != 0) global_add(memory.excluded + 2 * begin + i, Word{block.excluded[i]});
        for (std::uint32_t i = threadIdx.x; first && i < labels; i += threads)
            if (block.boxes[i].right >= 0) widen(memory.boxes[begin + i], block.boxes[i]);
        __syncthreads();  // shared memory may be written again
    }
}

/// Kernel that finds which labels there are, and the place of each among the regions. Launch: a block.
__global__ void __launch_bounds__(threads)
    place_kernel(const __grid_constant__ FewRegionsMemory memory, std::uint64_t numbers, RegionsFound* found) {
    __shared__ std::uint64_t of_warps[threads / warp_lanes];
    std::uint64_t before = 0;
    for (std::uint64_t begin = 0; begin < numbers; begin += threads) {
        const std::uint64_t number = begin + threadIdx.x;
        const std::uint64_t there = number < numbers && memory.boxes[number].right >= 0, lanes = scan_lanes(there);
        std::uint64_t all = 0;
        const std::uint64_t place = before + scan_warps(lanes, of_warps, all) + lanes - there;
        if (number < numbers) memory.places[number] = there ? static_cast<std::uint32_t>(place) : UINT_MAX;
        before += all;
    }
    if (threadIdx.x == 0) *found = {before, *memory.refused};
}

/// Kernel that writes a channel of the results, a label per warp. Launch: any grid.
__global__ void __launch_bounds__(finish_threads)
    few_finish_kernel(const __grid_constant__ LabelNumbers numbers, const __grid_constant__ FewRegionsMemory memory,
                      std::uint64_t all, bool first, int result_channel,
                      const __grid_constant__ RegionResults results) {
    constexpr int each = values / warp_lanes;
    __shared__ Word upto_of[finish_threads / warp_lanes][values];  // samples up to each code
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;
    Word* const upto = upto_of[warp];
    const std::uint64_t step = std::uint64_t{gridDim.x} * (finish_threads / warp_lanes);
    for (std::uint64_t number = std::uint64_t{blockIdx.x} * (finish_threads / warp_lanes) + warp; number < all;
         number += step) {
        const std::uint32_t region = memory.places[number];
        if (region >= memory.regions) continue;
        Word n = 0, sum = 0, squares = 0;
        std::uint32_t complement_minimum = 0, maximum = 0;
        Word own[each];
#pragma unroll
        for (int k = 0; k < each; ++k) {
            const auto code = static_cast<std::uint32_t>(lane * each + k);
            own[k] = memory.counts[number * values + code];
            n += own[k];
            sum += own[k] * code;
            squares += own[k] * (code * code);
            if (own[k] == 0) continue;
            complement_minimum = max(complement_minimum, ~code);
            maximum = max(maximum, code);
        }
        Word before = scan_lanes(n) - n;
        __syncwarp();  // the last label's sums are read
#pragma unroll
        for (int k = 0; k < each; ++k) upto[lane * each + k] = before += own[k];
        __syncwarp();  // the sums, for all lanes
        n = reduce_warp(n, Sum{});
        sum = reduce_warp(sum, Sum{});
        squares = reduce_warp(squares, Sum{});
        complement_minimum = max_over_warp(complement_minimum);
        maximum = max_over_warp(maximum);

        char* const memory_of = results.memory + results.layout.first + region * results.layout.stride;
        auto& result = *reinterpret_cast<RegionResult*>(memory_of);
        if (lane == 0) {
            if (first) {
                write_place(result, numbers, number, memory.boxes[number]);
                result.area = n + memory.excluded[2 * number] + memory.excluded[2 * number + 1];
            }
            write_channel(result.channels[result_channel], results.depth, n, sum, core::u128{squares},
                          ~complement_minimum, maximum);
            result.channels[result_channel].nodata = memory.excluded[2 * number + 1];
        }
        auto* percentiles = reinterpret_cast<double*>(memory_of + results.layout.percentiles_offset) +
                            result_channel * results.percentiles;
        for (int i = lane; i < results.percentiles; i += warp_lanes)
            percentiles[i] = n == 0 ? std::numeric_limits<double>::quiet_NaN()
                                    : core::percentile_of(results.micro[i], n, [&](std::uint64_t rank) {
                                          int low = 0, high = values - 1;  // the first code with more samples up to it
                                          while (low < high) {
                                              const int middle = (low + high) / 2;
                                              if (upto[middle] > rank)
                                                  high = middle;
                                              else
                                                  low = middle + 1;
                                          }
                                          return static_cast<double>(low) + results.lowest;
                                      });
    }
}

}  // namespace

bool are_few(const LabelNumbers& numbers, std::size_t sample_bytes, const Launch& launch) {
    constexpr std::uint64_t most = 64;  // more take longer to add up than to sort
    return sample_bytes == 1 && numbers.weight_bits == 0 && numbers.of_each <= most &&
           BlockRegions::bytes(numbers.of_each) + static_shared_bytes <= launch.shared_bytes;
}

void launch_few_regions_channel(const LabeledImages& images, const LabelNumbers& numbers,
                                const FewRegionsMemory& memory, std::size_t label_bytes, bool first, int result_channel,
                                const RegionResults& results, const Launch& launch) {
    const std::uint64_t all = numbers.of_each * static_cast<std::uint64_t>(images.images);
    const auto configuration_for = [](std::uint64_t items, int block_threads, int of_block) {
        return LaunchConfiguration{blocks_for(static_cast<std::int64_t>(items), of_block), block_threads, 0};
    };
    launch_kernel(launch, begin_kernel, false, configuration_for(all * values, threads, threads), memory, all, first);
    const auto count = [&](auto label) {
        const auto kernel = few_kernel<decltype(label)>;
        const LaunchConfiguration configuration{1, threads, BlockRegions::bytes(numbers.of_each), 1};
        resident_blocks(launch, reinterpret_cast<const void*>(kernel), configuration);
        // All blocks count an image together where there are few images.
        const std::int64_t together = std::min<std::int64_t>(images.images, launch.multiprocessors);
        const dim3 grid(static_cast<unsigned>(launch.multiprocessors / together), static_cast<unsigned>(together));
        kernel<<<grid, threads, configuration.shared_bytes, launch.stream>>>(images, numbers, memory, first);
        GPUHIST_CUDA(cudaGetLastError());
    };
    if (label_bytes == 1)
        count(std::uint8_t{});
    else if (label_bytes == 2)
        count(std::uint16_t{});
    else
        count(std::uint32_t{});
    if (first)
        launch_kernel(launch, place_kernel, false, LaunchConfiguration{1, threads, 0}, memory, all,
                      reinterpret_cast<RegionsFound*>(results.memory));
    launch_kernel(launch, few_finish_kernel, false, configuration_for(all, finish_threads, finish_threads / warp_lanes),
                  numbers, memory, all, first, result_channel, results);
}

}  // namespace gpuhist::cuda
