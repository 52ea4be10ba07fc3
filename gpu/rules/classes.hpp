// Classes of samples: valid, or excluded by a mask or as nodata. For host and device.
#pragma once

#include <cstdint>

#include "core/portable.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::rules {

/// Numbers of pixels and samples of an image by class.
struct ClassCounts {
    unsigned long long unmasked = 0;             ///< pixels that are not masked
    unsigned long long color_nodata = 0;         ///< unmasked pixels with a color that is nodata
    unsigned long long nodata[most_channels]{};  ///< samples of unmasked pixels that are nodata, by position

    void operator+=(const ClassCounts& more) {
        unmasked += more.unmasked;
        color_nodata += more.color_nodata;
        for (int c = 0; c < most_channels; ++c) nodata[c] += more.nodata[c];
    }
};

/// Numbers of samples excluded from a channel.
struct Excluded {
    std::uint64_t masked, nodata;
};

/// Numbers of samples excluded from the channel at a position in the pixel, or with -1 from luma, in an image with this
/// number of pixels.
GPUHIST_HD inline Excluded excluded(const ClassCounts& classes, std::uint64_t pixels, int position) {
    return {pixels - classes.unmasked, position < 0 ? classes.color_nodata : classes.nodata[position]};
}

/// Mask that alpha makes.
struct AlphaMask {
    bool any;     ///< false: it keeps all pixels, and is not asked
    bool weighs;  ///< it keeps those that weigh something: NaN and what is below 0 does not

    GPUHIST_HD bool keeps(double alpha) const { return weighs ? alpha > 0 : alpha != 0; }
};

/// Pixels that a mask keeps.
enum class PixelsOf : std::uint8_t {
    unmasked,  ///< all but the masked ones
    colors,    ///< unmasked ones without a color that is nodata
    all        ///< unmasked ones without a sample that is nodata
};

/// Bits of the first positions in a pixel.
GPUHIST_HD constexpr std::uint64_t first_bits(int positions) {
    return positions == 0 ? 0 : ~std::uint64_t{0} >> (64 - positions);
}

}  // namespace gpuhist::rules
