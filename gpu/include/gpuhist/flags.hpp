/// Flags: unusual properties of an image. Each flag compares a measured number with a threshold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/duplicates.hpp"

namespace gpuhist {

enum class Flag : std::uint8_t {
    dark,
    light,
    low_information,
    low_contrast,
    blurry,
    noisy,
    odd_aspect_ratio,
    odd_size,
    grayscale,
    constant,
    clipped,
    nan,
    duplicate,
    near_duplicate
};

/// Side of the threshold on which a value gives an image the flag.
enum class FlagSide : std::uint8_t {
    below,    ///< value < threshold
    above,    ///< value > threshold
    at_most,  ///< value <= threshold
    outside,  ///< odd_size: the threshold is a factor of the whole set's spread
    present   ///< any value; there is no threshold
};

/// Facts of a flag: one row of the table of flags. All code that depends on a flag asks here.
struct FlagTraits {
    Flag flag;
    const char* name;     ///< in flags.csv and in policies
    FlagSide side;        ///< side of the values that give the flag
    double threshold;     ///< default
    double least, most;   ///< bounds of thresholds
    const char* value;    ///< definition of the value, ASCII
    const char* columns;  ///< columns of quality.csv that the value needs, separated by spaces
    bool whole;           ///< whether thresholds are whole numbers

    bool has_threshold() const { return side != FlagSide::present; }
};

/// Table of all flags, in the order of their rows.
inline constexpr FlagTraits all_flags[] = {
    {Flag::dark, "dark", FlagSide::below, 0.32, 0, 1, "brightness_p99", "brightness_p99", false},
    {Flag::light, "light", FlagSide::above, 0.95, 0, 1, "brightness_p5", "brightness_p5", false},
    {Flag::low_information, "low_information", FlagSide::below, 3, 0, 64,
     "Mean entropy of the colors or bands + log2 of their number.", "", false},
    {Flag::low_contrast, "low_contrast", FlagSide::below, 0.015, 0, 1, "contrast_rms", "contrast_rms", false},
    {Flag::blurry, "blurry", FlagSide::above, 1, 0, 1e6,
     "Width of edges: sqrt(sharpness_tenengrad / (128 L)), where L = sharpness_laplacian - 5/3 for integers.",
     "sharpness_laplacian sharpness_tenengrad", false},
    {Flag::noisy, "noisy", FlagSide::above, 0.035, 0, 1, "noise / white", "noise", false},
    {Flag::odd_aspect_ratio, "odd_aspect_ratio", FlagSide::below, 0.35, 0, 1, "The shorter side / the longer side.", "",
     false},
    {Flag::odd_size, "odd_size", FlagSide::outside, 3, 0, 1e6, "sqrt(width) sqrt(height)", "", false},
    {Flag::grayscale, "grayscale", FlagSide::present, 0, 0, 0,
     "1 if the image is gray, or its colors are equal in every pixel.", "gray", false},
    {Flag::constant, "constant", FlagSide::at_most, 0, 0, 1.7976931348623157e308,
     "The largest max - min of a color or band.", "", false},
    {Flag::clipped, "clipped", FlagSide::above, 0.1, 0, 1,
     "The larger of clipped_low and clipped_high, of luma, gray or all.", "", false},
    {Flag::nan, "nan", FlagSide::above, 0, 0, 9007199254740992.0, "nan + inf over all channels but luma and all.", "",
     true},
    {Flag::duplicate, "duplicate", FlagSide::present, 0, 0, 0, "0, the distance to the first equal image.",
     "pixels_hash", false},
    {Flag::near_duplicate, "near_duplicate", FlagSide::at_most, 4, 0, most_distance,
     "Distance to the first image of the group, in bits of the hash.", "dhash", true},
};
inline constexpr std::size_t flag_count = sizeof all_flags / sizeof *all_flags;

/// Row of a flag in the table. The flag must be one of the enumeration.
constexpr const FlagTraits& traits_of(Flag flag) {
    return all_flags[static_cast<std::size_t>(flag)];
}

/// Thresholds of all flags. An absent threshold switches its flag off; flags without threshold have 0.
class FlagThresholds {
  public:
    /// Makes the defaults.
    constexpr FlagThresholds() {
        for (const FlagTraits& traits : all_flags) values_[static_cast<std::size_t>(traits.flag)] = traits.threshold;
    }
    constexpr const std::optional<double>& of(Flag flag) const { return values_[static_cast<std::size_t>(flag)]; }
    constexpr void set(Flag flag, std::optional<double> threshold) {
        values_[static_cast<std::size_t>(flag)] = threshold;
    }

    friend bool operator==(const FlagThresholds& a, const FlagThresholds& b) { return a.values_ == b.values_; }

  private:
    std::array<std::optional<double>, flag_count> values_{};
};

/// Numbers of an image from which its flags follow, by the names of their columns. Undefined numbers are absent.
struct FlagNumbers {
    struct Channel {
        std::string name;
        std::optional<double> min, max, entropy, clipped_low, clipped_high;
        double nan = 0, inf = 0;
    };
    double width = 0, height = 0;
    bool integers = true;  ///< the type of the samples
    double white = 255;
    std::vector<Channel> channels;
    std::optional<double> sharpness_laplacian, sharpness_tenengrad, noise, contrast_rms, brightness_p5, brightness_p99,
        gray;
};

/// Value from which a flag of a single image follows. Absent if it is undefined, and for duplicates, which need the
/// whole set.
std::optional<double> flag_value(Flag flag, const FlagNumbers& image);

/// Returns whether a value gives an image a flag. Not for FlagSide::outside.
bool is_flagged(Flag flag, double value, double threshold);

/// Usual sizes in a set: from q1 - f (q3 - q1) to q3 + f (q3 - q1), with the quartiles as `numpy.percentile`
/// interpolates them.
struct UsualSizes {
    double lowest = 0, highest = 0;
    /// Returns the bound that a size is beyond; absent for a usual size.
    std::optional<double> broken_by(double size) const {
        if (size < lowest) return lowest;
        return size > highest ? std::optional(highest) : std::nullopt;
    }
};

/// Usual sizes in a set with images of these sizes, at least one, in any order.
UsualSizes usual_sizes(std::vector<double> sizes, double factor);

}  // namespace gpuhist
