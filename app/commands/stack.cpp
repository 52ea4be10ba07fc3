#include "commands/stack.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
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
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/io/sink.hpp"
#include "gpuhist/resources.hpp"
#include "run/exit_code.hpp"
#include "run/image_request.hpp"
#include "run/output_directory.hpp"
#include "run/set_images.hpp"
#include "run/written.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr PartFiles stack_parts("stack", ".sums", "stack");

std::string pixels_name() {
    return traits_of(ColumnFile::stack_pixels).file_name();
}

std::string name_of(StackStatistic statistic) {
    return std::string("stack.") + to_string(statistic) + ".tiff";
}

std::vector<std::string> names_of(const StackWrites& writes) {
    std::vector<std::string> names;
    for (const StackStatistic statistic : writes.statistics) names.push_back(name_of(statistic));
    if (writes.pixels) names.push_back(pixels_name());
    return names;
}

/// What all images of a stack have in common, and where its files take their metadata from.
struct StackFacts {
    std::int64_t width = 0, height = 0;
    int channels = 1;
    Depth depth = Depth::u8;
    Samples samples = Samples::color;
    std::vector<std::string> names;  ///< of the samples, by place
    std::vector<std::string> bands;
    std::optional<double> nodata;  ///< value of pixels without a valid sample, if one stands for no data
    std::string file;              ///< first image
    std::uint64_t page = 0;

    std::uint64_t samples_of(std::int64_t rows) const {
        return static_cast<std::uint64_t>(rows * width) * static_cast<std::uint64_t>(channels);
    }
    std::string words() const {
        std::string text = std::to_string(width) + " x " + std::to_string(height) + ", " + to_string(depth) + ", ";
        std::vector<std::string> shown = names;
        if (shown.size() >= 3 && shown[0] == "blue" && shown[2] == "red") std::swap(shown[0], shown[2]);
        for (std::size_t i = 0; i < shown.size(); ++i) text += (i == 0 ? "" : " ") + shown[i];
        return text;
    }
};

StackFacts facts_of(const SetImage& image, const Options& options) {
    StackFacts facts;
    facts.width = image.view.width;
    facts.height = image.height;
    facts.channels = image.view.channels;
    facts.depth = image.view.depth;
    facts.samples = image.view.samples;
    facts.names = io::names_of_samples(image.file);
    facts.bands = image.file.bands;
    facts.file = image.input.file_path();
    facts.page = image.input.page;
    std::string problem;
    if (options.nodata_of_file) facts.nodata = nodata_of(image.file, problem);
    for (const auto& [channel, value] : options.validity.nodata)
        if (!facts.nodata && !channel && !std::isnan(value) && nodata_in(facts.depth, value)) facts.nodata = value;
    return facts;
}

/// Reason why an image, or a strip of it, does not belong to a stack; empty if it does.
std::string difference(const StackFacts& facts, const SetImage& image) {
    const auto differs = [](const std::string& own, const std::string& first) {
        return own + ", but the first image has " + first;
    };
    if (image.view.width != facts.width || image.height != facts.height)
        return differs(std::to_string(image.view.width) + " x " + std::to_string(image.height) + " pixels",
                       std::to_string(facts.width) + " x " + std::to_string(facts.height));
    if (image.view.depth != facts.depth)
        return differs(std::string(to_string(image.view.depth)) + " samples", to_string(facts.depth));
    if (image.view.channels != facts.channels)
        return differs(counted(static_cast<std::uint64_t>(image.view.channels), "channel"),
                       std::to_string(facts.channels));
    const auto listed = [](const std::vector<std::string>& names) {
        std::string text;
        for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
        return text;
    };
    const std::vector<std::string> names = io::names_of_samples(image.file);
    return names == facts.names ? "" : differs(listed(names), listed(facts.names));
}

/// Writer of the files of a stack, which get its rows from the top.
class StackFiles {
  public:
    StackFiles(const StackFacts& facts, const StackOptions& options, OutputDirectory& directory)
        : facts_(facts), options_(options), directory_(directory) {
        const auto metadata = SetImages::metadata_of(facts.file, facts.page);
        for (const StackStatistic statistic : options.writes.statistics) {
            File& file = files_.emplace_back();
            file.statistic = statistic;
            file.depth = stack_depth(statistic, facts.depth);
            file.type = CV_MAKETYPE(io::opencv_depth(file.depth), facts.channels);
            output([&] {
                file.file = std::make_unique<io::NewFile>(options.run.output / name_of(statistic));
                file.encoder =
                    io::encode_rows(*file.file, cv::Size(static_cast<int>(facts.width), static_cast<int>(facts.height)),
                                    file.type, facts.samples, file.depth, form_of(file, metadata.get()));
            });
        }
    }

    /// Bytes of memory per sample, in addition to the memory of the stack.
    static std::uint64_t bytes_per_sample() { return 16; }

    void add(const PixelStack& stack, std::int64_t rows) {
        for (File& file : files_) {
            cv::Mat image(static_cast<int>(rows), static_cast<int>(facts_.width), file.type);
            MutableImageView view = io::mutable_view(image);
            view.depth = file.depth;
            stack.write(file.statistic, view, facts_.nodata.value_or(0));
            output([&] { file.encoder->add(image); });
        }
        if (!options_.writes.pixels) return;
        const auto samples = static_cast<std::size_t>(facts_.samples_of(rows)), first = means_.size();
        means_.resize(first + samples);
        constant_.resize(first + samples);
        stack.read(means_.data() + first, constant_.data() + first);
    }

    /// Gives the files their names. Returns text for a person.
    std::string finish() {
        std::string text;
        output([&] {
            for (File& file : files_) {
                file.encoder->finish();
                directory_.stage(name_of(file.statistic), std::move(*file.file));
            }
        });
        if (options_.writes.pixels) text = list_pixels();
        output([&] { directory_.commit(); });
        return text + written_text(options_.run.output, names_of(options_.writes));
    }

  private:
    struct File {
        StackStatistic statistic{};
        Depth depth{};
        int type = 0;
        std::unique_ptr<io::NewFile> file;
        std::unique_ptr<io::RowEncoder> encoder;
    };

    io::EncodeOptions form_of(const File& file, const io::Metadata* metadata) const {
        io::EncodeOptions form;
        form.compression = io::TiffCompression::deflate;
        const bool own = file.depth == facts_.depth && file.statistic != StackStatistic::count;
        if (metadata || !facts_.bands.empty() || (own && facts_.nodata)) {
            form.metadata = metadata ? *metadata : io::Metadata();
            form.metadata->drop_facts_about_values();
            form.metadata->adapt_description(file.depth, false);
            form.predictor = !form.metadata->imagej;
            form.metadata->describe_bands(facts_.bands);
            form.metadata->nodata = std::nullopt;
            if (facts_.nodata && traits_of(file.depth).floating)
                form.metadata->nodata = std::numeric_limits<double>::quiet_NaN();
            else if (own)
                form.metadata->nodata = facts_.nodata;
        }
        return form;
    }

    /// Writes the list of odd pixels. Alpha, and gray that is there three times, are left out.
    std::string list_pixels() {
        const auto channels = static_cast<std::size_t>(facts_.channels);
        for (std::size_t c = 0; c < channels; ++c) {
            const auto first = std::find(facts_.names.begin(), facts_.names.end(), facts_.names[c]);
            const bool again = first - facts_.names.begin() != static_cast<std::ptrdiff_t>(c);
            if (!again && facts_.names[c] != to_string(Channel::alpha)) continue;
            for (std::size_t i = c; i < means_.size(); i += channels) {
                means_[i] = std::numeric_limits<double>::quiet_NaN();
                constant_[i] = 0;
            }
        }
        const OddPixels found = odd_pixels(means_, constant_, facts_.width, facts_.height, facts_.channels,
                                           options_.sigmas, options_.most_pixels, options_.run.engine_options.threads);
        const auto csv = io::make_sink("csv", {io::Table(ColumnFile::stack_pixels)});
        std::string text = csv->begin();
        for (const OddPixel& pixel : found.listed) {
            io::Record record{ColumnFile::stack_pixels};
            record.about.pixel = &pixel;
            record.about.channel = facts_.names[static_cast<std::size_t>(pixel.channel)];
            text += csv->append(csv->format(record));
        }
        output([&] { directory_.stage(pixels_name(), text + csv->end()); });
        return "pixels   " + std::to_string(found.stuck) + " stuck, " + std::to_string(found.hot) + " hot, " +
               std::to_string(found.cold) + " cold\n";
    }

    const StackFacts& facts_;
    const StackOptions& options_;
    OutputDirectory& directory_;
    std::vector<File> files_;
    std::vector<double> means_;
    std::vector<std::uint8_t> constant_;
};

/// Facts about a part of a stack, whose data are the sums.
struct Part : SetPart {
    using SetPart::SetPart;
    StackFacts facts;
    StackWrites writes;
    double sigmas = 0;
    std::uint64_t most_pixels = 0;
    std::uint64_t sums_bytes = 0;
};

/// Options that change results, by name.
std::map<std::string, std::string> results_options(const StackOptions& options) {
    std::map<std::string, std::string> all;
    options.run.add_to(all);
    all["--mask"] = options.run.masks;
    all["--pages"] = options.run.inputs.pages ? "some" : "";
    std::string writes;
    for (const std::string& name : names_of(options.writes)) writes += name + ' ';
    all["--write"] = writes;
    all["--sigmas"] = io::shortest(options.sigmas);
    all["--most"] = std::to_string(options.most_pixels);
    return all;
}

Json facts_of(const Part& part) {
    const StackFacts& facts = part.facts;
    std::vector<std::string> writes;
    for (const StackStatistic statistic : part.writes.statistics) writes.emplace_back(to_string(statistic));
    return {{"width", facts.width},
            {"height", facts.height},
            {"channels", facts.channels},
            {"depth", to_string(facts.depth)},
            {"samples", static_cast<int>(facts.samples)},
            {"names", facts.names},
            {"bands", facts.bands},
            {"nodata", facts.nodata ? io::shortest(*facts.nodata) : ""},
            {"file", facts.file},
            {"page", facts.page},
            {"writes", writes},
            {"pixels", part.writes.pixels},
            {"sigmas", io::shortest(part.sigmas)},
            {"most_pixels", part.most_pixels},
            {"sums_bytes", part.sums_bytes}};
}

void read_facts(const Json& value, Part& part) {
    StackFacts& facts = part.facts;
    facts.width = value.at("width");
    facts.height = value.at("height");
    facts.channels = value.at("channels");
    const std::string depth = value.at("depth"), nodata = value.at("nodata"), sigmas = value.at("sigmas");
    for (const DepthTraits& traits : all_depths)
        if (depth == traits.name) facts.depth = traits.depth;
    facts.samples = static_cast<Samples>(value.at("samples").get<int>());
    facts.names = value.at("names").get<std::vector<std::string>>();
    facts.bands = value.at("bands").get<std::vector<std::string>>();
    if (!nodata.empty()) facts.nodata = std::strtod(nodata.c_str(), nullptr);
    facts.file = value.at("file");
    facts.page = value.at("page");
    part.writes.statistics.clear();
    for (const std::string& name : value.at("writes").get<std::vector<std::string>>())
        for (int i = 0; i <= static_cast<int>(StackStatistic::median); ++i)
            if (name == to_string(static_cast<StackStatistic>(i)))
                part.writes.statistics.push_back(static_cast<StackStatistic>(i));
    part.writes.pixels = value.at("pixels");
    part.sigmas = std::strtod(sigmas.c_str(), nullptr);
    part.most_pixels = value.at("most_pixels");
    part.sums_bytes = value.at("sums_bytes");
}

/// Stacks the images of a set.
class Stacker {
  public:
    Stacker(const StackOptions& options, Console& console)
        : options_(options),
          console_(console),
          directory_(options.run.output, options.run.force, console),
          memory_(options.run.memory > 0 ? options.run.memory : available_memory() / 4),
          images_(
              options.run, memory_ / 2, [this](const std::string& file) { return directory_.owns_file(file); },
              console) {}

    int execute() {
        const auto& shard = options_.run.shard;
        const std::vector<std::string> names = shard ? stack_parts.names(*shard) : names_of(options_.writes);
        output([&] {
            directory_.read_lists();
            directory_.reserve(names);
        });
        for (const std::string& argument : options_.run.inputs.arguments) directory_.protect(argument);
        io::Checksum hash;
        images_.list([&](const Input& input, std::uint64_t) {
            hash.add(input.path.c_str(), input.path.size() + 1);
            ++count_;
        });
        const auto first = images_.first();
        if (!first) throw IoError("there are no images to stack", IoError::Kind::missing);
        facts_ = facts_of(*first, options_.run);
        const std::int64_t rows = rows_of_bands();
        output([&] { directory_.make(); });
        const std::string hash_text = io::checksum_text(hash.value());
        const std::string text = shard ? write_part(rows, hash_text) : write_files(rows);
        if (options_.notes)
            console_.print("stacked  " + counted(shard ? own_images() : count_, "image") + ": " + facts_.words() +
                           '\n' + text);
        return console_.failed() ? static_cast<int>(output_failed) : all_done;
    }

  private:
    bool median() const { return options_.writes.has(StackStatistic::median); }
    bool wants(std::uint64_t index) const { return !options_.run.shard || options_.run.shard->has(index); }
    std::uint64_t own_images() const { return options_.run.shard->own(count_); }

    /// Rows whose sums, and samples for medians, fit into half of the memory, beside the list of pixels.
    std::int64_t rows_of_bands() const {
        const bool list = options_.writes.pixels && !options_.run.shard;
        const std::uint64_t listed = list ? facts_.samples_of(facts_.height) * 33 : 0;
        const std::uint64_t row =
            facts_.samples_of(1) *
            (PixelStack::bytes_per_sample(facts_.depth, median() ? count_ : 0) + StackFiles::bytes_per_sample());
        const std::uint64_t half = memory_ / 2;
        if (listed + row > half)
            throw IoError(std::string("--memory: ") + std::to_string(memory_) + " bytes are too few: " +
                              (listed > half / 2 ? "the list of pixels needs " + std::to_string(2 * listed) +
                                                       "; leave it out with --write"
                                                 : "one row of the stack needs " + std::to_string(2 * row)),
                          IoError::Kind::memory);
        return std::min<std::int64_t>(facts_.height, static_cast<std::int64_t>((half - listed) / row));
    }

    /// Stacks some rows of all images. `first`: the first row.
    PixelStack stack_rows(std::int64_t first, std::int64_t rows) const {
        PixelStack stack({facts_.width, rows, facts_.channels, facts_.depth}, median() ? count_ : 0,
                         options_.run.engine_options.threads);
        std::uint64_t begun = 0;
        images_.each([this](std::uint64_t index) { return wants(index); },
                     [&](std::vector<SetImage>& images) {
                         std::vector<StackLayer> layers;
                         for (const SetImage& image : images) {
                             if (image.failure) std::rethrow_exception(image.failure);
                             if (const std::string why = difference(facts_, image); !why.empty())
                                 throw IoError(image.input.path + ": has " + why, IoError::Kind::unsupported);
                             layers.push_back({image.view, image.row - first, image.validity.get()});
                             begun += image.row == 0;
                         }
                         stack.add(layers);
                     });
        if (begun != (options_.run.shard ? own_images() : count_))
            throw IoError("the images have changed while they were stacked");
        return stack;
    }

    std::string write_files(std::int64_t rows) {
        StackFiles files(facts_, options_, directory_);
        for (std::int64_t first = 0; first < facts_.height; first += rows) {
            const std::int64_t count = std::min(rows, facts_.height - first);
            files.add(stack_rows(first, count), count);
        }
        return files.finish();
    }

    std::string write_part(std::int64_t rows, const std::string& images_hash) {
        Part part(*options_.run.shard, count_, images_hash, results_options(options_));
        part.facts = facts_;
        part.writes = options_.writes;
        part.sigmas = options_.sigmas;
        part.most_pixels = options_.most_pixels;
        const std::vector<std::string> names = stack_parts.names(part.id);
        io::Checksum sums;
        std::unique_ptr<io::NewFile> file;
        output([&] { file = std::make_unique<io::NewFile>(options_.run.output / names.front()); });
        for (std::int64_t first = 0; first < facts_.height; first += rows) {
            const PixelStack stack = stack_rows(first, std::min(rows, facts_.height - first));
            sums.add(stack.sums(), stack.sums_bytes());
            part.sums_bytes += stack.sums_bytes();
            output([&] { file->write(stack.sums(), stack.sums_bytes()); });
        }
        part.data_checksum = io::checksum_text(sums.value());
        output([&] {
            directory_.stage(names.front(), std::move(*file));
            directory_.stage(names.back(), stack_parts.facts_text(part, facts_of(part)));  // now the part is there
            directory_.commit();
        });
        return written_text(options_.run.output, names);
    }

    const StackOptions& options_;
    Console& console_;
    OutputDirectory directory_;
    const std::uint64_t memory_;
    const SetImages images_;
    StackFacts facts_;
    std::uint64_t count_ = 0;
};

PlacedParts<Part> parts_in(const std::vector<std::string>& directories) {
    auto parts = stack_parts.read<Part>(directories, read_facts);
    const StackFacts& first = parts.front().second.facts;
    for (const auto& [directory, part] : parts)
        if (part.facts.words() != first.words() ||
            part.sums_bytes != first.samples_of(first.height) * PixelStack::bytes_per_sample(first.depth))
            throw IoError((directory / stack_parts.facts_name(part.id)).string() +
                          ": has other sums than the first part: use the same version of gpuhist for all");
    return parts;
}

int merge_into(const MergeOptions& given, Console& console) {
    const auto parts = parts_in(given.directories);
    const Part& first = parts.front().second;
    const StackFacts& facts = first.facts;
    StackOptions options;
    options.run.output = given.output;
    options.writes = first.writes;
    options.sigmas = first.sigmas;
    options.most_pixels = first.most_pixels;
    std::vector<std::ifstream> files;
    for (const auto& [directory, part] : parts) files.push_back(stack_parts.open_data(directory, part));
    OutputDirectory directory(given.output, given.force, console);
    output([&] {
        directory.read_lists();
        directory.reserve(names_of(options.writes));
        directory.make();
    });
    StackFiles written(facts, options, directory);
    const std::uint64_t row_bytes = facts.samples_of(1) * PixelStack::bytes_per_sample(facts.depth);
    constexpr std::uint64_t most = std::uint64_t{1} << 28;
    const auto rows = std::clamp<std::int64_t>(static_cast<std::int64_t>(most / row_bytes), 1, facts.height);
    std::vector<char> sums;
    for (std::int64_t row = 0; row < facts.height; row += rows) {
        const std::int64_t count = std::min(rows, facts.height - row);
        PixelStack stack({facts.width, count, facts.channels, facts.depth});
        sums.resize(stack.sums_bytes());
        for (std::size_t i = 0; i < files.size(); ++i) {
            if (!files[i].read(sums.data(), static_cast<std::streamsize>(sums.size())))
                throw IoError((parts[i].first / stack_parts.data_name(parts[i].second.id)).string() + ": ends early");
            stack.add_sums(sums.data());
        }
        written.add(stack, count);
    }
    const std::string text = written.finish();
    if (given.notes) console.print("stacked  " + counted(first.members, "image") + ": " + facts.words() + '\n' + text);
    return console.failed() ? static_cast<int>(output_failed) : all_done;
}

}  // namespace

bool StackWrites::has(StackStatistic statistic) const {
    return std::find(statistics.begin(), statistics.end(), statistic) != statistics.end();
}

int stack(const StackOptions& options) {
    Console console(!options.notes);
    return exit_code_of(
        console, [&] { return Stacker(options, console).execute(); }, inputs_failed);
}

std::vector<fs::path> stack_part_files(const fs::path& directory) {
    return stack_parts.in(directory);
}

int merge_stacks(const MergeOptions& options) {
    Console console(!options.notes);
    return exit_code_of(console, [&] { return merge_into(options, console); });
}

}  // namespace gpuhist::app
