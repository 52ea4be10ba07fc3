#include "commands/report_page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/console.hpp"
#include "gpuhist/columns.hpp"
#include "gpuhist/compare.hpp"
#include "gpuhist/duplicates.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/flags.hpp"
#include "gpuhist/io/checksum.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/files.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/io/shard.hpp"
#include "run/gallery.hpp"
#include "run/image_flags.hpp"
#include "run/largest.hpp"
#include "run/thumbnails.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t most_rows = 50'000;  // of images, above which some are left out
constexpr std::size_t worst_per_end = 50, classes_shown = 48, errors_shown = 8, bins_of_measure = 40,
                      sample_size = 20'000;
constexpr double most_spreads = 8;                // distances of the quartiles, beyond which values are only counted
constexpr std::size_t picture_bytes = 2'000'000;  // of all pictures, before base64

/// Rows of flags.csv, image by image.
class FlagRows {
  public:
    struct Row {
        Flag flag;
        double value;
        std::optional<double> threshold;
    };
    explicit FlagRows(io::CsvRows rows)
        : rows_(std::move(rows)),
          path_(rows_.column("path")),
          flag_(rows_.column("flag")),
          value_(rows_.column("value")),
          threshold_(rows_.column("threshold")) {
        more_ = rows_.next();
    }
    /// Rows of the next image. A file may be given several times, and each time its flags are in their order.
    const std::vector<Row>& of(std::string_view path) {
        found_.clear();
        for (; more_ && rows_.text(path_) == path; more_ = rows_.next()) {
            const auto* const traits = std::find_if(std::begin(all_flags), std::end(all_flags),
                                                    [&](const auto& one) { return rows_.text(flag_) == one.name; });
            if (traits == std::end(all_flags))
                rows_.refuse("'" + std::string(rows_.text(flag_)) + "' is no flag of this version of gpuhist");
            if (!found_.empty() && traits->flag <= found_.back().flag) break;
            found_.push_back({traits->flag, rows_.number(value_).value_or(0), rows_.number(threshold_)});
        }
        return found_;
    }
    void end() const {
        if (more_) rows_.refuse("stats.csv has no rows for this image");
    }

  private:
    io::CsvRows rows_;
    std::size_t path_, flag_, value_, threshold_;
    bool more_ = false;
    std::vector<Row> found_;
};

/// Number of each image, whose distribution is shown.
struct Measure {
    io::PageMeasure page;
    std::optional<Flag> value_of;       ///< the value of a flag
    std::optional<std::size_t> column;  ///< or a column of quality.csv
    std::uint32_t flags = 0;            ///< bits of the flags that follow from it
    std::optional<Flag> threshold_of;
    std::vector<double> sample;  ///< one of `stride` values
    std::uint64_t stride = 1;

    std::optional<double> of(const MeasuredImages& image) const {
        return column ? image.quality().number(*column) : flag_value(*value_of, image.numbers());
    }
    void add(double value) {
        if (!std::isfinite(value)) return;
        if (page.images++ % stride == 0) sample.push_back(value);
        if (sample.size() >= sample_size) {
            for (std::size_t i = 0; 2 * i < sample.size(); ++i) sample[i] = sample[2 * i];
            sample.resize((sample.size() + 1) / 2);
            stride *= 2;
        }
        page.minimum = std::min(page.minimum.value_or(value), value);
        page.maximum = std::max(page.maximum.value_or(value), value);
    }
    /// Chooses bins: over all values, or without the few at the ends that would take half of the room.
    void choose_bins() {
        std::sort(sample.begin(), sample.end());
        const auto quantile = [&](double q) {
            return sample[static_cast<std::size_t>(q * static_cast<double>(sample.size() - 1))];
        };
        page.median = quantile(0.5);
        double lower = quantile(0.005), upper = quantile(0.995);
        const double q1 = quantile(0.25), q3 = quantile(0.75);
        if (q3 > q1) {  // a few values may be very far away
            lower = std::max(lower, q1 - most_spreads * (q3 - q1));
            upper = std::min(upper, q3 + most_spreads * (q3 - q1));
        }
        const double width = upper - lower;
        if (*page.minimum >= lower - 0.5 * width) lower = *page.minimum;
        if (*page.maximum <= upper + 0.5 * width) upper = *page.maximum;
        if (page.threshold && *page.threshold > *page.minimum && *page.threshold < *page.maximum) {
            lower = std::min(lower, *page.threshold);
            upper = std::max(upper, *page.threshold);
        }
        if (!(upper > lower)) upper = lower + std::max(1.0, std::abs(lower) * 1e-6);
        page.lower = lower;
        page.upper = upper;
        page.counts.resize(bins_of_measure);
        page.flagged.resize(bins_of_measure);
    }
    void count(double value, bool flagged) {
        if (!std::isfinite(value)) return;
        if (value < page.lower || value > page.upper) {
            ++(value < page.lower ? page.below : page.above);
            page.flagged_outside += flagged;
            return;
        }
        const double place = (value - page.lower) / (page.upper - page.lower) * static_cast<double>(bins_of_measure);
        const std::size_t bin = std::min(bins_of_measure - 1, static_cast<std::size_t>(place));
        ++page.counts[bin];
        page.flagged[bin] += flagged;
    }
};

/// Objects of dataset.json, each on a line of its own.
void each_set(const std::string& path, const std::function<void(const Json&)>& visit) {
    std::ifstream file(path);
    if (!file) throw IoError(path + ": cannot be read");
    std::string line;
    for (std::uint64_t number = 1; std::getline(file, line); ++number) {
        while (!line.empty() && (line.back() == ',' || line.back() == '\r')) line.pop_back();
        if (line.empty() || line == "[" || line == "]") continue;
        const std::string place = path + ": line " + std::to_string(number) + ": ";
        try {
            const Json object = Json::parse(line);
            if (object.at("schema") != 1)
                throw IoError(place + "has schema " + object.at("schema").dump() +
                              ", but this gpuhist reads schema 1: use the version that wrote it");
            visit(object);
        } catch (const Json::exception& error) {
            std::string what = error.what();
            if (const auto end = what.find("] "); end != what.npos) what.erase(0, end + 2);
            throw IoError(place + "is damaged: " + what);
        }
    }
}

std::optional<double> number_in(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() || !found->is_number() ? std::nullopt : std::optional(found->get<double>());
}

/// Histogram of an object of dataset.json, of one channel.
std::optional<io::PageHistogram::Line> line_of(const Json& object, const std::string& channel) {
    const Json& histogram = object.at("histogram");
    if (histogram.is_null()) return std::nullopt;
    for (const Json& one : histogram.at("channels"))
        if (one.at("channel") == channel) return io::PageHistogram::Line{channel, one.at("counts")};
    return std::nullopt;
}

/// Makes a histogram coarser, and leaves out empty bins at its ends if they are most of it.
void trim(io::PageHistogram& histogram, std::size_t most_bins) {
    const std::size_t bins = histogram.lines.front().counts.size();
    std::size_t first = bins, last = 0;
    for (const io::PageHistogram::Line& line : histogram.lines)
        for (std::size_t i = 0; i < bins; ++i)
            if (line.counts[i] > 0) {
                first = std::min(first, i);
                last = std::max(last, i);
            }
    const double width = (histogram.upper - histogram.lower) / static_cast<double>(bins);
    if (first > last || 2 * (last - first + 1) > bins) {
        first = 0;
        last = bins - 1;
    } else {
        last = std::min(bins - 1, std::max(last, first + 15));
    }
    const std::size_t step = (last - first + most_bins) / most_bins, made = (last - first + step) / step;
    for (io::PageHistogram::Line& line : histogram.lines) {
        std::vector<double> counts(made);
        for (std::size_t i = first; i <= last; ++i) counts[(i - first) / step] += line.counts[i];
        line.counts = std::move(counts);
    }
    histogram.lower += width * static_cast<double>(first);
    histogram.upper = histogram.lower + width * static_cast<double>(made * step);
}

io::PageHistogram empty_histogram(const Json& object) {
    io::PageHistogram histogram;
    const Json& found = object.at("histogram");
    if (found.is_null()) return histogram;
    histogram.lower = found.at("range").at(0);
    histogram.upper = found.at("range").at(1);
    return histogram;
}

std::uint64_t images_in(const Json& object) {
    std::uint64_t gray = 0, others = 0;
    for (const Json& channel : object.at("channels")) {
        const std::string name = channel.at("channel");
        const std::uint64_t images = channel.at("images");
        if (name == "gray")
            gray = images;
        else if (name == "all" || (others == 0 && name != "red" && name != "alpha"))
            others = std::max(others, images);
    }
    return gray + others;
}

std::string list_text(const Json& values) {
    std::string text;
    for (const Json& value : values)
        text += (text.empty() ? "" : ", ") + (value.is_null() ? "null" : io::formatted("%.6g", value));
    return "[" + text + "]";
}

class PageReader {
  public:
    PageReader(const ResultsThere& results, const ResultsThere* earlier) : results_(results), earlier_(earlier) {
        with_quality_ = results.has(ColumnFile::quality);
        with_flags_ = with_quality_ && results.has(ColumnFile::flags);
        tables_ = results.images();
        if (!with_quality_) tables_.quality = nullptr;
    }

    io::Page read(const std::string& title) {
        page_.source = results_.directory().string();
        page_.flags_known = with_flags_;
        if (!with_quality_)
            page_.remarks.emplace_back(
                "quality.csv is missing: a run with --quality has measures, flags, a gallery and duplicates too.");
        else if (!with_flags_)
            page_.remarks.emplace_back("flags.csv is missing: merge or measure again for the flags of images.");
        choose_measures();
        read_images();
        find_duplicates();
        read_again();
        add_pictures();
        read_sets();
        read_errors();
        page_.title = title.empty() ? own_title() : title;
        if (earlier_) compare();
        add_facts();
        add_definitions();
        return std::move(page_);
    }

  private:
    void choose_measures() {
        if (!with_quality_) return;
        const io::CsvRows quality = results_.open(ColumnFile::quality);
        const auto bit = [](Flag flag) { return std::uint32_t{1} << static_cast<unsigned>(flag); };
        std::vector<Column> columns;
        for (Column& column : gpuhist::columns({}, ColumnFile::quality))
            if (column.type != ColumnType::text && quality.find(column.name)) columns.push_back(std::move(column));
        std::set<std::string> there;
        const auto add_column = [&](const Column& column) {
            if (!there.insert(column.name).second) return;
            Measure& measure = measures_.emplace_back();
            measure.page.name = column.name;
            measure.page.unit = column.unit;
            measure.page.definition = column.definition;
            measure.column = quality.find(column.name);
            for (const FlagTraits& traits : all_flags) {
                if (is_duplicate(traits.flag)) continue;
                if ((' ' + std::string(traits.columns) + ' ').find(' ' + column.name + ' ') == std::string::npos)
                    continue;
                measure.flags |= bit(traits.flag);
                measure.page.flags.emplace_back(traits.name);
                if (column.name == traits.value) measure.threshold_of = traits.flag;
            }
        };
        for (const FlagTraits& traits : all_flags) {
            if (!traits.has_threshold() || is_duplicate(traits.flag) || traits.flag == Flag::constant ||
                traits.flag == Flag::nan)
                continue;
            const auto own = std::find_if(columns.begin(), columns.end(),
                                          [&](const Column& column) { return column.name == traits.value; });
            if (own != columns.end()) {
                add_column(*own);
                continue;
            }
            Measure& measure = measures_.emplace_back();
            measure.page.name = traits.name;
            measure.page.definition = traits.value;
            measure.value_of = traits.flag;
            measure.flags = bit(traits.flag);
            measure.page.flags.emplace_back(traits.name);
            if (traits.flag != Flag::odd_size) measure.threshold_of = traits.flag;
        }
        for (const Column& column : columns) add_column(column);
    }

    /// Visits the images with their flags: visit(index, image, flags).
    template <class Visit>
    void each_image(const Visit& visit) const {
        MeasuredImages images(tables_);
        std::optional<FlagRows> flags;
        if (with_flags_) flags.emplace(results_.open(ColumnFile::flags));
        static const std::vector<FlagRows::Row> none;
        std::uint64_t index = 0;
        for (; images.next(); ++index) visit(index, images, flags ? flags->of(images.path()) : none);
        if (flags) flags->end();
    }

    /// First pass: sums over all images, and the worst images.
    void read_images() {
        ends_.assign(2 * measures_.size(), Largest<std::uint64_t>(worst_per_end));
        std::optional<HashColumns> columns;
        each_image([&](std::uint64_t index, const MeasuredImages& image, const std::vector<FlagRows::Row>& flags) {
            if (with_quality_ && !columns) columns.emplace(image.quality());
            if (columns && columns->present()) columns->add(image.quality(), hashes_);
            ++images_;
            pixels_ += image.numbers().width * image.numbers().height;
            narrow_title(image.path());
            flagged_ += !flags.empty();
            for (const FlagRows::Row& row : flags) {
                const auto place = static_cast<std::size_t>(row.flag);
                ++flag_images_[place];
                if (row.threshold) thresholds_[place] = row.threshold;
                ImageFlag flag;
                flag.image = index;
                flag.flag = row.flag;
                flag.value = row.value;
                flag.threshold = row.threshold;
                gallery_.add(flag);
            }
            for (std::size_t i = 0; i < measures_.size(); ++i)
                if (const auto value = measures_[i].of(image)) {
                    measures_[i].add(*value);
                    ends_[2 * i].add(*value, index);
                    ends_[2 * i + 1].add(-*value, index);
                }
        });
        if (images_ == 0) throw IoError(results_.path_of(ColumnFile::stats) + ": has no images");
        for (Measure& measure : measures_) {
            if (measure.threshold_of)
                measure.page.threshold = thresholds_[static_cast<std::size_t>(*measure.threshold_of)];
            if (measure.page.images > 0) measure.choose_bins();
        }
    }

    void find_duplicates() {
        if (!with_flags_ || hashes_.pixels.empty()) return;
        const auto distance = thresholds_[static_cast<std::size_t>(Flag::near_duplicate)];
        const std::vector<std::uint32_t> first =
            group_duplicates(hashes_.pixels, distance ? hashes_.similar : std::vector<std::uint64_t>(),
                             static_cast<int>(distance.value_or(0)));
        io::PageDuplicates& found = page_.duplicates.emplace();
        std::set<std::uint32_t> groups;
        for (std::uint32_t i = 0; i < first.size(); ++i) {
            if (first[i] == i) continue;
            ++found.copies;
            found.equal += hashes_.pixels[i] == hashes_.pixels[first[i]];
            groups.insert(first[i]);
            ++sizes_[first[i]];
        }
        found.groups = groups.size();
        gallery_.add_groups(first);
    }

    /// Which images have a row, where all are too many.
    std::optional<std::set<std::uint64_t>> chosen_rows() {
        if (images_ <= most_rows) return std::nullopt;
        std::set<std::uint64_t> rows;
        for (const auto& end : ends_)
            for (const auto& [key, index] : end.all()) rows.insert(index);
        page_.images.chosen = "the flagged, and those at the ends of each measure";
        return rows;
    }

    /// Second pass: distributions, and rows.
    void read_again() {
        for (const std::uint64_t image : gallery_.images()) wanted_paths_[image];
        const auto chosen = chosen_rows();
        page_.images.all = images_;
        page_.images.numbers = {"width", "height"};
        std::vector<const Measure*> listed;
        for (const Measure& measure : measures_)
            if (measure.page.images > 0) listed.push_back(&measure);
        for (const Measure* measure : listed) page_.images.numbers.push_back(measure->page.name);
        for (const FlagTraits& traits : all_flags) page_.images.flags.emplace_back(traits.name);
        std::vector<io::PageImage> others;
        each_image([&](std::uint64_t index, const MeasuredImages& image, const std::vector<FlagRows::Row>& flags) {
            std::uint32_t bits = 0;
            for (const FlagRows::Row& row : flags) bits |= std::uint32_t{1} << static_cast<unsigned>(row.flag);
            if (const auto wanted = wanted_paths_.find(index); wanted != wanted_paths_.end())
                wanted->second = image.path();
            io::PageImage row;
            const bool listed_row = !chosen || bits != 0 || chosen->count(index) != 0;
            std::vector<io::PageImage>& rows = bits != 0 ? page_.images.rows : others;
            const bool kept = listed_row && rows.size() < most_rows;
            if (kept) {
                row.path = image.path();
                row.flags = bits;
                row.numbers = {image.numbers().width, image.numbers().height};
            }
            for (Measure& measure : measures_) {
                if (measure.page.images == 0) continue;
                const auto value = measure.of(image);
                if (value) measure.count(*value, (bits & measure.flags) != 0);
                if (kept) row.numbers.push_back(value);
            }
            if (kept) rows.push_back(std::move(row));
        });
        for (io::PageImage& row : others)
            if (page_.images.rows.size() < most_rows) page_.images.rows.push_back(std::move(row));
        if (images_ > most_rows && page_.images.rows.size() == most_rows)
            page_.images.chosen = "the first flagged ones";
        for (Measure& measure : measures_)
            if (measure.page.images > 0) page_.measures.push_back(measure.page);
    }

    void add_pictures() {
        for (const FlagTraits& traits : all_flags) {
            if (!with_flags_) break;
            const auto place = static_cast<std::size_t>(traits.flag);
            io::PageFlag& flag = page_.flags.emplace_back();
            flag.name = traits.name;
            flag.definition = definition_of(traits);
            flag.images = flag_images_[place];
            flag.rule = rule_of(traits);
            for (const Gallery::Worst& worst : gallery_.worst(traits.flag)) {
                io::PagePicture& picture = flag.worst.emplace_back();
                picture.path = wanted_paths_[worst.image];
                if (traits.has_threshold()) picture.caption = io::formatted("%.4g", worst.value);
            }
        }
        if (page_.duplicates)
            for (const auto& [first, copies] : gallery_.groups()) {
                io::PageCopies& group = page_.duplicates->shown.emplace_back();
                group.images = sizes_[first] + 1;
                io::PagePicture& kept = group.shown.emplace_back();
                kept.path = wanted_paths_[first];
                kept.caption = "kept";
                for (const std::uint32_t image : copies) {
                    io::PagePicture& copy = group.shown.emplace_back();
                    copy.path = wanted_paths_[image];
                    copy.caption = hashes_.pixels[image] == hashes_.pixels[first]
                                       ? "equal pixels"
                                       : "distance " + std::to_string(hash_distance(hashes_.similar[image],
                                                                                    hashes_.similar[first]));
                }
            }
        std::vector<io::PagePicture*> pictures;
        for (io::PageFlag& flag : page_.flags)
            for (io::PagePicture& picture : flag.worst) pictures.push_back(&picture);
        if (page_.duplicates)
            for (io::PageCopies& copies : page_.duplicates->shown)
                for (io::PagePicture& picture : copies.shown) pictures.push_back(&picture);
        std::map<std::string, io::Thumbnail> thumbnails;
        for (const io::PagePicture* picture : pictures) thumbnails[picture->path];
        find_thumbnails(thumbnails);
        std::size_t bytes = 0;
        for (io::PagePicture* picture : pictures) {
            const io::Thumbnail& thumbnail = thumbnails[picture->path];
            picture->missing = thumbnail.missing;
            if (bytes + thumbnail.jpeg.size() > picture_bytes) {
                picture->missing = "No picture: the page has no room for more.";
                continue;
            }
            bytes += thumbnail.jpeg.size();
            picture->jpeg = thumbnail.jpeg;
            picture->width = thumbnail.width;
            picture->height = thumbnail.height;
        }
    }

    /// Finds thumbnails by the paths of their images: kept ones, and for the others the images are read.
    void find_thumbnails(std::map<std::string, io::Thumbnail>& thumbnails) const {
        if (results_.has(io::thumbnails_file_name)) {
            const std::string path = (results_.directory() / io::thumbnails_file_name).string();
            for (io::Thumbnail& kept : io::parse_thumbnails(io::read_text(path), path))
                if (const auto found = thumbnails.find(kept.path); found != thumbnails.end())
                    found->second = std::move(kept);
        }
        std::vector<std::string> others;
        for (const auto& [path, thumbnail] : thumbnails)
            if (thumbnail.jpeg.empty()) others.push_back(path);
        for (io::Thumbnail& made : make_thumbnails(others)) {
            io::Thumbnail& thumbnail = thumbnails[made.path];
            thumbnail = std::move(made);
        }
    }

    static std::string definition_of(const FlagTraits& traits) {
        for (const Column& column : gpuhist::columns({}, ColumnFile::quality))
            if (column.name == traits.value) return column.definition;
        return traits.value;
    }

    std::string rule_of(const FlagTraits& traits) const {
        const auto& threshold = thresholds_[static_cast<std::size_t>(traits.flag)];
        if (!threshold) return {};
        const std::string text = io::formatted("%.4g", *threshold);
        switch (traits.side) {
            case FlagSide::below:
                return "< " + text;
            case FlagSide::above:
                return "> " + text;
            case FlagSide::at_most:
                return "\xE2\x89\xA4 " + text;
            default:
                return {};
        }
    }

    void read_sets() {
        const fs::path path = results_.directory() / "dataset.json";
        std::error_code ignored;
        if (!fs::exists(path, ignored)) {
            page_.remarks.emplace_back(
                "dataset.json is missing: a run over a single image writes no numbers of a set.");
            return;
        }
        // The whole set, by depth, comes first.
        std::map<std::string, Json> whole;
        using Class = std::pair<std::uint64_t, std::uint64_t>;  // images, and place from the end
        std::map<Class, io::PageGroup, std::greater<>> classes;
        std::map<Class, io::PageHistogram> references;
        std::uint64_t number = 0;
        each_set(path.string(), [&](const Json& object) {
            const std::string group = object.at("group");
            if (group.empty()) {
                add_set(object);
                whole[object.at("depth")] = object;
                return;
            }
            ++page_.groups.all;
            const Class key{images_in(object), ~number++};
            classes[key] = class_of(object, whole, references[key]);
            if (classes.size() <= classes_shown) return;
            references.erase(std::prev(classes.end())->first);
            classes.erase(std::prev(classes.end()));
        });
        for (auto& [key, group] : classes) {
            if (whole.size() == 1) group.depth.clear();
            page_.groups.shown.push_back(std::move(group));
            page_.groups.whole.push_back(std::move(references[key]));
        }
    }

    void add_set(const Json& object) {
        io::PageSet& set = page_.sets.emplace_back();
        const std::string depth = object.at("depth");
        set.heading = depth + ", " + counted(images_in(object), "image");
        std::vector<std::string> columns;
        set.channels.headings = {"channel"};
        for (const char* column :
             {"images", "min", "p01", "median", "p99", "max", "mean", "std", "entropy", "clipped_low", "clipped_high"})
            if (object.at("channels").empty() || object.at("channels").front().contains(column)) {
                set.channels.headings.emplace_back(column);
                columns.emplace_back(column);
            }
        std::vector<std::string> channels;
        for (const Json& channel : object.at("channels")) {
            channels.push_back(channel.at("channel"));
            auto& row = set.channels.rows.emplace_back();
            row.emplace_back(channels.back());
            for (const std::string& column : columns) {
                const auto value = number_in(channel, column.c_str());
                row.push_back(value ? io::PageCell(*value) : io::PageCell());
            }
        }
        for (const char* key : {"normalize", "normalize_gray"})
            if (const auto found = object.find(key); found != object.end() && !found->is_null()) {
                if (std::string(key) != "normalize") set.training.emplace_back("# gray images");
                set.training.push_back("mean = " + list_text(found->at("mean")));
                set.training.push_back("std  = " + list_text(found->at("std")));
            }
        // Colors share a histogram, and so do bands.
        std::vector<std::vector<std::string>> panels(3);
        for (const std::string& channel : channels) {
            if (channel == "gray")
                panels[0].push_back(channel);
            else if (channel == "red" || channel == "green" || channel == "blue")
                panels[1].push_back(channel);
            else if (channel != "luma" && channel != "all" && channel != "alpha" && panels[2].size() < 8)
                panels[2].push_back(channel);
        }
        for (const std::vector<std::string>& panel : panels) {
            io::PageHistogram histogram = empty_histogram(object);
            for (const std::string& channel : panel)
                if (auto line = line_of(object, channel); line && !line->counts.empty())
                    histogram.lines.push_back(std::move(*line));
            if (histogram.lines.empty()) continue;
            trim(histogram, 256);
            set.histograms.push_back(std::move(histogram));
        }
    }

    static io::PageGroup class_of(const Json& object, const std::map<std::string, Json>& whole,
                                  io::PageHistogram& reference) {
        io::PageGroup group;
        group.name = object.at("group");
        group.depth = object.at("depth");
        group.images = images_in(object);
        const Json* chosen = nullptr;
        for (const Json& channel : object.at("channels")) {
            const std::string name = channel.at("channel");
            if (!chosen || name == "luma") chosen = &channel;
        }
        if (!chosen) return group;
        group.channel = chosen->at("channel");
        group.mean = number_in(*chosen, "mean");
        group.std = number_in(*chosen, "std");
        const auto own = line_of(object, group.channel);
        const auto found = whole.find(group.depth);
        const auto all = found == whole.end() ? std::nullopt : line_of(found->second, group.channel);
        if (!own || !all || own->counts.size() != all->counts.size() || own->counts.empty()) return group;
        const io::PageHistogram bounds = empty_histogram(object), others = empty_histogram(found->second);
        if (bounds.lower != others.lower || bounds.upper != others.upper) return group;
        io::PageHistogram both = bounds;
        both.lines = {*own, *all};
        for (io::PageHistogram::Line& line : both.lines) {
            const double sum = std::accumulate(line.counts.begin(), line.counts.end(), 0.0);
            for (double& count : line.counts) count /= sum > 0 ? sum : 1;
        }
        trim(both, 64);
        group.histogram = reference = both;
        group.histogram.lines.resize(1);
        reference.lines.erase(reference.lines.begin());
        return group;
    }

    void read_errors() {
        if (!results_.has(ColumnFile::errors)) return;
        io::CsvRows rows = results_.open(ColumnFile::errors);
        const std::size_t path = rows.column("path"), kind = rows.column("kind"), message = rows.column("message");
        std::map<std::string, io::PageErrors> kinds;
        while (rows.next()) {
            io::PageErrors& errors = kinds[std::string(rows.text(kind))];
            ++errors.inputs;
            ++failed_;
            if (errors.shown.size() >= errors_shown) continue;
            std::string text(rows.text(message));
            const std::string name = std::string(rows.text(path)) + ": ";
            if (text.rfind(name, 0) == 0) text.erase(0, name.size());
            errors.shown.emplace_back(rows.text(path), text);
        }
        for (auto& [name, errors] : kinds) {
            errors.kind = name;
            page_.errors.push_back(std::move(errors));
        }
        std::stable_sort(page_.errors.begin(), page_.errors.end(),
                         [](const auto& a, const auto& b) { return a.inputs > b.inputs; });
    }

    /// Keeps the directory that all images so far are in.
    void narrow_title(std::string_view path) {
        const std::string_view directory = path.substr(0, path.rfind('/') == path.npos ? 0 : path.rfind('/'));
        if (images_ == 1) {
            common_ = directory;
            return;
        }
        while (!common_.empty() && directory != common_ && directory.substr(0, common_.size() + 1) != common_ + '/')
            common_.erase(common_.rfind('/') == common_.npos ? 0 : common_.rfind('/'));
    }
    std::string own_title() const {
        const std::string name = fs::path(common_).filename().string();
        if (!name.empty() && name != "." && name != "..") return name;
        return fs::absolute(results_.directory()).lexically_normal().filename().string();
    }

    void add_facts() {
        const auto add = [&](const char* label, const std::string& value, bool marked = false) {
            page_.facts.push_back({label, value, marked});
        };
        add("images", io::grouped(images_));
        const double pixels = pixels_;
        add("pixels", pixels >= 1e9   ? io::formatted("%.3g G", pixels / 1e9)
                      : pixels >= 1e6 ? io::formatted("%.3g M", pixels / 1e6)
                                      : io::grouped(static_cast<std::uint64_t>(pixels)));
        if (page_.groups.all > 0) add("classes", io::grouped(page_.groups.all));
        if (with_flags_) add("flagged", io::grouped(flagged_), flagged_ > 0);
        if (page_.duplicates) add("duplicates", io::grouped(page_.duplicates->copies), page_.duplicates->copies > 0);
        add("errors", io::grouped(failed_), failed_ > 0);
    }

    void add_definitions() {
        std::set<std::string> shown(page_.images.numbers.begin(), page_.images.numbers.end());
        for (const io::PageSet& set : page_.sets)
            shown.insert(set.channels.headings.begin(), set.channels.headings.end());
        if (page_.changes)
            shown.insert(page_.changes->channels.headings.begin(), page_.changes->channels.headings.end());
        std::set<std::string> there;
        for (const ColumnFile file :
             {ColumnFile::stats, ColumnFile::quality, ColumnFile::dataset, ColumnFile::comparison})
            for (Column& column : gpuhist::columns({}, file))
                if (shown.count(column.name) != 0 && there.insert(column.name).second)
                    page_.definitions.push_back(std::move(column));
    }

    void compare();
    void compare_channels(io::PageChanges& changes) const;
    void compare_images(io::PageChanges& changes) const;

    const ResultsThere& results_;
    const ResultsThere* earlier_;
    io::Page page_;
    ImageTables tables_;
    bool with_quality_ = false, with_flags_ = false;
    std::vector<Measure> measures_;
    std::uint64_t images_ = 0, flagged_ = 0, failed_ = 0;
    double pixels_ = 0;
    std::string common_;
    std::array<std::uint64_t, flag_count> flag_images_{};
    std::array<std::optional<double>, flag_count> thresholds_{};
    Gallery gallery_;
    std::vector<Largest<std::uint64_t>> ends_;  ///< of each measure
    ImageHashes hashes_;
    std::unordered_map<std::uint32_t, std::uint64_t> sizes_;  ///< number of copies in each group
    std::map<std::uint64_t, std::string> wanted_paths_;
};

/// Numbers of the channels of a whole set, by depth and channel.
using ChannelNumbers =
    std::map<std::pair<std::string, std::string>, std::pair<std::optional<double>, std::optional<double>>>;

ChannelNumbers numbers_of(const ResultsThere& results) {
    io::CsvRows rows = results.open(ColumnFile::dataset);
    const std::size_t group = rows.column("group"), depth = rows.column("depth"), channel = rows.column("channel"),
                      mean = rows.column("mean"), std = rows.column("std");
    ChannelNumbers numbers;
    while (rows.next())
        if (rows.text(group).empty())
            numbers[{std::string(rows.text(depth)), std::string(rows.text(channel))}] = {rows.number(mean),
                                                                                         rows.number(std)};
    return numbers;
}

std::uint64_t hash_of(std::string_view text) {
    io::Checksum sum;
    sum.add(text.data(), text.size());
    return sum.value();
}

/// Hash of each image's path, with the hash of its pixels; 0 if there is none.
std::unordered_map<std::uint64_t, std::uint64_t> hashes_of(const ResultsThere& results) {
    std::unordered_map<std::uint64_t, std::uint64_t> images;
    const bool quality = results.has(ColumnFile::quality);
    io::CsvRows rows = results.open(quality ? ColumnFile::quality : ColumnFile::stats);
    const std::size_t path = rows.column("path");
    const auto pixels = rows.find("pixels_hash");
    while (rows.next()) images.emplace(hash_of(rows.text(path)), pixels ? hash_of(rows.text(*pixels)) : 0);
    return images;
}

void PageReader::compare() {
    io::PageChanges& changes = page_.changes.emplace();
    changes.earlier = earlier_->directory().string();
    compare_images(changes);
    if (results_.has(ColumnFile::dataset) && earlier_->has(ColumnFile::dataset)) compare_channels(changes);
    if (!with_flags_ || !earlier_->has(ColumnFile::flags)) return;
    std::array<std::uint64_t, flag_count> before{};
    io::CsvRows rows = earlier_->open(ColumnFile::flags);
    const std::size_t flag = rows.column("flag");
    while (rows.next())
        for (const FlagTraits& traits : all_flags)
            if (rows.text(flag) == traits.name) ++before[static_cast<std::size_t>(traits.flag)];
    changes.flags.headings = {"flag", "images before", "images now"};
    for (const FlagTraits& traits : all_flags) {
        const auto place = static_cast<std::size_t>(traits.flag);
        if (before[place] + flag_images_[place] > 0)
            changes.flags.rows.push_back({std::string(traits.name), before[place], flag_images_[place]});
    }
}

void PageReader::compare_images(io::PageChanges& changes) const {
    const auto before = hashes_of(*earlier_), now = hashes_of(results_);
    std::uint64_t added = 0, removed = 0, changed = 0;
    for (const auto& [path, pixels] : now) {
        const auto found = before.find(path);
        added += found == before.end();
        changed += found != before.end() && found->second != 0 && pixels != 0 && found->second != pixels;
    }
    for (const auto& [path, pixels] : before) removed += now.count(path) == 0;
    changes.remarks.push_back(io::grouped(added) + (added == 1 ? " image was" : " images were") + " added, " +
                              io::grouped(removed) + " removed" +
                              (with_quality_ && earlier_->has(ColumnFile::quality)
                                   ? ", and the pixels of " + io::grouped(changed) + " changed."
                                   : "."));
}

/// Compares by exact counts if both results have them, else by mean and std.
void PageReader::compare_channels(io::PageChanges& changes) const {
    if (results_.has(io::counts_file_name) && earlier_->has(io::counts_file_name)) {
        const io::Shard before = io::read_counts(earlier_->directory()), now = io::read_counts(results_.directory());
        const Comparison found =
            gpuhist::compare(ComparedSet(before.groups.front().summary), ComparedSet(now.groups.front().summary));
        std::vector<Column> columns;
        for (Column& column : gpuhist::columns({}, ColumnFile::comparison))
            for (const char* wanted :
                 {"mean_a", "mean_b", "mean_difference", "std_ratio", "smd", "wasserstein", "ks", "psi"})
                if (column.name == wanted) columns.push_back(std::move(column));
        changes.channels.headings = {"channel"};
        for (const Column& column : columns) changes.channels.headings.push_back(column.name);
        for (const ChannelComparison& channel : found.channels) {
            auto& row = changes.channels.rows.emplace_back();
            row.emplace_back(std::string(to_string(channel.depth_b)) + ' ' + std::string(channel_name(channel)));
            for (const Column& column : columns) {
                ColumnRow about;
                about.comparison = &channel;
                const ColumnValue value = column.value(about);
                const auto* real = std::get_if<double>(&value);
                row.push_back(real ? io::PageCell(*real) : io::PageCell());
            }
        }
        return;
    }
    changes.remarks.emplace_back("Distances of the distributions need exact counts: run gpuhist with --keep-counts.");
    const ChannelNumbers before = numbers_of(*earlier_), now = numbers_of(results_);
    changes.channels.headings = {"channel", "mean before", "mean now", "std before", "std now"};
    for (const auto& [channel, numbers] : now) {
        const auto found = before.find(channel);
        if (found == before.end()) continue;
        const auto cell = [](const std::optional<double>& value) {
            return value ? io::PageCell(*value) : io::PageCell();
        };
        changes.channels.rows.push_back({channel.first + ' ' + channel.second, cell(found->second.first),
                                         cell(numbers.first), cell(found->second.second), cell(numbers.second)});
    }
}

}  // namespace

io::Page page_of(const ResultsThere& results, const ResultsThere* earlier, const std::string& title) {
    return PageReader(results, earlier).read(title);
}

}  // namespace gpuhist::app
