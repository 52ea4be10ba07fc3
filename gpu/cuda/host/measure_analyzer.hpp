// Analyzer of the measures of images.
#pragma once

#include "cuda/host/device.hpp"
#include "cuda/host/parameters.hpp"
#include "cuda/measures/keys.hpp"
#include "cuda/measures/measures.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/measures.hpp"

namespace gpuhist::cuda {

/// Parameters of the sums over the pixels of an image in device memory, of integers of 8 or 16 bits, with colors or
/// gray. The place of the sums is not set.
MeasureParameters measure_parameters(const ImageView& image, const Measures& measures);
/// Enqueues that these sums are found, by the kernel that is fastest. Throws CudaError; does not synchronize.
void launch_sums(const MeasureParameters& parameters, const Launch& launch);

/// Begins to select keys of the brightness of an image.
KeySelection key_selection(const ImageView& image, const Launch& launch);
/// Parameters of the current pass of a selection. The place of the counts is not set.
KeyParameters key_parameters(const ImageView& image, const KeySelection& selection);

/// Analyzer of the measures of images in device memory. Owns its memory and reuses it.
class MeasureAnalyzer {
  public:
    explicit MeasureAnalyzer(int gpu);

    /// Finds measures of a valid view of integers of 8 or 16 bits, with colors or gray. Masked pixels are excluded.
    /// Only `measured` of the result is set, in the order of the enumeration. Waits for the stream. Throws CudaError,
    /// OutOfMemory.
    void analyze(const ImageView& image, const Measures& measures, Analysis& result, cudaStream_t stream);

  private:
    void find_sums(const ImageView& image, const Measures& measures, Analysis& result);
    Measured find_brightness(const ImageView& image);

    Launch launch_;
    DeviceBuffer memory_;
    PinnedBuffer fetched_;
};

}  // namespace gpuhist::cuda
