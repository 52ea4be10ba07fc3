#include "bench/pictures.hpp"

#include <cmath>
#include <filesystem>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "gpuhist/io/decode.hpp"
#ifdef GPUHIST_HAS_CUDA
#include "bench/gpu_pixels.hpp"
#endif

namespace gpuhist::bench {
namespace {

/// Noise of several sizes on one another, a little of it from sample to sample: broad, uneven histograms whose
/// neighboring pixels are alike, as a photograph's are.
cv::Mat made_picture() {
    const cv::Size size(600, 400);
    cv::Mat sum(size, CV_32FC3, cv::Scalar(100, 120, 140));
    cv::RNG random(1);
    for (int cells : {3, 12, 48, 600}) {
        cv::Mat noise(std::max(2, size.height * cells / size.width), cells, CV_32FC3);
        random.fill(noise, cv::RNG::NORMAL, 0, cells == 600 ? 3 : 90.0 / std::sqrt(cells));
        cv::resize(noise, noise, size, 0, 0, cells == 600 ? cv::INTER_NEAREST : cv::INTER_CUBIC);
        sum += noise;
    }
    cv::Mat picture;
    sum.convertTo(picture, CV_8U);
    return picture;
}

}  // namespace

Picture natural_picture(const std::string& path) {
    if (!path.empty()) return {io::read_image(path), path};
    const std::string sample = GPUHIST_DATA "/chelsea.png";
    if (std::filesystem::exists(sample)) return {io::read_image(sample), sample};
    return {made_picture(), "smoothed noise (the sample pictures are not there; --image takes another)"};
}

cv::Mat tiled(const cv::Mat& photograph, cv::Size size) {
    cv::Mat result;
    cv::repeat(photograph, (size.height + photograph.rows - 1) / photograph.rows,
               (size.width + photograph.cols - 1) / photograph.cols, result);
    return result(cv::Rect({}, size)).clone();
}

cv::Mat with_channels(const cv::Mat& picture, int channels) {
    if (picture.channels() == channels) return picture;
    cv::Mat result = picture;
    if (picture.channels() == 4)
        cv::cvtColor(picture, result, channels == 3 ? cv::COLOR_BGRA2BGR : cv::COLOR_BGRA2GRAY);
    else
        cv::cvtColor(picture, result, channels == 3 ? cv::COLOR_GRAY2BGR : cv::COLOR_BGR2GRAY);
    return result;
}

cv::Mat with_depth(const cv::Mat& picture, int depth) {
    if (picture.depth() == depth) return picture;
    cv::Mat words;
    if (picture.depth() == CV_32F) {
        cv::Mat finite = picture.clone();
        cv::patchNaNs(finite, 0);
        cv::normalize(finite, words, 0, 65535, cv::NORM_MINMAX, CV_16U);
    } else if (picture.depth() == CV_8U) {
        cv::Mat noise(picture.size(), CV_MAKETYPE(CV_16U, picture.channels()));
        cv::RNG(1).fill(noise, cv::RNG::UNIFORM, 0, 256);
        picture.convertTo(words, CV_16U, 256);
        words += noise;
    } else {
        words = picture;
    }
    cv::Mat result;
    if (depth == CV_16U)
        result = words;
    else if (depth == CV_32F)
        words.convertTo(result, CV_32F, 1.0 / 65535);
    else
        words.convertTo(result, CV_8U, 1.0 / 257);
    return result;
}

#ifdef GPUHIST_HAS_CUDA
Photograph load_photograph(const std::string& path, std::string& name) {
    const Picture picture = natural_picture(path);
    name = picture.name;
    const auto samples = [&](int channels) {
        const cv::Mat words = with_depth(with_channels(picture.pixels, channels), CV_16U).reshape(1, 1);
        return std::vector<std::uint16_t>(words.begin<std::uint16_t>(), words.end<std::uint16_t>());
    };
    return {samples(1), samples(3)};
}
#endif

}  // namespace gpuhist::bench
