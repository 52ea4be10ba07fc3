/// Histograms as pictures. The same code draws PNG and SVG.
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

/// Extension of the files of a format: `.png`, `.svg`.
const char* extension_of(PlotFormat format);

/// Range of values that a picture shows. Statistics and histograms in files do not depend on it.
struct PlotRange {
    enum class Kind : std::uint8_t {
        /// u8 and u16: the range of the bits in use. s8 and s16: from the lowest to the highest value. Others: the
        /// finite values, or the percentiles 0.1 to 99.9 if the few values outside of them would take half of the
        /// picture or more.
        automatic,
        full,  ///< all values of the type; floats: the finite values
        given  ///< `values`
    };
    Kind kind = Kind::automatic;
    Range values{};  ///< for integers, rounded outwards to whole numbers
    friend bool operator==(const PlotRange& a, const PlotRange& b) { return a.kind == b.kind && a.values == b.values; }
};

/// Options of a picture.
struct PlotOptions {
    int width = 1200;         ///< width in pixels, 320 to 16384
    int height = 600;         ///< height of a panel in pixels, 240 to 16384 for all panels together
    bool log_counts = false;  ///< whether the axis of counts is logarithmic
    PlotTheme theme = PlotTheme::light;
    friend bool operator==(const PlotOptions& a, const PlotOptions& b) {
        return a.width == b.width && a.height == b.height && a.log_counts == b.log_counts && a.theme == b.theme;
    }
};

/// Request for pictures of an image or a set: how to draw, over which range, and in which formats.
struct PlotRequest {
    PlotOptions options{};
    PlotRange range{};
    std::vector<PlotFormat> formats{PlotFormat::png};
    bool of_groups = true;  ///< whether the groups of a set have pictures too
    friend bool operator==(const PlotRequest& a, const PlotRequest& b) {
        return a.options == b.options && a.range == b.range && a.formats == b.formats && a.of_groups == b.of_groups;
    }
};

/// Panel of a picture: one histogram and its axes.
struct PlotPanel {
    std::string heading;           ///< UTF-8, above the panel; may be empty
    Histogram histogram;           ///< `below` and `above` without infinite samples, which the rows count
    std::vector<Statistics> rows;  ///< rows of `statistics()`; a channel without one is drawn without numbers
    std::string values = "value";  ///< label of the axis of values: `value (12 of 16 bits)`
    bool whole = false;            ///< whether values are whole numbers
    std::string counted{};         ///< label of the axis of counts; empty: `pixels`, or `alpha` if they are weighted
};

/// Text about nodata and masked samples in all channels but alpha: `102,000 nodata (20.8 %), 15,840 masked`. Empty if
/// there are none.
std::string excluded_text(const std::vector<Statistics>& rows);

/// Makes the panel of an image, in bins of its own. `values` are the tables of `count_frequencies` for f32. Without
/// them, an f32 image has the bins of the analysis, and `range` is ignored. Throws InvalidArgument for a range without
/// extent.
PlotPanel plot_panel(const Analysis& image, std::vector<Statistics> rows, const PlotRange& range = {},
                     const std::vector<FrequencyTable>& values = {});
/// Returns whether that panel needs `values`: for f32 if it shows other bins than those of the analysis, and never for
/// integers.
bool plot_needs_values(const Analysis& image, const PlotRange& range = {});

/// Makes the panels of one depth of a set: one each for gray images, colors and bands, in this order. `rows` are those
/// of the depth. If f32 lacks the values of some images, it has a panel only if all images were counted in the same
/// bins.
std::vector<PlotPanel> plot_panels(const Summary& set, Depth depth, const std::vector<Statistics>& rows,
                                   const PlotRange& range = {});

/// Picture: panels, one below the other.
struct Plot {
    std::string title;  ///< UTF-8; other bytes are shown as `?`
    std::vector<PlotPanel> panels;
};

/// Draws an 8-bit BGR image. Each panel shows its channels over each other, the mean and std of each, and the
/// percentiles of luma, of gray, or of a single band. The numbers of samples outside of the range are at the edges.
/// Lines that coincide are one line with dashes in all their colors. Bands have eight colors, and then the same colors
/// in dashes; if there are more, each band has a small picture, and all of these have the same axes. On a linear axis,
/// a few bars that are far higher than all others are cut off, with their counts beside them. Alpha is drawn, but does
/// not scale the axis. Equal inputs give equal bytes. Throws InvalidArgument for a size out of bounds or a range
/// without extent.
cv::Mat draw_plot(const Plot& plot, const PlotOptions& options = {});
/// Draws the same picture as SVG.
std::string draw_plot_svg(const Plot& plot, const PlotOptions& options = {});
/// Draws a picture and returns the bytes of its file. Throws as `draw_plot`.
std::vector<unsigned char> encode_plot(const Plot& plot, PlotFormat format, const PlotOptions& options = {});

}  // namespace gpuhist::io
