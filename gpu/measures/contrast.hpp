// Contrast of luma.
#pragma once

#include "measures/measure.hpp"

namespace gpuhist::measures {

struct Contrast {
    static constexpr Measure measure = Measure::contrast;
    static constexpr MeasureColumn columns[] = {
        {measure, "contrast_rms", "fraction", ColumnType::number, "std / white, of luma or gray.", "numpy.std",
         "--quality, one white"},
        {measure, "contrast_michelson", "1", ColumnType::number,
         "(max - min) / (max + min), of luma or gray. Empty if max + min <= 0.", "numpy", "--quality"},
        {measure, "contrast_p1_p99", "1", ColumnType::number,
         "(p99 - p01) / (p99 + p01), of luma or gray. Empty if p99 + p01 <= 0.", "numpy.percentile", "--quality"}};

    static std::vector<MeasureValue> values(const Analysis& image) {
        const auto michelson = [](const std::optional<double>& low, const std::optional<double>& high) -> MeasureValue {
            if (!low || !high || !(*high + *low > 0)) return {};
            return (*high - *low) / (*high + *low);
        };
        std::vector<MeasureValue> values(std::size(columns));
        const auto row = statistics_of_luma(image, Percentiles({1, 99}));
        if (!row) return values;
        if (row->std && image.white > 0) values[0] = *row->std / image.white;
        values[1] = michelson(row->min, row->max);
        values[2] = michelson(row->percentile(1), row->percentile(99));
        return values;
    }
};

}  // namespace gpuhist::measures
