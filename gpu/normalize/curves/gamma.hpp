// gamma, auto-gamma and levels: powers of fractions.
#pragma once

#include "core/elementary.hpp"
#include "core/portable.hpp"
#include "normalize/curves/facts.hpp"

namespace gpuhist::core {

struct GammaCurve {
    static constexpr bool in_samples = false;

    double lowest, range, exponent;

    GPUHIST_HD explicit GammaCurve(const CurveNumbers& facts) : GammaCurve(facts, 1 / facts.asked.gamma) {}
    GPUHIST_HD static bool keeps(const CurveNumbers& facts) { return facts.asked.gamma == 1; }
    GPUHIST_HD double operator()(double v) const {
        const double x = (v - lowest) / range;
        return x < 0 ? x : power(x, exponent);
    }

  protected:
    GPUHIST_HD GammaCurve(const CurveNumbers& facts, double by)
        : lowest(facts.lowest), range(facts.range), exponent(by) {}
};

/// Gamma that takes the mean to the middle: F. Weinhaus' autogamma, as ImageMagick has it.
struct AutoGammaCurve : GammaCurve {
    GPUHIST_HD explicit AutoGammaCurve(const CurveNumbers& facts)
        : GammaCurve(facts, log_of(0.5) / log_of(facts.fraction(facts.mean))) {}
    GPUHIST_HD static bool keeps(const CurveNumbers& facts) {
        const double mean = facts.fraction(facts.mean);
        return !(mean > 0 && mean < 1);
    }
};

struct LevelsCurve {
    static constexpr bool in_samples = false;

    double low, high, exponent;

    GPUHIST_HD explicit LevelsCurve(const CurveNumbers& facts)
        : low(facts.asked.level_low), high(facts.asked.level_high), exponent(1 / facts.asked.gamma) {}
    GPUHIST_HD static bool keeps(const CurveNumbers&) { return false; }
    GPUHIST_HD double operator()(double v) const { return power(between(v, low, high), exponent); }
};

}  // namespace gpuhist::core
