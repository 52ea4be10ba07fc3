// OpenCV's codecs: set up in one place, and what they throw in the words of this library.
#pragma once

#include <opencv2/core/mat.hpp>
#include <string>
#include <string_view>

#include "decode/formats.hpp"

namespace gpuhist::io {

/// Lets OpenCV log nothing, unless OPENCV_LOG_LEVEL is set: what it has to say is in the exceptions.
void silence_opencv();

/// The first line of a message: OpenCV's name the place in its sources in further ones.
std::string first_line(const std::string& text);

/// Decodes by `cv::imdecode`, with alpha, and not turned; or with other flags; or other bytes in place of the file's,
/// of which OpenCV makes the same pixels with less complaint. Throws IoError, also for 2 GiB or more.
cv::Mat opencv_decode(const EncodedImage& file);
cv::Mat opencv_decode(const EncodedImage& file, int flags);
cv::Mat opencv_decode(const EncodedImage& file, std::string_view bytes);

/// Decodes by `cv::imread` from the path, which is the file's name. Throws IoError.
cv::Mat opencv_read(const EncodedImage& file);

}  // namespace gpuhist::io
