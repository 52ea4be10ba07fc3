#include "gpuhist/dataset.hpp"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/bins.hpp"
#include "core/power_sums.hpp"
#include "core/validate.hpp"
#include "dataset/frequency_table.hpp"
#include "dataset/summary.hpp"
#include "gpuhist/error.hpp"
#include "statistics/percentiles.hpp"
#include "statistics/statistics.hpp"

namespace gpuhist {
namespace {

using core::finite;
using Counts = std::vector<std::uint64_t>;

/// Calls `work` for each i below n. On several threads, since values of floats may take long to read; while one waits
/// it begins nothing else.
template <class Work>
void in_parallel(std::size_t n, Work work) {
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::size_t{0}, n, work); });
}

constexpr std::uint64_t most_samples = std::uint64_t{1} << 60;

[[noreturn]] void refuse(const std::string& what) {
    throw InvalidArgument("pool: " + what);
}

/// Whether they add up to so much, and not by passing 2^64.
bool adds_up(const Counts& counts, std::initializer_list<std::uint64_t> others, std::uint64_t expected) {
    std::uint64_t sum = 0, any = 0;
    for (std::uint64_t count : counts) {
        sum += count;
        any |= count;
    }
    if (std::bit_width(any) + std::bit_width(counts.size()) > 64) {  // seldom: now one by one
        sum = 0;
        for (std::uint64_t count : counts) {
            if (count > expected - sum) return false;
            sum += count;
        }
    }
    for (std::uint64_t count : others) {
        if (sum > expected || count > expected - sum) return false;
        sum += count;
    }
    return sum == expected;
}

bool empty(const FrequencyTable& values) {
    return values.runs().empty() && values.minus_infinite == 0 && values.plus_infinite == 0;
}

std::size_t values_of(Depth depth) {
    return depth == Depth::u8 ? 256 : 65536;
}

/// What is about to be pooled. The counts stay where they are, those in `pool` are not looked at: an image's may be
/// megabytes a channel.
struct Findings {
    const DepthSummary& pool;
    std::vector<const Counts*> counts;  ///< a channel each
    std::vector<const FrequencyTable*> values;
};

Findings findings_of(const DepthSummary& pool) {
    Findings findings{pool, {}, {}};
    for (const ChannelSummary& channel : pool.channels) {
        findings.counts.push_back(&channel.counts);
        findings.values.push_back(&channel.values);
    }
    return findings;
}

void validate_floats(const Findings& findings, std::size_t at, const std::string& name) {
    const DepthSummary& pool = findings.pool;
    const ChannelSummary& channel = pool.channels[at];
    const Counts& counts = *findings.counts[at];
    const bool counted = pool.range.has_value();
    if (counted != !counts.empty() || counts.size() > core::max_bins ||
        counts.size() != findings.counts.front()->size())
        refuse(name + ": the number of bins is not that of one common range");
    if (counted ? !adds_up(counts, {channel.below, channel.above, channel.nan}, channel.samples)
                : channel.below != 0 || channel.above != 0)
        refuse(name + ": the counts do not add up to the samples");
    if (channel.nan > channel.samples || channel.infinite > channel.samples - channel.nan ||
        (counted && channel.infinite > channel.below + channel.above))
        refuse(name + ": more NaN or infinite samples than there can be");
    const bool none = finite(channel) == 0;
    if (!std::isfinite(channel.minimum) || !std::isfinite(channel.maximum) || channel.minimum > channel.maximum ||
        (none && (channel.minimum != 0 || channel.maximum != 0)))
        refuse(name + ": extremes that are none");
    const FrequencyTable& values = *findings.values[at];
    if (pool.values_counted
            ? !core::plausible(values, finite(channel), channel.minimum, channel.maximum) ||
                  values.minus_infinite > channel.infinite ||
                  values.plus_infinite != channel.infinite - values.minus_infinite ||
                  (counted && (values.minus_infinite > channel.below || values.plus_infinite > channel.above))
            : !empty(values))
        refuse(name + ": the counts of values are not those of the samples");
    const PowerSums::Integer zero{};
    for (std::size_t k = pool.detail == Detail::full ? 4 : 2; k < 4; ++k)
        if (channel.power_sums.sums[k] != zero) refuse(name + ": a brief analysis has no third and fourth powers");
    if (!core::plausible(channel.power_sums, finite(channel))) refuse(name + ": power sums beyond those of floats");
}

void validate_integers(const Findings& findings, std::size_t at, const std::string& name) {
    const ChannelSummary& channel = findings.pool.channels[at];
    if (findings.counts[at]->size() != values_of(findings.pool.depth)) refuse(name + ": not one count for each value");
    if (!adds_up(*findings.counts[at], {}, channel.samples)) refuse(name + ": the counts do not add up to the samples");
    if (channel.nan || channel.infinite || channel.below || channel.above || channel.minimum != 0 ||
        channel.maximum != 0 || !(channel.power_sums == PowerSums{}) || !empty(*findings.values[at]))
        refuse(name + ": integer samples have neither NaN nor power sums nor counts of values");
}

void validate(const Findings& findings) {
    const DepthSummary& pool = findings.pool;
    const std::string depth = to_string(pool.depth);
    if (pool.channels.empty()) refuse(depth + ": no channel");
    if (pool.depth != Depth::f32 && (pool.range != Range{0, static_cast<double>(values_of(pool.depth))} ||
                                     pool.upper_closed || pool.detail != Detail::full || pool.values_counted))
        refuse(depth + ": the range is that of the type, the detail full, and values are not counted");
    if (pool.range) core::validate(*pool.range);
    if (!pool.range && pool.upper_closed) refuse(depth + ": no range, so none that is closed");
    int last = -1;
    for (std::size_t at = 0; at < pool.channels.size(); ++at) {
        const ChannelSummary& channel = pool.channels[at];
        const std::string name = depth + " " + to_string(channel.channel);
        if (static_cast<int>(channel.channel) <= last || channel.channel >= Channel::all)
            refuse(depth + ": channels are in the order gray red green blue luma alpha, each once");
        last = static_cast<int>(channel.channel);
        if (channel.images == 0 || channel.samples < channel.images || channel.samples > most_samples)
            refuse(name + ": there is at least one image and sample, and at most 2^60 samples");
        pool.depth == Depth::f32 ? validate_floats(findings, at, name) : validate_integers(findings, at, name);
    }
    const int colors = (pool.find(Channel::red) != nullptr) + (pool.find(Channel::green) != nullptr) +
                       (pool.find(Channel::blue) != nullptr);
    if (colors != 0 && colors != 3) refuse(depth + ": red, green and blue come together");
}

/// Brief analyses have no third and fourth powers.
void drop_high_powers(ChannelSummary& channel) {
    channel.power_sums.sums[2] = channel.power_sums.sums[3] = {};
}

/// One image's findings as a pool of their own, without the counts.
DepthSummary pooled(const Analysis& image) {
    DepthSummary pool;
    pool.depth = image.depth;
    pool.range = image.range;
    pool.upper_closed = image.upper_closed;
    pool.detail = image.detail;
    for (const ChannelAnalysis& found : image.channels) {
        ChannelSummary channel;
        channel.channel = found.channel;
        channel.images = 1;
        channel.samples = found.pixels;
        if (image.depth == Depth::f32) {
            channel.nan = found.nan;
            channel.infinite = found.infinite;
            channel.below = found.below;
            channel.above = found.above;
            channel.minimum = found.minimum + 0.0F;  // -0 equals 0 and would be told apart in a file
            channel.maximum = found.maximum + 0.0F;
            if (found.nan > found.pixels || found.infinite > found.pixels - found.nan)
                refuse("more NaN or infinite samples than there are");
            channel.power_sums = core::power_sums(found.pixels - found.nan - found.infinite, found.moments);
            if (image.detail == Detail::brief) drop_high_powers(channel);
        }
        pool.channels.push_back(std::move(channel));
    }
    return pool;
}

/// Adds what is not zero: the counts of a small image are mostly zero.
void add_counts(Counts& counts, const Counts& more) {
    constexpr std::size_t block = 32;
    std::size_t at = 0;
    for (; at + block <= more.size(); at += block) {
        std::uint64_t any = 0;
        for (std::size_t i = 0; i < block; ++i) any |= more[at + i];
        if (any != 0)
            for (std::size_t i = 0; i < block; ++i) counts[at + i] += more[at + i];
    }
    for (; at < more.size(); ++at) counts[at] += more[at];
}

void add_channel(ChannelSummary& sum, const ChannelSummary& more) {
    core::add_extremes(sum, more);
    sum.images += more.images;
    sum.below += more.below;
    sum.above += more.above;
    if (finite(more) > 0) core::add(sum.power_sums, more.power_sums);
}

/// The place of `channel`, made where it is not there yet.
ChannelSummary& place(DepthSummary& pool, Channel channel) {
    const auto at = std::find_if(pool.channels.begin(), pool.channels.end(),
                                 [&](const ChannelSummary& there) { return there.channel >= channel; });
    if (at != pool.channels.end() && at->channel == channel) return *at;
    ChannelSummary fresh;
    fresh.channel = channel;
    return *pool.channels.insert(at, std::move(fresh));
}

/// The counts of f32 images mean something together only where the bins are the same.
void agree_on_range(DepthSummary& sum, const Findings& more) {
    if (sum.channels.empty()) {
        sum.range = more.pool.range;
        sum.upper_closed = more.pool.upper_closed;
        return;
    }
    if (sum.range == more.pool.range && sum.upper_closed == more.pool.upper_closed &&
        sum.channels.front().counts.size() == more.counts.front()->size())
        return;
    sum.range.reset();
    sum.upper_closed = false;
    for (ChannelSummary& channel : sum.channels) {
        channel.counts.clear();
        channel.below = channel.above = 0;
    }
}

void agree_on_detail(DepthSummary& sum, Detail detail) {
    if (detail == Detail::brief) sum.detail = Detail::brief;
    if (sum.detail == Detail::brief)
        for (ChannelSummary& channel : sum.channels) drop_high_powers(channel);
}

void agree_on_values(DepthSummary& sum, bool counted) {
    if (!counted)
        for (ChannelSummary& channel : sum.channels) channel.values = {};
    sum.values_counted = counted;
}

void check_room(const DepthSummary* sum, const DepthSummary& more) {
    for (const ChannelSummary& channel : more.channels) {
        const ChannelSummary* there = sum ? sum->find(channel.channel) : nullptr;
        if (there && there->samples > most_samples - channel.samples) refuse("more than 2^60 samples in a channel");
    }
}

void join(std::vector<DepthSummary>& depths, const Findings& more) {
    auto at = std::find_if(depths.begin(), depths.end(),
                           [&](const DepthSummary& there) { return there.depth >= more.pool.depth; });
    if (at == depths.end() || at->depth != more.pool.depth) {
        at = depths.insert(at, DepthSummary{});
        at->depth = more.pool.depth;
    }
    DepthSummary& sum = *at;
    agree_on_values(sum, more.pool.values_counted && (sum.channels.empty() || sum.values_counted));
    agree_on_range(sum, more);
    for (std::size_t i = 0; i < more.pool.channels.size(); ++i) {
        ChannelSummary& channel = place(sum, more.pool.channels[i].channel);
        add_channel(channel, more.pool.channels[i]);
        if (sum.range) {
            channel.counts.resize(more.counts[i]->size());
            add_counts(channel.counts, *more.counts[i]);
        } else {
            channel.below = channel.above = 0;
        }
    }
    if (sum.values_counted)
        in_parallel(more.pool.channels.size(), [&](std::size_t i) {
            FrequencyTable& values = place(sum, more.pool.channels[i].channel).values;
            values.add(*more.values[i]);
            values.settle();
        });
    agree_on_detail(sum, more.pool.detail);
}

/// As an analysis of one image: what counts need to become numbers.
Analysis as_analysis(const DepthSummary& pool) {
    Analysis analysis;
    analysis.depth = pool.depth;
    analysis.range = pool.range.value_or(Range{});
    analysis.upper_closed = pool.upper_closed;
    for (const ChannelSummary& pooled_channel : pool.channels) {
        ChannelAnalysis channel;
        channel.channel = pooled_channel.channel;
        channel.pixels = pooled_channel.samples;
        channel.counts = pooled_channel.counts;
        channel.nan = pooled_channel.nan;
        channel.below = pooled_channel.below;
        channel.above = pooled_channel.above;
        analysis.channels.push_back(std::move(channel));
    }
    return analysis;
}

/// The range of bins where none was given, as of one image.
Range found_range(const DepthSummary& pool) {
    ChannelSummary all;
    for (const ChannelSummary& channel : pool.channels) core::add_extremes(all, channel);
    return core::found_range(finite(all) > 0, all.minimum, all.maximum);
}

/// Bins for floats from their counts of values.
core::FloatBins bins_of(const HistogramOptions& options, const Range& range) {
    if (options.bins == 0) throw InvalidArgument("one bin per value needs 8- or 16-bit samples, these are f32");
    if (options.bins > core::max_bins)
        throw InvalidArgument(std::to_string(options.bins) + " bins: at most " + std::to_string(core::max_bins));
    core::validate(range);
    if (!std::isfinite(options.bins / (range.upper - range.lower)))
        throw InvalidArgument("a range too narrow for bins of floats");
    return {range.lower, range.upper, options.bins, !options.range};
}

/// What a channel's counts of values are read for, once.
struct Reading {
    Statistics* numbers = nullptr;  ///< for percentiles and `unique`
    const Percentiles* percentiles = nullptr;
    const core::FloatBins* bins = nullptr;
    Histogram::Column* column = nullptr;
};

void read_values(const ChannelSummary& channel, const Reading& reading) {
    std::map<std::uint64_t, float> at_rank;  // that percentiles are made of
    const std::uint64_t n = finite(channel);
    if (reading.numbers)
        core::set_percentiles(*reading.numbers, *reading.percentiles, n,
                              [&](std::uint64_t rank) { return at_rank[rank]; });
    std::uint64_t through = 0, values = 0;
    auto wanted = at_rank.begin();
    for (FrequencyReader reader(channel.values.runs()); reader.next(); ++values) {
        through += reader.count();
        for (; wanted != at_rank.end() && wanted->first < through; ++wanted) wanted->second = reader.value();
        if (!reading.column) continue;
        const std::uint32_t bin = (*reading.bins)(reader.value());
        std::uint64_t& count = bin == core::FloatBins::below   ? reading.column->below
                               : bin == core::FloatBins::above ? reading.column->above
                                                               : reading.column->counts[bin];
        count += reader.count();
    }
    if (!reading.numbers) return;
    core::set_percentiles(*reading.numbers, *reading.percentiles, n, [&](std::uint64_t rank) { return at_rank[rank]; });
    reading.numbers->unique = values;
}

/// A histogram for a depth's counts of values, still empty, and its bins.
std::pair<Histogram, core::FloatBins> value_histogram(const DepthSummary& pool, const HistogramOptions& options) {
    Histogram histogram;
    histogram.range = options.range ? *options.range : found_range(pool);
    const core::FloatBins bins = bins_of(options, histogram.range);
    for (const ChannelSummary& channel : pool.channels)
        histogram.columns.push_back({channel.channel, Counts(options.bins), channel.values.minus_infinite,
                                     channel.values.plus_infinite, channel.nan});
    return {std::move(histogram), bins};
}

/// Whether the histogram is that which all images were counted in.
bool counted_so(const DepthSummary& pool, const HistogramOptions& options) {
    return pool.range && !pool.upper_closed && options.bins == pool.channels.front().counts.size() &&
           options.range.value_or(*pool.range) == *pool.range;
}

/// The rows of a depth and, where there are `options`, its histogram.
SummaryNumbers numbers_of(const DepthSummary& pool, const HistogramOptions* options, const Percentiles& percentiles) {
    SummaryNumbers found;
    std::vector<const ChannelSummary*> channels;
    for (const ChannelSummary& channel : pool.channels)
        if (channel.channel != Channel::alpha) channels.push_back(&channel);
    const std::size_t own = channels.size();
    std::optional<ChannelSummary> all;
    if (pool.find(Channel::red)) channels.push_back(&all.emplace(core::pool_colors(pool)));
    if (const ChannelSummary* alpha = pool.find(Channel::alpha)) channels.push_back(alpha);

    std::optional<core::FloatBins> bins;
    if (options && pool.values_counted && !counted_so(pool, *options)) {
        std::tie(found.histogram, bins) = value_histogram(pool, *options);
    } else if (options && pool.range) {
        found.histogram = gpuhist::histogram(as_analysis(pool), *options);
    }

    found.rows.resize(channels.size());
    in_parallel(channels.size(), [&](std::size_t i) {
        const ChannelSummary& channel = *channels[i];
        SummaryRow& row = found.rows[i] = {pool.depth, channel.images, {}};
        if (pool.depth != Depth::f32) {
            row.statistics = core::from_counts(channel.channel, channel.counts, percentiles);
            return;
        }
        Statistics& numbers = row.statistics;
        numbers.channel = channel.channel;
        numbers.pixels = channel.samples;
        numbers.nan = channel.nan;
        numbers.inf = channel.infinite;
        core::set_percentiles(numbers, percentiles, 0, {});
        if (finite(channel) == 0) return;
        numbers.min = channel.minimum;
        numbers.max = channel.maximum;
        core::set_moments(numbers, finite(channel), channel.power_sums, pool.detail);
        if (!pool.values_counted) return;
        Reading reading{&numbers, &percentiles, bins ? &*bins : nullptr, nullptr};
        if (bins && (i < own || channel.channel == Channel::alpha))
            reading.column = &found.histogram->columns[i < own ? i : own];
        read_values(channel, reading);
    });
    return found;
}

}  // namespace

void core::add_extremes(ChannelSummary& sum, const ChannelSummary& more) {
    if (finite(more) > 0) {
        sum.minimum = finite(sum) > 0 ? std::min(sum.minimum, more.minimum) : more.minimum;
        sum.maximum = finite(sum) > 0 ? std::max(sum.maximum, more.maximum) : more.maximum;
    }
    sum.samples += more.samples;
    sum.nan += more.nan;
    sum.infinite += more.infinite;
}

ChannelSummary core::pool_colors(const DepthSummary& pool) {
    ChannelSummary all;
    for (Channel color : {Channel::red, Channel::green, Channel::blue}) {
        const ChannelSummary& channel = *pool.find(color);
        add_channel(all, channel);
        all.counts.resize(channel.counts.size());
        add_counts(all.counts, channel.counts);
        all.values.add(channel.values);
    }
    all.channel = Channel::all;
    all.images = pool.find(Channel::red)->images;
    return all;
}

const ChannelSummary* DepthSummary::find(Channel channel) const {
    for (const ChannelSummary& candidate : channels)
        if (candidate.channel == channel) return &candidate;
    return nullptr;
}

Summary::Summary(std::vector<DepthSummary> depths) : depths_(std::move(depths)) {
    for (std::size_t i = 0; i < depths_.size(); ++i) {
        if (i > 0 && depths_[i - 1].depth >= depths_[i].depth) refuse("depths are in the order u8 u16 f32, each once");
        validate(findings_of(depths_[i]));
    }
}

void Summary::add(const Analysis& image, const std::vector<FrequencyTable>& values) {
    if (!values.empty() && values.size() != image.channels.size())
        refuse("counts of values of " + std::to_string(values.size()) + " channels, the image has " +
               std::to_string(image.channels.size()));
    DepthSummary one = pooled(image);
    one.values_counted = !values.empty();
    Findings findings = findings_of(one);
    for (std::size_t i = 0; i < image.channels.size(); ++i) {
        findings.counts[i] = &image.channels[i].counts;
        if (one.values_counted) findings.values[i] = &values[i];
    }
    validate(findings);
    check_room(find(image.depth), one);
    join(depths_, findings);
}

void Summary::merge(const Summary& other) {
    for (const DepthSummary& depth : other.depths_) check_room(find(depth.depth), depth);
    for (const DepthSummary& depth : other.depths_) join(depths_, findings_of(depth));
}

Summary Summary::merged_values(const std::shared_ptr<FrequencyStorage>& storage) const {
    Summary pool = *this;
    for (DepthSummary& depth : pool.depths_)
        for (ChannelSummary& channel : depth.channels) channel.values = channel.values.merged(storage);
    return pool;
}

const DepthSummary* Summary::find(Depth depth) const {
    for (const DepthSummary& candidate : depths_)
        if (candidate.depth == depth) return &candidate;
    return nullptr;
}

std::vector<SummaryRow> Summary::statistics(const Percentiles& percentiles) const {
    std::vector<SummaryRow> rows;
    for (const DepthSummary& pool : depths_) {
        const std::vector<SummaryRow> more = numbers_of(pool, nullptr, percentiles).rows;
        rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
}

SummaryNumbers Summary::numbers(Depth depth, const HistogramOptions& options, const Percentiles& percentiles) const {
    const DepthSummary* pool = find(depth);
    return pool ? numbers_of(*pool, &options, percentiles) : SummaryNumbers{};
}

std::optional<Histogram> Summary::histogram(Depth depth, const HistogramOptions& options) const {
    const DepthSummary* pool = find(depth);
    if (!pool) return std::nullopt;
    if (!pool->values_counted || counted_so(*pool, options))
        return pool->range ? std::optional(gpuhist::histogram(as_analysis(*pool), options)) : std::nullopt;
    Histogram histogram;
    std::optional<core::FloatBins> bins;
    std::tie(histogram, bins) = value_histogram(*pool, options);
    in_parallel(pool->channels.size(), [&](std::size_t i) {
        read_values(pool->channels[i], {nullptr, nullptr, &*bins, &histogram.columns[i]});
    });
    return histogram;
}

}  // namespace gpuhist
