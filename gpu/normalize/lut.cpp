#include "normalize/lut.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "core/analysis.hpp"
#include "core/bins.hpp"
#include "core/validate.hpp"
#include "dataset/frequency_table.hpp"
#include "dataset/summary.hpp"
#include "gpuhist/error.hpp"
#include "normalize/curves/curves.hpp"
#include "statistics/counted_samples.hpp"
#include "statistics/moments.hpp"
#include "statistics/power_sums.hpp"

namespace gpuhist {
namespace core {
namespace {

/// Code of the smallest value with at least `rank` samples up to it.
std::uint32_t code_of_rank(const std::vector<std::uint64_t>& counts, std::uint64_t rank) {
    std::uint32_t code = 0;
    for (std::uint64_t cumulative = counts[0]; cumulative < rank; cumulative += counts[code]) ++code;
    return code;
}

}  // namespace

IntegerFacts facts_of(const std::vector<std::uint64_t>& counts, Depth depth, Depth copy,
                      const Normalization& normalization) {
    static const FrequencyTable none;
    const CountedSamples samples(counts, none, {depth});
    const auto some = [](std::uint64_t count) { return count > 0; };
    IntegerFacts facts;
    facts.lowest = traits_of(depth).lowest;
    facts.levels = levels_of(copy, normalization.fill);
    facts.samples = samples.n;
    facts.low = static_cast<std::uint32_t>(std::find_if(counts.begin(), counts.end(), some) - counts.begin());
    facts.high = static_cast<std::uint32_t>(counts.rend() - std::find_if(counts.rbegin(), counts.rend(), some) - 1);
    facts.lowest_samples = counts[facts.low];
    switch (needs_of(normalization)) {
        case NormalizeNeeds::nothing:
        case NormalizeNeeds::extremes:
        case NormalizeNeeds::counts:
            break;
        case NormalizeNeeds::ranks:
            facts.low = code_of_rank(counts, nearest_rank(normalization.low, samples.n));
            facts.high = code_of_rank(counts, nearest_rank(normalization.high, samples.n));
            break;
        case NormalizeNeeds::mean_std:
            facts.mean_std = exact_moments(samples).mean_std();
            break;
    }
    return facts;
}

RealFacts facts_of(const RealSamples& samples, Depth copy, const Normalization& normalization) {
    RealFacts facts{samples.lowest, samples.highest, samples.n, 0, {}, levels_of(copy, normalization.fill)};
    const bool ranks = needs_of(normalization) == NormalizeNeeds::ranks;
    const std::uint64_t low = nearest_rank(normalization.low, samples.n),
                        high = nearest_rank(normalization.high, samples.n);
    RealMoments moments(samples);
    std::uint64_t through = 0;
    samples.each([&](double value, std::uint64_t count) {
        if (through == 0) facts.lowest_samples = count;
        if (ranks && through < low) facts.low = value;
        if (ranks && through < high) facts.high = value;
        through += count;
        moments.accumulate(value, count);
    });
    Statistics row;
    moments.finish(row);
    facts.mean_std = {*row.mean, *row.std};
    return facts;
}

IntegerFacts codes_of(const RealFacts& facts, Depth depth) {
    const double lowest = traits_of(depth).lowest, range = traits_of(depth).highest - lowest;
    if (traits_of(depth).floating) return {};
    // A table from a file may have ends that the type lacks.
    const auto code = [&](double value) { return static_cast<std::uint32_t>(std::clamp(value - lowest, 0.0, range)); };
    return {lowest,         code(facts.low), code(facts.high), facts.samples, facts.lowest_samples,
            facts.mean_std, facts.levels};
}

void read_values(Depth depth, const void* in, std::int64_t count, std::int64_t stride, double* values) {
    with_depth(depth, [&](auto sample) {
        const auto* const from = static_cast<const decltype(sample)*>(in);
        for (std::int64_t i = 0; i < count; ++i) values[i] = value_of(from[i * stride]);
    });
}

ValueMap::ValueMap(NormalizeMode mode, Depth depth, Depth copy, const RealFacts& facts)
    : mode_(mode),
      depth_(depth),
      copy_(copy),
      facts_(facts),
      keeps_(with_mode(mode, [&](auto of) { return decltype(of)::RealMap::keeps(facts); })) {}

void ValueMap::operator()(const void* in, const std::uint64_t* through, std::int64_t count, void* out,
                          std::int64_t stride) const {
    const bool real = traits_of(mode_).real;
    if (keeps_) return keep_samples(depth_, in, copy_, out, count, stride, mode_, facts_.levels);
    if (!real && !traits_of(depth_).floating) {
        std::uint32_t codes[block];
        with_depth(depth_, [&](auto sample) {
            const auto* const from = static_cast<const decltype(sample)*>(in);
            for (std::int64_t i = 0; i < count; ++i) codes[i] = static_cast<std::uint32_t>(code_of(from[i * stride]));
        });
        return with_mode(mode_, [&](auto of) {
            using Mode = decltype(of);
            if constexpr (!traits_of(Mode::mode).real)
                with_depth(copy_, [&](auto sample) {
                    using Out = decltype(sample);
                    const typename Mode::template Scaled<Out> map(codes_of(facts_, depth_));
                    for (std::int64_t i = 0; i < count; ++i)
                        static_cast<Out*>(out)[i * stride] = map(codes[i], through[i]);
                });
        });
    }
    double values[block];
    read_values(depth_, in, count, stride, values);
    with_mode(mode_, [&](auto of) {
        const typename decltype(of)::RealMap map(facts_);
        for (std::int64_t i = 0; i < count; ++i) values[i] = map(values[i], through[i]);
    });
    with_depth(copy_, [&](auto sample) {
        using Out = decltype(sample);
        if (is_real<Out> || !real)  // real numbers in integers are refused
            for (std::int64_t i = 0; i < count; ++i)
                static_cast<Out*>(out)[i * stride] = from_fraction<Out>(values[i], facts_.levels);
    });
}

void keep_samples(Depth depth, const void* in, Depth copy, void* out, std::int64_t count, std::int64_t stride,
                  NormalizeMode mode, Levels levels) {
    const bool real = traits_of(mode).real;
    with_depth(depth, [&](auto sample) {
        const auto* const from = static_cast<const decltype(sample)*>(in);
        with_depth(copy, [&](auto to) {
            using Out = decltype(to);
            for (std::int64_t i = 0; i < count; ++i)
                static_cast<Out*>(out)[i * stride] = kept<Out>(from[i * stride], real, levels);
        });
    });
}

void fill_identity(Depth depth, Depth copy, NormalizeMode mode, Levels levels, void* table) {
    with_depth(depth, [&](auto sample) {
        using Sample = decltype(sample);
        std::vector<Sample> all(traits_of(depth).values);
        for (std::size_t place = 0; place < all.size(); ++place)
            all[place] = sample_at<Sample>(static_cast<Code<Sample>>(place));
        keep_samples(depth, all.data(), copy, table, static_cast<std::int64_t>(all.size()), 1, mode, levels);
    });
}

void fill_table(Depth depth, Depth copy, const std::vector<std::uint64_t>& counts, const Normalization& normalization,
                void* table) {
    const NormalizeTraits& traits = traits_of(normalization.mode);
    const auto fill = [&](auto out, const auto& map) {
        auto* to = static_cast<decltype(out)*>(table);
        std::uint64_t through = 0;
        for (std::uint32_t code = 0; code < counts.size(); ++code) to[code] = map(code, through += counts[code]);
    };
    if (std::all_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count == 0; }))
        return fill_identity(depth, copy, normalization.mode, levels_of(copy, normalization.fill), table);
    if (traits_of(depth).floating) {
        const ValueMap map(normalization.mode, depth, copy,
                           facts_of(RealSamples(counts, {depth}), copy, normalization));
        Half samples[ValueMap::block];
        std::uint64_t all[ValueMap::block], through = 0;
        for (std::size_t first = 0; first < counts.size(); first += ValueMap::block) {
            for (std::size_t i = 0; i < ValueMap::block; ++i) {
                const std::size_t place = first + i;
                samples[i] = sample_at<Half>(static_cast<Code<Half>>(place));
                through += counts[place];
                const std::size_t code = code_of(samples[i]);  // of −0 that of +0, whose count comes after it
                all[i] = code == place ? through : through + counts[code];
            }
            map(samples, all, ValueMap::block, static_cast<std::byte*>(table) + first * sample_bytes(copy), 1);
        }
        return;
    }
    const IntegerFacts facts = facts_of(counts, depth, copy, normalization);
    if (!traits.real && depth != copy && traits.needs != NormalizeNeeds::nothing && facts.low == facts.high)
        return fill_identity(depth, copy, normalization.mode, facts.levels, table);
    with_mode(normalization.mode, [&](auto mode) {
        using Mode = decltype(mode);
        if constexpr (traits_of(Mode::mode).real) {
            const typename Mode::RealMap map(RealFacts{0, 0, 0, 0, facts.mean_std});
            with_depth(copy, [&](auto out) {
                using Out = decltype(out);
                if constexpr (is_real<Out>)
                    fill(out, [&](std::uint32_t code, std::uint64_t through) {
                        return rounded_to<Out>(map(facts.lowest + code, through));
                    });
            });
        } else if (depth == copy) {
            with_depth(depth, [&](auto sample) {
                using Sample = decltype(sample);
                if constexpr (!is_real<Sample> && sizeof(Sample) <= 2) {
                    const typename Mode::template Table<Code<Sample>> map(facts);
                    fill(sample, [&](std::uint32_t code, std::uint64_t through) {
                        return sample_at<Sample>(static_cast<Code<Sample>>(map(code, through)));
                    });
                }
            });
        } else {
            with_depth(copy, [&](auto out) { fill(out, typename Mode::template Scaled<decltype(out)>(facts)); });
        }
    });
}

void fill_table(const LutSet& given, const LutSet::Lut& lut, Depth copy, void* table) {
    const NormalizeTraits& traits = traits_of(given.mode);
    const bool within = traits.kind == NormalizeKind::exact &&
                        (traits.needs == NormalizeNeeds::ranks || traits.needs == NormalizeNeeds::counts);
    const CodeRange finite = finite_codes(given.depth);
    const Levels levels = levels_of(copy, given.fill);
    with_depth(copy, [&](auto out) {
        using Out = decltype(out);
        Out* const to = static_cast<Out*>(table);
        for (std::size_t code = 0; code < traits_of(given.depth).values; ++code) {
            const bool known = code >= finite.first && code <= finite.last;
            double v = known ? lut.values[code] : value_at(given.depth, code);
            if (!known && within && std::isinf(v)) v = v < 0 ? 0 : 1;
            if constexpr (is_real<Out>)
                to[code] = rounded_to<Out>(v);
            else
                to[code] = known ? static_cast<Out>(v) : from_fraction<Out>(v, levels);
        }
    });
}

bool has_rank(const std::vector<OrderStatistic>& order, double percent, std::uint64_t n) {
    const std::uint64_t rank = nearest_rank(percent, n) - 1;
    return std::any_of(order.begin(), order.end(), [&](const OrderStatistic& one) { return one.rank == rank; });
}

float value_of_rank(const std::vector<OrderStatistic>& order, double percent, std::uint64_t n) {
    const std::uint64_t rank = nearest_rank(percent, n) - 1;
    return std::lower_bound(order.begin(), order.end(), rank,
                            [](const OrderStatistic& o, std::uint64_t r) { return o.rank < r; })
        ->value;
}

FloatFacts facts_of(const LutSet::Lut& lut) {
    return {lut.lower, lut.upper, lut.mean, lut.std, lut.values.empty() ? nullptr : lut.values.data()};
}

RealFacts real_facts_of(const LutSet& tables, const LutSet::Lut& lut) {
    const Levels levels = levels_of(tables.copy_depth(), tables.fill);
    return {lut.lower, lut.upper, 0, 0, {lut.mean, lut.std}, levels};
}

namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw InvalidArgument("tables: " + what);
}

std::string no_formula(Depth depth, NormalizeMode mode) {
    return std::string(to_string(mode)) + " of " + to_string(depth) + " is made from each image, and has no table";
}

std::string no_ranks(Depth depth) {
    return std::string("equalize of ") + to_string(depth) + " uses the ranks of each image, and has no table";
}

void validate_counted(const LutSet& tables, const LutSet::Lut& lut, const std::string& name) {
    const DepthTraits& copies = traits_of(tables.copy_depth());
    const bool real = traits_of(tables.mode).real || (traits_of(tables.depth).floating && copies.floating);
    const std::size_t values = traits_of(tables.depth).values;
    if (lut.values.size() != values) refuse("'" + name + "' does not have " + std::to_string(values) + " values");
    for (const float value : lut.values)
        if (!std::isfinite(value) || (!real && ((!copies.floating && value != std::floor(value)) ||
                                                value < copies.lowest || value > copies.highest)))
            refuse("'" + name + "' has a value that is not " +
                   (real              ? "finite"
                    : copies.floating ? "from 0 to 1"
                                      : "a whole number within the depth"));
    const CodeRange finite = finite_codes(tables.depth);
    for (std::size_t code = finite.first; !copies.floating && tables.fill && code <= finite.last; ++code)
        if (lut.values[code] == *tables.fill) refuse("'" + name + "' has the value that stands for nodata");
    if (lut.lower != 0 || lut.upper != 0 || lut.mean != 0 || lut.std != 1)
        refuse("'" + name + "' has numbers that are for f32, u32, s32 and f64");
}

void validate_formula(const LutSet& tables, const LutSet::Lut& lut, const std::string& name) {
    if (traits_of(tables.mode).kind != NormalizeKind::exact) refuse(no_formula(tables.depth, tables.mode));
    const NormalizeNeeds needs = traits_of(tables.mode).needs;
    const bool mean_std = needs == NormalizeNeeds::mean_std, counts = needs == NormalizeNeeds::counts;
    const bool range = counts || needs == NormalizeNeeds::extremes || needs == NormalizeNeeds::ranks;
    if (!std::isfinite(lut.lower) || !std::isfinite(lut.upper) || lut.lower > lut.upper ||
        (!range && (lut.lower != 0 || lut.upper != 0)))
        refuse("'" + name + "' has an impossible lower or upper value");
    if (!std::isfinite(lut.mean) || !std::isfinite(lut.std) || lut.std < 0 ||
        (!mean_std && (lut.mean != 0 || lut.std != 1)))
        refuse("'" + name + "' has an impossible mean or std");
    const bool bins = traits_of(tables.depth).counting == Counting::bins;
    if (counts && !bins) refuse(no_ranks(tables.depth));
    const std::size_t values = counts && lut.lower < lut.upper ? equalize_float_bins : 0;
    if (lut.values.size() != values) refuse("'" + name + "' does not have " + std::to_string(values) + " values");
    for (const float value : lut.values)
        if (!(value >= 0 && value <= 1)) refuse("'" + name + "' has a value that is not from 0 to 1");
}

}  // namespace

void validate_copies(Depth depth, Depth copies) {
    if (traits_of(depth).counting == Counting::values && sample_bytes(copies) > 2 && copies != Depth::f32)
        refuse(std::string("they hold numbers in single precision, too few digits for copies of ") + to_string(copies));
}

void validate(const LutSet& tables) {
    Normalization normalization;
    normalization.mode = tables.mode;
    normalization.depth = tables.copies;
    validate(normalization);
    if (traits_of(tables.mode).needs == NormalizeNeeds::nothing)
        refuse(std::string(to_string(tables.mode)) + " needs none");
    validate_copies(tables.depth, tables.copy_depth());
    validate_fill(tables.copy_depth(), tables.fill);
    int last = -1;
    for (const LutSet::Lut& lut : tables.luts) {
        const std::string name = to_string(lut.channel);
        const bool known =
            lut.channel == Channel::gray ||
            (tables.joint ? lut.channel == Channel::all : lut.channel >= Channel::red && lut.channel <= Channel::blue);
        if (!known) refuse("'" + name + "' has no place in " + (tables.joint ? "joint" : "separate") + " tables");
        if (static_cast<int>(lut.channel) <= last) refuse("'" + name + "' comes twice or out of order");
        last = static_cast<int>(lut.channel);
        if (traits_of(tables.depth).counting == Counting::values)
            validate_counted(tables, lut, name);
        else
            validate_formula(tables, lut, name);
    }
    if (tables.luts.empty()) refuse("there is none");
    const auto missing = [&](Channel channel) { return tables.find(channel) == nullptr; };
    if (missing(Channel::red) != missing(Channel::green) || missing(Channel::red) != missing(Channel::blue))
        refuse("red, green and blue come together");
}

}  // namespace core

namespace {

/// Table of a depth's values that `fill` makes for copies, in single precision; 0 for samples that are not finite.
template <class Fill>
std::vector<float> kept_table(Depth depth, Depth copy, const Fill& fill) {
    std::vector<float> values(traits_of(depth).values);
    std::vector<double> table(values.size());  // room for samples of any type
    fill(table.data());
    const core::CodeRange finite = core::finite_codes(depth);
    with_depth(copy, [&](auto out) {
        for (std::size_t code = finite.first; code < values.size() && code <= finite.last; ++code) {
            std::memcpy(&out, reinterpret_cast<const std::byte*>(table.data()) + code * sizeof out, sizeof out);
            values[code] = static_cast<float>(core::value_of(out));
        }
    });
    return values;
}

/// Table over equal bins from `lut.lower` to `lut.upper`, for a channel whose values lie within them; where it leaves
/// samples as they are, both ends become 0.
void fill_table(const ChannelSummary& channel, LutSet::Lut& lut) {
    const core::FloatBins equal(lut.lower, lut.upper, core::equalize_float_bins, true);
    std::vector<std::uint64_t> counts(equal.bins);
    for (FrequencyReader frequencies(channel.values.runs()); frequencies.next();)
        counts[equal(static_cast<float>(frequencies.value()))] += frequencies.count();
    lut.values.resize(equal.bins);
    if (core::fill_equalize_table(counts.data(), lut.values.data())) return;
    lut.values.clear();
    lut.lower = lut.upper = 0;
}

/// Numbers in the formula for floats. `channel` decides; equal bins go over `extremes`.
LutSet::Lut float_lut(Channel name, const ChannelSummary& channel, const ChannelSummary& extremes,
                      const Normalization& normalization) {
    LutSet::Lut lut;
    lut.channel = name;
    const std::uint64_t n = channel.valid();
    if (n == 0) return lut;
    switch (needs_of(normalization)) {
        case NormalizeNeeds::nothing:
            break;
        case NormalizeNeeds::extremes:
            lut.lower = channel.minimum;
            lut.upper = channel.maximum;
            break;
        case NormalizeNeeds::ranks: {
            core::OrderedValues values(channel.values);
            lut.lower = values.at_rank(core::nearest_rank(normalization.low, n) - 1);
            lut.upper = values.at_rank(core::nearest_rank(normalization.high, n) - 1);
            break;
        }
        case NormalizeNeeds::counts:
            if (!(extremes.minimum < extremes.maximum)) break;
            lut.lower = extremes.minimum;
            lut.upper = extremes.maximum;
            fill_table(channel, lut);
            break;
        case NormalizeNeeds::mean_std: {
            Statistics numbers;
            core::set_moments(numbers, n, channel.power_sums, Detail::brief);
            lut.mean = *numbers.mean;
            lut.std = *numbers.std;
            break;
        }
    }
    return lut;
}

/// Numbers in the formula for samples that are sorted.
LutSet::Lut sorted_lut(Channel name, Depth depth, const ChannelSummary& channel, const Normalization& normalization) {
    LutSet::Lut lut;
    lut.channel = name;
    if (channel.values.runs().empty()) return lut;
    const core::RealFacts facts = core::facts_of(core::RealSamples(channel.values, {depth}),
                                                 normalized_depth(depth, normalization), normalization);
    switch (needs_of(normalization)) {
        case NormalizeNeeds::nothing:
            break;
        case NormalizeNeeds::extremes:
        case NormalizeNeeds::ranks:
            lut.lower = facts.low;
            lut.upper = facts.high;
            break;
        case NormalizeNeeds::counts:
            core::refuse(core::no_ranks(depth));
        case NormalizeNeeds::mean_std:
            lut.mean = facts.mean_std.mean;
            lut.std = facts.mean_std.std;
            break;
    }
    return lut;
}

std::vector<std::uint64_t> sum_of_counts(const std::vector<const ChannelAnalysis*>& channels) {
    std::vector<std::uint64_t> counts(channels.front()->counts.size());
    for (const ChannelAnalysis* channel : channels)
        for (std::size_t code = 0; code < counts.size(); ++code) counts[code] += channel->counts[code];
    return counts;
}

/// Facts about the samples, counted by value, that decide about a channel; absent where none is finite.
std::optional<core::RealFacts> facts_by_value(Depth depth, const std::vector<const ChannelAnalysis*>& decide,
                                              const Normalization& normalization) {
    FrequencyTable values;
    for (const ChannelAnalysis* channel : decide) values.add(channel->values);
    const std::vector<std::uint64_t> counts = sum_of_counts(decide);
    if (traits_of(depth).counting == Counting::values && !traits_of(depth).floating) {
        if (std::all_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count == 0; })) return {};
        const core::IntegerFacts facts = core::facts_of(counts, depth, depth, normalization);
        return core::RealFacts{
            facts.lowest + facts.low, facts.lowest + facts.high, facts.samples, facts.lowest_samples, {}};
    }
    const core::RealSamples samples(counts, values, {depth});
    if (samples.n == 0) return {};
    return core::facts_of(samples, depth, normalization);
}

/// Verdict on the samples that decide about a channel: whether they are of one value, so that the channel stays as it
/// is; not where none is finite.
bool of_one_value(const Analysis& image, const std::vector<const ChannelAnalysis*>& decide,
                  const std::vector<OrderStatistic>& order, const Normalization& normalization) {
    const NormalizeNeeds needs = needs_of(normalization);
    const bool between = needs == NormalizeNeeds::extremes || needs == NormalizeNeeds::ranks;
    if (traits_of(normalization.mode).kind != NormalizeKind::exact &&
        !(normalization.mode == NormalizeMode::stretch && between))
        return false;
    if (traits_of(image.depth).counting != Counting::bins) {
        const auto facts = facts_by_value(image.depth, decide, normalization);
        return facts && facts->low == facts->high;
    }
    ChannelAnalysis own, all;
    for (const ChannelAnalysis* channel : decide) core::add_samples(own, *channel);
    for (const ChannelAnalysis& channel : image.channels)
        if (channel.channel != Channel::alpha) core::add_samples(all, channel);
    if (own.valid() == 0) return false;
    if (needs == NormalizeNeeds::ranks)
        return !order.empty() && core::value_of_rank(order, normalization.low, own.valid()) ==
                                     core::value_of_rank(order, normalization.high, own.valid());
    if (needs == NormalizeNeeds::extremes || own.minimum == own.maximum) return own.minimum == own.maximum;
    const core::FloatBins bins(all.minimum, all.maximum, core::equalize_float_bins, true);
    return bins(own.minimum) == bins(own.maximum);
}

/// Verdict on the samples that decide about a channel: whether minmax, or between percentiles a stretch, finds them at
/// both ends of the range to which it would take them.
bool fills_range(const Analysis& image, const std::vector<const ChannelAnalysis*>& decide,
                 const std::vector<OrderStatistic>&, const Normalization& normalization) {
    const NormalizeNeeds needs = needs_of(normalization);
    const DepthTraits& traits = traits_of(image.depth);
    if (traits_of(normalization.mode).kind != NormalizeKind::exact) return false;
    if (needs != NormalizeNeeds::extremes && (needs != NormalizeNeeds::ranks || traits.floating)) return false;
    if (traits.counting == Counting::bins) {
        ChannelAnalysis own;
        for (const ChannelAnalysis* channel : decide) core::add_samples(own, *channel);
        return own.valid() != 0 && own.minimum == 0 && own.maximum == 1;
    }
    const auto facts = facts_by_value(image.depth, decide, normalization);
    if (!facts || traits.floating) return facts && facts->low == traits.lowest && facts->high == traits.highest;
    const bool same = normalized_depth(image.depth, normalization) == image.depth;
    const core::Levels levels = core::levels_of(image.depth, same ? normalization.fill : std::nullopt);
    return facts->low == traits.lowest + levels.first && facts->high == traits.lowest + levels.last;
}

/// Channels for which a predicate is true for the samples that decide about them: its own samples, or, in a joint
/// normalization, those of `all`.
template <class Verdict>
std::vector<Channel> channels_that(const Analysis& image, const Normalization& normalization, Verdict verdict) {
    core::validate(normalization);
    const NormalizeTraits& mode = traits_of(normalization.mode);
    std::vector<Channel> found;
    if (mode.real) return found;
    std::vector<const ChannelAnalysis*> decide;
    for (const ChannelAnalysis& channel : image.channels)
        if (core::is_pooled(channel.channel) || channel.channel == Channel::gray) decide.push_back(&channel);
    const bool joint = normalization.joint && decide.size() > 1;
    if (!joint) {
        for (const ChannelAnalysis* channel : decide)
            if (verdict(image, {channel}, channel->order_statistics, normalization)) found.push_back(channel->channel);
        return found;
    }
    if (mode.joint_by_luma) decide = {image.find(Channel::luma)};
    if (decide.front() && verdict(image, decide, image.pooled_order_statistics, normalization))
        found.push_back(Channel::all);
    return found;
}

}  // namespace

const LutSet::Lut* LutSet::find(Channel channel) const {
    const Channel sought = joint && channel != Channel::gray ? Channel::all : channel;
    for (const Lut& lut : luts)
        if (lut.channel == sought) return &lut;
    return nullptr;
}

LutSet make_luts(const Summary& summary, Depth depth, const Normalization& normalization) {
    core::validate(normalization);
    const NormalizeTraits& mode = traits_of(normalization.mode);
    const Counting counting = traits_of(depth).counting;
    const bool floating = counting == Counting::bins;
    const std::string these = std::string("tables of ") + to_string(depth) + " images: ";
    const DepthSummary* found = summary.find(depth);
    if (!found) throw InvalidArgument(these + "the summary has none");
    const NormalizeNeeds needs = needs_of(normalization);
    if (needs == NormalizeNeeds::nothing) throw InvalidArgument(these + mode.name + " needs nothing of a set");
    if (mode.kind != NormalizeKind::exact && counting != Counting::values)
        throw InvalidArgument(core::no_formula(depth, mode.mode));
    if (floating && !found->values_counted && (needs == NormalizeNeeds::counts || needs == NormalizeNeeds::ranks))
        throw InvalidArgument(these + "this summary has no counts of their values");

    const ChannelSummary* gray = found->find(Channel::gray);
    const ChannelSummary* luma = found->find(Channel::luma);
    const bool colors = found->find(Channel::red), joint = normalization.joint && !mode.per_color,
               joint_by_luma = joint && mode.joint_by_luma;
    if (!gray && !colors) throw InvalidArgument(these + "lookup tables don't exist for bands");
    if (gray && colors && !joint)
        throw InvalidArgument(these + "gray images among colors have no place in separate tables");
    if (colors && !luma && (floating || joint_by_luma))
        throw InvalidArgument(these + to_string(normalization.mode) +
                              " needs luma beside the colors, which this summary does not have");
    ChannelSummary extremes;  // of colors, luma and gray
    for (const ChannelSummary& channel : found->channels)
        if (is_color(channel.channel) || channel.channel == Channel::luma || channel.channel == Channel::gray)
            core::add_samples(extremes, channel);

    core::validate_copies(depth, normalized_depth(depth, normalization));
    core::validate_fill(normalized_depth(depth, normalization), normalization.fill);
    LutSet tables{depth, normalization.mode, joint, {}, normalization.depth, normalization.fill};
    const auto add_table = [&](Channel name, const auto& fill) {
        tables.luts.push_back({name, kept_table(depth, tables.copy_depth(), fill)});
    };
    const auto curve_of = [&](Channel name, const ChannelSummary& channel) {
        const std::vector<std::uint64_t> counts = core::counts_of(channel, depth);
        const Channel decides = name == Channel::all ? Channel::luma : name;
        return core::facts_of(core::DecidingSamples{depth, &counts}, decides, normalization);
    };
    const auto add_curve = [&](Channel name, const core::CurveFacts& facts) {
        add_table(name,
                  [&](void* table) { core::fill_table(depth, tables.copy_depth(), facts, normalization, table); });
    };
    const auto add = [&](Channel name, const ChannelSummary& channel) {
        if (mode.kind != NormalizeKind::exact) return add_curve(name, curve_of(name, channel));
        if (counting == Counting::bins)
            tables.luts.push_back(float_lut(name, channel, extremes, normalization));
        else if (counting == Counting::sorted)
            tables.luts.push_back(sorted_lut(name, depth, channel, normalization));
        else
            add_table(name, [&](void* table) {
                core::fill_table(depth, tables.copy_depth(), core::counts_of(channel, depth), normalization, table);
            });
    };
    if (!colors) {
        add(Channel::gray, *gray);
    } else if (mode.per_color) {
        std::vector<core::CurveFacts> facts;
        for (const Channel color : core::colors) facts.push_back(curve_of(color, *found->find(color)));
        core::balance(facts[0], facts[1], facts[2]);
        for (std::size_t c = 0; c < facts.size(); ++c) add_curve(core::colors[c], facts[c]);
    } else if (!joint) {
        for (const Channel color : core::colors) add(color, *found->find(color));
    } else {
        ChannelSummary all = joint_by_luma ? *luma : core::sum_of(*found, is_color);
        if (gray)  // as R = G = B, whose luma it is
            for (int channels = joint_by_luma ? 1 : 3; channels > 0; --channels) core::add(depth, all, *gray);
        add(Channel::all, all);
        if (gray) {
            LutSet::Lut same = tables.luts.front();
            same.channel = Channel::gray;
            tables.luts.insert(tables.luts.begin(), std::move(same));
        }
    }
    return tables;
}

bool LutSet::leaves_all() const {
    if (traits_of(mode).real) return false;
    std::vector<float> same;
    if (traits_of(depth).counting == Counting::values)
        same = kept_table(depth, copy_depth(), [&](void* table) {
            core::fill_identity(depth, copy_depth(), mode, core::levels_of(copy_depth(), fill), table);
        });
    return std::all_of(luts.begin(), luts.end(),
                       [&](const Lut& lut) { return same.empty() ? lut.lower == lut.upper : lut.values == same; });
}

std::optional<double> fill_in(Depth copy, double value) {
    const DepthTraits& traits = traits_of(copy);
    if (!traits.floating && value != traits.lowest && value != traits.highest) return std::nullopt;
    return nodata_in(copy, value);
}

std::string fill_refusal(Depth copy, double value) {
    if (fill_in(copy, value)) return {};
    const DepthTraits& traits = traits_of(copy);
    std::array<char, 32> text{};
    std::to_chars(text.data(), text.data() + text.size() - 1, value);
    if (traits.floating) return std::string("copies of ") + traits.name + " do not hold " + text.data();
    const auto whole = [](double end) { return std::to_string(static_cast<std::int64_t>(end)); };
    return std::string("nodata in copies of ") + traits.name + " is their lowest or highest value, " +
           whole(traits.lowest) + " or " + whole(traits.highest) + ", and not " + text.data();
}

std::vector<Channel> unchanged_channels(const Analysis& image, const Normalization& normalization) {
    return channels_that(image, normalization, of_one_value);
}

std::vector<Channel> filled_channels(const Analysis& image, const Normalization& normalization) {
    return channels_that(image, normalization, fills_range);
}

}  // namespace gpuhist
