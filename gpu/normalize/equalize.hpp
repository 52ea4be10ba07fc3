// equalize: values by how many samples lie below them.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/bins.hpp"
#include "core/portable.hpp"
#include "normalize/depths.hpp"
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
        bool keep;
        float scale;
        std::uint64_t skipped;  ///< samples of the lowest value
        Levels levels;
        GPUHIST_HD explicit Table(const IntegerFacts& facts)
            : keep(facts.low == facts.high),
              scale(keep ? 0 : equalize_scale(facts.samples, facts.lowest_samples, facts.levels.width())),
              skipped(facts.lowest_samples),
              levels(facts.levels) {}
        GPUHIST_HD std::uint32_t operator()(std::uint32_t code, std::uint64_t through) const {
            if (keep) return levels.clamp(code);
            return levels.first + equalize(through > skipped ? through - skipped : 0, scale, levels.width());
        }
    };

    /// Map for copies of another depth. Ranks become more than 16 bits in whole numbers, f16 and f64 in double: a float
    /// has too few digits for them.
    template <typename Out>
    struct Scaled {
        static constexpr bool in_float = std::is_same_v<Out, float> || (!is_real<Out> && sizeof(Out) <= 2);
        std::uint64_t skipped;  ///< samples of the lowest value
        std::uint64_t others;
        Levels levels;
        float scale;
        GPUHIST_HD explicit Scaled(const IntegerFacts& facts)
            : skipped(facts.lowest_samples),
              others(facts.samples - skipped),
              levels(facts.levels),
              scale(equalize_scale(facts.samples, skipped, is_real<Out> ? 1 : levels.width())) {}
        GPUHIST_HD Out operator()(std::uint32_t, std::uint64_t through) const {
            const std::uint64_t cumulative = through > skipped ? through - skipped : 0;
            if constexpr (!in_float)
                return from_ratio<Out>(cumulative, others, levels);
            else if constexpr (is_real<Out>)
                return equalize(cumulative, scale);
            else
                return at_level<Out>(levels.first + equalize(cumulative, scale, levels.width()));
        }
    };

    struct RealMap {
        std::uint64_t skipped, others;
        explicit RealMap(const RealFacts& facts)
            : skipped(facts.lowest_samples), others(facts.samples - facts.lowest_samples) {}
        static bool keeps(const RealFacts& facts) { return facts.samples == facts.lowest_samples; }
        double operator()(double v, std::uint64_t through) const {
            if (v != v) return v;
            if (std::isinf(v)) return v < 0 ? 0 : 1;
            return through > skipped ? static_cast<double>(through - skipped) / static_cast<double>(others) : 0;
        }
    };

    struct FloatMap {
        FloatBins bins;
        const float* table = nullptr;  ///< one value per bin
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
