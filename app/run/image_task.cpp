#include "run/image_task.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/io/outlines.hpp"
#include "gpuhist/io/plot.hpp"
#include "gpuhist/resources.hpp"
#include "run/image_batch.hpp"
#include "run/image_strips.hpp"
#include "run/remarks.hpp"
#include "run/run_state.hpp"
#include "run/weights.hpp"

namespace gpuhist::app {
namespace {

constexpr const char* jpeg_format = "a JPEG";

io::Image read_by_opencv(const Input& input, const io::DecodeOptions& options) {
    if (input.standard_input)
        throw IoError(input.path + ": OpenCV's decoders read regular files only", IoError::Kind::unsupported);
    return io::read_image_by_opencv(input.file_path(), options);
}

}  // namespace

std::uint64_t analysis_bytes(const ImageView& view, const io::Image& file, const Options& options) {
    const Validity all;
    const auto pixels = static_cast<std::uint64_t>(view.pixels());
    const std::uint64_t valid =
        options.masks.empty() && !view.mask && !(options.nodata_of_file && file.nodata) && options.validity == all ? 0
        : traits_of(view.depth).floating ? pixels * static_cast<std::uint64_t>(view.channels) * sample_bytes(view.depth)
                                         : 2 * pixels;  // as floats with NaN, or masks
    const std::uint64_t tables = traits_of(view.depth).counting == Counting::sorted ? sorting_bytes(view) : 0;
    const bool parts = view.channels == 2 || view.channels > 4;
    return valid + tables + (parts ? 6 * static_cast<std::uint64_t>(view.pixels()) * sample_bytes(view.depth) : 0);
}

Measurer::Measurer(const Options& options, OutputDirectory& output, EnginePool& engines, JpegPool& jpegs,
                   MemoryBudget& budget, const Sinks& sinks, StageTimes& times, bool single, int threads)
    : options_(options),
      files_(options, output, single),
      masks_(options.masks, "mask"),
      outlines_(io::is_outlines_name(options.rectangles_from) ? options.rectangles_from : "", "file of regions"),
      companion_stamps_(options.shard.has_value()),
      rectangles_(options.rectangles_from.empty() || outlines_.any()
                      ? std::map<std::string, std::vector<Rectangle>>()
                      : read_data([&] { return read_rectangles(options.rectangles_from); })),
      engines_(engines),
      jpegs_(jpegs),
      budget_(budget),
      sinks_(sinks),
      times_(times),
      single_(single),
      threads_of_image_(single ? threads : 1) {
    take_memory_from(std::make_unique<PinnedPool>(0, -1));
    for (const LabelMap& map : parse_label_maps(options.labels)) labels_.emplace_back(map);
}

Stamp Measurer::stamp_of(const Input& input) const {
    std::vector<std::string> companions;
    if (const auto path = masks_.own_path_of(input)) companions.push_back(*path);
    if (const auto path = outlines_.own_path_of(input)) companions.push_back(*path);
    for (const Labels& one : labels_)
        if (const auto path = one.images.own_path_of(input)) companions.push_back(*path);
    Stamp stamp = app::stamp_of(input);
    companion_stamps_.add(companions, stamp);
    return stamp;
}

void Measurer::reuse_memory(std::size_t bytes) {
    take_memory_from(std::make_unique<PinnedPool>(bytes, -1));
    reuses_memory_ = true;
    file_memory_.keep(bytes / 4);
}

void Measurer::take_memory_from(std::unique_ptr<PinnedPool> pool) {
    pixel_memory_ = std::move(pool);
    allocator_ = std::make_unique<io::PinnedAllocator>(*pixel_memory_);
}

void Measurer::measure(Batch& batch) {
    ++in_flight_;
    if (reuses_memory_ && engines_.on_gpu()) pixel_memory_->pin_for(options_.gpus_used().front());
    StageTimes times;
    {
        StageClock clock(times, Stage::read);
        Images images(*this, clock);
        for (Outcome& outcome : batch) {
            if (outcome.left_out || images.ended()) continue;
            if (outcome.input.failure)
                outcome.failure = failure_of(*outcome.input.failure);
            else
                images.read(outcome);
        }
        images.end();
    }
    times_.add(times);
    --in_flight_;
}

/// Reads and decodes, once there is memory for it beside what is held. An image of which there is no copy, and that is
/// larger than the memory, is measured on the way.
void Measurer::read(Image& image, std::uint64_t held, MemoryBudget::Share& share, StageClock& clock) {
    const Input& input = image.outcome->input;
    const bool normalized = image.writes.normalized;
    io::DecodeOptions decode = decoding();
    decode.allocator = allocator_.get();
    options_.set(decode);
    decode.metadata = normalized;
    static const std::uint64_t machine_memory = available_memory();
    decode.page = input.page;
    decode.pages = input.pages;
    const bool once = !options_.linked || single_;  // what a pipe brings is gone
    decode.max_pipe_bytes = once && !input.found ? budget_.limit() : 0;
    auto begun = std::chrono::steady_clock::now();
    decode.admit = [&](std::uint64_t file_bytes, std::uint64_t pixel_bytes) {
        if (file_bytes > machine_memory)
            throw IoError(
                input.path + ": its " + std::to_string(file_bytes) + " bytes are more than the memory of this machine",
                IoError::Kind::memory);
        clock.enter(Stage::memory);
        share.require(held + file_bytes + pixel_bytes * (1 + (normalized ? most_copies() : 0)));
        clock.enter(pixel_bytes > 0 ? Stage::decode : Stage::read);
        begun = std::chrono::steady_clock::now();
    };
    InStrips in_strips(*this, image, share, clock);
    io::Strips strips;
    strips.whole_bytes = [&](const io::StripFacts& facts) { return whole_bytes(facts); };
    strips.strip_bytes = strip_bytes();
    strips.max_pixels = options_.max_pixels_in_strips;
    strips.refusal = [&](const io::StripFacts& facts) { return no_strips(facts, normalized); };
    strips.take = [&](const io::Image& strip, std::uint64_t row) { in_strips.take(strip, row); };
    strips.again = [&] { return in_strips.again(); };
    decode.strips = &strips;
    std::optional<JpegImage> jpeg;  // left encoded
    FileMemory::Bytes memory;
    if (jpegs_.may_work() && !options_.space) {
        decode.leave_encoded = [&](const std::vector<unsigned char>& bytes) {
            jpeg = JpegDecoder::inspect({bytes.data(), bytes.size()});
            if (!jpeg->reason.empty()) return false;
            if (!jpegs_.works()) {
                clock.enter(Stage::engine);
                engines_.wait_for_gpu(jpeg->view.pixels());
                clock.enter(Stage::decode);
                begun = std::chrono::steady_clock::now();
            }
            return jpegs_.works();
        };
        memory = file_memory_.take();
        decode.encoded_memory = &memory;
    }
    const std::string& file = input.file_path();
    if (options_.by_opencv && !input.bytes)
        image.file = read_by_opencv(input, decode);
    else
        image.file = input.bytes            ? io::decode_image(*input.bytes, file, decode)
                     : input.standard_input ? io::read_image(STDIN_FILENO, file, decode)
                                            : io::read_image(file, decode);
    image.outcome->input.bytes.reset();
    file_memory_.give_back(std::move(memory));
    if (image.file.format == jpeg_format)
        image.decode_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    if (image.left_encoded()) {
        image.view = jpeg->view;
        image.view.width = static_cast<std::int64_t>(image.file.width);
        image.view.height = static_cast<std::int64_t>(image.file.height);
        image.view.row_bytes = image.view.packed_row_bytes();
        image.view.memory = Memory::host;
    } else if (image.in_strips) {
        image.view.width = static_cast<std::int64_t>(image.file.width);
        image.view.height = static_cast<std::int64_t>(image.file.height);
    } else {
        divide_by_alpha(options_.validity, image.file);
        image.view = io::masked_view(image.file);
        image.masked_by_file = image.view.mask != nullptr;
    }
}

/// Decodes an image that was left encoded.
void Measurer::decode_left(Image& image, std::uint64_t held, MemoryBudget::Share& share) const {
    const Input& input = image.outcome->input;
    const io::Image left = std::move(image.file);
    io::DecodeOptions decode = decoding();
    decode.allocator = allocator_.get();
    decode.admit = [&](std::uint64_t file_bytes, std::uint64_t pixel_bytes) {
        share.require(held + file_bytes + pixel_bytes * (1 + (image.writes.normalized ? most_copies() : 0)));
    };
    const std::string page = left.page > 0 ? '#' + std::to_string(left.page) : "";
    image.file = io::decode_image(left.encoded, input.file_path() + page, decode);
    image.file.named = left.named;
    image.file.pages = left.pages;
    image.file.page = left.page;
    image.view.data = image.file.pixels.data;
    image.view.row_bytes = io::view(image.file).row_bytes;
}

bool Measurer::needs_pixels(const Image& image) const {
    return image.writes.normalized || masks_.any() || options_.regions_asked() ||
           !options_.measures.of_pixels().empty() || !options_.measures.of_pixels(true).empty();
}

/// Bytes of pixels up to which an image is in memory whole: more where it would be decoded several times. A single
/// image whose f32 samples are not compressed is read several times instead: new memory for it would take longer.
std::uint64_t Measurer::whole_bytes(const io::StripFacts& facts) const {
    const std::uint64_t most = budget_.limit() / 2;
    if (traits_of(facts.depth).counting != Counting::bins) return std::min<std::uint64_t>(most, 1 << 28);
    return facts.stored && single_ && !engines_.may_use_gpu() ? std::min<std::uint64_t>(most, 1 << 25) : most;
}

/// Reason why an image is not measured in strips, or nothing.
std::string Measurer::no_strips(const io::StripFacts& facts, bool copied) const {
    const DepthTraits& depth = traits_of(facts.depth);
    if (options_.engine == "cuda" && depth.counting != Counting::values)
        return std::string("engine cuda needs ") + depth.name + " in one piece";
    if (options_.regions_asked()) return "its regions are measured";
    if (masks_.any() && facts.turned) return "it is stored rotated, but its mask is not";
    if (!copied) return {};
    const std::string copy = "its normalized copy ";
    if (facts.turned) return copy + "must be rotated";
    if (options_.space) return copy + "is made in a color space";
    if (facts.bands) return copy + "has bands";
    if (options_.copy_size > 0) return copy + "must be shrunk";
    if (luts_) return {};
    const NormalizeMode mode = options_.normalization.mode;
    if (!needs_whole(facts.depth, options_.normalization)) return {};
    if (depth.counting == Counting::sorted) return copy + "is made from " + depth.name;
    if (needs_places(options_.normalization)) return copy + "by " + to_string(mode) + " needs all pixels at once";
    return copy + "by " + to_string(mode) + " counts " + depth.name + " once more";
}

/// Gives the analysis the names and the white of the file.
void Measurer::name(Image& image, const io::Image& file) const {
    // One table for a set is made for gray, whatever the channel of a microscope is called.
    const bool one_table = options_.linked || !options_.tables_to.empty() || luts_;
    const bool gray = one_table && file.samples == Samples::color;
    name_channels(image.analysis, file.samples, gray ? std::vector<std::string>() : file.bands);
    image.analysis.white = options_.white && !options_.space ? *options_.white : file.white;
}

/// Returns whether the values of an f32 image are counted: for a set, for callers that keep them, for robust numbers,
/// and for pictures that need them.
bool Measurer::needs_values(const Image& image) const {
    const bool drawn = image.writes.plot || options_.table_of(image.outcome->input);
    return summed_ || values_kept_ || options_.robust ||
           (drawn && io::plot_needs_values(image.analysis, options_.plots.range));
}

/// Facts about an image that was analyzed.
io::ImageInfo Measurer::info_of(const Image& image) const {
    const io::PixelSize size = image.file.pixel_size.value_or(io::PixelSize());
    return {image.outcome->input.path,
            image.view.width,
            image.view.height,
            image.view.depth,
            image.analysis.white,
            io::to_string(image.file.alpha),
            io::to_string(image.file.damage),
            image.file.pages,
            size.width,
            size.height,
            size.unit};
}

/// Files that are written about an input in this pass.
Writes Measurer::writes_of(Outcome& outcome) const {
    Writes writes = options_.writes_of(outcome.input);
    if (outcome.names != Names::own) {
        if (outcome.names == Names::taken && pass_ == 1)
            outcome.not_written.push_back(
                {"output", outcome.input.path +
                               ": its files are not written: an earlier input with another path has files "
                               "called " +
                               outcome.input.output_name});
        writes = {writes.stats, false, false, false};
    }
    if (pass_ == 2) return {false, false, false, writes.normalized};
    if (options_.linked && !single_) writes.normalized = false;
    return writes;
}

/// Sets the request for the engine.
void Measurer::prepare(Image& image) const {
    if (const DepthTraits& depth = traits_of(image.view.depth); depth.floating && options_.histogram.bins == 0)
        throw InvalidArgument("--bins full is one bin per value, which " + std::string(depth.name) +
                              " does not have: give --bins N");
    image.request = options_.without_rules();
    image.request.detail = detail_;
    if (pass_ == 2) image.request.measures = {};  // they are known from the first
    image.request.validity = validity_of(image);
    if (!image.writes.normalized) return;
    if (const std::string why = no_copy(image.file, image.view.depth); !why.empty()) leave_out_copy(image, why);
}

/// Reads the mask of an image, once there is memory for it.
void Measurer::read_mask(Image& image, MemoryBudget::Share& share) const {
    if (!masks_.any()) return;
    io::DecodeOptions decode = decoding();
    const std::uint64_t held = share.bytes(), pixels = static_cast<std::uint64_t>(image.view.pixels());
    decode.admit = [&](std::uint64_t file_bytes, std::uint64_t pixel_bytes) {
        share.require(held + pixels + file_bytes + pixel_bytes);
    };
    const io::Image mask =
        masks_.read(image.outcome->input, {image.view.width, image.view.height, image.file.pages}, decode);
    image.mask = mask_of(mask);
    if (mask.zero_is_white) image.outcome->remarks.push_back(remark_on_white_mask());
    intersect(image.view, image.mask.data());
    share.require(held + pixels);
}

std::shared_ptr<const Validity> Measurer::validity_of(Image& image) const {
    Validity validity = options_.validity;
    const Depth depth = image.view.depth;
    if (options_.nodata_of_file) {
        std::string problem;
        if (const auto value = nodata_of(image.file, problem)) validity.nodata.push_back({std::nullopt, *value});
        if (!problem.empty()) image.outcome->remarks.push_back({"nodata tag", problem + ": no sample has it"});
    }
    const auto check = [&](double value) {
        if (nodata_in(depth, value)) return;
        image.outcome->remarks.push_back({"nodata", "--nodata " + io::shortest(value) + " is not a value of " +
                                                        to_string(depth) + " samples: no sample has it"});
    };
    for (const auto& [channel, value] : options_.validity.nodata) check(value);
    for (const auto& [band, value] : options_.validity.nodata_of_bands) check(value);
    const std::vector<std::string> names = names_of_samples(image.view, image.file.bands);
    image.outcome->add(remarks_on_rules(options_.validity, names));
    validity = rules_for(image.view, names, validity);
    set_weight(validity, image.file);
    if (validity == Validity()) return nullptr;
    return std::make_shared<const Validity>(std::move(validity));
}

/// Counts the samples that are excluded because the file declares it. If another rule may exclude the same samples, a
/// remark says that both do.
void Measurer::count_excluded_by_file(Image& image) const {
    const Validity& rules = options_.validity;
    std::string problem;
    const bool tag = options_.nodata_of_file && nodata_of(image.file, problem);
    std::uint64_t nodata = 0, masked = 0;
    for (const ChannelAnalysis& channel : image.analysis.channels) {
        if (channel.channel == Channel::luma || channel.channel == Channel::alpha) continue;
        nodata += tag ? channel.nodata : 0;
        masked += image.masked_by_file ? channel.masked : 0;
    }
    const bool alone = (nodata == 0 || (rules.nodata.empty() && rules.nodata_of_bands.empty() && rules.valid.empty() &&
                                        rules.valid_of_bands.empty())) &&
                       (masked == 0 || (!masks_.any() && !traits_of(rules.alpha).excludes));
    if (alone)
        image.outcome->excluded_by_file = nodata + masked;
    else
        image.outcome->remarks.push_back(
            {"nodata of files", "the file's own nodata and mask are excluded too: --nodata none includes them"});
}

/// The engine's task: to analyze the image, and to normalize it where that is asked.
Task Measurer::task_of(Image& image) const {
    Task task;
    Job& job = task.job;
    job.image = image.view;
    job.result = &image.analysis;
    job.request = image.request;
    task.decode_seconds = image.decode_seconds;
    if (image.writes.normalized && !luts_) ask_for_copy(image, job);
    return task;
}

void Measurer::write_results(Image& image, StageClock& clock) const {
    Outcome& outcome = *image.outcome;
    const Input& input = outcome.input;
    const Writes& writes = image.writes;
    if (writes.normalized && !image.in_strips) {
        clock.enter(Stage::analyze);
        try {
            if (luts_) apply_luts(image);
            if (image.file.colors) restore_colors(image);
            reduce(image);
            form_copy(image);
        } catch (const InvalidArgument& error) {
            leave_out_copy(image, error.what());
        }
    }
    image.file.pixels.release();
    image.file.mask.release();
    if (pass_ == 2) {
        clock.enter(Stage::write);
        outcome.files = files_.write(outcome, writes, {}, {}, image.copy, image.file.samples);
        return;
    }

    clock.enter(Stage::analyze);
    io::ImageResult& result = outcome.result;
    result.index = input.index;
    result.info = info_of(image);
    result.rows = statistics(image.analysis, options_.statistics(), image.values);
    if (!options_.measures.empty()) result.measures = measure_values(image.analysis);
    if (options_.keep_image_counts) result.counts = io::image_counts(image.analysis, image.values);
    outcome.add(remarks_on(result, options_.white));
    count_excluded_by_file(image);
    const bool table = options_.table_of(input);
    Histogram histogram;
    if (writes.histogram) histogram = gpuhist::histogram(image.analysis, options_.histogram);
    std::vector<io::PlotPanel> panels(1);  // one, which is empty where nothing is drawn
    io::PlotPanel& panel = panels.front();
    if (writes.plot || table) panel = io::plot_panel(image.analysis, result.rows, options_.plots.range, image.values);
    clock.enter(Stage::write);
    outcome.files = files_.write(outcome, writes, histogram, panel, image.copy, image.file.samples);
    std::string written;
    for (const std::string& suffix : outcome.files)
        written += (written.empty() ? (options_.output / input.output_name).string() : " ") + suffix;
    outcome.formatted = sinks_.format(io::record_of(result));
    if (!options_.measures.empty()) outcome.formatted += sinks_.format(io::quality_of(result));
    if (options_.keep_image_counts) outcome.formatted += sinks_.format(io::counts_of(result));
    if (table)
        outcome.table = format_table(heading_of(result, options_.style), result.rows, panels, written, options_.style);
}

}  // namespace gpuhist::app
