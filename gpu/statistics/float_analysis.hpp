// How f32 channels are analysed, shared by the engines: two sweeps, in which everything is counted or summed in
// integers, so that no order of summation and no launch shape shows in the result.
//
// - Sweep 1: extremes, NaN, ±Inf, and counts of the high half of each value's key (an order-preserving map to
// integers).
// - Plan, from those: the bins' range, the ranks wanted and the high halves that hold them, a pivot near the median.
// - Sweep 2: bins, moments about the pivot, and counts of the low halves under the high halves chosen.
// - Finish: order statistics; where the pivot was poor (far from the mean in units of the std), the moments once more
//   about the mean.
//
// Brief analyses have no ranks, so they count no halves. Their pivot is 0: the squares of floats are exact, so that no
// digits are lost by cancellation, however far the mean is from it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/integers.hpp"
#include "core/portable.hpp"
#include "gpuhist/analysis.hpp"
#include "statistics/percentiles.hpp"

namespace gpuhist::core {

inline constexpr int float_rows = 6;  ///< red, green, blue, luma, alpha (grey: row 0 alone) and the pooled row
inline constexpr int pooled_row = 5;
inline constexpr std::uint32_t half_keys = 65536;

/// Unsigned integers in the order of the finite floats; −0 counts as +0.
GPUHIST_HD inline std::uint32_t float_key(float value) {
    value += 0.0f;
    std::uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
GPUHIST_HD inline float key_float(std::uint32_t key) {
    const std::uint32_t bits = key & 0x80000000u ? key & 0x7FFFFFFFu : ~key;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/// Where the ranks of one row lie: under which high halves, and how far into them.
struct RankPlan {
    std::int32_t ranks = 0;           ///< how many
    std::int32_t selected = 0;        ///< different high halves among them
    std::uint64_t rank[max_ranks];    ///< ascending
    std::uint64_t within[max_ranks];  ///< rank among the samples of its high half
    std::uint8_t slot[max_ranks];     ///< index into `high`
    std::uint32_t high[max_ranks];    ///< the high halves, ascending
};

/// The middle of the high half's values that can occur between the extremes: the pivot of a row whose median lies
/// there.
GPUHIST_HD inline double middle_of_high_half(std::uint32_t high, float minimum, float maximum) {
    const float first = key_float(high << 16), last = key_float(high << 16 | 0xFFFFu);
    // first or last can be an infinity's or a NaN's key: the comparisons then choose the extremes
    const double lower = first > minimum ? first : minimum, upper = last < maximum ? last : maximum;
    return lower + (upper - lower) / 2;
}

/// Plans a row of n > 0 finite samples from its counts by high half (`half_keys` of them; those of NaN and ±Inf are not
/// read) and its extremes: the ranks of `required_rank`, and the pivot of its moments.
RankPlan plan_ranks(const std::uint64_t* high_counts, std::uint64_t n, float minimum, float maximum,
                    const RankRequest& request, double& pivot);

/// Smallest e with |x − pivot| < 2^e for all x between the extremes.
GPUHIST_HD inline int moment_exponent(double pivot, float minimum, float maximum) {
    int exponent = 0;
    frexp(fmax(pivot - minimum, maximum - pivot), &exponent);
    return exponent;
}

/// The terms that one sample adds to the sums of FloatMoments, all four or the first `powers`. Adding 1.5 · 2^52 to a
/// double below 2^51 rounds it to a whole number, ties to even, and leaves that in its low bits: cheaper than rint and
/// a conversion on any processor.
struct MomentTerms {
    static constexpr double whole = 0x1.8p52;
    static constexpr std::uint64_t zero = 0x4338000000000000u;  ///< the bits of `whole`: a term of 0

    double pivot = 0, unit = 0;

    MomentTerms() = default;
    GPUHIST_HD MomentTerms(double about, int exponent) : pivot(about), unit(power_of_two(-exponent)) {}

    /// Adds each term, in two parts, and `zero` to sums modulo 2^64. A term is high · 2^40 + low, |high| ≤ 2^40 and
    /// |low| ≤ 2^39: so fine that samples near the pivot keep their digits beside one far away.
    template <int powers>
    GPUHIST_HD void add(float value, std::uint64_t (&high)[powers], std::uint64_t (&low)[powers]) const {
        const double u = (static_cast<double>(value) - pivot) * unit;  // d / R: scaling by powers of two is exact
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
    /// The sum of the terms of `samples` < 2^22 additions.
    GPUHIST_HD static i128 total(std::uint64_t high, std::uint64_t low, std::uint64_t samples) {
        return (static_cast<i128>(static_cast<std::int64_t>(high - samples * zero)) << 40) +
               static_cast<std::int64_t>(low - samples * zero);
    }
};

/// Mean and central moments from the sums over n samples.
struct CentralMoments {
    double n = 0, mean = 0, m2 = 0, m3 = 0, m4 = 0;
};
/// The means that they follow from: of whole numbers, each rounded once. Any may be asked for: a GPU's lanes find them
/// side by side.
class RawMeans {
  public:
    static constexpr int count = 6;

    /// n > 0.
    GPUHIST_HD RawMeans(std::uint64_t n, const FloatMoments& moments) : n_(n) {
        for (int k = 0; k < 4; ++k) sums_[k] = from_public(moments.sums[k]);
        near_mean_ = static_cast<std::int64_t>(rint(to_double(sums_[0]) * 0x1p-40 / static_cast<double>(n)));
    }
    /// i < 4: of u^(i+1); 4 and 5: of u − p and (u − p)², with u in units of R from the pivot, and p next to the mean.
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
    const double shift = raw[0], r = power_of_two(moments.exponent), r2 = r * r;
    CentralMoments result;
    result.n = static_cast<double>(n);
    result.mean = moments.pivot + shift * r;
    const double m2 = raw[5] - raw[4] * raw[4];
    result.m2 = (m2 > 0 ? m2 : 0) * r2;
    result.m3 = (raw[2] - 3 * shift * raw[1] + 2 * shift * shift * shift) * r2 * r;
    result.m4 =
        (raw[3] - 4 * shift * raw[2] + 6 * shift * shift * raw[1] - 3 * shift * shift * shift * shift) * r2 * r2;
    return result;
}
inline CentralMoments central_moments(std::uint64_t n, const FloatMoments& moments) {
    if (n == 0) return {};
    const RawMeans means(n, moments);
    double raw[RawMeans::count];
    for (int i = 0; i < RawMeans::count; ++i) raw[i] = means[i];
    return central_moments(n, moments, raw);
}

/// Those of several populations together, as one: each part's moments are moved to the common mean.
GPUHIST_HD inline CentralMoments pool(const CentralMoments* parts, int count) {
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

/// Those of red, green and blue together.
CentralMoments pooled_moments(const Analysis& analysis);

/// Whether the pivot is so far from the mean, in units of the std, that cancellation costs digits: the moments are then
/// summed again about the mean.
GPUHIST_HD inline bool poor_pivot(const FloatMoments& moments, const CentralMoments& central) {
    const double shift = central.mean - moments.pivot;
    return central.n > 0 && shift * shift > 16 * central.m2;
}

}  // namespace gpuhist::core
