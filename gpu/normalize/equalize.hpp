// equalize: values by how many samples lie below them.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/bins.hpp"
#include "core/portable.hpp"
#include "normalize/facts.hpp"

namespace gpuhist::core {

/// f32: equal bins over the extremes.
inline constexpr std::uint32_t equalize_float_bins = 65536;

/// Scale, as cv::equalizeHist: all samples but the `first` non-empty bin's, onto [0, top].
GPUHIST_HD inline float equalize_scale(std::uint64_t total, std::uint64_t first, std::uint32_t top) {
    return static_cast<float>(top) / static_cast<float>(total - first);
}
/// Value for a bin, given the samples after the first non-empty bin up to and including it.
GPUHIST_HD inline std::uint32_t equalize(std::uint64_t cumulative, float scale, std::uint32_t top) {
    const float value = rintf(static_cast<float>(cumulative) * scale);
    return value >= static_cast<float>(top) ? top : static_cast<std::uint32_t>(value);
}
/// f32: onto [0, 1], not rounded.
GPUHIST_HD inline float equalize(std::uint64_t cumulative, float scale) {
    return fminf(static_cast<float>(cumulative) * scale, 1.0f);
}

struct EqualizeMode {
    static constexpr NormalizeMode mode = NormalizeMode::equalize;

    template <typename T>
    struct Table {
        static constexpr std::uint32_t top = (1u << 8 * sizeof(T)) - 1;
        bool keep;
        std::uint64_t skipped;  ///< samples of the lowest value
        float scale;
        GPUHIST_HD explicit Table(const IntegerFacts& facts)
            : keep(facts.low == facts.high),
              skipped(facts.lowest_samples),
              scale(keep ? 0 : equalize_scale(facts.samples, skipped, top)) {}
        GPUHIST_HD std::uint32_t operator()(std::uint32_t code, std::uint64_t through) const {
            return keep ? code : equalize(through > skipped ? through - skipped : 0, scale, top);
        }
    };

    template <typename Out>
    struct Scaled {
        static constexpr std::uint32_t top = std::is_floating_point_v<Out> ? 1 : std::numeric_limits<Out>::max();
        std::uint64_t skipped;  ///< samples of the lowest value
        float scale;
        explicit Scaled(const IntegerFacts& facts)
            : skipped(facts.lowest_samples), scale(equalize_scale(facts.samples, skipped, top)) {}
        Out operator()(std::uint32_t, std::uint64_t through) const {
            const std::uint64_t cumulative = through > skipped ? through - skipped : 0;
            if constexpr (std::is_floating_point_v<Out>)
                return equalize(cumulative, scale);
            else
                return static_cast<Out>(equalize(cumulative, scale, top));
        }
    };

    struct FloatMap {
        FloatBins bins;
        const float* table = nullptr;  ///< a value a bin
        GPUHIST_HD explicit FloatMap(const FloatFacts& facts)
            : bins(facts.low, facts.high, equalize_float_bins, true), table(facts.table) {}
        GPUHIST_HD static bool keeps(const FloatFacts& facts) {
            return !(facts.low < facts.high) || facts.table == nullptr;
        }
        GPUHIST_HD float operator()(float v) const {
            if (v != v) return v;
            const std::uint32_t bin = bins(v);
            return bin == FloatBins::below ? 0 : bin == FloatBins::above ? 1 : table[bin];
        }
    };
};

/// Table for floats, a value for each of `equalize_float_bins` counts. Returns whether there is one: not where all
/// samples lie in one bin.
bool fill_equalize_table(const std::uint64_t* counts, float* table);

}  // namespace gpuhist::core
