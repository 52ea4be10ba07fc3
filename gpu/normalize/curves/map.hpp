// Curves that follow from numbers alone, and the samples of copies that their results become.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/codes.hpp"
#include "core/levels.hpp"
#include "core/portable.hpp"
#include "normalize/curves/facts.hpp"
#include "normalize/curves/gamma.hpp"
#include "normalize/curves/robust.hpp"
#include "normalize/curves/stretch.hpp"
#include "normalize/curves/threshold.hpp"
#include "normalize/curves/white_balance.hpp"
#include "normalize/depths.hpp"

namespace gpuhist::core {

/// Dispatch on a mode that is a curve, but for `match`: calls `function` with the curve.
#ifdef __CUDACC__
#pragma nv_exec_check_disable
#endif
template <class Function>
GPUHIST_HD void with_numeric_curve(const CurveNumbers& facts, const Function& function) {
    switch (facts.asked.mode) {
        case NormalizeMode::gamma:
            return function(GammaCurve(facts));
        case NormalizeMode::auto_gamma:
            return function(AutoGammaCurve(facts));
        case NormalizeMode::levels:
            return function(LevelsCurve(facts));
        case NormalizeMode::stretch:
            return function(StretchCurve(facts));
        case NormalizeMode::robust:
            return function(RobustCurve(facts));
        case NormalizeMode::gray_world:
        case NormalizeMode::white_patch:
            return function(WhiteBalanceCurve(facts));
        case NormalizeMode::threshold:
            return function(ThresholdCurve(facts));
        default:
            break;
    }
}

/// Unit of a curve's results.
template <class Curve>
GPUHIST_HD double unit_of(const Curve&, const CurveNumbers& facts) {
    return Curve::in_samples ? facts.range : 1;
}

/// Sample of a copy that a curve's result becomes. Results are fractions, or distances within `unit`, or real numbers.
template <class Out>
GPUHIST_HD Out written(double result, double unit, bool real, Levels levels) {
    if constexpr (is_real<Out>) {
        return rounded_to<Out>(real ? result : result / unit);
    } else {
        if (result != result) return at_level<Out>(levels.nothing);
        // The product of a distance in samples and their range is exact, so that halves stay halves.
        const double distance = result > 0 ? fmin(result, unit) * static_cast<double>(levels.width()) : 0;
        return at_level<Out>(levels.first + static_cast<std::uint32_t>(floor(distance / unit + 0.5)));
    }
}

/// Returns whether a curve that follows from numbers leaves samples as they are. `needs`: of the normalization.
GPUHIST_HD inline bool keeps(const CurveNumbers& facts, NormalizeNeeds needs) {
    if (facts.samples == 0 && needs != NormalizeNeeds::nothing) return true;
    bool kept = false;
    with_numeric_curve(facts, [&](const auto& curve) { kept = curve.keeps(facts); });
    return kept;
}

/// Sets the ends of an interval that follows from mean and std.
GPUHIST_HD inline void set_interval(CurveNumbers& facts) {
    if (facts.asked.mode != NormalizeMode::stretch) return;
    facts.low = facts.mean - facts.asked.sigmas * facts.std;
    facts.high = facts.mean + facts.asked.sigmas * facts.std;
}

/// Sets the factors of a white balance of red, green and blue.
GPUHIST_HD inline void balance(CurveNumbers& red, CurveNumbers& green, CurveNumbers& blue) {
    const bool world = red.asked.mode == NormalizeMode::gray_world;
    CurveNumbers* const colors_of_image[3] = {&red, &green, &blue};
    double numbers[3];
    for (int c = 0; c < 3; ++c) {
        const CurveNumbers& color = *colors_of_image[c];
        numbers[c] = (world ? color.mean : color.high) - color.lowest;
        if (color.samples == 0 || !(numbers[c] > 0)) return;
    }
    const double target =
        world ? (numbers[0] + numbers[1] + numbers[2]) / 3 : fmax(fmax(numbers[0], numbers[1]), numbers[2]);
    for (int c = 0; c < 3; ++c) colors_of_image[c]->factor = target / numbers[c];
}

}  // namespace gpuhist::core
