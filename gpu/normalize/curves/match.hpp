// match: the histogram of another image.
#pragma once

#include <algorithm>

#include "normalize/curves/facts.hpp"

namespace gpuhist::core {

struct MatchCurve {
    static constexpr bool in_samples = true;

    double lowest;
    const MatchedValues& of;  ///< of the facts, which outlive the curve

    explicit MatchCurve(const CurveFacts& facts) : lowest(facts.lowest), of(facts.matched) {}
    static bool keeps(const CurveFacts& facts) { return facts.matched.values.empty(); }
    /// Values that no valid sample has are treated like the next lower one that has samples.
    double operator()(double v) const {
        if (v != v) return v;
        const auto above = std::upper_bound(of.values.begin(), of.values.end(), v) - of.values.begin();
        return of.matched[static_cast<std::size_t>(std::max<std::ptrdiff_t>(above - 1, 0))] - lowest;
    }
};

}  // namespace gpuhist::core
