// Curves and copies by place of every engine: against OpenCV, against the definitions in long double, and bit for bit
// against the CPU engine. scikit-image, astropy and ImageMagick are the oracles of tests/python/tone_test.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "core/codes.hpp"
#include "core/elementary.hpp"
#include "gpuhist/dataset.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/lut.hpp"
#include "support/engines_under_test.hpp"
#include "support/picture.hpp"

namespace gpuhist::test {
namespace {

using Real = long double;

// ---- elementary functions -------------------------------------------------------------------------------------------

/// Distance from the exact result, in units of its last place.
double ulps(double got, Real exact) {
    const double nearest = static_cast<double>(exact);
    if (nearest == got) return 0;
    const double unit = std::nextafter(std::fabs(nearest), HUGE_VAL) - std::fabs(nearest);
    return static_cast<double>(std::fabs(static_cast<Real>(got) - exact) / unit);
}

double unit_random(std::uint64_t seed) {
    return static_cast<double>(scramble(seed) >> 11) * 0x1p-53;
}

TEST(Elementary, FunctionsAreWithinTwoUlp) {
    for (std::uint64_t i = 0; i < 100000; ++i) {
        const double a = unit_random(3 * i), b = unit_random(3 * i + 1), c = unit_random(3 * i + 2);
        const double any = a * std::pow(10.0, b * 20 - 12), near = 1 + (a - 0.5) * std::pow(10.0, -15 * b);
        ASSERT_LE(ulps(core::log_of(any), std::log(Real{any})), 2) << any;
        ASSERT_LE(ulps(core::log_of(near), std::log(Real{near})), 2) << near;
        ASSERT_LE(ulps(core::exp_of(any), std::exp(Real{any})), 2) << any;
        ASSERT_LE(ulps(core::exp_of(-700 * b), std::exp(Real{-700 * b})), 2) << b;
        ASSERT_LE(ulps(core::sinh_of(5 * a), std::sinh(Real{5 * a})), 2) << a;
        ASSERT_LE(ulps(core::asinh_of(any), std::asinh(Real{any})), 2) << any;
        ASSERT_LE(ulps(core::power(a, 5 * c), std::pow(Real{a}, Real{5 * c})), 2) << a << " " << c;
        ASSERT_LE(ulps(core::power(1e6 * a, 90 * (c - 0.5)), std::pow(Real{1e6 * a}, Real{90 * (c - 0.5)})), 2);
    }
}

TEST(Elementary, EndsAreExact) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(core::log_of(0), -infinity);
    EXPECT_EQ(core::log_of(1), 0);
    EXPECT_EQ(core::log_of(infinity), infinity);
    EXPECT_TRUE(std::isnan(core::log_of(-1)));
    EXPECT_EQ(core::exp_of(0.0), 1);
    EXPECT_EQ(core::exp_of(1000.0), infinity);
    EXPECT_EQ(core::exp_of(-1000.0), 0);
    EXPECT_EQ(core::power(0, 0.5), 0);
    EXPECT_EQ(core::power(0, 0), 1);
    EXPECT_EQ(core::power(1, 17), 1);
    EXPECT_EQ(core::power(0.1, 1), 0.1);
    EXPECT_EQ(core::power(4, 0.5), 2);
    EXPECT_EQ(core::power(infinity, 0.5), infinity);
    EXPECT_EQ(core::sinh_of(0), 0);
    EXPECT_EQ(core::asinh_of(0), 0);
    EXPECT_EQ(core::asinh_of(infinity), infinity);
    EXPECT_LE(ulps(core::asinh_of(1e300), std::asinh(Real{1e300})), 2);
    for (const double tiny : {5e-324, 1e-310, 1e-308}) EXPECT_NEAR(core::log_of(tiny), std::log(tiny), 1e-12);
}

// ---- copies ---------------------------------------------------------------------------------------------------------

Normalization by(
    NormalizeMode mode, const std::function<void(Normalization&)>& more = [](Normalization&) {}) {
    Normalization normalization;
    normalization.mode = mode;
    more(normalization);
    return normalization;
}

Depth copy_depth(const Shape& shape, const Normalization& normalization) {
    return normalized_depth(shape.depth, normalization);
}

/// Sets a sample of a picture of any depth.
void put(Picture& picture, std::int64_t x, std::int64_t y, int channel, double value) {
    const MutableImageView view = picture.mutable_view();
    with_depth(view.depth, [&](auto sample) {
        sample = core::rounded_to<decltype(sample)>(value);
        std::memcpy(static_cast<std::byte*>(view.data) + y * view.row_bytes +
                        (x * view.channels + channel) * static_cast<std::int64_t>(sizeof sample),
                    &sample, sizeof sample);
    });
}

/// Picture of any depth: of the kinds of content that there are of u16 and f32, scaled to the depth.
Picture picture_of(const Shape& shape, Content content) {
    const DepthTraits& traits = traits_of(shape.depth);
    if (shape.depth == Depth::u8 || shape.depth == Depth::u16 || shape.depth == Depth::f32)
        return {shape, packed, content};
    Shape like = shape;
    like.depth = traits.floating ? Depth::f32 : sample_bytes(shape.depth) == 1 ? Depth::u8 : Depth::u16;
    const Picture from(like, packed, content);
    Picture made(shape, packed);
    for (std::int64_t y = 0; y < shape.height; ++y)
        for (std::int64_t x = 0; x < shape.width; ++x)
            for (int c = 0; c < shape.channels; ++c)
                with_depth(like.depth, [&](auto sample) {
                    const double value = core::value_of(load<decltype(sample)>(from.view(), x, y, c));
                    put(made, x, y, c,
                        traits.floating ? value
                                        : value * (sample_bytes(shape.depth) > 2 ? 65537.0 : 1) + traits.lowest);
                });
    return made;
}

class ToneTest : public EngineTest {
  protected:
    /// Copy of an image. It is that of the reference, in place too.
    Picture copy_of(const Picture& picture, const Normalization& normalization, const AnalysisRequest& request = {},
                    const std::uint8_t* mask = nullptr) {
        ImageView image = picture.view();
        image.mask = mask;
        image.mask_row_bytes = mask ? image.width : 0;
        Shape shape = picture.shape();
        shape.depth = copy_depth(shape, normalization);
        Picture output(shape, packed), expected(shape, layouts[2]);
        Analysis result, expected_result;
        engine->normalize(image, request, normalization, output.mutable_view(), result);
        reference->normalize(image, request, normalization, expected.mutable_view(), expected_result);
        expect_equal(output.view(), expected.view());
        Analysis analysis = reference->analyze(image, request);
        EXPECT_EQ(result.channels.size(), analysis.channels.size());
        if (shape.depth == picture.shape().depth) {
            Picture in_place(shape, packed);
            for (std::int64_t y = 0; y < shape.height; ++y)
                std::memcpy(static_cast<std::byte*>(in_place.mutable_view().data) + y * in_place.view().row_bytes,
                            static_cast<const std::byte*>(image.data) + y * image.row_bytes,
                            static_cast<std::size_t>(in_place.view().packed_row_bytes()));
            ImageView of = in_place.view();
            of.mask = image.mask;
            of.mask_row_bytes = image.mask_row_bytes;
            engine->normalize(of, request, normalization, in_place.mutable_view(), result);
            expect_equal(in_place.view(), expected.view());
        }
        return output;
    }

    static void expect_equal(const ImageView& got, const ImageView& expected) {
        for (std::int64_t y = 0; y < got.height; ++y)
            ASSERT_EQ(std::memcmp(static_cast<const std::byte*>(got.data) + y * got.row_bytes,
                                  static_cast<const std::byte*>(expected.data) + y * expected.row_bytes,
                                  static_cast<std::size_t>(got.packed_row_bytes())),
                      0)
                << "row " << y;
    }

    /// Checks every sample of the colors against a definition of the value before it is rounded, in units of the range.
    void expect_curve(const Shape& shape, Content content, const Normalization& normalization,
                      const std::function<Real(Real fraction, Real value)>& definition) {
        if (left_out()) return;
        SCOPED_TRACE(std::string(to_string(shape.depth)) + " by " + to_string(normalization.mode));
        const Picture picture = picture_of(shape, content);
        const Picture copy = copy_of(picture, normalization);
        const DepthTraits &from = traits_of(shape.depth), &to = traits_of(copy_depth(shape, normalization));
        const Real lowest = from.floating ? 0 : from.lowest, range = from.floating ? 1 : Real{from.highest} - lowest;
        with_depth(from.depth, [&](auto sample) {
            with_depth(to.depth, [&](auto written) {
                for (std::int64_t y = 0; y < shape.height; ++y)
                    for (std::int64_t x = 0; x < shape.width; ++x)
                        for (int c = 0; c < std::min(shape.channels, 3); ++c) {
                            const Real value = core::value_of(load<decltype(sample)>(picture.view(), x, y, c));
                            const Real got = core::value_of(load<decltype(written)>(copy.view(), x, y, c));
                            Real wanted = definition((value - lowest) / range, value);
                            if (to.floating) {
                                const Real close = to.depth == Depth::f64   ? 1e-14L
                                                   : to.depth == Depth::f32 ? 1e-7L
                                                                            : 1e-3L;
                                ASSERT_NEAR(static_cast<double>(got), static_cast<double>(wanted),
                                            static_cast<double>(close * std::max<Real>(1, std::fabs(wanted))))
                                    << value;
                                continue;
                            }
                            wanted = std::clamp<Real>(wanted, 0, 1) * (Real{to.highest} - to.lowest);
                            const Real distance = got - to.lowest;
                            // Only halves may round either way, where the definition itself is rounded.
                            ASSERT_LE(std::fabs(distance - wanted), 0.5L + 1e-9L * std::max<Real>(1, wanted)) << value;
                        }
            });
        });
    }
};

constexpr Depth all_kinds[] = {Depth::u8,  Depth::s8,  Depth::u16, Depth::s16,
                               Depth::u32, Depth::f16, Depth::f32, Depth::f64};

TEST_P(ToneTest, GammaIsAPowerOfFractions) {
    for (const Depth depth : all_kinds)
        for (const double gamma : {0.45, 2.2})
            for (const std::optional<Depth> copies :
                 {std::optional<Depth>(), std::optional(Depth::u16), std::optional(Depth::f32)})
                expect_curve({33, 17, 3, depth}, Content::natural,
                             by(NormalizeMode::gamma,
                                [&](Normalization& of) {
                                    of.gamma = gamma;
                                    of.depth = copies;
                                }),
                             [&](Real x, Real) { return x < 0 ? x : std::pow(x, 1 / Real{gamma}); });
}

TEST_P(ToneTest, LevelsClampBetweenTheirEnds) {
    for (const Depth depth : {Depth::u8, Depth::s16, Depth::f32, Depth::f64}) {
        const double low = traits_of(depth).floating ? 0.2 : 30, high = traits_of(depth).floating ? 0.7 : 200.5;
        expect_curve({40, 20, 3, depth}, Content::natural,
                     by(NormalizeMode::levels,
                        [&](Normalization& of) {
                            of.level_low = low;
                            of.level_high = high;
                            of.gamma = 1.5;
                        }),
                     [&](Real, Real v) {
                         return std::pow(std::clamp<Real>((v - low) / (Real{high} - low), 0, 1), 1 / Real{1.5});
                     });
    }
}

TEST_P(ToneTest, StretchesAreFunctionsOfAnInterval) {
    const std::map<StretchFunction, std::function<Real(Real)>> functions{
        {StretchFunction::linear, [](Real x) { return x; }},
        {StretchFunction::sqrt, [](Real x) { return std::sqrt(x); }},
        {StretchFunction::log, [](Real x) { return std::log1p(1000 * x) / std::log(Real{1001}); }},
        {StretchFunction::asinh, [](Real x) { return std::asinh(10 * x) / std::asinh(Real{10}); }},
        {StretchFunction::sinh, [](Real x) { return std::sinh(3 * x) / std::sinh(Real{3}); }},
        {StretchFunction::power, [](Real x) { return std::pow(x, Real{1.7}); }},
        {StretchFunction::sigmoid, [](Real x) {
             const auto at = [](Real y) { return 1 / (1 + std::exp(5 * (Real{0.4} - y))); };
             return (at(x) - at(0)) / (at(1) - at(0));
         }}};
    for (const auto& [function, definition] : functions)
        for (const Depth depth : all_kinds) {
            const Shape shape{31, 23, 1, depth};
            const Picture picture = picture_of(shape, Content::gaussian);
            const Analysis analysis = reference->analyze(picture.view());
            const Statistics row = statistics(analysis).front();
            for (const StretchInterval interval : {StretchInterval::minmax, StretchInterval::sigma}) {
                const bool sigma = interval == StretchInterval::sigma;
                const Real low = sigma ? Real{*row.mean} - 1.5L * *row.std : Real{*row.min},
                           high = sigma ? Real{*row.mean} + 1.5L * *row.std : Real{*row.max};
                expect_curve(
                    shape, Content::gaussian,
                    by(NormalizeMode::stretch,
                       [&, f = function](Normalization& of) {
                           of.stretch = f;
                           of.power = 1.7;
                           of.contrast = 5;
                           of.midpoint = 0.4;
                           of.interval = interval;
                           of.sigmas = 1.5;
                       }),
                    [&, d = definition](Real, Real v) { return d(std::clamp<Real>((v - low) / (high - low), 0, 1)); });
            }
        }
}

TEST_P(ToneTest, ALinearStretchBetweenPercentilesIsTheModePercentile) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::s16, Depth::f32, Depth::f64})
        for (const int channels : {1, 3, 4})
            for (const bool joint : {true, false}) {
                const Picture picture = picture_of({37, 29, channels, depth}, Content::natural);
                const auto asked = [&](NormalizeMode mode) {
                    return by(mode, [&](Normalization& of) {
                        of.interval = StretchInterval::percentile;
                        of.low = 3;
                        of.high = 90;
                        of.joint = joint;
                    });
                };
                expect_equal(copy_of(picture, asked(NormalizeMode::stretch)).view(),
                             copy_of(picture, asked(NormalizeMode::percentile)).view());
            }
}

TEST_P(ToneTest, AutoGammaTakesTheMeanToTheMiddle) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f64}) {
        const Shape shape{50, 30, 1, depth};
        const Picture picture = picture_of(shape, Content::gaussian);
        const Statistics row = statistics(reference->analyze(picture.view())).front();
        const DepthTraits& traits = traits_of(depth);
        const Real mean = traits.floating ? Real{*row.mean} : Real{*row.mean} / traits.highest;
        if (!(mean > 0 && mean < 1)) continue;
        expect_curve(shape, Content::gaussian, by(NormalizeMode::auto_gamma),
                     [&](Real x, Real) { return x < 0 ? x : std::pow(x, std::log(Real{0.5}) / std::log(mean)); });
    }
}

TEST_P(ToneTest, RobustCountsDeviationsFromTheMedian) {
    for (const Depth depth : {Depth::u8, Depth::s16, Depth::u32, Depth::f16, Depth::f32, Depth::f64}) {
        const Shape shape{41, 21, 1, depth};
        const Picture picture = picture_of(shape, Content::gaussian);
        std::vector<Real> values;
        with_depth(depth, [&](auto sample) {
            for (std::int64_t y = 0; y < shape.height; ++y)
                for (std::int64_t x = 0; x < shape.width; ++x)
                    values.push_back(core::value_of(load<decltype(sample)>(picture.view(), x, y, 0)));
        });
        const auto median_of = [](std::vector<Real> of) {
            std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
            return of[of.size() / 2];  // an odd number
        };
        const Real median = median_of(values);
        std::vector<Real> distances;
        for (const Real v : values) distances.push_back(std::fabs(v - median));
        const Real deviation = 1.4826L * median_of(distances);
        ASSERT_GT(deviation, 0);
        expect_curve(shape, Content::gaussian, by(NormalizeMode::robust),
                     [&](Real, Real v) { return (v - median) / deviation; });
    }
}

TEST_P(ToneTest, ThresholdsAreThoseOfOpenCv) {
    for (const Content content : {Content::natural, Content::gaussian, Content::two_values, Content::random})
        for (const auto& [rule, flag_of_opencv] :
             {std::pair(ThresholdRule::otsu, cv::THRESH_OTSU), {ThresholdRule::triangle, cv::THRESH_TRIANGLE}}) {
            const Picture picture({61, 47, 1, Depth::u8}, packed, content);
            const Picture copy =
                copy_of(picture, by(NormalizeMode::threshold, [r = rule](Normalization& of) { of.threshold = r; }));
            const cv::Mat image(47, 61, CV_8U, const_cast<void*>(picture.view().data));
            cv::Mat expected;
            cv::threshold(image, expected, 0, 255, cv::THRESH_BINARY | flag_of_opencv);
            const cv::Mat got(47, 61, CV_8U, const_cast<void*>(copy.view().data));
            EXPECT_EQ(cv::norm(got, expected, cv::NORM_INF), 0);
        }
    expect_curve({20, 20, 3, Depth::f32}, Content::natural,
                 by(NormalizeMode::threshold,
                    [](Normalization& of) {
                        of.threshold = ThresholdRule::value;
                        of.threshold_value = 0.4;
                    }),
                 [](Real, Real v) { return v > Real{0.4} ? 1 : 0; });
}

TEST_P(ToneTest, WhiteBalanceMakesMeansOrPercentilesEqual) {
    for (const Depth depth : {Depth::u16, Depth::f32}) {
        const Picture picture = picture_of({64, 48, 3, depth}, Content::natural);
        const Analysis before = reference->analyze(picture.view());
        const std::vector<Statistics> rows = statistics(before);
        std::map<Channel, Real> mean, high;
        for (const Statistics& row : rows) {
            mean[row.channel] = *row.mean;
            for (const Percentile& one : row.percentiles)
                if (one.micro == 99000000) high[row.channel] = *one.value;
        }
        const Real target = (mean[Channel::red] + mean[Channel::green] + mean[Channel::blue]) / 3;
        const Picture copy = copy_of(picture, by(NormalizeMode::gray_world));
        const DepthTraits& traits = traits_of(depth);
        const Channel at[] = {Channel::blue, Channel::green, Channel::red};
        with_depth(depth, [&](auto sample) {
            for (std::int64_t y = 0; y < 48; ++y)
                for (std::int64_t x = 0; x < 64; ++x)
                    for (int c = 0; c < 3; ++c) {
                        Real wanted =
                            core::value_of(load<decltype(sample)>(picture.view(), x, y, c)) * target / mean[at[c]];
                        if (!traits.floating) wanted = std::min<Real>(wanted, traits.highest);
                        ASSERT_NEAR(static_cast<double>(core::value_of(load<decltype(sample)>(copy.view(), x, y, c))),
                                    static_cast<double>(wanted),
                                    traits.floating ? 1e-6 * static_cast<double>(wanted) : 0.5000001);
                    }
        });
        Normalization patch = by(NormalizeMode::white_patch, [](Normalization& of) { of.high = 50; });
        const Picture balanced = copy_of(picture, patch);
        const Analysis after = reference->analyze(balanced.view());
        const auto median = [](const Analysis& of, Channel channel) {
            for (const Statistics& row : statistics(of))
                if (row.channel == channel)
                    for (const Percentile& one : row.percentiles)
                        if (one.micro == 50000000) return *one.value;
            return 0.0;
        };
        const double most =
            std::max({median(before, Channel::red), median(before, Channel::green), median(before, Channel::blue)});
        for (const Channel channel : {Channel::red, Channel::green, Channel::blue})
            EXPECT_NEAR(median(after, channel), most, 2e-3 * most) << to_string(channel);
    }
    const Picture gray({16, 16, 1, Depth::u8}, packed, Content::natural);
    expect_equal(copy_of(gray, by(NormalizeMode::gray_world)).view(), gray.view());
}

TEST_P(ToneTest, MatchGivesTheHistogramOfTheReference) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::s16, Depth::u32, Depth::f32, Depth::f64})
        for (const int channels : {1, 3}) {
            const Picture picture = picture_of({45, 33, channels, depth}, Content::natural),
                          other = picture_of({28, 39, channels, depth}, Content::gaussian);
            Normalization asked = by(NormalizeMode::match);
            asked.joint = false;
            asked.reference = reference_of(picture.view());
            // An image that is its own reference does not change.
            expect_equal(copy_of(picture, asked).view(), picture.view());
            asked.reference = reference_of(other.view());
            const Picture copy = copy_of(picture, asked);
            for (int c = 0; c < channels; ++c)
                with_depth(depth, [&](auto sample) {
                    using Sample = decltype(sample);
                    const auto sorted = [&](const Picture& of) {
                        std::vector<double> values;
                        for (std::int64_t y = 0; y < of.shape().height; ++y)
                            for (std::int64_t x = 0; x < of.shape().width; ++x)
                                values.push_back(core::value_of(load<Sample>(of.view(), x, y, c)));
                        std::sort(values.begin(), values.end());
                        return values;
                    };
                    const std::vector<double> got = sorted(copy), wanted = sorted(other), own = sorted(picture);
                    EXPECT_EQ(got.back(), wanted.back());
                    EXPECT_GE(got.front(), wanted.front());
                    // Each value lies between those of the reference at the ranks about its own.
                    for (std::size_t i = 0; i < got.size(); ++i) {
                        const auto through =
                            static_cast<double>(std::upper_bound(own.begin(), own.end(), own[i]) - own.begin());
                        const double place =
                            through / static_cast<double>(own.size()) * static_cast<double>(wanted.size());
                        const auto above = static_cast<std::size_t>(std::clamp(std::ceil(place + 1e-6), 1.0,
                                                                               static_cast<double>(wanted.size()))) -
                                           1;
                        const double half = traits_of(depth).floating ? std::fabs(wanted[above]) * 1e-6 : 0.5;
                        ASSERT_LE(got[i], wanted[above] + half) << i;
                    }
                });
        }
    const Picture bytes({8, 8, 1, Depth::u8}, packed, Content::random),
        words({8, 8, 1, Depth::u16}, packed, Content::random);
    Normalization asked = by(NormalizeMode::match);
    EXPECT_THROW(copy_of(bytes, asked), InvalidArgument);
    asked.reference = reference_of(words.view());
    EXPECT_THROW(copy_of(bytes, asked), InvalidArgument);
}

TEST_P(ToneTest, ClaheEqualsOpenCv) {
    const Size sizes[] = {{64, 48}, {61, 47}, {8, 8}, {1, 1}, {5, 3}, {200, 1}, {129, 250}};
    for (const Depth depth : {Depth::u8, Depth::u16})
        for (const Size& size : sizes)
            for (const Content content : {Content::natural, Content::random, Content::constant, Content::two_values})
                for (const double limit : {0.0, 1.0, 2.0, 40.0})
                    for (const auto& [across, down] : {std::pair(8, 8), {1, 1}, {3, 5}}) {
                        if (left_out()) continue;
                        // OpenCV 4.6 mirrors a side only as far as it reaches.
                        const Picture picture = picture_of({size.width, size.height, 1, depth}, content);
                        const Picture copy =
                            copy_of(picture, by(NormalizeMode::clahe, [&, x = across, y = down](Normalization& of) {
                                        of.clip_limit = limit;
                                        of.tiles_x = x;
                                        of.tiles_y = y;
                                    }));
                        const int type = depth == Depth::u8 ? CV_8U : CV_16U;
                        const cv::Mat image(static_cast<int>(size.height), static_cast<int>(size.width), type,
                                            const_cast<void*>(picture.view().data));
                        cv::Mat expected;
                        cv::createCLAHE(limit, {across, down})->apply(image, expected);
                        const cv::Mat got(expected.rows, expected.cols, type, const_cast<void*>(copy.view().data));
                        ASSERT_EQ(cv::norm(got, expected, cv::NORM_INF), 0)
                            << size.width << " x " << size.height << ", " << to_string(depth) << ", limit " << limit
                            << ", tiles " << across << "," << down << ", content " << static_cast<int>(content);
                    }
}

TEST_P(ToneTest, ClaheOfColorsUsesTheTablesOfLuma) {
    const Picture picture({57, 41, 3, Depth::u8}, packed, Content::natural);
    const Normalization joint = by(NormalizeMode::clahe, [](Normalization& of) { of.clip_limit = 3; });
    const Picture copy = copy_of(picture, joint);
    // A pixel whose colors are all its luma must get what OpenCV gives the image of luma there.
    cv::Mat image(41, 57, CV_8UC3, const_cast<void*>(picture.view().data)), luma, equalized;
    cv::cvtColor(image, luma, cv::COLOR_BGR2GRAY);
    cv::createCLAHE(3, {8, 8})->apply(luma, equalized);
    int grays = 0;
    for (int y = 0; y < luma.rows; ++y)
        for (int x = 0; x < luma.cols; ++x)
            for (int c = 0; c < 3; ++c)
                if (image.at<cv::Vec3b>(y, x)[c] == luma.at<std::uint8_t>(y, x)) {
                    ++grays;
                    ASSERT_EQ(load<std::uint8_t>(copy.view(), x, y, c), equalized.at<std::uint8_t>(y, x));
                }
    EXPECT_GT(grays, 100);
    Normalization separate = joint;
    separate.joint = false;
    const Picture each = copy_of(picture, separate);
    std::vector<cv::Mat> planes;
    cv::split(image, planes);
    for (int c = 0; c < 3; ++c) {
        cv::createCLAHE(3, {8, 8})->apply(planes[static_cast<std::size_t>(c)], equalized);
        for (int y = 0; y < luma.rows; ++y)
            for (int x = 0; x < luma.cols; ++x)
                ASSERT_EQ(load<std::uint8_t>(each.view(), x, y, c), equalized.at<std::uint8_t>(y, x));
    }
}

TEST_P(ToneTest, ClipBinsUpToWhiteMakeSmallLimitsWork) {
    // 12 bits in 16: a limit of 2 over all bins is one sample per bin.
    Picture picture({96, 96, 1, Depth::u16}, packed, Content::natural);
    for (std::int64_t y = 0; y < 96; ++y)
        for (std::int64_t x = 0; x < 96; ++x) picture.set(x, y, 0, load<std::uint16_t>(picture.view(), x, y, 0) / 16);
    const auto copy_with = [&](bool white) {
        return copy_of(picture, by(NormalizeMode::clahe, [&](Normalization& of) {
                           of.clip_limit = 2;
                           of.tiles_x = of.tiles_y = 1;
                           of.clip_white = white;
                           of.white = 4095;
                       }));
    };
    const Picture white = copy_with(true);
    // By hand: counts are clipped at 4 of 9216 samples over 4096 bins, and the rest spread over these bins.
    std::vector<int> counts(4096);
    for (std::int64_t y = 0; y < 96; ++y)
        for (std::int64_t x = 0; x < 96; ++x) ++counts[load<std::uint16_t>(picture.view(), x, y, 0)];
    int clipped = 0;
    for (int& count : counts) {
        clipped += std::max(count - 4, 0);
        count = std::min(count, 4);
    }
    for (int& count : counts) count += clipped / 4096;
    int rest = clipped % 4096;
    for (int i = 0, step = rest > 0 ? std::max(4096 / rest, 1) : 1; i < 4096 && rest > 0; i += step, --rest)
        ++counts[static_cast<std::size_t>(i)];
    std::vector<int> sums(4096);
    for (int i = 0, sum = 0; i < 4096; ++i)
        sums[static_cast<std::size_t>(i)] = sum += counts[static_cast<std::size_t>(i)];
    for (std::int64_t y = 0; y < 96; ++y)
        for (std::int64_t x = 0; x < 96; ++x)
            ASSERT_EQ(
                load<std::uint16_t>(white.view(), x, y, 0),
                std::rint(static_cast<float>(sums[load<std::uint16_t>(picture.view(), x, y, 0)]) * (65535.0f / 9216)));
}

TEST_P(ToneTest, BackgroundSubtractsTheSurfaceOfMedians) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::s16, Depth::f32, Depth::f64}) {
        const Shape shape{50, 37, 1, depth};
        const Picture picture = picture_of(shape, Content::natural);
        const Picture copy = copy_of(picture, by(NormalizeMode::background, [](Normalization& of) {
                                         of.tiles_x = 4;
                                         of.tiles_y = 3;
                                     }));
        const DepthTraits& traits = traits_of(depth);
        with_depth(depth, [&](auto sample) {
            using Sample = decltype(sample);
            const auto sample_of = [&](std::int64_t x, std::int64_t y) {
                return Real{core::value_of(load<Sample>(picture.view(), x, y, 0))};
            };
            Real median[3][4], center_x[4], center_y[3];
            for (int j = 0; j < 3; ++j)
                for (int i = 0; i < 4; ++i) {
                    std::vector<Real> values;
                    for (std::int64_t y = j * 37 / 3; y < (j + 1) * 37 / 3; ++y)
                        for (std::int64_t x = i * 50 / 4; x < (i + 1) * 50 / 4; ++x) values.push_back(sample_of(x, y));
                    std::sort(values.begin(), values.end());
                    median[j][i] = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
                    center_x[i] = static_cast<Real>(i * 50 / 4 + (i + 1) * 50 / 4) / 2;
                    center_y[j] = static_cast<Real>(j * 37 / 3 + (j + 1) * 37 / 3) / 2;
                }
            const auto place = [](const Real* centers, int n, Real at) {
                if (at <= centers[0]) return std::pair(0, Real{0});
                for (int i = 0; i + 1 < n; ++i)
                    if (at <= centers[i + 1]) return std::pair(i, (at - centers[i]) / (centers[i + 1] - centers[i]));
                return std::pair(n - 2, Real{1});
            };
            for (std::int64_t y = 0; y < 37; ++y)
                for (std::int64_t x = 0; x < 50; ++x) {
                    const auto [i, s] = place(center_x, 4, static_cast<Real>(x) + 0.5L);
                    const auto [j, t] = place(center_y, 3, static_cast<Real>(y) + 0.5L);
                    const Real surface = (median[j][i] * (1 - s) + median[j][i + 1] * s) * (1 - t) +
                                         (median[j + 1][i] * (1 - s) + median[j + 1][i + 1] * s) * t;
                    const Real wanted = sample_of(x, y) - surface,
                               got = core::value_of(load<Sample>(copy.view(), x, y, 0));
                    if (traits.floating)
                        ASSERT_NEAR(static_cast<double>(got), static_cast<double>(wanted),
                                    depth == Depth::f32 ? 1e-6 : 1e-12);
                    else
                        ASSERT_LE(std::fabs(got - std::max<Real>(wanted, traits.lowest)), 0.5L + 1e-9L);
                }
        });
    }
}

TEST_P(ToneTest, ExcludedSamplesDecideNothing) {
    const auto asked = [&] {
        std::vector<Normalization> all;
        for (const NormalizeTraits& traits : all_normalize_modes) {
            if (traits.kind == NormalizeKind::exact) continue;
            all.push_back(by(traits.mode, [](Normalization& of) {
                of.gamma = 1.8;
                of.level_low = 10;
                of.level_high = 90;
                of.clip_limit = 3;
                of.tiles_x = of.tiles_y = 2;
            }));
            if (traits.mode == NormalizeMode::stretch)
                for (const StretchInterval interval :
                     {StretchInterval::percentile, StretchInterval::zscale, StretchInterval::sigma})
                    all.push_back(by(traits.mode, [&](Normalization& of) { of.interval = interval; }));
        }
        return all;
    }();
    for (const Depth depth : {Depth::u8, Depth::s16, Depth::u32, Depth::f32, Depth::f64})
        for (const int channels : {1, 3})
            for (Normalization normalization : asked) {
                if (normalization.mode == NormalizeMode::clahe &&
                    (sample_bytes(depth) > 2 || traits_of(depth).floating))
                    continue;
                if (left_out()) continue;
                SCOPED_TRACE(std::string(to_string(depth)) + " by " + to_string(normalization.mode));
                const Shape shape{36, 28, channels, depth};
                const Picture one = picture_of(shape, Content::natural), other = picture_of(shape, Content::gaussian);
                Picture two = picture_of(shape, Content::natural);
                std::vector<std::uint8_t> mask(36 * 28, 1);
                for (std::int64_t i = 0; i < 36 * 28; ++i) {
                    if (scramble(static_cast<std::uint64_t>(i)) % 4 != 0) continue;
                    mask[static_cast<std::size_t>(i)] = 0;
                    for (int c = 0; c < channels; ++c)
                        put(two, i % 36, i / 36, c, traits_of(depth).floating ? 1e3 : traits_of(depth).highest);
                }
                if (normalization.mode == NormalizeMode::match) normalization.reference = reference_of(other.view());
                const Picture a = copy_of(one, normalization, {}, mask.data()),
                              b = copy_of(two, normalization, {}, mask.data());
                const std::size_t pixel = static_cast<std::size_t>(channels) * sample_bytes(a.shape().depth);
                for (std::int64_t i = 0; i < 36 * 28; ++i) {
                    if (!mask[static_cast<std::size_t>(i)]) continue;
                    const auto of = [&](const Picture& copy) {
                        return static_cast<const std::byte*>(copy.view().data) + i / 36 * copy.view().row_bytes +
                               i % 36 * static_cast<std::int64_t>(pixel);
                    };
                    ASSERT_EQ(std::memcmp(of(a), of(b), pixel), 0) << i;
                }
            }
}

TEST_P(ToneTest, ConstantAndSmallImagesHaveCopies) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f32, Depth::f64})
        for (const int channels : {1, 3, 4})
            for (const Size& size : {Size{1, 1}, {7, 5}})
                for (const Content content : {Content::constant, Content::lowest, Content::highest})
                    for (const NormalizeTraits& traits : all_normalize_modes) {
                        if (traits.mode == NormalizeMode::clahe &&
                            (sample_bytes(depth) > 2 || traits_of(depth).floating))
                            continue;
                        if (left_out()) continue;
                        const Picture picture = picture_of({size.width, size.height, channels, depth}, content);
                        Normalization normalization = by(traits.mode, [](Normalization& of) { of.level_high = 1; });
                        if (traits.mode == NormalizeMode::match) normalization.reference = reference_of(picture.view());
                        copy_of(picture, normalization);
                    }
}

TEST_P(ToneTest, StripsGiveTheSameBytesOrAreRefused) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (const NormalizeTraits& traits : all_normalize_modes) {
            if (traits.kind == NormalizeKind::exact) continue;
            const Picture picture = picture_of({40, 30, 3, depth}, Content::natural);
            Normalization normalization = by(traits.mode, [](Normalization& of) {
                of.gamma = 0.7;
                of.level_high = 1;
            });
            if (traits.mode == NormalizeMode::match) normalization.reference = reference_of(picture.view());
            Analysis analysis;
            if (needs_whole(depth, normalization)) {
                EXPECT_THROW(reference->analyze_strips(picture.view(), {}, analysis, &normalization), InvalidArgument);
                continue;
            }
            const Picture whole = copy_of(picture, normalization);
            Picture strips(whole.shape(), packed);
            const auto walk = reference->analyze_strips(picture.view(), {}, analysis, &normalization);
            const auto strip_of = [](auto view, std::int64_t y, std::int64_t rows) {
                view.data = reinterpret_cast<decltype(view.data)>(reinterpret_cast<std::uintptr_t>(view.data) +
                                                                  static_cast<std::uintptr_t>(y * view.row_bytes));
                view.height = rows;
                return view;
            };
            do
                for (std::int64_t y = 0; y < 30; y += 7)
                    walk->take(strip_of(picture.view(), y, std::min<std::int64_t>(7, 30 - y)));
            while (walk->end_pass());
            for (std::int64_t y = 0; y < 30; y += 11) {
                const std::int64_t rows = std::min<std::int64_t>(11, 30 - y);
                walk->copy(strip_of(picture.view(), y, rows), strip_of(strips.mutable_view(), y, rows));
            }
            expect_equal(strips.view(), whole.view());
        }
}

TEST_P(ToneTest, ATableOfASetIsThatOfTheImage) {
    for (const Depth depth : {Depth::u8, Depth::s16})
        for (const NormalizeTraits& traits : all_normalize_modes) {
            Normalization normalization = by(traits.mode);
            if (traits.kind != NormalizeKind::curve || needs_of(normalization) == NormalizeNeeds::nothing) continue;
            const Picture picture = picture_of({40, 30, 3, depth}, Content::natural),
                          other = picture_of({20, 30, 3, depth}, Content::gaussian);
            if (traits.mode == NormalizeMode::match) normalization.reference = reference_of(other.view());
            AnalysisRequest request;
            request.luma_histogram = true;
            Summary summary;
            summary.add(reference->analyze(picture.view(), request));
            const LutSet tables = make_luts(summary, depth, normalization);
            const Picture whole = copy_of(picture, normalization);
            Picture copy(whole.shape(), packed);
            apply_luts(tables, picture.view(), copy.mutable_view());
            expect_equal(copy.view(), whole.view());
        }
    const Picture floats({8, 8, 1, Depth::f32}, packed, Content::natural);
    Summary summary;
    summary.add(reference->analyze(floats.view()));
    EXPECT_THROW(make_luts(summary, Depth::f32, by(NormalizeMode::auto_gamma)), InvalidArgument);
}

TEST_P(ToneTest, ImpossibleRequestsAreRefused) {
    const Picture bytes({8, 8, 3, Depth::u8}, packed, Content::natural),
        floats({8, 8, 1, Depth::f32}, packed, Content::natural);
    const auto refused = [&](const Picture& picture, Normalization normalization) {
        Shape shape = picture.shape();
        shape.depth = copy_depth(shape, normalization);
        Picture output(shape, packed);
        Analysis result;
        EXPECT_THROW(engine->normalize(picture.view(), {}, normalization, output.mutable_view(), result),
                     InvalidArgument);
    };
    refused(bytes, by(NormalizeMode::gamma, [](Normalization& of) { of.gamma = 0; }));
    refused(bytes, by(NormalizeMode::levels));
    refused(bytes, by(NormalizeMode::clahe, [](Normalization& of) { of.tiles_x = 0; }));
    refused(bytes, by(NormalizeMode::clahe, [](Normalization& of) { of.tiles_x = 2.5; }));
    refused(bytes, by(NormalizeMode::clahe, [](Normalization& of) { of.depth = Depth::u16; }));
    refused(bytes, by(NormalizeMode::robust, [](Normalization& of) { of.depth = Depth::u16; }));
    refused(floats, by(NormalizeMode::clahe));
}

INSTANTIATE_TEST_SUITE_P(Engines, ToneTest, testing::ValuesIn(engines_under_test), label_of);

}  // namespace
}  // namespace gpuhist::test
