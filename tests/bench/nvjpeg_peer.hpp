// nvJPEG, found at run time: no build needs it, and no program that measures without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/gpu_timing.hpp"

namespace gpuhist::bench {

/// Decoder of batches by nvJPEG, to blue, green, red.
class NvJpeg {
  public:
    enum class Backend { hardware = 3, gpu = 2 };

    /// Throws Unavailable where the library or the backend is not there.
    NvJpeg(Backend backend, int batch);
    ~NvJpeg();
    NvJpeg(const NvJpeg&) = delete;
    NvJpeg& operator=(const NvJpeg&) = delete;

    /// Decodes files of one size, as many as the batch has, each to packed pixels one behind the other. Returns when
    /// they are decoded.
    void decode(const std::vector<const unsigned char*>& files, const std::vector<std::size_t>& bytes,
                unsigned char* pixels, int width, int height, cudaStream_t stream);

  private:
    struct Library;
    std::unique_ptr<Library> library_;
    void *handle_ = nullptr, *state_ = nullptr;
};

}  // namespace gpuhist::bench
