#include "bench/gpu_timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <thread>

#include "bench/gpu_pixels.hpp"

namespace gpuhist::bench {

void check_cuda(cudaError_t status, const char* call) {
    if (status == cudaSuccess) return;
    (void)cudaGetLastError();
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

DeviceMemory::DeviceMemory(std::size_t bytes) : bytes_(bytes) {
    if (bytes > 0) BENCH_CUDA(cudaMalloc(&data_, bytes));
}

DeviceMemory::~DeviceMemory() {
    if (data_) (void)cudaFree(data_);
}

int copies_beyond_cache(std::size_t bytes, int gpu) {
    int cache = 0;
    BENCH_CUDA(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, gpu));
    return 1 + static_cast<int>((2 * static_cast<std::size_t>(cache) + bytes - 1) / bytes);
}

GpuTimer::GpuTimer(int gpu, int repetitions_wanted, double pause_wanted_ms)
    : repetitions(repetitions_wanted), pause_ms(pause_wanted_ms) {
    BENCH_CUDA(cudaSetDevice(gpu));
    BENCH_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    BENCH_CUDA(cudaEventCreate(&start_));
    BENCH_CUDA(cudaEventCreate(&stop_));
}

GpuTimer::~GpuTimer() {
    (void)cudaEventDestroy(start_);
    (void)cudaEventDestroy(stop_);
    (void)cudaStreamDestroy(stream_);
}

/// Runs until the clocks have risen, and learns roughly how long one run takes.
void GpuTimer::warm_up(int copies, const Enqueue& enqueue) {
    constexpr double enough_ms = 30;
    enqueue(stream_, turn_++);
    BENCH_CUDA(cudaStreamSynchronize(stream_));
    double ms = 0;
    for (int runs = std::max(2, copies); ms < enough_ms; runs *= 2) {
        BENCH_CUDA(cudaEventRecord(start_, stream_));
        host_ms_ = milliseconds([&] {
                       for (int i = 0; i < runs; ++i) enqueue(stream_, turn_++);
                   }) /
                   runs;
        BENCH_CUDA(cudaEventRecord(stop_, stream_));
        BENCH_CUDA(cudaEventSynchronize(stop_));
        float elapsed = 0;
        BENCH_CUDA(cudaEventElapsedTime(&elapsed, start_, stop_));
        ms += elapsed;
        run_ms_ = elapsed / runs;
    }
}

/// Milliseconds between events around what is enqueued, which takes the host about `host_ms`: the GPU is kept busy
/// until it all stands in the stream, so that it never waits for the host between the events, and until its clocks
/// have risen after the rest.
double GpuTimer::elapsed_ms(const std::function<void()>& enqueue, double host_ms) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(pause_ms));
    keep_busy(stream_, std::min(50.0, 1 + 2 * host_ms));
    BENCH_CUDA(cudaEventRecord(start_, stream_));
    enqueue();
    BENCH_CUDA(cudaEventRecord(stop_, stream_));
    BENCH_CUDA(cudaEventSynchronize(stop_));
    float elapsed = 0;
    BENCH_CUDA(cudaEventElapsedTime(&elapsed, start_, stop_));
    return elapsed;
}

Timing GpuTimer::sustained(int copies, const Enqueue& enqueue, bool graph) {
    warm_up(copies, enqueue);
    // Between the events at least 2 ms, so that their own cost hardly matters; of what is not a graph not
    // more than a stream can hold.
    constexpr double least_ms = 2;
    constexpr int most_launches = 256;
    int runs = run_ms_ >= least_ms ? 1 : static_cast<int>(std::ceil(least_ms / run_ms_));
    runs = (runs + copies - 1) / copies * copies;
    if (!graph) runs = std::min(runs, most_launches);
    std::vector<double> ms;
    if (!graph || runs == 1) {
        for (int i = 0; i < repetitions; ++i)
            ms.push_back(elapsed_ms(
                             [&] {
                                 for (int run = 0; run < runs; ++run) enqueue(stream_, turn_++);
                             },
                             host_ms_ * runs) /
                         runs);
        return timing_of(ms);
    }

    cudaGraph_t captured = nullptr;
    BENCH_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    try {
        for (int run = 0; run < runs; ++run) enqueue(stream_, turn_++);
    } catch (...) {  // the stream must serve the next case
        (void)cudaStreamEndCapture(stream_, &captured);
        if (captured) (void)cudaGraphDestroy(captured);
        (void)cudaGetLastError();
        throw;
    }
    BENCH_CUDA(cudaStreamEndCapture(stream_, &captured));
    cudaGraphExec_t executable = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&executable, captured, 0);
    (void)cudaGraphDestroy(captured);
    BENCH_CUDA(status);
    for (int i = -1; i < repetitions; ++i) {
        const double elapsed = elapsed_ms([&] { BENCH_CUDA(cudaGraphLaunch(executable, stream_)); }, 0.5) / runs;
        if (i >= 0) ms.push_back(elapsed);  // the first launch also uploads the graph
    }
    (void)cudaGraphExecDestroy(executable);
    return timing_of(ms);
}

Timing GpuTimer::single(const Enqueue& enqueue) {
    warm_up(1, enqueue);
    std::vector<double> ms;
    for (int i = 0; i < repetitions; ++i) ms.push_back(elapsed_ms([&] { enqueue(stream_, turn_++); }, host_ms_));
    return timing_of(ms);
}

Timing GpuTimer::end_to_end(const Enqueue& enqueue) {
    warm_up(1, enqueue);
    std::vector<double> ms;
    for (int i = 0; i < repetitions; ++i)
        ms.push_back(milliseconds([&] {
            enqueue(stream_, turn_++);
            BENCH_CUDA(cudaStreamSynchronize(stream_));
        }));
    return timing_of(ms);
}

}  // namespace gpuhist::bench
