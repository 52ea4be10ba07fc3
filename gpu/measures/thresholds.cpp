#include "measures/thresholds.hpp"

#include <iterator>
#include <vector>

#include "statistics/thresholds.hpp"

namespace gpuhist::measures {

std::vector<MeasureValue> Thresholds::values(const Analysis& image) {
    std::vector<MeasureValue> values(std::size(columns));
    const DepthTraits& traits = traits_of(image.depth);
    const ChannelAnalysis* const luma = channel_of_luma(image);
    if (!luma || traits.counting != Counting::values || traits.floating) return values;
    const auto found = core::thresholds_of(luma->counts);
    if (!found) return values;
    values[0] = traits.lowest + found->otsu;
    values[1] = traits.lowest + found->triangle;
    values[2] = traits.lowest + found->li;
    return values;
}

}  // namespace gpuhist::measures
