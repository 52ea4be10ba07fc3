// Luma of bytes, on processors with AVX2. What compilers make of samples that lie three apart took a third of the time
// of all counting.
#pragma once

#include <cstdint>

#include "gpuhist/image.hpp"

namespace gpuhist::cpu::avx2 {

/// Support: whether this processor can run the rest, and this build holds it.
bool supported();

/// core::luma of the first pixels of `pixels` interleaved ones of 3 or 4 channels. Returns how many they are: a
/// multiple of 32, all but fewer than 34.
int luma(const std::uint8_t* samples, int pixels, int channels, ChannelOrder order, std::uint8_t* out);

}  // namespace gpuhist::cpu::avx2
