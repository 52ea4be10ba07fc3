// Noise by Immerkaer's operator: J. Immerkaer, "Fast Noise Variance Estimation", Computer Vision and Image
// Understanding 64 (1996).
#pragma once

#include <cmath>
#include "measures/measure.hpp"

namespace gpuhist::measures {

struct Noise {
    static constexpr Measure measure = Measure::noise;
    static constexpr MeasureColumn columns[] = {
        {measure, "noise", "sample value", ColumnType::number,
         "sqrt(pi / 2) sum abs(N) / (6 n), where N is luma convolved with 1 -2 1 / -2 4 -2 / 1 -2 1 at the n pixels "
         "inside the border (Immerkaer).",
         "scipy.signal.convolve2d", "--quality, 3 x 3 pixels"}};
    static constexpr Reach reach = Reach::inside;
    static constexpr int sums = 1;

    template <class Value, class Add>
    GPUHIST_HD static void terms(const Pixel<Value>& at, const Add& add) {
        const auto value = (at(-1, -1) - 2 * at(0, -1) + at(1, -1)) - 2 * (at(-1, 0) - 2 * at(0, 0) + at(1, 0)) +
                           (at(-1, 1) - 2 * at(0, 1) + at(1, 1));
        add(0, value < 0 ? -value : value);
    }
    static double number(const Sums& found) {
        constexpr double half_pi = 1.57079632679489661923;
        return std::sqrt(half_pi) * found.mean(0, 1) / 6;
    }
};

}  // namespace gpuhist::measures
