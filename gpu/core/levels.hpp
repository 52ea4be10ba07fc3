// Levels: the values of an integer type that valid samples of a copy may have.
#pragma once

#include <cstdint>
#include <limits>

#include "core/portable.hpp"

namespace gpuhist::core {

/// Levels of an integer copy, as codes: all codes of the type, or all but the one that stands for nodata.
struct Levels {
    std::uint32_t first = 0, last = 0;
    std::uint32_t nothing = 0;  ///< level of NaN: the level that stands for nodata, or else the lowest

    GPUHIST_HD constexpr std::uint32_t width() const { return last - first; }
    /// Level of a sample that stays as it is.
    GPUHIST_HD constexpr std::uint32_t clamp(std::uint32_t code) const {
        return code < first ? first : code > last ? last : code;
    }
};

/// All levels of a type with such codes.
template <class Code>
GPUHIST_HD constexpr Levels all_levels() {
    return {0, static_cast<std::uint32_t>((std::uint64_t{1} << 8 * sizeof(Code)) - 1), 0};
}

}  // namespace gpuhist::core
