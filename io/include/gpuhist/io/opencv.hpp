/// Views of images of OpenCV, and its numbers of the depths. Header only. The matrix keeps the ownership of its pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <opencv2/core/mat.hpp>
#include <optional>
#include <string>
#include <type_traits>

#include "gpuhist/error.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::io {

/// Depth that OpenCV has, with its number there.
struct OpencvDepth {
    Depth depth;
    int number;
};
inline constexpr OpencvDepth opencv_depths[] = {{Depth::u8, CV_8U},   {Depth::s8, CV_8S},   {Depth::u16, CV_16U},
                                                {Depth::s16, CV_16S}, {Depth::s32, CV_32S}, {Depth::f16, CV_16F},
                                                {Depth::f32, CV_32F}, {Depth::f64, CV_64F}};

/// Number of a depth in OpenCV. For a depth that OpenCV lacks, it is the number of integers with as many bytes; the
/// depth of the view must then be set.
constexpr int opencv_depth(Depth depth) {
    for (const OpencvDepth& of : opencv_depths)
        if (of.depth == depth) return of.number;
    for (const OpencvDepth& of : opencv_depths)
        if (sample_bytes(of.depth) == sample_bytes(depth)) return of.number;
    __builtin_unreachable();
}

/// Depth of a matrix with this `depth()`; absent if gpuhist does not read it.
constexpr std::optional<Depth> depth_of(int opencv_depth_number) {
    for (const OpencvDepth& of : opencv_depths)
        if (of.number == opencv_depth_number) return of.depth;
    return std::nullopt;
}

namespace detail {
/// View of any class with the members that cv::Mat and cv::cuda::GpuMat share. `name` is for messages.
template <class Void, class Matrix>
BasicImageView<Void> view(const Matrix& image, std::size_t row_bytes, Memory memory, const char* name) {
    BasicImageView<Void> view;
    view.data = image.data;
    view.width = image.cols;
    view.height = image.rows;
    view.channels = image.channels();
    view.row_bytes = static_cast<std::int64_t>(row_bytes);
    view.memory = memory;
    const std::optional<Depth> depth = depth_of(image.depth());
    if (!depth)
        throw InvalidArgument(std::string(name) + " of depth " + cv::depthToString(image.depth()) + ": gpuhist reads " +
                              list_depths([](const DepthTraits& traits) {
                                  const int number = opencv_depth(traits.depth);
                                  return depth_of(number) == traits.depth ? cv::depthToString(number) : "";
                              }));
    view.depth = *depth;
    if (image.empty()) throw InvalidArgument(std::string(name) + ": an image has two dimensions and pixels");
    if (view.channels > most_channels)
        throw InvalidArgument(std::string(name) + " of " + std::to_string(view.channels) +
                              " channels: gpuhist reads 1 to " + std::to_string(most_channels));
    return view;
}
/// Sets the mask of a view. Both are in the same memory.
template <class Matrix>
void set_mask(ImageView& view, const Matrix& mask, std::size_t row_bytes, const char* name) {
    const auto sides = [](std::int64_t width, std::int64_t height) {
        return std::to_string(width) + " x " + std::to_string(height);
    };
    if (mask.type() != CV_8UC1)
        throw InvalidArgument(std::string(name) + " of a mask of type " + cv::typeToString(mask.type()) + ": CV_8UC1");
    if (mask.cols != view.width || mask.rows != view.height)
        throw InvalidArgument(std::string(name) + " of a mask of " + sides(mask.cols, mask.rows) + ", the image has " +
                              sides(view.width, view.height));
    view.mask = mask.data;
    view.mask_row_bytes = static_cast<std::int64_t>(row_bytes);
}
template <class Void>
BasicImageView<Void> host_view(const cv::Mat& image) {
    // Matrices of more dimensions have no rows and columns.
    if (image.dims > 2) throw InvalidArgument("cv::Mat: an image has two dimensions and pixels");
    return view<Void>(image, image.step[0], Memory::host, "cv::Mat");
}
template <class GpuMat, class Result>
using if_gpu_mat = std::enable_if_t<std::is_same_v<GpuMat, cv::cuda::GpuMat>, Result>;
}  // namespace detail

/// View of the pixels of a matrix, which may be a region of interest. Its channels are B, G, R, A, as in OpenCV; other
/// numbers of channels than 1, 3 and 4 are bands. The matrix must outlive the view. Throws InvalidArgument for depths
/// other than those above, and for more than 64 channels.
inline ImageView view(const cv::Mat& image) {
    return detail::host_view<const void>(image);
}
inline MutableImageView mutable_view(cv::Mat& image) {
    return detail::host_view<void>(image);
}

/// View of a matrix in which pixels whose sample in `mask` is 0 are excluded. As in OpenCV, the mask is CV_8UC1 and has
/// the size of the image. Both matrices must outlive the view. Throws InvalidArgument as above, and for another mask.
inline ImageView view(const cv::Mat& image, const cv::Mat& mask) {
    ImageView view = io::view(image);
    detail::set_mask(view, mask, mask.empty() ? 0 : mask.step[0], "cv::Mat");
    return view;
}

/// View of a matrix of labels, for `analyze_regions`: one channel of CV_8U, CV_16U or CV_32S without negative values.
/// The matrix must outlive the view. Throws InvalidArgument for other matrices.
inline ImageView labels_view(const cv::Mat& labels) {
    const ImageView view = io::view(labels);
    if (view.channels != 1 || (view.depth != Depth::u8 && view.depth != Depth::u16 && view.depth != Depth::s32))
        throw InvalidArgument("cv::Mat of labels of type " + cv::typeToString(labels.type()) +
                              ": CV_8UC1, CV_16UC1 or CV_32SC1");
    return view;
}

/// Views of a cv::cuda::GpuMat. Its pixels are on the GPU that was current when it was made. Include
/// <opencv2/core/cuda.hpp> before; no further library is linked. The cudaStream_t of a cv::cuda::Stream comes from
/// cv::cuda::StreamAccessor::getStream(). Throw as the views of cv::Mat.
template <class GpuMat>
detail::if_gpu_mat<GpuMat, ImageView> view(const GpuMat& image) {
    return detail::view<const void>(image, image.step, Memory::device, "cv::cuda::GpuMat");
}
template <class GpuMat>
detail::if_gpu_mat<GpuMat, ImageView> view(const GpuMat& image, const GpuMat& mask) {
    ImageView view = io::view(image);
    detail::set_mask(view, mask, mask.step, "cv::cuda::GpuMat");
    return view;
}
template <class GpuMat>
detail::if_gpu_mat<GpuMat, MutableImageView> mutable_view(GpuMat& image) {
    return detail::view<void>(image, image.step, Memory::device, "cv::cuda::GpuMat");
}

}  // namespace gpuhist::io
