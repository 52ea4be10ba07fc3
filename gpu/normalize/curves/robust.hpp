// robust: distances from the median in units of the normal std that the MAD suggests.
#pragma once

#include "core/portable.hpp"
#include "normalize/curves/facts.hpp"
#include "normalize/zscore.hpp"

namespace gpuhist::core {

struct RobustCurve {
    static constexpr bool in_samples = false;

    double median, deviation;

    GPUHIST_HD explicit RobustCurve(const CurveNumbers& facts) : median(facts.mean), deviation(facts.std) {}
    GPUHIST_HD static bool keeps(const CurveNumbers&) { return false; }
    GPUHIST_HD double operator()(double v) const { return exact_zscore(v, median, deviation); }
};

}  // namespace gpuhist::core
