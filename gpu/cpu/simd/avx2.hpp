// Loops on processors with AVX2: luma of bytes, of which compilers' code for samples that lie three apart took a third
// of the time of all counting; and unmasked pixels, brought together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuhist/image.hpp"

namespace gpuhist::cpu::avx2 {

/// Support: whether this processor can run the rest, and this build holds it.
bool supported();

/// core::luma of the first pixels of `pixels` interleaved ones of 3 or 4 channels. Returns how many they are: a
/// multiple of 32, all but fewer than 34.
int luma(const std::uint8_t* samples, int pixels, int channels, ChannelOrder order, std::uint8_t* out);

/// Copies those of the first pixels, of 1 to 4 bytes, whose bytes in `mask` are not 0, and counts them in `filled`;
/// there is room for all pixels and 16 bytes. Returns how many of `pixels` were looked at: all but fewer than 16.
int gather(const std::byte* from, const std::uint8_t* mask, int pixels, int pixel_bytes, std::byte* to, int& filled);

}  // namespace gpuhist::cpu::avx2
