#include "gpuhist/io/dataset.hpp"

#include <algorithm>
#include <cmath>

#include "gpuhist/error.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/plot.hpp"
#include "gpuhist/io/report.hpp"
#include "report/fields.hpp"
#include "report/json.hpp"

namespace gpuhist::io {
namespace {

double top_of(Depth depth) {
    return depth == Depth::u8 ? 255 : depth == Depth::u16 ? 65535 : 1;
}

std::optional<double> unit_scale(const std::optional<double>& value, Depth depth) {
    return value ? std::optional(*value / top_of(depth)) : std::nullopt;
}

/// A group and what all files say of it.
struct Numbers {
    const std::string* name;
    const Summary* pool;
    SetNumbers found;
};

/// The bins asked for as far as the depth can: floats in those they were counted in where these are all there is or
/// their range was given, integers over whole numbers.
HistogramOptions possible(const DepthSummary& found, HistogramOptions options) {
    if (found.depth == Depth::f32) {
        if (found.range && (!found.upper_closed || !found.values_counted))
            options = {static_cast<std::uint32_t>(found.channels.front().counts.size()), std::nullopt};
        if (options.bins == 0) options.bins = HistogramOptions{}.bins;
        if (options.range && !std::isfinite(options.bins / (options.range->upper - options.range->lower)))
            options.range.reset();
    } else if (options.range && (options.range->lower != std::floor(options.range->lower) ||
                                 options.range->upper != std::floor(options.range->upper))) {
        options.range.reset();
    }
    return options;
}

Json histogram_value(const Histogram& histogram) {
    Json value{{"range", {histogram.range.lower, histogram.range.upper}}, {"channels", Json::array()}};
    for (const Histogram::Column& column : histogram.columns)
        value["channels"].push_back(Json{{"channel", to_string(column.channel)},
                                         {"below", column.below},
                                         {"above", column.above},
                                         {"nan", column.nan},
                                         {"counts", column.counts}});
    return value;
}

/// What training code subtracts and divides by, a number a channel.
Json normalize_value(const std::vector<SummaryRow>& rows, Depth depth, std::initializer_list<Channel> channels) {
    Json mean = Json::array(), std = Json::array();
    const auto value = [](const std::optional<double>& number) { return number ? Json(*number) : Json(nullptr); };
    for (Channel channel : channels)
        for (const SummaryRow& row : rows)
            if (row.depth == depth && row.statistics.channel == channel) {
                mean.push_back(value(unit_scale(row.statistics.mean, depth)));
                std.push_back(value(unit_scale(row.statistics.std, depth)));
            }
    return Json{{"mean", std::move(mean)}, {"std", std::move(std)}};
}

/// Groups in byte order of their names: the whole set, "", comes first.
std::vector<Numbers> numbers_of(const std::vector<Group>& groups, const HistogramOptions& options) {
    std::vector<Numbers> all;
    for (const Group& group : groups) all.push_back({&group.name, &group.summary, set_numbers(group.summary, options)});
    std::stable_sort(all.begin(), all.end(), [](const Numbers& a, const Numbers& b) { return *a.name < *b.name; });
    return all;
}

Json depth_value(const Numbers& numbers, std::size_t at) {
    const DepthSummary& pool = numbers.pool->depths()[at];
    const Depth depth = pool.depth;
    const std::vector<SummaryRow>& rows = numbers.found.rows;
    Json value{{"group", *numbers.name}, {"depth", to_string(depth)}};
    const bool colors = pool.find(Channel::red), gray = pool.find(Channel::gray);
    if (colors) value["normalize"] = normalize_value(rows, depth, {Channel::red, Channel::green, Channel::blue});
    if (gray) value[colors ? "normalize_gray" : "normalize"] = normalize_value(rows, depth, {Channel::gray});
    value["channels"] = Json::array();
    for (const SummaryRow& row : rows) {
        if (row.depth != depth) continue;
        Json fields{{"channel", to_string(row.statistics.channel)}, {"images", row.images}};
        add_fields(fields, row.statistics);
        const auto mean = unit_scale(row.statistics.mean, depth), std = unit_scale(row.statistics.std, depth);
        fields["mean_01"] = mean ? Json(*mean) : Json(nullptr);
        fields["std_01"] = std ? Json(*std) : Json(nullptr);
        value["channels"].push_back(std::move(fields));
    }
    const auto& histogram = numbers.found.histograms[at];
    value["histogram"] = histogram ? histogram_value(*histogram) : Json(nullptr);
    return value;
}

std::string csv(const std::vector<Numbers>& all) {
    std::string lines = "group,depth,channel,images";
    visit_fields(Statistics{}, [&](const char* name, const auto&) { lines.append(",").append(name); });
    lines += ",mean_01,std_01\n";
    for (const Numbers& numbers : all)
        for (const SummaryRow& row : numbers.found.rows) {
            const Statistics& found = row.statistics;
            lines.append(csv_field(*numbers.name)).append(",").append(to_string(row.depth)).append(",");
            lines.append(to_string(found.channel));
            const auto append = [&](const auto& value) { append_text(lines += ',', value); };
            append(row.images);
            visit_fields(found, [&](const char*, const auto& value) { append(value); });
            append(unit_scale(found.mean, row.depth));
            append(unit_scale(found.std, row.depth));
            lines += '\n';
        }
    return lines;
}

std::string json(const std::vector<Numbers>& all) {
    std::string lines;
    for (const Numbers& numbers : all)
        for (std::size_t at = 0; at < numbers.found.histograms.size(); ++at)
            lines += (lines.empty() ? "" : ",\n") +
                     depth_value(numbers, at).dump(-1, ' ', false, Json::error_handler_t::replace);
    return "[\n" + lines + "\n]\n";
}

std::vector<std::pair<std::string, cv::Mat>> plots_of(const Summary& pool, const SetNumbers& numbers, bool log_counts) {
    std::vector<std::pair<std::string, cv::Mat>> plots;
    const std::vector<DepthSummary>& depths = pool.depths();
    const auto samples = [](const DepthSummary& part) {
        std::uint64_t sum = 0;
        for (const ChannelSummary& channel : part.channels) sum += channel.samples;
        return sum;
    };
    const auto most = std::max_element(depths.begin(), depths.end(), [&](const DepthSummary& a, const DepthSummary& b) {
        return samples(a) < samples(b);
    });
    for (std::size_t at = 0; at < depths.size(); ++at) {
        if (!numbers.histograms[at]) continue;
        const DepthSummary& part = depths[at];
        std::vector<Statistics> rows;
        std::uint64_t images = 0;
        for (const SummaryRow& row : numbers.rows)
            if (row.depth == part.depth) {
                rows.push_back(row.statistics);
                if (row.statistics.channel == Channel::gray || row.statistics.channel == Channel::red)
                    images += row.images;
            }
        PlotOptions plot;
        plot.log_counts = log_counts;
        plot.title = std::to_string(images) + (images == 1 ? " image, " : " images, ") + to_string(part.depth);
        const std::string depth = &part == &*most ? "" : std::string(".") + to_string(part.depth);
        plots.emplace_back("dataset" + depth + ".histogram.png", plot_histogram(*numbers.histograms[at], rows, plot));
    }
    return plots;
}

}  // namespace

SetNumbers set_numbers(const Summary& pool, const HistogramOptions& options) {
    SetNumbers all;
    for (const DepthSummary& part : pool.depths()) {
        SummaryNumbers found = pool.numbers(part.depth, possible(part, options));
        all.rows.insert(all.rows.end(), found.rows.begin(), found.rows.end());
        all.histograms.push_back(std::move(found.histogram));
    }
    return all;
}

std::string dataset_csv(const std::vector<Group>& groups) {
    return csv(numbers_of(groups, {}));
}

std::string dataset_json(const std::vector<Group>& groups, const HistogramOptions& options) {
    return json(numbers_of(groups, options));
}

std::vector<std::pair<std::string, cv::Mat>> dataset_plots(const Summary& pool, const HistogramOptions& options,
                                                           bool log_counts) {
    return plots_of(pool, set_numbers(pool, options), log_counts);
}

void remove_dataset(const std::filesystem::path& directory) {
    for (const char* name : {"dataset.csv", "dataset.json", "dataset.histogram.png", "dataset.u8.histogram.png",
                             "dataset.u16.histogram.png", "dataset.f32.histogram.png"}) {
        std::error_code failure;
        std::filesystem::remove(directory / name, failure);
        if (failure) throw IoError((directory / name).string() + ": cannot be removed: " + failure.message());
    }
}

SetNumbers write_dataset(const std::filesystem::path& directory, const std::vector<Group>& groups,
                         const HistogramOptions& options, bool log_counts) {
    const std::vector<Numbers> all = numbers_of(groups, options);
    write_file(directory / "dataset.csv", csv(all));
    write_file(directory / "dataset.json", json(all));
    if (all.empty() || !all.front().name->empty()) return {};
    const Numbers& whole = all.front();
    for (const auto& [name, plot] : plots_of(*whole.pool, whole.found, log_counts)) write_image(directory / name, plot);
    return whole.found;
}

}  // namespace gpuhist::io
