// The listing of the articles: 10^7 ints in managed memory, which the host fills and the GPU sums, and the host once
// more.

#include <chrono>
#include <cstdio>
#include <random>

#include "bench/ladder/seeds/exact.hpp"
#include "bench/ladder/seeds/seeds.cuh"
#include "bench/ladder/seeds/seeds.hpp"

namespace gpuhist::bench::ladder::seeds {
namespace {

__managed__ int source[listing_count];
__managed__ int final_result[1] = {0};

/// Kernel of the listing: each thread sums with the grid's stride, the block in shared memory with two barriers per
/// step (the sums have been read; they have been written), and one atomic per block. Sums wrap at 32 bits. Launch:
/// `listing_blocks` blocks of `listing_threads`.
template <typename T>
__global__ void sum_gpu(const T* input, std::int64_t count, int* output) {
    __shared__ int sum_per_block[listing_threads];
    unsigned sum = 0;  // unsigned: in an int the language does not let it wrap
    for (std::int64_t i = grid_rank(); i < count; i += grid_threads()) sum += static_cast<unsigned>(input[i]);
    sum_per_block[threadIdx.x] = static_cast<int>(sum);
    __syncthreads();
    for (unsigned length = listing_threads / 2; length >= 1; length /= 2) {
        unsigned both = 0;
        if (threadIdx.x < length)
            both = static_cast<unsigned>(sum_per_block[threadIdx.x]) +
                   static_cast<unsigned>(sum_per_block[threadIdx.x + length]);
        __syncthreads();
        if (threadIdx.x < length) sum_per_block[threadIdx.x] = static_cast<int>(both);
        __syncthreads();
    }
    if (static_cast<std::int64_t>(blockDim.x) * blockIdx.x < count && threadIdx.x == 0)
        atomicAdd(output, sum_per_block[0]);
}

void listing(const Call& call) {
    auto* answer = reinterpret_cast<int*>(call.answer);
    clear(call, answer, sizeof(int));
    launch(call, sum_gpu<std::uint8_t>, listing_blocks, listing_threads, pixels_of(call), call.image.samples(), answer);
}

int sum_cpu(const int* input, int count) {
    unsigned sum = 0;
    for (int i = 0; i < count; ++i) sum += static_cast<unsigned>(input[i]);
    return static_cast<int>(sum);
}

template <class Work>
double ms_of(const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Listing print_listing(unsigned seed) {
    Listing result{};
    std::printf("filling the buffer with %d elements...\n", listing_count);
    std::mt19937 random(seed);
    for (int& element : source) element = static_cast<int>(random() >> 1);  // of 31 bits, as rand() gives
    final_result[0] = 0;
    LADDER_CUDA(cudaDeviceSynchronize());

    std::printf("Running on GPU...\n");
    result.gpu_ms = ms_of([] {
        sum_gpu<<<listing_blocks, listing_threads>>>(source, std::int64_t{listing_count}, final_result);
        LADDER_CUDA(cudaGetLastError());
        LADDER_CUDA(cudaDeviceSynchronize());
    });
    result.on_gpu = final_result[0];
    std::printf("GPU sum: %u\n", static_cast<unsigned>(result.on_gpu));

    std::printf("Running on CPU...\n");
    result.cpu_ms = ms_of([&] { result.on_cpu = sum_cpu(source, listing_count); });
    std::printf("CPU sum: %u\n", static_cast<unsigned>(result.on_cpu));

    std::printf(result.on_gpu == result.on_cpu ? "Test Passed!\n" : "Test failed!\n");
    std::printf("GPU time %.3f ms\n", result.gpu_ms);
    std::printf("CPU time %.3f ms\n", result.cpu_ms);
    return result;
}

std::vector<Rung> listing_rungs() {
    return {Rung{"seeds", "listing",
                 "32 blocks of 256 threads, two barriers per step, one atomic per block: as written there",
                 exact::sum_32, listing}
                .with(&Rung::answer_bytes, 4)};
}

}  // namespace gpuhist::bench::ladder::seeds
