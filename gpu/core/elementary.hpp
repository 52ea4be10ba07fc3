// Elementary functions in double precision, the same bits on every host and device. They use +, −, ·, ÷ and square
// roots alone, which IEEE 754 defines to the last bit, while each C library and each GPU has its own exp and log. Code
// that includes this must not contract a·b+c.
//
// Errors are at most 2 ulp. Sources: T. J. Dekker, A floating-point technique for extending the
// available precision (1971), for products and sums in two parts; FreeBSD's msun (e_exp.c), for the polynomial of exp.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/integers.hpp"
#include "core/portable.hpp"

namespace gpuhist::core {

/// Number as the sum of two doubles: `low` is at most half an ulp of `high`.
struct TwoDoubles {
    double high, low;
};

/// a + b without an error, for |a| ≥ |b|.
GPUHIST_HD inline TwoDoubles exact_sum_of(double a, double b) {
    const double sum = a + b;
    return {sum, b - (sum - a)};
}

/// a · b without an error, where neither is near the ends of the range of doubles.
GPUHIST_HD inline TwoDoubles exact_product_of(double a, double b) {
    constexpr double splitter = 134217729;  // 2^27 + 1
    const double a_scaled = splitter * a, a_high = a_scaled - (a_scaled - a), a_low = a - a_high;
    const double b_scaled = splitter * b, b_high = b_scaled - (b_scaled - b), b_low = b - b_high;
    const double product = a * b;
    return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

/// Natural logarithm of a normal number above 0, to 2^-59 of its size.
GPUHIST_HD inline TwoDoubles log_in_two(double x) {
    constexpr double ln2_high = 0x1.62e42fefa38p-1,
                     ln2_low = 0x1.ef35793c7673p-45;  // 42 digits: its multiples are exact
    std::uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = static_cast<int>(bits >> 52) - 1023;
    bits = (bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m /= 2;
        ++exponent;
    }
    // log m = 2 (s + s³/3 + s⁵/5 + …) with s = (m − 1) / (m + 1), |s| < 0.172
    const TwoDoubles divisor = exact_sum_of(1 > m ? 1 : m, 1 > m ? m : 1);
    const double numerator = m - 1, s = numerator / divisor.high;
    const TwoDoubles product = exact_product_of(s, divisor.high);
    const double s_low = ((numerator - product.high - product.low) - s * divisor.low) / divisor.high, square = s * s;
    double series = 0;
    for (int n = 25; n >= 3; n -= 2) series = (series + 1.0 / n) * square;
    const double k = exponent;
    const TwoDoubles main = exponent == 0 ? TwoDoubles{2 * s, 0} : exact_sum_of(k * ln2_high, 2 * s);
    return exact_sum_of(main.high, main.low + (k * ln2_low + 2 * (s_low + s * series)));
}

/// e to the power of high + low.
GPUHIST_HD inline double exp_of(TwoDoubles x) {
    if (x.high != x.high) return x.high;
    if (x.high > 709.79) return HUGE_VAL;
    if (x.high < -745.2) return 0;
    constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    const double k = floor(x.high * 1.44269504088896338700 + 0.5), high = x.high - k * ln2_high,
                 low = k * ln2_low - x.low, r = high - low, t = r * r;
    const double c = r - t * (1.66666666666666019037e-01 +
                              t * (-2.77777777770155933842e-03 +
                                   t * (6.61375632143793436117e-05 +
                                        t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
    const double y = 1 - ((low - (r * c) / (2 - c)) - high);
    const int half = static_cast<int>(k) / 2;  // 2^k may be no normal number
    return y * power_of_two(half) * power_of_two(static_cast<int>(k) - half);
}

GPUHIST_HD inline double exp_of(double x) {
    return exp_of(TwoDoubles{x, 0});
}

/// Natural logarithm. −∞ of 0, NaN of numbers below.
GPUHIST_HD inline double log_of(double x) {
    if (x != x || x == HUGE_VAL) return x;
    if (!(x > 0)) return x == 0 ? -HUGE_VAL : NAN;
    if (x < 0x1p-1022) return log_of(x * 0x1p54) - 37.429947750237048;  // 54 ln 2
    const TwoDoubles two = log_in_two(x);
    return two.high + two.low;
}

/// x to the power of y, for x ≥ 0 and any finite y.
GPUHIST_HD inline double power(double x, double y) {
    if (x != x || y == 1) return x;
    if (y == 0 || x == 1) return 1;
    if (x == 0) return y > 0 ? 0 : HUGE_VAL;
    if (x == HUGE_VAL) return y > 0 ? HUGE_VAL : 0;
    if (x < 0x1p-1022) return power(x * 0x1p54, y) * exp_of(y * -37.429947750237048);
    const TwoDoubles log = log_in_two(x);
    if (!(fabs(log.high * y) < 800)) return log.high * y > 0 ? HUGE_VAL : 0;
    const TwoDoubles product = exact_product_of(log.high, y);
    return exp_of(exact_sum_of(product.high, product.low + log.low * y));
}

/// Hyperbolic sine of x ≥ 0.
GPUHIST_HD inline double sinh_of(double x) {
    if (x < 0.5) {
        const double square = x * x;
        double series = 0;
        for (int n = 15; n >= 3; n -= 2) series = (series + 1) * square / (n * (n - 1));
        return x + x * series;
    }
    const double e = exp_of(x);
    return e == HUGE_VAL ? e : e / 2 - 0.5 / e;
}

/// Inverse hyperbolic sine of x ≥ 0.
GPUHIST_HD inline double asinh_of(double x) {
    if (x != x || x > 0x1p500) return x != x || x == HUGE_VAL ? x : log_of(x) + 0.6931471805599453;
    const double square = x * x, more = x + square / (1 + sqrt(1 + square));  // asinh x = log(1 + more)
    const TwoDoubles sum = exact_sum_of(more > 1 ? more : 1, more > 1 ? 1 : more);
    const TwoDoubles log = log_in_two(sum.high);
    return log.high + (log.low + sum.low / sum.high);
}

}  // namespace gpuhist::core
