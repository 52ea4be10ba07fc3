// minmax: a stretch between the extremes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/portable.hpp"
#include "normalize/depths.hpp"
#include "normalize/facts.hpp"

namespace gpuhist::core {

/// Line of the stretch first + (v − lo) · width / (hi − lo) of T's values to levels, clamped to these, halves rounded
/// up: as a product. Its factor, width · 2^digits / (hi − lo), is rounded up, so that what is rounded
/// down at the end is too large by less than (hi − lo) / 2^digits < 1 / (2 · (hi − lo)), of which the exact number is a
/// multiple: both round to the same. Where lo = hi all values stay as they are, or become the nearest level.
template <typename T>
struct Line {
    using Fixed = std::conditional_t<sizeof(T) == 1, std::uint32_t, std::uint64_t>;
    static constexpr int digits = 8 * (sizeof(Fixed) - sizeof(T));

    Fixed factor, offset;  ///< modulo 2^32 or 2^64, as their products and sums are
    std::uint32_t lo, hi;

    GPUHIST_HD static constexpr Line between(std::uint32_t lo, std::uint32_t hi, Levels levels = all_levels<T>()) {
        constexpr Fixed one = Fixed{1} << digits;
        if (lo == hi) return {one, 0, levels.first, levels.last};
        const Fixed width = hi - lo, factor = (levels.width() * one + width - 1) / width;
        return {factor, one / 2 - lo * factor + levels.first * one, lo, hi};
    }
    GPUHIST_HD constexpr std::uint32_t clamp(std::uint32_t v) const {
        const std::uint32_t least = v < lo ? lo : v;
        return least > hi ? hi : least;
    }
    /// Value from lo to hi, mapped: from bit `digits` on.
    GPUHIST_HD constexpr Fixed operator()(std::uint32_t v) const { return v * factor + offset; }
    /// Value of any size, mapped.
    GPUHIST_HD constexpr std::uint32_t map(std::uint32_t v) const {
        return static_cast<std::uint32_t>((*this)(clamp(v)) >> digits);
    }
};

struct MinmaxMode {
    static constexpr NormalizeMode mode = NormalizeMode::minmax;

    template <typename T>
    struct Table : Line<T> {
        GPUHIST_HD explicit Table(const IntegerFacts& facts)
            : Line<T>(Line<T>::between(facts.low, facts.high, facts.levels)) {}
        GPUHIST_HD std::uint32_t operator()(std::uint32_t code, std::uint64_t) const { return this->map(code); }
    };

    template <typename Out>
    struct Scaled {
        std::uint32_t low, high;
        Levels levels;
        GPUHIST_HD explicit Scaled(const IntegerFacts& facts)
            : low(facts.low), high(facts.high), levels(facts.levels) {}
        GPUHIST_HD Out operator()(std::uint32_t code, std::uint64_t) const {
            return from_ratio<Out>((code < low ? low : code > high ? high : code) - low, high - low, levels);
        }
    };

    struct FloatMap : Quotient {
        GPUHIST_HD explicit FloatMap(const FloatFacts& facts) : Quotient{facts.low, facts.high - facts.low} {}
        GPUHIST_HD static bool keeps(const FloatFacts& facts) { return !(facts.low < facts.high); }
    };

    struct RealMap {
        double low, high;
        explicit RealMap(const RealFacts& facts) : low(facts.low), high(facts.high) {}
        static bool keeps(const RealFacts& facts) { return !(facts.low < facts.high); }
        double operator()(double v, std::uint64_t) const {
            const double above = v - low, width = high - low;
            if (std::isfinite(above) && std::isfinite(width)) return above / width;
            return (v / 2 - low / 2) / (high / 2 - low / 2);  // differences may pass the largest double
        }
    };
};

}  // namespace gpuhist::core
