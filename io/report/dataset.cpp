#include "gpuhist/io/dataset.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/files.hpp"
#include "gpuhist/io/groups.hpp"
#include "gpuhist/io/plot.hpp"
#include "report/formats.hpp"

namespace gpuhist::io {
namespace {

constexpr double most_bins = 1 << 24;

/// Bins asked for, as far as the depth can: floats in those they were counted in where these are all there is or
/// their range was given, integers over whole numbers.
HistogramOptions possible(const DepthSummary& found, HistogramOptions options) {
    const DepthTraits& traits = traits_of(found.depth);
    if (traits.counting == Counting::bins) {
        if (found.range && (!found.upper_closed || !found.values_counted))
            options = {static_cast<std::uint32_t>(found.channels.front().counts.size()), std::nullopt};
        if (options.bins == 0) options.bins = HistogramOptions{}.bins;
        if (options.range && !std::isfinite(options.bins / (options.range->upper - options.range->lower)))
            options.range.reset();
    } else if (traits.floating) {
        if (options.bins == 0) options.bins = HistogramOptions{}.bins;
    } else if (options.range && (options.range->lower != std::floor(options.range->lower) ||
                                 options.range->upper != std::floor(options.range->upper))) {
        options.range.reset();
    }
    if (traits.counting == Counting::sorted && options.bins == 0) {  // one bin per value is not for values far apart
        Range all = options.range.value_or(Range{0, 0});
        for (const ChannelSummary& channel : found.channels)
            if (const auto own = found.extremes(channel); own && !options.range)
                all = all.upper == all.lower
                          ? Range{own->lower, own->upper + 1}
                          : Range{std::min(all.lower, own->lower), std::max(all.upper, own->upper + 1)};
        if (all.upper - all.lower > most_bins) options.bins = HistogramOptions{}.bins;
    }
    return options;
}

/// Groups in byte order of their names: the whole set, "", comes first.
std::vector<const Group*> in_order(const std::vector<Group>& groups) {
    std::vector<const Group*> all;
    for (const Group& group : groups) all.push_back(&group);
    std::stable_sort(all.begin(), all.end(), [](const Group* a, const Group* b) { return a->name < b->name; });
    return all;
}

/// Text of the sets' table in one format.
std::string text_of(const SinkFormat& format, const std::vector<Group>& groups, const HistogramOptions& options,
                    const StatisticsRequest& asked) {
    const std::unique_ptr<Sink> sink = format.make({Table(ColumnFile::dataset, asked)});
    std::string text = sink->begin();
    for (const Group* group : in_order(groups)) {
        const SetNumbers numbers = set_numbers(group->summary, options, asked);
        for (const Record& record : records_of(group->name, group->summary, numbers))
            text += sink->append(sink->format(record));
    }
    return text + sink->end();
}

/// Writer of the table's files in all formats of sets, group by group.
class SetFiles {
  public:
    SetFiles(const std::filesystem::path& directory, const StatisticsRequest& asked, bool measures,
             const FileWriter& write)
        : directory_(directory), write_(write) {
        for (const SinkFormat* format : set_sinks) {
            sinks_.push_back(format->make({Table(ColumnFile::dataset, asked)}));
            names_.push_back(file_name(*format));
        }
        if (!measures) return;
        sinks_.push_back(csv_sink.make({Table(ColumnFile::set_quality)}));
        names_.push_back(measures_name());
    }
    void add(const Record& record) {
        const Record measures{ColumnFile::set_quality, record.about, record.measures};
        each([&](Sink& sink) {
            return sink.append(sink.format(record) + (measures.rows.empty() ? "" : sink.format(measures)));
        });
    }
    /// Writes all files at once, since groups are read but once: `fill` adds the records.
    void write(const std::function<void()>& fill) {
        if (takes_.size() < sinks_.size())
            return write_(directory_ / names_[takes_.size()], [&](const auto& take) {
                takes_.push_back(take);
                write(fill);
            });
        each([](Sink& sink) { return sink.begin(); });
        fill();
        each([](Sink& sink) { return sink.end(); });
    }
    static std::string file_name(const SinkFormat& format) { return std::string("dataset.") + format.name; }
    static std::string measures_name() { return traits_of(ColumnFile::set_quality).file_name(); }

  private:
    template <class Give>
    void each(const Give& give) {
        for (std::size_t i = 0; i < sinks_.size(); ++i) {
            const std::string text = give(*sinks_[i]);
            takes_[i](text.data(), text.size());
        }
    }

    const std::filesystem::path& directory_;
    const FileWriter& write_;
    std::vector<std::unique_ptr<Sink>> sinks_;
    std::vector<std::string> names_;  ///< of their files
    std::vector<std::function<void(const void*, std::size_t)>> takes_;
};

/// Name of a group's picture: in a directory of the group's name, of the directory above all by a word.
std::string plot_name(const std::string& group, PlotFormat format) {
    const std::string directory = name_below(group);
    const std::string stem = group.empty() ? "dataset" : directory.empty() ? "dataset.top" : directory + "/dataset";
    return stem + ".histogram" + extension_of(format);
}

Normalizers normalizers(const std::vector<SummaryRow>& rows, const DepthSummary& part,
                        std::initializer_list<Channel> channels) {
    Normalizers numbers;
    for (const Channel channel : channels)
        for (const SummaryRow& row : rows)
            if (row.depth == part.depth && row.statistics.channel == channel) {
                numbers.mean.push_back(unit_scale(row.statistics.mean, part.white));
                numbers.std.push_back(unit_scale(row.statistics.std, part.white));
            }
    return numbers;
}

TrainingNumbers training_numbers(const Summary& summary, const DepthSummary& part,
                                 const std::vector<SummaryRow>& rows) {
    TrainingNumbers numbers;
    if (!part.white) return numbers;
    const bool colors = part.find(Channel::red), gray = part.find(Channel::gray);
    if (colors)
        numbers.colors = normalizers(gray ? summary.rgb_rows(part.depth) : rows, part,
                                     {Channel::red, Channel::green, Channel::blue});
    if (gray) numbers.gray = normalizers(rows, part, {Channel::gray});
    return numbers;
}

}  // namespace

SetNumbers set_numbers(const Summary& summary, const HistogramOptions& options, const StatisticsRequest& asked) {
    SetNumbers all;
    for (const DepthSummary& part : summary.depths()) {
        SummaryNumbers found = summary.numbers(part.depth, possible(part, options), asked);
        all.rows.insert(all.rows.end(), found.rows.begin(), found.rows.end());
        all.histograms.push_back(std::move(found.histogram));
        all.training.push_back(training_numbers(summary, part, found.rows));
    }
    return all;
}

std::vector<Record> records_of(const std::string& group, const Summary& summary, const SetNumbers& numbers) {
    std::vector<Record> records;
    for (std::size_t i = 0; i < summary.depths().size(); ++i) {
        const DepthSummary& part = summary.depths()[i];
        Record& record = records.emplace_back(Record{ColumnFile::dataset});
        record.about.group = group;
        record.about.depth = part.depth;
        record.about.white = part.white;
        for (const SummaryRow& row : numbers.rows) {
            if (row.depth != part.depth) continue;
            ColumnRow& channel = record.rows.emplace_back(record.about);
            channel.statistics = &row.statistics;
            channel.images = row.images;
        }
        for (const MeasureSummary& measure : part.measures)
            record.measures.emplace_back(record.about).measure = &measure;
        record.training = &numbers.training[i];
        record.histogram = numbers.histograms[i] ? &*numbers.histograms[i] : nullptr;
    }
    return records;
}

std::string dataset_csv(const std::vector<Group>& groups, const StatisticsRequest& asked) {
    return text_of(csv_sink, groups, {}, asked);
}

std::string dataset_json(const std::vector<Group>& groups, const HistogramOptions& options,
                         const StatisticsRequest& asked) {
    return text_of(json_sink, groups, options, asked);
}

DepthRows rows_of(const std::vector<SummaryRow>& all, Depth depth) {
    DepthRows found;
    std::uint64_t gray = 0, others = 0;  // of `all`, or of the only band
    for (const SummaryRow& row : all) {
        if (row.depth != depth) continue;
        found.rows.push_back(row.statistics);
        const Channel channel = row.statistics.channel;
        if (channel == Channel::gray) gray = row.images;
        if (channel == Channel::all || (is_band(channel) && others == 0)) others = row.images;
    }
    found.images = gray + others;
    return found;
}

Plot dataset_plot(const Summary& summary, const std::vector<SummaryRow>& rows, const std::string& group,
                  const PlotRange& range) {
    Plot plot;
    std::uint64_t images = 0;
    for (const DepthSummary& part : summary.depths()) {
        const DepthRows of_depth = rows_of(rows, part.depth);
        images += of_depth.images;
        for (PlotPanel& panel : plot_panels(summary, part.depth, of_depth.rows, range))
            plot.panels.push_back(std::move(panel));
    }
    const std::string name = group.empty() ? "" : group + "  ";
    if (plot.panels.size() == 1)
        plot.title = name + std::exchange(plot.panels.front().heading, "");
    else
        plot.title = name + std::to_string(images) + (images == 1 ? " image" : " images");
    return plot;
}

std::vector<std::string> dataset_file_names() {
    std::vector<std::string> names;
    for (const SinkFormat* format : set_sinks) names.push_back(SetFiles::file_name(*format));
    names.push_back(SetFiles::measures_name());
    for (const PlotFormat format : {PlotFormat::png, PlotFormat::svg})
        for (const char* group : {"", "."}) names.push_back(plot_name(group, format));
    // Names that versions before 0.3 gave to the pictures of further depths.
    for (const DepthTraits& traits : all_depths)
        names.push_back("dataset." + std::string(traits.name) + ".histogram.png");
    return names;
}

bool is_group_plot(const std::string& name) {
    for (const PlotFormat format : {PlotFormat::png, PlotFormat::svg}) {
        const std::string end = std::string("/").append(plot_name("", format));
        if (name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0) return true;
    }
    return false;
}

std::string kind_subject(Depth depth, Channel first) {
    return std::string(to_string(first)) + ' ' + to_string(depth);
}

int spare_bits(Depth depth, double lowest, double highest) {
    if (depth != Depth::u16 || lowest == highest || highest < 128 || highest >= 16384) return 0;
    return std::ilogb(highest) + 1;
}

std::string spare_bits_text(int bits) {
    const std::string refer = " in 16 bits, but mean_01, std_01 and clipped_high refer to 65535";
    return bits == 0 ? "data of 14 bits or fewer" + refer
                     : std::to_string(bits) + "-bit data" + refer + ": give --white " + std::to_string((1 << bits) - 1);
}

std::vector<std::string> dataset_notes(const Summary& summary, const Notes& notes) {
    std::vector<std::string> lines;
    for (const DepthSummary& part : summary.depths()) {
        const std::string depth = std::string(to_string(part.depth)) + ": ";
        const ChannelSummary *gray = part.find(Channel::gray), *red = part.find(Channel::red);
        const std::uint64_t bands = part.images_of_bands();
        const auto first = [&](const std::string& subject) {
            const Note* note = notes.find(subject);
            return note ? " (the first: " + note->path + ")" : "";
        };
        const auto are = [](std::uint64_t images, const char* kind) {
            return std::to_string(images) + kind + (images == 1 ? "image is " : "images are ");
        };
        if (!part.white)
            lines.push_back(depth +
                            "images have different values of white: white, mean_01, std_01 and clipped_high are empty; "
                            "give --white V");
        if (gray && red)
            lines.push_back(depth + are(gray->images, " gray ") + "treated as R = G = B in \"normalize\"" +
                            first(kind_subject(part.depth, Channel::gray)));
        if (bands > 0 && (gray || red))
            lines.push_back(depth + are(bands, " ") + "of bands, which are left out of \"normalize\"" +
                            first(kind_subject(part.depth, Channel::c0)));
        if (const Note* note = notes.find(spare_bits_subject); note && part.depth == Depth::u16 && part.white) {
            std::size_t highest = 0;
            for (const ChannelSummary& channel : part.channels)
                if (channel.channel != Channel::alpha && channel.channel != Channel::luma)
                    if (const auto extremes = part.extremes(channel))
                        highest = std::max(highest, static_cast<std::size_t>(extremes->upper));
            lines.push_back(
                depth + std::to_string(note->count) + (note->count == 1 ? " image holds " : " images hold ") +
                spare_bits_text(spare_bits(part.depth, -1, static_cast<double>(highest))) + first(spare_bits_subject));
        }
    }
    return lines;
}

SetNumbers write_dataset(const std::filesystem::path& directory, const std::vector<Group>& groups,
                         const StoredGroups& more, const HistogramOptions& options, const PlotRequest& plots,
                         const StatisticsRequest& asked, const FileWriter& write, const LookAtGroup& look,
                         const std::string& manifest) {
    const auto has_measures = [](const Group& group) {
        return std::any_of(group.summary.depths().begin(), group.summary.depths().end(),
                           [](const DepthSummary& depth) { return !depth.measures.empty(); });
    };
    SetFiles files(directory, asked, std::any_of(groups.begin(), groups.end(), has_measures), write);
    SetNumbers whole;
    std::set<std::string> drawn;
    const auto draw = [&](const Group& group, const std::vector<SummaryRow>& rows) {
        if (!group.name.empty() && !plots.of_groups) return;
        const Plot plot = dataset_plot(group.summary, rows, group.name, plots.range);
        if (plot.panels.empty()) return;  // floats whose values were not counted
        for (const PlotFormat format : plots.formats) {
            const std::string name = plot_name(group.name, format);
            if (!drawn.insert(name).second) continue;
            const std::vector<unsigned char> bytes = encode_plot(plot, format, plots.options);
            write(directory / name, [&](const auto& take) { take(bytes.data(), bytes.size()); });
        }
    };
    const auto add = [&](const Group& group) {
        SetNumbers numbers = set_numbers(group.summary, options, asked);
        for (Record& record : records_of(group.name, group.summary, numbers)) {
            if (group.name.empty()) record.manifest = manifest;
            files.add(record);
        }
        if (look) look(group.name, numbers);
        draw(group, numbers.rows);
        if (group.name.empty()) whole = std::move(numbers);
    };
    files.write([&] {
        for (const Group* group : in_order(groups)) add(*group);
        more.each(add);
    });
    return whole;
}

}  // namespace gpuhist::io
