// Sharpness by the Laplacian.
#pragma once

#include "measures/measure.hpp"

namespace gpuhist::measures {

struct Laplacian {
    static constexpr Measure measure = Measure::sharpness_laplacian;
    static constexpr MeasureColumn columns[] = {
        {measure, "sharpness_laplacian", "sample value^2", ColumnType::number,
         "Variance of luma's Laplacian (0 1 0 / 1 -4 1 / 0 1 0), with the border reflected (101).", "cv::Laplacian",
         "--quality, 3 x 3 pixels"}};
    static constexpr Reach reach = Reach::reflected;
    static constexpr int sums = 2;

    template <class Value, class Add>
    GPUHIST_HD static void terms(const Pixel<Value>& at, const Add& add) {
        const auto value = at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1) - 4 * at(0, 0);
        add(0, value);
        add(1, static_cast<Term<Value>>(value) * value);
    }
    static double number(const Sums& found) { return found.variance(0, 1); }
};

}  // namespace gpuhist::measures
