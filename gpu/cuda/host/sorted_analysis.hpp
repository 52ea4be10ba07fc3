// Analysis of images whose samples are sorted.
#pragma once

#include <cstdint>

#include "cuda/host/device.hpp"
#include "cuda/sorted/sort.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::cuda {

/// Channel of an image's results, as it is read from its pixels.
SortedChannel sorted_channel(const ImageView& image, Channel channel);

/// Analyzer of images in device memory whose samples are sorted, f32 among them. Owns its memory and reuses it.
class SortedAnalyzer {
  public:
    /// Pixels whose codes are sorted at a time: so many that the GPU is busy, in a gigabyte.
    template <class Code>
    static constexpr std::int64_t part_pixels = (std::int64_t{1} << 28) / sizeof(Code);

    /// Analyzes a valid view of 1, 3 or 4 channels. Waits for the stream. Throws CudaError, OutOfMemory.
    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result, cudaStream_t stream);

  private:
    /// Adds to the channels; returns how many pixels are masked.
    template <class Sample>
    std::uint64_t run(const ImageView& image, Analysis& result, cudaStream_t stream);

    DeviceBuffer memory_;
    PinnedBuffer fetched_;
};

}  // namespace gpuhist::cuda
