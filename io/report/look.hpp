// Colors of plots.
#pragma once

#include <optional>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/io/plot.hpp"
#include "report/text.hpp"

namespace gpuhist::io {

/// Colors of a theme. Those of channels are Okabe and Ito's, which people with deficient color vision tell apart;
/// lighter ones on dark paper.
struct Look {
    Color paper, ink, faint, axis;
    Color red, green, blue, gray, alpha;
    Color bands[8];  ///< all of Okabe and Ito's

    /// Color of a channel that is no band.
    const Color& of(Channel channel) const;
};

const Look& look_of(PlotTheme theme);

/// Line of a channel.
struct Line {
    Color color;
    bool dashed = false;
};
/// Distinct lines for channels that are drawn over each other. Bands have the colors that the other channels leave, in
/// their order, and then the same colors in dashes. None if there are more bands.
std::optional<std::vector<Line>> lines_of(const Look& look, const std::vector<Channel>& channels);

/// Sizes of texts, and distances, in pixels.
constexpr double title_size = 23, text_size = 16, small_size = 15, tile_size = 13;
constexpr int margin = 28, row_height = 22;

}  // namespace gpuhist::io
