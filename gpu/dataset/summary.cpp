#include "gpuhist/dataset.hpp"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>

#include "core/analysis.hpp"
#include "core/bins.hpp"
#include "core/codes.hpp"
#include "core/validate.hpp"
#include "dataset/frequency_table.hpp"
#include "dataset/summary.hpp"
#include "gpuhist/error.hpp"
#include "statistics/percentiles.hpp"
#include "statistics/power_sums.hpp"
#include "statistics/statistics.hpp"

namespace gpuhist {
namespace {

using Counts = std::vector<std::uint64_t>;

/// Calls `work` for each i below n. On several threads, since values of floats may take long to read; while one waits
/// it begins nothing else.
template <class Work>
void in_parallel(std::size_t n, Work work) {
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::size_t{0}, n, work); });
}

/// Samples that a channel has at most: as many as their weights could be.
std::uint64_t most_samples(const DepthSummary& summary) {
    constexpr std::uint64_t most = std::uint64_t{1} << 60;
    return summary.weighted ? most / static_cast<std::uint64_t>(traits_of(summary.depth).highest) : most;
}

[[noreturn]] void refuse(const std::string& what) {
    throw InvalidArgument("summary: " + what);
}

/// Verdict on counts: whether they add up to `expected`, and not by passing 2^64.
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

/// Verdict on weights: whether they add up to what samples that weigh something, up to `highest`, can.
bool may_weigh(const Counts& weights, std::uint64_t samples, double highest) {
    core::u128 sum = 0;
    for (const std::uint64_t weight : weights) sum += weight;
    return sum >= samples && sum <= static_cast<core::u128>(samples) * static_cast<std::uint64_t>(highest);
}

bool empty(const FrequencyTable& table) {
    return table.runs().empty() && table.minus_infinite == 0 && table.plus_infinite == 0;
}

/// Range of a depth whose samples are counted by value: none where they are sorted.
std::optional<Range> whole_range(const DepthTraits& traits) {
    return traits.counting == Counting::values ? std::optional(counted_range(traits)) : std::nullopt;
}

/// Findings that are about to be added. The counts stay where they are, those in `summary` are not looked at: an
/// image's may be megabytes per channel.
struct Findings {
    const DepthSummary& summary;
    std::vector<const Counts*> counts;  ///< a channel each
    std::vector<const FrequencyTable*> frequencies;
};

Findings findings_of(const DepthSummary& summary) {
    Findings findings{summary, {}, {}};
    for (const ChannelSummary& channel : summary.channels) {
        findings.counts.push_back(&channel.counts);
        findings.frequencies.push_back(&channel.values);
    }
    return findings;
}

void validate_bins(const Findings& findings, std::size_t at, const std::string& name) {
    const DepthSummary& summary = findings.summary;
    const ChannelSummary& channel = summary.channels[at];
    const Counts& counts = *findings.counts[at];
    const bool counted = summary.range.has_value();
    if (counted != !counts.empty() || counts.size() > core::max_bins ||
        counts.size() != findings.counts.front()->size())
        refuse(name + ": the number of bins is not that of one common range");
    if (counted ? !adds_up(counts, {channel.below, channel.above, channel.nan}, channel.counted())
                : channel.below != 0 || channel.above != 0)
        refuse(name + ": the counts do not add up to the samples");
    if (channel.nan > channel.counted() || channel.infinite > channel.counted() - channel.nan ||
        (counted && channel.infinite > channel.below + channel.above))
        refuse(name + ": more NaN or infinite samples than there can be");
    const bool none = channel.valid() == 0;
    if (!std::isfinite(channel.minimum) || !std::isfinite(channel.maximum) || channel.minimum > channel.maximum ||
        (none && (channel.minimum != 0 || channel.maximum != 0)))
        refuse(name + ": extremes that are none");
    const FrequencyTable& frequencies = *findings.frequencies[at];
    if (summary.values_counted
            ? !core::plausible(frequencies, summary.depth, channel.valid()) ||
                  !core::has_extremes(frequencies, channel.minimum, channel.maximum) ||
                  frequencies.minus_infinite > channel.infinite ||
                  frequencies.plus_infinite != channel.infinite - frequencies.minus_infinite ||
                  (counted && (frequencies.minus_infinite > channel.below || frequencies.plus_infinite > channel.above))
            : !empty(frequencies))
        refuse(name + ": the counts of values are not those of the samples");
    const PowerSums::Integer zero{};
    for (std::size_t k = summary.detail == Detail::full ? 4 : 2; k < 4; ++k)
        if (channel.power_sums.sums[k] != zero) refuse(name + ": a brief analysis has no third and fourth powers");
    if (!core::plausible(channel.power_sums, channel.valid())) refuse(name + ": power sums beyond those of floats");
}

/// Depths whose samples are counted by value.
void validate_counted(const Findings& findings, std::size_t at, const std::string& name) {
    const ChannelSummary& channel = findings.summary.channels[at];
    const DepthTraits& traits = traits_of(findings.summary.depth);
    const Counts& counts = *findings.counts[at];
    const FrequencyTable& values = *findings.frequencies[at];
    const bool sorted = traits.counting == Counting::sorted;
    if (counts.size() != traits.values) refuse(name + ": not one count for each value");
    if (channel.below > channel.infinite || channel.above != channel.infinite - channel.below)
        refuse(name + ": infinite samples are below or above all others");
    if (channel.nan > channel.counted() || channel.infinite > channel.counted() - channel.nan)
        refuse(name + ": more NaN or infinite samples than there can be");
    const bool weighted = findings.summary.weighted;
    if (weighted && (sorted || traits.floating)) refuse(name + ": weights are of integers of 8 and 16 bits");
    if (sorted     ? !core::plausible(values, traits.depth, channel.valid())
        : weighted ? !may_weigh(counts, channel.valid(), traits.highest)
                   : !adds_up(counts, {}, channel.valid()))
        refuse(name + ": the counts do not add up to the samples");
    const core::CodeRange codes = core::finite_codes(traits.depth);
    for (std::size_t code = 0; traits.floating && code < counts.size(); ++code)
        if (counts[code] != 0 && (code < codes.first || code > codes.last))
            refuse(name + ": a count of a value that is not finite");
    if ((!traits.floating && (channel.nan || channel.infinite)) || channel.minimum != 0 || channel.maximum != 0 ||
        !(channel.power_sums == PowerSums{}) || (!sorted && !empty(values)) || values.minus_infinite != 0 ||
        values.plus_infinite != 0)
        refuse(name + ": samples that are counted by value have no power sums, and integers no NaN");
}

void validate(const Findings& findings) {
    const DepthSummary& summary = findings.summary;
    const std::string depth = to_string(summary.depth);
    if (summary.channels.empty()) refuse(depth + ": no channel");
    const DepthTraits& traits = traits_of(summary.depth);
    const bool bins = traits.counting == Counting::bins, sorted = traits.counting == Counting::sorted;
    if (!bins && (summary.range != whole_range(traits) || summary.upper_closed || summary.detail != Detail::full ||
                  summary.values_counted != sorted))
        refuse(depth +
               ": the range is that of the type, the detail full, and values are counted where they are sorted");
    if (summary.range) core::validate(*summary.range);
    if (!summary.range && summary.upper_closed) refuse(depth + ": no range, so none that is closed");
    if (summary.white && !(std::isfinite(*summary.white) && *summary.white > 0))
        refuse(depth + ": white is a finite number over 0");
    int last = -1;
    for (std::size_t at = 0; at < summary.channels.size(); ++at) {
        const ChannelSummary& channel = summary.channels[at];
        const std::string name = depth + " " + to_string(channel.channel);
        if (static_cast<int>(channel.channel) <= last || static_cast<int>(channel.channel) >= channel_names ||
            channel.channel == Channel::all)
            refuse(depth + ": channels are in the order gray red green blue luma alpha, then bands, each once");
        last = static_cast<int>(channel.channel);
        const bool few = channel.pixels <= most_samples(summary) && channel.masked <= channel.pixels &&
                         channel.nodata <= channel.pixels - channel.masked;
        if (!few || channel.images == 0 || channel.pixels < channel.images)
            refuse(name + ": there is at least one image and sample, and at most 2^60 samples");
        if (bins && summary.weighted) refuse(name + ": weights are of integers of 8 and 16 bits");
        bins ? validate_bins(findings, at, name) : validate_counted(findings, at, name);
    }
    const int colors = (summary.find(Channel::red) != nullptr) + (summary.find(Channel::green) != nullptr) +
                       (summary.find(Channel::blue) != nullptr);
    if (colors != 0 && colors != 3) refuse(depth + ": red, green and blue come together");
}

/// Brief analyses have no third and fourth powers.
void drop_high_powers(ChannelSummary& channel) {
    channel.power_sums.sums[2] = channel.power_sums.sums[3] = {};
}

/// Summary of one image's findings, without the counts.
DepthSummary summary_of(const Analysis& image) {
    DepthSummary summary;
    summary.depth = image.depth;
    summary.white = image.white != 0 ? std::optional(image.white) : std::nullopt;
    const DepthTraits& traits = traits_of(image.depth);
    if (traits.counting != Counting::sorted) summary.range = image.range;
    summary.upper_closed = image.upper_closed;
    summary.detail = image.detail;
    summary.weighted = image.weighted;
    for (const ChannelAnalysis& found : image.channels) {
        ChannelSummary channel;
        channel.by_class() = found;
        channel.channel = found.channel;
        channel.images = 1;
        channel.below = found.below;
        channel.above = found.above;
        if (traits.counting == Counting::bins) {
            channel.minimum = found.minimum + 0.0F;  // -0 equals 0 and would be told apart in a file
            channel.maximum = found.maximum + 0.0F;
            if (found.nan > found.counted() || found.infinite > found.counted() - found.nan)
                refuse("more NaN or infinite samples than there are");
            channel.power_sums = core::power_sums(found.valid(), found.moments);
            if (image.detail == Detail::brief) drop_high_powers(channel);
        }
        summary.channels.push_back(std::move(channel));
    }
    return summary;
}

/// Counts of a channel that has the values that occur in their place.
Counts spread_out(const ChannelAnalysis& sparse, Depth depth, bool weighted) {
    Counts counts(traits_of(depth).values);
    const std::uint64_t samples = weighted ? sparse.values.samples() : sparse.valid();
    if (!core::plausible(sparse.values, depth, samples))
        refuse(std::string(to_string(depth)) + " " + to_string(sparse.channel) + ": neither counts nor values");
    for (FrequencyReader reader(sparse.values.runs()); reader.next();)
        counts.at(static_cast<std::size_t>(reader.key())) = reader.count();
    return counts;
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
    core::add_samples(sum, more);
    sum.images += more.images;
    sum.below += more.below;
    sum.above += more.above;
    if (more.valid() > 0) core::add(sum.power_sums, more.power_sums);
}

/// Element of a list in the order of a member that has this value there; made where there is none yet.
template <class Each, class Key>
Each& place(std::vector<Each>& list, Key Each::*key, Key value) {
    const auto at = std::find_if(list.begin(), list.end(), [&](const Each& there) { return there.*key >= value; });
    if (at != list.end() && (*at).*key == value) return *at;
    Each fresh;
    fresh.*key = value;
    return *list.insert(at, std::move(fresh));
}

/// Counts of f32 images mean something together only where the bins are the same.
void agree_on_range(DepthSummary& sum, const Findings& more) {
    if (sum.channels.empty()) {
        sum.range = more.summary.range;
        sum.upper_closed = more.summary.upper_closed;
        return;
    }
    if (sum.range == more.summary.range && sum.upper_closed == more.summary.upper_closed &&
        sum.channels.front().counts.size() == more.counts.front()->size())
        return;
    sum.range.reset();
    sum.upper_closed = false;
    for (ChannelSummary& channel : sum.channels) {
        channel.counts.clear();
        channel.below = channel.above = 0;
    }
}

void agree_on_white(DepthSummary& sum, const DepthSummary& more) {
    if (sum.channels.empty())
        sum.white = more.white;
    else if (sum.white != more.white)
        sum.white.reset();
}

void agree_on_detail(DepthSummary& sum, Detail detail) {
    if (detail == Detail::brief) sum.detail = Detail::brief;
    if (sum.detail == Detail::brief)
        for (ChannelSummary& channel : sum.channels) drop_high_powers(channel);
}

void agree_on_frequencies(DepthSummary& sum, bool counted) {
    if (!counted)
        for (ChannelSummary& channel : sum.channels) channel.values = {};
    sum.values_counted = counted;
}

void check_room(const DepthSummary* sum, const DepthSummary& more) {
    if (sum && sum->weighted != more.weighted)
        refuse(std::string(to_string(more.depth)) + " images weighted by alpha and such that are not");
    for (const ChannelSummary& channel : more.channels) {
        const ChannelSummary* there = sum ? sum->find(channel.channel) : nullptr;
        if (there && there->pixels > most_samples(more) - channel.pixels)
            refuse("more than 2^60 samples in a channel, or of weight");
    }
}

void join(std::vector<DepthSummary>& depths, const Findings& more) {
    DepthSummary& sum = place(depths, &DepthSummary::depth, more.summary.depth);
    sum.weighted = more.summary.weighted;  // of all images: see check_room
    agree_on_white(sum, more.summary);
    agree_on_frequencies(sum, more.summary.values_counted && (sum.channels.empty() || sum.values_counted));
    agree_on_range(sum, more);
    for (std::size_t i = 0; i < more.summary.channels.size(); ++i) {
        ChannelSummary& channel = place(sum.channels, &ChannelSummary::channel, more.summary.channels[i].channel);
        add_channel(channel, more.summary.channels[i]);
        if (sum.range) {
            channel.counts.resize(more.counts[i]->size());
            add_counts(channel.counts, *more.counts[i]);
        } else if (traits_of(sum.depth).counting == Counting::bins) {
            channel.below = channel.above = 0;
        }
    }
    if (sum.values_counted)
        in_parallel(more.summary.channels.size(), [&](std::size_t i) {
            FrequencyTable& frequencies =
                place(sum.channels, &ChannelSummary::channel, more.summary.channels[i].channel).values;
            frequencies.add(*more.frequencies[i]);
            frequencies.settle();
        });
    agree_on_detail(sum, more.summary.detail);
}

/// Analysis as of one image: what counts need to become numbers.
Analysis as_analysis(const DepthSummary& summary) {
    Analysis analysis;
    analysis.depth = summary.depth;
    analysis.range = summary.range.value_or(Range{});
    analysis.upper_closed = summary.upper_closed;
    analysis.weighted = summary.weighted;
    for (const ChannelSummary& summed : summary.channels) {
        ChannelAnalysis channel;
        channel.by_class() = summed;
        channel.channel = summed.channel;
        channel.counts = summed.counts;
        if (traits_of(summary.depth).counting == Counting::sorted) channel.values = summed.values;
        channel.below = summed.below;
        channel.above = summed.above;
        analysis.channels.push_back(std::move(channel));
    }
    return analysis;
}

/// Range of bins where none was given, as of one image.
Range found_range(const DepthSummary& summary) {
    ChannelSummary all;
    for (const ChannelSummary& channel : summary.channels) core::add_samples(all, channel);
    return core::found_range(all.valid() > 0, all.minimum, all.maximum);
}

/// Bins for floats from their frequencies.
core::FloatBins bins_of(const HistogramOptions& options, const Range& range) {
    if (options.bins == 0)
        throw InvalidArgument("one bin per value needs samples whose values are counted one by one, these are floats");
    if (options.bins > core::max_bins)
        throw InvalidArgument(std::to_string(options.bins) + " bins: at most " + std::to_string(core::max_bins));
    core::validate(range);
    if (!std::isfinite(options.bins / (range.upper - range.lower)))
        throw InvalidArgument("a range too narrow for bins of floats");
    return {range.lower, range.upper, options.bins, !options.range};
}

/// Results for which a channel's frequencies are read, once.
struct Reading {
    Statistics* numbers = nullptr;  ///< for percentiles and `unique`; there is a finite sample then
    const Percentiles* percentiles = nullptr;
    const core::FloatBins* bins = nullptr;
    Histogram::Column* column = nullptr;
};

void read_frequencies(const ChannelSummary& channel, const Reading& reading) {
    core::CountedPercentiles percentiles({Depth::f32, reading.percentiles, {}, channel.valid()});
    std::uint64_t different = 0;
    for (FrequencyReader reader(channel.values.runs()); reader.next(); ++different) {
        percentiles.accumulate(reader.value(), reader.count());
        if (!reading.column) continue;
        const std::uint32_t bin = (*reading.bins)(static_cast<float>(reader.value()));
        std::uint64_t& count = bin == core::FloatBins::below   ? reading.column->below
                               : bin == core::FloatBins::above ? reading.column->above
                                                               : reading.column->counts[bin];
        count += reader.count();
    }
    if (!reading.numbers) return;
    percentiles.finish(*reading.numbers);
    reading.numbers->unique = different;
}

/// Verdict on a histogram: whether it is that which all images were counted in.
bool counted_so(const DepthSummary& summary, const HistogramOptions& options) {
    return summary.range && !summary.upper_closed && options.bins == summary.channels.front().counts.size() &&
           options.range.value_or(*summary.range) == *summary.range;
}

/// Histogram of a depth, where there is one. With `bins` it is still empty: the frequencies fill it.
struct BegunHistogram {
    std::optional<Histogram> histogram;
    std::optional<core::FloatBins> bins;
};
BegunHistogram begin_histogram(const DepthSummary& summary, const HistogramOptions& options) {
    const bool by_value = traits_of(summary.depth).counting != Counting::bins;
    if (by_value || !summary.values_counted || counted_so(summary, options)) {
        if (!by_value && !summary.range) return {};
        return {gpuhist::histogram(as_analysis(summary), options), std::nullopt};
    }
    Histogram histogram;
    histogram.range = options.range ? *options.range : found_range(summary);
    const core::FloatBins bins = bins_of(options, histogram.range);
    for (const ChannelSummary& channel : summary.channels)
        histogram.columns.push_back({channel, channel.channel, Counts(options.bins), channel.values.minus_infinite,
                                     channel.values.plus_infinite});
    return {std::move(histogram), bins};
}

/// Row of a channel whose samples are counted by value.
Statistics counted_row(const ChannelSummary& channel, const DepthSummary& summary, const Percentiles& percentiles) {
    return core::from_counts(channel.channel, summary.depth,
                             {channel.counts, channel.values, channel, summary.weighted}, summary.white, percentiles);
}

/// Rows of a depth and, where there are `options`, its histogram.
SummaryNumbers numbers_of(const DepthSummary& summary, const HistogramOptions* options,
                          const Percentiles& percentiles) {
    SummaryNumbers found;
    std::vector<const ChannelSummary*> channels;
    for (const ChannelSummary& channel : summary.channels)
        if (channel.channel != Channel::alpha) channels.push_back(&channel);
    std::optional<ChannelSummary> all;
    if (core::has_pooled(summary.channels)) {
        all = core::sum_of(summary, core::is_pooled);
        channels.push_back(&*all);
    }
    if (const ChannelSummary* alpha = summary.find(Channel::alpha)) channels.push_back(alpha);

    std::optional<core::FloatBins> bins;
    const bool by_value = traits_of(summary.depth).counting != Counting::bins;
    if (options) {
        BegunHistogram begun = begin_histogram(summary, *options);
        found.histogram = std::move(begun.histogram);
        bins = begun.bins;
    }

    found.rows.resize(channels.size());
    in_parallel(channels.size(), [&](std::size_t i) {
        const ChannelSummary& channel = *channels[i];
        SummaryRow& row = found.rows[i] = {summary.depth, channel.images, {}, summary.white};
        if (by_value) {
            row.statistics = counted_row(channel, summary, percentiles);
            return;
        }
        Statistics& numbers = row.statistics = core::empty_row(channel.channel, channel, percentiles);
        if (channel.valid() == 0) return;
        numbers.min = channel.minimum;
        numbers.max = channel.maximum;
        core::set_moments(numbers, channel.valid(), channel.power_sums, summary.detail);
        if (!summary.values_counted) return;
        Reading reading{&numbers, &percentiles, bins ? &*bins : nullptr, nullptr};
        if (bins)
            for (Histogram::Column& column : found.histogram->columns)  // none is that of `all`
                if (column.channel == channel.channel) reading.column = &column;
        read_frequencies(channel, reading);
    });
    return found;
}

}  // namespace

std::optional<Range> DepthSummary::extremes(const ChannelSummary& channel) const {
    if (channel.valid() == 0) return std::nullopt;
    if (traits_of(depth).counting == Counting::bins) return Range{channel.minimum, channel.maximum};
    if (traits_of(depth).counting == Counting::sorted) return core::extremes_of(channel.values);
    return core::extremes_of(depth, channel.counts);
}

void core::add(ChannelSummary& sum, const ChannelSummary& more) {
    add_channel(sum, more);
    sum.counts.resize(more.counts.size());
    add_counts(sum.counts, more.counts);
    sum.values.add(more.values);
}

ChannelSummary core::sum_of(const DepthSummary& summary, bool (*pooled)(Channel)) {
    ChannelSummary all;
    std::uint64_t images = 0;
    for (const ChannelSummary& channel : summary.channels) {
        if (!pooled(channel.channel)) continue;
        core::add(all, channel);
        if (is_first(channel.channel)) images += channel.images;
    }
    all.channel = Channel::all;
    all.images = images;
    return all;
}

const ChannelSummary* DepthSummary::find(Channel channel) const {
    for (const ChannelSummary& candidate : channels)
        if (candidate.channel == channel) return &candidate;
    return nullptr;
}

Summary::Summary(std::vector<DepthSummary> depths) : depths_(std::move(depths)) {
    for (std::size_t i = 0; i < depths_.size(); ++i) {
        if (i > 0 && depths_[i - 1].depth >= depths_[i].depth)
            refuse("depths are in the order " + depth_names(", ") + ", each once");
        validate(findings_of(depths_[i]));
    }
}

void Summary::add(const Analysis& image, const std::vector<FrequencyTable>& values) {
    if (!values.empty() && values.size() != image.channels.size())
        refuse("counts of values of " + std::to_string(values.size()) + " channels, the image has " +
               std::to_string(image.channels.size()));
    DepthSummary one = summary_of(image);
    const bool sorted = traits_of(image.depth).counting == Counting::sorted;
    one.values_counted = !values.empty() || sorted;
    Findings findings = findings_of(one);
    const bool sparse = traits_of(image.depth).counting == Counting::values;
    std::vector<Counts> spread(sparse ? image.channels.size() : 0);
    for (std::size_t i = 0; i < image.channels.size(); ++i) {
        findings.counts[i] = &image.channels[i].counts;
        if (sparse && image.channels[i].counts.empty()) {
            spread[i] = spread_out(image.channels[i], image.depth, image.weighted);
            findings.counts[i] = &spread[i];
        }
        if (one.values_counted) findings.frequencies[i] = values.empty() ? &image.channels[i].values : &values[i];
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
    Summary summary = *this;
    for (DepthSummary& depth : summary.depths_)
        for (ChannelSummary& channel : depth.channels) channel.values = channel.values.merged(storage);
    return summary;
}

const DepthSummary* Summary::find(Depth depth) const {
    for (const DepthSummary& candidate : depths_)
        if (candidate.depth == depth) return &candidate;
    return nullptr;
}

std::uint64_t Summary::memory_bytes() const {
    std::uint64_t bytes = 0;
    for (const DepthSummary& depth : depths_)
        for (const ChannelSummary& channel : depth.channels)
            bytes += sizeof channel + 8 * channel.counts.capacity() + channel.values.memory_bytes();
    return bytes;
}

std::vector<SummaryRow> Summary::statistics(const Percentiles& percentiles) const {
    std::vector<SummaryRow> rows;
    for (const DepthSummary& summary : depths_) {
        const std::vector<SummaryRow> more = numbers_of(summary, nullptr, percentiles).rows;
        rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
}

SummaryNumbers Summary::numbers(Depth depth, const HistogramOptions& options, const Percentiles& percentiles) const {
    const DepthSummary* summary = find(depth);
    return summary ? numbers_of(*summary, &options, percentiles) : SummaryNumbers{};
}

std::vector<SummaryRow> Summary::rgb_rows(Depth depth) const {
    std::vector<SummaryRow> rows;
    const DepthSummary* summary = find(depth);
    if (!summary) return rows;
    const ChannelSummary* gray = summary->find(Channel::gray);
    for (const ChannelSummary& color : summary->channels) {
        if (!is_color(color.channel)) continue;
        ChannelSummary sum = color;
        if (gray) core::add(sum, *gray);
        SummaryRow& row = rows.emplace_back(SummaryRow{depth, sum.images, {}, summary->white});
        if (traits_of(depth).counting != Counting::bins) {
            row.statistics = counted_row(sum, *summary, Percentiles());
            continue;
        }
        row.statistics.by_class() = sum;
        row.statistics.channel = color.channel;
        if (sum.valid() > 0) core::set_moments(row.statistics, sum.valid(), sum.power_sums, Detail::brief);
    }
    return rows;
}

std::optional<Histogram> Summary::histogram(Depth depth, const HistogramOptions& options) const {
    const DepthSummary* summary = find(depth);
    if (!summary) return std::nullopt;
    BegunHistogram begun = begin_histogram(*summary, options);
    if (!begun.bins) return begun.histogram;
    in_parallel(summary->channels.size(), [&](std::size_t i) {
        read_frequencies(summary->channels[i], {nullptr, nullptr, &*begun.bins, &begun.histogram->columns[i]});
    });
    return begun.histogram;
}

}  // namespace gpuhist
