// Values of flags, and the sizes that are usual in a set, computed by hand.
#include "gpuhist/flags.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist {
namespace {

FlagNumbers::Channel channel(const std::string& name, double min, double max, double entropy, double low = 0,
                             double high = 0) {
    FlagNumbers::Channel one;
    one.name = name;
    one.min = min;
    one.max = max;
    one.entropy = entropy;
    one.clipped_low = low;
    one.clipped_high = high;
    return one;
}

TEST(Flags, EveryOneHasARowOfItsOwn) {
    for (std::size_t i = 0; i < flag_count; ++i) {
        EXPECT_EQ(static_cast<std::size_t>(all_flags[i].flag), i);
        EXPECT_LE(all_flags[i].least, all_flags[i].threshold) << all_flags[i].name;
        EXPECT_LE(all_flags[i].threshold, all_flags[i].most) << all_flags[i].name;
    }
}

TEST(Flags, ValuesFollowFromTheNumbersOfTheImage) {
    FlagNumbers image;
    image.width = 400;
    image.height = 100;
    image.channels = {channel("red", 0, 200, 5),
                      channel("green", 10, 255, 6),
                      channel("blue", 5, 5, 0),
                      channel("luma", 3, 220, 7, 0.125, 0.25),
                      channel("all", 0, 255, 7, 0.5, 0.5),
                      channel("alpha", 0, 65535, 16)};
    image.channels[0].nan = 3;
    image.channels[3].nan = 4;
    image.channels[5].inf = 2;
    EXPECT_DOUBLE_EQ(*flag_value(Flag::low_information, image), 11.0 / 3 + std::log2(3.0));
    EXPECT_EQ(flag_value(Flag::odd_aspect_ratio, image), 0.25);
    EXPECT_EQ(flag_value(Flag::odd_size, image), 200.0);
    EXPECT_EQ(flag_value(Flag::constant, image), 245.0);
    EXPECT_EQ(flag_value(Flag::clipped, image), 0.25);
    EXPECT_EQ(flag_value(Flag::nan, image), 5.0);
    for (const Flag undefined : {Flag::dark, Flag::light, Flag::low_contrast, Flag::blurry, Flag::noisy,
                                 Flag::grayscale, Flag::duplicate, Flag::near_duplicate})
        EXPECT_EQ(flag_value(undefined, image), std::nullopt) << traits_of(undefined).name;
    image.brightness_p99 = 0.5;
    image.brightness_p5 = 0.25;
    image.contrast_rms = 0.125;
    image.noise = 51;
    image.gray = 0;
    EXPECT_EQ(flag_value(Flag::dark, image), 0.5);
    EXPECT_EQ(flag_value(Flag::light, image), 0.25);
    EXPECT_EQ(flag_value(Flag::low_contrast, image), 0.125);
    EXPECT_EQ(flag_value(Flag::noisy, image), 0.2);
    EXPECT_EQ(flag_value(Flag::grayscale, image), std::nullopt);
    image.gray = 1;
    EXPECT_EQ(flag_value(Flag::grayscale, image), 1.0);
    image.channels[1].entropy.reset();  // of a type whose values are not counted
    EXPECT_EQ(flag_value(Flag::low_information, image), std::nullopt);
}

TEST(Flags, OfGrayImagesAndBands) {
    FlagNumbers image;
    image.width = image.height = 3;
    image.channels = {channel("gray", 7, 7, 0, 0, 0.75)};
    EXPECT_EQ(flag_value(Flag::grayscale, image), 1.0);
    EXPECT_EQ(flag_value(Flag::low_information, image), 0.0);
    EXPECT_EQ(flag_value(Flag::constant, image), 0.0);
    EXPECT_EQ(flag_value(Flag::clipped, image), 0.75);
    image.channels = {channel("c0", 1, 2, 1), channel("c1", 3, 9, 3), channel("all", 1, 9, 2, 0.5, 0)};
    EXPECT_EQ(flag_value(Flag::grayscale, image), std::nullopt);
    EXPECT_EQ(flag_value(Flag::low_information, image), 3.0);
    EXPECT_EQ(flag_value(Flag::constant, image), 6.0);
    EXPECT_EQ(flag_value(Flag::clipped, image), 0.5);
}

TEST(Flags, TheWidthOfEdgesIsThatOfAGaussian) {
    // A step of height h blurred by a Gaussian of s: the integrals of (8 f')^2 and f''^2 along it.
    FlagNumbers image;
    const double pi = std::acos(-1.0);
    for (const double s : {1.0, 2.5}) {
        image.integers = false;
        image.sharpness_tenengrad = 64 / (2 * s * std::sqrt(pi));
        image.sharpness_laplacian = 1 / (4 * s * s * s * std::sqrt(pi));
        EXPECT_NEAR(*flag_value(Flag::blurry, image), s, 1e-12);
        image.integers = true;
        *image.sharpness_laplacian += 5.0 / 3;  // of the rounding of samples
        EXPECT_NEAR(*flag_value(Flag::blurry, image), s, 1e-9);
    }
    image.sharpness_laplacian = 1;
    EXPECT_EQ(flag_value(Flag::blurry, image), 1e6);
    image.sharpness_tenengrad = 0;
    EXPECT_EQ(flag_value(Flag::blurry, image), std::nullopt);
}

TEST(Flags, ThresholdsThemselvesBearNone) {
    EXPECT_TRUE(is_flagged(Flag::dark, 0.3, 0.32));
    EXPECT_FALSE(is_flagged(Flag::dark, 0.32, 0.32));
    EXPECT_TRUE(is_flagged(Flag::noisy, 0.33, 0.32));
    EXPECT_FALSE(is_flagged(Flag::noisy, 0.32, 0.32));
    EXPECT_TRUE(is_flagged(Flag::constant, 0, 0));
    EXPECT_FALSE(is_flagged(Flag::constant, 1, 0));
    EXPECT_TRUE(is_flagged(Flag::near_duplicate, 4, 4));
    EXPECT_TRUE(is_flagged(Flag::grayscale, 1, 0));
}

TEST(Flags, UsualSizesAreThoseOfTheQuartiles) {
    // numpy.percentile([1, 2, 3, 4, 10], [25, 75]) is [2, 4]; of [1, 2, 3, 10] it is [1.75, 4.75].
    const UsualSizes five = usual_sizes({10, 2, 3, 1, 4}, 3);
    EXPECT_EQ(five.lowest, -4);
    EXPECT_EQ(five.highest, 10);
    EXPECT_EQ(five.broken_by(10), std::nullopt);
    EXPECT_EQ(five.broken_by(10.5), 10.0);
    EXPECT_EQ(five.broken_by(-5), -4.0);
    const UsualSizes four = usual_sizes({10, 3, 2, 1}, 1);
    EXPECT_EQ(four.lowest, -1.25);
    EXPECT_EQ(four.highest, 7.75);
    const UsualSizes same = usual_sizes({5, 5, 5, 5, 5, 6}, 3);
    EXPECT_EQ(same.broken_by(5), std::nullopt);
    EXPECT_EQ(same.broken_by(6), 5.0);
    EXPECT_EQ(usual_sizes({7}, 3).broken_by(7), std::nullopt);
}

}  // namespace
}  // namespace gpuhist
