// percentile: a stretch between two nearest ranks, clamped.
#pragma once

#include "core/portable.hpp"
#include "normalize/facts.hpp"
#include "normalize/minmax.hpp"

namespace gpuhist::core {

/// f32: clamped to [0, 1]; NaN stays NaN.
GPUHIST_HD constexpr float clamp_unit(float v) {
    return v < 0 ? 0 : v > 1 ? 1 : v;
}

struct PercentileMode {
    static constexpr NormalizeMode mode = NormalizeMode::percentile;

    template <typename T>
    using Table = MinmaxMode::Table<T>;  // of the ranks' values; a Line clamps

    struct FloatMap : MinmaxMode::FloatMap {
        using MinmaxMode::FloatMap::FloatMap;
        GPUHIST_HD float operator()(float v) const { return clamp_unit(stretch(v, low, high)); }
    };
};

}  // namespace gpuhist::core
