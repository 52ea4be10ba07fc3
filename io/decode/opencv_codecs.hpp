// OpenCV's codecs: set up in one place, and what they throw in the words of this library.
#pragma once

#include <opencv2/core/mat.hpp>
#include <string>

#include "decode/formats.hpp"

namespace gpuhist::io {

/// Lets OpenCV log nothing, unless OPENCV_LOG_LEVEL is set: what it has to say is in the exceptions.
void silence_opencv();

/// The first line of a message: OpenCV's name the place in its sources in further ones.
std::string first_line(const std::string& text);

/// Decodes by `cv::imdecode`, with straight alpha, and not turned. Throws IoError, also for 2 GiB or more, and for a
/// depth or number of channels that is not measured.
Image opencv_decode(const EncodedImage& file);

}  // namespace gpuhist::io
