// Timing on the GPU's clock: events around work on a stream of its own.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <utility>

#include "bench/bench.hpp"

namespace gpuhist::bench {

void check_cuda(cudaError_t status, const char* call);
#define BENCH_CUDA(call) ::gpuhist::bench::check_cuda((call), #call)

/// Memory on the GPU.
class DeviceMemory {
  public:
    explicit DeviceMemory(std::size_t bytes = 0);
    ~DeviceMemory();
    DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
    DeviceMemory& operator=(DeviceMemory&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    void* get() const { return data_; }
    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }
    std::size_t bytes() const { return bytes_; }

  private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Enqueues work on a stream and returns. `turn` counts up: work on a small image takes copy `turn % copies` of it.
using Enqueue = std::function<void(cudaStream_t stream, int turn)>;

/// How many copies of so many bytes must be used in turns so that none is found in the L2 cache: between two uses of
/// one, more than twice the cache passes through it.
int copies_beyond_cache(std::size_t bytes, int gpu);

class GpuTimer {
  public:
    /// Makes the GPU current. It rests `pause_ms` before each timing: work without a rest reaches the GPU's power
    /// limit, which lowers its clocks, and then what is measured is how much power the pixels' bits take.
    GpuTimer(int gpu, int repetitions, double pause_ms);
    ~GpuTimer();
    GpuTimer(const GpuTimer&) = delete;
    GpuTimer& operator=(const GpuTimer&) = delete;

    int repetitions = 15;
    double pause_ms = 20;
    cudaStream_t stream() const { return stream_; }

    /// One run among many: so many one after the other that they take milliseconds, between two events, divided. A
    /// multiple of `copies` runs. Where the stream can be captured they are one CUDA graph, without the host's
    /// launches; `graph` = false: they are launched one by one, behind work that keeps the GPU busy meanwhile.
    Timing sustained(int copies, const Enqueue& enqueue, bool graph = true);

    /// One run alone between two events, enqueued while the GPU was busy: its own time and an event's, no host's.
    Timing single(const Enqueue& enqueue);

    /// Time on the host's clock: enqueued on an idle GPU, until it is done.
    Timing end_to_end(const Enqueue& enqueue);

  private:
    double elapsed_ms(const std::function<void()>& enqueue, double host_ms);
    void warm_up(int copies, const Enqueue& enqueue);

    cudaStream_t stream_ = nullptr;
    cudaEvent_t start_ = nullptr, stop_ = nullptr;
    int turn_ = 0;
    double run_ms_ = 0, host_ms_ = 0;  ///< of one run, on the GPU and to enqueue it: rough, from the warm-up
};

}  // namespace gpuhist::bench
