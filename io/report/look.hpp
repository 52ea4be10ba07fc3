// Colors of plots.
#pragma once

#include "gpuhist/analysis.hpp"
#include "gpuhist/io/plot.hpp"
#include "report/text.hpp"

namespace gpuhist::io {

/// Colors of a theme. Those of channels are Okabe and Ito's, which people with deficient color vision tell apart;
/// lighter ones on dark paper.
struct Look {
    Color paper, ink, faint, axis;
    Color red, green, blue, gray, alpha;
    Color bands[4];

    const Color& of(Channel channel) const;
};

const Look& look_of(PlotTheme theme);

}  // namespace gpuhist::io
