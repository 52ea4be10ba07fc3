// Encoders of the formats that keep every sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <opencv2/core/mat.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/image.hpp"
#include "gpuhist/io/encode.hpp"

namespace gpuhist::io {

/// Place for encoded bytes, which are written in any order.
class EncodedBytes {
  public:
    virtual ~EncodedBytes() = default;
    virtual void write(std::uint64_t place, const void* data, std::size_t count) = 0;
};

struct BytesInMemory final : EncodedBytes {
    std::vector<unsigned char> bytes;
    void write(std::uint64_t place, const void* data, std::size_t count) override;
};

/// PNG of 8U or 16U, but of bands. Throws IoError, which begins with the name.
std::unique_ptr<RowEncoder> png_encoder(EncodedBytes& to, cv::Size sides, int type, Samples samples,
                                        const std::string& name, const EncodeOptions& options);

/// PNG of an 8-bit BGR drawing: small where it has few colors. Throws IoError.
std::vector<unsigned char> encode_drawing(const cv::Mat& image, const std::string& name);

/// TIFF of any samples and depth. Throws IoError. `u32`: samples of CV_32S are without a sign.
std::unique_ptr<RowEncoder> tiff_encoder(EncodedBytes& to, cv::Size sides, int type, Samples samples,
                                         const std::string& name, bool u32, const EncodeOptions& options);

/// Text that is compressed in the format of zlib (RFC 1950).
std::string compressed(std::string_view text);

}  // namespace gpuhist::io
