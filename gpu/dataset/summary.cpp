#include "gpuhist/dataset.hpp"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <numeric>
#include <string>
#include <utility>

#include "core/analysis.hpp"
#include "core/bins.hpp"
#include "core/codes.hpp"
#include "core/validate.hpp"
#include "core/weights.hpp"
#include "dataset/frequency_table.hpp"
#include "dataset/summary.hpp"
#include "gpuhist/error.hpp"
#include "statistics/extremes.hpp"
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
    return summary.weighted ? most / core::most_weight(summary.depth) : most;
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

core::u128 sum_of(const Counts& counts) {
    core::u128 sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    return sum;
}

/// Verdict on a weight: whether samples that weigh something may have it together.
bool may_weigh(core::u128 weight, std::uint64_t samples, Depth depth) {
    return weight >= samples && weight <= static_cast<core::u128>(samples) * core::most_weight(depth);
}

bool empty(const FrequencyTable& table) {
    return table.runs().empty() && table.minus_infinite == 0 && table.plus_infinite == 0;
}

/// Range of a depth whose samples are counted by value: none where they are sorted.
std::optional<Range> whole_range(const DepthTraits& traits) {
    return traits.counting == Counting::values ? std::optional(counted_range(traits)) : std::nullopt;
}

/// Verdict on two channels of a summary: whether they are in order, and not the same.
bool before(const ChannelSummary& a, const ChannelSummary& b) {
    return a.channel != b.channel ? a.channel < b.channel : a.name < b.name;
}

std::uint64_t images_in(const DepthSummary& summary, Channel channel) {
    const ChannelSummary* found = summary.find(channel);
    return found ? found->images : 0;
}

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
    return a + b < a ? ~std::uint64_t{0} : a + b;
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
    const bool sorted = traits.counting == Counting::sorted, sparse = !sorted && counts.empty();
    if (!sparse && counts.size() != traits.values) refuse(name + ": not one count for each value");
    const bool weighted = findings.summary.weighted;
    const core::u128 infinite = static_cast<core::u128>(channel.below) + channel.above;
    if (weighted ? !may_weigh(infinite, channel.infinite, traits.depth) : infinite != channel.infinite)
        refuse(name + ": infinite samples are below or above all others");
    if (channel.nan > channel.counted() || channel.infinite > channel.counted() - channel.nan)
        refuse(name + ": more NaN or infinite samples than there can be");
    const std::uint64_t samples = weighted ? values.samples() : channel.valid();
    if (((sorted || sparse) && !core::plausible(values, traits.depth, samples)) ||
        (weighted && !may_weigh(sum_of(counts) + values.samples(), channel.valid(), traits.depth)) ||
        (!sorted && !sparse && !weighted && !adds_up(counts, {}, samples)))
        refuse(name + ": the counts do not add up to the samples");
    const core::CodeRange codes = core::finite_codes(traits.depth);
    for (std::size_t code = 0; traits.floating && code < counts.size(); ++code)
        if (counts[code] != 0 && (code < codes.first || code > codes.last))
            refuse(name + ": a count of a value that is not finite");
    if ((!traits.floating && (channel.nan || channel.infinite)) || channel.minimum != 0 || channel.maximum != 0 ||
        !(channel.power_sums == PowerSums{}) || (!sorted && !sparse && !empty(values)) || values.minus_infinite != 0 ||
        values.plus_infinite != 0)
        refuse(name + ": samples that are counted by value have no power sums, and integers no NaN");
}

std::size_t place_of(const std::string& column) {
    const std::vector<MeasureColumn>& all = measure_columns();
    return static_cast<std::size_t>(
        std::find_if(all.begin(), all.end(), [&](const MeasureColumn& one) { return column == one.name; }) -
        all.begin());
}

void validate_measures(const DepthSummary& summary) {
    std::size_t next = 0;
    for (const MeasureSummary& measure : summary.measures) {
        const std::size_t place = place_of(measure.column);
        if (place == measure_columns().size() || place < next)
            refuse(measure.column + ": columns of measures are in their order, each once");
        next = place + 1;
        if (measure.images == 0 || measure.images > summary.images)
            refuse(measure.column + ": more images than there are, or none");
        if (!std::isfinite(measure.minimum) || !std::isfinite(measure.maximum) || measure.minimum > measure.maximum ||
            !(measure.mean() >= measure.minimum) || !(measure.mean() <= measure.maximum))
            refuse(measure.column + ": the mean of images is not between their extremes");
    }
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
    for (std::size_t at = 0; at < summary.channels.size(); ++at) {
        const ChannelSummary& channel = summary.channels[at];
        const std::string name = (depth + " ").append(channel_name(channel));
        if ((at > 0 && !before(summary.channels[at - 1], channel)) || channel.channel > Channel::named ||
            channel.channel == Channel::all)
            refuse(depth + ": channels are in the order gray red green blue luma alpha, then bands, each once");
        const bool named = channel.channel == Channel::named;
        if (named ? channel.name.empty() || channel_of(channel.name) : !channel.name.empty())
            refuse(name + ": bands alone have names, none that is one of ours");
        const bool few = channel.pixels <= most_samples(summary) && channel.masked <= channel.pixels &&
                         channel.nodata <= channel.pixels - channel.masked;
        if (!few || channel.images == 0 || channel.images > summary.images || channel.pixels < channel.images)
            refuse(name + ": there is at least one image and sample, and at most 2^60 samples");
        bins ? validate_bins(findings, at, name) : validate_counted(findings, at, name);
    }
    const int colors = (summary.find(Channel::red) != nullptr) + (summary.find(Channel::green) != nullptr) +
                       (summary.find(Channel::blue) != nullptr);
    if (colors != 0 && colors != 3) refuse(depth + ": red, green and blue come together");
    std::uint64_t most = 0;  // each image has a channel of its own that is neither luma nor alpha
    for (const ChannelSummary& channel : summary.channels) most = saturating_sum(most, channel.images);
    const std::uint64_t least = saturating_sum(images_in(summary, Channel::gray), images_in(summary, Channel::red));
    if (summary.images < least || summary.images > most) refuse(depth + ": not the images of its channels");
    validate_measures(summary);
}

/// Brief analyses have no third and fourth powers.
void drop_high_powers(ChannelSummary& channel) {
    channel.power_sums.sums[2] = channel.power_sums.sums[3] = {};
}

/// Places of an image's channels in the order of a summary's: bands with names, which lie in the image as in its
/// pixels, by these.
std::vector<std::size_t> order_of(const Analysis& image) {
    std::vector<std::size_t> order(image.channels.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const ChannelAnalysis &one = image.channels[a], &other = image.channels[b];
        if (other.channel != Channel::named) return false;
        return one.channel != Channel::named || one.name < other.name;
    });
    return order;
}

/// Double as a sum of one.
std::array<std::uint64_t, MeasureSummary::words> sum_of(double number) {
    core::ExactSum sum;
    sum.add(number, 1);
    core::Wide<MeasureSummary::words> total;
    for (int i = core::ExactSum::words - 1; i >= 0; --i) {
        const core::i128 word = core::from_public(sum.word(i));
        std::array<std::uint64_t, MeasureSummary::words> own{};
        own[static_cast<std::size_t>(i)] = static_cast<std::uint64_t>(word < 0 ? -word : word);
        total += word < 0 ? -core::Wide<MeasureSummary::words>(own) : core::Wide<MeasureSummary::words>(own);
    }
    return total.to_words();
}

/// Numbers of an image in the columns of measures.
std::vector<MeasureSummary> measures_of(const Analysis& image) {
    std::vector<MeasureSummary> measures;
    if (image.measured.empty()) return measures;
    const std::vector<MeasureValue> values = measure_values(image);
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::optional<double> number;
        if (const auto* real = std::get_if<double>(&values[i])) number = *real + 0.0;  // -0 equals 0
        if (const auto* whole = std::get_if<std::uint64_t>(&values[i])) number = static_cast<double>(*whole);
        if (number && std::isfinite(*number))
            measures.push_back({measure_columns()[i].name, 1, *number, *number, sum_of(*number)});
    }
    return measures;
}

void add_measures(std::vector<MeasureSummary>& sums, const std::vector<MeasureSummary>& more) {
    auto at = sums.begin();  // both are in the order of the columns
    for (const MeasureSummary& one : more) {
        while (at != sums.end() && at->column != one.column && place_of(at->column) < place_of(one.column)) ++at;
        if (at == sums.end() || at->column != one.column) {
            at = sums.insert(at, one);
            continue;
        }
        at->images += one.images;
        at->minimum = std::min(at->minimum, one.minimum);
        at->maximum = std::max(at->maximum, one.maximum);
        at->sum = (core::Wide<MeasureSummary::words>(at->sum) + core::Wide<MeasureSummary::words>(one.sum)).to_words();
    }
}

/// Summary of one image's findings in this order, without the counts.
DepthSummary summary_of(const Analysis& image, const std::vector<std::size_t>& order) {
    DepthSummary summary;
    summary.depth = image.depth;
    summary.white = image.white != 0 ? std::optional(image.white) : std::nullopt;
    const DepthTraits& traits = traits_of(image.depth);
    if (traits.counting != Counting::sorted) summary.range = image.range;
    summary.upper_closed = image.upper_closed;
    summary.detail = image.detail;
    summary.weighted = image.weighted;
    summary.images = 1;
    summary.measures = measures_of(image);
    for (const std::size_t place : order) {
        const ChannelAnalysis& found = image.channels[place];
        ChannelSummary channel;
        channel.by_class() = found;
        channel.channel = found.channel;
        channel.name = found.name;
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

/// Adds the values that occur to one count per value.
void add_values(Counts& counts, const FrequencyTable& values) {
    for (FrequencyReader reader(values.runs()); reader.next();)
        counts.at(static_cast<std::size_t>(reader.key())) += reader.count();
}

/// Counts of a channel that has the values that occur in their place.
Counts spread_out(const ChannelAnalysis& sparse, Depth depth, bool weighted) {
    Counts counts(traits_of(depth).values);
    const std::uint64_t samples = weighted ? sparse.values.samples() : sparse.valid();
    if (!core::plausible(sparse.values, depth, samples))
        refuse(std::string(to_string(depth)) + " " + to_string(sparse.channel) + ": neither counts nor values");
    add_values(counts, sparse.values);
    return counts;
}

/// Adds counts that are not zero: the counts of a small image are mostly zero.
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

/// Adds samples that were counted by value: to the values that occur if both have these, else to one count per value.
void add_counted(ChannelSummary& sum, const Counts& counts, const FrequencyTable& values) {
    if (sum.counts.empty() && counts.empty()) {
        sum.values.add(values);
        sum.values.settle();
        return;
    }
    if (sum.counts.empty()) {
        sum.counts.resize(counts.size());
        add_values(sum.counts, std::exchange(sum.values, {}));
    }
    add_counts(sum.counts, counts);
    add_values(sum.counts, values);
}

/// Summary of a depth; a new one is inserted in its place if needed.
DepthSummary& place(std::vector<DepthSummary>& list, Depth depth) {
    const auto at = std::find_if(list.begin(), list.end(), [&](const auto& there) { return there.depth >= depth; });
    if (at != list.end() && at->depth == depth) return *at;
    DepthSummary fresh;
    fresh.depth = depth;
    return *list.insert(at, std::move(fresh));
}

/// Channel to which another is added; a new one is inserted in its place if needed.
ChannelSummary& place(std::vector<ChannelSummary>& list, const ChannelSummary& more) {
    const auto at = std::find_if(list.begin(), list.end(), [&](const auto& there) { return !before(there, more); });
    if (at != list.end() && !before(more, *at)) return *at;
    ChannelSummary fresh;
    fresh.channel = more.channel;
    fresh.name = more.name;
    return *list.insert(at, std::move(fresh));
}

/// Counts of f32 images mean something together only where the bins are the same.
void agree_on_range(DepthSummary& sum, const Findings& more) {
    if (sum.channels.empty()) {
        sum.range = more.summary.range;
        sum.upper_closed = more.summary.upper_closed;
        return;
    }
    if (traits_of(sum.depth).counting != Counting::bins) return;
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
    if (!counted && traits_of(sum.depth).counting == Counting::bins)
        for (ChannelSummary& channel : sum.channels) channel.values = {};
    sum.values_counted = counted;
}

void check_room(const DepthSummary* sum, const DepthSummary& more) {
    if (sum && sum->weighted != more.weighted)
        refuse(std::string(to_string(more.depth)) + " images that are weighted by alpha, and others that are not");
    for (const ChannelSummary& channel : more.channels) {
        const ChannelSummary* there = sum ? sum->find(channel_name(channel)) : nullptr;
        if (there && there->pixels > most_samples(more) - channel.pixels)
            refuse("more than 2^60 samples in a channel, or of weight");
    }
}

void join(std::vector<DepthSummary>& depths, const Findings& more) {
    DepthSummary& sum = place(depths, more.summary.depth);
    sum.images += more.summary.images;
    add_measures(sum.measures, more.summary.measures);
    sum.weighted = more.summary.weighted;  // of all images: see check_room
    agree_on_white(sum, more.summary);
    agree_on_frequencies(sum, more.summary.values_counted && (sum.channels.empty() || sum.values_counted));
    agree_on_range(sum, more);
    for (std::size_t i = 0; i < more.summary.channels.size(); ++i) {
        ChannelSummary& channel = place(sum.channels, more.summary.channels[i]);
        add_channel(channel, more.summary.channels[i]);
        if (traits_of(sum.depth).counting == Counting::values) {
            add_counted(channel, *more.counts[i], *more.frequencies[i]);
        } else if (sum.range) {
            channel.counts.resize(more.counts[i]->size());
            add_counts(channel.counts, *more.counts[i]);
        } else if (traits_of(sum.depth).counting == Counting::bins) {
            channel.below = channel.above = 0;
        }
    }
    if (sum.values_counted)
        in_parallel(more.summary.channels.size(), [&](std::size_t i) {
            FrequencyTable& frequencies = place(sum.channels, more.summary.channels[i]).values;
            frequencies.add(*more.frequencies[i]);
            frequencies.settle();
        });
    agree_on_detail(sum, more.summary.detail);
}

/// Analysis as of one image, with everything that turns counts into numbers.
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
        channel.name = summed.name;
        channel.counts = summed.counts;
        if (traits_of(summary.depth).counting != Counting::bins) channel.values = summed.values;
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
    Statistics* numbers = nullptr;  ///< for percentiles, `mode` and `unique`; there is a finite sample then
    const Percentiles* percentiles = nullptr;
    const core::FloatBins* bins = nullptr;
    Histogram::Column* column = nullptr;
    bool weighted = false;  ///< percentiles are weighted ones, each sample weighing the same
};

void read_frequencies(const ChannelSummary& channel, const Reading& reading) {
    const core::Population population{Depth::f32, reading.percentiles, {}, channel.valid()};
    core::CountedPercentiles percentiles(population);
    core::WeightedPercentiles weighted(population);
    core::Mode mode(population);
    std::uint64_t different = 0;
    for (FrequencyReader reader(channel.values.runs()); reader.next(); ++different) {
        percentiles.accumulate(reader.value(), reader.count());
        weighted.accumulate(reader.value(), reader.count());
        mode.accumulate(reader.value(), reader.count());
        if (!reading.column) continue;
        const std::uint32_t bin = (*reading.bins)(static_cast<float>(reader.value()));
        std::uint64_t& count = bin == core::FloatBins::below   ? reading.column->below
                               : bin == core::FloatBins::above ? reading.column->above
                                                               : reading.column->counts[bin];
        count += reader.count();
    }
    if (!reading.numbers) return;
    if (reading.weighted)
        weighted.finish(*reading.numbers);
    else
        percentiles.finish(*reading.numbers);
    mode.finish(*reading.numbers);
    reading.numbers->unique = different;
}

/// Returns whether a histogram has the bins in which all images were counted.
bool counted_so(const DepthSummary& summary, const HistogramOptions& options) {
    return summary.range && !summary.upper_closed && options.bins == summary.channels.front().counts.size() &&
           options.range.value_or(*summary.range) == *summary.range;
}

/// Histogram of a depth, if there is one. With `bins`, it is still empty, and the frequencies fill it.
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
    histogram.weighted = summary.weighted;
    histogram.range = options.range ? *options.range : found_range(summary);
    const core::FloatBins bins = bins_of(options, histogram.range);
    for (const ChannelSummary& channel : summary.channels)
        histogram.columns.push_back({channel, channel.channel, Counts(options.bins), channel.values.minus_infinite,
                                     channel.values.plus_infinite, channel.name});
    return {std::move(histogram), bins};
}

/// Row of a channel whose samples are counted by value.
Statistics counted_row(const ChannelSummary& channel, const DepthSummary& summary, const StatisticsRequest& request) {
    Statistics row =
        core::from_counts(channel.channel, summary.depth, {channel.counts, channel.values, channel, summary.weighted},
                          summary.white, request);
    row.name = channel.name;
    return row;
}

/// Rows of a depth and, if `options` are given, its histogram.
SummaryNumbers numbers_of(const DepthSummary& summary, const HistogramOptions* options,
                          const StatisticsRequest& request) {
    core::validate(request);
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
            row.statistics = counted_row(channel, summary, request);
            return;
        }
        Statistics& numbers = row.statistics = core::empty_row(channel.channel, channel, request.percentiles);
        numbers.name = channel.name;
        if (summary.weighted) numbers.weighted_percentiles = numbers.percentiles;
        if (channel.valid() > 0) {
            numbers.min = channel.minimum;
            numbers.max = channel.maximum;
            core::set_moments(numbers, channel.valid(), channel.power_sums, summary.detail);
            numbers.sum = core::rounded_sum(channel.power_sums);
        }
        if (summary.weighted) core::set_weight(numbers, summary.depth, channel.valid());
        if (channel.valid() == 0 || !summary.values_counted) return;
        Reading reading{&numbers, &request.percentiles, bins ? &*bins : nullptr, nullptr, summary.weighted};
        if (bins)
            for (Histogram::Column& column : found.histogram->columns)  // none is that of `all`
                if (channel_name(column) == channel_name(channel)) reading.column = &column;
        read_frequencies(channel, reading);
        if (request.clip_sigma) core::set_robust_from(numbers, channel.values, summary.weighted, *request.clip_sigma);
    });
    return found;
}

}  // namespace

double MeasureSummary::mean() const {
    return core::ratio(core::Wide<words>(sum), images, core::ExactSum::unit_exponent);
}

std::optional<Range> DepthSummary::extremes(const ChannelSummary& channel) const {
    if (channel.valid() == 0) return std::nullopt;
    if (traits_of(depth).counting == Counting::bins) return Range{channel.minimum, channel.maximum};
    return channel.counts.empty() ? core::extremes_of(channel.values) : core::extremes_of(depth, channel.counts);
}

void core::add(Depth depth, ChannelSummary& sum, const ChannelSummary& more) {
    add_channel(sum, more);
    if (traits_of(depth).counting == Counting::values) return add_counted(sum, more.counts, more.values);
    sum.counts.resize(more.counts.size());
    add_counts(sum.counts, more.counts);
    sum.values.add(more.values);
}

std::vector<std::uint64_t> core::counts_of(const ChannelSummary& channel, Depth depth) {
    if (!channel.counts.empty()) return channel.counts;
    Counts counts(traits_of(depth).values);
    add_values(counts, channel.values);
    return counts;
}

ChannelSummary core::sum_of(const DepthSummary& summary, bool (*pooled)(Channel)) {
    ChannelSummary all;
    for (const ChannelSummary& channel : summary.channels)
        if (pooled(channel.channel)) core::add(summary.depth, all, channel);
    all.channel = Channel::all;
    all.images = pooled(Channel::red) ? images_in(summary, Channel::red) : 0;
    if (pooled(Channel::c0)) all.images += summary.images_of_bands();
    return all;
}

std::uint64_t DepthSummary::images_of_bands() const {
    return images - images_in(*this, Channel::gray) - images_in(*this, Channel::red);
}

const ChannelSummary* DepthSummary::find(std::string_view name) const {
    for (const ChannelSummary& candidate : channels)
        if (channel_name(candidate) == name) return &candidate;
    return nullptr;
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
    const std::vector<std::size_t> order = order_of(image);
    DepthSummary one = summary_of(image, order);
    const Counting counting = traits_of(image.depth).counting;
    const auto has_counts = [](const ChannelAnalysis& channel) { return !channel.counts.empty(); };
    if (counting == Counting::values && !values.empty() &&
        std::any_of(image.channels.begin(), image.channels.end(), has_counts))
        refuse("counts of values beside the image's own counts");
    const bool tables = !values.empty() || counting == Counting::sorted;
    one.values_counted = tables && counting != Counting::values;
    Findings findings = findings_of(one);
    std::vector<Counts> spread(counting == Counting::values && !tables ? order.size() : 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
        const ChannelAnalysis& channel = image.channels[order[i]];
        findings.counts[i] = &channel.counts;
        if (!spread.empty() && channel.counts.empty()) {
            spread[i] = spread_out(channel, image.depth, image.weighted);
            findings.counts[i] = &spread[i];
        }
        if (tables) findings.frequencies[i] = values.empty() ? &channel.values : &values[order[i]];
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
    for (const DepthSummary& depth : depths_) {
        bytes += depth.measures.capacity() * sizeof(MeasureSummary);
        for (const ChannelSummary& channel : depth.channels)
            bytes += sizeof channel + 8 * channel.counts.capacity() + channel.values.memory_bytes();
    }
    return bytes;
}

std::vector<SummaryRow> Summary::statistics(const StatisticsRequest& request) const {
    std::vector<SummaryRow> rows;
    for (const DepthSummary& summary : depths_) {
        const std::vector<SummaryRow> more = numbers_of(summary, nullptr, request).rows;
        rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
}

SummaryNumbers Summary::numbers(Depth depth, const HistogramOptions& options, const StatisticsRequest& request) const {
    const DepthSummary* summary = find(depth);
    return summary ? numbers_of(*summary, &options, request) : SummaryNumbers{};
}

std::vector<SummaryRow> Summary::rgb_rows(Depth depth) const {
    std::vector<SummaryRow> rows;
    const DepthSummary* summary = find(depth);
    if (!summary) return rows;
    const ChannelSummary* gray = summary->find(Channel::gray);
    for (const ChannelSummary& color : summary->channels) {
        if (!is_color(color.channel)) continue;
        ChannelSummary sum = color;
        if (gray) core::add(depth, sum, *gray);
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
