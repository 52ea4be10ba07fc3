#include "statistics/statistics.hpp"

#include <tuple>
#include <type_traits>

#include "core/analysis.hpp"
#include "statistics/bits.hpp"
#include "statistics/counted_samples.hpp"
#include "statistics/entropy.hpp"
#include "statistics/extremes.hpp"
#include "statistics/moments.hpp"
#include "statistics/percentiles.hpp"

namespace gpuhist {
namespace {

// Lists of fields are complete: as long as the initializers that an aggregate takes, its base's being one.

/// Initializer of whatever is a number, or is none.
template <bool number>
struct Initializer {
    template <class T>
    requires(std::is_arithmetic_v<T> == number) operator T() const;
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

/// Statistics of all samples, `Moments` being their kind's, and of integers alone.
template <class Moments, class Order = core::CountedPercentiles>
using OfAll = List<core::Extremes, core::Unique, Moments, core::Entropy, Order>;
using OfIntegers = List<core::Clipped, core::EffectiveBits>;

/// Runs each statistic of the lists over the samples.
template <class Samples, class... Each, class... More>
void run(List<Each...>, List<More...>, const Samples& samples, Statistics& row) {
    std::tuple<Each..., More...> statistics{Each(samples)..., More(samples)...};
    samples.each([&](auto value, std::uint64_t count) {
        std::apply([&](auto&... each) { (each.accumulate(value, count), ...); }, statistics);
    });
    std::apply([&](const auto&... each) { (each.finish(row), ...); }, statistics);
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
                             const Percentiles& percentiles) {
    const DepthTraits& traits = traits_of(depth);
    Statistics row = empty_row(name, channel.samples, percentiles);
    row.unique = 0;
    const Population population{depth, &percentiles, white};
    if (traits.counting == Counting::values && !traits.floating) {
        const CountedSamples samples(channel.counts, channel.values, population);
        if (!channel.weighted) {
            if (samples.n > 0) run(OfAll<Moments>{}, OfIntegers{}, samples, row);
            return row;
        }
        row.weight = samples.n;
        row.weighted_percentiles = row.percentiles;
        if (samples.n > 0) run(OfAll<Moments, WeightedPercentiles>{}, OfIntegers{}, samples, row);
        row.std_sample.reset();  // n − 1 has no meaning
        return row;
    }
    const RealSamples samples(channel.counts, channel.values, population);
    if (samples.n == 0) return row;
    if (traits.floating)
        run(OfAll<RealMoments>{}, List<>{}, samples, row);
    else
        run(OfAll<RealMoments>{}, OfIntegers{}, samples, row);
    return row;
}

namespace {

Statistics from_floats(const ChannelAnalysis& channel, const core::CentralMoments& moments, Detail detail,
                       const Percentiles& percentiles) {
    Statistics row = core::empty_row(channel.channel, channel, percentiles);
    if (channel.valid() == 0) return row;
    row.min = channel.minimum;
    row.max = channel.maximum;
    core::set_moments(row, moments, detail);
    if (detail == Detail::full) core::set_percentiles(row, percentiles, channel.valid(), channel.order_statistics);
    return row;
}

/// Colors and bands as one channel, but for the moments of floats.
ChannelAnalysis all_of(const Analysis& analysis) {
    ChannelAnalysis all;
    all.channel = Channel::all;
    for (const ChannelAnalysis& channel : analysis.channels)
        if (core::is_pooled(channel.channel)) core::add_samples(all, channel);
    all.order_statistics = analysis.pooled_order_statistics;
    if (traits_of(analysis.depth).counting == Counting::bins) return all;  // needs no counts
    all.values = core::values_of_pooled(analysis);
    core::sum_of_pooled(analysis, all.counts);
    return all;
}

}  // namespace

std::vector<Statistics> statistics(const Analysis& analysis, const Percentiles& percentiles) {
    std::vector<Statistics> rows;
    const std::optional<double> white = analysis.white > 0 ? std::optional(analysis.white) : std::nullopt;
    const auto add = [&](const ChannelAnalysis& found) {
        if (traits_of(analysis.depth).counting != Counting::bins)
            return rows.push_back(core::from_counts(found.channel, analysis.depth,
                                                    {found.counts, found.values, found, analysis.weighted}, white,
                                                    percentiles));
        rows.push_back(from_floats(found,
                                   found.channel == Channel::all ? core::moments_of_pooled(analysis)
                                                                 : core::central_moments(found.valid(), found.moments),
                                   analysis.detail, percentiles));
    };
    for (const ChannelAnalysis& channel : analysis.channels)
        if (channel.channel != Channel::alpha) add(channel);
    if (core::has_pooled(analysis.channels)) add(all_of(analysis));
    if (const ChannelAnalysis* alpha = analysis.find(Channel::alpha)) add(*alpha);
    return rows;
}

}  // namespace gpuhist
