// Keys of the brightness of pixels, whose digits are counted: parameters of the kernels. Plain C++.
#pragma once

#include <cstdint>

#include "cuda/host/parameters.hpp"
#include "cuda/measures/key_selection.hpp"

namespace gpuhist::cuda {

/// Parameters of a pass over the keys of an image of colors, of integers of 8 or 16 bits.
struct KeyParameters {
    Image image;  ///< not packed into one row
    Mask mask;
    Depth depth;
    int channels;
    int red, green, blue;  ///< positions in the pixel
    int left, bits;        ///< as in KeySelection
    int wanted;            ///< number of digits before the current one that are wanted; 0: all
    std::uint64_t digits[KeySelection::most_wanted];
    Word* counts;  ///< for each of these, 2^bits, to which is added
};

/// Bits of the first digit, and of each other one.
struct DigitBits {
    int first, others;
};
DigitBits digit_bits(const Launch& launch);

/// Enqueues a pass over the keys: several launches if shared memory has no room for all counts. Throws CudaError; does
/// not synchronize.
void launch_keys(const KeyParameters& parameters, const Launch& launch);

}  // namespace gpuhist::cuda
