// zscore: distances from the mean in units of the std.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/portable.hpp"
#include "normalize/facts.hpp"

namespace gpuhist::core {

/// (v − mean) / std; 0 where std is 0, NaN staying NaN.
GPUHIST_HD inline double exact_zscore(double v, double mean, double std) {
    return std > 0 ? (v - mean) / std : v != v ? v : 0.0;
}
GPUHIST_HD inline float zscore(double v, double mean, double std) {
    return static_cast<float>(exact_zscore(v, mean, std));
}

struct ZscoreMode {
    static constexpr NormalizeMode mode = NormalizeMode::zscore;

    template <typename T>
    struct Table {
        double lowest;
        MeanStd mean_std;
        GPUHIST_HD explicit Table(const IntegerFacts& facts) : lowest(facts.lowest), mean_std(facts.mean_std) {}
        GPUHIST_HD float operator()(std::uint32_t code, std::uint64_t) const {
            return zscore(lowest + code, mean_std.mean, mean_std.std);
        }
    };

    struct FloatMap : Quotient {
        GPUHIST_HD explicit FloatMap(const FloatFacts& facts) : Quotient{facts.mean, facts.std} {}
        GPUHIST_HD static bool keeps(const FloatFacts&) { return false; }
        GPUHIST_HD float operator()(float v) const { return zscore(v, low, divisor); }
    };

    struct RealMap {
        MeanStd mean_std;
        explicit RealMap(const RealFacts& facts) : mean_std(facts.mean_std) {}
        static bool keeps(const RealFacts&) { return false; }
        double operator()(double v, std::uint64_t) const {
            if (std::isfinite(v - mean_std.mean)) return exact_zscore(v, mean_std.mean, mean_std.std);
            return exact_zscore(v / 2, mean_std.mean / 2, mean_std.std / 2);  // the distance passes the largest double
        }
    };
};

}  // namespace gpuhist::core
