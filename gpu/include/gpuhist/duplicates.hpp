/// Duplicates: groups of equal or similar images in a set, found by their hashes.
#pragma once

#include <cstdint>
#include <vector>

#include "gpuhist/hashes.hpp"

namespace gpuhist {

/// Largest distance of near duplicates.
inline constexpr int most_distance = 16;

/// Number of bits in which two hashes differ.
constexpr int hash_distance(std::uint64_t a, std::uint64_t b) {
    int bits = 0;
    for (std::uint64_t left = a ^ b; left != 0; left &= left - 1) ++bits;
    return bits;
}

/// Groups of duplicates. Two images belong together if their `pixels` are equal, or if their `hashes` differ in at most
/// `distance` bits; so do images that are linked by others. A hash of 0 means that the image is uniform or has none:
/// then only its pixels are compared. Returns, for each image, the place of the first image of its group; it is the
/// image's own place if it is the first, or alone. The search is exact, and takes about 60 bytes per image.
///
/// Both lists have one element per image, up to 2^32 - 1; or `hashes` is empty, and only equal pixels are found. Throws
/// InvalidArgument for lists of different lengths, and for a distance below 0 or over `most_distance`.
std::vector<std::uint32_t> group_duplicates(const std::vector<Hash128>& pixels,
                                            const std::vector<std::uint64_t>& hashes, int distance);

}  // namespace gpuhist
