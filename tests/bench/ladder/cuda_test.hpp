// What the ladder's tests begin with: a GPU, and a stream on it.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "support/engines_under_test.hpp"

namespace gpuhist::bench::ladder {

inline void check(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

/// Why nothing can run, or empty.
inline std::string no_gpu() {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    (void)cudaGetLastError();
    return status != cudaSuccess ? cudaGetErrorString(status) : count == 0 ? "no GPU" : "";
}

/// A GPU is there, and a stream that does not wait for the default one.
template <class Base>
class OnGpu : public Base {
  protected:
    void SetUp() override {
        const std::string reason = no_gpu();
        if (!reason.empty()) {
            if (test::flag("GPUHIST_REQUIRE_CUDA")) FAIL() << "a GPU is required: " << reason;
            GTEST_SKIP() << reason;
        }
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }
    void TearDown() override {
        if (stream_) check(cudaStreamDestroy(stream_));
        if (no_gpu().empty()) {
            EXPECT_EQ(cudaGetLastError(), cudaSuccess);
        }
    }
    cudaStream_t stream_ = nullptr;
};

}  // namespace gpuhist::bench::ladder
