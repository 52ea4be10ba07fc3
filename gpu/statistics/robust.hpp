// Robust numbers of counted samples: their spread about the median, and what sigma clipping leaves.
//
// They need the median first, so they are found in walks of their own over the counts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/integers.hpp"
#include "gpuhist/statistics.hpp"
#include "statistics/counted_samples.hpp"
#include "statistics/percentiles.hpp"

namespace gpuhist::core {

inline const Percentiles median_alone({50});

/// Median, mean and std of samples.
struct Center {
    double median = 0, mean = 0, std = 0;
    std::uint64_t n = 0;
};

/// Center of n > 0 samples. `Moments` are those of their kind.
template <class Moments, class Samples>
Center center_of(const Samples& samples, bool weighted) {
    Population population = samples;
    population.percentiles = &median_alone;
    Moments moments(samples);
    CountedPercentiles median(population);
    WeightedPercentiles weighted_median(population);
    samples.each([&](auto value, std::uint64_t count) {
        moments.accumulate(value, count);
        weighted ? weighted_median.accumulate(static_cast<double>(value), count)
                 : median.accumulate(static_cast<double>(value), count);
    });
    Statistics row;
    moments.finish(row);
    list_percentiles(row, median_alone);
    row.weighted_percentiles = row.percentiles;
    median.finish(row);
    weighted_median.finish(row);
    return {*(weighted ? row.weighted_percentiles : row.percentiles).front().value, *row.mean, *row.std, samples.n};
}

/// Distance from a center, at a zero-based rank among those of all samples, ascending. The samples that are no further
/// away follow one another in ascending order; the first and the last of them are found side by side.
template <class Samples>
double distance_at(const Samples& samples, double center, std::uint64_t rank) {
    typename Samples::Cursor first(samples), last(samples);
    double nearest = HUGE_VAL;
    std::uint64_t before = 0, through = 0;  // samples before `first`, and up to `last`
    while (first.next()) {
        if (samples.n - before <= rank) break;  // too few from here
        while (through <= before + rank && last.next()) through += last.count();
        nearest = std::min(
            nearest, std::max(center - static_cast<double>(first.value()), static_cast<double>(last.value()) - center));
        before += first.count();
    }
    return nearest;
}

/// Median of the distances from a center.
template <class Samples>
double median_distance(const Samples& samples, double center, bool weighted) {
    if (weighted) return distance_at(samples, center, nearest_rank(50, samples.n) - 1);
    return percentile_of(all_micro / 2, samples.n,
                         [&](std::uint64_t rank) { return distance_at(samples, center, rank); });
}

/// Robust numbers of samples, of which make(window) gives those in a window.
template <class Moments, class Make>
void set_robust(Statistics& row, const Make& make, bool weighted, double sigma) {
    Window window;
    const auto all = make(window);
    if (all.n == 0) return;
    Center center = center_of<Moments>(all, weighted);
    if (const double mad = median_distance(all, center.median, weighted); std::isfinite(mad)) row.mad = mad;
    for (std::uint64_t left = all.n;; left = center.n) {
        window.lowest = std::max(window.lowest, center.median - sigma * center.std);
        window.highest = std::min(window.highest, center.median + sigma * center.std);
        const auto inside = make(window);
        row.clipped_share = static_cast<double>(all.n - inside.n) / static_cast<double>(all.n);
        if (inside.n == 0) return;  // a sigma under 1 may leave none
        if (inside.n == left) break;
        center = center_of<Moments>(inside, weighted);
    }
    row.clipped_mean = center.mean;
    row.clipped_std = center.std;
}

}  // namespace gpuhist::core
