// The picture behind what is called natural content.
#pragma once

#include <opencv2/core/mat.hpp>
#include <string>

namespace gpuhist::bench {

struct Picture {
    cv::Mat pixels;    ///< 8U, 16U or 32F, with 1, 3 or 4 channels
    std::string name;  ///< the file, or what was made instead
};

/// The file. Where `path` is empty: a sample picture of the sources; where that is not there, as beside an installed
/// program, a made one, which `name` then says. Throws where the file cannot be read as a picture.
Picture natural_picture(const std::string& path);

/// A photograph beside itself until it has that size: its noise and its edges stay those of a photograph.
cv::Mat tiled(const cv::Mat& photograph, cv::Size size);

/// The picture with 1 or 3 channels: gray is the luma, alpha goes.
cv::Mat with_channels(const cv::Mat& picture, int channels);

/// The picture in another depth, using all of it: the bits that it lacks become noise, as a deeper photograph's are;
/// f32 lies in [0, 1].
cv::Mat with_depth(const cv::Mat& picture, int depth);

}  // namespace gpuhist::bench
