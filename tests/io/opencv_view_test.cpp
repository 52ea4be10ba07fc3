// Views of OpenCV's matrices. A cv::cuda::GpuMat can be made over memory of any kind, even by an OpenCV without CUDA,
// so no GPU is needed here.
#include <gtest/gtest.h>

#include <opencv2/core.hpp>
#include <opencv2/core/cuda.hpp>
#include <string>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/io/opencv.hpp"

namespace gpuhist::io {
namespace {

template <class Matrix>
struct MatrixKind;
template <>
struct MatrixKind<cv::Mat> {
    static constexpr Memory memory = Memory::host;
    static constexpr const char* name = "cv::Mat";
};
template <>
struct MatrixKind<cv::cuda::GpuMat> {
    static constexpr Memory memory = Memory::device;
    static constexpr const char* name = "cv::cuda::GpuMat";
};

template <class Matrix>
class OpenCvViewTest : public testing::Test {
  protected:
    static constexpr int row_bytes = 512;

    Matrix matrix(int rows, int columns, int type) { return Matrix(rows, columns, type, pixels_.data(), row_bytes); }
    std::string refusal(const Matrix& matrix) {
        try {
            view(matrix);
        } catch (const InvalidArgument& error) {
            return error.what();
        }
        return "accepted";
    }

    std::vector<double> pixels_ = std::vector<double>(row_bytes * 8 / sizeof(double));
};
using Matrices = testing::Types<cv::Mat, cv::cuda::GpuMat>;
TYPED_TEST_SUITE(OpenCvViewTest, Matrices);

TYPED_TEST(OpenCvViewTest, every_type) {
    const struct {
        int type;
        Depth depth;
        int channels;
    } cases[] = {{CV_8UC1, Depth::u8, 1},   {CV_8UC3, Depth::u8, 3},   {CV_8UC4, Depth::u8, 4},
                 {CV_16UC1, Depth::u16, 1}, {CV_16UC3, Depth::u16, 3}, {CV_16UC4, Depth::u16, 4},
                 {CV_32FC1, Depth::f32, 1}, {CV_32FC3, Depth::f32, 3}, {CV_32FC4, Depth::f32, 4}};
    for (const auto& c : cases) {
        TypeParam matrix = this->matrix(5, 7, c.type);
        auto check = [&](const auto& got) {
            EXPECT_EQ(got.data, this->pixels_.data());
            EXPECT_EQ(got.width, 7);
            EXPECT_EQ(got.height, 5);
            EXPECT_EQ(got.channels, c.channels);
            EXPECT_EQ(got.depth, c.depth);
            EXPECT_EQ(got.row_bytes, this->row_bytes);
            EXPECT_EQ(got.order, ChannelOrder::bgr);
            EXPECT_EQ(got.memory, MatrixKind<TypeParam>::memory);
        };
        const ImageView to_read = view(matrix);
        const MutableImageView to_write = mutable_view(matrix);
        check(to_read);
        check(to_write);
    }
}

TYPED_TEST(OpenCvViewTest, region_of_interest) {
    const TypeParam whole = this->matrix(6, 9, CV_16UC3), region = whole(cv::Rect(2, 1, 4, 3));
    const ImageView got = view(region);
    EXPECT_EQ(static_cast<const char*>(got.data) - reinterpret_cast<const char*>(this->pixels_.data()),
              this->row_bytes + 2 * 6);
    EXPECT_EQ(got.width, 4);
    EXPECT_EQ(got.height, 3);
    EXPECT_EQ(got.row_bytes, this->row_bytes);
}

TYPED_TEST(OpenCvViewTest, rows_without_gaps) {
    const TypeParam matrix(1, 9, CV_8UC3, this->pixels_.data());
    EXPECT_EQ(view(matrix).row_bytes, 27);
}

TYPED_TEST(OpenCvViewTest, what_is_no_image_is_refused_by_name) {
    const std::string name = MatrixKind<TypeParam>::name;
    for (const int type : {CV_8SC1, CV_16SC1, CV_32SC1, CV_64FC1, CV_16FC1, CV_8UC2, CV_8UC(64)})
        EXPECT_EQ(this->refusal(this->matrix(2, 2, type)), "accepted");
    EXPECT_EQ(this->refusal(this->matrix(2, 2, CV_8UC(65))), name + " of 65 channels: gpuhist reads 1 to 64");
    EXPECT_EQ(this->refusal(TypeParam()), name + ": an image has two dimensions and pixels");
}

TEST(OpenCvView, of_a_matrix_of_three_dimensions_is_refused) {
    const int sizes[] = {2, 3, 4};
    EXPECT_THROW(view(cv::Mat(3, sizes, CV_8UC1)), InvalidArgument);
}

}  // namespace
}  // namespace gpuhist::io
