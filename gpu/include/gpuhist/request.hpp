/// Requests: what an engine is asked to find.
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

/// Range of sample values: the half-open interval [lower, upper).
struct Range {
    double lower = 0;
    double upper = 0;
    friend bool operator==(const Range& a, const Range& b) { return a.lower == b.lower && a.upper == b.upper; }
};

/// Detail in which f32 images are analyzed. `brief` leaves out what costs most: order statistics (median and
/// percentiles) and the third and fourth moments (skewness and kurtosis). Of other depths all follow from the counts.
/// A stretch between percentiles (NormalizeMode::percentile) of f32 needs order statistics, and analyzes in full
/// whatever is asked.
enum class Detail : std::uint8_t { brief, full };

/// List of percentiles, each once, in the order in which they are reported. A percent is resolved to 1e-6 of it. The
/// list is plain data: copying it takes no memory.
class Percentiles {
  public:
    static constexpr std::size_t most = 32;  ///< percentiles in a list

    /// Makes the usual list: 1, 5, 25, 50, 75, 95 and 99.
    Percentiles();
    /// Makes a list of percents. Throws InvalidArgument for an empty one, more than `most`, one outside 0 to 100, and
    /// one that is there twice.
    explicit Percentiles(const std::vector<double>& percents);

    std::size_t size() const { return size_; }
    /// Percentile i, in units of 1e-6 percent: the exact number by which lists are written to files and columns found.
    std::uint32_t micro(std::size_t i) const { return micro_[i]; }
    /// Name of percentile i's column: `p01`, `p0.5`, `p99.9`, `p100`, and `median` for 50.
    std::string name(std::size_t i) const;

    friend bool operator==(const Percentiles& a, const Percentiles& b) {
        return a.size_ == b.size_ && a.micro_ == b.micro_;
    }

  private:
    std::array<std::uint32_t, most> micro_{};
    std::size_t size_ = 0;
};

/// Rules for straight and premultiplied alpha.
enum class AlphaRule : std::uint8_t {
    row,     ///< a row of its own, which decides nothing
    mask,    ///< pixels of alpha 0 are excluded, in its own row too
    weight,  ///< samples count as often as the alpha of their pixel says, which has no row: Analysis::weighted; in
             ///< device memory of 16 bits up to 2^30 pixels
    ignore   ///< no row
};

/// Rule's facts, one row of a table.
struct AlphaTraits {
    AlphaRule rule;
    const char* name;  ///< in files and options
    bool excludes;     ///< pixels, by their alpha
};

inline constexpr AlphaTraits all_alpha_rules[] = {
    {AlphaRule::row, "row", false},
    {AlphaRule::mask, "mask", true},
    {AlphaRule::weight, "weight", true},
    {AlphaRule::ignore, "ignore", false},
};

/// Row of a rule. A value outside the enumeration is not allowed.
constexpr const AlphaTraits& traits_of(AlphaRule rule) {
    return all_alpha_rules[static_cast<std::size_t>(rule)];
}

/// Validity: rules for the valid samples of an image, beside the view's mask. A sample is, by the first that applies to
/// it, masked (by its pixel), nodata, NaN, infinite, or valid; of luma the first that applies to one of its colors.
/// Every number is of valid samples. Values and intervals for no channel are for all but alpha.
struct Validity {
    /// Value that stands for no data; NaN: NaN does. It is rounded to the samples' type (`nodata_in`).
    struct Value {
        std::optional<Channel> channel{};  ///< absent: all but alpha
        double value = 0;
        friend bool operator==(const Value& a, const Value& b) {
            return a.channel == b.channel && (a.value == b.value || (a.value != a.value && b.value != b.value));
        }
    };
    /// Closed interval of values; samples outside are nodata, but NaN, which is NaN.
    struct Interval {
        std::optional<Channel> channel{};  ///< absent: all but alpha and those with an interval of their own
        double lowest = 0, highest = 0;
        friend bool operator==(const Interval& a, const Interval& b) {
            return a.channel == b.channel && a.lowest == b.lowest && a.highest == b.highest;
        }
    };
    std::vector<Value> nodata;
    std::vector<Interval> valid;
    bool nodata_any = false;  ///< a pixel with a nodata sample is excluded in all channels: all its samples are nodata
    AlphaRule alpha = AlphaRule::row;
    std::uint32_t opaque = 0;  ///< AlphaRule::weight: what samples of an image without alpha weigh, at most the depth's
                               ///< highest value, which 0 stands for. Set it to a file's white where that is lower,
                               ///< so that its images pool with others by fractions of white

    friend bool operator==(const Validity& a, const Validity& b) {
        return a.nodata == b.nodata && a.valid == b.valid && a.nodata_any == b.nodata_any && a.alpha == b.alpha &&
               a.opaque == b.opaque;
    }
};

/// Rule for alpha as files and options say it.
std::string alpha_text(const Validity& validity);
/// Sets the rule for alpha from such text. Throws InvalidArgument, which names the rules, for another.
void set_alpha(Validity& validity, const std::string& text);

/// Value as samples of a depth hold it: rounded to the nearest, of integers halves to even. Absent where none does: out
/// of an integer's range, NaN of integers, and what rounds to infinity without being infinite.
std::optional<double> nodata_in(Depth depth, double value);

/// Request for an analysis. All images but those of f32 are always counted by value, and `bins` and `range` do not
/// matter to them: any histogram follows from those counts afterwards (`histogram()`).
struct AnalysisRequest {
    bool luma_histogram = true;    ///< false: of luma only `Analysis::brightness`, and no `luma` channel
                                   ///< (f32 ignores it)
    std::uint32_t bins = 256;      ///< f32: equal bins over the range, 1 to 2^24
    std::optional<Range> range;    ///< f32: absent means the finite minimum and maximum over all rows, with the
                                   ///< maximum counted in the last bin
    Detail detail = Detail::full;  ///< f32; others ignore it
    Percentiles percentiles{};     ///< f32 in full: those whose order statistics are found; of others any follow
    std::shared_ptr<const Validity> validity{};  ///< null: every sample of an unmasked pixel
    Measures measures{};                         ///< that are found beside the counts; of regions none

    friend bool operator==(const AnalysisRequest& a, const AnalysisRequest& b) {
        const bool same = a.validity == b.validity || (a.validity && b.validity && *a.validity == *b.validity);
        return a.luma_histogram == b.luma_histogram && a.bins == b.bins && a.range == b.range && a.detail == b.detail &&
               a.percentiles == b.percentiles && a.measures == b.measures && same;
    }
};

}  // namespace gpuhist
