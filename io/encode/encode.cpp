#include "gpuhist/io/encode.hpp"

#include <cstdlib>
#include <mutex>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>
#include <optional>
#include <vector>

#include "encode/encode.hpp"
#include "files/failure.hpp"
#include "gpuhist/io/opencv.hpp"

namespace gpuhist::io {
namespace {

/// Lets OpenCV log nothing, unless OPENCV_LOG_LEVEL is set: what it has to say is in the exceptions.
void silence_opencv() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (!std::getenv("OPENCV_LOG_LEVEL")) cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    });
}

std::vector<unsigned char> encode_opencv(const std::string& extension, const cv::Mat& image, const std::string& name) {
    silence_opencv();
    // PNG: OpenCV's own choice (row differences, run lengths) is twice as fast as any level of zlib one can ask for,
    // and within 6 % of the smallest file. TIFF: its choice for three floats a pixel is SGI LogLuv, which is lossy, and
    // the other compressions are not applied to floats.
    const std::optional<Depth> depth = depth_of(image.depth());
    const bool floating = depth && traits_of(*depth).floating;
    std::vector<int> parameters;
    if (extension == ".tiff" && floating) parameters = {cv::IMWRITE_TIFF_COMPRESSION, 1};
    std::vector<unsigned char> bytes;
    try {
        if (!cv::imencode(extension, image, bytes, parameters)) bytes.clear();
    } catch (const cv::Exception& error) {
        fail(name, "cannot be encoded: " + error.err.substr(0, error.err.find('\n')));
    }
    return bytes;
}

}  // namespace

const char* lossless_extension(Depth depth, Samples samples) {
    const DepthTraits& traits = traits_of(depth);
    const bool bands = samples == Samples::bands || samples == Samples::color_bands;
    return traits.floating || traits.lowest < 0 || bands ? ".tiff" : ".png";  // PNG has no fractions, signs and bands
}

std::vector<unsigned char> encode_image(const std::filesystem::path& path, const cv::Mat& image, Samples samples) {
    const std::string extension = path.extension().string(), name = path.string();
    std::vector<unsigned char> bytes;
    if (samples == Samples::color)
        bytes = encode_opencv(extension, image, name);
    else
        bytes = extension == ".png" ? encode_png(image, samples, name) : encode_tiff(image, samples, name);
    if (bytes.empty()) fail(name, "cannot be encoded");
    return bytes;
}

void write_image(const std::filesystem::path& path, const cv::Mat& image, Samples samples) {
    const std::vector<unsigned char> bytes = encode_image(path, image, samples);
    write_file(path, bytes.data(), bytes.size());
}

}  // namespace gpuhist::io
