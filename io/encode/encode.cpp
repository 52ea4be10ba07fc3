#include "gpuhist/io/encode.hpp"

#include <opencv2/imgcodecs.hpp>
#include <optional>
#include <vector>

#include "decode/opencv_codecs.hpp"
#include "files/failure.hpp"
#include "gpuhist/io/opencv.hpp"

namespace gpuhist::io {

const char* lossless_extension(Depth depth) {
    const DepthTraits& traits = traits_of(depth);
    return traits.floating || traits.lowest < 0 ? ".tiff" : ".png";  // PNG has neither fractions nor signs
}

void write_image(const std::filesystem::path& path, const cv::Mat& image) {
    silence_opencv();
    // PNG: OpenCV's own choice (row differences, run lengths) is twice as fast as any level of zlib one can ask for,
    // and within 6 % of the smallest file. TIFF: its choice for three floats a pixel is SGI LogLuv, which is lossy, and
    // the other compressions are not applied to floats.
    const std::string extension = path.extension().string();
    const std::optional<Depth> depth = depth_of(image.depth());
    const bool floating = depth && traits_of(*depth).floating;
    std::vector<int> parameters;
    if (extension == ".tiff" && floating) parameters = {cv::IMWRITE_TIFF_COMPRESSION, 1};
    std::vector<unsigned char> bytes;
    try {
        if (!cv::imencode(extension, image, bytes, parameters)) bytes.clear();
    } catch (const cv::Exception& error) {
        fail(path.string(), "cannot be encoded: " + first_line(error.err));
    }
    if (bytes.empty()) fail(path.string(), "cannot be encoded");
    write_file(path, bytes.data(), bytes.size());
}

}  // namespace gpuhist::io
