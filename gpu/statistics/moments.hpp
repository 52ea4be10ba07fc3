// Moments: of counted integers, and of floats about a pivot.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/integers.hpp"
#include "core/portable.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/statistics.hpp"
#include "statistics/counted_samples.hpp"

namespace gpuhist::core {

// ---- integers -------------------------------------------------------------------------------------------------------

/// Moments with the bits of `mean_std`, for up to 2^62 samples of 16 bits. Host only.
ExactMoments exact_moments(const CountedSamples& samples);

/// Mean, std and std_sample.
void set_moments(Statistics& row, const ExactMoments& moments);

/// Mean, std, skewness and kurtosis of counted integers. Higher moments are summed about a whole number next to the
/// mean: sums stay exact, and the shift to the mean is at most 1/2.
class Moments {
  public:
    explicit Moments(const CountedSamples& samples);
    void accumulate(std::int64_t value, std::uint64_t count) {
        const std::int64_t d = value - pivot_;  // less than 2^16 from 0, so that the fourth power fits
        const auto square = static_cast<std::uint64_t>(d * d);
        cubes_ += static_cast<i128>(static_cast<std::int64_t>(square) * d) * static_cast<std::int64_t>(count);
        fourths_ += static_cast<i128>(static_cast<u128>(square * square) * count);
    }
    void finish(Statistics& row) const;

  private:
    ExactMoments exact_;
    std::int64_t pivot_;
    i128 deviation_;  ///< Σ(x − pivot)
    i128 cubes_ = 0, fourths_ = 0;
};

// ---- sums of powers, in whole numbers -------------------------------------------------------------------------------

/// Powers of numbers in [-1, 1] as whole numbers, whose sums are the same in any order. Adding 1.5 · 2^52 to a double
/// below 2^51 rounds it to a whole number, ties to even, and leaves that in its low bits: cheaper than rint and a
/// conversion on any processor.
struct PowerTerms {
    static constexpr double whole = 0x1.8p52;
    static constexpr std::uint64_t zero = 0x4338000000000000u;  ///< the bits of `whole`: a term of 0

    /// Adds u, u² …, each in two parts, and `zero` to sums modulo 2^64. A term is high · 2^40 + low, |high| ≤ 2^40 and
    /// |low| ≤ 2^39: so fine that small numbers keep their digits beside large ones.
    template <int powers>
    GPUHIST_HD static void add(double u, std::uint64_t (&high)[powers], std::uint64_t (&low)[powers]) {
        double power = u;
        for (int k = 0; k < powers; ++k) {
            const double scaled = power * 0x1p40;
            const double shifted = scaled + whole;
            const double rest = (scaled - (shifted - whole)) * 0x1p40 + whole;  // what rounding left, exactly
            std::uint64_t bits;
            memcpy(&bits, &shifted, sizeof bits);
            high[k] += bits;
            memcpy(&bits, &rest, sizeof bits);
            low[k] += bits;
            power *= u;
        }
    }
    /// Sum of a part of the terms of up to 2^22 `samples`.
    GPUHIST_HD static std::int64_t part(std::uint64_t sum, std::uint64_t samples) {
        return static_cast<std::int64_t>(sum - samples * zero);
    }
    /// Sum of the terms, of both parts' sums.
    GPUHIST_HD static i128 total(std::uint64_t high, std::uint64_t low, std::uint64_t samples) {
        return (static_cast<i128>(part(high, samples)) << 40) + part(low, samples);
    }
    /// Mean of n > 0 terms from their parts' sums, which may pass 128 bits together.
    GPUHIST_HD static double mean(i128 high, i128 low, std::uint64_t n) {
        return ratio(high, n) * 0x1p-40 + ratio(low, n) * 0x1p-80;
    }
};

/// Sum of counted integers, of 32 bits too.
class WholeSum {
  public:
    explicit WholeSum(const Population&) {}
    void accumulate(double value, std::uint64_t count) {
        sum_ += static_cast<i128>(static_cast<std::int64_t>(value)) * static_cast<i128>(count);
    }
    void finish(Statistics& row) const { row.sum = to_public(sum_); }

  private:
    i128 sum_ = 0;  ///< below 2^62 samples of 32 bits
};

// ---- any other counted samples --------------------------------------------------------------------------------------

/// Distances of samples from their mean, in units of a power of two that none reaches.
class Distances {
  public:
    GPUHIST_HD Distances(double mean, double lowest, double highest) : mean_(mean) {
        double most = fmax(mean - lowest, highest - mean);
        if (!(most <= DBL_MAX)) {
            whole_ = 0.5;
            most = fmax(mean / 2 - lowest / 2, highest / 2 - mean / 2);
        }
        frexp(most, &exponent_);
        unit_[0] = power_of_two(-(exponent_ / 2));
        unit_[1] = power_of_two(-(exponent_ - exponent_ / 2));
    }
    GPUHIST_HD double operator()(double value) const { return (value * whole_ - mean_ * whole_) * unit_[0] * unit_[1]; }
    GPUHIST_HD double mean() const { return mean_; }
    /// Standard deviation of samples from the variance of their distances.
    GPUHIST_HD double std(double variance) const { return ldexp(sqrt(variance) / whole_, exponent_); }
    /// Variance of the distances from the means of these and of their squares.
    GPUHIST_HD static double variance(double first, double second) { return fmax(second - first * first, 0.0); }

  private:
    double mean_;
    double whole_ = 1;  ///< 1/2 where distances pass the largest double
    int exponent_ = 0;  ///< distances are below 2^exponent · whole
    double unit_[2];    ///< together 2^-exponent, which need not be a double
};

/// Mean, std, skewness and kurtosis of samples by value: the mean of their exact sum, the others of sums of powers of
/// the distances from it, in whole numbers. So nothing but the samples shows in them, nor their order.
class RealMoments {
  public:
    explicit RealMoments(const RealSamples& samples)
        : n_(samples.n), distance_(samples.sum.mean(samples.n), samples.lowest, samples.highest) {}
    void accumulate(double value, std::uint64_t count) {
        std::uint64_t high[4] = {}, low[4] = {};
        PowerTerms::add(distance_(value), high, low);
        for (int k = 0; k < 4; ++k) {
            high_[k] += static_cast<i128>(PowerTerms::part(high[k], 1)) * static_cast<i128>(count);
            low_[k] += static_cast<i128>(PowerTerms::part(low[k], 1)) * static_cast<i128>(count);
        }
    }
    void finish(Statistics& row) const;

  private:
    std::uint64_t n_;
    Distances distance_;
    i128 high_[4] = {}, low_[4] = {};
};

/// Sum of floats.
class RealSum {
  public:
    explicit RealSum(const RealSamples& samples) : sum_(samples.sum.rounded()) {}
    void accumulate(double, std::uint64_t) {}
    void finish(Statistics& row) const {
        if (std::isfinite(sum_)) row.sum = sum_;
    }

  private:
    double sum_;
};

// ---- floats ---------------------------------------------------------------------------------------------------------

/// Exponent of the moments' unit: the smallest e with |x − pivot| < 2^e for all x between the extremes.
GPUHIST_HD inline int moment_exponent(double pivot, float minimum, float maximum) {
    int exponent = 0;
    frexp(fmax(pivot - minimum, maximum - pivot), &exponent);
    return exponent;
}

/// Terms that one sample adds to the sums of FloatMoments: powers of its distance from a pivot, in units of R =
/// 2^exponent.
struct MomentTerms {
    double pivot = 0, unit = 0;

    MomentTerms() = default;
    GPUHIST_HD MomentTerms(double about, int exponent) : pivot(about), unit(power_of_two(-exponent)) {}

    /// Adds them, all four or the first `powers`, as PowerTerms does.
    template <int powers>
    GPUHIST_HD void add(float value, std::uint64_t (&high)[powers], std::uint64_t (&low)[powers]) const {
        PowerTerms::add((static_cast<double>(value) - pivot) * unit, high, low);  // scaling by powers of two is exact
    }
};

/// Mean and central moments of n samples.
struct CentralMoments {
    double n = 0, mean = 0, m2 = 0, m3 = 0, m4 = 0;
};
/// Third and fourth central moment from the means of the first four powers of distances from any point.
GPUHIST_HD inline double third_moment(const double* raw) {
    return raw[2] - 3 * raw[0] * raw[1] + 2 * raw[0] * raw[0] * raw[0];
}
GPUHIST_HD inline double fourth_moment(const double* raw) {
    return raw[3] - 4 * raw[0] * raw[2] + 6 * raw[0] * raw[0] * raw[1] - 3 * raw[0] * raw[0] * raw[0] * raw[0];
}
/// Means from which central moments follow: of whole numbers, each rounded once. Any may be asked for: a GPU's lanes
/// find them side by side.
class RawMeans {
  public:
    static constexpr int count = 6;

    /// Takes the sums of n > 0 samples.
    GPUHIST_HD RawMeans(std::uint64_t n, const FloatMoments& moments) : n_(n) {
        for (int k = 0; k < 4; ++k) sums_[k] = from_public(moments.sums[k]);
        near_mean_ = static_cast<std::int64_t>(rint(to_double(sums_[0]) * 0x1p-40 / static_cast<double>(n)));
    }
    /// Mean i: below 4 of u^(i+1); 4 and 5 of u − p and (u − p)², with u in units of R from the pivot, and p next to
    /// the mean.
    GPUHIST_HD double operator[](int i) const {
        const auto n = static_cast<i128>(n_), p = static_cast<i128>(near_mean_);  // p in units of 2^-40
        const i128 above = sums_[0] >> 40, below = sums_[0] - (above << 40);
        const i128 about = sums_[0] - (n * p << 40);
        const i128 squares = sums_[1] - 2 * (p * above + (p * below >> 40)) + n * p * p;
        return 0x1p-80 * ratio(i == 0   ? sums_[0]
                               : i == 1 ? sums_[1]
                               : i == 2 ? sums_[2]
                               : i == 3 ? sums_[3]
                               : i == 4 ? about
                                        : squares,
                               n_);
    }

  private:
    std::uint64_t n_;
    i128 sums_[4];
    std::int64_t near_mean_;
};
GPUHIST_HD inline CentralMoments central_moments(std::uint64_t n, const FloatMoments& moments,
                                                 const double (&raw)[RawMeans::count]) {
    const double r = power_of_two(moments.exponent), r2 = r * r;
    CentralMoments result;
    result.n = static_cast<double>(n);
    result.mean = moments.pivot + raw[0] * r;
    const double m2 = raw[5] - raw[4] * raw[4];
    result.m2 = (m2 > 0 ? m2 : 0) * r2;
    result.m3 = third_moment(raw) * r2 * r;
    result.m4 = fourth_moment(raw) * r2 * r2;
    return result;
}
inline CentralMoments central_moments(std::uint64_t n, const FloatMoments& moments) {
    if (n == 0) return {};
    const RawMeans means(n, moments);
    double raw[RawMeans::count];
    for (int i = 0; i < RawMeans::count; ++i) raw[i] = means[i];
    return central_moments(n, moments, raw);
}

/// Moments of several populations together, as one: each part's are moved to the common mean.
GPUHIST_HD inline CentralMoments combine(const CentralMoments* parts, int count) {
    CentralMoments all;
    int first = -1;
    for (int i = 0; i < count; ++i) {
        all.n += parts[i].n;
        if (first < 0 && parts[i].n > 0) first = i;
    }
    if (first < 0) return all;
    double offset = 0;  // from the first part's mean, so that equal means stay exact
    for (int i = 0; i < count; ++i)
        if (parts[i].n > 0) offset += parts[i].n / all.n * (parts[i].mean - parts[first].mean);
    all.mean = parts[first].mean + offset;
    for (int i = 0; i < count; ++i) {
        if (!(parts[i].n > 0)) continue;
        const CentralMoments& p = parts[i];
        const double weight = p.n / all.n, d = p.mean - parts[first].mean - offset, d2 = d * d;
        all.m2 += weight * (p.m2 + d2);
        all.m3 += weight * (p.m3 + 3 * d * p.m2 + d2 * d);
        all.m4 += weight * (p.m4 + 4 * d * p.m3 + 6 * d2 * p.m2 + d2 * d2);
    }
    return all;
}

/// Moments of colors and bands together.
CentralMoments moments_of_pooled(const Analysis& analysis);

/// Verdict on a pivot: whether it is so far from the mean, in units of the std, that cancellation costs digits: the
/// moments are then summed again about the mean.
GPUHIST_HD inline bool poor_pivot(const FloatMoments& moments, const CentralMoments& central) {
    const double shift = central.mean - moments.pivot;
    return central.n > 0 && shift * shift > 16 * central.m2;
}

/// Mean, std, std_sample and, where full, skewness and kurtosis of a population; nothing of an empty one.
void set_moments(Statistics& row, const CentralMoments& moments, Detail detail);

}  // namespace gpuhist::core
