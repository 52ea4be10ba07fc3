#include "gpuhist/io/dataset.hpp"

#include <algorithm>
#include <cmath>

#include "fields.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/image_file.hpp"
#include "gpuhist/io/plot.hpp"
#include "gpuhist/io/report.hpp"
#include "json.hpp"

namespace gpuhist::io {
namespace {

double top_of(Depth depth) {
    return depth == Depth::u8 ? 255 : depth == Depth::u16 ? 65535 : 1;
}

std::optional<double> unit_scale(const std::optional<double>& value, Depth depth) {
    return value ? std::optional(*value / top_of(depth)) : std::nullopt;
}

/// Groups in byte order of their names: the whole set, "", comes first.
std::vector<const Group*> sorted(const std::vector<Group>& groups) {
    std::vector<const Group*> order;
    for (const Group& group : groups) order.push_back(&group);
    std::stable_sort(order.begin(), order.end(), [](const Group* a, const Group* b) { return a->name < b->name; });
    return order;
}

/// The pool's histogram in the bins asked for as far as the depth can: floats in those they were counted in where these
/// are all there is or their range was given, integers over whole numbers.
std::optional<Histogram> histogram_of(const Pool& pool, Depth depth, HistogramOptions options) {
    if (depth == Depth::f32) {
        const PooledDepth* found = pool.find(depth);
        if (!found) return std::nullopt;
        if (found->range && (!found->upper_closed || !found->values_counted))
            options = {static_cast<std::uint32_t>(found->channels.front().counts.size()), std::nullopt};
        if (options.bins == 0) options.bins = HistogramOptions{}.bins;
        if (options.range && !std::isfinite(options.bins / (options.range->upper - options.range->lower)))
            options.range.reset();
    } else if (options.range && (options.range->lower != std::floor(options.range->lower) ||
                                 options.range->upper != std::floor(options.range->upper))) {
        options.range.reset();
    }
    return pool.histogram(depth, options);
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
Json normalize_value(const std::vector<PooledRow>& rows, Depth depth, std::initializer_list<Channel> channels) {
    Json mean = Json::array(), std = Json::array();
    const auto value = [](const std::optional<double>& number) { return number ? Json(*number) : Json(nullptr); };
    for (Channel channel : channels)
        for (const PooledRow& row : rows)
            if (row.depth == depth && row.statistics.channel == channel) {
                mean.push_back(value(unit_scale(row.statistics.mean, depth)));
                std.push_back(value(unit_scale(row.statistics.std, depth)));
            }
    return Json{{"mean", std::move(mean)}, {"std", std::move(std)}};
}

Json depth_value(const Group& group, const std::vector<PooledRow>& rows, const PooledDepth& pool,
                 const HistogramOptions& options) {
    const Depth depth = pool.depth;
    Json value{{"group", group.name}, {"depth", to_string(depth)}};
    const bool colours = pool.find(Channel::red), gray = pool.find(Channel::gray);
    if (colours) value["normalize"] = normalize_value(rows, depth, {Channel::red, Channel::green, Channel::blue});
    if (gray) value[colours ? "normalize_gray" : "normalize"] = normalize_value(rows, depth, {Channel::gray});
    value["channels"] = Json::array();
    for (const PooledRow& row : rows) {
        if (row.depth != depth) continue;
        Json fields{{"channel", to_string(row.statistics.channel)}, {"images", row.images}};
        add_fields(fields, row.statistics);
        const auto mean = unit_scale(row.statistics.mean, depth), std = unit_scale(row.statistics.std, depth);
        fields["mean_01"] = mean ? Json(*mean) : Json(nullptr);
        fields["std_01"] = std ? Json(*std) : Json(nullptr);
        fields["percentile_bits"] = row.percentile_bits ? Json(*row.percentile_bits) : Json(nullptr);
        value["channels"].push_back(std::move(fields));
    }
    const auto histogram = histogram_of(group.pool, depth, options);
    value["histogram"] = histogram ? histogram_value(*histogram) : Json(nullptr);
    return value;
}

}  // namespace

std::string dataset_csv(const std::vector<Group>& groups) {
    std::string lines = "group,depth,channel,images";
    visit_fields(Statistics{}, [&](const char* name, const auto&) { lines.append(",").append(name); });
    lines += ",mean_01,std_01,percentile_bits\n";
    for (const Group* group : sorted(groups))
        for (const PooledRow& row : group->pool.statistics()) {
            const Statistics& numbers = row.statistics;
            lines.append(csv_field(group->name)).append(",").append(to_string(row.depth)).append(",");
            lines.append(to_string(numbers.channel));
            const auto append = [&](const auto& value) { append_text(lines += ',', value); };
            append(row.images);
            visit_fields(numbers, [&](const char*, const auto& value) { append(value); });
            append(unit_scale(numbers.mean, row.depth));
            append(unit_scale(numbers.std, row.depth));
            lines += ',';
            if (row.percentile_bits) lines += std::to_string(*row.percentile_bits);
            lines += '\n';
        }
    return lines;
}

std::string dataset_json(const std::vector<Group>& groups, const HistogramOptions& options) {
    std::string lines;
    for (const Group* group : sorted(groups)) {
        const std::vector<PooledRow> rows = group->pool.statistics();
        for (const PooledDepth& depth : group->pool.depths())
            lines += (lines.empty() ? "" : ",\n") +
                     depth_value(*group, rows, depth, options).dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    return "[\n" + lines + "\n]\n";
}

std::vector<std::pair<std::string, cv::Mat>> dataset_plots(const Pool& pool, const HistogramOptions& options,
                                                           bool log_counts) {
    std::vector<std::pair<std::string, cv::Mat>> plots;
    const std::vector<PooledRow> pooled = pool.statistics();
    const auto samples = [](const PooledDepth& part) {
        std::uint64_t sum = 0;
        for (const PooledChannel& channel : part.channels) sum += channel.samples;
        return sum;
    };
    const auto most =
        std::max_element(pool.depths().begin(), pool.depths().end(),
                         [&](const PooledDepth& a, const PooledDepth& b) { return samples(a) < samples(b); });
    for (const PooledDepth& part : pool.depths()) {
        const auto histogram = histogram_of(pool, part.depth, options);
        if (!histogram) continue;
        std::vector<Statistics> rows;
        std::uint64_t images = 0;
        for (const PooledRow& row : pooled)
            if (row.depth == part.depth) {
                rows.push_back(row.statistics);
                if (row.statistics.channel == Channel::gray || row.statistics.channel == Channel::red)
                    images += row.images;
            }
        PlotOptions plot;
        plot.log_counts = log_counts;
        plot.title = std::to_string(images) + (images == 1 ? " image, " : " images, ") + to_string(part.depth);
        const std::string depth = &part == &*most ? "" : std::string(".") + to_string(part.depth);
        plots.emplace_back("dataset" + depth + ".histogram.png", plot_histogram(*histogram, rows, plot));
    }
    return plots;
}

void remove_dataset(const std::filesystem::path& directory) {
    for (const char* name : {"dataset.csv", "dataset.json", "dataset.histogram.png", "dataset.u8.histogram.png",
                             "dataset.u16.histogram.png", "dataset.f32.histogram.png"}) {
        std::error_code failure;
        std::filesystem::remove(directory / name, failure);
        if (failure) throw IoError((directory / name).string() + ": cannot be removed: " + failure.message());
    }
}

void write_dataset(const std::filesystem::path& directory, const std::vector<Group>& groups,
                   const HistogramOptions& options, bool log_counts) {
    write_file(directory / "dataset.csv", dataset_csv(groups));
    write_file(directory / "dataset.json", dataset_json(groups, options));
    for (const Group& group : groups)
        if (group.name.empty())
            for (const auto& [name, plot] : dataset_plots(group.pool, options, log_counts))
                write_image(directory / name, plot);
}

}  // namespace gpuhist::io
