/// Measures: numbers of an image that do not follow from the counts of its samples, because they depend on the places
/// of the samples, or on several channels of a pixel together.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gpuhist {

enum class ColumnType : std::uint8_t;
struct Analysis;

/// Measures. Each has its formulas in a file of gpu/measures.
enum class Measure : std::uint8_t {
    sharpness_laplacian,
    sharpness_tenengrad,
    noise,
    colorfulness,
    contrast,
    brightness,
    exposure,
    gray,
    thresholds,
    hashes,
};

/// Facts of a measure: one row of the table of measures. All code that depends on a measure asks here.
struct MeasureTraits {
    Measure measure;
    const char* name;    ///< in requests
    bool reads_pixels;   ///< whether it needs the pixels; else it follows from the counts of luma or gray
    bool merges = true;  ///< whether findings of two images can be merged; else merged images have none
    /// Percentiles in percent of luma or gray that it needs, of gray alone if it reads the pixels; 0: none.
    std::array<std::uint8_t, 7> percentiles{};
    bool as_stored = false;      ///< whether it reads all pixels as they are stored, excluded pixels and bands too
    bool neighborhoods = false;  ///< whether it reads neighborhoods, in shrunk images: see Measures::reduce_to
};

/// Table of all measures. The luma of a gray image is its samples. The neighborhood of a pixel is the 3 x 3 pixels
/// around it. Pixels with an excluded or non-finite color are left out, together with all neighborhoods that contain
/// them, and so are terms that overflow a double. Images with only bands have no measure but the hash of their pixels.
/// Images under 3 x 3 pixels have no measures of neighborhoods, and gray images have no colorfulness.
inline constexpr MeasureTraits all_measures[] = {
    {Measure::sharpness_laplacian, "sharpness_laplacian", true, true, {}, false, true},
    {Measure::sharpness_tenengrad, "sharpness_tenengrad", true, true, {}, false, true},
    {Measure::noise, "noise", true, true, {}, false, true},
    {Measure::colorfulness, "colorfulness", true},
    {Measure::contrast, "contrast", false, true, {1, 99}},
    {Measure::brightness, "brightness", true, false, {1, 5, 10, 15, 90, 95, 99}},
    {Measure::exposure, "exposure", true},
    {Measure::gray, "gray", true},
    {Measure::thresholds, "thresholds", false},
    {Measure::hashes, "hashes", true, false, {}, true},
};

/// Row of a measure in the table. The measure must be one of the enumeration.
constexpr const MeasureTraits& traits_of(Measure measure) {
    return all_measures[static_cast<std::size_t>(measure)];
}

/// Set of measures, and how they are measured. A plain value that takes no memory.
class Measures {
  public:
    constexpr Measures() = default;
    /// Set of all measures.
    static constexpr Measures quality() {
        Measures all;
        for (const MeasureTraits& traits : all_measures) all.add(traits.measure);
        return all;
    }

    static constexpr Measures of(Measure measure) {
        Measures one;
        one.add(measure);
        return one;
    }

    constexpr void add(Measure measure) { bits_ |= bit(measure); }
    constexpr bool has(Measure measure) const { return (bits_ & bit(measure)) != 0; }
    /// Returns whether this set contains all of another set.
    constexpr bool contain(const Measures& others) const { return (others.bits_ & ~bits_) == 0; }
    constexpr bool intersects(const Measures& others) const { return (others.bits_ & bits_) != 0; }
    constexpr bool empty() const { return bits_ == 0; }
    /// This set without the measures of another set.
    constexpr Measures without(const Measures& others) const {
        Measures some = *this;
        some.bits_ &= ~others.bits_;
        return some;
    }

    /// Reduces larger images, by exact averages of areas, to this length of the longest side before sharpness and noise
    /// are measured: sides as `reduced_sides`. An average of integers is a whole number, with halves rounded up. Areas
    /// with an excluded or non-finite sample are excluded. 0: no image is reduced.
    constexpr void reduce_to(std::uint32_t longest_side) { longest_side_ = longest_side; }
    constexpr std::uint32_t longest_side() const { return longest_side_; }

    /// Value of white that decides which samples of f32 are dark or bright: that of Analysis. 0: 1.
    constexpr void refer_to(double white) { white_ = white; }
    constexpr double white() const { return white_ > 0 ? white_ : 1; }

    /// Measures of this set that read only valid pixels, or all pixels as they are stored.
    constexpr Measures of_pixels(bool as_stored = false) const {
        return those([&](const MeasureTraits& traits) { return traits.reads_pixels && traits.as_stored == as_stored; });
    }

    /// Adds measures by word: `quality` for all, or the name of one. Throws InvalidArgument for other words; the
    /// message lists the measures.
    void add(std::string_view word);
    /// Names of the measures in the order of the table, separated by commas.
    std::string text() const;

    friend constexpr bool operator==(const Measures& a, const Measures& b) {
        return a.bits_ == b.bits_ && a.longest_side_ == b.longest_side_ && a.white_ == b.white_;
    }

  private:
    template <class Is>
    constexpr Measures those(const Is& is) const {
        Measures some;
        some.longest_side_ = longest_side_;
        some.white_ = white_;
        for (const MeasureTraits& traits : all_measures)
            if (is(traits) && has(traits.measure)) some.add(traits.measure);
        return some;
    }
    static constexpr std::uint32_t bit(Measure measure) { return std::uint32_t{1} << static_cast<unsigned>(measure); }
    std::uint32_t bits_ = 0;
    std::uint32_t longest_side_ = 0;
    double white_ = 0;
};

/// Value of a measure: nothing if it is undefined.
using MeasureValue = std::variant<std::monostate, std::uint64_t, double, std::string>;

/// Column of a measure, which has one or several.
struct MeasureColumn {
    Measure measure;
    const char* name;
    const char* unit;        ///< as in Column
    ColumnType type;         ///< type of its values
    const char* definition;  ///< a sentence, ASCII
    const char* source;      ///< tool that computes the same value
    const char* images;      ///< images that have it
};

/// Columns of all measures, in the order of the files.
const std::vector<MeasureColumn>& measure_columns();

/// Values of an image, one per column of `measure_columns()`; nothing for measures that were not requested.
std::vector<MeasureValue> measure_values(const Analysis& image);

/// Value in the column with this name. Nothing if it is undefined, or if the measure was not requested. Throws
/// InvalidArgument for another name.
MeasureValue measure_value(const Analysis& image, std::string_view column);

}  // namespace gpuhist
