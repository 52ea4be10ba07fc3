#include "decode/opencv_codecs.hpp"

#include <climits>
#include <cstdlib>
#include <mutex>
#include <new>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>

#include "files/failure.hpp"
#include "gpuhist/io/opencv.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;

/// Runs a decoder of OpenCV's.
template <class Decode>
cv::Mat checked(const EncodedImage& file, Decode decode) {
    silence_opencv();
    const Probe& probe = file.probe;
    const auto size = [&] { return std::to_string(probe.width) + " x " + std::to_string(probe.height) + " pixels"; };
    cv::Mat image;
    std::string reason;
    try {
        image = decode();
    } catch (const cv::Exception& error) {
        if (error.code == cv::Error::StsNoMem) fail(file.name, "no memory for " + size(), Kind::memory);
        if (error.err.find("CV_IO_MAX_IMAGE") != std::string::npos)
            fail(file.name,
                 size() +
                     " are more than OpenCV reads: set the environment variables "
                     "OPENCV_IO_MAX_IMAGE_PIXELS, OPENCV_IO_MAX_IMAGE_WIDTH and OPENCV_IO_MAX_IMAGE_HEIGHT "
                     "before the program starts",
                 Kind::too_large);
        reason = " (" + first_line(error.err) + ")";
    } catch (const std::bad_alloc&) {
        fail(file.name, "no memory for " + size(), Kind::memory);
    }
    if (!image.empty()) return image;
    const std::string cause = probe.truncated.empty() ? "damaged, or of a kind that OpenCV does not read"
                                                      : "truncated, and nothing can be read of it: " + probe.truncated;
    fail(file.name, std::string("it begins as ") + probe.format->name + ", but is " + cause + reason,
         probe.truncated.empty() ? Kind::damaged : Kind::truncated);
}

}  // namespace

void silence_opencv() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (!std::getenv("OPENCV_LOG_LEVEL")) cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    });
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

Image opencv_decode(const EncodedImage& file) {
    const auto bytes = file.bytes.text(0, file.bytes.size());
    if (bytes.size() >= INT_MAX)
        file.refuse(std::string(file.probe.format->name) + " of 2 GiB or more: OpenCV reads none of that length");
    Image image;
    image.pixels = checked(file, [&] {
        cv::Mat pixels;
        pixels.allocator = file.options.allocator;
        const cv::Mat encoded(1, static_cast<int>(bytes.size()), CV_8UC1, const_cast<char*>(bytes.data()));
        return cv::imdecode(encoded, cv::IMREAD_UNCHANGED, &pixels);
    });
    const std::optional<Depth> depth = depth_of(image.pixels.depth());
    if (!depth)
        file.refuse(std::string("depth ") + cv::depthToString(image.pixels.depth()) +
                    " is not supported: gpuhist reads " + depth_names());
    const int channels = image.pixels.channels();
    if (channels != 1 && channels != 3 && channels != 4)
        file.refuse(std::to_string(channels) + " channels are not supported: gpuhist reads 1, 3 or 4");
    image.depth = *depth;
    image.white = traits_of(*depth).highest;
    if (channels == 4) image.alpha = Alpha::straight;
    return image;
}

}  // namespace gpuhist::io
