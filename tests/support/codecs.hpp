// Codecs of the tests: pictures to files and back by each format's own library, or by hand. They call nothing of
// gpuhist, whose readers and writers are held against them.
#pragma once

#include <filesystem>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

namespace gpuhist::test {

/// Encodes a picture (gray, B G R or B G R A) as the format with that extension, in capitals or not, without loss; but
/// JPEG in quality 90 with a quarter of the chroma, as cameras do. Throws where the format cannot hold the picture.
std::vector<unsigned char> encode(const std::string& extension, const cv::Mat& picture);

/// Encodes with choices of the format's own: zlib's level; quality from 0 to 100; compression as OpenEXR numbers it,
/// samples as halves.
std::vector<unsigned char> encode_png(const cv::Mat& picture, int level);
std::vector<unsigned char> encode_lossy_webp(const cv::Mat& picture, float quality);
std::vector<unsigned char> encode_openexr(const cv::Mat& picture, int compression, bool half);
/// Luminance and subsampled chroma of a picture of floats, with alpha if it has four channels; and the colors that
/// OpenEXR's RgbaInputFile makes of such a file: B, G, R, A as halves.
std::vector<unsigned char> encode_luminance_chroma(const cv::Mat& picture, int compression);
cv::Mat read_luminance_chroma(const std::vector<unsigned char>& file);
/// Pictures of halves or floats as the parts of a file.
std::vector<unsigned char> encode_openexr_parts(const std::vector<cv::Mat>& pictures);
/// A part of gray floats, and behind it the parts of these files of luminance and chroma.
std::vector<unsigned char> encode_luminance_chroma_parts(const cv::Mat& gray,
                                                         const std::vector<std::vector<unsigned char>>& files);

/// Decodes a PNG, TIFF or JPEG. Few bits and palettes become 8 bits, colors B G R or B G R A; gray with alpha stays two
/// channels, ink four. Throws where the codec finds an error.
cv::Mat decode(const std::vector<unsigned char>& file);

/// Encodes a picture as the format of the path's extension, into that file.
void write_picture(const std::filesystem::path& path, const cv::Mat& picture);
cv::Mat read_picture(const std::filesystem::path& path);

}  // namespace gpuhist::test
