// Encoders of the formats that keep every sample.
#pragma once

#include <opencv2/core/mat.hpp>
#include <string>
#include <vector>

#include "gpuhist/image.hpp"

namespace gpuhist::io {

/// PNG of 8U or 16U, but of bands. Throws IoError, which begins with the name.
std::vector<unsigned char> encode_png(const cv::Mat& image, Samples samples, const std::string& name);

/// PNG of an 8-bit BGR drawing: small where it has few colors. Throws IoError.
std::vector<unsigned char> encode_drawing(const cv::Mat& image, const std::string& name);

/// TIFF of any samples and depth, without compression. Throws IoError.
/// `u32`: samples of CV_32S are without a sign.
std::vector<unsigned char> encode_tiff(const cv::Mat& image, Samples samples, const std::string& name, bool u32);

}  // namespace gpuhist::io
