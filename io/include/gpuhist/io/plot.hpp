/// Histograms as pictures, PNG and SVG by the same drawing code.
#pragma once

#include <cstdint>
#include <opencv2/core/mat.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/dataset.hpp"
#include "gpuhist/histogram.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::io {

enum class PlotFormat : std::uint8_t { png, svg };
enum class PlotTheme : std::uint8_t { light, dark };

/// Extension of the format's files: `.png`, `.svg`.
const char* extension_of(PlotFormat format);

/// Range that a picture shows. It is the picture's alone: statistics and written histograms know nothing of it.
struct PlotRange {
    enum class Kind : std::uint8_t {
        automatic,  ///< integers: that of the bits in use; floats: the finite values, or percentiles 0.1 to 99.9 where
                    ///< few values outside these would take half of the picture or more
        full,       ///< all values of the type; floats: the finite values
        given       ///< `values`
    };
    Kind kind = Kind::automatic;
    Range values{};  ///< of integers rounded outwards to whole numbers
    friend bool operator==(const PlotRange& a, const PlotRange& b) { return a.kind == b.kind && a.values == b.values; }
};

/// Options of a picture.
struct PlotOptions {
    int width = 1200;         ///< pixels, 320 to 16384
    int height = 600;         ///< pixels of a panel, 240 to 16384 for all panels together
    bool log_counts = false;  ///< counts on a logarithmic axis
    PlotTheme theme = PlotTheme::light;
    friend bool operator==(const PlotOptions& a, const PlotOptions& b) {
        return a.width == b.width && a.height == b.height && a.log_counts == b.log_counts && a.theme == b.theme;
    }
};

/// Pictures that are drawn of each thing: how, over which range, and in which files.
struct PlotRequest {
    PlotOptions options{};
    PlotRange range{};
    std::vector<PlotFormat> formats{PlotFormat::png};
    bool of_groups = true;  ///< of a set's groups too
    friend bool operator==(const PlotRequest& a, const PlotRequest& b) {
        return a.options == b.options && a.range == b.range && a.formats == b.formats && a.of_groups == b.of_groups;
    }
};

/// Panel of a picture: one histogram and its axes.
struct PlotPanel {
    std::string heading;               ///< UTF-8, above the panel; may be empty
    Histogram histogram;               ///< `below` and `above` without infinite samples, which the rows count
    std::vector<Statistics> rows;      ///< of `statistics()`; a channel without one is drawn without numbers
    std::vector<std::string> bands{};  ///< names of bands by place, where they have others than c0 …
    std::string values = "value";      ///< what the axis says of the values: `value (12 of 16 bits)`
    bool whole = false;                ///< values are whole numbers
};

/// Panel of an image, in bins of its own. `values` are those of f32 that `count_frequencies` gives; without them an f32
/// image is shown in the bins of the analysis, whatever `range` says. Throws InvalidArgument for a range without
/// extent.
PlotPanel plot_panel(const Analysis& image, std::vector<Statistics> rows, const PlotRange& range = {},
                     const std::vector<FrequencyTable>& values = {});
/// Tells whether that panel needs `values`. Of integers none does, of f32 those do that show other bins than analyzed.
bool plot_needs_values(const Analysis& image, const PlotRange& range = {});

/// Panels of one depth of a set, one each for gray images, colors and bands, in this order. `rows` are those of the
/// depth. Of f32 without values of all images there is a panel only where all were counted in the same bins.
std::vector<PlotPanel> plot_panels(const Summary& set, Depth depth, const std::vector<Statistics>& rows,
                                   const PlotRange& range = {});

/// Picture: panels, one below the other.
struct Plot {
    std::string title;  ///< UTF-8; bytes that are none are shown as `?`
    std::vector<PlotPanel> panels;
};

/// Draws the channels of each panel over each other, each with mean ± std, the percentiles of luma (or gray, or a sole
/// band) marked, what lies outside the range counted at the edges, axes with ticks: an 8-bit BGR image. Lines that lie
/// on each other are dashes of all their colors. On a linear axis the few bars far above all others run off the top,
/// their counts beside them. Alpha is drawn, and does not scale the axis. The same bytes for the same input. Throws
/// InvalidArgument for a size out of bounds or a range without extent.
cv::Mat draw_plot(const Plot& plot, const PlotOptions& options = {});
/// Draws the same as SVG.
std::string draw_plot_svg(const Plot& plot, const PlotOptions& options = {});
/// Draws a file's bytes. Throws as `draw_plot`.
std::vector<unsigned char> encode_plot(const Plot& plot, PlotFormat format, const PlotOptions& options = {});

}  // namespace gpuhist::io
