#include "measures/thresholds.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "statistics/thresholds.hpp"

namespace gpuhist::measures {

std::vector<MeasureValue> Thresholds::values(const Analysis& image) {
    std::vector<MeasureValue> values(std::size(columns));
    const DepthTraits& traits = traits_of(image.depth);
    const ChannelAnalysis* const luma = channel_of_luma(image);
    if (!luma || traits.counting != Counting::values || traits.floating) return values;
    const ThresholdRule rules[] = {ThresholdRule::otsu, ThresholdRule::triangle, ThresholdRule::li};
    static_assert(std::size(rules) == std::size(columns));
    std::transform(std::begin(rules), std::end(rules), values.begin(), [&](ThresholdRule rule) -> MeasureValue {
        const auto code = core::threshold_by(rule, luma->counts);
        return code ? MeasureValue(traits.lowest + *code) : MeasureValue();
    });
    return values;
}

}  // namespace gpuhist::measures
