// Measures of neighborhoods against OpenCV's filters: of images of every depth, with excluded samples, and in strips.
#include "gpuhist/measures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/reduce.hpp"
#include "gpuhist/statistics.hpp"
#include "plan/refusal.hpp"
#include "support/engines_under_test.hpp"
#include "support/raster.hpp"
#include "support/repetitions.hpp"

namespace gpuhist::test {
namespace {

AnalysisRequest quality() {
    AnalysisRequest request;
    request.measures = Measures::quality();
    return request;
}

/// Luma by its definition, NaN where it is not finite.
cv::Mat luma_of(const Raster& image) {
    cv::Mat luma(static_cast<int>(image.height), static_cast<int>(image.width), CV_64F);
    const bool gray = image.channels < 3 || image.samples == Samples::gray_alpha;
    for (int y = 0; y < luma.rows; ++y)
        for (int x = 0; x < luma.cols; ++x) {
            const auto at = [&](int c) { return image.value(x, y, c); };
            const double r = at(0), g = gray ? r : at(1), b = gray ? r : at(2);
            const double value = gray ? r : luma_by_definition(image.depth, r, g, b);
            const bool finite = std::isfinite(r) && std::isfinite(g) && std::isfinite(b);
            luma.at<double>(y, x) = finite ? value : std::nan("");
        }
    return luma;
}

/// Filter's result at the pixels whose 3 x 3 neighborhoods are valid; `inside`: inside the border.
std::vector<double> valid_of(const cv::Mat& filtered, const cv::Mat& luma, bool inside) {
    std::vector<double> values;
    for (int y = inside; y + inside < luma.rows; ++y)
        for (int x = inside; x + inside < luma.cols; ++x) {
            bool valid = true;
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx)
                    valid = valid && !std::isnan(luma.at<double>(
                                         cv::borderInterpolate(y + dy, luma.rows, cv::BORDER_REFLECT_101),
                                         cv::borderInterpolate(x + dx, luma.cols, cv::BORDER_REFLECT_101)));
            if (valid) values.push_back(filtered.at<double>(y, x));
        }
    return values;
}

double mean_of(const std::vector<double>& values) {
    long double sum = 0;
    for (const double value : values) sum += value;
    return static_cast<double>(sum / static_cast<long double>(values.size()));
}

/// Population variance.
double variance_of(std::vector<double> values) {
    const double mean = mean_of(values);
    for (double& value : values) value = (value - mean) * (value - mean);
    return mean_of(values);
}

/// Colorfulness of the pixels whose luma is not NaN.
std::optional<double> colorfulness_of(const Raster& image, const cv::Mat& luma) {
    if (image.channels < 3 || image.samples == Samples::gray_alpha) return std::nullopt;
    std::vector<double> red_green, yellow_blue;
    for (int y = 0; y < luma.rows; ++y)
        for (int x = 0; x < luma.cols; ++x) {
            if (std::isnan(luma.at<double>(y, x))) continue;
            red_green.push_back(image.value(x, y, 0) - image.value(x, y, 1));
            yellow_blue.push_back((image.value(x, y, 0) + image.value(x, y, 1)) / 2 - image.value(x, y, 2));
        }
    if (red_green.empty()) return std::nullopt;
    return std::sqrt(variance_of(red_green) + variance_of(yellow_blue)) +
           0.3 * std::hypot(mean_of(red_green), mean_of(yellow_blue));
}

/// Columns of sums over pixels.
const char* const names[] = {"sharpness_laplacian", "sharpness_tenengrad", "noise", "colorfulness"};

/// Numbers of these columns by OpenCV; none where no neighborhood is valid.
std::vector<std::optional<double>> expected(const Raster& image, const cv::Mat& luma) {
    std::vector<std::optional<double>> numbers(std::size(names));
    numbers[3] = colorfulness_of(image, luma);
    if (luma.rows < 3 || luma.cols < 3) return numbers;
    cv::Mat laplacian, x, y, noise;
    cv::Laplacian(luma, laplacian, CV_64F);
    cv::Sobel(luma, x, CV_64F, 1, 0);
    cv::Sobel(luma, y, CV_64F, 0, 1);
    const double kernel[] = {1, -2, 1, -2, 4, -2, 1, -2, 1};
    cv::filter2D(luma, noise, CV_64F, cv::Mat(3, 3, CV_64F, const_cast<double*>(kernel)));
    const std::vector<double> edges = valid_of(laplacian, luma, false);
    if (!edges.empty()) {
        numbers[0] = variance_of(edges);
        numbers[1] = mean_of(valid_of(x.mul(x) + y.mul(y), luma, false));
    }
    const std::vector<double> magnitudes = valid_of(cv::abs(noise), luma, true);
    if (!magnitudes.empty()) numbers[2] = std::sqrt(std::acos(-1.0) / 2) * mean_of(magnitudes) / 6;
    return numbers;
}

std::optional<double> number_of(const Analysis& found, std::string_view column) {
    const MeasureValue value = measure_value(found, column);
    if (const double* number = std::get_if<double>(&value)) return *number;
    return std::nullopt;
}

void expect_numbers(const Analysis& found, const Raster& image, const cv::Mat& luma) {
    const auto numbers = expected(image, luma);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        SCOPED_TRACE(names[i]);
        const auto number = number_of(found, names[i]);
        ASSERT_EQ(number.has_value(), numbers[i].has_value());
        if (number) {
            EXPECT_NEAR(*number, *numbers[i], 1e-12 * std::abs(*numbers[i]));
        }
    }
    ASSERT_EQ(found.measured.size(), std::size(all_measures));
    for (std::size_t i = 0; i < found.measured.size(); ++i)
        EXPECT_EQ(found.measured[i].measure, all_measures[i].measure);
}

class MeasuresTest : public EngineTest {};

TEST_P(MeasuresTest, are_those_of_opencv_in_images_of_every_depth) {
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {1, 3, 4})
            for (const auto& [width, height] : {std::pair{3, 3}, {37, 19}, {500, 300}, {2, 9}, {9, 2}, {1, 1}}) {
                if (left_out()) continue;
                SCOPED_TRACE(traits.name + std::string(" ") + std::to_string(channels) + " " + std::to_string(width));
                Raster image = raster(traits.depth, channels, Fill::bits, width, height);
                if (traits.depth == Depth::f32 || traits.depth == Depth::f64)  // sums of OpenCV's size
                    for (std::int64_t y = 0; y < height; ++y)
                        for (std::int64_t x = 0; x < width; ++x)
                            for (int c = 0; c < channels; ++c)
                                image.set(x, y, c,
                                          static_cast<double>(
                                              scramble(static_cast<std::uint64_t>(y * 500 + x * 4 + c)) >> 40) /
                                                  65536 -
                                              100);
                if (traits.floating && width == 37) {
                    image.set(5, 7, 0, std::nan(""));
                    image.set(30, 0, channels > 1 ? 1 : 0, std::numeric_limits<double>::infinity());
                }
                const AnalysisRequest request = quality();
                const Analysis found = engine->analyze(image.view(), request);
                expect_numbers(found, image, luma_of(image));
                Analysis counts = found, without = engine->analyze(image.view());
                counts.measured.clear();
                for (Analysis* one : {&counts, &without})  // measures need more of them
                    for (ChannelAnalysis& channel : one->channels) channel.order_statistics.clear();
                counts.pooled_order_statistics = without.pooled_order_statistics;
                EXPECT_EQ(counts, without) << "measures change the counts";
                EXPECT_EQ(statistics(found), statistics(engine->analyze(image.view())));
            }
}

TEST_P(MeasuresTest, sums_of_whole_numbers_are_those_of_opencv) {
    const Raster image = raster(Depth::u16, 3, Fill::bits, 641, 77);
    cv::Mat laplacian;
    cv::Laplacian(luma_of(image), laplacian, CV_64F);
    const Analysis found = engine->analyze(image.view(), quality());
    ASSERT_EQ(found.measured[0].sums.size(), 2U);
    EXPECT_EQ(found.measured[0].pixels, 641U * 77U);
    EXPECT_EQ(static_cast<double>(static_cast<std::int64_t>(found.measured[0].sums[0].low)), cv::sum(laplacian)[0]);
    EXPECT_EQ(static_cast<double>(found.measured[0].sums[1].low), laplacian.dot(laplacian));
}

TEST_P(MeasuresTest, leave_neighborhoods_of_excluded_samples_out) {
    for (const Depth depth : {Depth::u8, Depth::s16, Depth::f16, Depth::f32})
        for (const int channels : {1, 3, 4})
            for (const bool nodata : {false, true})
                for (const bool any : {false, true})
                    for (const bool masked : {false, true})
                        for (const AlphaRule alpha : {AlphaRule::row, AlphaRule::mask, AlphaRule::ignore}) {
                            if (left_out()) continue;
                            SCOPED_TRACE(to_string(depth) + std::string(" ") + std::to_string(channels) +
                                         (nodata ? " nodata" : "") + (any ? " any" : "") + (masked ? " mask" : ""));
                            Raster image = raster(depth, channels, Fill::few, 97, 61);
                            std::vector<std::uint8_t> mask(97 * 61);
                            for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = scramble(i) % 50 != 0;
                            Validity rules;
                            if (nodata) rules.nodata = {{channels > 1 ? Channel::green : Channel::gray, 3}};
                            rules.nodata_any = any && nodata;
                            rules.alpha = alpha;
                            AnalysisRequest request = quality();
                            request.validity = std::make_shared<Validity>(rules);
                            ImageView view = image.view();
                            if (masked) view.mask = mask.data();
                            view.mask_row_bytes = 97;
                            cv::Mat luma = luma_of(image);
                            for (int y = 0; y < luma.rows; ++y)
                                for (int x = 0; x < luma.cols; ++x) {
                                    const bool by_mask = masked && !mask[static_cast<std::size_t>(y * 97 + x)];
                                    const bool by_alpha =
                                        channels == 4 && alpha == AlphaRule::mask && image.value(x, y, 3) == 0;
                                    if (by_mask || by_alpha || (nodata && image.value(x, y, channels > 1 ? 1 : 0) == 3))
                                        luma.at<double>(y, x) = std::nan("");
                                }
                            expect_numbers(engine->analyze(view, request), image, luma);
                        }
}

TEST_P(MeasuresTest, of_weighted_pixels_leave_transparent_ones_out) {
    const Raster image = raster(Depth::u8, 4, Fill::few, 97, 61);
    Validity rules;
    rules.alpha = AlphaRule::weight;
    AnalysisRequest request = quality();
    request.validity = std::make_shared<Validity>(rules);
    cv::Mat luma = luma_of(image);
    for (int y = 0; y < luma.rows; ++y)
        for (int x = 0; x < luma.cols; ++x)
            if (image.value(x, y, 3) == 0) luma.at<double>(y, x) = std::nan("");
    const Analysis found = engine->analyze(image.view(), request);
    EXPECT_TRUE(found.weighted);
    expect_numbers(found, image, luma);
}

TEST_P(MeasuresTest, of_strips_are_those_of_the_whole) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::u32, Depth::f16, Depth::f32, Depth::f64})
        for (const bool masked : {false, true})
            for (const int rows : {1, 2, 3, 7, 60, 61}) {
                const Raster image = raster(depth, 3, Fill::few, 97, 61);
                AnalysisRequest request = quality();
                std::vector<std::uint8_t> mask(97 * 61, 1);
                mask[97 * 30 + 40] = 0;
                ImageView whole = image.view();
                if (masked) whole.mask = mask.data();
                whole.mask_row_bytes = 97;
                const auto cpu = make_engine("cpu");  // which takes strips of every depth
                Engine& by = depth == Depth::f32 ? *cpu : *engine;
                ImageView sides = whole;
                sides.data = nullptr;
                Analysis found;
                const auto strips = by.analyze_strips(sides, request, found);
                do {
                    for (std::int64_t y = 0; y < whole.height; y += rows) {
                        ImageView strip = whole;
                        strip.height = std::min<std::int64_t>(rows, whole.height - y);
                        strip.data = static_cast<const std::byte*>(whole.data) + y * whole.row_bytes;
                        if (masked) strip.mask = whole.mask + y * 97;
                        strips->take(strip);
                    }
                } while (strips->end_pass());
                EXPECT_EQ(found, by.analyze(whole, request)) << to_string(depth) << " in strips of " << rows;
            }
}

TEST_P(MeasuresTest, of_gray_with_alpha_are_those_of_the_gray) {
    Raster image(40, 30, 4, Depth::f32);
    image.samples = Samples::gray_alpha;
    for (int y = 0; y < 30; ++y)
        for (int x = 0; x < 40; ++x) {
            const double gray = static_cast<double>(scramble(static_cast<std::uint64_t>(y * 40 + x)) % 1000) / 7;
            for (int c = 0; c < 3; ++c) image.set(x, y, c, gray);
            image.set(x, y, 3, x % 5);
        }
    expect_numbers(engine->analyze(image.view(), quality()), image, luma_of(image));
}

TEST_P(MeasuresTest, come_with_copies_and_of_colors_with_bands_but_not_of_bands) {
    const Raster image = raster(Depth::u8, 3, Fill::bits);
    Raster copy = image;
    Normalization normalization;
    normalization.joint = false;
    Analysis found;
    engine->normalize(image.view(), quality(), normalization, copy.mutable_view(), found);
    expect_numbers(found, image, luma_of(image));

    Raster bands = raster(Depth::u8, 5, Fill::bits);
    bands.samples = Samples::color_bands;
    expect_numbers(engine->analyze(bands.view(), quality()), bands, luma_of(bands));
    bands.samples = Samples::bands;
    const std::vector<Measured> of_bands = engine->analyze(bands.view(), quality()).measured;
    ASSERT_EQ(of_bands.size(), 1U) << "the hash of the pixels";
    EXPECT_EQ(of_bands.front().measure, Measure::hashes);
}

TEST_P(MeasuresTest, of_two_images_merge) {
    const Raster image = raster(Depth::u16, 3, Fill::bits), other = raster(Depth::u16, 3, Fill::few);
    Analysis sum = engine->analyze(image.view(), quality());
    const Analysis more = engine->analyze(other.view(), quality());
    const std::vector<Measured> before = sum.measured;
    sum += more;
    for (std::size_t i = 0; i < std::size(names); ++i) {
        EXPECT_EQ(sum.measured[i].pixels, before[i].pixels + more.measured[i].pixels);
        EXPECT_EQ(sum.measured[i].sums[0].low, before[i].sums[0].low + more.measured[i].sums[0].low);
    }
    sum += engine->analyze(other.view());
    EXPECT_TRUE(sum.measured.empty()) << "of some of the images alone";
}

TEST_P(MeasuresTest, whose_terms_overflow_leave_their_neighborhood_out) {
    Raster image(5, 5, 1, Depth::f64);
    for (int y = 0; y < 5; ++y)
        for (int x = 0; x < 5; ++x) image.set(x, y, 0, x == 4 ? 1e200 : 7);
    const Analysis found = engine->analyze(image.view(), quality());
    EXPECT_EQ(number_of(found, "sharpness_tenengrad"), 0.0);
    EXPECT_EQ(found.measured[1].pixels, 20U);
}

TEST_P(MeasuresTest, of_contrast_follow_from_luma) {
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {1, 3}) {
            SCOPED_TRACE(traits.name + std::string(" ") + std::to_string(channels));
            Raster image(53, 31, channels, traits.depth);
            const double scale = traits.floating ? 1 / 64.0 : 1;
            for (std::int64_t i = 0; i < 53 * 31 * channels; ++i)
                image.set(i / channels % 53, i / channels / 53, static_cast<int>(i % channels),
                          static_cast<double>(scramble(static_cast<std::uint64_t>(i)) % 120 + 3) * scale);
            if (traits.floating) image.set(9, 9, 0, std::nan(""));
            AnalysisRequest request;
            request.measures.add(Measure::contrast);
            request.percentiles = Percentiles({50});
            Analysis found = engine->analyze(image.view(), request);
            const cv::Mat luma = luma_of(image);
            std::vector<double> values;
            for (const double value : cv::Mat_<double>(luma))
                if (!std::isnan(value)) values.push_back(value);
            const double white = traits.floating ? 1 : traits.highest;
            EXPECT_NEAR(*number_of(found, "contrast_rms"), std::sqrt(variance_of(values)) / white, 1e-12);
            std::sort(values.begin(), values.end());
            const auto michelson = [](double low, double high) { return (high - low) / (high + low); };
            EXPECT_EQ(number_of(found, "contrast_michelson"), michelson(values.front(), values.back()));
            const auto percentile = [&](double q) {
                const double at = q / 100 * static_cast<double>(values.size() - 1);
                const auto below = static_cast<std::size_t>(at);
                return values[below] + (values[below + 1] - values[below]) * (at - static_cast<double>(below));
            };
            EXPECT_NEAR(*number_of(found, "contrast_p1_p99"), michelson(percentile(1), percentile(99)), 1e-12);
            EXPECT_EQ(number_of(found, "noise"), std::nullopt) << "not requested";
            found.white = 0;
            EXPECT_EQ(number_of(found, "contrast_rms"), std::nullopt) << "images with several whites";
        }
    AnalysisRequest request;
    request.measures.add(Measure::contrast);
    for (const double value : {0.0, -3.0}) {
        Raster image(4, 4, 1, Depth::s16);
        for (int i = 0; i < 16; ++i) image.set(i % 4, i / 4, 0, value);
        const Analysis found = engine->analyze(image.view(), request);
        EXPECT_EQ(number_of(found, "contrast_michelson"), std::nullopt);
        EXPECT_EQ(number_of(found, "contrast_p1_p99"), std::nullopt);
    }
    EXPECT_THROW(measure_value({}, "blur"), InvalidArgument);
}

/// Percentile by linear interpolation between sorted values.
double percentile_of(const std::vector<double>& sorted, double q) {
    const double at = q / 100 * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    if (below + 1 == sorted.size()) return sorted.back();
    return sorted[below] + (sorted[below + 1] - sorted[below]) * (at - static_cast<double>(below));
}

TEST_P(MeasuresTest, of_brightness_are_percentiles_of_its_formula) {
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {1, 3, 4})
            for (const auto& [width, height] : {std::pair{1, 1}, {37, 19}, {1200, 170}})
                for (const bool masked : {false, true}) {
                    if (left_out()) continue;
                    SCOPED_TRACE(traits.name + std::string(" ") + std::to_string(channels) + " " +
                                 std::to_string(width) + (masked ? " masked" : ""));
                    Raster image = raster(traits.depth, channels, Fill::bits, width, height);
                    if (traits.depth == Depth::f64)  // squares overflow
                        for (int i = 0; i < width * height * channels; ++i)
                            image.set(i / channels % width, i / channels / width, i % channels, i % 977 * 0.125 - 3);
                    std::vector<std::uint8_t> mask(static_cast<std::size_t>(width * height));
                    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = scramble(i) % 3 != 0;
                    ImageView view = image.view();
                    if (masked) view.mask = mask.data();
                    view.mask_row_bytes = width;
                    std::vector<double> values;
                    for (int y = 0; y < height; ++y)
                        for (int x = 0; x < width; ++x) {
                            if (masked && !mask[static_cast<std::size_t>(y * width + x)]) continue;
                            const auto square = [&](int c) { return image.value(x, y, c) * image.value(x, y, c); };
                            const double value =
                                channels == 1 ? image.value(x, y, 0)
                                              : std::sqrt(0.241 * square(0) + 0.691 * square(1) + 0.068 * square(2));
                            if (std::isfinite(value)) values.push_back(value);
                        }
                    std::sort(values.begin(), values.end());
                    AnalysisRequest request;
                    request.measures.add(Measure::brightness);
                    const Analysis found = engine->analyze(view, request);
                    for (const int q : {1, 5, 10, 15, 90, 95, 99}) {
                        const auto number = number_of(found, "brightness_p" + std::to_string(q));
                        ASSERT_EQ(number.has_value(), !values.empty());
                        if (!number) continue;
                        const double expected = percentile_of(values, q) / (traits.floating ? 1 : traits.highest);
                        EXPECT_NEAR(*number, expected, 1e-12 * std::abs(expected)) << q;
                    }
                }
}

TEST_P(MeasuresTest, of_brightness_of_large_images_are_exact_whatever_a_sample_of_them_says) {
    enum Content { natural, equal, unlike, ends };
    for (const Content content : {natural, equal, unlike, ends})
        for (const int channels : {3, 4})
            for (const int width : {1301, 1304}) {
                if (left_out()) continue;
                SCOPED_TRACE(std::to_string(content) + " " + std::to_string(channels) + " " + std::to_string(width));
                const int height = 901;
                Raster image(width, height, channels, Depth::u8);
                std::vector<double> values;
                for (int y = 0; y < height; ++y)
                    for (int x = 0; x < width; ++x) {
                        double square = 0;
                        for (int c = 0; c < channels; ++c) {
                            const std::uint64_t random = scramble(static_cast<std::uint64_t>((y * width + x) * 4 + c));
                            const int value = content == natural  ? (x / 8 + y / 7 + static_cast<int>(random % 9)) % 256
                                              : content == equal  ? 200
                                              : content == unlike ? (y % 8 == 4 ? 250 : static_cast<int>(random % 240))
                                                                  : static_cast<int>(random % 2) * 255;
                            image.set(x, y, c, value);
                            if (c < 3) square += (c == 0 ? 0.241 : c == 1 ? 0.691 : 0.068) * value * value;
                        }
                        values.push_back(std::sqrt(square) / 255);
                    }
                std::sort(values.begin(), values.end());
                AnalysisRequest request;
                request.measures.add(Measure::brightness);
                const Analysis found = engine->analyze(image.view(), request);
                for (const int q : {1, 5, 10, 15, 90, 95, 99})
                    EXPECT_NEAR(*number_of(found, "brightness_p" + std::to_string(q)), percentile_of(values, q), 1e-12);
            }
}

TEST_P(MeasuresTest, of_brightness_in_strips_and_of_equal_pixels) {
    Raster image(700, 500, 3, Depth::u8);
    for (int y = 0; y < 500; ++y)
        for (int x = 0; x < 700; ++x)
            for (int c = 0; c < 3; ++c) image.set(x, y, c, y < 400 ? 255 : scramble(static_cast<std::uint64_t>(x)) % 9);
    AnalysisRequest request;
    request.measures.add(Measure::brightness);
    const Analysis whole = engine->analyze(image.view(), request);
    EXPECT_NEAR(*number_of(whole, "brightness_p99"), 1, 1e-12);
    ImageView sides = image.view();
    sides.data = nullptr;
    Analysis found;
    const auto strips = engine->analyze_strips(sides, request, found);
    do {
        for (int y = 0; y < 500; y += 90) {
            ImageView strip = image.view();
            strip.height = std::min(90, 500 - y);
            strip.data = static_cast<const std::byte*>(strip.data) + y * strip.row_bytes;
            strips->take(strip);
        }
    } while (strips->end_pass());
    EXPECT_EQ(found, whole);
    found += whole;
    EXPECT_EQ(number_of(found, "brightness_p99"), std::nullopt) << "of two images";
}

/// Averages of areas, of integers rounded, halves up; NaN where an area has a NaN.
cv::Mat reduced(const cv::Mat& luma, const cv::Size& size, bool whole) {
    cv::Mat result(size, CV_64F);
    for (int j = 0; j < size.height; ++j)
        for (int i = 0; i < size.width; ++i) {
            double sum = 0;  // in parts of a pixel: whole numbers
            for (int y = 0; y < luma.rows; ++y)
                for (int x = 0; x < luma.cols; ++x) {
                    const int wide = std::min((x + 1) * size.width, (i + 1) * luma.cols) -
                                     std::max(x * size.width, i * luma.cols),
                              high = std::min((y + 1) * size.height, (j + 1) * luma.rows) -
                                     std::max(y * size.height, j * luma.rows);
                    if (wide > 0 && high > 0) sum += luma.at<double>(y, x) * wide * high;
                }
            const double area = luma.rows * luma.cols;
            result.at<double>(j, i) = whole ? std::floor((2 * sum + area) / (2 * area)) : sum / area;
        }
    return result;
}

TEST_P(MeasuresTest, of_reduced_images_are_those_of_averages) {
    for (const Depth depth : {Depth::u8, Depth::s8, Depth::u16, Depth::u32, Depth::f16, Depth::f32})
        for (const int channels : {1, 3})
            for (const bool masked : {false, true})
                for (const std::uint32_t side : {2U, 20U, 36U, 41U, 500U}) {
                    if (left_out()) continue;
                    SCOPED_TRACE(to_string(depth) + std::string(" ") + std::to_string(channels) + " " +
                                 std::to_string(side) + (masked ? " masked" : ""));
                    Raster image = raster(depth, channels, Fill::few, 41, 59);
                    std::vector<std::uint8_t> mask(41 * 59, 1);
                    mask[41 * 30 + 17] = mask[3] = 0;
                    ImageView view = image.view();
                    if (masked) view.mask = mask.data();
                    view.mask_row_bytes = 41;
                    cv::Mat luma = luma_of(image);
                    for (int i = 0; masked && i < 41 * 59; ++i)
                        if (mask[static_cast<std::size_t>(i)] == 0) luma.at<double>(i / 41, i % 41) = std::nan("");
                    AnalysisRequest request;
                    for (const char* name : {"sharpness_laplacian", "sharpness_tenengrad", "noise"})
                        request.measures.add(name);
                    request.measures.reduce_to(side);
                    const Analysis found = engine->analyze(view, request);
                    const Sides sides = reduced_sides({41, 59}, side);
                    const double unit = depth == Depth::f16 ? 16777216 : 1;
                    const cv::Mat small =
                        reduced(luma * unit, {static_cast<int>(sides.width), static_cast<int>(sides.height)},
                                depth != Depth::f32) /
                        unit;
                    const auto numbers = expected(image, small);
                    for (int i = 0; i < 3; ++i) {
                        const auto number = number_of(found, names[i]);
                        ASSERT_EQ(number.has_value(), numbers[static_cast<std::size_t>(i)].has_value()) << names[i];
                        if (number) {
                            EXPECT_NEAR(*number, *numbers[static_cast<std::size_t>(i)], 1e-11 * std::abs(*number));
                        }
                    }
                    if (depth == Depth::f32) continue;  // whose strips come more than once
                    ImageView sides_alone = view;
                    sides_alone.data = nullptr;
                    Analysis in_strips;
                    const auto strips = engine->analyze_strips(sides_alone, request, in_strips);
                    for (int y = 0; y < 59; y += 7) {
                        ImageView strip = view;
                        strip.height = std::min(7, 59 - y);
                        strip.data = static_cast<const std::byte*>(view.data) + y * view.row_bytes;
                        if (masked) strip.mask = view.mask + y * 41;
                        strips->take(strip);
                    }
                    EXPECT_FALSE(strips->end_pass());
                    EXPECT_EQ(in_strips.measured, found.measured);
                }
}

TEST_P(MeasuresTest, of_gray_pixels_alone) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (const int width : {7, 200}) {
            Raster image(width, 11, 3, depth);
            for (int y = 0; y < 11; ++y)
                for (int x = 0; x < width; ++x)
                    for (int c = 0; c < 3; ++c) image.set(x, y, c, x % 50 + y);
            AnalysisRequest request;
            request.measures.add(Measure::gray);
            const auto gray = [&](const ImageView& view) {
                return measure_value(engine->analyze(view, request), "gray");
            };
            EXPECT_EQ(gray(image.view()), MeasureValue(std::uint64_t{1}));
            image.set(width - 1, 5, 2, 70);
            EXPECT_EQ(gray(image.view()), MeasureValue(std::uint64_t{0}));
            std::vector<std::uint8_t> mask(static_cast<std::size_t>(width * 11), 1);
            mask[static_cast<std::size_t>(width * 6 - 1)] = 0;
            ImageView view = image.view();
            view.mask = mask.data();
            view.mask_row_bytes = width;
            EXPECT_EQ(gray(view), MeasureValue(std::uint64_t{1})) << "the pixel with a color is excluded";
            std::fill(mask.begin(), mask.end(), 0);
            EXPECT_EQ(gray(view), MeasureValue());
            EXPECT_EQ(gray(raster(depth, 1, Fill::few).view()), MeasureValue(std::uint64_t{1}));
        }
}

TEST_P(MeasuresTest, of_exposure_are_shares_of_luma) {
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {1, 3}) {
            SCOPED_TRACE(traits.name + std::string(" ") + std::to_string(channels));
            const Raster image = raster(traits.depth, channels, Fill::bits, 91, 57);
            AnalysisRequest request;
            request.measures.add(Measure::exposure);
            if (traits.floating) request.measures.refer_to(3);
            Analysis found = engine->analyze(image.view(), request);
            if (traits.floating) found.white = 3;
            const cv::Mat luma = luma_of(image);
            double n = 0, dark = 0, bright = 0;
            const double white = traits.floating ? 3 : traits.highest;
            for (const double value : cv::Mat_<double>(luma)) {
                if (std::isnan(value)) continue;
                ++n;
                dark += value < white / 10 ? 1 : 0;
                bright += value > white - white / 10 ? 1 : 0;
            }
            EXPECT_EQ(number_of(found, "dark_fraction"), dark / n);
            EXPECT_EQ(number_of(found, "bright_fraction"), bright / n);
        }
}

TEST_P(MeasuresTest, of_thresholds_are_those_of_opencv) {
    AnalysisRequest request;
    request.measures.add(Measure::thresholds);
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        // Two heaps of values, or one, at different places and of different sizes.
        cv::Mat pixels(61, 83, CV_8UC1);
        for (int i = 0; i < 61 * 83; ++i) {
            const std::uint64_t random = scramble(seed * 10000 + static_cast<std::uint64_t>(i)),
                                heap = random % 11 < seed % 11;
            const std::uint64_t from = heap ? seed * 7 % 90 : 100 + seed * 13 % 90,
                                spread = 1 + seed * (heap ? 3 : 5) % 60;
            pixels.at<std::uint8_t>(i / 83, i % 83) = static_cast<std::uint8_t>(from + (random >> 20) % spread);
        }
        double low = 0, high = 0;
        cv::minMaxLoc(pixels, &low, &high);
        cv::Mat binary;
        const double otsu = cv::threshold(pixels, binary, 0, 255, cv::THRESH_OTSU),
                     triangle = cv::threshold(pixels, binary, 0, 255, cv::THRESH_TRIANGLE);
        for (const Depth depth : {Depth::u8, Depth::s8, Depth::u16, Depth::s16}) {
            SCOPED_TRACE(to_string(depth) + std::string(" ") + std::to_string(seed));
            const double shift = depth == Depth::s8 ? -128 : depth == Depth::s16 ? -300 : 0;
            Raster image(83, 61, 1, depth);
            for (int y = 0; y < 61; ++y)
                for (int x = 0; x < 83; ++x) image.set(x, y, 0, pixels.at<std::uint8_t>(y, x) + shift);
            const Analysis found = engine->analyze(image.view(), request);
            if (low == high) {
                EXPECT_EQ(number_of(found, "otsu"), std::nullopt);
                continue;
            }
            EXPECT_EQ(number_of(found, "otsu"), otsu + shift);
            if (high < 255) {  // else the types differ in the value after the last
                EXPECT_EQ(number_of(found, "triangle"), triangle + shift);
            }
            const auto li = number_of(found, "li");
            ASSERT_TRUE(li);
            EXPECT_GE(*li, low + shift);
            EXPECT_LE(*li, high + shift);
        }
    }
    for (const Depth depth : {Depth::f16, Depth::u32, Depth::f32, Depth::f64}) {
        const Analysis found = engine->analyze(raster(depth, 1, Fill::few).view(), request);
        EXPECT_EQ(number_of(found, "otsu"), std::nullopt);
    }
}

/// Findings of the engine and of the reference must be the same integers.
void expect_same_findings(const Analysis& found, const Analysis& expected) {
    ASSERT_EQ(found.measured.size(), expected.measured.size());
    for (std::size_t i = 0; i < found.measured.size(); ++i)
        EXPECT_EQ(found.measured[i], expected.measured[i]) << traits_of(expected.measured[i].measure).name;
    EXPECT_EQ(found, expected);
}

TEST_P(MeasuresTest, are_the_same_integers_as_of_the_reference) {
    const std::pair<int, int> sides[] = {{1, 1},   {1, 7},     {7, 1},    {2, 2},    {3, 3},
                                         {4, 3},   {29, 5},    {30, 31},  {31, 33},  {119, 4},
                                         {121, 9}, {1000, 37}, {5003, 6}, {9, 2100}, {128, 64}};
    for (const Depth depth : {Depth::u8, Depth::s8, Depth::u16, Depth::s16})
        for (const int channels : {1, 3, 4})
            for (const auto& [width, height] : sides)
                for (const Fill fill : {Fill::bits, Fill::ends, Fill::constant}) {
                    if (left_out()) continue;
                    if (fill != Fill::bits && width * height > 2000) continue;
                    SCOPED_TRACE(to_string(depth) + std::string(" ") + std::to_string(channels) + " " +
                                 std::to_string(width) + " x " + std::to_string(height));
                    Raster image = raster(depth, channels, fill, width, height, width % 4);
                    if (width % 2 == 0) image.order = ChannelOrder::bgr;
                    std::vector<std::uint8_t> mask(static_cast<std::size_t>((width + 3) * height));
                    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = scramble(i) % 40 != 0;
                    ImageView view = image.view();
                    expect_same_findings(engine->analyze(view, quality()), reference->analyze(view, quality()));
                    view.mask = mask.data();
                    view.mask_row_bytes = width + 3;
                    expect_same_findings(engine->analyze(view, quality()), reference->analyze(view, quality()));
                    std::fill(mask.begin(), mask.end(), 0);
                    expect_same_findings(engine->analyze(view, quality()), reference->analyze(view, quality()));
                }
}

TEST_P(MeasuresTest, are_the_same_integers_by_rules_and_in_colors_with_bands) {
    for (const Depth depth : {Depth::u8, Depth::u16})
        for (const AlphaRule alpha : {AlphaRule::row, AlphaRule::mask, AlphaRule::ignore, AlphaRule::weight})
            for (const Samples samples : {Samples::color, Samples::gray_alpha, Samples::color_bands}) {
                if (left_out()) continue;
                if (alpha == AlphaRule::weight && samples == Samples::color_bands) continue;
                const int channels = samples == Samples::color_bands ? 6 : 4;
                Raster image = raster(depth, channels, Fill::few, 301, 83);
                image.samples = samples;
                if (samples == Samples::gray_alpha)
                    for (int i = 0; i < 301 * 83; ++i)
                        for (const int c : {1, 2}) image.set(i % 301, i / 301, c, image.value(i % 301, i / 301, 0));
                Validity rules;
                rules.alpha = alpha;
                rules.nodata = {{samples == Samples::gray_alpha ? Channel::gray : Channel::green, 3}};
                AnalysisRequest request = quality();
                request.validity = std::make_shared<Validity>(rules);
                expect_same_findings(engine->analyze(image.view(), request), reference->analyze(image.view(), request));
            }
}

TEST_P(MeasuresTest, of_large_numbers_are_the_same_integers) {
    // The longest columns and rows, and the largest differences between neighbors.
    for (const auto& [width, height] : {std::pair{40, 20000}, {20000, 40}})
        for (const Depth depth : {Depth::u8, Depth::u16}) {
            Raster image(width, height, 3, depth);
            for (int y = 0; y < height; ++y)
                for (int x = 0; x < width; ++x)
                    for (int c = 0; c < 3; ++c) image.set(x, y, c, (x + y) % 4 < 2 ? traits_of(depth).highest : 0);
            const Analysis found = engine->analyze(image.view(), quality());
            expect_same_findings(found, reference->analyze(image.view(), quality()));
        }
}

TEST_P(MeasuresTest, of_many_small_images_are_those_of_each) {
    std::vector<Raster> images;
    for (int i = 0; i < 40; ++i)
        images.push_back(raster(i % 3 == 2 ? Depth::u16 : Depth::u8, i % 2 ? 3 : 1, Fill::bits, 20 + i, 50 - i, i % 5,
                                static_cast<std::uint64_t>(i)));
    std::vector<Analysis> results(images.size());
    std::vector<Job> jobs(images.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        jobs[i].image = images[i].view();
        if (i % 7 != 0) jobs[i].request = quality();
        jobs[i].result = &results[i];
    }
    engine->run(jobs.data(), jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        ASSERT_FALSE(jobs[i].error);
        expect_same_findings(results[i], reference->analyze(jobs[i].image, jobs[i].request));
    }
}

TEST_P(MeasuresTest, that_are_few_are_found_alone) {
    const Raster image = raster(Depth::u8, 3, Fill::bits, 130, 70);
    for (const MeasureTraits& one : all_measures)
        for (const MeasureTraits& other : all_measures) {
            AnalysisRequest request;
            request.measures.add(one.measure);
            request.measures.add(other.measure);
            expect_same_findings(engine->analyze(image.view(), request), reference->analyze(image.view(), request));
        }
}

TEST(Measures, of_gpus_are_planned_by_backend) {
    const auto passes = [](const ImageView& view, const AnalysisRequest& request, plan::Rows rows) {
        std::string text;
        for (const plan::Pass& pass : plan::make_plan(view, request, nullptr, rows, plan::cuda_abilities).passes)
            if (pass.role == plan::Role::measures)
                text += (pass.on_host ? " host " : " gpu ") + pass.request.measures.text();
        return text;
    };
    const Raster bytes = raster(Depth::u8, 3, Fill::bits), floats = raster(Depth::f32, 3, Fill::few);
    const std::string neighborhoods = "sharpness_laplacian,sharpness_tenengrad,noise",
                      others = "colorfulness,brightness,exposure,gray", all = neighborhoods + "," + others;
    EXPECT_EQ(passes(bytes.view(), quality(), plan::Rows::whole), " gpu " + all + " host hashes");
    EXPECT_EQ(passes(bytes.view(), quality(), plan::Rows::strips), " host " + all + ",hashes");
    EXPECT_EQ(passes(floats.view(), quality(), plan::Rows::whole), " host " + all + ",hashes");
    AnalysisRequest request = quality();
    request.measures.reduce_to(16);
    EXPECT_EQ(passes(bytes.view(), request, plan::Rows::whole),
              " gpu " + others + " host " + neighborhoods + ",hashes");
    request.measures.reduce_to(37);
    EXPECT_EQ(passes(bytes.view(), request, plan::Rows::whole), " gpu " + all + " host hashes");
}

TEST(Measures, are_a_set_of_words) {
    Measures some;
    EXPECT_TRUE(some.empty());
    some.add("noise");
    EXPECT_EQ(some.text(), "noise");
    some.add("sharpness_laplacian");
    EXPECT_EQ(some.text(), "sharpness_laplacian,noise");
    EXPECT_TRUE(Measures::quality().contain(some));
    EXPECT_FALSE(some.contain(Measures::quality()));
    some.add("quality");
    EXPECT_EQ(some, Measures::quality());
    try {
        some.add("blur");
        FAIL();
    } catch (const InvalidArgument& error) {
        EXPECT_STREQ(
            error.what(),
            "measure 'blur' is not one of quality, sharpness_laplacian, sharpness_tenengrad, noise, colorfulness, "
            "contrast, brightness, exposure, gray, thresholds, hashes");
    }
}

TEST(Measures, of_device_memory_are_refused_by_name) {
    Raster image = raster(Depth::u8, 3, Fill::bits);
    ImageView view = image.view();
    view.memory = Memory::device;
    const auto refused = [&](const plan::Abilities& abilities, const char* words, plan::Rows rows) {
        AnalysisRequest request;
        for (const MeasureTraits& traits : all_measures)
            if (std::string_view(words).find(traits.name) != std::string_view::npos) request.measures.add(traits.name);
        try {
            plan::refuse(view, request, nullptr, rows, abilities);
        } catch (const InvalidArgument& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    const std::string what = ": it cannot measure ", remedy = " of an image in device memory; copy it to the host";
    const auto whole = plan::Rows::whole, strips = plan::Rows::strips;
    EXPECT_EQ(refused(plan::stream_abilities, "", whole), "");
    EXPECT_EQ(refused(plan::stream_abilities, "noise contrast", whole),
              "stream analyzer" + what + "noise,contrast" + remedy);
    EXPECT_EQ(refused(plan::cuda_abilities, "noise contrast brightness gray", whole), "");
    EXPECT_EQ(refused(plan::cuda_abilities, "noise contrast", strips), "engine cuda" + what + "noise" + remedy);
    EXPECT_EQ(refused(plan::cuda_abilities, "noise hashes", whole), "engine cuda" + what + "hashes" + remedy);
    view.depth = Depth::u32;
    view.row_bytes *= 4;
    EXPECT_EQ(refused(plan::cuda_abilities, "noise contrast", whole), "engine cuda" + what + "noise" + remedy);
}

INSTANTIATE_TEST_SUITE_P(Conformance, MeasuresTest, testing::ValuesIn(engines_under_test), label_of);

}  // namespace
}  // namespace gpuhist::test
