/// How often each value occurs in f32 images: from this the order statistics of a whole set are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpuhist/image_view.hpp"

namespace gpuhist {

/// The samples of one f32 channel that are no NaN. One count for each finite value that occurs or, where these are more
/// than `most`, for each group of neighbouring values that differ in their lowest `dropped_bits` bits alone: as few
/// bits as leave at most `most` groups. So it depends on the samples alone, never on how they came together, and takes
/// at most 12 · `most` bytes.
struct ValueCounts {
    static constexpr std::size_t most = std::size_t{1} << 18;
    static constexpr int most_dropped_bits = 14;  ///< 18 bits are left

    int dropped_bits = 0;  ///< 0: nothing is lost
    /// Ascending. A key is the value's place among all floats in their order, as an unsigned integer, without the
    /// dropped bits: of a float with the bits b, (b | 2^31) >> dropped_bits, of a negative one (~b) >> dropped_bits. −0
    /// counts as +0.
    std::vector<std::uint32_t> keys;
    std::vector<std::uint64_t> counts;  ///< of each key, none zero
    std::uint64_t minus_infinite = 0;   ///< samples that are -Inf
    std::uint64_t plus_infinite = 0;    ///< samples that are +Inf

    /// The value that a key stands for; of a group that nearest to zero, which is each of its values rounded toward
    /// zero to `significant_bits()` (subnormal numbers, to a multiple of 2^(dropped_bits − 149)).
    float value(std::size_t at) const;
    /// 24, those of a float, where nothing is lost; at least 10.
    int significant_bits() const { return 24 - dropped_bits; }

    friend bool operator==(const ValueCounts& a, const ValueCounts& b) {
        return a.dropped_bits == b.dropped_bits && a.keys == b.keys && a.counts == b.counts &&
               a.minus_infinite == b.minus_infinite && a.plus_infinite == b.plus_infinite;
    }
};

/// Those of each channel that an analysis of the image has, in its order: `gray`; or `red green blue luma`, then
/// `alpha` where there is one. On the calling thread, with up to 24 MiB of memory beside the result. Throws
/// InvalidArgument for a view that breaks its rules, is not f32 or lies in device memory.
std::vector<ValueCounts> count_values(const ImageView& image);

}  // namespace gpuhist
