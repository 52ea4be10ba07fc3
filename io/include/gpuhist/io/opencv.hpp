/// Views of OpenCV's images. Header only; the pixels stay the matrix's.
#pragma once

#include <opencv2/core/mat.hpp>
#include <string>

#include "gpuhist/error.hpp"
#include "gpuhist/image_view.hpp"

namespace gpuhist::io {

namespace detail {
template <class Void>
BasicImageView<Void> view(Void* data, const cv::Mat& image) {
    BasicImageView<Void> view;
    view.data = data;
    view.width = image.cols;
    view.height = image.rows;
    view.channels = image.channels();
    view.row_bytes = static_cast<std::int64_t>(image.step[0]);
    switch (image.depth()) {
        case CV_8U:
            view.depth = Depth::u8;
            break;
        case CV_16U:
            view.depth = Depth::u16;
            break;
        case CV_32F:
            view.depth = Depth::f32;
            break;
        default:
            throw InvalidArgument(std::string("cv::Mat of depth ") + cv::depthToString(image.depth()) +
                                  ": gpuhist reads CV_8U, CV_16U and CV_32F");
    }
    if (image.dims != 2 || image.empty()) throw InvalidArgument("cv::Mat: an image has two dimensions and pixels");
    if (view.channels != 1 && view.channels != 3 && view.channels != 4)
        throw InvalidArgument("cv::Mat of " + std::to_string(view.channels) + " channels: gpuhist reads 1, 3 or 4");
    return view;
}
}  // namespace detail

/// The pixels of a matrix (channels B, G, R, A, as OpenCV keeps them), region of interest included. The matrix must
/// outlive the view. Throws InvalidArgument for depths other than 8U, 16U, 32F and for 2 channels or more than 4.
inline ImageView view(const cv::Mat& image) {
    return detail::view<const void>(image.data, image);
}
inline MutableImageView mutable_view(cv::Mat& image) {
    return detail::view<void>(image.data, image);
}

}  // namespace gpuhist::io
