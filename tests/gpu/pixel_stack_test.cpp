// Stacks of images, held to OpenCV. tests/cases/stacks.py holds all types to exact fractions.
#include "gpuhist/pixel_stack.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <opencv2/core.hpp>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist {
namespace {

constexpr int width = 53, height = 37;

std::vector<cv::Mat> noise(int images, int type, double top) {
    std::vector<cv::Mat> all;
    for (int i = 0; i < images; ++i) {
        cv::Mat image(height, width, type);
        cv::RNG(static_cast<std::uint64_t>(i) + 1).fill(image, cv::RNG::UNIFORM, 0, top);
        all.push_back(image);
    }
    return all;
}

std::vector<StackLayer> layers_of(const std::vector<cv::Mat>& images) {
    std::vector<StackLayer> layers;
    for (const cv::Mat& image : images) layers.push_back({io::view(image)});
    return layers;
}

PixelStack::Shape shape_of(const cv::Mat& image) {
    return {image.cols, image.rows, image.channels(), io::view(image).depth};
}

cv::Mat written(const PixelStack& stack, StackStatistic statistic, const cv::Mat& like, double empty = 0) {
    const Depth depth = stack_depth(statistic, io::view(like).depth);
    cv::Mat image(like.rows, like.cols, CV_MAKETYPE(io::opencv_depth(depth), like.channels()));
    MutableImageView view = io::mutable_view(image);
    view.depth = depth;
    stack.write(statistic, view, empty);
    return image;
}

bool same(const cv::Mat& a, const cv::Mat& b) {
    return a.type() == b.type() && cv::norm(a, b, cv::NORM_INF) == 0;
}

TEST(PixelStack, HasTheMeanAndTheExtremesOfOpenCV) {
    for (const auto& [type, top] : {std::pair(CV_8UC3, 255.0), {CV_16UC1, 65535.0}, {CV_16SC2, 30000.0}}) {
        SCOPED_TRACE(type);
        const auto images = noise(9, type, top);
        PixelStack stack(shape_of(images.front()));
        stack.add(layers_of(images));
        cv::Mat sum = cv::Mat::zeros(height, width, CV_MAKETYPE(CV_64F, images.front().channels())), lowest, highest;
        for (const cv::Mat& image : images) {
            cv::Mat real;
            image.convertTo(real, CV_64F);
            sum += real;
            lowest = lowest.empty() ? image.clone() : cv::Mat(cv::min(lowest, image));
            highest = highest.empty() ? image.clone() : cv::Mat(cv::max(highest, image));
        }
        cv::Mat mean;
        cv::Mat(sum / 9.0).convertTo(mean, CV_32F);
        EXPECT_TRUE(same(written(stack, StackStatistic::mean, images.front()), mean));
        EXPECT_TRUE(same(written(stack, StackStatistic::min, images.front()), lowest));
        EXPECT_TRUE(same(written(stack, StackStatistic::max, images.front()), highest));
        const cv::Mat count = written(stack, StackStatistic::count, images.front());
        EXPECT_EQ(
            cv::norm(count.reshape(1), cv::Mat(height, width * count.channels(), CV_32S, cv::Scalar(9)), cv::NORM_INF),
            0);
    }
}

TEST(PixelStack, DoesNotDependOnTheOrderThreadsOrParts) {
    const auto images = noise(11, CV_32FC1, 1e6);
    std::vector<StackLayer> layers = layers_of(images);
    PixelStack stack(shape_of(images.front()), 0, 1);
    stack.add(layers);
    std::reverse(layers.begin(), layers.end());
    PixelStack one(shape_of(images.front()), 0, 4), other(shape_of(images.front()), 0, 3);
    one.add({layers.begin(), layers.begin() + 4});
    other.add({layers.begin() + 4, layers.end()});
    one.add_sums(other.sums());
    ASSERT_EQ(one.sums_bytes(), stack.sums_bytes());
    EXPECT_EQ(std::memcmp(one.sums(), stack.sums(), stack.sums_bytes()), 0);
    // Strips of images, of which some rows lie outside.
    PixelStack band({width, 10, 1, Depth::f32});
    std::vector<StackLayer> rows;
    for (const cv::Mat& image : images) {
        rows.push_back({io::view(image.rowRange(0, 15)), -12});
        rows.push_back({io::view(image.rowRange(15, height)), 3});
    }
    band.add(rows);
    EXPECT_TRUE(same(written(band, StackStatistic::std, images.front().rowRange(12, 22)),
                     written(stack, StackStatistic::std, images.front()).rowRange(12, 22)));
}

TEST(PixelStack, CountsValidSamplesOnly) {
    cv::Mat image(2, 2, CV_32F);
    image.at<float>(0, 0) = std::numeric_limits<float>::quiet_NaN();
    image.at<float>(0, 1) = std::numeric_limits<float>::infinity();
    image.at<float>(1, 0) = 5;
    image.at<float>(1, 1) = 7;
    Validity rules;
    rules.nodata.push_back({std::nullopt, 7});
    PixelStack stack(shape_of(image), 2);
    stack.add({{io::view(image), 0, &rules}, {io::view(image)}});
    const cv::Mat count = written(stack, StackStatistic::count, image),
                  mean = written(stack, StackStatistic::mean, image);
    EXPECT_EQ(count.at<int>(0, 0) + count.at<int>(0, 1), 0);
    EXPECT_EQ(count.at<int>(1, 0), 2);
    EXPECT_EQ(count.at<int>(1, 1), 1);
    EXPECT_TRUE(std::isnan(mean.at<float>(0, 0)));
    EXPECT_EQ(mean.at<float>(1, 1), 7);
    EXPECT_TRUE(std::isnan(written(stack, StackStatistic::median, image).at<float>(0, 1)));
    const cv::Mat bytes(2, 2, CV_8U, cv::Scalar(3)), mask = cv::Mat::zeros(2, 2, CV_8U);
    PixelStack masked(shape_of(bytes));
    ImageView view = io::view(bytes);
    view.mask = mask.data;
    view.mask_row_bytes = 2;
    masked.add({{view}});
    EXPECT_EQ(written(masked, StackStatistic::max, bytes, 200).at<unsigned char>(1, 1), 200);
}

TEST(PixelStack, RefusesOtherImages) {
    const auto images = noise(2, CV_8UC3, 255);
    PixelStack stack(shape_of(images.front()));
    EXPECT_THROW(stack.add({{io::view(noise(1, CV_8UC1, 255).front())}}), InvalidArgument);
    EXPECT_THROW(stack.add({{io::view(noise(1, CV_16UC3, 255).front())}}), InvalidArgument);
    EXPECT_THROW(written(stack, StackStatistic::median, images.front()), InvalidArgument);
    cv::Mat other(height, width, CV_8UC3);
    EXPECT_THROW(stack.write(StackStatistic::mean, io::mutable_view(other)), InvalidArgument);
    EXPECT_THROW(PixelStack({0, 5, 1, Depth::u8}), InvalidArgument);
    EXPECT_THROW(odd_pixels({0}, {0}, 1, 1, 1, -1, 5), InvalidArgument);
}

}  // namespace
}  // namespace gpuhist
