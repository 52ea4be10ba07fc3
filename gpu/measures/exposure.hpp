// Shares of dark and of bright pixels.
#pragma once

#include "measures/measure.hpp"

namespace gpuhist::measures {

struct Exposure {
    static constexpr Measure measure = Measure::exposure;
    static constexpr MeasureColumn columns[] = {
        {measure, "dark_fraction", "fraction", ColumnType::number,
         "Share of the pixels whose luma or gray is below white / 10.", "numpy", "--quality, one white"},
        {measure, "bright_fraction", "fraction", ColumnType::number,
         "Share of the pixels whose luma or gray is above 9 white / 10.", "numpy", "--quality, one white"}};

    static bool is_dark(double value, double white) { return 10 * value < white; }
    static bool is_bright(double value, double white) { return 10 * value > 9 * white; }

    /// f32 has two sums, the numbers of dark and of bright pixels. Others have counts of luma.
    static std::vector<MeasureValue> values(const Analysis& image) {
        const Measured& found = *findings(image, measure);
        std::uint64_t n = found.pixels, dark = 0, bright = 0;
        bool counted = found.sums.size() == 2;
        if (counted) {
            dark = found.sums[0].low;
            bright = found.sums[1].low;
        } else {
            counted = each_value_of_luma(image, [&](double value, std::uint64_t count) {
                n += count;
                dark += is_dark(value, image.white) ? count : 0;
                bright += is_bright(value, image.white) ? count : 0;
            });
        }
        if (!counted || n == 0 || !(image.white > 0)) return {MeasureValue(), MeasureValue()};
        return {static_cast<double>(dark) / static_cast<double>(n),
                static_cast<double>(bright) / static_cast<double>(n)};
    }
};

}  // namespace gpuhist::measures
