#include "statistics/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/integers.hpp"

namespace gpuhist::core {
namespace {

/// Counts of codes, with the first and the last that occur.
struct Counts {
    const std::vector<std::uint64_t>& at;
    std::int64_t first = 0, last = -1;
    std::uint64_t samples = 0;

    explicit Counts(const std::vector<std::uint64_t>& counts) : at(counts) {
        for (std::size_t code = 0; code < at.size(); ++code) {
            if (at[code] == 0) continue;
            if (samples == 0) first = static_cast<std::int64_t>(code);
            last = static_cast<std::int64_t>(code);
            samples += at[code];
        }
    }
    std::uint64_t operator[](std::int64_t code) const { return at[static_cast<std::size_t>(code)]; }
};

double otsu(const Counts& counts) {
    i128 sum = 0, below_sum = 0;
    for (std::int64_t code = counts.first; code <= counts.last; ++code) sum += static_cast<i128>(counts[code]) * code;
    std::uint64_t below = 0;
    double highest = -1;
    std::int64_t best = counts.first;
    for (std::int64_t code = counts.first; code < counts.last; ++code) {
        below += counts[code];
        below_sum += static_cast<i128>(counts[code]) * code;
        // (n S0 - n0 S)^2 / (n0 n1) is n^2 times the variance between the classes.
        const auto distance =
            static_cast<double>(static_cast<i128>(counts.samples) * below_sum - static_cast<i128>(below) * sum);
        const double variance =
            distance / static_cast<double>(below) * (distance / static_cast<double>(counts.samples - below));
        if (variance > highest) {
            highest = variance;
            best = code;
        }
    }
    return static_cast<double>(best);
}

/// The code farthest from the line between the highest count and the end of the longer tail, less 1. Of several highest
/// counts the first is taken; ends are one code farther out where the type has one.
double triangle(const Counts& counts) {
    const auto top = static_cast<std::int64_t>(counts.at.size()) - 1;
    const auto peak =
        static_cast<std::int64_t>(std::max_element(counts.at.begin(), counts.at.end()) - counts.at.begin());
    std::int64_t left = std::max<std::int64_t>(0, counts.first - 1), right = std::min(top, counts.last + 1),
                 middle = peak;
    const bool mirrored = peak - left < right - peak;
    if (mirrored) {
        left = top - right;
        middle = top - peak;
    }
    std::int64_t best = left;
    i128 farthest = 0;
    for (std::int64_t i = left + 1; i <= middle; ++i) {
        const i128 distance =
            static_cast<i128>(counts[peak]) * i + static_cast<i128>(left - middle) * counts[mirrored ? top - i : i];
        if (distance > farthest) {
            farthest = distance;
            best = i;
        }
    }
    --best;
    return static_cast<double>(mirrored ? top - best : best);
}

/// Codes are counted from the first, so that their logarithms exist.
double li(const Counts& counts) {
    constexpr double tolerance = 0.5;
    double sum = 0;
    for (std::int64_t code = counts.first; code <= counts.last; ++code)
        sum += static_cast<double>(counts[code]) * static_cast<double>(code - counts.first);
    double next = sum / static_cast<double>(counts.samples), current = -2 * tolerance;
    while (std::abs(next - current) > tolerance) {
        current = next;
        double below = 0, below_sum = 0;
        for (std::int64_t code = counts.first; static_cast<double>(code - counts.first) <= current; ++code) {
            below += static_cast<double>(counts[code]);
            below_sum += static_cast<double>(counts[code]) * static_cast<double>(code - counts.first);
        }
        const double back = below_sum / below, fore = (sum - below_sum) / (static_cast<double>(counts.samples) - below);
        if (back == 0) break;
        next = (back - fore) / (std::log(back) - std::log(fore));
    }
    return next + static_cast<double>(counts.first);
}

}  // namespace

std::optional<double> threshold_by(ThresholdRule rule, const std::vector<std::uint64_t>& counts) {
    const Counts all(counts);
    if (all.first >= all.last) return std::nullopt;
    return rule == ThresholdRule::otsu ? otsu(all) : rule == ThresholdRule::triangle ? triangle(all) : li(all);
}

}  // namespace gpuhist::core
