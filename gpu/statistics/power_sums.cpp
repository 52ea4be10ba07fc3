#include "statistics/power_sums.hpp"

#include <array>
#include <cmath>

#include "core/wide.hpp"
#include "gpuhist/error.hpp"
#include "statistics/moments.hpp"

namespace gpuhist::core {
namespace {

constexpr int fraction = PowerSums::fraction_bits;
using Sum = Wide<PowerSums::words>;
using Difference = Wide<34>;  // n³ Σx⁴ and 3 (n² m2)² stay below 2^(186 + 4·128 + 4·330 + 2)

/// pivot · 2^fraction
Sum fixed_point(double pivot) {
    // An engine's pivot lies between two floats: midway, on a multiple of 2^-150; or at the mean, of whose distance
    // from another pivot, in units of at least 2^-149, 180 binary places are kept.
    const auto refuse = [] {
        throw InvalidArgument("f32 analysis with a pivot that is not within the range and resolution of floats");
    };
    if (!std::isfinite(pivot)) refuse();
    int exponent = 0;
    const auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(pivot, &exponent), 53));
    int shift = exponent - 53 + fraction;
    std::int64_t whole = digits;
    for (; shift < 0 && whole % 2 == 0 && whole != 0; ++shift) whole /= 2;
    if (whole == 0) return {};
    if (exponent > 129 || shift < 0) refuse();
    return Sum(static_cast<i128>(whole)) << shift;
}

/// n · a
template <int words>
Wide<words> times(std::uint64_t n, const Wide<words>& a) {
    return Wide<words>(n) * a;
}

/// Σd^k · 2^(k · fraction), d the distance from the pivot.
Sum distances(const FloatMoments& moments, int k) {
    if (moments.exponent < -150 || moments.exponent > 129)
        throw InvalidArgument("f32 analysis with a moment exponent outside that of floats");
    return Sum(from_public(moments.sums[k - 1])) << (k * (moments.exponent + fraction) - 80);
}

}  // namespace

PowerSums first_power_sum(std::uint64_t n, const FloatMoments& moments) {
    PowerSums result;
    if (n > 0) result.sums[0] = (times(n, fixed_point(moments.pivot)) + distances(moments, 1)).to_words();
    return result;
}

double rounded_sum(const PowerSums& sums) {
    return to_double(Sum(sums.sums[0]), -fraction);
}

PowerSums power_sums(std::uint64_t n, const FloatMoments& moments) {
    if (n == 0) return {};
    const Sum p = fixed_point(moments.pivot);
    std::array<Sum, 4> d;
    for (int k = 1; k <= 4; ++k) d[k - 1] = distances(moments, k);

    // Σ(p + d)^k, by Horner's scheme
    const std::array<Sum, 4> sums{
        times(n, p) + d[0],
        p * (times(n, p) + times(2, d[0])) + d[1],
        p * (p * (times(n, p) + times(3, d[0])) + times(3, d[1])) + d[2],
        p * (p * (p * (times(n, p) + times(4, d[0])) + times(6, d[1])) + times(4, d[2])) + d[3],
    };
    PowerSums result;
    for (int k = 0; k < 4; ++k) result.sums[k] = sums[k].to_words();
    return result;
}

void add(PowerSums& sums, const PowerSums& more) {
    for (int k = 0; k < 4; ++k) sums.sums[k] = (Sum(sums.sums[k]) += Sum(more.sums[k])).to_words();
}

bool plausible(const PowerSums& sums, std::uint64_t n) {
    for (int k = 1; k <= 4; ++k) {
        const Sum most = Sum(n) << k * (129 + fraction);  // a bit more than floats, for what rounded terms add
        const Sum sum = Sum(sums.sums[k - 1]).magnitude();
        if ((most - sum).negative() || sum.negative()) return false;
    }
    return true;
}

void set_moments(Statistics& row, std::uint64_t n, const PowerSums& sums, Detail detail) {
    std::array<Difference, 4> s;
    for (int k = 0; k < 4; ++k) s[k] = Difference(Sum(sums.sums[k]));
    const Difference square = s[0] * s[0], m2 = times(n, s[1]) - square;  // n² m2; not below 0 but by rounded terms
    const double squares = m2.negative() ? 0 : to_double(m2, -2 * fraction);
    set_moments(row, {n, ratio(s[0], n, -fraction), squares});
    if (detail != Detail::full || !(squares > 0)) return;

    const Difference m3 =  // n³ m3
        times(n, times(n, s[2]) - times(3, s[0] * s[1])) + times(2, s[0] * square);
    const Difference m4 =  // n⁴ m4
        times(n, times(n, times(n, s[3]) - times(4, s[0] * s[2])) + times(6, square * s[1])) -
        times(3, square * square);
    const int unit = m2.bits() / 2;  // near n · std, so that no power leaves the range of doubles
    const double v = to_double(m2, -2 * unit);
    row.skewness = to_double(m3, -3 * unit) / (v * std::sqrt(v));
    row.kurtosis = to_double(m4 - times(3, m2 * m2), -4 * unit) / (v * v);
}

}  // namespace gpuhist::core
