// What gpuhist and its door to OpenCV know of one another: C functions, and how a matrix becomes an Image.
#pragma once

#include <cstddef>
#include <opencv2/core/mat.hpp>
#include <string>

#include "gpuhist/error.hpp"
#include "gpuhist/io/image.hpp"

/// Takes a row of an image; the first is row 0. Returns 0 to end the reading.
using GpuhistOpencvRows = int (*)(void* self, int rows, int columns, int type, int row, const unsigned char* samples,
                                  std::size_t bytes);

extern "C" {
/// Reads an image by cv::imread, and passes its rows on. Returns 0, or another number and words on the failure, which
/// are empty if OpenCV has none. Never throws.
__attribute__((visibility("default"))) int gpuhist_opencv_read(const char* path, int flags, GpuhistOpencvRows rows,
                                                               void* of_rows, char* words, std::size_t bytes);
__attribute__((visibility("default"))) const char* gpuhist_opencv_version();
}

namespace gpuhist::io {

/// Image of a matrix that OpenCV read. Throws IoError for one that gpuhist does not measure.
inline Image image_of_opencv(cv::Mat pixels, const std::string& name) {
    if (pixels.empty()) throw IoError(name + ": OpenCV makes no image of it", IoError::Kind::unsupported);
    Image image;
    image.pixels = std::move(pixels);
    try {
        const ImageView found = view(image.pixels);
        image.depth = found.depth;
    } catch (const InvalidArgument& error) {
        throw IoError(name + ": " + error.what(), IoError::Kind::unsupported);
    }
    const int channels = image.pixels.channels();
    if (channels == 2 || channels > 4) image.samples = Samples::bands;
    if (channels == 4) image.alpha = Alpha::straight;
    image.white = traits_of(image.depth).highest;
    image.format = "an image of OpenCV";
    return image;
}

}  // namespace gpuhist::io
