// Which pixels of an image count. One place decides; accumulators ask for each pixel that they are shown.
#pragma once

namespace gpuhist::cuda {

/// Every pixel counts: the question compiles to nothing. Another validity answers `[p]`, for pixel p of what was loaded
/// together, and has `every` false.
struct EveryPixel {
    static constexpr bool every = true;
    __device__ constexpr bool operator[](int) const { return true; }
};

}  // namespace gpuhist::cuda
