/// Views of OpenCV's images. Header only; the pixels stay the matrix's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <opencv2/core/mat.hpp>
#include <string>
#include <type_traits>

#include "gpuhist/error.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::io {

namespace detail {
/// Of any class with the members that cv::Mat and cv::cuda::GpuMat share.
template <class Void, class Matrix>
BasicImageView<Void> view(const Matrix& image, std::size_t row_bytes, Memory memory, const char* name) {
    BasicImageView<Void> view;
    view.data = image.data;
    view.width = image.cols;
    view.height = image.rows;
    view.channels = image.channels();
    view.row_bytes = static_cast<std::int64_t>(row_bytes);
    view.memory = memory;
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
            throw InvalidArgument(std::string(name) + " of depth " + cv::depthToString(image.depth()) +
                                  ": gpuhist reads CV_8U, CV_16U and CV_32F");
    }
    if (image.empty()) throw InvalidArgument(std::string(name) + ": an image has two dimensions and pixels");
    if (view.channels != 1 && view.channels != 3 && view.channels != 4)
        throw InvalidArgument(std::string(name) + " of " + std::to_string(view.channels) +
                              " channels: gpuhist reads 1, 3 or 4");
    return view;
}
template <class Void>
BasicImageView<Void> host_view(const cv::Mat& image) {
    // Others than images have no rows and columns.
    if (image.dims > 2) throw InvalidArgument("cv::Mat: an image has two dimensions and pixels");
    return view<Void>(image, image.step[0], Memory::host, "cv::Mat");
}
template <class GpuMat, class Result>
using if_gpu_mat = std::enable_if_t<std::is_same_v<GpuMat, cv::cuda::GpuMat>, Result>;
}  // namespace detail

/// The pixels of a matrix (channels B, G, R, A, as OpenCV keeps them), region of interest included. The matrix must
/// outlive the view. Throws InvalidArgument for depths other than 8U, 16U, 32F and for 2 channels or more than 4.
inline ImageView view(const cv::Mat& image) {
    return detail::host_view<const void>(image);
}
inline MutableImageView mutable_view(cv::Mat& image) {
    return detail::host_view<void>(image);
}

/// The same of a cv::cuda::GpuMat: pixels on the GPU that was current when it was made. For those who include
/// <opencv2/core/cuda.hpp>; nothing more is linked. A cv::cuda::Stream is the cudaStream_t that
/// cv::cuda::StreamAccessor::getStream() says.
template <class GpuMat>
detail::if_gpu_mat<GpuMat, ImageView> view(const GpuMat& image) {
    return detail::view<const void>(image, image.step, Memory::device, "cv::cuda::GpuMat");
}
template <class GpuMat>
detail::if_gpu_mat<GpuMat, MutableImageView> mutable_view(GpuMat& image) {
    return detail::view<void>(image, image.step, Memory::device, "cv::cuda::GpuMat");
}

}  // namespace gpuhist::io
