// Plots: their size, that what they should show can be found in them, and that nothing makes them fail. What a whole
// picture looks like is in plot_picture_test.cpp.
#include "gpuhist/io/plot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <opencv2/core.hpp>

#include "gpuhist/error.hpp"
#include "report/axis.hpp"

namespace {

using namespace gpuhist;
using gpuhist::io::PlotOptions;

cv::Mat plot_histogram(const Histogram& histogram, const std::vector<Statistics>& rows, const PlotOptions& options = {},
                       const std::string& title = "") {
    io::PlotPanel panel;
    panel.histogram = histogram;
    panel.rows = rows;
    return io::draw_plot({title, {panel}}, options);
}

std::vector<std::uint64_t> bell(std::size_t bins, double center, double width, double height) {
    std::vector<std::uint64_t> counts(bins);
    for (std::size_t i = 0; i < bins; ++i) {
        const double distance = (static_cast<double>(i) / static_cast<double>(bins) - center) / width;
        counts[i] = static_cast<std::uint64_t>(height * std::exp(-distance * distance));
    }
    return counts;
}

std::vector<Statistics> rows_of(const Histogram& histogram) {
    std::vector<Statistics> rows;
    for (const auto& column : histogram.columns) {
        Statistics row;
        row.channel = column.channel;
        row.mean = (histogram.range.lower + histogram.range.upper) / 2;
        row.std = (histogram.range.upper - histogram.range.lower) / 8;
        for (const int percent : {1, 5, 25, 50, 75, 95, 99})
            row.percentiles.push_back(
                {static_cast<std::uint32_t>(percent) * 1'000'000,
                 histogram.range.lower + (histogram.range.upper - histogram.range.lower) * percent / 100.0});
        rows.push_back(row);
    }
    return rows;
}

Histogram colors(std::size_t bins = 256) {
    Histogram histogram;
    histogram.range = {0, 256};
    histogram.columns = {{{}, Channel::red, bell(bins, 0.8, 0.1, 9000)},
                         {{}, Channel::green, bell(bins, 0.5, 0.1, 9000)},
                         {{}, Channel::blue, bell(bins, 0.2, 0.1, 9000)},
                         {{}, Channel::luma, bell(bins, 0.5, 0.3, 5000)}};
    return histogram;
}

Histogram gray(std::vector<std::uint64_t> counts, Range range = {0, 256}) {
    Histogram histogram;
    histogram.range = range;
    histogram.columns = {{{}, Channel::gray, std::move(counts)}};
    return histogram;
}

/// Pixels of a part of the plot, given in fractions of it, where the wanted color clearly leads.
int count_leading(const cv::Mat& image, double left, double right, int channel) {
    int found = 0;
    for (int y = image.rows / 4; y < image.rows * 3 / 4; ++y)
        for (int x = static_cast<int>(image.cols * left); x < static_cast<int>(image.cols * right); ++x) {
            const auto pixel = image.at<cv::Vec3b>(y, x);
            const int other = std::max(pixel[(channel + 1) % 3], pixel[(channel + 2) % 3]);
            found += pixel[channel] > other + 5;
        }
    return found;
}

int differing(const cv::Mat& a, const cv::Mat& b, const cv::Rect& part) {
    cv::Mat difference;
    cv::absdiff(a(part), b(part), difference);
    return cv::countNonZero(difference.reshape(1));
}

TEST(Plot, HasTheSizeAskedFor) {
    const auto histogram = colors();
    const cv::Mat image = plot_histogram(histogram, rows_of(histogram));
    EXPECT_EQ(image.size(), cv::Size(1200, 600));
    EXPECT_EQ(image.type(), CV_8UC3);
    PlotOptions options;
    options.width = 321;
    options.height = 240;
    EXPECT_EQ(plot_histogram(histogram, rows_of(histogram), options, std::string(500, 'w')).size(), cv::Size(321, 240));
    options.width = 319;
    EXPECT_THROW(plot_histogram(histogram, rows_of(histogram), options), InvalidArgument);
    options.width = 1 << 20;
    EXPECT_THROW(plot_histogram(histogram, rows_of(histogram), options), InvalidArgument);
    EXPECT_THROW(plot_histogram(gray({1, 2}, {5, 5}), {}), InvalidArgument);
}

TEST(Plot, ShowsEachChannelInItsColorWhereItIs) {
    const auto histogram = colors();
    const cv::Mat image = plot_histogram(histogram, rows_of(histogram));
    EXPECT_GT(count_leading(image, 0.75, 0.9, 2), 5000);
    EXPECT_GT(count_leading(image, 0.45, 0.6, 1), 5000);
    EXPECT_GT(count_leading(image, 0.15, 0.3, 0), 5000);
    EXPECT_LT(count_leading(image, 0.75, 0.9, 0), 200);
    EXPECT_LT(count_leading(image, 0.15, 0.3, 2), 200);
}

TEST(Plot, IsTheSameEveryTime) {
    const auto histogram = colors(65536);
    const cv::Mat first = plot_histogram(histogram, rows_of(histogram), {}, "photo.jpg");
    const cv::Mat second = plot_histogram(histogram, rows_of(histogram), {}, "photo.jpg");
    EXPECT_EQ(differing(first, second, {0, 0, first.cols, first.rows}), 0);
}

TEST(Plot, OneBinOfManyIsSeen) {
    const cv::Mat none = plot_histogram(gray(std::vector<std::uint64_t>(65536)), {});
    for (const std::size_t bin : {std::size_t{0}, std::size_t{12345}, std::size_t{40000}, std::size_t{65535}})
        for (const bool log : {false, true}) {
            std::vector<std::uint64_t> counts(65536);
            counts[bin] = 1;
            PlotOptions options;
            options.log_counts = log;
            const cv::Mat empty = log ? plot_histogram(gray(std::vector<std::uint64_t>(65536)), {}, options) : none;
            const cv::Mat image = plot_histogram(gray(counts), {}, options);
            EXPECT_GT(differing(empty, image, {60, 130, 1140, 400}), 50) << bin << (log ? " log" : "");
        }
}

TEST(Plot, TheSmallestCountBesideTheLargestIsSeen) {
    std::vector<std::uint64_t> counts(256);
    counts[200] = std::numeric_limits<std::uint64_t>::max();
    const cv::Mat without = plot_histogram(gray(counts), {});
    counts[100] = 1;
    const cv::Mat with = plot_histogram(gray(counts), {});
    EXPECT_GT(differing(without, with, {400, 500, 200, 60}), 3);
}

TEST(Plot, AFewTallColumnsDoNotHideTheRest) {
    auto counts = bell(256, 0.5, 0.2, 1000);
    counts[255] = 5000000;
    const cv::Mat image = plot_histogram(gray(counts), {});
    // The bell still reaches the middle of the drawing.
    int drawn = 0;
    for (int x = 580; x < 680; ++x) drawn += image.at<cv::Vec3b>(300, x) != cv::Vec3b(255, 255, 255);
    EXPECT_EQ(drawn, 100);
}

TEST(Plot, LogarithmicCountsLookDifferent) {
    const auto histogram = colors();
    PlotOptions options;
    options.log_counts = true;
    const cv::Mat linear = plot_histogram(histogram, {}), logarithmic = plot_histogram(histogram, {}, options);
    EXPECT_GT(differing(linear, logarithmic, {100, 120, 1000, 400}), 50000);
}

TEST(Plot, MarksPercentilesAndTitle) {
    const auto histogram = gray(bell(256, 0.5, 0.2, 1000));
    const auto rows = rows_of(histogram);
    const cv::Mat without = plot_histogram(histogram, {}), with = plot_histogram(histogram, rows);
    EXPECT_GT(differing(without, with, {0, 70, 1200, 30}), 500);  // labels
    // In the typeface, no UTF-8, not in the typeface.
    const cv::Mat titled = plot_histogram(histogram, rows, {}, "Gr\u00f6\u00dfe \u2014 \xFF \u4e2d");
    EXPECT_GT(differing(titled, with, {0, 0, 600, 42}), 500);
    EXPECT_EQ(differing(titled, with, {0, 45, 1200, 555}), 0);
}

TEST(Plot, MarksThePercentilesThatWereAskedFor) {
    const auto histogram = gray(bell(256, 0.5, 0.2, 1000));
    const auto with = [&](const std::vector<int>& percents) {
        auto rows = rows_of(histogram);
        rows[0].percentiles.clear();
        for (const int percent : percents)
            rows[0].percentiles.push_back({static_cast<std::uint32_t>(percent) * 1'000'000, 256 * percent / 100.0});
        return plot_histogram(histogram, rows);
    };
    const cv::Rect whole(0, 0, 1200, 600);
    EXPECT_GT(differing(with({10, 90}), with({10}), whole), 100);
    EXPECT_GT(differing(with({10}), with({}), whole), 100);
    // The usual five where they are there, whatever else is.
    EXPECT_EQ(differing(with({1, 5, 25, 50, 75, 95, 99}), with({99, 75, 50, 25, 1}), whole), 0);
    // Five of many others, from the lowest to the highest.
    EXPECT_EQ(differing(with({2, 4, 6, 8, 10, 12, 14, 16, 18}), with({2, 6, 10, 14, 18}), whole), 0);
}

TEST(Plot, AlphaIsDrawnAndHidesNothing) {
    auto histogram = colors();
    histogram.columns[0].counts[255] = 8000;  // red, where alpha is
    const cv::Mat without = plot_histogram(histogram, {});
    std::vector<std::uint64_t> opaque(256);
    opaque[255] = 1000000;
    histogram.columns.push_back({{}, Channel::alpha, opaque});
    const cv::Mat with = plot_histogram(histogram, {});
    EXPECT_GT(count_leading(with, 0.75, 0.9, 2), 5000);  // the axis is not that of alpha
    EXPECT_GT(differing(without, with, {1160, 150, 12, 300}), 50);
    const cv::Vec3b red(0x00, 0x5e, 0xd5);
    int red_pixels = 0;
    for (int y = 100; y < 540; ++y)
        for (int x = 1150; x < 1175; ++x) red_pixels += with.at<cv::Vec3b>(y, x) == red;
    EXPECT_GT(red_pixels, 5);
}

/// Pixels below the legend that have exactly a channel's color.
int count_of(const cv::Mat& image, const cv::Vec3b& rgb) {
    cv::Mat found;
    const cv::Scalar bgr(rgb[2], rgb[1], rgb[0]);
    cv::inRange(image.rowRange(100, image.rows - 60), bgr, bgr, found);
    return cv::countNonZero(found);
}

const cv::Vec3b red{0xd5, 0x5e, 0x00}, green{0x00, 0x9e, 0x73}, blue{0x00, 0x72, 0xb2}, dark_gray{0x33, 0x38, 0x3d};

Histogram alike(const std::vector<std::uint64_t>& counts) {
    Histogram histogram;
    histogram.range = {0, 256};
    for (const Channel channel : {Channel::red, Channel::green, Channel::blue, Channel::luma})
        histogram.columns.push_back({{}, channel, counts});
    return histogram;
}

/// Gray stored as RGB, the same but for a few pixels, one value, bars that run off the top: of the pixels that lines of
/// the four channels share, each has a fair part.
TEST(Plot, ChannelsOnEachOtherAreAllSeen) {
    Histogram near = alike(bell(256, 0.5, 0.2, 100000));
    for (std::size_t bin = 0; bin < 256; ++bin) {
        near.columns[0].counts[bin] += bin % 3 * 50;
        near.columns[2].counts[bin] += bin % 5 * 40;
    }
    std::vector<std::uint64_t> one_value(256);
    one_value[77] = 1000;
    auto clipped = bell(256, 0.5, 0.2, 1000);
    clipped[255] = 5000000;
    for (const Histogram& histogram : {alike(bell(256, 0.5, 0.2, 1000)), near, alike(one_value), alike(clipped),
                                       alike(bell(4096, 0.5, 0.2, 1000)), alike(std::vector<std::uint64_t>(256, 9))})
        for (const bool log : {false, true}) {
            SCOPED_TRACE(testing::Message() << histogram.columns[0].counts.size() << (log ? " log" : ""));
            PlotOptions options;
            options.log_counts = log;
            const cv::Mat image = plot_histogram(histogram, {}, options);
            const int counts[] = {count_of(image, red), count_of(image, green), count_of(image, blue),
                                  count_of(image, dark_gray)};
            const int all = counts[0] + counts[1] + counts[2] + counts[3];
            EXPECT_GT(all, 800);
            for (const int count : counts) EXPECT_GT(count, all / 12) << testing::PrintToString(counts);
        }
}

/// Two of three, in any order of drawing, and one that differs by a pixel.
TEST(Plot, TwoChannelsOnEachOtherAreSeen) {
    for (std::size_t apart = 0; apart < 3; ++apart) {
        Histogram histogram = alike(bell(256, 0.3, 0.1, 1000));
        histogram.columns.pop_back();
        histogram.columns[apart].counts = bell(256, 0.8, 0.1, 500);
        const cv::Mat image = plot_histogram(histogram, {});
        const int counts[] = {count_of(image, red), count_of(image, green), count_of(image, blue)};
        for (std::size_t i = 0; i < 3; ++i) EXPECT_GT(counts[i], 600) << apart << ' ' << testing::PrintToString(counts);
    }
}

TEST(Plot, NothingMakesItFail) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    std::vector<Histogram> histograms{
        Histogram{{0, 256}, false, 1, {}},
        gray({}),
        gray({0}),
        gray({most}),
        gray(std::vector<std::uint64_t>(256, most)),
        gray(std::vector<std::uint64_t>(1 << 24, 3)),
        gray({1, 2, 3}, {1e-6, 3e8}),
        gray({1, 2, 3}, {-3.4e38, 3.4e38}),
        gray({1, 2, 3}, {-1e-45, 1e-45}),
        gray({1, 2, 3}, {-5, -4.999}),
        gray({1, 2, 3}, {16777216, 16777217}),
        gray({1, 2, 3}, {0.1, std::nextafter(0.1, 1)}),
        gray({1, 2, 3}, {-1e300, 1e300}),
        gray({1, 2, 3}, {-std::numeric_limits<double>::max(), std::numeric_limits<double>::max()}),
        gray({1, 2, 3}, {std::nextafter(std::numeric_limits<double>::max(), 0), std::numeric_limits<double>::max()}),
        alike(std::vector<std::uint64_t>(256, most)),
        gray(bell(1087, 0.5, 0.3, 100)),
    };
    Histogram outside = colors();
    for (auto& column : outside.columns) column.below = column.above = column.nan = most / 4;
    histograms.push_back(outside);
    for (std::size_t i = 0; i < histograms.size(); ++i)
        for (const bool log : {false, true}) {
            SCOPED_TRACE(i);
            PlotOptions options;
            options.log_counts = log;
            auto rows = rows_of(histograms[i]);
            const cv::Mat image = plot_histogram(histograms[i], rows, options);
            // Axes are there whatever comes.
            EXPECT_GT(cv::countNonZero(image.reshape(1) != 255), 500);
            for (auto& row : rows) {
                row = Statistics{};
                row.channel = Channel::gray;
                for (const int percent : {1, 50, 99})
                    row.percentiles.push_back({static_cast<std::uint32_t>(percent) * 1'000'000, -1e308});
            }
            EXPECT_NO_THROW(plot_histogram(histograms[i], rows, options));
            options.width = 320;
            options.height = 240;
            EXPECT_NO_THROW(plot_histogram(histograms[i], rows_of(histograms[i]), options));
        }
}

TEST(Plot, AxesMayBeWiderThanTheLargestDouble) {
    constexpr double most = std::numeric_limits<double>::max();
    EXPECT_EQ(io::place_in({-1e308, 1e308}, 0), 0.5);
    EXPECT_EQ(io::place_in({-1e308, 1e308}, 5e307), 0.75);
    EXPECT_EQ(io::place_in({-most, most}, -most), 0);
    EXPECT_EQ(io::place_in({-most, most}, most), 1);
    EXPECT_EQ(io::place_in({2, 4}, 2.5), 0.25);
    const auto labels = [](const Range& range, int pixels) {
        std::vector<std::string> found;
        for (const io::Tick& tick : io::value_ticks(range, false, pixels, [](const std::string&) { return 60.0; }))
            found.push_back(tick.label);
        return found;
    };
    EXPECT_EQ(labels({-most, most}, 800), (std::vector<std::string>{"\u22121.5e308", "\u22121e308", "\u22125e307", "0",
                                                                    "5e307", "1e308", "1.5e308"}));
    EXPECT_EQ(labels({-1e308, 1e308}, 500),
              (std::vector<std::string>{"\u22121e308", "\u22125e307", "0", "5e307", "1e308"}));
    EXPECT_EQ(labels({-most, most}, 20).size(), 0U);  // the next round number is none
}

}  // namespace
