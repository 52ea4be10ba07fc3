// What the rungs' kernels share: launching, reading an image, adding up a block, counting in shared memory.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "bench/ladder/ladder.hpp"

namespace gpuhist::bench::ladder {
namespace {

#define LADDER_CUDA(call) ::gpuhist::bench::ladder::check((call), #call, __FILE__, __LINE__)
inline void check(cudaError_t status, const char* call, const char* file, int line) {
    if (status == cudaSuccess) return;
    (void)cudaGetLastError();
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                             cudaGetErrorString(status));
}

constexpr int warp_lanes = 32;
constexpr unsigned whole_warp = 0xFFFFFFFFu;

/// A block of a kernel that is limited by memory: two of them fill a multiprocessor.
constexpr int many_threads = 1024;

// Launching

/// Blocks of a kernel that the GPU holds at once. CUDA is asked once: its answer takes microseconds.
template <class... Parameters>
int resident_blocks(void (*kernel)(Parameters...), int threads) {
    static std::map<std::tuple<const void*, int, int>, int> known;
    int gpu = 0;
    LADDER_CUDA(cudaGetDevice(&gpu));
    int& blocks = known[{reinterpret_cast<const void*>(kernel), threads, gpu}];
    if (blocks == 0) {
        int of_each = 0, multiprocessors = 0;
        LADDER_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_each, kernel, threads, 0));
        LADDER_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, gpu));
        blocks = of_each * multiprocessors;
    }
    return blocks;
}

/// As many blocks as the GPU holds, or fewer where not every thread would get 16 bytes.
template <class... Parameters>
int blocks_for(void (*kernel)(Parameters...), int threads, std::int64_t bytes) {
    const std::int64_t wanted = (bytes + 16 * threads - 1) / (16 * threads);
    return static_cast<int>(
        std::clamp<std::int64_t>(resident_blocks(kernel, threads), 1, std::max<std::int64_t>(wanted, 1)));
}

template <class... Parameters, class... Arguments>
void launch(const Call& call, void (*kernel)(Parameters...), std::int64_t blocks, int threads, Arguments... arguments) {
    kernel<<<static_cast<unsigned>(blocks), threads, 0, call.stream>>>(arguments...);
    LADDER_CUDA(cudaGetLastError());
}

/// A kernel that is limited by memory, on so many bytes: the grid that fills the GPU.
template <class... Parameters, class... Arguments>
void launch_many(const Call& call, void (*kernel)(Parameters...), std::int64_t bytes, Arguments... arguments) {
    launch(call, kernel, blocks_for(kernel, many_threads, bytes), many_threads, arguments...);
}

inline const std::uint8_t* pixels_of(const Call& call) {
    return call.image.on_device<std::uint8_t>();
}

inline void clear(const Call& call, void* memory, std::size_t bytes) {
    LADDER_CUDA(cudaMemsetAsync(memory, 0, bytes, call.stream));
}

// Reading

__device__ inline std::int64_t grid_rank() {
    return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t grid_threads() {
    return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}
__device__ inline int lane_of_thread() {
    return threadIdx.x % warp_lanes;
}

/// The whole grid reads all samples once: `on_word(16 bytes, their number)`, and `on_sample(sample, its number)` for
/// those behind the last 512 bytes that are whole. Neighboring lanes read neighboring words; each thread has four
/// loads in flight. The lanes of a warp always call `on_word` together, so that it may shuffle and vote; `on_sample`
/// they do not. The block is of whole warps.
template <typename T, class OnWord, class OnSample>
__device__ void sweep(const T* samples, std::int64_t count, OnWord on_word, OnSample on_sample) {
    constexpr int in_flight = 4, samples_of_word = 16 / static_cast<int>(sizeof(T));
    const auto* words = reinterpret_cast<const uint4*>(samples);
    const std::int64_t whole = count / (warp_lanes * samples_of_word) * warp_lanes, threads = grid_threads();
    std::int64_t i = grid_rank();
    for (; i + (in_flight - 1) * threads < whole; i += in_flight * threads) {
        uint4 word[in_flight];
#pragma unroll
        for (int u = 0; u < in_flight; ++u) word[u] = words[i + u * threads];
#pragma unroll
        for (int u = 0; u < in_flight; ++u) on_word(word[u], i + u * threads);
    }
    for (; i < whole; i += threads) on_word(words[i], i);
    for (std::int64_t s = whole * samples_of_word + grid_rank(); s < count; s += threads) on_sample(samples[s], s);
}

/// Calls `visit(byte, 0 to 15)` for the bytes in memory's order.
template <class Visit>
__device__ inline void for_each_byte(const uint4& word, Visit visit) {
    const unsigned parts[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
    for (int p = 0; p < 4; ++p)
#pragma unroll
        for (int b = 0; b < 4; ++b) visit(parts[p] >> 8 * b & 0xFFu, 4 * p + b);
}

/// Of 16 bytes; __dp4a adds four products of bytes at once, here with 1.
__device__ inline unsigned sum_of_bytes(const uint4& word) {
    constexpr unsigned ones = 0x01010101u;
    return __dp4a(word.x, ones, __dp4a(word.y, ones, __dp4a(word.z, ones, __dp4a(word.w, ones, 0u))));
}

/// Sum of the bytes that a thread of the grid looks after.
__device__ inline Word sum_of_pixels(const std::uint8_t* pixels, std::int64_t count) {
    Word sum = 0;
    sweep(
        pixels, count, [&](const uint4& word, std::int64_t) { sum += sum_of_bytes(word); },
        [&](std::uint8_t pixel, std::int64_t) { sum += pixel; });
    return sum;
}

// Adding up

struct Sum {
    template <typename T>
    __device__ T operator()(T a, T b) const {
        return a + b;
    }
};
struct Minimum {
    template <typename T>
    __device__ T operator()(T a, T b) const {
        return b < a ? b : a;
    }
};
struct Maximum {
    template <typename T>
    __device__ T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};

/// Every lane gets the result.
template <typename T, class Combine>
__device__ T reduce_warp(T value, Combine combine) {
#pragma unroll
    for (int offset = warp_lanes / 2; offset > 0; offset /= 2)
        value = combine(value, __shfl_xor_sync(whole_warp, value, offset));
    return value;
}

/// All threads of the block call it; thread 0 gets the result. The first barrier: the warps' values of the last use
/// have been read. The second: those of this use have been written.
template <typename T, class Combine>
__device__ T reduce_block(T value, T identity, Combine combine) {
    __shared__ T of_warp[warp_lanes];
    const int warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
    value = reduce_warp(value, combine);
    __syncthreads();
    if (lane_of_thread() == 0) of_warp[warp] = value;
    __syncthreads();
    if (warp == 0) value = reduce_warp(lane_of_thread() < warps ? of_warp[lane_of_thread()] : identity, combine);
    return value;
}

/// atomicInc comes back to 0 with the last block: the counter is ready for the next launch. Launches that share it must
/// follow each other.
__device__ unsigned arrived = 0;

/// Whether all other blocks have called this before; what their threads 0 wrote until then may be read. All threads of
/// the block call it. Fences of thread 0: what it wrote is visible before the block counts as arrived, and nothing is
/// read before all have. The barrier hands both on to the block.
__device__ inline bool is_last_block() {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// Counting

/// One histogram in the block's shared memory. 32 bits are enough: a block looks at fewer than 2^32 pixels.
struct SharedHistogram {
    unsigned* bins;

    __device__ static SharedHistogram cleared() {
        __shared__ unsigned memory[256];
        for (int v = threadIdx.x; v < 256; v += blockDim.x) memory[v] = 0;
        __syncthreads();  // any thread may count any value
        return {memory};
    }
    __device__ void add(unsigned value, unsigned times = 1) const { atomicAdd(bins + value, times); }
    __device__ void merge(Word* counts) const {
        __syncthreads();  // all have counted
        for (int v = threadIdx.x; v < 256; v += blockDim.x)
            if (bins[v] != 0) atomicAdd(counts + v, Word{bins[v]});
    }
};

/// Scratch of rungs that keep one word between launches.
inline std::size_t one_word(const Image&) {
    return sizeof(Word);
}

// Waiting

/// For loops that wait for another block: they end in a failed launch, never in a hang.
class Patience {
  public:
    __device__ Patience() : start_(now()) {}
    __device__ void wait() const {
        __nanosleep(20);
        if (now() - start_ > 20'000'000'000ull) __trap();  // 20 s
    }

  private:
    __device__ static Word now() {
        Word nanoseconds;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
        return nanoseconds;
    }
    Word start_;
};

}  // namespace
}  // namespace gpuhist::bench::ladder
