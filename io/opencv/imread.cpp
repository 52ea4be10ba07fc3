// The door to OpenCV's imgcodecs: a library of its own, which programs link, or which gpuhist loads when it is asked
// to. It shares no matrix with gpuhist's OpenCV, which may be another: the samples are copied.
#include "gpuhist/io/imread.hpp"

#include <cstring>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>

#include "opencv/door.hpp"

namespace gpuhist::io {
namespace {

/// Image that OpenCV reads. Throws cv::Exception, or what the C++ library does.
cv::Mat read(const char* path, int flags) {
    static const bool quiet = [] {
        cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
        return true;
    }();
    static_cast<void>(quiet);
    return cv::imread(path, flags);
}

}  // namespace

Image imread(const std::filesystem::path& path, int flags) {
    cv::Mat pixels;
    try {
        pixels = read(path.c_str(), flags);
    } catch (const std::exception& error) {
        throw IoError(path.string() + ": OpenCV: " + error.what(), IoError::Kind::unsupported);
    }
    return image_of_opencv(pixels, path.string());
}

}  // namespace gpuhist::io

extern "C" int gpuhist_opencv_read(const char* path, int flags, GpuhistOpencvRows rows, void* of_rows, char* words,
                                   std::size_t bytes) {
    const auto fail = [&](const char* text) {
        std::strncpy(words, text, bytes - 1);
        words[bytes - 1] = '\0';
        return 1;
    };
    try {
        const cv::Mat pixels = gpuhist::io::read(path, flags);
        if (pixels.empty()) return fail("");
        for (int y = 0; y < pixels.rows; ++y)
            if (!rows(of_rows, pixels.rows, pixels.cols, pixels.type(), y, pixels.ptr(y),
                      static_cast<std::size_t>(pixels.cols) * pixels.elemSize()))
                return 1;
        return 0;
    } catch (const std::exception& error) {
        return fail(error.what());
    } catch (...) {
        return fail("unknown failure");
    }
}

extern "C" const char* gpuhist_opencv_version() {
    static const std::string version = cv::getVersionString();
    return version.c_str();
}
