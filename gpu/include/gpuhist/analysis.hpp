/// Findings of an engine in the pixels: integers and extremes. All numbers of the results are computed from them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/frequency_table.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/measures.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist {

/// Channel of the results. `luma` is the brightness, computed per pixel. `all` has the samples of colors and bands
/// together (without gray, luma and alpha) as one population; `statistics()` derives it, and it is never counted. Bands
/// are samples that are not colors, and come last. A band without a name of its own is `c0 c1 …` by place, see `band`,
/// or beside colors `extra1 extra2 …`, see `extra`. A band with a name of its own is `named`.
enum class Channel : std::uint8_t {
    gray,
    red,
    green,
    blue,
    luma,
    alpha,
    all,
    c0,
    c1,
    c2,
    c3,
    c63 = c0 + 63,
    extra1,
    extra61 = extra1 + 60,
    named
};

/// Number of channels that have a name: all but `named`.
inline constexpr int channel_names = static_cast<int>(Channel::named);

/// Band at a place, from 0 to 63.
constexpr Channel band(int place) {
    return static_cast<Channel>(static_cast<int>(Channel::c0) + place);
}
/// Band beside colors, from 1 to 61.
constexpr Channel extra(int number) {
    return static_cast<Channel>(static_cast<int>(Channel::extra1) + number - 1);
}

constexpr bool is_color(Channel channel) {
    return channel >= Channel::red && channel <= Channel::blue;
}
constexpr bool is_band(Channel channel) {
    return channel >= Channel::c0;
}

/// Name of a channel in files; for `named`, it is `band`.
const char* to_string(Channel channel);

/// Channel with a name in files. Absent for other names.
std::optional<Channel> channel_of(std::string_view name);

/// Name in files for a band with a name of its own. It is that name, with `band:` before it if the name is that of
/// another channel or begins with `band:`. So no two channels have the same name in files.
std::string band_name(std::string_view own);

/// Name in files of a channel of an analysis, a summary or a row.
template <class Of>
std::string_view channel_name(const Of& of) {
    return of.channel == Channel::named ? std::string_view(of.name) : std::string_view(to_string(of.channel));
}

/// Signed 128-bit integer: `high * 2^64 + low`.
struct Int128 {
    std::uint64_t low = 0;
    std::int64_t high = 0;
    friend bool operator==(const Int128& a, const Int128& b) { return a.low == b.low && a.high == b.high; }
};

/// Digits of an integer, with a minus sign if it is negative.
std::string to_string(const Int128& value);
/// Double next to an integer.
double to_double(const Int128& value);

/// Returns whether two values are equal in all fields of their type, which it lists in `for_each_field`.
template <class T>
bool equal_fields(const T& a, const T& b) {
    bool equal = true;
    T::for_each_field([&](const char*, auto field) { equal = equal && a.*field == b.*field; });
    return equal;
}

/// Brightness of an image of integers, in addition to the histograms: luma, or the samples of a 1-channel image. It is
/// in codes, which are values less the lowest value of the depth.
struct Brightness {
    std::uint64_t sum = 0;
    Int128 sum_squares;
    std::uint32_t minimum = 0;
    std::uint32_t maximum = 0;

    /// List of all fields, from which equality and pickles follow: visit(name, member) for each.
    template <class Visit>
    static constexpr void for_each_field(const Visit& visit) {
        visit("sum", &Brightness::sum);
        visit("sum_squares", &Brightness::sum_squares);
        visit("minimum", &Brightness::minimum);
        visit("maximum", &Brightness::maximum);
    }
    friend bool operator==(const Brightness& a, const Brightness& b) { return equal_fields(a, b); }
};

/// Findings of a measure in the pixels, from which its values follow: see `measure_values`. Most are sums. These are
/// exact, so they do not depend on the order of summation. A measure that follows from the counts has none.
struct Measured {
    Measure measure{};
    std::uint64_t pixels = 0;  ///< number of pixels that have terms in the sums
    /// Sums of the measure. If the terms are whole numbers, each sum is one integer; for f16 it is in units of 2^-24 to
    /// the power of the term. The terms of f32 and f64 are doubles, and each of their sums takes 35 words, in units of
    /// 2^-1074, the least significant word first.
    std::vector<Int128> sums;

    /// Adds the sums of the same measure over other pixels. Findings that cannot be merged are dropped. Throws
    /// InvalidArgument for another measure.
    Measured& operator+=(const Measured& other);

    /// List of all fields, from which equality and pickles follow: visit(name, member) for each.
    template <class Visit>
    static constexpr void for_each_field(const Visit& visit) {
        visit("measure", &Measured::measure);
        visit("pixels", &Measured::pixels);
        visit("sums", &Measured::sums);
    }
    friend bool operator==(const Measured& a, const Measured& b) { return equal_fields(a, b); }
};

/// Order statistic: the value at a zero-based rank among the finite samples in ascending order.
struct OrderStatistic {
    std::uint64_t rank = 0;
    float value = 0;
    friend bool operator==(const OrderStatistic& a, const OrderStatistic& b) {
        return a.rank == b.rank && a.value == b.value;
    }
};

/// Sums over the finite samples x of an f32 channel. Each term is rounded to an integer and the integers are summed
/// exactly, so the sums do not depend on the order of summation.
///
/// With d = double(x) - pivot and R = 2^exponent, R > max |d|, `sums[k-1]` is Σ rint(d^k / R^k * 2^80), k = 1..4.
/// Powers are products in double, left to right. In a brief analysis, the pivot is 0, and only k = 1 and 2 have sums;
/// the others are zero. In a full analysis, the pivot is near the median, or it is the mean if the median is far from
/// it in units of the std.
struct FloatMoments {
    double pivot = 0;
    std::int32_t exponent = 0;
    std::array<Int128, 4> sums;
    friend bool operator==(const FloatMoments& a, const FloatMoments& b) {
        return a.pivot == b.pivot && a.exponent == b.exponent && a.sums == b.sums;
    }
};

/// Samples of a channel by class. Each sample is valid or belongs to one other class. Base of every structure with such
/// counts.
struct SampleCounts {
    std::uint64_t pixels = 0;    ///< number of all samples: valid + masked + nodata + nan + infinite
    std::uint64_t masked = 0;    ///< samples of excluded pixels, in no other count
    std::uint64_t nodata = 0;    ///< samples that the Validity of the request excludes, in no other count
    std::uint64_t nan = 0;       ///< NaN samples; 0 in integers
    std::uint64_t infinite = 0;  ///< +Inf and -Inf samples; 0 in integers

    /// Number of samples that are neither masked nor nodata.
    constexpr std::uint64_t counted() const { return pixels - masked - nodata; }
    /// Number of valid samples, from which every number is computed: finite, and neither masked nor nodata.
    constexpr std::uint64_t valid() const { return counted() - nan - infinite; }

    /// Counts by class, without the other fields of a structure.
    SampleCounts& by_class() { return *this; }
    const SampleCounts& by_class() const { return *this; }

    /// List of all fields: visit(name, member) for each, by the name in files.
    template <class Visit>
    static constexpr void for_each_field(const Visit& visit) {
        visit("pixels", &SampleCounts::pixels);
        visit("masked", &SampleCounts::masked);
        visit("nodata", &SampleCounts::nodata);
        visit("nan", &SampleCounts::nan);
        visit("inf", &SampleCounts::infinite);
    }

    SampleCounts& operator+=(const SampleCounts& other) {
        for_each_field([&](const char*, auto field) { this->*field += other.*field; });
        return *this;
    }
    friend bool operator==(const SampleCounts& a, const SampleCounts& b) { return equal_fields(a, b); }
};

/// Findings in one channel, in numbers of samples. Every sample is in one count: Σ counts + below + above + nan +
/// masked + nodata == pixels. Sorted samples are in `values` instead of `counts`.
struct ChannelAnalysis : SampleCounts {
    Channel channel = Channel::gray;
    std::string name;  ///< Channel::named: name by `band_name`; else empty
    /// Counting::values: one count per value of the depth, ascending; f16 has the order of FrequencyRun's keys. f32:
    /// one per bin. Counting::sorted, and a Region of 8 or 16 bits: none.
    std::vector<std::uint64_t> counts;
    FrequencyTable values;  ///< Counting::sorted, and a Region of 8 or 16 bits: the finite samples

    // Floats only, zero otherwise.
    std::uint64_t below = 0;  ///< samples under range.lower, -Inf included
    std::uint64_t above = 0;  ///< samples at or over range.upper, +Inf included

    // f32 only, zero otherwise.
    float minimum = 0;  ///< lowest finite sample; 0 without finite samples
    float maximum = 0;
    FloatMoments moments;
    std::vector<OrderStatistic> order_statistics;  ///< ascending ranks, those that `statistics()` needs

    /// Regions: Σv, Σvx and Σvy over the valid samples v and their coordinates, each as a sum of Measured; of weighted
    /// samples Σαv and so on. Images: none.
    std::vector<Int128> centroid_sums;

    /// List of all fields, from which equality and pickles follow: visit(name, member) for each.
    template <class Visit>
    static constexpr void for_each_field(const Visit& visit) {
        SampleCounts::for_each_field(visit);
        visit("channel", &ChannelAnalysis::channel);
        visit("name", &ChannelAnalysis::name);
        visit("counts", &ChannelAnalysis::counts);
        visit("values", &ChannelAnalysis::values);
        visit("below", &ChannelAnalysis::below);
        visit("above", &ChannelAnalysis::above);
        visit("minimum", &ChannelAnalysis::minimum);
        visit("maximum", &ChannelAnalysis::maximum);
        visit("moments", &ChannelAnalysis::moments);
        visit("order_statistics", &ChannelAnalysis::order_statistics);
        visit("centroid_sums", &ChannelAnalysis::centroid_sums);
    }
    friend bool operator==(const ChannelAnalysis& a, const ChannelAnalysis& b) { return equal_fields(a, b); }
};

/// Range of the counts of a depth that has one bin per value: all its finite values. Empty for other depths.
constexpr Range counted_range(const DepthTraits& traits) {
    if (traits.counting != Counting::values) return {};
    if (traits.floating) return {-65536, 65536};
    return {traits.lowest, traits.lowest + traits.values};
}

/// Findings in one image, or in several images that were merged. A value type.
struct Analysis {
    Depth depth = Depth::u8;
    /// `gray`; or `red green blue luma`, then `alpha` if there is one. `name_channels` gives other names.
    std::vector<ChannelAnalysis> channels;
    std::optional<Brightness> brightness;  ///< 8- and 16-bit integers; not of bands
    /// Value that stands for white. Engines set the highest value of the depth, and the caller may set another. 0 means
    /// that images with different values for white were merged.
    double white = traits_of(Depth::u8).highest;
    Range range;                   ///< range of the counts: all values, or the f32 range; [0, 0) without counts
    bool upper_closed = false;     ///< f32 with a range that was found, not given: `upper` itself is in the last bin
    Detail detail = Detail::full;  ///< f32: how much was found out; others: full
    /// Counts, `below` and `above`, and `values`, are sums of weights instead (AlphaRule::weight): each valid sample
    /// adds its pixel's alpha, in units of DepthTraits::alpha_unit. Numbers of pixels and of excluded samples are not
    /// weighted. There is no brightness.
    bool weighted = false;
    std::vector<OrderStatistic> pooled_order_statistics;  ///< f32 with colors: those of `all`, by ascending rank
    std::vector<Measured> measured;  ///< in the order of the enumeration: requested ones, of images with luma or gray

    /// Returns the findings in a channel, or null.
    const ChannelAnalysis* find(Channel channel) const;
    /// Returns the findings in the channel with this name in files, or null.
    const ChannelAnalysis* find(std::string_view name) const;

    /// Merges the findings of another image: afterwards they are those of all pixels of both images. The order and the
    /// grouping of merges do not matter. `white` is 0 if the images have different ones. Throws InvalidArgument if
    /// depths, channels or `weighted` differ, and for f32, whose order statistics cannot be merged: a Summary merges
    /// f32 with FrequencyTable.
    Analysis& operator+=(const Analysis& other);

    /// List of all fields, from which equality and pickles follow: visit(name, member) for each. A field that is
    /// missing here does not compile (statistics.cpp).
    template <class Visit>
    static constexpr void for_each_field(const Visit& visit) {
        visit("depth", &Analysis::depth);
        visit("channels", &Analysis::channels);
        visit("brightness", &Analysis::brightness);
        visit("white", &Analysis::white);
        visit("range", &Analysis::range);
        visit("upper_closed", &Analysis::upper_closed);
        visit("detail", &Analysis::detail);
        visit("weighted", &Analysis::weighted);
        visit("pooled_order_statistics", &Analysis::pooled_order_statistics);
        visit("measured", &Analysis::measured);
    }
    friend bool operator==(const Analysis& a, const Analysis& b) { return equal_fields(a, b); }
};

/// Gives the channels of a measured image the names for its samples, and removes channels that the image does not have.
/// - `gray_alpha`: red becomes `gray`, and `alpha` stays.
/// - `bands`: they become `c0 c1 …` by place, without luma and brightness.
/// - `color_bands`: alpha becomes `extra1`.
/// - `color` of one sample: `gray` becomes the only name in `bands`, as for the channels of a microscope.
/// - Bands that already have their names, and gray without alpha, do not change.
///
/// `bands` has names of bands by place in the pixel, and empty texts for other samples. Bands with a name are left out
/// when the other bands beside colors are numbered. Throws InvalidArgument, and leaves the analysis unchanged, for
/// another number of samples, and for f32 with `color_bands` or four `bands` if its view had other `samples`: its
/// pooled order statistics then lack the fourth.
void name_channels(Analysis& analysis, Samples samples, const std::vector<std::string>& bands = {});

/// Names in files of the samples of an image, by place in the pixel. `bands` has names of bands as above.
std::vector<std::string> names_of_samples(const ImageView& image, const std::vector<std::string>& bands = {});

}  // namespace gpuhist
