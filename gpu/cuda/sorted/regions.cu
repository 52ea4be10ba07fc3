// Regions: pixels sorted by their label's number and their value, the runs of equal numbers, and the results of 8- and
// 16-bit integers.

#include <algorithm>
#include <limits>
#include <type_traits>

#include "core/luma.hpp"
#include "cuda/host/device.hpp"
#include "cuda/pixels/walk.cuh"
#include "cuda/results.cuh"
#include "cuda/sorted/chunks.cuh"
#include "cuda/sorted/regions.cuh"
#include "statistics/percentiles.hpp"

namespace gpuhist::cuda {
namespace {

constexpr int block_rows = threads / warp_lanes;  ///< of pixels that a block takes at once, one warp each
constexpr unsigned all_lanes = 0xFFFFFFFFu;

/// Number of the label that a pixel bears.
__device__ inline std::uint64_t number_of(const LabelNumbers& numbers, std::int64_t image, std::uint32_t label) {
    // Negative labels are large ones here.
    if (label < numbers.first || label > numbers.largest) return numbers.outside;
    return static_cast<std::uint64_t>(image) * numbers.of_each + (label - numbers.first);
}

/// Calls visit(image, y, x, label) for all pixels, a warp for neighbors in a row. Lanes behind the end take part with x
/// = width. Launch: blocks of 32 x block_rows, any grid.
template <class Label, class Visit>
__device__ inline void for_labels(const LabeledImages& images, const Visit& visit) {
    const std::int64_t width = images.channel.image.width, height = images.channel.image.height;
    const std::int64_t rows = images.images * height;
    for (std::int64_t r = std::int64_t{blockIdx.y} * block_rows + threadIdx.y; r < rows; r += gridDim.y * block_rows) {
        const std::int64_t image = divide(r, height), y = r - image * height;
        const auto* labels = reinterpret_cast<const Label*>(static_cast<const char*>(images.labels.data) +
                                                            image * images.labels_bytes + y * images.labels.row_bytes);
        for (std::int64_t begin = std::int64_t{blockIdx.x} * warp_lanes; begin < width;
             begin += gridDim.x * warp_lanes) {
            const std::int64_t x = min(begin + threadIdx.x, width);
            visit(image, y, x, x < width ? std::uint32_t{labels[x]} : 0);
        }
    }
}

/// Kernel that makes the keys. `refused`: counts the pixels with an invalid label; null: they were counted before.
template <class Sample, class Label, class Key>
__global__ void __launch_bounds__(threads)
    key_kernel(const __grid_constant__ LabeledImages images, const __grid_constant__ LabelNumbers numbers, Key* keys,
               Word* refused) {
    const SortedChannel& channel = images.channel;
    for_labels<Label>(images, [&](std::int64_t image, std::int64_t y, std::int64_t x, std::uint32_t label) {
        if (x == channel.image.width) return;
        using Code = core::Code<Sample>;
        const auto* line = reinterpret_cast<const Sample*>(static_cast<const char*>(channel.image.data) +
                                                           image * images.image_bytes + y * channel.image.row_bytes);
        const Sample* pixel = line + x * channel.pixel_samples;
        const auto code = [&](int place) {
            if constexpr (core::is_real<Sample>)
                return core::code_of(pixel[place]);
            else
                return static_cast<Code>(pixel[place] ^ images.flip);
        };
        const std::uint8_t byte =
            channel.mask.data ? channel.mask.data[image * images.mask_bytes + y * channel.mask.row_bytes + x] : 1;
        Key value;
        if (!is_valid(images, byte))
            value = Key{1} << numbers.sample_bits | (byte == 0 ? 0u : 1u);
        else
            value = channel.luma ? core::luma_code<Sample>(code(channel.first), code(channel.green), code(channel.last))
                                 : code(channel.first);
        if (numbers.weight_bits > 0)
            value =
                value << numbers.weight_bits | static_cast<Key>(channel.pixel_samples == 4 ? code(3) : images.weight);
        const std::uint64_t number = number_of(numbers, image, label);
        if (refused && label > numbers.largest) atomicAdd(refused, Word{1});
        keys[(image * channel.image.height + y) * channel.image.width + x] =
            static_cast<Key>(number) << numbers.value_bits | value;
    });
}

/// Kernel that writes where each region begins, and how many there are. Launch: a warp per chunk and more.
template <class Key>
__global__ void __launch_bounds__(threads)
    find_kernel(const __grid_constant__ RegionMemory<Key> memory, const __grid_constant__ LabelNumbers numbers,
                std::int64_t count, RegionsFound* found) {
    const std::int64_t chunk = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_lanes;
    const int lane = threadIdx.x % warp_lanes;
    if (chunk > chunks_of(count)) return;
    if (chunk == chunks_of(count)) {
        if (lane != 0) return;
        const std::uint32_t all = memory.chunks[chunk];
        if (all <= memory.regions) memory.starts[all] = static_cast<std::uint32_t>(count);
        const bool outside = memory.sorted[count - 1] >> numbers.value_bits == numbers.outside;
        *found = {all - std::uint64_t{outside}, *memory.refused};
        return;
    }
    std::uint32_t next = memory.chunks[chunk];
    for_chunk(memory.sorted, count, chunk, numbers.value_bits, [&](std::int64_t i, Key key, bool first) {
        const unsigned firsts = __ballot_sync(all_lanes, first);
        const std::uint32_t region = next + __popc(firsts & ((1u << lane) - 1));
        next += __popc(firsts);
        if (!first) return;
        const auto number = static_cast<std::uint64_t>(key >> numbers.value_bits);
        if (memory.places) memory.places[number] = region;
        if (region > memory.regions) return;
        memory.starts[region] = static_cast<std::uint32_t>(i);
        memory.numbers[region] = number;
        memory.boxes[region] = no_box;
        if (memory.sums) memory.sums[region] = {};
    });
}

/// Region with a number; one past the last if there is no room for it.
template <class Key>
__device__ inline std::uint32_t region_of(const RegionMemory<Key>& memory, std::uint64_t number, std::uint32_t found) {
    if (memory.places) return memory.places[number];
    std::uint32_t low = 0, high = min(found, memory.regions);
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (memory.numbers[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < min(found, memory.regions) && memory.numbers[low] == number ? low : memory.regions;
}

/// Kernel that finds the boxes: the first pixel of each run of equal labels widens its region's.
template <class Label, class Key>
__global__ void __launch_bounds__(threads)
    box_kernel(const __grid_constant__ LabeledImages images, const __grid_constant__ LabelNumbers numbers,
               const __grid_constant__ RegionMemory<Key> memory, const RegionsFound* found) {
    const auto regions = static_cast<std::uint32_t>(found->regions);
    for_labels<Label>(images, [&](std::int64_t image, std::int64_t y, std::int64_t x, std::uint32_t label) {
        const int lane = threadIdx.x;
        const bool inside = x < images.channel.image.width;
        const std::uint32_t before = __shfl_up_sync(all_lanes, label, 1);
        const unsigned lanes = __ballot_sync(all_lanes, inside);
        const bool first = inside && (lane == 0 || label != before);
        const unsigned firsts = __ballot_sync(all_lanes, first);
        if (!first) return;
        const std::uint64_t number = number_of(numbers, image, label);
        if (number == numbers.outside) return;
        const unsigned behind = (firsts | ~lanes) & (all_lanes << lane << 1);  // ends of the run
        const int last = behind ? __ffs(behind) - 2 : warp_lanes - 1;
        const std::uint32_t region = region_of(memory, number, regions);
        if (region >= memory.regions) return;
        const int left = static_cast<int>(x), row = static_cast<int>(y);
        widen(memory.boxes[region], {left, row, left + last - lane, row});
    });
}

/// Kernel that sums up the codes of each region. Launch: a warp per chunk and more.
template <class Key>
__global__ void __launch_bounds__(threads)
    sum_kernel(const __grid_constant__ RegionMemory<Key> memory, const __grid_constant__ LabelNumbers numbers,
               std::int64_t count) {
    const std::int64_t chunk = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_lanes;
    const int lane = threadIdx.x % warp_lanes;
    if (chunk >= chunks_of(count)) return;
    const Key codes = (Key{1} << numbers.sample_bits) - 1, excluded = Key{1} << numbers.sample_bits;
    const bool masks = numbers.value_bits > numbers.sample_bits;
    std::uint32_t begun = memory.chunks[chunk];  // regions, so far
    Word sum = 0, squares = 0;                   // of the last of these
    const auto add = [&](std::uint32_t region, Word more, Word more_squares) {
        if (region >= memory.regions || more == 0) return;
        atomicAdd(&memory.sums[region].sum, more);
        atomicAdd(&memory.sums[region].squares, more_squares);
    };
    for_chunk(memory.sorted, count, chunk, numbers.value_bits, [&](std::int64_t i, Key key, bool first) {
        const bool valid = i < count && !(masks && (key & excluded));
        const auto code = valid ? static_cast<std::uint32_t>(key & codes) : 0u;
        Word square = Word{code} * code;
        const unsigned firsts = __ballot_sync(all_lanes, first);
        if (firsts == 0) {
            sum += code;
            squares += square;
            return;
        }
        const Word sum_before = sum_over_warp(sum), squares_before = sum_over_warp(squares);
        if (lane == 0 && begun > 0) add(begun - 1, sum_before, squares_before);
        // Each lane adds up the codes of its region from that region's first lane on; the last lane of each has all.
        Word value = code;
        const unsigned own = firsts & ((2u << lane) - 1);
        const int start = own ? 31 - __clz(own) : 0;
#pragma unroll
        for (int offset = 1; offset < warp_lanes; offset *= 2) {
            const Word more = __shfl_up_sync(all_lanes, value, offset),
                       more_squares = __shfl_up_sync(all_lanes, square, offset);
            if (lane - offset < start) continue;
            value += more;
            square += more_squares;
        }
        const std::uint32_t region = begun + __popc(own);  // one more than its place
        const bool goes_on = lane == warp_lanes - 1;       // perhaps, behind these codes
        const bool last = !goes_on && (firsts >> lane & 2u);
        if (last && region > 0) add(region - 1, value, square);
        begun += __popc(firsts);
        sum = goes_on ? value : 0;
        squares = goes_on ? square : 0;
    });
    const Word sum_before = sum_over_warp(sum), squares_before = sum_over_warp(squares);
    if (lane == 0 && begun > 0) add(begun - 1, sum_before, squares_before);
}

/// Kernel that writes a channel of the results, of 8- or 16-bit integers, a region per thread, and the rest of them
/// with the first channel.
template <class Key>
__global__ void __launch_bounds__(threads)
    finish_kernel(const __grid_constant__ RegionMemory<Key> memory, const __grid_constant__ LabelNumbers numbers,
                  bool first, int result_channel, const __grid_constant__ RegionResults results) {
    const auto* found = reinterpret_cast<const RegionsFound*>(results.memory);
    const std::uint64_t regions = min(Word{found->regions}, Word{memory.regions});
    const Key codes = (Key{1} << numbers.sample_bits) - 1, excluded = Key{1} << numbers.sample_bits;
    for (std::uint64_t r = std::uint64_t{blockIdx.x} * threads + threadIdx.x; r < regions; r += gridDim.x * threads) {
        char* memory_of = results.memory + results.layout.first + r * results.layout.stride;
        auto& result = *reinterpret_cast<RegionResult*>(memory_of);
        const std::uint32_t begin = memory.starts[r], end = memory.starts[r + 1];
        if (first) {
            write_place(result, numbers, memory.numbers[r], memory.boxes[r]);
            result.area = end - begin;
        }
        std::uint32_t stop = end, nodata = end;  // excluded samples lie behind the valid ones
        if (numbers.value_bits > numbers.sample_bits) {
            const Key values = (excluded << 1) - 1;
            stop = first_of_value<Key>(memory.sorted, begin, end, values, excluded);
            nodata = first_of_value<Key>(memory.sorted, stop, end, values, excluded | 1);
        }
        const std::uint64_t n = stop - begin;
        const auto code = [&](std::uint64_t rank) {
            return static_cast<std::uint32_t>(memory.sorted[begin + rank] & codes);
        };
        const RegionSums sums = memory.sums[r];
        memory.sums[r] = {};
        write_channel(result.channels[result_channel], results.depth, n, sums.sum, core::u128{sums.squares},
                      n ? code(0) : 0, n ? code(n - 1) : 0);
        result.channels[result_channel].nodata = end - nodata;
        auto* percentiles = reinterpret_cast<double*>(memory_of + results.layout.percentiles_offset) +
                            result_channel * results.percentiles;
        for (int i = 0; i < results.percentiles; ++i)
            percentiles[i] = n == 0 ? std::numeric_limits<double>::quiet_NaN()
                                    : core::percentile_of(results.micro[i], n, [&](std::uint64_t rank) {
                                          return static_cast<double>(code(rank)) + results.lowest;
                                      });
    }
}

/// Calls function(Label{}) with the type of labels of `bytes` bytes; s32 is read as u32.
template <class Function>
void with_label_type(std::size_t bytes, const Function& function) {
    if (bytes == 1) return function(std::uint8_t{});
    if (bytes == 2) return function(std::uint16_t{});
    function(std::uint32_t{});
}

/// Calls function(Sample{}) with the type in which samples are read: integers as unsigned ones.
template <class Function>
void with_sample_type(Depth depth, const Function& function) {
    with_depth(depth, [&](auto sample) {
        using Sample = decltype(sample);
        if constexpr (core::is_real<Sample>)
            function(sample);
        else
            function(core::Code<Sample>{});
    });
}

}  // namespace

template <class Key>
void launch_region_channel(const LabeledImages& images, const LabelNumbers& numbers, const RegionMemory<Key>& memory,
                           std::size_t label_bytes, bool first, int result_channel, const RegionResults& results,
                           const Launch& launch) {
    const cudaStream_t stream = launch.stream;
    const std::int64_t count = images.pixels(), rows = images.images * images.channel.image.height;
    const dim3 block(warp_lanes, block_rows),
        grid(static_cast<unsigned>(
                 std::min<std::int64_t>((images.channel.image.width + warp_lanes - 1) / warp_lanes, 4096)),
             static_cast<unsigned>(std::min<std::int64_t>((rows + block_rows - 1) / block_rows, 65535)));
    auto* const found = reinterpret_cast<RegionsFound*>(results.memory);
    if (first) GPUHIST_CUDA(cudaMemsetAsync(memory.refused, 0, sizeof *memory.refused, stream));
    with_sample_type(results.depth, [&](auto sample) {
        with_label_type(label_bytes, [&](auto label) {
            using Sample = decltype(sample);
            if constexpr (sizeof(Key) > sizeof(Sample))
                key_kernel<Sample, decltype(label)>
                    <<<grid, block, 0, stream>>>(images, numbers, memory.keys, first ? memory.refused : nullptr);
            GPUHIST_CUDA(cudaGetLastError());
        });
    });
    launch_radix_sort(memory.temporary, memory.temporary_bytes, memory.keys, memory.sorted, count, numbers.weight_bits,
                      numbers.bits, stream);
    const unsigned blocks = blocks_of_chunks(count);
    if (first) {
        count_kernel<<<blocks, threads, 0, stream>>>(memory.sorted, count, numbers.value_bits, memory.chunks);
        GPUHIST_CUDA(cudaGetLastError());
        launch_running_sums(memory.temporary, memory.temporary_bytes, memory.chunks, chunks_of(count) + 1, stream);
        find_kernel<<<blocks, threads, 0, stream>>>(memory, numbers, count, found);
        GPUHIST_CUDA(cudaGetLastError());
        with_label_type(label_bytes, [&](auto label) {
            box_kernel<decltype(label)><<<grid, block, 0, stream>>>(images, numbers, memory, found);
            GPUHIST_CUDA(cudaGetLastError());
        });
    }
    if (are_measured_apart(numbers, results.depth))
        return launch_region_moments(numbers, memory, count, first, result_channel, results, launch);
    sum_kernel<<<blocks, threads, 0, stream>>>(memory, numbers, count);
    GPUHIST_CUDA(cudaGetLastError());
    const unsigned of_regions = std::min<unsigned>(
        static_cast<unsigned>((std::min<std::int64_t>(memory.regions, count) + threads - 1) / threads), 1u << 14);
    finish_kernel<<<of_regions, threads, 0, stream>>>(memory, numbers, first, result_channel, results);
    GPUHIST_CUDA(cudaGetLastError());
}

template void launch_region_channel(const LabeledImages&, const LabelNumbers&, const RegionMemory<std::uint32_t>&,
                                    std::size_t, bool, int, const RegionResults&, const Launch&);
template void launch_region_channel(const LabeledImages&, const LabelNumbers&, const RegionMemory<std::uint64_t>&,
                                    std::size_t, bool, int, const RegionResults&, const Launch&);
template void launch_region_channel(const LabeledImages&, const LabelNumbers&, const RegionMemory<WideKey>&,
                                    std::size_t, bool, int, const RegionResults&, const Launch&);

}  // namespace gpuhist::cuda
