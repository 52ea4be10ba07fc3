// Results as matrices, against OpenCV's own functions.
#include "gpuhist/io/matrices.hpp"

#include <opencv2/imgproc.hpp>

#include "support/image_files.hpp"

namespace {

using namespace image_files;
using gpuhist::Channel;
using gpuhist::Normalization;
using gpuhist::NormalizeMode;

/// As cv::calcHist makes it.
cv::Mat calc_hist(const cv::Mat& image, int channel, int bins, float upper) {
    cv::Mat histogram;
    const float range[]{0, upper};
    const float* ranges[]{range};
    cv::calcHist(&image, 1, &channel, cv::Mat(), histogram, 1, &bins, ranges);
    return histogram;
}

TEST(Matrices, HistogramsAreThoseOfCalcHist) {
    const auto engine = gpuhist::make_engine("cpu");
    for (const int type : {CV_8UC3, CV_16UC3}) {
        const cv::Mat image = picture(61, 83, type), other = 255 - picture(61, 83, type);
        const bool bytes = CV_MAT_DEPTH(type) == CV_8U;
        const float upper = bytes ? 256 : 65536;
        const auto of = [&](const cv::Mat& pixels, int bins, Channel channel) {
            const auto analysis = engine->analyze(gpuhist::io::view(pixels));
            return gpuhist::io::histogram_matrix(
                gpuhist::histogram(analysis, {static_cast<std::uint32_t>(bins), std::nullopt}), channel);
        };
        for (const int bins : {16, 256}) {
            const Channel channels[]{Channel::blue, Channel::green, Channel::red};
            for (int c = 0; c < 3; ++c) {
                const cv::Mat expected = calc_hist(image, c, bins, upper), found = of(image, bins, channels[c]);
                EXPECT_TRUE(same(found, expected)) << bins << ' ' << c;
                for (const int metric : {cv::HISTCMP_CORREL, cv::HISTCMP_CHISQR, cv::HISTCMP_BHATTACHARYYA})
                    EXPECT_EQ(cv::compareHist(found, of(other, bins, channels[c]), metric),
                              cv::compareHist(expected, calc_hist(other, c, bins, upper), metric));
            }
        }
        EXPECT_THROW(of(image, 16, Channel::alpha), gpuhist::InvalidArgument);
    }
}

TEST(Matrices, NormalizedCopiesAreThoseOfOpenCV) {
    const auto engine = gpuhist::make_engine("cpu");
    const cv::Mat image = picture(61, 83, CV_8UC1) / 2 + 20;
    Normalization equalize, stretch, zscore;
    equalize.mode = NormalizeMode::equalize;
    stretch.mode = NormalizeMode::minmax;
    zscore.mode = NormalizeMode::zscore;
    cv::Mat expected;
    cv::equalizeHist(image, expected);
    EXPECT_TRUE(same(gpuhist::io::normalize(*engine, image, equalize), expected));
    cv::normalize(image, expected, 0, 255, cv::NORM_MINMAX);
    EXPECT_LE(cv::norm(gpuhist::io::normalize(*engine, image, stretch), expected, cv::NORM_INF), 1);
    gpuhist::Analysis analysis;
    const cv::Mat scores = gpuhist::io::normalize(*engine, image, zscore, {}, analysis);
    ASSERT_EQ(scores.type(), CV_32FC1);
    cv::Scalar mean, deviation;
    cv::meanStdDev(scores, mean, deviation);
    EXPECT_NEAR(mean[0], 0, 1e-5);
    EXPECT_NEAR(deviation[0], 1, 1e-5);
    EXPECT_EQ(analysis.channels.size(), 1U);
    Normalization deep = stretch;
    deep.depth = gpuhist::Depth::u32;
    EXPECT_THROW(gpuhist::io::normalize(*engine, image, deep), gpuhist::InvalidArgument);
}

TEST(Matrices, RegionsAreThoseOfConnectedComponents) {
    const cv::Mat image = picture(61, 83, CV_8UC3);
    cv::Mat gray, labels, stats, centroids;
    cv::extractChannel(image, gray, 0);
    const int count = cv::connectedComponentsWithStats(gray > 100, labels, stats, centroids);
    ASSERT_GT(count, 3);
    const cv::Mat found = gpuhist::io::regions_matrix(image, labels);
    ASSERT_EQ(found.rows, count - 1);
    ASSERT_EQ(found.cols, 8 + 5 * 4);  // red, green, blue, luma, all
    for (int label = 1; label < count; ++label) {
        const auto* row = found.ptr<double>(label - 1);
        EXPECT_EQ(row[0], label);
        for (int i = 0; i < 5; ++i) EXPECT_EQ(row[1 + i], stats.at<int>(label, i)) << label;
        for (int i = 0; i < 2; ++i) EXPECT_NEAR(row[6 + i], centroids.at<double>(label, i), 1e-9);
        cv::Scalar mean, deviation;
        const cv::Mat mask = labels == label;
        cv::meanStdDev(image, mean, deviation, mask);
        for (int c = 0; c < 3; ++c) {
            const double* const channel = row + 8 + 4 * (2 - c);
            EXPECT_NEAR(channel[0], mean[c], 1e-9);
            EXPECT_NEAR(channel[1], deviation[c], 1e-6);
            cv::Mat plane;
            cv::extractChannel(image, plane, c);
            double lowest = 0, highest = 0;
            cv::minMaxLoc(plane, &lowest, &highest, nullptr, nullptr, mask);
            EXPECT_EQ(channel[2], lowest);
            EXPECT_EQ(channel[3], highest);
        }
    }
    EXPECT_TRUE(gpuhist::io::regions_matrix(image, cv::Mat::zeros(image.size(), CV_32SC1)).empty());
}

}  // namespace
