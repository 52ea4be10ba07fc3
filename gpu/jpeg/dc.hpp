// DC coefficients: sums of the differences that a file holds, per component, which begin anew with each segment.
#pragma once

#include <cstdint>

#include "core/portable.hpp"
#include "jpeg/image.hpp"

namespace gpuhist::jpeg {

/// Sums over a run of MCUs, or over the part after the last beginning of a segment in the run. Each component has its
/// own field, because an array would not stay in registers.
struct DcSums {
    std::uint32_t first = 0, second = 0, third = 0;
    bool anew = false;

    /// This run and the next one.
    GPUHIST_HD DcSums then(const DcSums& next) const {
        if (next.anew) return next;
        return {first + next.first, second + next.second, third + next.third, anew};
    }
    GPUHIST_HD std::uint32_t add(int component, std::int32_t difference) {
        const auto more = static_cast<std::uint32_t>(difference);
        return component == 0 ? first += more : component == 1 ? second += more : third += more;
    }
};

/// Adds an MCU, whose differences become coefficients where that is asked for. Returns damage.
GPUHIST_HD inline std::uint32_t add_mcu(const Image& image, std::uint32_t mcu, bool write, std::int16_t* dc,
                                        DcSums& sums) {
    if (mcu % image.segment_mcus == 0) sums = {0, 0, 0, true};
    std::uint32_t damage = 0;
    std::int16_t* at = dc + std::int64_t{mcu} * image.mcu_blocks;
    for (int b = 0; b < image.mcu_blocks; ++b) {
        const std::uint32_t sum = sums.add(image.block[b].component, at[b]);
        if (!write) continue;
        if (sum + 32768U > 65535U) damage = dc_out_of_range;
        at[b] = static_cast<std::int16_t>(sum);
    }
    return damage;
}

}  // namespace gpuhist::jpeg
