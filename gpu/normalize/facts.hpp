// Facts about the samples that decide a normalization: what a mode's table and formula follow from.
//
// A mode of NormalizeKind::exact is one file: its formulas, and a struct with
//
//     static constexpr NormalizeMode mode;
//     template <typename T> struct Table     // for integers, T unsigned and as wide as a sample
//         explicit Table(const IntegerFacts&);
//         operator()(code, through)          // the code written for a code, or a real number; `through`: samples of
//                                            // codes up to this one
//     template <typename Out> struct Scaled  // for integers whose copy has another depth, and of 32 bits, host only;
//                                            // not where the copy holds real numbers
//         explicit Scaled(const IntegerFacts&);
//         Out operator()(code, through)
//     struct FloatMap                        // for f32
//         static bool keeps(const FloatFacts&);  // whether samples stay as they are
//         explicit FloatMap(const FloatFacts&);
//         float operator()(float) const;
//     struct RealMap                         // for f16 and f64, and for 32 bits where copies hold real numbers; host
//         static bool keeps(const RealFacts&);
//         explicit RealMap(const RealFacts&);
//         double operator()(double, through) const;  // not rounded yet
//
// Tables and FloatMaps are trivially copyable. The GPU has ways of its own, which are faster, for a Table that derives
// from Line, for a FloatMap that derives from Quotient, and for floats where the mode needs counts.
//
// Codes that Table and Scaled write are within `levels`, and so is what the host makes of the fractions of the others.
//
// A code is a value's distance from the depth's lowest. What a mode needs to know, and which samples decide, is its row
// of `all_normalize_modes`; the file is named in normalize/modes.hpp.
//
// Other modes are curves (normalize/curves), or depend on the place of a sample.
#pragma once

#include <cstdint>

#include "core/integers.hpp"
#include "core/levels.hpp"
#include "core/portable.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist::core {

/// Facts about integer samples, at least one. Facts that the mode does not need are not used.
struct IntegerFacts {
    double lowest = 0;                 ///< the value of code 0
    std::uint32_t low = 0, high = 0;   ///< codes: of the extremes; `ranks`: at the two nearest ranks
    std::uint64_t samples = 0;         ///< all
    std::uint64_t lowest_samples = 0;  ///< of code `low`, where that is the minimum
    MeanStd mean_std{};                ///< of values
    Levels levels{};                   ///< of the copy, where it is one of integers
};

/// Facts about finite float samples, at least one. Facts that the mode does not need are not used.
struct FloatFacts {
    double low = 0, high = 0;  ///< the extremes; `ranks`: the values at the two nearest ranks; `counts`: the ends
                               ///< of the bins
    double mean = 0, std = 1;
    const float* table = nullptr;  ///< `counts`: one value per bin; null: samples stay as they are
};

/// Facts about finite samples counted by value, at least one.
struct RealFacts {
    double low = 0, high = 0;          ///< the extremes; `ranks`: the values at the two nearest ranks
    std::uint64_t samples = 0;         ///< all
    std::uint64_t lowest_samples = 0;  ///< of the lowest value
    MeanStd mean_std{};
    Levels levels{};  ///< of the copy, where it is one of integers
};

/// Quotient (v − low) / divisor as a float, as a base for a FloatMap. If the mode allows a divisor of 0, all values but
/// NaN then become 0.
struct Quotient {
    double low, divisor;

    GPUHIST_HD float operator()(float v) const { return static_cast<float>((v - low) / divisor); }
    /// Value written for a quotient.
    GPUHIST_HD static float written(float quotient) { return quotient; }
};

}  // namespace gpuhist::core
