// stretch: a function over an interval.
#pragma once

#include <cmath>

#include "core/elementary.hpp"
#include "core/portable.hpp"
#include "normalize/curves/facts.hpp"

namespace gpuhist::core {

/// Functions of astropy.visualization, computed in its order of operations, and the sigmoid of ImageMagick.
struct StretchCurve {
    static constexpr bool in_samples = false;

    StretchFunction function;
    double low, high, power_of, contrast, midpoint;
    double first = 0, whole = 1;  ///< of the function, at 0 and from there to 1

    GPUHIST_HD explicit StretchCurve(const CurveNumbers& facts)
        : function(facts.asked.stretch),
          low(facts.low),
          high(facts.high),
          power_of(facts.asked.power),
          contrast(facts.asked.contrast),
          midpoint(facts.asked.midpoint) {
        first = function == StretchFunction::sigmoid ? unscaled(0) : 0;
        whole = unscaled(1) - first;
    }
    GPUHIST_HD static bool keeps(const CurveNumbers& facts) { return !(facts.low < facts.high); }
    GPUHIST_HD double operator()(double v) const {
        const double x = between(v, low, high);
        if (function == StretchFunction::sigmoid) return within_unit((unscaled(x) - first) / whole);
        return unscaled(x) / whole;
    }

  private:
    GPUHIST_HD double unscaled(double x) const {
        switch (function) {
            case StretchFunction::linear:
                break;
            case StretchFunction::sqrt:
                return sqrt(x);
            case StretchFunction::log:
                return log_of(x * 1000 + 1);
            case StretchFunction::asinh:
                return asinh_of(x / 0.1);
            case StretchFunction::sinh:
                return sinh_of(x / (1.0 / 3));
            case StretchFunction::power:
                return power(x, power_of);
            case StretchFunction::sigmoid:
                return 1 / (1 + exp_of(contrast * (midpoint - x)));
        }
        return x;
    }
};

}  // namespace gpuhist::core
