// Facts that curves follow from.
//
// A curve is one file: a struct with
//
//     static constexpr bool in_samples;     // whether results are in units of the samples, from their zero on; else
//                                           // they are fractions of the range, or real numbers
//     static bool keeps(const CurveNumbers&);  // whether samples stay as they are
//     explicit Curve(const CurveNumbers&);
//     double operator()(double v) const;    // NaN stays NaN; not rounded yet
//
// It is named in with_numeric_curve of map.hpp, and a row of `all_normalize_modes`. Integers follow from a table with
// the result for each value, floats and integers of 32 bits sample by sample.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/portable.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist::core {

/// Parameters of a curve: those of a normalization, but for the reference.
struct CurveParameters {
    NormalizeMode mode = NormalizeMode::gamma;
    double gamma = 1, level_low = 0, level_high = 0;
    StretchFunction stretch = StretchFunction::linear;
    double power = 2, contrast = 3, midpoint = 0.5;
    StretchInterval interval = StretchInterval::minmax;
    double sigmas = 3;
    ThresholdRule rule = ThresholdRule::otsu;
    double threshold = 0;

    CurveParameters() = default;
    explicit CurveParameters(const Normalization& of)
        : mode(of.mode),
          gamma(of.gamma),
          level_low(of.level_low),
          level_high(of.level_high),
          stretch(of.stretch),
          power(of.power),
          contrast(of.contrast),
          midpoint(of.midpoint),
          interval(of.interval),
          sigmas(of.sigmas),
          rule(of.threshold),
          threshold(of.threshold_value) {}
};

/// Values, ascending, and the numbers that stand for them.
struct MatchedValues {
    std::vector<double> values, matched;
};

/// Numbers about the samples that decide a curve. Numbers that the curve does not need are not used.
struct CurveNumbers {
    double lowest = 0, range = 1;  ///< of the depth: the value of fraction 0, and the distance to that of fraction 1
    std::uint64_t samples = 0;     ///< finite and valid
    double low = 0, high = 0;      ///< ends that are stretched between
    double mean = 0, std = 0;      ///< robust: median and 1.4826 MAD
    double factor = 1;             ///< of white balances
    double threshold = 0;
    CurveParameters asked{};

    GPUHIST_HD CurveNumbers(double first, double extent, const CurveParameters& parameters)
        : lowest(first), range(extent), asked(parameters) {}
    CurveNumbers(Depth depth, const CurveParameters& parameters) : asked(parameters) {
        const DepthTraits& traits = traits_of(depth);
        if (traits.floating) return;
        lowest = traits.lowest;
        range = traits.highest - traits.lowest;
    }
    /// Value as a fraction of the range.
    GPUHIST_HD double fraction(double v) const { return (v - lowest) / range; }
};

/// Facts about the samples that decide a curve.
struct CurveFacts : CurveNumbers {
    using CurveNumbers::CurveNumbers;
    MatchedValues matched{};
};

/// Number from 0 to 1; NaN stays NaN.
GPUHIST_HD inline double within_unit(double x) {
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/// Place of a value between two ends, from 0 to 1; NaN stays NaN.
GPUHIST_HD inline double between(double v, double low, double high) {
    double width = high - low, above = v - low;
    if (!(fabs(width) <= 1.7976931348623157e308)) {  // differences may pass the largest double
        width = high / 2 - low / 2;
        above = v / 2 - low / 2;
    }
    return within_unit(above / width);
}

}  // namespace gpuhist::core
