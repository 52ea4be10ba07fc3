// Hashes of similar images, from small gray images.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuhist::fingerprint {

/// Columns and rows of the images that the hashes are of.
inline constexpr int dhash_columns = 9, dhash_rows = 8, phash_side = 32;

/// A bit per pair of pixels beside each other: set if the right one is brighter.
std::uint64_t dhash(const std::vector<std::uint8_t>& pixels);

/// A bit per coefficient of the lowest frequencies: set if it is above the 32nd of the 64 in ascending order.
std::uint64_t phash(const std::vector<std::uint8_t>& pixels);

}  // namespace gpuhist::fingerprint
