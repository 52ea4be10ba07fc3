// Copies of images of floats and of 32 bits by curves, and the samples that zscale takes. Plain C++.
#pragma once

#include <cstdint>

#include "cuda/normalize/pixel_copy.hpp"
#include "normalize/curves/facts.hpp"
#include "normalize/curves/match.hpp"

namespace gpuhist::cuda {

/// Curve of a channel.
struct CurveOfChannel {
    bool maps = false;  ///< else samples stay as they are
    core::CurveNumbers numbers{0, 1, {}};
    core::MatchCurve match{};  ///< with values in device memory
    core::Levels levels{};
};

/// Copy by a curve for each position in the pixel.
struct CurveCopy : PixelCopy {
    bool real;  ///< of the mode
    CurveOfChannel curves[4];
};

/// Enqueues the copy. Throws CudaError; does not synchronize.
void launch_curve_copy(const CurveCopy& copy, const Launch& launch);

/// Values of every `stride`-th sample, `count` of them, of some positions of an image: pixel by pixel, and of each
/// pixel in the order of the positions.
struct SampleGather {
    Image image;
    Depth depth;
    std::int32_t channels;
    std::int32_t positions[3], position_count;
    std::int64_t stride, count;
    double* values;  ///< in device memory
};

/// Enqueues the gathering. Throws CudaError; does not synchronize.
void launch_gather(const SampleGather& gather, const Launch& launch);

}  // namespace gpuhist::cuda
