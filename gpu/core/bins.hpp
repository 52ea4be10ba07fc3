// Bins of values.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "core/portable.hpp"
#include "gpuhist/analysis.hpp"

namespace gpuhist::core {

/// Width of one of `bins` equal bins. The range may be wider than the largest double.
GPUHIST_HD inline double bin_width(double lower, double upper, std::uint32_t bins) {
    const double extent = upper - lower;
    return extent <= DBL_MAX ? extent / bins : fmin(2 * ((upper / 2 - lower / 2) / bins), DBL_MAX);
}

/// Lower edge of one of `bins` equal bins; edge(bins) is exactly the upper end. In a range wider than the largest
/// double, edges far above all f32 may be infinite.
GPUHIST_HD inline double bin_edge(double lower, double upper, std::uint32_t bins, std::uint32_t bin) {
    return bin == bins ? upper : static_cast<double>(bin) * bin_width(lower, upper, bins) + lower;
}

/// Lower edge of a bin as above, in a range of any size, even wider than the largest double.
inline double any_bin_edge(const Range& range, std::uint32_t bins, std::uint32_t bin) {
    if (std::isfinite(range.upper - range.lower)) return bin_edge(range.lower, range.upper, bins, bin);
    return 2 * bin_edge(range.lower / 2, range.upper / 2, bins, bin);
}

/// Bins of f32 samples: bin i has v when edge(i) ≤ v < edge(i + 1), with the edges that are written beside the counts.
/// The division estimates the bin, and the edges of its neighbors decide, as numpy.histogram in float64 does it.
struct FloatBins {
    double lower = 0, upper = 1, scale = 1, width = 1;
    std::uint32_t bins = 1;
    bool upper_closed = false;

    static constexpr std::uint32_t below = 0xFFFFFFFE;
    static constexpr std::uint32_t above = 0xFFFFFFFF;

    FloatBins() = default;
    GPUHIST_HD FloatBins(double lo, double hi, std::uint32_t n, bool closed)
        : lower(lo), upper(hi), scale(n / (hi - lo)), width(bin_width(lo, hi, n)), bins(n), upper_closed(closed) {
        if (!(hi - lo <= DBL_MAX)) scale = n / (hi / 2 - lo / 2) / 2;
    }

    /// Bin of a value that is not NaN; or `below`, or `above`.
    GPUHIST_HD std::uint32_t operator()(float value) const {
        const double v = value;
        if (v < lower) return below;
        if (v > upper || (v == upper && !upper_closed)) return above;
        std::uint32_t bin = static_cast<std::uint32_t>((v - lower) * scale);
        if (bin >= bins) bin = bins - 1;
        if (v < edge(bin))
            --bin;
        else if (bin + 1 < bins && v >= edge(bin + 1))
            ++bin;
        return bin;
    }

  private:
    GPUHIST_HD double edge(std::uint32_t bin) const { return static_cast<double>(bin) * width + lower; }
};

/// Default range of bins, for all depths but 8- and 16-bit integers: the finite extremes. Around a single value, it
/// reaches a half to each side, or more if that would vanish in the resolution of double, as far as there are doubles.
/// Without finite values it is [0, 1].
GPUHIST_HD inline Range found_range(bool any_finite, double minimum, double maximum) {
    if (!any_finite) return {0, 1};
    if (minimum < maximum) return {minimum, maximum};
    const double half = fmax(0.5, fabs(minimum) * 0x1p-25);
    return {fmax(minimum - half, -DBL_MAX), fmin(minimum + half, DBL_MAX)};
}

}  // namespace gpuhist::core
