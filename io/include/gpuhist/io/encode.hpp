/// Files that appear whole: images, and any other bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <opencv2/core/mat.hpp>
#include <string>

#include "gpuhist/image.hpp"

namespace gpuhist::io {

/// Contents of a file that come one after the other: a function that gives each to `take`.
using Pieces = std::function<void(const std::function<void(const void* data, std::size_t bytes)>& take)>;

/// Writes a file so that a reader never sees half of it: a temporary name beside it, then a rename. Every write and the
/// close are checked. Throws IoError naming the path and the cause, and what `pieces` throws; the temporary file is
/// then gone.
void write_file(const std::filesystem::path& path, const Pieces& pieces);
void write_file(const std::filesystem::path& path, const void* data, std::size_t bytes);
void write_file(const std::filesystem::path& path, const std::string& text);

/// Prefix of the temporary names of this process, and of no other's: files of such names that a killed process left may
/// be removed.
const std::string& temporary_prefix();

/// Extension of the format that keeps every sample of an image: `.png`, or `.tiff` for floats and bands.
const char* lossless_extension(Depth depth, Samples samples = Samples::color);

/// Encodes in the format of the path's extension (.png for 8U and 16U, .tiff for these and 32F), without loss, and
/// writes with `write_file`. Bands need .tiff. Throws IoError where that fails. Safe to call from several threads.
void write_image(const std::filesystem::path& path, const cv::Mat& image, Samples samples = Samples::color);

}  // namespace gpuhist::io
