#include "commands/joint.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/console.hpp"
#include "cli/table.hpp"
#include "commands/merge.hpp"
#include "commands/output_failure.hpp"
#include "commands/set_parts.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/checksum.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/files.hpp"
#include "gpuhist/io/joint.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/io/sink.hpp"
#include "gpuhist/joint.hpp"
#include "gpuhist/resources.hpp"
#include "run/companions.hpp"
#include "run/exit_code.hpp"
#include "run/output_directory.hpp"
#include "run/set_images.hpp"
#include "run/written.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* set_stem = "dataset";
constexpr PartFiles joint_parts("joint", ".rows", "set");

std::string rows_name() {
    return traits_of(ColumnFile::joint).file_name();
}

/// Name of a pair in the names of files: bands may have any names.
std::string name_of(const ChannelPair& pair) {
    std::string name = pair.first + '-' + pair.second;
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_') c = '_';
    return name;
}
std::string words_of(const ChannelPair& pair) {
    return pair.first + ',' + pair.second;
}

/// Joint histogram of a pair of channels.
struct Joint {
    ChannelPair pair;
    JointHistogram histogram;
};

/// Files about an image or a set: NAME.joint.PAIR.csv and others. `write` writes one by its name.
void write_joint(const std::string& stem, const std::string& title, const Joint& joint, const JointWrites& writes,
                 io::PlotTheme theme, const std::function<void(const std::string&, const void*, std::size_t)>& write) {
    const std::string name = stem + ".joint." + name_of(joint.pair);
    if (writes.csv) {
        const std::string csv = io::joint_csv(joint.histogram);
        write(name + ".csv", csv.data(), csv.size());
    }
    if (writes.npy) {
        const std::vector<unsigned char> npy = io::joint_npy(joint.histogram);
        write(name + ".npy", npy.data(), npy.size());
    }
    if (writes.plot) {
        const std::vector<unsigned char> png =
            io::encode_joint(joint.histogram, {title, joint.pair.first, joint.pair.second}, theme);
        write(name + ".png", png.data(), png.size());
    }
}

/// Row of joint.csv.
std::string row_of(const io::Sink& csv, const std::string& path, std::uint64_t images, const Joint& joint) {
    io::Record record{ColumnFile::joint};
    record.about.path = path;
    record.about.images = images;
    record.about.first = joint.pair.first;
    record.about.second = joint.pair.second;
    record.about.joint = &joint.histogram;
    return csv.format(record);
}

/// Line for a person.
std::string line_of(const Joint& joint) {
    const auto number = [](const std::optional<double>& value) { return value ? io::formatted("%.4g", *value) : "-"; };
    return words_of(joint.pair) + "  pearson " + number(joint.histogram.pearson()) + "  mutual_information " +
           number(joint.histogram.mutual_information()) + " bits  " + counted(joint.histogram.pixels(), "pixel") + '\n';
}

/// Joint histograms of a set, by pair. A pair whose bins differ among the images has none.
class SetJoints {
  public:
    void add(const Joint& joint, std::uint64_t images = 1) {
        const std::string words = words_of(joint.pair);
        const auto found = std::find_if(pairs_.begin(), pairs_.end(),
                                        [&](const Entry& entry) { return words_of(entry.joint.pair) == words; });
        if (found == pairs_.end()) {
            pairs_.push_back({joint, images, true});
            std::sort(pairs_.begin(), pairs_.end(),
                      [](const Entry& a, const Entry& b) { return words_of(a.joint.pair) < words_of(b.joint.pair); });
            return;
        }
        Entry& entry = *found;
        entry.images += images;
        const JointHistogram &own = entry.joint.histogram, &other = joint.histogram;
        entry.alike =
            entry.alike && own.bins() == other.bins() && own.axis(0) == other.axis(0) && own.axis(1) == other.axis(1);
        if (entry.alike) entry.joint.histogram += other;
    }
    struct Entry {
        Joint joint;
        std::uint64_t images = 0;
        bool alike = true;
    };
    std::vector<Entry>& pairs() { return pairs_; }
    const std::vector<Entry>& pairs() const { return pairs_; }

  private:
    std::vector<Entry> pairs_;
};

/// Writes rows of the set, and its files. Returns text for a person.
std::string finish_set(const SetJoints& set, const JointWrites& writes, io::PlotTheme theme, OutputDirectory& directory,
                       Console& console, std::vector<std::string>& names, std::string& rows) {
    const auto csv = io::make_sink("csv", {io::Table(ColumnFile::joint)});
    std::string text;
    for (const SetJoints::Entry& entry : set.pairs()) {
        const std::string words = words_of(entry.joint.pair);
        if (!entry.alike) {
            console.note("the set has no joint histogram of " + words +
                         ", because its images have other bins: give --range, and images of one sample type");
            continue;
        }
        rows += row_of(*csv, "", entry.images, entry.joint);
        text += line_of(entry.joint);
        write_joint(set_stem, words + " of " + counted(entry.images, "image"), entry.joint, writes, theme,
                    [&](const std::string& name, const void* data, std::size_t bytes) {
                        output([&] { directory.stage(name, [&](const auto& take) { take(data, bytes); }); });
                        names.push_back(name);
                    });
    }
    return text;
}

/// Facts about a part. Its data are, per image, a line of JSON: the index and the rows.
struct Part : SetPart {
    using SetPart::SetPart;
    JointWrites set_writes;
    io::PlotTheme theme = io::PlotTheme::light;
    std::uint64_t failed = 0;
    SetJoints set;
};

std::map<std::string, std::string> results_options(const JointOptions& options) {
    std::map<std::string, std::string> all;
    options.run.add_to(all);
    all["--mask"] = options.run.masks;
    all["--with"] = options.with;
    std::string pairs;
    for (const ChannelPair& pair : options.pairs) pairs += words_of(pair) + ':' + std::to_string(pair.bins) + ' ';
    all["--channels"] = pairs;
    all["--bins"] = std::to_string(options.with_bins);
    all["--range"] = options.range ? io::shortest(options.range->lower) + "," + io::shortest(options.range->upper) : "";
    return all;
}

std::string dumped(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json facts_of(const Part& part) {
    Json pairs = Json::array();
    for (const SetJoints::Entry& entry : part.set.pairs())
        pairs.push_back({{"first", entry.joint.pair.first},
                         {"second", entry.joint.pair.second},
                         {"images", entry.images},
                         {"alike", entry.alike},
                         {"histogram", entry.joint.histogram.to_text()}});
    return {{"writes", {part.set_writes.csv, part.set_writes.npy, part.set_writes.plot}},
            {"dark", part.theme == io::PlotTheme::dark},
            {"failed", part.failed},
            {"pairs", pairs}};
}

void read_facts(const Json& facts, Part& part) {
    part.set_writes = {facts.at("writes").at(0), facts.at("writes").at(1), facts.at("writes").at(2)};
    part.theme = facts.at("dark").get<bool>() ? io::PlotTheme::dark : io::PlotTheme::light;
    part.failed = facts.at("failed");
    for (const Json& pair : facts.at("pairs")) {
        SetJoints::Entry entry;
        entry.joint.pair.first = pair.at("first");
        entry.joint.pair.second = pair.at("second");
        entry.joint.histogram = JointHistogram::from_text(pair.at("histogram").get<std::string>());
        entry.joint.pair.bins = entry.joint.histogram.bins();
        entry.images = pair.at("images");
        entry.alike = pair.at("alike");
        part.set.pairs().push_back(std::move(entry));
    }
}

/// Makes the joint histograms of a set.
class Joiner {
  public:
    Joiner(const JointOptions& options, Console& console)
        : options_(options),
          console_(console),
          directory_(options.run.output, options.run.force, console),
          images_(
              options.run, (options.run.memory > 0 ? options.run.memory : available_memory() / 4),
              [this](const std::string& file) { return directory_.owns_file(file); }, console),
          partners_(options.with, "partner"),
          csv_(io::make_sink("csv", {io::Table(ColumnFile::joint)})) {}

    int execute() {
        const auto& shard = options_.run.shard;
        output([&] {
            directory_.keep_track(shard ? joint_parts.stem(*shard) : "joint", {});
            directory_.take();
            directory_.read_lists();
            directory_.reserve(shard ? joint_parts.names(*shard) : std::vector{rows_name()});
        });
        for (const std::string& argument : options_.run.inputs.arguments) directory_.protect(argument);
        io::Checksum hash;
        bool from_directory = false;
        images_.list([&](const Input& input, std::uint64_t) {
            hash.add(input.path.c_str(), input.path.size() + 1);
            from_directory = from_directory || input.from_directory;
            ++count_;
        });
        if (count_ == 0) throw IoError("there are no images", IoError::Kind::missing);
        single_ = count_ == 1 && !shard;
        writes_ = options_.writes.value_or(single_ ? JointWrites() : JointWrites{false, false, false});
        output([&] { directory_.begin(); });
        images_.each([&](std::uint64_t index) { return !shard || shard->has(index); },
                     [this](std::vector<SetImage>& images) { take(images); });
        const std::string text = shard ? write_part(io::checksum_text(hash.value())) : write_rows();
        if (options_.notes) console_.print(text);
        return console_.failed() ? output_failed : failed_ > 0 ? inputs_failed : all_done;
    }

  private:
    /// State of an image whose strips come one after the other.
    struct Begun {
        std::vector<Joint> joints;
        std::optional<SetImage> partner;
        std::exception_ptr failure;  ///< of a strip: the others are left out
    };
    struct Done {
        std::vector<Joint> joints;
        std::exception_ptr failure;
        std::string rows;
        std::string path, output_name;
    };

    /// Names of the pairs in an image: as they were given, or each color with that of the partner.
    std::vector<ChannelPair> pairs_of(const SetImage& image) const {
        if (!options_.pairs.empty()) return options_.pairs;
        std::vector<ChannelPair> pairs;
        std::vector<std::string> names = io::names_of_samples(image.file);
        const auto rank = [](const std::string& name) {  // of colors, by whatever order they are stored in
            return name == "red" ? 0 : name == "green" ? 1 : name == "blue" ? 2 : 3;
        };
        std::stable_sort(names.begin(), names.end(),
                         [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
        for (const std::string& name : names) {
            const bool there =
                std::any_of(pairs.begin(), pairs.end(), [&](const ChannelPair& pair) { return pair.first == name; });
            if (name != to_string(Channel::alpha) && !there) pairs.push_back({name, name, options_.with_bins});
        }
        return pairs;
    }

    JointChannel channel_of(const SetImage& image, const std::string& name) const {
        const std::vector<std::string> names = io::names_of_samples(image.file);
        const auto position = joint_position(image.view, names, name);
        std::string all;
        for (const std::string& one : names)
            if (all.find(one) == all.npos) all += (all.empty() ? "" : ", ") + one;
        if (!position)
            throw IoError(image.input.path + ": has no channel '" + name + "', but " + all, IoError::Kind::unsupported);
        return {image.view, *position, image.validity.get()};
    }

    /// Adds an image, or a strip of it, to its joint histograms, which begin with its first strip.
    void add(const SetImage& image, Begun& begun, int threads) const {
        if (image.row == 0 && partners_.any()) begun.partner = read_partner(image);
        SetImage rows;  // of the partner, beside the strip
        if (begun.partner) {
            rows = *begun.partner;
            rows.view.height = image.view.height;
            rows.view.data = static_cast<const std::byte*>(rows.view.data) + image.row * rows.view.row_bytes;
            if (rows.view.mask) rows.view.mask += image.row * rows.view.mask_row_bytes;
        }
        const std::vector<ChannelPair> pairs = pairs_of(image);
        const bool whole = image.row == 0 && image.view.height == image.height;
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            const JointChannel first = channel_of(image, pairs[i].first),
                               second = channel_of(begun.partner ? rows : image, pairs[i].second);
            if (image.row == 0) {
                const auto found = [&](const JointChannel& channel) {
                    const DepthTraits& traits = traits_of(channel.view.depth);
                    if (!whole && !options_.range && (traits.floating || traits.counting != Counting::values))
                        throw IoError(image.input.path + ": is read in strips, and the range of its " + traits.name +
                                          " samples is not known before its end: give --range, or more --memory",
                                      IoError::Kind::too_large);
                    return joint_axis(channel, options_.range, threads);
                };
                begun.joints.push_back({pairs[i], JointHistogram(pairs[i].bins, found(first), found(second))});
            }
            begun.joints[i].histogram.add(first, second, threads);
        }
    }

    SetImage read_partner(const SetImage& image) const {
        const std::string path = partners_.path_of(image.input);
        SetImage partner = images_.read(path, image.input.page > 1 ? image.input.page : 0);
        if (partner.view.width == image.view.width && partner.view.height == image.height) return partner;
        throw IoError(image.input.path + ": has " + std::to_string(image.view.width) + " x " +
                          std::to_string(image.height) + " pixels, but its partner " + path + " has " +
                          std::to_string(partner.view.width) + " x " + std::to_string(partner.view.height),
                      IoError::Kind::unsupported);
    }

    /// Takes whole images, which are worked on side by side, or a strip.
    void take(std::vector<SetImage>& images) {
        std::vector<Done> done(images.size());
        std::vector<char> ended(images.size(), 1);
        const bool alone = images.size() == 1;
        tbb::parallel_for(std::size_t{0}, images.size(), [&](std::size_t i) {
            SetImage& image = images[i];
            Done& result = done[i];
            result.path = image.input.path;
            result.output_name = image.input.output_name;
            const bool strip = !image.failure && (image.row > 0 || !image.last);
            Begun own;
            Begun& begun = strip ? begun_ : own;
            if (strip && image.row == 0) begun_ = Begun();
            try {
                if (image.failure) std::rethrow_exception(image.failure);
                if (!begun.failure) add(image, begun, alone ? options_.run.engine_options.threads : 1);
            } catch (const Error&) {
                begun.failure = std::current_exception();
            }
            ended[i] = image.last;
            if (!image.last) return;
            result.failure = begun.failure;
            if (!result.failure) {
                result.joints = std::move(begun.joints);
                for (const Joint& joint : result.joints) {
                    result.rows += row_of(*csv_, result.path, 1, joint);
                    write_joint(result.output_name, result.path + "  " + words_of(joint.pair), joint, writes_,
                                options_.theme, [&](const std::string& name, const void* data, std::size_t bytes) {
                                    output([&] { directory_.write(name, data, bytes); });
                                });
                }
            }
        });
        for (std::size_t i = 0; i < images.size(); ++i)
            if (ended[i]) record(images[i].index, done[i]);
    }

    void record(std::uint64_t index, Done& done) {
        if (done.failure) {
            ++failed_;
            try {
                std::rethrow_exception(done.failure);
            } catch (const std::exception& error) {
                const std::string words = error.what();
                console_.say(words.rfind(done.path, 0) == 0 ? words : done.path + ": " + words);
            }
        }
        for (const Joint& joint : done.joints) set_.add(joint);
        if (single_)
            for (const Joint& joint : done.joints) {
                lines_ += line_of(joint);
                const std::string name = done.output_name + ".joint." + name_of(joint.pair);
                if (writes_.csv) names_.push_back(name + ".csv");
                if (writes_.npy) names_.push_back(name + ".npy");
                if (writes_.plot) names_.push_back(name + ".png");
            }
        rows_[index] = std::move(done.rows);
    }

    std::string write_rows() {
        if (set_.pairs().empty()) {  // no image has the channels
            output([&] {
                directory_.end();
                directory_.leave();
            });
            return "";
        }
        std::string rows = csv_->begin();
        for (const auto& [index, text] : rows_) rows += text;
        std::vector<std::string> names = names_;
        std::string text = lines_;
        if (!single_)
            text = finish_set(set_, options_.writes.value_or(JointWrites()), options_.theme, directory_, console_,
                              names, rows);
        output([&] {
            directory_.stage(rows_name(), rows);
            directory_.commit();
            directory_.end();
        });
        names.push_back(rows_name());
        return text + written_text(options_.run.output, names);
    }

    std::string write_part(const std::string& images_hash) {
        std::string rows;
        for (const auto& [index, text] : rows_) rows += dumped({index, text}) + '\n';
        Part part(*options_.run.shard, count_, images_hash, results_options(options_));
        part.set_writes = options_.writes.value_or(JointWrites());
        part.theme = options_.theme;
        part.failed = failed_;
        part.set = set_;
        part.data_checksum = io::checksum_text(io::checksum(rows));
        const std::vector<std::string> names = joint_parts.names(part.id);
        output([&] {
            directory_.stage(names.front(), rows);
            directory_.stage(names.back(), joint_parts.facts_text(part, facts_of(part)));  // now the part is there
            directory_.commit();
            directory_.end();
        });
        return written_text(options_.run.output, names);
    }

    const JointOptions& options_;
    Console& console_;
    OutputDirectory directory_;
    const SetImages images_;
    const Companions partners_;
    const std::unique_ptr<io::Sink> csv_;
    JointWrites writes_;  ///< of each image
    Begun begun_;
    SetJoints set_;
    std::map<std::uint64_t, std::string> rows_;
    std::string lines_;
    std::vector<std::string> names_;
    std::uint64_t count_ = 0, failed_ = 0;
    bool single_ = false;
};

int merge_into(const MergeOptions& given, Console& console) {
    const auto parts = joint_parts.read<Part>(given.directories, read_facts);
    const Part& first = parts.front().second;
    OutputDirectory directory(given.output, given.force, console);
    output([&] {
        directory.read_lists();
        directory.reserve({rows_name()});
        directory.make();
    });
    std::map<std::uint64_t, std::string> rows_of_images;
    SetJoints set;
    std::uint64_t failed = 0;
    for (const auto& [from, part] : parts) {
        std::ifstream file = joint_parts.open_data(from, part);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = text.find('\n', at);
            const Json line = Json::parse(text.substr(at, end - at));
            rows_of_images[line.at(0)] = line.at(1).get<std::string>();
            at = end + 1;
        }
        failed += part.failed;
        for (const SetJoints::Entry& entry : part.set.pairs()) {
            set.add(entry.joint, entry.images);
            if (entry.alike) continue;
            for (SetJoints::Entry& own : set.pairs())
                if (words_of(own.joint.pair) == words_of(entry.joint.pair)) own.alike = false;
        }
    }
    const auto csv = io::make_sink("csv", {io::Table(ColumnFile::joint)});
    std::string rows = csv->begin();
    for (const auto& [index, text] : rows_of_images) rows += text;
    std::vector<std::string> names;
    std::string text = finish_set(set, first.set_writes, first.theme, directory, console, names, rows);
    output([&] {
        directory.stage(rows_name(), rows);
        directory.commit();
    });
    names.push_back(rows_name());
    if (given.notes) console.print(text + written_text(given.output, names));
    return console.failed() ? output_failed : failed > 0 ? inputs_failed : all_done;
}

}  // namespace

int joint(const JointOptions& options) {
    Console console(!options.notes);
    return exit_code_of(
        console, [&] { return Joiner(options, console).execute(); }, inputs_failed);
}

std::vector<fs::path> joint_part_files(const fs::path& directory) {
    return joint_parts.in(directory);
}

int merge_joints(const MergeOptions& options) {
    Console console(!options.notes);
    return exit_code_of(console, [&] { return merge_into(options, console); });
}

}  // namespace gpuhist::app
