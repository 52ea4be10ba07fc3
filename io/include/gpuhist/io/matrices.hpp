/// Results as matrices of OpenCV. Header only.
#pragma once

#include <cstddef>
#include <limits>
#include <opencv2/core/mat.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/engine.hpp"
#include "gpuhist/histogram.hpp"
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/normalize.hpp"
#include "gpuhist/regions.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::io {

/// Histogram of a channel as `cv::calcHist` makes it: CV_32FC1, one row per bin. `cv::compareHist` takes it. Counts
/// over 2^24 are rounded to floats. Throws InvalidArgument for a channel that the histogram lacks.
inline cv::Mat histogram_matrix(const Histogram& histogram, Channel channel) {
    for (const Histogram::Column& column : histogram.columns) {
        if (column.channel != channel) continue;
        cv::Mat matrix(static_cast<int>(column.counts.size()), 1, CV_32FC1);
        for (std::size_t bin = 0; bin < column.counts.size(); ++bin)
            matrix.at<float>(static_cast<int>(bin)) = static_cast<float>(column.counts[bin]);
        return matrix;
    }
    throw InvalidArgument(std::string("the histogram has no channel ") + to_string(channel));
}

/// Normalized copy of a matrix, as Engine::normalize makes it: of the depth `normalized_depth`, with the same channels.
/// `analysis` receives the findings in the image, and its memory is used again. Throws as Engine::normalize does, and
/// InvalidArgument for copies of a depth that OpenCV lacks.
inline cv::Mat normalize(Engine& engine, const cv::Mat& image, const Normalization& normalization,
                         const AnalysisRequest& request, Analysis& analysis) {
    const ImageView from = view(image);
    const Depth depth = normalized_depth(from.depth, normalization);
    if (depth_of(opencv_depth(depth)) != depth)
        throw InvalidArgument(std::string("OpenCV has no matrices of ") + to_string(depth));
    cv::Mat copy(image.rows, image.cols, CV_MAKETYPE(opencv_depth(depth), image.channels()));
    engine.normalize(from, request, normalization, mutable_view(copy), analysis);
    return copy;
}
inline cv::Mat normalize(Engine& engine, const cv::Mat& image, const Normalization& normalization) {
    Analysis analysis;
    return normalize(engine, image, normalization, {}, analysis);
}

/// Statistics of the regions of a matrix, as CV_64FC1 with one row per region, in ascending order of the labels. The
/// first columns are those of `cv::connectedComponentsWithStats`: label, x, y, width, height and area, then the
/// centroid (x, y). Four columns follow per channel: mean, std, min and max, in the order of `statistics()`: gray; or
/// red, green, blue, luma, then the others. Numbers that are undefined are NaN. Throws as `analyze_regions` and
/// `labels_view` do.
inline cv::Mat regions_matrix(const cv::Mat& image, const cv::Mat& labels, const AnalysisRequest& request = {},
                              const RegionOptions& options = {}) {
    constexpr int facts = 8, numbers = 4;
    const std::vector<Region> regions = analyze_regions(view(image), labels_view(labels), request, options);
    cv::Mat matrix;
    for (std::size_t i = 0; i < regions.size(); ++i) {
        const Region& region = regions[i];
        const std::vector<Statistics> rows = statistics(region.analysis);
        if (i == 0)
            matrix.create(static_cast<int>(regions.size()), facts + numbers * static_cast<int>(rows.size()), CV_64FC1);
        auto* out = matrix.ptr<double>(static_cast<int>(i));
        for (const double fact :
             {static_cast<double>(region.label), static_cast<double>(region.x), static_cast<double>(region.y),
              static_cast<double>(region.width), static_cast<double>(region.height), static_cast<double>(region.area),
              region.centroid_x, region.centroid_y})
            *out++ = fact;
        for (const Statistics& row : rows)
            for (const std::optional<double>& number : {row.mean, row.std, row.min, row.max})
                *out++ = number.value_or(std::numeric_limits<double>::quiet_NaN());
    }
    return matrix;
}

}  // namespace gpuhist::io
