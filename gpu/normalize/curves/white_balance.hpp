// gray-world and white-patch: a factor per color.
#pragma once

#include "core/portable.hpp"
#include "normalize/curves/facts.hpp"

namespace gpuhist::core {

struct WhiteBalanceCurve {
    static constexpr bool in_samples = true;

    double lowest, factor;

    GPUHIST_HD explicit WhiteBalanceCurve(const CurveNumbers& facts) : lowest(facts.lowest), factor(facts.factor) {}
    GPUHIST_HD static bool keeps(const CurveNumbers& facts) { return facts.factor == 1; }
    GPUHIST_HD double operator()(double v) const { return (v - lowest) * factor; }
};

}  // namespace gpuhist::core
