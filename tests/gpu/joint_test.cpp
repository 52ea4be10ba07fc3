// Joint histograms, held to OpenCV. tests/cases/joints.py holds their numbers to exact fractions.
#include "gpuhist/joint.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "gpuhist/analysis.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/opencv.hpp"

namespace gpuhist {
namespace {

cv::Mat noise(int seed, int type, double top, int rows = 67) {
    cv::Mat image(rows, 83, type);
    cv::RNG(static_cast<std::uint64_t>(seed) + 1).fill(image, cv::RNG::UNIFORM, 0, top);
    return image;
}

JointHistogram joint_of(const cv::Mat& image, int first, int second, std::uint32_t bins, int threads = 0) {
    const JointChannel one{io::view(image), first}, other{io::view(image), second};
    JointHistogram histogram(bins, joint_axis(one), joint_axis(other));
    histogram.add(one, other, threads);
    return histogram;
}

TEST(JointHistogram, HasTheCountsOfOpenCV) {
    for (const auto& [type, top] : {std::pair(CV_8UC3, 256.0), {CV_16UC3, 65536.0}}) {
        const cv::Mat image = noise(1, type, top);
        for (const int bins : {256, 7}) {
            SCOPED_TRACE(bins);
            const JointHistogram found = joint_of(image, 2, 0, static_cast<std::uint32_t>(bins));
            cv::Mat counts;
            const std::array<int, 2> channels{2, 0}, sizes{bins, bins};
            const std::array<float, 2> range{0, static_cast<float>(top)};
            const std::array<const float*, 2> ranges{range.data(), range.data()};
            cv::calcHist(&image, 1, channels.data(), cv::Mat(), counts, 2, sizes.data(),
                         const_cast<const float**>(ranges.data()));
            for (int i = 0; i < bins; ++i)
                for (int j = 0; j < bins; ++j)
                    ASSERT_EQ(static_cast<float>(found.counts()[static_cast<std::size_t>(i * bins + j)]),
                              counts.at<float>(i, j))
                        << i << ' ' << j;
            EXPECT_EQ(found.pixels(), image.total());
            EXPECT_EQ(found.outside(), 0U);
        }
    }
}

TEST(JointHistogram, DoesNotDependOnStripsThreadsOrOrder) {
    for (const int type : {CV_8UC3, CV_32FC3, CV_64FC3, CV_32SC3}) {
        SCOPED_TRACE(type);
        const cv::Mat image = noise(2, type, 1000, 2000);
        const JointHistogram whole = joint_of(image, 0, 1, 50, 1);
        EXPECT_EQ(joint_of(image, 0, 1, 50, 4).to_text(), whole.to_text());
        JointHistogram sum(50, whole.axis(0), whole.axis(1)), more = sum;
        const auto add = [](JointHistogram& to, const cv::Mat& rows) {
            to.add({io::view(rows), 0}, {io::view(rows), 1});
        };
        add(sum, image.rowRange(1200, 2000));
        add(more, image.rowRange(0, 700));
        add(more, image.rowRange(700, 1200));
        sum += more;
        EXPECT_EQ(sum.to_text(), whole.to_text());
        const JointHistogram again = JointHistogram::from_text(whole.to_text());
        EXPECT_EQ(again.to_text(), whole.to_text());
        EXPECT_EQ(again.pearson(), whole.pearson());
        EXPECT_EQ(again.counts(), whole.counts());
    }
}

TEST(JointHistogram, OfAChannelWithItselfIsItsEntropy) {
    const cv::Mat image = noise(3, CV_8UC1, 4);
    const JointHistogram found = joint_of(image, 0, 0, 256);
    EXPECT_EQ(found.pearson(), 1.0);
    double entropy = 0;
    for (int value = 0; value < 4; ++value) {
        const double p = cv::countNonZero(image == value) / static_cast<double>(image.total());
        entropy -= p * std::log2(p);
    }
    EXPECT_NEAR(*found.mutual_information(), entropy, 1e-12);
    const cv::Mat flat(5, 5, CV_8U, cv::Scalar(7));
    EXPECT_EQ(joint_of(flat, 0, 0, 256).pearson(), std::nullopt);
    EXPECT_EQ(joint_of(flat, 0, 0, 256).covariance(), 0.0);
    EXPECT_EQ(joint_of(flat, 0, 0, 256).mutual_information(), 0.0);
    const cv::Mat nothing(3, 3, CV_32F, cv::Scalar(std::numeric_limits<float>::quiet_NaN()));
    EXPECT_EQ(joint_of(nothing, 0, 0, 9).covariance(), std::nullopt);
    EXPECT_EQ(joint_of(nothing, 0, 0, 9).mutual_information(), std::nullopt);
}

TEST(JointHistogram, OfLumaIsThatOfOpenCV) {
    const cv::Mat image = noise(4, CV_8UC3, 256);
    cv::Mat gray;
    cv::cvtColor(image, gray, cv::COLOR_BGR2GRAY);
    JointHistogram right(256, joint_axis({io::view(image), 1}), joint_axis({io::view(gray)}));
    right.add({io::view(image), 1}, {io::view(gray), 0});
    EXPECT_EQ(joint_of(image, 1, -1, 256).to_text(), right.to_text());
    const ImageView view = io::view(image);
    const std::vector<std::string> names = names_of_samples(view);
    EXPECT_EQ(joint_position(view, names, "red"), 2);
    EXPECT_EQ(joint_position(view, names, "0"), 2);
    EXPECT_EQ(joint_position(view, names, "2"), 0);
    EXPECT_EQ(joint_position(view, names, "luma"), -1);
    EXPECT_EQ(joint_position(view, names, "3"), std::nullopt);
    EXPECT_EQ(joint_position(view, names, "gray"), std::nullopt);
    EXPECT_EQ(joint_position(view, names, ""), std::nullopt);
}

TEST(JointHistogram, RefusesWhatDoesNotFit) {
    const cv::Mat image = noise(5, CV_8UC3, 256), other = noise(5, CV_8UC3, 256, 66), deep = noise(5, CV_16UC3, 256);
    const JointChannel one{io::view(image), 0};
    const JointAxis axis = joint_axis(one);
    JointHistogram histogram(16, axis, axis);
    EXPECT_THROW(histogram.add(one, {io::view(other), 0}), InvalidArgument);
    EXPECT_THROW(histogram.add(one, {io::view(deep), 0}), InvalidArgument);
    EXPECT_THROW(histogram.add(one, {io::view(image), 3}), InvalidArgument);
    EXPECT_THROW(histogram += JointHistogram(17, axis, axis), InvalidArgument);
    EXPECT_THROW(JointHistogram(0, axis, axis), InvalidArgument);
    EXPECT_THROW(JointHistogram(JointHistogram::most_bins + 1, axis, axis), InvalidArgument);
    EXPECT_THROW(joint_axis(one, Range{0.5, 9}), InvalidArgument);
    EXPECT_THROW(joint_axis(one, Range{9, 9}), InvalidArgument);
    histogram.add(one, one);
    const std::string text = histogram.to_text();
    for (const std::string& wrong : {std::string(), text.substr(0, text.size() / 2), text + " 7", text + " 1 1",
                                     "joint 16 u9" + text.substr(11), std::string("joint x")})
        EXPECT_THROW(JointHistogram::from_text(wrong), InvalidArgument) << wrong.substr(0, 20);
}

}  // namespace
}  // namespace gpuhist
