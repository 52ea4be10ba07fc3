// Bins of values.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/portable.hpp"
#include "gpuhist/analysis.hpp"

namespace gpuhist::core {

/// Lower edge of a bin of `bins` equal ones; edge(bins) is the upper end itself.
GPUHIST_HD inline double bin_edge(double lower, double upper, std::uint32_t bins, std::uint32_t bin) {
    return bin == bins ? upper : static_cast<double>(bin) * ((upper - lower) / bins) + lower;
}

/// Lower edge of a bin as above, in a range of any size, which may be wider than the largest double.
inline double any_bin_edge(const Range& range, std::uint32_t bins, std::uint32_t bin) {
    if (std::isfinite(range.upper - range.lower)) return bin_edge(range.lower, range.upper, bins, bin);
    return 2 * bin_edge(range.lower / 2, range.upper / 2, bins, bin);
}

/// Bins of f32 samples: bin i holds v when edge(i) ≤ v < edge(i + 1), with the edges that are written beside the
/// counts. The division estimates the bin, its neighbors' edges decide: as numpy.histogram in float64.
struct FloatBins {
    double lower = 0, upper = 1, scale = 1;
    std::uint32_t bins = 1;
    bool upper_closed = false;

    static constexpr std::uint32_t below = 0xFFFFFFFE;
    static constexpr std::uint32_t above = 0xFFFFFFFF;

    FloatBins() = default;
    GPUHIST_HD FloatBins(double lo, double hi, std::uint32_t n, bool closed)
        : lower(lo), upper(hi), scale(n / (hi - lo)), bins(n), upper_closed(closed) {}

    /// Bin of a value that is no NaN, or `below`, `above`.
    GPUHIST_HD std::uint32_t operator()(float value) const {
        const double v = value;
        if (v < lower) return below;
        if (v > upper || (v == upper && !upper_closed)) return above;
        std::uint32_t bin = static_cast<std::uint32_t>((v - lower) * scale);
        if (bin >= bins) bin = bins - 1;
        if (v < bin_edge(lower, upper, bins, bin))
            --bin;
        else if (bin + 1 < bins && v >= bin_edge(lower, upper, bins, bin + 1))
            ++bin;
        return bin;
    }
};

/// Range of bins where none was given, but of 8- and 16-bit integers: the finite extremes; around a single value, a
/// half to each side (more where that would vanish in double's resolution); [0, 1] where nothing is finite.
GPUHIST_HD inline Range found_range(bool any_finite, double minimum, double maximum) {
    if (!any_finite) return {0, 1};
    if (minimum < maximum) return {minimum, maximum};
    const double half = fmax(0.5, fabs(minimum) * 0x1p-25);
    return {minimum - half, minimum + half};
}

}  // namespace gpuhist::core
