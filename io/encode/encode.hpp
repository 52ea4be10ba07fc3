// Encoders of what OpenCV does not write: gray with alpha, and bands.
#pragma once

#include <opencv2/core/mat.hpp>
#include <string>
#include <vector>

#include "gpuhist/image.hpp"

namespace gpuhist::io {

/// PNG of gray with alpha, 8U or 16U. Throws IoError, which begins with the name.
std::vector<unsigned char> encode_png(const cv::Mat& image, Samples samples, const std::string& name);

/// TIFF of gray with alpha or of bands, of any depth, without compression. Throws IoError.
std::vector<unsigned char> encode_tiff(const cv::Mat& image, Samples samples, const std::string& name);

}  // namespace gpuhist::io
