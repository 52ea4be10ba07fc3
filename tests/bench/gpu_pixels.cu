#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>

#include "bench/gpu_pixels.hpp"

namespace gpuhist::bench {
namespace {

__device__ std::uint64_t hash(std::uint64_t x) {  // splitmix64
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

template <typename T>
__global__ void fill_samples(T* data, std::int64_t samples, Content content, const std::uint16_t* picture,
                             std::int64_t picture_samples) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < samples; i += step) {
        const std::uint64_t bits = hash(i);
        double unit = 0;  // in [0, 1)
        switch (content) {
            case Content::random:
                unit = static_cast<double>(bits >> 11) * 0x1p-53;
                break;
            case Content::natural:
                unit = (picture[i % picture_samples] + static_cast<double>(bits >> 56) * 0x1p-8) * 0x1p-16;
                break;
            case Content::constant:
                unit = 0.3;
                break;
            case Content::two_values:
                unit = bits & 1 ? 0.3 : 0.7;
                break;
        }
        if constexpr (sizeof(T) == 4)
            data[i] = content == Content::random ? __double2float_rd(unit)  // not up to 1
                                                 : static_cast<T>(unit);    // 24 bits: exact for `natural`
        else
            data[i] = static_cast<T>(unit * (1 << 8 * sizeof(T)));
    }
}

__device__ unsigned never_read;

__global__ void __launch_bounds__(1024) sweep(const uint4* data, std::int64_t words) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    unsigned all = 0;
    std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i + 7 * step < words; i += 8 * step) {
        uint4 w[8];
#pragma unroll
        for (int u = 0; u < 8; ++u) w[u] = data[i + u * step];
#pragma unroll
        for (int u = 0; u < 8; ++u) all ^= w[u].x ^ w[u].y ^ w[u].z ^ w[u].w;
    }
    for (; i < words; i += step) {
        const uint4 w = data[i];
        all ^= w.x ^ w.y ^ w.z ^ w.w;
    }
    if (all == 0x12345678u) never_read = all;  // else the loads would be left out
}

/// A sum of the words that hold a byte of some row.
__global__ void __launch_bounds__(1024)
    sweep_rows(const char* data, std::int64_t row_bytes, std::int64_t bytes, std::int64_t rows) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x, each = (bytes + 30) / 16;
    std::int64_t y = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / each,
                 item = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) % each;
    const std::int64_t y_step = step / each, item_step = step % each;
    const char* row = data + y * row_bytes;
    unsigned all = 0;
    while (y < rows) {
        uint4 w[8];
#pragma unroll
        for (int u = 0; u < 8; ++u) {
            const auto* word = reinterpret_cast<const uint4*>(reinterpret_cast<std::uintptr_t>(row) & ~15ull) + item;
            w[u] = uint4{};
            if (y < rows && reinterpret_cast<const char*>(word) < row + bytes) w[u] = *word;
            item += item_step;
            y += y_step;
            row += y_step * row_bytes;
            if (item >= each) {
                item -= each;
                ++y;
                row += row_bytes;
            }
        }
#pragma unroll
        for (int u = 0; u < 8; ++u) all ^= w[u].x ^ w[u].y ^ w[u].z ^ w[u].w;
    }
    if (all == 0x12345678u) never_read = all;
}

__global__ void __launch_bounds__(1024) copy(const uint4* from, uint4* to, std::int64_t words) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i + 3 * step < words; i += 4 * step) {
        uint4 w[4];
#pragma unroll
        for (int u = 0; u < 4; ++u) w[u] = __ldcs(from + i + u * step);
#pragma unroll
        for (int u = 0; u < 4; ++u) __stcs(to + i + u * step, w[u]);
    }
    for (; i < words; i += step) __stcs(to + i, __ldcs(from + i));
}

/// Word k of a thread is at threadIdx.x + k · blockDim.x.
extern __shared__ uint4 kept[];

template <bool Kept>
__global__ void __launch_bounds__(1024) read_meet_write(const uint4* from, uint4* to, std::int64_t words) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x,
                       first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    unsigned all = 0;
    uint4* own = kept + threadIdx.x;
    auto read = [&](std::int64_t i) {
        const uint4 w = from[i];
        all ^= w.x ^ w.y ^ w.z ^ w.w;
        return w;
    };
    std::int64_t i = first;
    for (; i + 3 * step < words; i += 4 * step) {
        uint4 w[4];
#pragma unroll
        for (int u = 0; u < 4; ++u) w[u] = read(i + u * step);
#pragma unroll
        for (int u = 0; u < 4; ++u)
            if (Kept) own[u * blockDim.x] = w[u];
        own += 4 * blockDim.x;
    }
    for (; i < words; i += step, own += blockDim.x) {
        const uint4 w = read(i);
        if (Kept) *own = w;
    }
    if (all == 0x12345678u) never_read = all;
    cooperative_groups::this_grid().sync();
    own = kept + threadIdx.x;
    i = first;
    for (; i + step < words; i += 2 * step, own += 2 * blockDim.x) {
        const uint4 a = Kept ? own[0] : from[i], b = Kept ? own[blockDim.x] : from[i + step];
        to[i] = a;
        to[i + step] = b;
    }
    if (i < words) to[i] = Kept ? *own : from[i];
}

__global__ void spin(std::uint64_t nanoseconds) {
    std::uint64_t start = 0, now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < nanoseconds);
}

int attribute(cudaDeviceAttr of) {
    int gpu = 0, value = 0;
    BENCH_CUDA(cudaGetDevice(&gpu));
    BENCH_CUDA(cudaDeviceGetAttribute(&value, of, gpu));
    return value;
}
int multiprocessors() {
    return attribute(cudaDevAttrMultiProcessorCount);
}

void expect_whole_words(std::size_t bytes) {
    if (bytes % sizeof(uint4)) throw std::logic_error("ceilings are measured over whole 16-byte words");
}

DeviceMemory uploaded(const std::vector<std::uint16_t>& samples) {
    DeviceMemory memory(samples.size() * sizeof(std::uint16_t));
    BENCH_CUDA(cudaMemcpy(memory.get(), samples.data(), memory.bytes(), cudaMemcpyHostToDevice));
    return memory;
}

}  // namespace

const char* to_string(Content content) {
    switch (content) {
        case Content::random:
            return "random";
        case Content::natural:
            return "natural";
        case Content::constant:
            return "constant";
        default:
            return "two values";
    }
}

Photograph::Photograph(const std::vector<std::uint16_t>& gray, const std::vector<std::uint16_t>& bgr)
    : gray_(uploaded(gray)), bgr_(uploaded(bgr)) {}

void fill(void* pixels, std::int64_t samples, Depth depth, int channels, Content content, const Photograph& photograph,
          cudaStream_t stream) {
    const DeviceMemory& picture = photograph.samples(channels);
    const auto launch = [&](auto* data) {
        fill_samples<<<4096, 256, 0, stream>>>(data, samples, content, picture.as<std::uint16_t>(),
                                               static_cast<std::int64_t>(picture.bytes() / sizeof(std::uint16_t)));
        BENCH_CUDA(cudaGetLastError());
    };
    if (depth == Depth::u8) launch(static_cast<std::uint8_t*>(pixels));
    if (depth == Depth::u16) launch(static_cast<std::uint16_t*>(pixels));
    if (depth == Depth::f32) launch(static_cast<float*>(pixels));
}

constexpr struct {
    int blocks, threads;
} configurations[sweep_configurations] = {{2, 1024}, {4, 512}, {8, 256}, {1, 1024}};  // blocks for each multiprocessor

void enqueue_sweep(const void* data, std::size_t bytes, int configuration, cudaStream_t stream) {
    expect_whole_words(bytes);
    sweep<<<configurations[configuration].blocks * multiprocessors(), configurations[configuration].threads, 0,
            stream>>>(static_cast<const uint4*>(data), static_cast<std::int64_t>(bytes / sizeof(uint4)));
    BENCH_CUDA(cudaGetLastError());
}

void enqueue_sweep(const ImageView& view, int configuration, cudaStream_t stream) {
    const auto pixel = static_cast<std::int64_t>(sample_bytes(view.depth)) * view.channels;
    sweep_rows<<<configurations[configuration].blocks * multiprocessors(), configurations[configuration].threads, 0,
                 stream>>>(static_cast<const char*>(view.data), view.row_bytes, view.width * pixel, view.height);
    BENCH_CUDA(cudaGetLastError());
}

void enqueue_copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
    expect_whole_words(bytes);
    copy<<<2 * multiprocessors(), 1024, 0, stream>>>(static_cast<const uint4*>(from), static_cast<uint4*>(to),
                                                     static_cast<std::int64_t>(bytes / sizeof(uint4)));
    BENCH_CUDA(cudaGetLastError());
}

void enqueue_read_meet_write(void* to, const void* from, std::size_t bytes, bool keep, cudaStream_t stream) {
    expect_whole_words(bytes);
    const auto kernel = keep ? read_meet_write<true> : read_meet_write<false>;
    const auto* source = static_cast<const uint4*>(from);
    auto* target = static_cast<uint4*>(to);
    auto words = static_cast<std::int64_t>(bytes / sizeof(uint4));
    const std::int64_t threads = std::int64_t{1024} * multiprocessors();
    const auto kept_bytes = static_cast<std::size_t>(keep ? (words + threads - 1) / threads * 1024 : 0) * sizeof(uint4);
    if (const std::size_t most = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
        kept_bytes > most)
        throw Unavailable("it needs " + std::to_string(kept_bytes) +
                          " bytes of shared memory per block, of which there are " + std::to_string(most));
    BENCH_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kept_bytes)));
    void* arguments[] = {&source, &target, &words};
    BENCH_CUDA(cudaLaunchCooperativeKernel(kernel, multiprocessors(), 1024, arguments, kept_bytes, stream));
}

void keep_busy(cudaStream_t stream, double ms) {
    spin<<<1, 1, 0, stream>>>(static_cast<std::uint64_t>(ms * 1e6));
    BENCH_CUDA(cudaGetLastError());
}

Rotation::Rotation(std::size_t image_bytes, std::size_t buffer_bytes, int gpu)
    : stride((image_bytes + 255) / 256 * 256),
      copies(std::min(copies_beyond_cache(image_bytes, gpu), static_cast<int>(buffer_bytes / stride))) {
    if (copies < 1) throw std::logic_error("the image does not fit into the buffer");
}

Timing time_sweep(GpuTimer& timer, const DeviceMemory& buffer, std::size_t bytes, int gpu) {
    const Rotation rotation(bytes, buffer.bytes(), gpu);
    Timing best;
    for (int configuration = 0; configuration < sweep_configurations; ++configuration) {
        const Timing found = timer.sustained(rotation.copies, [&](cudaStream_t stream, int turn) {
            enqueue_sweep(rotation.at(buffer, turn), bytes, configuration, stream);
        });
        if (configuration == 0 || found.median_ms < best.median_ms) best = found;
    }
    return best;
}

Timing time_sweep(GpuTimer& timer, const ImageView& view) {
    Timing best;
    for (int configuration = 0; configuration < sweep_configurations; ++configuration) {
        const Timing found =
            timer.sustained(1, [&](cudaStream_t stream, int) { enqueue_sweep(view, configuration, stream); });
        if (configuration == 0 || found.median_ms < best.median_ms) best = found;
    }
    return best;
}

Timing time_copy(GpuTimer& timer, const DeviceMemory& to, const DeviceMemory& from, std::size_t bytes, int gpu) {
    const Rotation rotation(bytes, std::min(to.bytes(), from.bytes()), gpu);
    const Enqueue memcpy = [&](cudaStream_t stream, int turn) {
        BENCH_CUDA(
            cudaMemcpyAsync(rotation.at(to, turn), rotation.at(from, turn), bytes, cudaMemcpyDeviceToDevice, stream));
    };
    const Enqueue kernel = [&](cudaStream_t stream, int turn) {
        enqueue_copy(rotation.at(to, turn), rotation.at(from, turn), bytes, stream);
    };
    const Timing ways[] = {timer.sustained(rotation.copies, memcpy), timer.sustained(rotation.copies, memcpy, false),
                           timer.sustained(rotation.copies, kernel)};
    return *std::min_element(std::begin(ways), std::end(ways),
                             [](const Timing& a, const Timing& b) { return a.median_ms < b.median_ms; });
}

}  // namespace gpuhist::bench
