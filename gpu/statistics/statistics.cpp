#include "statistics/statistics.hpp"

#include <cmath>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/analysis.hpp"
#include "core/exact_sum.hpp"
#include "core/weights.hpp"
#include "core/wide.hpp"
#include "gpuhist/error.hpp"
#include "statistics/bits.hpp"
#include "statistics/counted_samples.hpp"
#include "statistics/entropy.hpp"
#include "statistics/extremes.hpp"
#include "statistics/moments.hpp"
#include "statistics/percentiles.hpp"
#include "statistics/power_sums.hpp"
#include "statistics/robust.hpp"

namespace gpuhist {
namespace {

// Lists of fields are complete: as long as the initializers that an aggregate takes, its base's being one.

/// Initializer that converts to any arithmetic type, or (`number` is false) to any other type. Only its type is used.
template <bool number>
struct Initializer {
    template <class T>
    requires(std::is_arithmetic_v<T> == number) operator T() const { __builtin_unreachable(); }
};
template <class T, class... Known>
consteval std::size_t initializers() {
    if constexpr (requires { T{Known{}..., Initializer<false>{}}; })
        return initializers<T, Known..., Initializer<false>>();
    else if constexpr (requires { T{Known{}..., Initializer<true>{}}; })
        return initializers<T, Known..., Initializer<true>>();
    else
        return sizeof...(Known);
}
template <class T>
consteval std::size_t listed() {
    std::size_t fields = 0;
    T::for_each_field([&](const char*, auto) { ++fields; });
    return fields;
}
static_assert(listed<SampleCounts>() == initializers<SampleCounts>());
static_assert(listed<Statistics>() == initializers<Statistics>() - 1 + listed<SampleCounts>());
static_assert(listed<Brightness>() == initializers<Brightness>());
static_assert(listed<ChannelAnalysis>() == initializers<ChannelAnalysis>() - 1 + listed<SampleCounts>());
static_assert(listed<Analysis>() == initializers<Analysis>());

template <class... Each>
struct List {};

/// Statistics of all samples, `Moments` being their kind's, and of one kind alone.
template <class Moments, class Order = core::CountedPercentiles>
using OfAll = List<core::Extremes, core::Unique, core::Mode, Moments, core::Entropy, Order>;
using OfIntegers = List<core::Clipped, core::EffectiveBits, core::WholeSum>;
using OfFloats = List<core::RealSum>;

/// Runs each statistic of the lists over the samples.
template <class Samples, class... Each, class... More>
void run(List<Each...>, List<More...>, const Samples& samples, Statistics& row) {
    std::tuple<Each..., More...> statistics{Each(samples)..., More(samples)...};
    samples.each([&](auto value, std::uint64_t count) {
        std::apply([&](auto&... each) { (each.accumulate(value, count), ...); }, statistics);
    });
    std::apply([&](const auto&... each) { (each.finish(row), ...); }, statistics);
}

/// Statistics of samples, of weighted ones in their place: `Rest` are those of the kind alone. make(window) gives the
/// samples in a window.
template <class Moments, class Rest, class Make>
void find(Rest rest, const Make& make, bool weighted, const std::optional<double>& clip_sigma, Statistics& row) {
    const auto samples = make(core::Window{});
    if (weighted) row.weighted_percentiles = row.percentiles;
    if (samples.n > 0 && weighted) run(OfAll<Moments, core::WeightedPercentiles>{}, rest, samples, row);
    if (samples.n > 0 && !weighted) run(OfAll<Moments>{}, rest, samples, row);
    if (clip_sigma) core::set_robust<Moments>(row, make, weighted, *clip_sigma);
    if (weighted) core::set_weight(row, samples.depth, samples.n);
}

}  // namespace

Statistics core::empty_row(Channel channel, const SampleCounts& samples, const Percentiles& percentiles) {
    Statistics row;
    row.by_class() = samples;
    row.channel = channel;
    list_percentiles(row, percentiles);
    return row;
}

Statistics core::from_counts(Channel name, Depth depth, const CountedChannel& channel, std::optional<double> white,
                             const StatisticsRequest& request) {
    const DepthTraits& traits = traits_of(depth);
    Statistics row = empty_row(name, channel.samples, request.percentiles);
    row.unique = 0;
    const auto population = [&](const Window& window) {
        return Population{depth, &request.percentiles, white, 0, window};
    };
    const auto whole = [&](const Window& window) {
        return CountedSamples(channel.counts, channel.values, population(window));
    };
    const auto real = [&](const Window& window) {
        return RealSamples(channel.counts, channel.values, population(window));
    };
    if (traits.counting == Counting::values && !traits.floating)
        find<Moments>(OfIntegers{}, whole, channel.weighted, request.clip_sigma, row);
    else if (traits.floating)
        find<RealMoments>(OfFloats{}, real, channel.weighted, request.clip_sigma, row);
    else
        find<RealMoments>(OfIntegers{}, real, channel.weighted, request.clip_sigma, row);
    return row;
}

void core::set_robust_from(Statistics& row, const FrequencyTable& values, bool weighted, double clip_sigma) {
    const auto make = [&](const Window& window) {
        return RealSamples(values, Population{Depth::f32, nullptr, {}, 0, window});
    };
    set_robust<RealMoments>(row, make, weighted, clip_sigma);
}

void core::validate(const StatisticsRequest& request) {
    if (request.clip_sigma && !(std::isfinite(*request.clip_sigma) && *request.clip_sigma > 0))
        throw InvalidArgument("clip_sigma: clipping at median +- k std needs a finite k over 0");
}

void core::set_weight(Statistics& row, Depth depth, std::uint64_t weight) {
    row.weight = static_cast<double>(weight) * weight_unit(depth);
    if (auto* sum = row.sum ? std::get_if<double>(&*row.sum) : nullptr) *sum *= weight_unit(depth);
    row.std_sample.reset();  // n − 1 has no meaning
}

namespace {

/// What the numbers of f32 samples follow from.
struct FloatSums {
    core::CentralMoments moments;
    PowerSums first;  ///< Σx alone
};

FloatSums sums_of(const ChannelAnalysis& channel) {
    return {core::central_moments(channel.valid(), channel.moments),
            core::first_power_sum(channel.valid(), channel.moments)};
}

FloatSums sums_of_pooled(const Analysis& analysis) {
    FloatSums all{core::moments_of_pooled(analysis), {}};
    for (const ChannelAnalysis& channel : analysis.channels)
        if (core::is_pooled(channel.channel))
            core::add(all.first, core::first_power_sum(channel.valid(), channel.moments));
    return all;
}

/// Row of f32, whose samples all weigh 1 where they are weighted.
Statistics from_floats(const ChannelAnalysis& channel, const FloatSums& sums, const Analysis& analysis,
                       const Percentiles& percentiles) {
    Statistics row = core::empty_row(channel.channel, channel, percentiles);
    const std::uint64_t n = channel.valid();
    const bool full = n > 0 && analysis.detail == Detail::full;
    if (analysis.weighted) row.weighted_percentiles = row.percentiles;
    if (n > 0) {
        row.min = channel.minimum;
        row.max = channel.maximum;
        core::set_moments(row, sums.moments, analysis.detail);
        row.sum = core::rounded_sum(sums.first);
    }
    if (full && analysis.weighted) core::set_weighted_percentiles(row, n, channel.order_statistics);
    if (full && !analysis.weighted) core::set_percentiles(row, percentiles, n, channel.order_statistics);
    if (analysis.weighted) core::set_weight(row, analysis.depth, n);
    return row;
}

/// Colors and bands as one channel, except for the moments of floats.
ChannelAnalysis all_of(const Analysis& analysis) {
    ChannelAnalysis all;
    all.channel = Channel::all;
    bool first = true;
    for (const ChannelAnalysis& channel : analysis.channels) {
        if (!core::is_pooled(channel.channel)) continue;
        core::add_samples(all, channel);
        if (std::exchange(first, false))
            all.centroid_sums = channel.centroid_sums;
        else
            core::add_centroids(all.centroid_sums, channel.centroid_sums);
    }
    all.order_statistics = analysis.pooled_order_statistics;
    if (traits_of(analysis.depth).counting == Counting::bins) return all;  // needs no counts
    all.values = core::values_of_pooled(analysis);
    core::sum_of_pooled(analysis, all.counts);
    return all;
}

/// Numbers of f32 samples that follow from the values that occur.
void add_from_values(Statistics& row, const FrequencyTable& values, bool weighted, double clip_sigma) {
    if (row.valid() == 0) return;
    run(List<core::Unique, core::Mode>{}, List<>{}, core::RealSamples(values, core::Population{Depth::f32}), row);
    core::set_robust_from(row, values, weighted, clip_sigma);
}

/// Sum as a double, rounded once, from its words.
double rounded(const Int128* sum, int words) {
    if (words == 1) return to_double(*sum);
    using Sum = core::Wide<core::ExactSum::words + 1>;
    Sum::Words digits;
    core::i128 carry = 0;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i < static_cast<std::size_t>(words)) carry += core::from_public(sum[i]);
        digits[i] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
    }
    return to_double(Sum(digits), core::ExactSum::unit_exponent);
}

/// Numbers of the centroid sums, which images lack. The unit of the samples does not show in them.
void set_centroid(Statistics& row, const std::vector<Int128>& sums) {
    if (sums.empty()) return;
    const auto words = static_cast<int>(sums.size() / 3);
    const auto sum = [&](int k) { return rounded(&sums[static_cast<std::size_t>(k * words)], words); };
    const double whole = sum(0), x = sum(1) / whole, y = sum(2) / whole;
    if (!std::isfinite(x) || !std::isfinite(y)) return;
    row.weighted_centroid_x = x;
    row.weighted_centroid_y = y;
}

/// Row of a channel, or of `all`. `values` are those of f32, or null.
Statistics any_row(const ChannelAnalysis& found, const Analysis& analysis, const StatisticsRequest& request,
                   const FrequencyTable* values) {
    const std::optional<double> white = analysis.white > 0 ? std::optional(analysis.white) : std::nullopt;
    Statistics row;
    if (traits_of(analysis.depth).counting != Counting::bins)
        row = core::from_counts(found.channel, analysis.depth, {found.counts, found.values, found, analysis.weighted},
                                white, request);
    else
        row = from_floats(found, found.channel == Channel::all ? sums_of_pooled(analysis) : sums_of(found), analysis,
                          request.percentiles);
    if (values && request.clip_sigma) add_from_values(row, *values, analysis.weighted, *request.clip_sigma);
    set_centroid(row, found.centroid_sums);
    row.name = found.name;
    return row;
}

}  // namespace

Statistics core::row_of(const ChannelAnalysis& channel, const Analysis& image, const Percentiles& percentiles) {
    return any_row(channel, image, percentiles, nullptr);
}

std::vector<Statistics> statistics(const Analysis& analysis, const StatisticsRequest& request,
                                   const std::vector<FrequencyTable>& values) {
    core::validate(request);
    const bool counted = !values.empty() && traits_of(analysis.depth).counting == Counting::bins;
    if (counted && values.size() != analysis.channels.size())
        throw InvalidArgument("counts of values of " + std::to_string(values.size()) + " channels, the image has " +
                              std::to_string(analysis.channels.size()));
    std::vector<Statistics> rows;
    FrequencyTable pooled;
    const auto add = [&](const ChannelAnalysis& found, const FrequencyTable* of) {
        rows.push_back(any_row(found, analysis, request, counted ? of : nullptr));
    };
    const FrequencyTable* of_alpha = nullptr;
    for (std::size_t i = 0; i < analysis.channels.size(); ++i) {
        const ChannelAnalysis& channel = analysis.channels[i];
        const FrequencyTable* const own = counted ? &values[i] : nullptr;
        if (own && core::is_pooled(channel.channel)) pooled.add(*own);
        if (channel.channel == Channel::alpha)
            of_alpha = own;
        else
            add(channel, own);
    }
    if (core::has_pooled(analysis.channels)) add(all_of(analysis), &pooled);
    if (const ChannelAnalysis* alpha = analysis.find(Channel::alpha)) add(*alpha, of_alpha);
    return rows;
}

}  // namespace gpuhist
