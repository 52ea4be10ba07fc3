/// Findings of an engine in the pixels: integers and extremes, from which every number that a person reads is computed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpuhist/frequency_table.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/measures.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist {

/// Channel of the results. `luma` is the brightness computed per pixel; `all` is colors and bands together (not gray,
/// luma, alpha) as one population and is derived by `statistics()`, never counted. Bands, samples that are no colors,
/// are `c0 c1 …` by place up to c63, of which `band` gives each, and stay the last.
enum class Channel : std::uint8_t { gray, red, green, blue, luma, alpha, all, c0, c1, c2, c3, c63 = c0 + 63 };

/// Number of channels that have a name.
inline constexpr int channel_names = static_cast<int>(Channel::c63) + 1;

/// Band by place, from 0 to 63.
constexpr Channel band(int place) {
    return static_cast<Channel>(static_cast<int>(Channel::c0) + place);
}

constexpr bool is_color(Channel channel) {
    return channel >= Channel::red && channel <= Channel::blue;
}
constexpr bool is_band(Channel channel) {
    return channel >= Channel::c0;
}
/// Verdict on a channel: whether it is the first of an image, which has one such: images are counted by these.
constexpr bool is_first(Channel channel) {
    return channel == Channel::gray || channel == Channel::red || channel == Channel::c0;
}

/// Name in files.
const char* to_string(Channel channel);

/// Signed 128-bit integer, `high * 2^64 + low`.
struct Int128 {
    std::uint64_t low = 0;
    std::int64_t high = 0;
    friend bool operator==(const Int128& a, const Int128& b) { return a.low == b.low && a.high == b.high; }
};

/// Brightness (luma; of a 1-channel image the samples themselves) reduced beside the histograms. Integers only, in
/// codes: values less the depth's lowest, which are the values themselves where that is 0.
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
    friend bool operator==(const Brightness& a, const Brightness& b) {
        bool equal = true;
        for_each_field([&](const char*, auto field) { equal = equal && a.*field == b.*field; });
        return equal;
    }
};

/// Sums behind a measure's number, see `number_of`: exact, so that they do not depend on the order of summation.
struct Measured {
    Measure measure{};
    std::uint64_t pixels = 0;  ///< that have terms in the sums
    /// One per sum of the measure, of terms that are whole numbers, of f16 in units of 2^-24 to the term's power; of
    /// f32 and f64, whose terms are doubles, 35 words each, in units of 2^-1074 and the least significant first.
    std::vector<Int128> sums;

    /// Merges what the same measure found in other pixels. Throws InvalidArgument for another.
    Measured& operator+=(const Measured& other);

    /// List of all fields, from which equality and pickles follow: visit(name, member) for each.
    template <class Visit>
    static constexpr void for_each_field(const Visit& visit) {
        visit("measure", &Measured::measure);
        visit("pixels", &Measured::pixels);
        visit("sums", &Measured::sums);
    }
    friend bool operator==(const Measured& a, const Measured& b) {
        bool equal = true;
        for_each_field([&](const char*, auto field) { equal = equal && a.*field == b.*field; });
        return equal;
    }
};

/// Order statistic: the value that stands at a zero-based rank among the finite samples in ascending order.
struct OrderStatistic {
    std::uint64_t rank = 0;
    float value = 0;
    friend bool operator==(const OrderStatistic& a, const OrderStatistic& b) {
        return a.rank == b.rank && a.value == b.value;
    }
};

/// Sums over the finite samples x of an f32 channel, exact in integers once each term is rounded: so they do not depend
/// on the order of summation. With d = double(x) - pivot and R = 2^exponent, R > max |d|,
/// `sums[k-1]` is Σ rint(d^k / R^k * 2^80), k = 1..4; powers are products in double, left to right. In brief analyses
/// k = 1 and 2 alone, the rest zero. The pivot is 0 in brief analyses; in full ones it lies near the median or, where
/// that is far from the mean in units of the std, is the mean.
struct FloatMoments {
    double pivot = 0;
    std::int32_t exponent = 0;
    std::array<Int128, 4> sums;
    friend bool operator==(const FloatMoments& a, const FloatMoments& b) {
        return a.pivot == b.pivot && a.exponent == b.exponent && a.sums == b.sums;
    }
};

/// Samples of a channel by class: each is valid, or in one of the others. Base of every structure that has them.
struct SampleCounts {
    std::uint64_t pixels = 0;    ///< all samples: valid + masked + nodata + nan + infinite
    std::uint64_t masked = 0;    ///< samples of excluded pixels, in no other count
    std::uint64_t nodata = 0;    ///< samples that Validity excludes, in no other count
    std::uint64_t nan = 0;       ///< floats: NaN; else 0
    std::uint64_t infinite = 0;  ///< floats: +Inf and -Inf; else 0

    /// Samples that are neither masked nor nodata.
    constexpr std::uint64_t counted() const { return pixels - masked - nodata; }
    /// Samples that every number is computed from: finite, and neither masked nor nodata.
    constexpr std::uint64_t valid() const { return counted() - nan - infinite; }

    /// Counts by class alone, of a structure that has more.
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
    friend bool operator==(const SampleCounts& a, const SampleCounts& b) {
        bool equal = true;
        for_each_field([&](const char*, auto field) { equal = equal && a.*field == b.*field; });
        return equal;
    }
};

/// Findings in one channel, in counts of samples. Nothing vanishes: Σ counts + below + above + nan + masked + nodata ==
/// pixels; sorted samples are in `values` instead of `counts`.
struct ChannelAnalysis : SampleCounts {
    Channel channel = Channel::gray;
    /// Counting::values: one per value of the depth, ascending, of f16 in the order of FrequencyRun's keys;
    /// f32: `bins` over the range; Counting::sorted, and of a Region of 8 or 16 bits: none.
    std::vector<std::uint64_t> counts;
    FrequencyTable values;  ///< Counting::sorted, and of a Region of 8 or 16 bits: the finite samples

    // Floats only, zero otherwise.
    std::uint64_t below = 0;  ///< samples under range.lower, -Inf included
    std::uint64_t above = 0;  ///< samples at or over range.upper, +Inf included

    // f32 only, zero otherwise.
    float minimum = 0;  ///< of the finite samples; 0 when there is none
    float maximum = 0;
    FloatMoments moments;
    std::vector<OrderStatistic> order_statistics;  ///< ascending ranks, those that `statistics()` needs

    /// List of all fields, from which equality and pickles follow: visit(name, member) for each.
    template <class Visit>
    static constexpr void for_each_field(const Visit& visit) {
        SampleCounts::for_each_field(visit);
        visit("channel", &ChannelAnalysis::channel);
        visit("counts", &ChannelAnalysis::counts);
        visit("values", &ChannelAnalysis::values);
        visit("below", &ChannelAnalysis::below);
        visit("above", &ChannelAnalysis::above);
        visit("minimum", &ChannelAnalysis::minimum);
        visit("maximum", &ChannelAnalysis::maximum);
        visit("moments", &ChannelAnalysis::moments);
        visit("order_statistics", &ChannelAnalysis::order_statistics);
    }
    friend bool operator==(const ChannelAnalysis& a, const ChannelAnalysis& b) {
        bool equal = true;
        for_each_field([&](const char*, auto field) { equal = equal && a.*field == b.*field; });
        return equal;
    }
};

/// Range of the counts of a depth whose samples are counted one bin per value: all finite values; of others none.
constexpr Range counted_range(const DepthTraits& traits) {
    if (traits.counting != Counting::values) return {};
    if (traits.floating) return {-65536, 65536};
    return {traits.lowest, traits.lowest + traits.values};
}

/// Findings in one image, or in several merged. A value type.
struct Analysis {
    Depth depth = Depth::u8;
    /// `gray`; or `red green blue luma`, then `alpha` where there is one; others by `name_channels`.
    std::vector<ChannelAnalysis> channels;
    std::optional<Brightness> brightness;  ///< 8- and 16-bit integers; not of bands
    /// Value that stands for white. Engines take the depth's highest; the caller may set another. 0: several images
    /// were merged, of different whites.
    double white = traits_of(Depth::u8).highest;
    Range range;                   ///< that `counts` cover: all values, or the f32 range; [0, 0) where there are none
    bool upper_closed = false;     ///< f32, range found rather than given: upper itself is in the last bin
    Detail detail = Detail::full;  ///< f32: how much was found out; others: full
    /// Counts, and `values`, are sums of weights instead (AlphaRule::weight): each valid sample adds its pixel's
    /// alpha. Numbers of pixels and of excluded samples stay what they are; there is no brightness.
    bool weighted = false;
    std::vector<OrderStatistic> pooled_order_statistics;  ///< f32 with colors: of `all`, ascending ranks
    std::vector<Measured> measured;  ///< in the order of the enumeration: those asked for, of images with luma or gray

    /// Findings in a channel, or null.
    const ChannelAnalysis* find(Channel channel) const;

    /// Merges another image's findings: afterwards the result is that of both images' pixels together, in any order and
    /// grouping; white is 0 where theirs differ. Throws InvalidArgument where depths, channels or `weighted` differ,
    /// and for f32, whose order statistics cannot be merged: a Summary merges these with FrequencyTable.
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
    friend bool operator==(const Analysis& a, const Analysis& b) {
        bool equal = true;
        for_each_field([&](const char*, auto field) { equal = equal && a.*field == b.*field; });
        return equal;
    }
};

/// Gives the channels of an image that an engine measured the names that its samples ask for, and removes those that it
/// does not have. `gray_alpha`: red becomes `gray`, `alpha` stays. `bands`: by place `c0 c1 …`, without luma and
/// brightness. `color_bands`: alpha becomes `c3`. Bands, and gray without alpha, that have their names are left. Throws
/// InvalidArgument, the analysis unchanged, for another number of samples, and for `color_bands` and four `bands` of
/// f32 whose view did not say so: their pooled order statistics lack the fourth.
void name_channels(Analysis& analysis, Samples samples);

}  // namespace gpuhist
