// threshold: black and white.
#pragma once

#include "core/portable.hpp"
#include "normalize/curves/facts.hpp"

namespace gpuhist::core {

struct ThresholdCurve {
    static constexpr bool in_samples = false;

    double threshold;

    GPUHIST_HD explicit ThresholdCurve(const CurveNumbers& facts) : threshold(facts.threshold) {}
    GPUHIST_HD static bool keeps(const CurveNumbers&) { return false; }
    GPUHIST_HD double operator()(double v) const { return v != v ? v : v > threshold ? 1 : 0; }
};

}  // namespace gpuhist::core
