// Colorfulness after D. Hasler and S. Suesstrunk, in Human Vision and Electronic Imaging VIII (2003).
#pragma once

#include <cmath>
#include "measures/measure.hpp"

namespace gpuhist::measures {

struct Colorfulness {
    static constexpr Measure measure = Measure::colorfulness;
    static constexpr MeasureColumn columns[] = {
        {measure, "colorfulness", "sample value", ColumnType::number,
         "Joint std of R - G and (R + G) / 2 - B, plus 0.3 times the distance of their mean from gray (Hasler, "
         "Suesstrunk).",
         "numpy", "--quality, colors"}};
    static constexpr Reach reach = Reach::colors;
    static constexpr int sums = 4;

    template <class Value, class Add>
    GPUHIST_HD static void terms(const Pixel<Value>& at, const Add& add) {
        const auto red_green = at.red() - at.green(), yellow_blue = at.red() + at.green() - 2 * at.blue();  // twice
        add(0, red_green);
        add(1, static_cast<Term<Value>>(red_green) * red_green);
        add(2, yellow_blue);
        add(3, static_cast<Term<Value>>(yellow_blue) * yellow_blue);
    }
    static double number(const Sums& found) {
        const double red_green = found.mean(0, 1), yellow_blue = found.mean(2, 1) / 2;
        return std::sqrt(found.variance(0, 1) + found.variance(2, 3) / 4) +
               0.3 * std::sqrt(red_green * red_green + yellow_blue * yellow_blue);
    }
};

}  // namespace gpuhist::measures
