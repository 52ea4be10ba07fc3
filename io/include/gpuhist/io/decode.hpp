/// Images from files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <opencv2/core/mat.hpp>
#include <string>
#include <vector>

namespace gpuhist::io {

/// Answer to a file that is truncated.
enum class OnTruncated { error, accept };

/// Options of decoding.
struct DecodeOptions {
    std::uint64_t max_pixels = std::uint64_t{1} << 30;  ///< width × height, read from the header before memory is taken
    OnTruncated on_truncated = OnTruncated::error;      ///< accept: what the decoder makes of the part that is there
    cv::MatAllocator* allocator = nullptr;              ///< where pixels are put; null: where OpenCV puts them
    /// Function called before memory is taken, with the bytes that the image then needs in all: first those of its
    /// file, then, once the header is known, file and pixels (at most). It may wait; what it throws comes out.
    std::function<void(std::uint64_t)> admit;
};

/// Decodes an image as `cv::imread` does, EXIF orientation of a JPEG included: depth and alpha are kept, palettes and
/// 1-, 2-, 4-bit files are expanded; of several pages the first counts. The result is 8U, 16U or 32F with 1, 3 or 4
/// channels. The table in io/README.md lists the formats. A file counts as truncated where its structure says that
/// bytes are missing; `accept` then hands the rest to the decoder. `name` is for messages. OpenCV's log is silenced,
/// unless OPENCV_LOG_LEVEL is set.
/// Throws IoError: not an image (says what the bytes look like), truncated, more pixels than allowed, a depth or number
/// of channels that is not supported (named), or what the decoder says. Safe to call from several threads.
cv::Mat decode_image(const std::vector<unsigned char>& bytes, const std::string& name,
                     const DecodeOptions& options = {});

/// `decode_image` of the file's bytes. Reads TIFFs of more than 2 GiB too.
cv::Mat read_image(const std::filesystem::path& path, const DecodeOptions& options = {});

}  // namespace gpuhist::io
