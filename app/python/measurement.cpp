#include "measurement.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "gpuhist/dataset.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist::python {

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
        std::string name(row_name(statistics.channel, info.bands));
        if (find(name)) name = to_string(statistics.channel);  // a file may give several bands one name
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
            if (statistics.channel == row.statistics.channel) return statistics.percentiles.front().value;
        return std::nullopt;
    };
    if (values.empty() && traits_of(analysis.depth).counting == Counting::bins) {
        for (const Percentile& known : row.statistics.percentiles)
            if (known.micro == asked.micro(0)) return known.value;
        throw InvalidArgument("percentile: of an f32 image those are found that percentile_columns= names, and not " +
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
    const Channel channel = row.statistics.channel;
    if (channel != Channel::all) return analysis.find(channel)->counts;
    std::vector<std::uint64_t> sum(traits_of(analysis.depth).values);
    for (const ChannelAnalysis& part : analysis.channels)
        if (is_color(part.channel) || is_band(part.channel))
            std::transform(sum.begin(), sum.end(), part.counts.begin(), sum.begin(), std::plus<>());
    return sum;
}

}  // namespace gpuhist::python
