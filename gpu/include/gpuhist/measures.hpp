/// Measures: numbers of a whole image that do not follow from the counts of its samples, since they depend on where
/// these lie, or on several channels of a pixel together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist {

enum class Depth : std::uint8_t;
struct Measured;

/// Measures, each with its formula in one file of gpu/measures.
enum class Measure : std::uint8_t { sharpness_laplacian, sharpness_tenengrad, noise, colorfulness };

/// Measure's facts, one row of a table: whatever depends on the measure asks here.
struct MeasureTraits {
    Measure measure;
    const char* name;        ///< in requests, and of its column
    const char* unit;        ///< of its number
    const char* definition;  ///< a sentence, ASCII
    const char* source;      ///< tool whose number it equals
    const char* images;      ///< those that have it
};

/// Luma of gray images is their samples. A pixel's neighborhood is the 3 x 3 pixels around it. Pixels with an excluded
/// or non-finite color are left out, with all neighborhoods that they are in, and so is what overflows a double. Bands
/// have no measures, images under 3 x 3 pixels none of neighborhoods, and gray ones no colorfulness.
inline constexpr MeasureTraits all_measures[] = {
    {Measure::sharpness_laplacian, "sharpness_laplacian", "sample value^2",
     "Population variance of luma's Laplacian, 0 1 0 / 1 -4 1 / 0 1 0, with the border reflected (101).",
     "cv::Laplacian", "--quality, 3 x 3 pixels"},
    {Measure::sharpness_tenengrad, "sharpness_tenengrad", "sample value^2",
     "Mean of Gx^2 + Gy^2, luma's 3 x 3 Sobel gradients, with the border reflected (101).", "cv::Sobel",
     "--quality, 3 x 3 pixels"},
    {Measure::noise, "noise", "sample value",
     "sqrt(pi / 2) sum abs(N) / (6 n), N luma's 1 -2 1 / -2 4 -2 / 1 -2 1 at the n pixels inside the border "
     "(Immerkaer).",
     "scipy.signal.convolve2d", "--quality, 3 x 3 pixels"},
    {Measure::colorfulness, "colorfulness", "sample value",
     "std of R - G and (R + G) / 2 - B together, + 0.3 of their mean's distance from gray (Hasler, Suesstrunk).",
     "numpy", "--quality, colors"},
};

/// Row of a measure. A value outside the enumeration is not allowed.
constexpr const MeasureTraits& traits_of(Measure measure) {
    return all_measures[static_cast<std::size_t>(measure)];
}

/// Set of measures. A plain value.
class Measures {
  public:
    constexpr Measures() = default;
    /// Measures of a picture's quality: all that need no parameters.
    static constexpr Measures quality() {
        Measures all;
        for (const MeasureTraits& traits : all_measures) all.add(traits.measure);
        return all;
    }

    constexpr void add(Measure measure) { bits_ |= bit(measure); }
    constexpr bool has(Measure measure) const { return (bits_ & bit(measure)) != 0; }
    /// Verdict on another set: whether all of it is in this one.
    constexpr bool contain(const Measures& others) const { return (others.bits_ & ~bits_) == 0; }
    constexpr bool empty() const { return bits_ == 0; }

    /// Adds measures by their word: `quality`, or the name of one. Throws InvalidArgument, which lists them, for
    /// another.
    void add(std::string_view word);
    /// Names in the order of the table, with commas between.
    std::string text() const;

    friend constexpr bool operator==(const Measures& a, const Measures& b) { return a.bits_ == b.bits_; }

  private:
    static constexpr std::uint32_t bit(Measure measure) { return std::uint32_t{1} << static_cast<unsigned>(measure); }
    std::uint32_t bits_ = 0;
};

/// Number that a measure found in an image of a depth; absent where it is undefined: it is of no pixel.
std::optional<double> number_of(const Measured& found, Depth depth);

/// Number of one measure among those that were found; absent too where it was not asked for.
std::optional<double> number_of(const std::vector<Measured>& found, Measure measure, Depth depth);

}  // namespace gpuhist
