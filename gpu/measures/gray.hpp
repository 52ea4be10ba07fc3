// Whether an image with colors is gray.
#pragma once

#include "measures/measure.hpp"

namespace gpuhist::measures {

struct Gray {
    static constexpr Measure measure = Measure::gray;
    static constexpr MeasureColumn columns[] = {{measure, "gray", "1", ColumnType::integer,
                                                 "1 if R = G = B in every valid pixel, as in gray images; else 0.",
                                                 "numpy", "--quality"}};
    static constexpr Reach reach = Reach::colors;
    static constexpr int sums = 1;

    /// The sum is the number of pixels that are not gray.
    template <class Value, class Add>
    GPUHIST_HD static void terms(const Pixel<Value>& at, const Add& add) {
        add(0, at.red() != at.green() || at.green() != at.blue() ? Value{1} : Value{0});
    }
    static std::vector<MeasureValue> values(const Analysis& image) {
        const Measured& found = *findings(image, measure);
        if (!image.find(Channel::red)) {
            const ChannelAnalysis* const gray = channel_of_luma(image);
            return {gray && gray->valid() > 0 ? MeasureValue(std::uint64_t{1}) : MeasureValue()};
        }
        if (found.pixels == 0) return {MeasureValue()};
        return {std::uint64_t{Sums(found, image.depth).mean(0, 0) > 0 ? 0u : 1u}};
    }
};

}  // namespace gpuhist::measures
