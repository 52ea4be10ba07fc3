/// Images as OpenCV reads them. Component `opencv` of the package: link gpuhist::opencv, a small library that needs
/// OpenCV's imgcodecs.
#pragma once

#include <filesystem>

#include "gpuhist/io/image.hpp"

namespace gpuhist::io {

/// Reads an image by `cv::imread`, with its flags; the default is cv::IMREAD_UNCHANGED. The result can be measured like
/// that of `read_image`: 1 sample per pixel is gray, 3 and 4 are colors in OpenCV's order, without and with alpha, and
/// others are bands. Its white is the highest value of the depth, since OpenCV doesn't say what the file's is.
///
/// OpenCV decides what the samples are: it scales, converts and turns some images, and repairs some damaged ones
/// without a word. Throws IoError if it makes no image of the file, for more than 64 channels, and for depths that
/// gpuhist doesn't have.
Image imread(const std::filesystem::path& path, int flags = -1);

}  // namespace gpuhist::io
