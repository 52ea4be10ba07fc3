// match: the histogram of another image.
#pragma once

#include <cstdint>

#include "core/portable.hpp"
#include "normalize/curves/facts.hpp"

namespace gpuhist::core {

struct MatchCurve {
    static constexpr bool in_samples = true;

    double lowest = 0;
    std::int64_t count = 0;
    const double *values = nullptr, *matched = nullptr;  ///< of the facts, or a copy of them; outlive the curve

    MatchCurve() = default;
    explicit MatchCurve(const CurveFacts& facts)
        : lowest(facts.lowest),
          count(static_cast<std::int64_t>(facts.matched.values.size())),
          values(facts.matched.values.data()),
          matched(facts.matched.matched.data()) {}
    static bool keeps(const CurveFacts& facts) { return facts.matched.values.empty(); }
    /// Values that no valid sample has are treated like the next lower one that has samples.
    GPUHIST_HD double operator()(double v) const { return v != v ? v : result(values_through(v)); }
    /// Replaces `n` values by their results. Looks first where the value before was found, and next to it: values of a
    /// table ascend.
    void replace(double* all, std::int64_t n) const {
        std::int64_t found = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            const double v = all[i];
            if (v != v) continue;
            if (!ends_at(found, v) && !(found < count && ends_at(++found, v))) found = values_through(v);
            all[i] = result(found);
        }
    }

  private:
    /// Number of values up to v.
    GPUHIST_HD std::int64_t values_through(double v) const {
        std::int64_t first = 0, end = count;
        while (first < end) {
            const std::int64_t middle = (first + end) / 2;
            if (values[middle] > v)
                end = middle;
            else
                first = middle + 1;
        }
        return first;
    }
    bool ends_at(std::int64_t through, double v) const {
        return (through == 0 || values[through - 1] <= v) && (through == count || values[through] > v);
    }
    GPUHIST_HD double result(std::int64_t through) const { return matched[through > 0 ? through - 1 : 0] - lowest; }
};

}  // namespace gpuhist::core
