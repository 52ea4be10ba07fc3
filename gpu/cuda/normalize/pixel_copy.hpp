// Copies whose pixels are written one by one, whatever their depths. Plain C++.
#pragma once

#include <cstdint>

#include "cuda/normalize/valid_copy.hpp"

namespace gpuhist::cuda {

/// Copy of one image of 1, 3 or 4 channels, which may lie where the image does.
struct PixelCopy : Settling {
    Image image;
    Output output;
    Depth depth, copy;  ///< of the image and of the copy
    std::int32_t channels;
    bool excludes;  ///< samples may be excluded
};

}  // namespace gpuhist::cuda
