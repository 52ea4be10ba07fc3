/// Requests: the numbers that an engine should find.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/measures.hpp"

namespace gpuhist {

enum class Channel : std::uint8_t;
enum class Depth : std::uint8_t;
template <class Void>
struct BasicImageView;
using ImageView = BasicImageView<const void>;

/// Range of sample values: the half-open interval [lower, upper).
struct Range {
    double lower = 0;
    double upper = 0;
    friend bool operator==(const Range& a, const Range& b) { return a.lower == b.lower && a.upper == b.upper; }
};

/// Detail in which f32 images are analyzed. `brief` leaves out the most expensive numbers: order statistics (median and
/// percentiles) and the third and fourth moments (skewness and kurtosis). For other depths, all numbers follow from the
/// counts. The percentile mode of normalization (NormalizeMode::percentile) needs order statistics, so it analyzes f32
/// in full in any case.
enum class Detail : std::uint8_t { brief, full };

/// List of different percentiles, in the order in which they are reported. A percentile is resolved to 1e-6 percent.
/// The list is plain data: copying it takes no memory.
class Percentiles {
  public:
    static constexpr std::size_t most = 32;  ///< percentiles in a list

    /// Makes the usual list: 1, 5, 25, 50, 75, 95 and 99.
    Percentiles();
    /// Makes a list of percentiles, given in percent. Throws InvalidArgument for an empty list, more than `most`
    /// percentiles, values outside of 0 to 100, and equal values.
    explicit Percentiles(const std::vector<double>& percents);

    /// Adds a percentile to those of a request that engines need for measures. At most 8 can be added; one that is
    /// there stays.
    void add(double percent);

    std::size_t size() const { return size_; }
    /// Percentile i in units of 1e-6 percent. By this exact number, lists are written to files and columns are found.
    std::uint32_t micro(std::size_t i) const { return micro_[i]; }
    /// Name of the column of percentile i: `p01`, `p0.5`, `p99.9`, `p100`, and `median` for 50.
    std::string name(std::size_t i) const;

    friend bool operator==(const Percentiles& a, const Percentiles& b) {
        return a.size_ == b.size_ && a.micro_ == b.micro_;
    }

  private:
    std::array<std::uint32_t, most + 8> micro_{};
    std::size_t size_ = 0;
};

/// Rules for straight and premultiplied alpha.
enum class AlphaRule : std::uint8_t {
    row,     ///< alpha is a channel of its own and excludes nothing
    mask,    ///< pixels of alpha 0 are excluded, from its own channel too
    weight,  ///< samples are weighted with the straight alpha of their pixel (Analysis::weighted), and alpha is not
             ///< measured. In f16, alpha over 1 weighs 1, and pixels with NaN or negative alpha are excluded;
             ///< `divide_by_alpha` makes premultiplied colors straight. In device memory: only u8, and u16 up to 2^30
             ///< pixels
    ignore   ///< not measured
};

/// Facts of a rule: one row of the table of rules.
struct AlphaTraits {
    AlphaRule rule;
    const char* name;  ///< in files and options
    bool excludes;     ///< whether alpha excludes pixels
};

inline constexpr AlphaTraits all_alpha_rules[] = {
    {AlphaRule::row, "row", false},
    {AlphaRule::mask, "mask", true},
    {AlphaRule::weight, "weight", true},
    {AlphaRule::ignore, "ignore", false},
};

/// Row of a rule in the table. The rule must be one of the enumeration.
constexpr const AlphaTraits& traits_of(AlphaRule rule) {
    return all_alpha_rules[static_cast<std::size_t>(rule)];
}

/// Validity: rules for the valid samples of an image, in addition to the mask of its view. A sample belongs to the
/// first of these classes that applies: masked (by its pixel), nodata, NaN, infinite, valid. A sample of luma belongs
/// to the first that applies to one of its colors. Every number is computed from valid samples. Values and intervals
/// without a channel apply to all channels but alpha.
struct Validity {
    /// Value that stands for no data, which may be NaN. For floats, it is rounded to the type of the samples
    /// (`nodata_in`).
    struct Value {
        std::optional<Channel> channel{};  ///< absent: all but alpha
        double value = 0;
        friend bool operator==(const Value& a, const Value& b) {
            return a.channel == b.channel && (a.value == b.value || (a.value != a.value && b.value != b.value));
        }
    };
    /// Closed interval. Its ends are rounded like such values, or are infinite. Samples outside of it are nodata; NaN
    /// stays NaN.
    struct Interval {
        std::optional<Channel> channel{};  ///< absent: all but alpha and those with an interval of their own
        double lowest = 0, highest = 0;
        friend bool operator==(const Interval& a, const Interval& b) {
            return a.channel == b.channel && a.lowest == b.lowest && a.highest == b.highest;
        }
    };
    /// Value and interval for the band with this name in files. Engines do not know the names of bands: `rules_for`
    /// turns these into rules for the channels of an image.
    struct BandValue {
        std::string band;
        double value = 0;
        friend bool operator==(const BandValue& a, const BandValue& b) {
            return a.band == b.band && (a.value == b.value || (a.value != a.value && b.value != b.value));
        }
    };
    struct BandInterval {
        std::string band;
        double lowest = 0, highest = 0;
        friend bool operator==(const BandInterval& a, const BandInterval& b) {
            return a.band == b.band && a.lowest == b.lowest && a.highest == b.highest;
        }
    };
    std::vector<Value> nodata;
    std::vector<Interval> valid;
    bool nodata_any = false;  ///< one nodata sample excludes its pixel: all samples of the pixel are nodata
    AlphaRule alpha = AlphaRule::row;
    std::uint32_t opaque = 0;  ///< AlphaRule::weight: weight of samples in an image without alpha. 0 stands for the
                               ///< highest value of the depth, or 1 for floats, which is the most. Set it to the white
                               ///< of a file if that is lower, so that images are pooled by fractions of white
    std::vector<BandValue> nodata_of_bands{};
    std::vector<BandInterval> valid_of_bands{};

    friend bool operator==(const Validity& a, const Validity& b) {
        return a.nodata == b.nodata && a.valid == b.valid && a.nodata_any == b.nodata_any && a.alpha == b.alpha &&
               a.opaque == b.opaque && a.nodata_of_bands == b.nodata_of_bands && a.valid_of_bands == b.valid_of_bands;
    }
};

/// Rules for an image whose samples have these names (`names_of_samples`). Each rule that names a channel becomes a
/// rule for the place of that name. Rules for channels that the image lacks are left out.
Validity rules_for(const ImageView& image, const std::vector<std::string>& names, const Validity& validity);

/// Text of the rule for alpha, in files and options.
std::string alpha_text(const Validity& validity);
/// Sets the rule for alpha from such a text. Throws InvalidArgument for another text; the message names the rules.
void set_alpha(Validity& validity, const std::string& text);

/// Value as a sample of a depth; for floats, it is rounded to the nearest. Absent if no sample can have it: for values
/// that integers cannot hold exactly, and for finite values that round to infinity.
std::optional<double> nodata_in(Depth depth, double value);

/// Request for an analysis. Images of all depths but f32 are always counted by value, and ignore `bins` and `range`:
/// `histogram()` makes any histogram from their counts afterwards.
struct AnalysisRequest {
    /// Whether luma has a histogram. If false, there is only `Analysis::brightness`, and no channel `luma`. f32 ignores
    /// it.
    bool luma_histogram = true;
    std::uint32_t bins = 256;  ///< f32: number of equal bins over the range, 1 to 2^24
    /// f32: range of the bins. If absent, it goes from the finite minimum to the finite maximum of all channels, and
    /// the maximum is in the last bin.
    std::optional<Range> range;
    Detail detail = Detail::full;  ///< f32; other depths ignore it
    Percentiles percentiles{};     ///< f32 in full: percentiles whose order statistics are found; other depths give any
    std::shared_ptr<const Validity> validity{};  ///< null: all samples of unmasked pixels are valid
    Measures measures{};                         ///< measures to find in addition to the counts; regions have none

    friend bool operator==(const AnalysisRequest& a, const AnalysisRequest& b) {
        const bool same = a.validity == b.validity || (a.validity && b.validity && *a.validity == *b.validity);
        return a.luma_histogram == b.luma_histogram && a.bins == b.bins && a.range == b.range && a.detail == b.detail &&
               a.percentiles == b.percentiles && a.measures == b.measures && same;
    }
};

}  // namespace gpuhist
