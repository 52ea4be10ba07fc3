// Measures of neighborhoods against OpenCV's filters: of images of every depth, with excluded samples, and in strips.
#include "gpuhist/measures.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "gpuhist/error.hpp"
#include "plan/refusal.hpp"
#include "support/engines_under_test.hpp"
#include "support/raster.hpp"

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
            const double r = at(0), g = gray ? r : at(1), b = gray ? r : at(2), low = traits_of(image.depth).lowest;
            double value = r;
            if (!gray && image.depth == Depth::f64)
                value = (0.299 * r + 0.587 * g) + 0.114 * b;
            else if (!gray && image.depth == Depth::f32)
                value =
                    (0.299f * static_cast<float>(r) + 0.587f * static_cast<float>(g)) + 0.114f * static_cast<float>(b);
            else if (!gray && image.depth == Depth::f16)
                value = half_value(half_of((0.299f * static_cast<float>(r) + 0.587f * static_cast<float>(g)) +
                                           0.114f * static_cast<float>(b)));
            else if (!gray)
                value = low + std::floor((9798 * (r - low) + 19235 * (g - low) + 3735 * (b - low) + 16384) / 32768);
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

/// Numbers by OpenCV, in the order of the enumeration; none where no neighborhood is valid.
std::vector<std::optional<double>> expected(const Raster& image, const cv::Mat& luma) {
    std::vector<std::optional<double>> numbers(std::size(all_measures));
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

void expect_numbers(const Analysis& found, const Raster& image, const cv::Mat& luma) {
    const auto numbers = expected(image, luma);
    ASSERT_EQ(found.measured.size(), numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        SCOPED_TRACE(all_measures[i].name);
        EXPECT_EQ(found.measured[i].measure, all_measures[i].measure);
        const auto number = number_of(found.measured, all_measures[i].measure, found.depth);
        ASSERT_EQ(number.has_value(), numbers[i].has_value());
        if (number) {
            EXPECT_NEAR(*number, *numbers[i], 1e-12 * std::abs(*numbers[i]));
        }
    }
}

class MeasuresTest : public EngineTest {};

TEST_P(MeasuresTest, are_those_of_opencv_in_images_of_every_depth) {
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {1, 3, 4})
            for (const auto& [width, height] : {std::pair{3, 3}, {37, 19}, {500, 300}, {2, 9}, {9, 2}, {1, 1}}) {
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
                Analysis counts = found;
                counts.measured.clear();
                EXPECT_EQ(counts, engine->analyze(image.view())) << "measures change the counts";
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
                sides.mask = nullptr;
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
    EXPECT_TRUE(engine->analyze(bands.view(), quality()).measured.empty());
}

TEST_P(MeasuresTest, of_two_images_merge) {
    const Raster image = raster(Depth::u16, 3, Fill::bits), other = raster(Depth::u16, 3, Fill::few);
    Analysis sum = engine->analyze(image.view(), quality());
    const Analysis more = engine->analyze(other.view(), quality());
    const std::vector<Measured> before = sum.measured;
    sum += more;
    for (std::size_t i = 0; i < before.size(); ++i) {
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
    EXPECT_EQ(number_of(found.measured, Measure::sharpness_tenengrad, Depth::f64), 0.0);
    EXPECT_EQ(found.measured[1].pixels, 20U);
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
            "measure 'blur' is none of quality, sharpness_laplacian, sharpness_tenengrad, noise, colorfulness");
    }
}

TEST(Measures, of_device_memory_are_refused_by_name) {
    Raster image = raster(Depth::u8, 3, Fill::bits);
    ImageView view = image.view();
    view.memory = Memory::device;
    for (const plan::Abilities& abilities : {plan::cuda_abilities, plan::stream_abilities}) {
        EXPECT_NO_THROW(plan::refuse(view, {}, nullptr, plan::Rows::whole, abilities));
        AnalysisRequest request;
        request.measures.add(Measure::noise);
        try {
            plan::refuse(view, request, nullptr, plan::Rows::whole, abilities);
            FAIL();
        } catch (const InvalidArgument& error) {
            EXPECT_EQ(error.what(), std::string(abilities.name) +
                                        ": measures of an image in device memory: noise; copy it to the host");
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Conformance, MeasuresTest, testing::ValuesIn(engines_under_test), label_of);

}  // namespace
}  // namespace gpuhist::test
