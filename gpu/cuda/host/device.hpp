// Device: facts about a GPU, RAII over the CUDA runtime, and the check of its calls.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

namespace gpuhist::cuda {

/// Checks a call: throws CudaError (OutOfMemory for memory) naming it, its place and CUDA's words; clears the error.
void check(cudaError_t status, const char* call, const char* file, int line);

/// Drops an error. In destructors it means that the context is already gone or was reported before.
inline void ignore(cudaError_t status) noexcept {
    if (status != cudaSuccess) (void)cudaGetLastError();
}

#define GPUHIST_CUDA(call) ::gpuhist::cuda::check((call), #call, __FILE__, __LINE__)

int attribute(cudaDeviceAttr name, int gpu);

/// Reason why a GPU cannot be used; empty where it can.
std::string why_unavailable(int gpu);
/// Throws EngineUnavailable if there is such a reason. The message begins with the name of the caller.
void require_gpu(const char* name, int gpu);

/// Makes a GPU current, and the former one again at the end.
class CurrentDevice {
  public:
    explicit CurrentDevice(int gpu) {
        GPUHIST_CUDA(cudaGetDevice(&former_));
        if (gpu != former_) GPUHIST_CUDA(cudaSetDevice(gpu));
        changed_ = gpu != former_;
    }
    ~CurrentDevice() {
        if (changed_) ignore(cudaSetDevice(former_));
    }
    CurrentDevice(const CurrentDevice&) = delete;
    CurrentDevice& operator=(const CurrentDevice&) = delete;

  private:
    int former_ = 0;
    bool changed_ = false;
};

/// Stream that waits for earlier work on the legacy default stream, such as cudaMemcpy and plain kernels.
class Stream {
  public:
    Stream() { GPUHIST_CUDA(cudaStreamCreate(&stream_)); }
    ~Stream() { ignore(cudaStreamDestroy(stream_)); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    operator cudaStream_t() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

/// Memory that only grows. `reserve` loses the old contents, and allocates nothing if the memory is large enough.
template <cudaError_t (*Allocate)(void**, std::size_t), cudaError_t (*Free)(void*)>
class Buffer {
  public:
    Buffer() = default;
    ~Buffer() { release(); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    char* reserve(std::size_t bytes) {
        if (bytes > bytes_) {
            release();
            GPUHIST_CUDA(Allocate(&data_, bytes));
            bytes_ = bytes;
        }
        return static_cast<char*>(data_);
    }
    /// Memory as from `reserve`, but if it must grow, by half as much again where that much is there: the next data may
    /// be larger, and freeing memory waits for the GPU.
    char* reserve_ahead(std::size_t bytes) {
        if (bytes > bytes_) {
            release();
            const std::size_t ahead = bytes + bytes / 2;
            const cudaError_t status = Allocate(&data_, ahead);
            if (status == cudaSuccess) {
                bytes_ = ahead;
                return static_cast<char*>(data_);
            }
            data_ = nullptr;
            ignore(status);
        }
        return reserve(bytes);
    }
    char* data() const { return static_cast<char*>(data_); }
    std::size_t bytes() const { return bytes_; }

  private:
    void release() noexcept {
        if (data_) ignore(Free(data_));
        data_ = nullptr;
        bytes_ = 0;
    }
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

using DeviceBuffer = Buffer<cudaMalloc, cudaFree>;
using PinnedBuffer = Buffer<cudaMallocHost, cudaFreeHost>;

}  // namespace gpuhist::cuda
