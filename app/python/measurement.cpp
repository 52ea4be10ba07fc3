#include "measurement.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "gpuhist/dataset.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/sink.hpp"

namespace gpuhist::python {

namespace {

/// Adds the counts of a channel, by value: all that it has, or those of the values that occur.
void add_counts(const ChannelAnalysis& channel, std::vector<std::uint64_t>& counts) {
    for (std::size_t i = 0; i < channel.counts.size(); ++i) counts[i] += channel.counts[i];
    for (FrequencyReader reader(channel.values.runs()); reader.next();)
        counts[static_cast<std::size_t>(reader.key())] += reader.count();
}

}  // namespace

ColumnRow Row::columns() const {
    ColumnRow row;
    row.statistics = &statistics;
    row.depth = depth;
    row.white = white;
    row.images = images;
    return row;
}

void Measurement::finish(std::vector<Statistics> all) {
    rows.clear();
    std::optional<double> white;
    if (analysis.white > 0) white = analysis.white;
    for (Statistics& statistics : all) {
        std::string name(channel_name(statistics));
        rows.push_back({std::move(name), analysis.depth, std::move(statistics), white});
    }
}

const Row* Measurement::find(const std::string& name) const {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
    return found == rows.end() ? nullptr : &*found;
}

std::optional<double> Measurement::percentile(const Row& row, double percent) const {
    const Percentiles asked({percent});
    const auto value_in = [&](const std::vector<Statistics>& all) -> std::optional<double> {
        for (const Statistics& statistics : all)
            if (channel_name(statistics) == row.name) return statistics.percentile(percent);
        return std::nullopt;
    };
    if (values.empty() && traits_of(analysis.depth).counting == Counting::bins) {
        const Statistics& found = row.statistics;
        for (const Percentile& known : found.weight ? found.weighted_percentiles : found.percentiles)
            if (known.micro == asked.micro(0)) return known.value;
        throw InvalidArgument("percentile: an f32 image has only the percentiles of percentile_columns=, not " +
                              asked.name(0) + "; detail=\"values\" has all");
    }
    if (values.empty()) return value_in(gpuhist::statistics(analysis, asked));
    Summary summary;
    summary.add(analysis, values);
    std::vector<Statistics> all;
    for (SummaryRow& found : summary.statistics(asked)) all.push_back(std::move(found.statistics));
    return value_in(all);
}

std::vector<std::uint64_t> Measurement::counts(const Row& row) const {
    if (traits_of(analysis.depth).counting != Counting::values)
        throw InvalidArgument(std::string("counts: ") + to_string(analysis.depth) +
                              " samples have no count for each value that the type has; histogram(bins=, range=) has "
                              "counts of bins");
    const bool all = row.statistics.channel == Channel::all;
    std::vector<std::uint64_t> sum(traits_of(analysis.depth).values);
    for (const ChannelAnalysis& part : analysis.channels)
        if (all ? is_color(part.channel) || is_band(part.channel) : channel_name(part) == row.name)
            add_counts(part, sum);
    return sum;
}

double Measurement::unit() const {
    return analysis.weighted && traits_of(analysis.depth).alpha_unit > 0 ? traits_of(analysis.depth).alpha_unit : 1;
}

const Analysis& Measurement::counted(Analysis& room) const {
    const bool by_value = traits_of(analysis.depth).counting == Counting::values;
    if (!by_value || analysis.channels.empty() || !analysis.channels.front().counts.empty()) return analysis;
    room = analysis;
    for (ChannelAnalysis& channel : room.channels) {
        std::vector<std::uint64_t> counts(traits_of(analysis.depth).values);
        add_counts(channel, counts);
        channel.counts = std::move(counts);
        channel.values = {};
    }
    return room;
}

ColumnRow Measurement::columns(const Row& row) const {
    ColumnRow read = io::row_of(info);
    read.statistics = &row.statistics;
    read.depth = row.depth;
    read.images = row.images;
    return read;
}

bool operator==(const Measurement& a, const Measurement& b) {
    return packed(a) == packed(b);
}

std::size_t hash_of(const Row& row) {  // not of its bytes: 0 and -0 are equal
    return std::hash<std::string>()(row.name) ^ std::hash<std::optional<double>>()(row.statistics.mean);
}
std::size_t hash_of(const Measurement& measurement) {
    return std::hash<std::string>()(packed(measurement));
}

}  // namespace gpuhist::python
