// percentile: a stretch between two nearest ranks, clamped.
#pragma once

#include "core/portable.hpp"
#include "normalize/facts.hpp"
#include "normalize/minmax.hpp"

namespace gpuhist::core {

struct PercentileMode {
    static constexpr NormalizeMode mode = NormalizeMode::percentile;

    template <typename T>
    using Table = MinmaxMode::Table<T>;  // of the ranks' values; a Line clamps
    template <typename Out>
    using Scaled = MinmaxMode::Scaled<Out>;

    struct FloatMap : MinmaxMode::FloatMap {
        using MinmaxMode::FloatMap::FloatMap;
        /// Clamped to [0, 1]; NaN stays NaN.
        GPUHIST_HD static float written(float quotient) { return quotient < 0 ? 0 : quotient > 1 ? 1 : quotient; }
        GPUHIST_HD float operator()(float v) const { return written(Quotient::operator()(v)); }
    };

    struct RealMap : MinmaxMode::RealMap {
        using MinmaxMode::RealMap::RealMap;
        double operator()(double v, std::uint64_t through) const {
            const double quotient = MinmaxMode::RealMap::operator()(v, through);
            return quotient < 0 ? 0 : quotient > 1 ? 1 : quotient;
        }
    };
};

}  // namespace gpuhist::core
