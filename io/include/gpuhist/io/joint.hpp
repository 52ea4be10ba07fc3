/// Joint histograms as files.
#pragma once

#include <opencv2/core/mat.hpp>
#include <string>
#include <vector>

#include "gpuhist/io/plot.hpp"
#include "gpuhist/joint.hpp"

namespace gpuhist::io {

/// CSV with a row per pair of bins that has pixels: `first,second,count`, the lower edges of both bins.
std::string joint_csv(const JointHistogram& histogram);

/// Array of NumPy (.npy): counts as uint64, the first channel along the first axis.
std::vector<unsigned char> joint_npy(const JointHistogram& histogram);

/// Texts of the picture of a joint histogram, UTF-8.
struct JointPlot {
    std::string title;
    std::string first, second;  ///< labels of the axes
};

/// Draws a joint histogram as an 8-bit BGR image: the first channel to the right, the second one upwards, and the
/// logarithm of the counts as colors, with a scale. Bins without pixels have the color of the paper. If several bins
/// share a pixel of the picture, it shows the highest count. Equal inputs give equal bytes.
cv::Mat draw_joint(const JointHistogram& histogram, const JointPlot& plot, PlotTheme theme = PlotTheme::light);
/// Draws the picture and returns the bytes of a PNG.
std::vector<unsigned char> encode_joint(const JointHistogram& histogram, const JointPlot& plot,
                                        PlotTheme theme = PlotTheme::light);

}  // namespace gpuhist::io
