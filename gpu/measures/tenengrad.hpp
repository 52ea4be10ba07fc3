// Sharpness by Sobel's gradients: Tenengrad.
#pragma once

#include "measures/measure.hpp"

namespace gpuhist::measures {

struct Tenengrad {
    static constexpr Measure measure = Measure::sharpness_tenengrad;
    static constexpr MeasureColumn columns[] = {
        {measure, "sharpness_tenengrad", "sample value^2", ColumnType::number,
         "Mean of Gx^2 + Gy^2, the 3 x 3 Sobel gradients of luma, with the border reflected (101).", "cv::Sobel",
         "--quality, 3 x 3 pixels"}};
    static constexpr Reach reach = Reach::reflected;
    static constexpr int sums = 1;

    template <class Value, class Add>
    GPUHIST_HD static void terms(const Pixel<Value>& at, const Add& add) {
        const auto x = (at(1, -1) - at(-1, -1)) + 2 * (at(1, 0) - at(-1, 0)) + (at(1, 1) - at(-1, 1)),
                   y = (at(-1, 1) - at(-1, -1)) + 2 * (at(0, 1) - at(0, -1)) + (at(1, 1) - at(1, -1));
        add(0, static_cast<Term<Value>>(x) * x + static_cast<Term<Value>>(y) * y);
    }
    static double number(const Sums& found) { return found.mean(0, 2); }
};

}  // namespace gpuhist::measures
