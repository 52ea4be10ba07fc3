/// Histogram as a picture.
#pragma once

#include <opencv2/core/mat.hpp>
#include <string>
#include <vector>

#include "gpuhist/histogram.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::io {

/// Options of a plot.
struct PlotOptions {
    int width = 1200;         ///< pixels, 320 to 16384
    int height = 600;         ///< pixels, 240 to 16384
    bool log_counts = false;  ///< counts on a logarithmic axis
    std::string title;        ///< UTF-8, drawn on top
};

/// Plot of the channels but alpha, overlaid, each with its mean and standard deviation, the percentiles of luma (of
/// gray) marked, axes with ticks: an 8-bit BGR image, the same bytes for the same input. Where several bins share a
/// pixel column the highest is drawn. On a linear axis a few columns far above all others run off the top, with their
/// count beside them. `rows` are those of `statistics()`; a channel without one is drawn without numbers. Throws
/// InvalidArgument for a size out of bounds or a range without extent.
cv::Mat plot_histogram(const Histogram& histogram, const std::vector<Statistics>& rows,
                       const PlotOptions& options = {});

}  // namespace gpuhist::io
