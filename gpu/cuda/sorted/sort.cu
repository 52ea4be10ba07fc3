// Sorting: a channel's codes, sorted by CUB's radix sort, and where each value begins among them.

#include "cuda/sorted/sort.hpp"

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <type_traits>

#include "core/integers.hpp"
#include "core/luma.hpp"
#include "cuda/host/device.hpp"
#include "cuda/pixels/walk.cuh"
#include "cuda/sorted/chunks.cuh"

namespace gpuhist::cuda {
namespace {

/// Kernel that finds the codes of `count` pixels from `begin` on, and the number of masked ones. Launch: any grid.
template <class Sample>
__global__ void __launch_bounds__(threads)
    code_kernel(const __grid_constant__ SortedChannel channel, std::int64_t begin, std::int64_t count,
                core::Code<Sample>* codes, std::uint32_t* masked) {
    const std::int64_t step = std::int64_t{gridDim.x} * threads;
    for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < count; i += step) {
        const std::int64_t y = channel.image.height == 1 ? 0 : divide(begin + i, channel.image.width);
        const std::int64_t x = begin + i - y * channel.image.width;
        if (!channel.mask.keeps(x, y)) {
            atomicAdd(masked, 1u);
            codes[i] = ~core::Code<Sample>{0};
            continue;
        }
        const char* line = static_cast<const char*>(channel.image.data) + y * channel.image.row_bytes;
        const Sample* pixel = reinterpret_cast<const Sample*>(line) + x * channel.pixel_samples;
        const auto code = [&](int place) { return core::code_of(pixel[place]); };
        codes[i] = channel.luma ? core::luma_code<Sample>(code(channel.first), code(channel.green), code(channel.last))
                                : code(channel.first);
    }
}

/// Kernel that writes each value, and where it begins. Launch: a warp per chunk. `chunks`: values before each chunk.
template <class Code>
__global__ void __launch_bounds__(threads)
    write_kernel(const Code* sorted, std::int64_t count, const std::uint32_t* chunks, Code* codes,
                 std::uint32_t* starts) {
    const std::int64_t chunk = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_lanes;
    if (chunk >= chunks_of(count)) return;
    const unsigned lanes_before = (1u << threadIdx.x % warp_lanes) - 1;
    std::uint32_t next = chunks[chunk];
    for_chunk(sorted, count, chunk, 0, [&](std::int64_t i, Code code, bool first) {
        const unsigned firsts = __ballot_sync(0xFFFFFFFFu, first);
        if (first) {
            const std::uint32_t to = next + __popc(firsts & lanes_before);
            codes[to] = code;
            starts[to] = static_cast<std::uint32_t>(i);
        }
        next += __popc(firsts);
    });
}

template <class Sample>
void sort(const SortedChannel& channel, std::int64_t begin, std::int64_t count, const SortMemory& memory,
          cudaStream_t stream) {
    using Code = core::Code<Sample>;
    auto *const found = static_cast<Code*>(memory.codes), *const sorted = static_cast<Code*>(memory.sorted);
    const Code* codes = found;
    GPUHIST_CUDA(cudaMemsetAsync(memory.masked, 0, sizeof *memory.masked, stream));
    if (std::is_same_v<Sample, Code> && channel.pixel_samples == 1 && channel.image.height == 1 &&
        !channel.mask.data) {  // there already
        codes = static_cast<const Code*>(channel.image.data) + begin;
    } else {
        const auto blocks = static_cast<unsigned>(std::min<std::int64_t>((count + threads - 1) / threads, 1 << 16));
        code_kernel<Sample><<<blocks, threads, 0, stream>>>(channel, begin, count, found, memory.masked);
        GPUHIST_CUDA(cudaGetLastError());
    }
    launch_radix_sort(memory.temporary, memory.temporary_bytes, codes, sorted, count, 0, 8 * sizeof(Code), stream);
    const unsigned blocks = blocks_of_chunks(count);
    count_kernel<<<blocks, threads, 0, stream>>>(sorted, count, 0, memory.chunks);
    GPUHIST_CUDA(cudaGetLastError());
    launch_running_sums(memory.temporary, memory.temporary_bytes, memory.chunks, chunks_of(count) + 1, stream);
    write_kernel<<<blocks, threads, 0, stream>>>(sorted, count, memory.chunks, found, memory.starts);
    GPUHIST_CUDA(cudaGetLastError());
}

}  // namespace

template <class Key>
void launch_radix_sort(void* temporary, std::size_t temporary_bytes, const Key* keys, Key* sorted, std::int64_t count,
                       int first, int last, cudaStream_t stream) {
    GPUHIST_CUDA(cub::DeviceRadixSort::SortKeys(temporary, temporary_bytes, keys, sorted, static_cast<int>(count),
                                                first, last, stream));
}
template void launch_radix_sort(void*, std::size_t, const std::uint32_t*, std::uint32_t*, std::int64_t, int, int,
                                cudaStream_t);
template void launch_radix_sort(void*, std::size_t, const std::uint64_t*, std::uint64_t*, std::int64_t, int, int,
                                cudaStream_t);
template void launch_radix_sort(void*, std::size_t, const core::u128*, core::u128*, std::int64_t, int, int,
                                cudaStream_t);

void launch_running_sums(void* temporary, std::size_t temporary_bytes, std::uint32_t* numbers, std::int64_t count,
                         cudaStream_t stream) {
    GPUHIST_CUDA(
        cub::DeviceScan::ExclusiveSum(temporary, temporary_bytes, numbers, numbers, static_cast<int>(count), stream));
}

template <class Key>
std::size_t sort_temporary(std::int64_t most) {
    const auto count = static_cast<int>(most);
    Key* none = nullptr;
    std::uint32_t* chunks = nullptr;
    std::size_t to_sort = 0, to_scan = 0;
    GPUHIST_CUDA(cub::DeviceRadixSort::SortKeys(nullptr, to_sort, none, none, count));
    GPUHIST_CUDA(
        cub::DeviceScan::ExclusiveSum(nullptr, to_scan, chunks, chunks, static_cast<int>(chunks_of(most) + 1)));
    return std::max(to_sort, to_scan);
}
template std::size_t sort_temporary<std::uint32_t>(std::int64_t);
template std::size_t sort_temporary<std::uint64_t>(std::int64_t);
template std::size_t sort_temporary<core::u128>(std::int64_t);

std::size_t sort_temporary(Depth depth, std::int64_t most) {
    std::size_t bytes = 0;
    with_sortable(depth, [&](auto sample) { bytes = sort_temporary<core::Code<decltype(sample)>>(most); });
    return bytes;
}

void launch_sort(Depth depth, const SortedChannel& channel, std::int64_t begin, std::int64_t count,
                 const SortMemory& memory, cudaStream_t stream) {
    with_sortable(depth, [&](auto sample) { sort<decltype(sample)>(channel, begin, count, memory, stream); });
}

}  // namespace gpuhist::cuda
