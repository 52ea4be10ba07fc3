// What the seeds' kernels share beyond the ladder's: a value on the GPU, and the tree of the articles for floats.
#pragma once

#include "bench/ladder/ladder.cuh"

namespace gpuhist::bench::ladder::seeds {
namespace {

/// Values on the current GPU, zero to begin with.
template <typename T>
class DeviceValues {
  public:
    explicit DeviceValues(std::size_t count = 1) {
        LADDER_CUDA(cudaMalloc(&data_, count * sizeof(T)));
        LADDER_CUDA(cudaMemset(data_, 0, count * sizeof(T)));
    }
    ~DeviceValues() { (void)cudaFree(data_); }
    DeviceValues(const DeviceValues&) = delete;
    DeviceValues& operator=(const DeviceValues&) = delete;

    T* get() const { return static_cast<T*>(data_); }
    /// Waits for the GPU.
    T fetch(std::size_t at = 0) const {
        T value;
        LADDER_CUDA(cudaDeviceSynchronize());
        LADDER_CUDA(cudaMemcpy(&value, get() + at, sizeof(T), cudaMemcpyDeviceToHost));
        return value;
    }

  private:
    void* data_ = nullptr;
};

/// Blocks of a kernel that can wait for each other: throws Refused for more than are resident.
template <class... Parameters, class... Arguments>
void launch_cooperatively(cudaStream_t stream, void (*kernel)(Parameters...), int blocks, int threads,
                          Arguments... arguments) {
    const int most = resident_blocks(kernel, threads);
    if (blocks < 1 || blocks > most)
        throw Refused(std::to_string(blocks) + " blocks that wait for each other: this GPU holds " +
                      std::to_string(most) + " at once");
    std::tuple<Parameters...> values(arguments...);
    std::apply(
        [&](auto&... each) {
            void* addresses[] = {&each...};
            LADDER_CUDA(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel),
                                                    dim3(static_cast<unsigned>(blocks)),
                                                    dim3(static_cast<unsigned>(threads)), addresses, 0, stream));
        },
        values);
}

}  // namespace
}  // namespace gpuhist::bench::ladder::seeds
