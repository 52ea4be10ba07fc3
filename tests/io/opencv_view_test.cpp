// Views of OpenCV's matrices. A cv::cuda::GpuMat can be made over memory of any kind, even by an OpenCV without CUDA,
// so no GPU is needed here.
#include <gtest/gtest.h>

#include <opencv2/core.hpp>
#include <opencv2/core/cuda.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/regions.hpp"
#include "gpuhist/statistics.hpp"

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

TYPED_TEST(OpenCvViewTest, masks) {
    std::vector<double> bytes(64);
    const TypeParam image = this->matrix(6, 9, CV_16UC3), whole(8, 12, CV_8UC1, bytes.data(), 40);
    const TypeParam mask = whole(cv::Rect(2, 1, 9, 6));
    const ImageView got = view(image, mask);
    EXPECT_EQ(got.mask, mask.data);
    EXPECT_EQ(reinterpret_cast<const char*>(got.mask) - reinterpret_cast<const char*>(bytes.data()), 40 + 2);
    EXPECT_EQ(got.mask_row_bytes, 40);
    EXPECT_EQ(got.data, this->pixels_.data());
    EXPECT_EQ(view(image).mask, nullptr);
    const std::string name = MatrixKind<TypeParam>::name;
    const auto refusal = [&](const TypeParam& other) -> std::string {
        try {
            view(image, other);
        } catch (const InvalidArgument& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(refusal(TypeParam(6, 9, CV_8UC1, bytes.data(), 40)), "accepted");
    EXPECT_EQ(refusal(TypeParam(6, 9, CV_8SC1, bytes.data(), 40)), name + " of a mask of type CV_8SC1: CV_8UC1");
    EXPECT_EQ(refusal(whole), name + " of a mask of 12 x 8, the image has 9 x 6");
    EXPECT_EQ(refusal(TypeParam()), name + " of a mask of 0 x 0, the image has 9 x 6");
    EXPECT_EQ(refusal(TypeParam(6, 9, CV_16UC1, bytes.data(), 40)), name + " of a mask of type CV_16UC1: CV_8UC1");
    EXPECT_EQ(refusal(TypeParam(6, 9, CV_8UC3, bytes.data(), 40)), name + " of a mask of type CV_8UC3: CV_8UC1");
}

// The numbers are those of OpenCV: counts by cv::calcHist, mean and deviation by cv::meanStdDev, with the same mask.
TEST(OpenCvView, of_a_masked_region_is_measured_as_opencv_does) {
    cv::Mat whole(50, 60, CV_8UC3), masks(40, 90, CV_8UC1);
    cv::RNG random(7);
    random.fill(whole, cv::RNG::UNIFORM, 0, 256);
    random.fill(masks, cv::RNG::UNIFORM, 0, 2);
    const cv::Mat image = whole(cv::Rect(3, 5, 41, 33)), mask = masks(cv::Rect(17, 2, 41, 33));
    const Analysis found = make_engine("cpu")->analyze(view(image, mask));
    cv::Scalar mean, deviation;
    cv::meanStdDev(image, mean, deviation, mask);
    const Channel bgr[] = {Channel::blue, Channel::green, Channel::red};
    for (int c = 0; c < 3; ++c) {
        const int bins[] = {256}, channels[] = {c};
        const float range[] = {0, 256};
        const float* ranges[] = {range};
        cv::Mat counts;
        cv::calcHist(&image, 1, channels, mask, counts, 1, bins, ranges);
        const ChannelAnalysis& channel = *found.find(bgr[c]);
        for (int v = 0; v < 256; ++v)
            ASSERT_EQ(channel.counts[static_cast<std::size_t>(v)], static_cast<std::uint64_t>(counts.at<float>(v)));
        EXPECT_EQ(channel.masked, static_cast<std::uint64_t>(41 * 33 - cv::countNonZero(mask)));
        for (const Statistics& row : statistics(found)) {
            if (row.channel != bgr[c]) continue;
            EXPECT_NEAR(*row.mean, mean[c], 1e-10);
            EXPECT_NEAR(*row.std, deviation[c], 1e-10);
        }
    }
}

TEST(OpenCvView, of_labels_gives_regions) {
    cv::Mat image(20, 30, CV_16UC1), all(25, 40, CV_32SC1);
    cv::RNG random(8);
    random.fill(image, cv::RNG::UNIFORM, 0, 5000);
    random.fill(all, cv::RNG::UNIFORM, 0, 4);
    const cv::Mat labels = all(cv::Rect(4, 3, 30, 20));
    const std::vector<Region> regions = analyze_regions(view(image), labels_view(labels));
    ASSERT_EQ(regions.size(), 3U);
    for (const Region& region : regions) {
        const cv::Mat inside = labels == static_cast<int>(region.label);
        EXPECT_EQ(region.area, static_cast<std::uint64_t>(cv::countNonZero(inside)));
        EXPECT_NEAR(*statistics(region.analysis).front().mean, cv::mean(image, inside)[0], 1e-9);
    }
    for (const int type : {CV_8UC1, CV_16UC1}) {
        cv::Mat converted;
        labels.convertTo(converted, type);
        EXPECT_EQ(analyze_regions(view(image), labels_view(converted)).size(), 3U);
    }
    EXPECT_THROW(labels_view(cv::Mat(20, 30, CV_32FC1)), InvalidArgument);
    EXPECT_THROW(labels_view(cv::Mat(20, 30, CV_8UC3)), InvalidArgument);
}

TEST(OpenCvView, of_a_matrix_of_three_dimensions_is_refused) {
    const int sizes[] = {2, 3, 4};
    EXPECT_THROW(view(cv::Mat(3, sizes, CV_8UC1)), InvalidArgument);
}

}  // namespace
}  // namespace gpuhist::io
