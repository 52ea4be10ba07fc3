// Sums of floats: their order decides the last bits. The articles' kernel called twice, atomics instead, and the last
// block; where the partial sums lie.

#include <chrono>
#include <cstring>

#include "bench/ladder/seeds/exact.hpp"
#include "bench/ladder/seeds/seeds.cuh"
#include "bench/ladder/seeds/seeds.hpp"

namespace gpuhist::bench::ladder::seeds {
namespace {

__device__ inline float number(float sample) {
    return isnan(sample) ? 0 : sample;
}

/// The tree of a block of 2^n threads; thread 0 gets the sum. Its order is always the same, whatever else happens.
__device__ float tree(float value) {
    __shared__ float values[1024];
    values[threadIdx.x] = value;
    for (unsigned half = blockDim.x / 2; half >= warp_lanes; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
    }
    value = values[threadIdx.x];
    for (unsigned half = warp_lanes / 2; half > 0; half /= 2) value += __shfl_down_sync(whole_warp, value, half);
    return value;
}

__device__ float strided_sum(const float* numbers, std::int64_t count) {
    float sum = 0;
    for (std::int64_t n = grid_rank(); n < count; n += grid_threads()) sum += number(numbers[n]);
    return tree(sum);
}

/// One sum per block. Launch: any grid; with one block `sums` may be the numbers' memory.
__global__ void reduce(const float* numbers, std::int64_t count, float* sums) {
    const float sum = strided_sum(numbers, count);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// Blocks add to one sum by atomics: they come in any order, and the sum is another each time. Launch: any grid.
__global__ void reduce_atomic(const float* numbers, std::int64_t count, float* sum) {
    const float of_block = strided_sum(numbers, count);
    if (threadIdx.x == 0) atomicAdd(sum, of_block);
}

/// The article's sum: the block that finds itself the last adds the others' sums. Fence: its sum is visible before it
/// counts as arrived. Which block is last changes nothing about the order of additions. Launch: any grid.
__global__ void sum_last_block(const float* numbers, std::int64_t count, volatile float* sums, unsigned* arrived_here,
                               float* answer) {
    __shared__ bool is_last;
    float sum = strided_sum(numbers, count);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicInc(arrived_here, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    sum = 0;
    for (unsigned k = threadIdx.x; k < gridDim.x; k += blockDim.x) sum += sums[k];
    sum = tree(sum);
    if (threadIdx.x != 0) return;
    *answer = sum;
    *arrived_here = 0;  // for the next launch
}

__device__ float static_sums[float_blocks];
__device__ unsigned last_arrived = 0;

float* address_of_static_sums() {
    void* address = nullptr;
    LADDER_CUDA(cudaGetSymbolAddress(&address, static_sums));
    return static_cast<float*>(address);
}

/// The two calls: many numbers to 10,240, and these to one, in `sums[0]`.
void enqueue_twice(const float* numbers, std::int64_t count, float* sums, cudaStream_t stream) {
    reduce<<<float_blocks, tree_threads, 0, stream>>>(numbers, count, sums);
    LADDER_CUDA(cudaGetLastError());
    reduce<<<1, 1024, 0, stream>>>(sums, float_blocks, sums);
    LADDER_CUDA(cudaGetLastError());
}

/// The article's wrapper: from the partial sums' memory to the sum on the host.
float call_twice(const float* numbers, std::int64_t count, bool allocate, cudaStream_t stream) {
    void* sums = nullptr;
    if (allocate)
        LADDER_CUDA(cudaMalloc(&sums, float_blocks * sizeof(float)));
    else
        sums = address_of_static_sums();
    const std::unique_ptr<void, cudaError_t (*)(void*)> held(allocate ? sums : nullptr, cudaFree);
    enqueue_twice(numbers, count, static_cast<float*>(sums), stream);
    float sum = 0;
    LADDER_CUDA(cudaMemcpyAsync(&sum, sums, sizeof sum, cudaMemcpyDeviceToHost, stream));
    LADDER_CUDA(cudaStreamSynchronize(stream));
    return sum;
}

void twice(const Call& call) {
    auto* sums = static_cast<float*>(call.scratch);
    enqueue_twice(call.image.on_device<float>(), call.image.samples(), sums, call.stream);
    LADDER_CUDA(cudaMemcpyAsync(call.answer, sums, sizeof(float), cudaMemcpyDeviceToDevice, call.stream));
}

template <bool Allocate>
void twice_to_the_host(const Call& call) {
    const float sum = call_twice(call.image.on_device<float>(), call.image.samples(), Allocate, call.stream);
    unsigned bits = 0;
    static_assert(sizeof bits == sizeof sum);
    std::memcpy(&bits, &sum, sizeof bits);
    call.mailbox->answer[0] = bits;
}

void last_block(const Call& call) {
    void* counter = nullptr;
    LADDER_CUDA(cudaGetSymbolAddress(&counter, last_arrived));
    launch(call, sum_last_block, last_blocks, last_threads, call.image.on_device<float>(), call.image.samples(),
           static_cast<volatile float*>(call.scratch), static_cast<unsigned*>(counter),
           reinterpret_cast<float*>(call.answer));
}

std::size_t sums_bytes(const Image&) {
    return float_blocks * sizeof(float);
}

__global__ void fill_numbers(float* numbers, std::int64_t count, float number) {
    for (std::int64_t n = grid_rank(); n < count; n += grid_threads()) numbers[n] = number;
}

/// Stopwatch on the GPU's clock.
class Stopwatch {
  public:
    Stopwatch() {
        LADDER_CUDA(cudaEventCreate(&start_));
        LADDER_CUDA(cudaEventCreate(&stop_));
    }
    ~Stopwatch() {
        (void)cudaEventDestroy(start_);
        (void)cudaEventDestroy(stop_);
    }
    template <class Work>
    double ms(const Work& work) const {
        float ms = 0;
        LADDER_CUDA(cudaEventRecord(start_));
        work();
        LADDER_CUDA(cudaEventRecord(stop_));
        LADDER_CUDA(cudaEventSynchronize(stop_));
        LADDER_CUDA(cudaEventElapsedTime(&ms, start_, stop_));
        return ms;
    }

  private:
    cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

}  // namespace

std::unique_ptr<float, cudaError_t (*)(void*)> numbers_on_gpu(std::int64_t count, float number) {
    void* memory = nullptr;
    LADDER_CUDA(cudaMalloc(&memory, static_cast<std::size_t>(count) * sizeof(float)));
    std::unique_ptr<float, cudaError_t (*)(void*)> numbers(static_cast<float*>(memory), cudaFree);
    fill_numbers<<<float_blocks, tree_threads>>>(numbers.get(), count, number);
    LADDER_CUDA(cudaGetLastError());
    LADDER_CUDA(cudaDeviceSynchronize());
    return numbers;
}

FloatSum sum_of_floats(const float* numbers, std::int64_t count, FloatMethod method, int repetitions) {
    const DeviceValues<float> total(float_blocks);
    const Stopwatch stopwatch;
    float sum = 0;
    const auto once = [&]() -> double {
        if (method == FloatMethod::twice_allocated || method == FloatMethod::twice_static_host) {
            const auto start = std::chrono::steady_clock::now();
            sum = call_twice(numbers, count, method == FloatMethod::twice_allocated, nullptr);
            return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        }
        float* sums = method == FloatMethod::twice_static ? address_of_static_sums() : total.get();
        const double ms = stopwatch.ms([&] {
            if (method == FloatMethod::atomic_a_block || method == FloatMethod::atomic_10240) {
                LADDER_CUDA(cudaMemsetAsync(sums, 0, sizeof(float)));
                const std::int64_t blocks = method == FloatMethod::atomic_10240
                                                ? std::int64_t{float_blocks}
                                                : (count + tree_threads - 1) / tree_threads;
                reduce_atomic<<<static_cast<unsigned>(blocks), tree_threads>>>(numbers, count, sums);
                LADDER_CUDA(cudaGetLastError());
            } else {
                enqueue_twice(numbers, count, sums, nullptr);
            }
        });
        LADDER_CUDA(cudaMemcpy(&sum, sums, sizeof sum, cudaMemcpyDeviceToHost));
        return ms;
    };
    once();
    std::vector<double> ms;
    for (int run = 0; run < repetitions; ++run) ms.push_back(once());
    std::sort(ms.begin(), ms.end());
    return {sum, ms[ms.size() / 2]};
}

std::vector<Rung> float_rungs() {
    const auto rung = [](const char* name, const char* change, Answer (*answer)(const Image&),
                         void (*run)(const Call&)) {
        return Rung{"seeds", name, change, answer, run}
            .with(&Rung::depth, Depth::f32)
            .with(&Rung::scratch_bytes, sums_bytes)
            .with(&Rung::answer_bytes, 4);
    };
    const auto on_host = [&](const char* name, const char* change, void (*run)(const Call&)) {
        return rung(name, change, exact::float_twice, run)
            .with(&Rung::answer_bytes, 8)
            .with(&Rung::in_mailbox, true)
            .with(&Rung::clock, Clock::host);
    };
    return {
        rung("float_twice", "floats by one kernel called twice, 10,240 x 128 and 1 x 1024: the same bits each time",
             exact::float_twice, twice),
        rung("float_last_block", "the last block adds the blocks' sums, in their order: one launch, and the same bits",
             exact::float_last_block, last_block),
        on_host("float_static", "the two calls to the host, partial sums in a __device__ array by cudaGetSymbolAddress",
                twice_to_the_host<false>),
        on_host("float_allocated", "partial sums from cudaMalloc in each call, as the articles begin",
                twice_to_the_host<true>),
    };
}

}  // namespace gpuhist::bench::ladder::seeds
