// Counting bytes without a table in memory, on processors with AVX-512 VBMI2, BITALG and GFNI (Ice Lake, Zen 4 and
// later). A counter in memory takes one store per sample, and processors finish about one store per clock. This takes a
// third of that time (Zen 5), whatever the content.
#pragma once

#include <cstdint>

#include "gpuhist/image.hpp"

namespace gpuhist::cpu::avx512 {

/// Pixels gathered before they are counted: their counts fit 16 bits, and the buffers the second cache.
inline constexpr int gathered_pixels = 16384;

/// Gathered samples, one plane per channel, and the samples of one plane by their two highest bits; with room for whole
/// registers stored at the end.
struct Scratch {
    alignas(64) std::uint8_t planes[5][gathered_pixels + 64];
    alignas(64) std::uint8_t quarters[4][gathered_pixels + 64];
};

/// Support: whether this processor can run the rest, and this build holds it.
bool supported();

/// Splits `pixels` interleaved pixels into planes from `first` on: channels in the order of the image, and luma in
/// plane 4 if there are colors. first + pixels ≤ gathered_pixels.
void split(const std::uint8_t* samples, int pixels, int channels, ChannelOrder order, Scratch& scratch, int first);

/// Adds the first `samples` of a plane to 256 counts. Meanwhile as many bytes from `ahead` on, which are only hinted at
/// and need not exist, are fetched into the second cache.
void count(Scratch& scratch, int plane, int samples, const std::uint8_t* ahead, std::uint32_t* counts);

}  // namespace gpuhist::cpu::avx512
