#include "run/image_task.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/plot.hpp"
#include "run/image_batch.hpp"
#include "run/image_strips.hpp"
#include "run/interruption.hpp"
#include "run/remarks.hpp"
#include "run/weights.hpp"

namespace gpuhist::app {

std::uint64_t analysis_bytes(const ImageView& view, const Options& options) {
    const Validity all;
    const auto pixels = static_cast<std::uint64_t>(view.pixels());
    const std::uint64_t valid =
        options.masks.empty() && !view.mask && !options.nodata_of_file && options.validity == all ? 0
        : traits_of(view.depth).floating ? pixels * static_cast<std::uint64_t>(view.channels) * sample_bytes(view.depth)
                                         : 2 * pixels;  // as floats with NaN, or masks
    const std::uint64_t tables = traits_of(view.depth).counting == Counting::sorted ? sorting_bytes(view) : 0;
    const bool parts = view.channels == 2 || view.channels > 4;
    return valid + tables + (parts ? 6 * static_cast<std::uint64_t>(view.pixels()) * sample_bytes(view.depth) : 0);
}

Measurer::Measurer(const Options& options, OutputDirectory& output, EnginePool& engines, MemoryBudget& budget,
                   const Sinks& sinks, StageTimes& times, bool single, int threads)
    : options_(options),
      files_(options, output, single),
      masks_(options.masks, "mask"),
      labels_(options.labels, "label image"),
      rectangles_(options.rectangles_from.empty() ? std::map<std::string, std::vector<Rectangle>>()
                                                  : read_rectangles(options.rectangles_from)),
      engines_(engines),
      budget_(budget),
      sinks_(sinks),
      times_(times),
      single_(single),
      threads_of_copy_(single ? threads : 1) {}

void Measurer::reuse_memory(std::size_t bytes) {
    pixel_memory_ = std::make_unique<PinnedPool>(bytes, -1);
    allocator_ = std::make_unique<io::PinnedAllocator>(*pixel_memory_);
}

void Measurer::measure(Batch& batch) {
    ++in_flight_;
    if (pixel_memory_ && engines_.on_gpu()) pixel_memory_->pin_for(options_.engine_options.gpu);
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
    io::DecodeOptions decode = options_.decode;
    decode.allocator = allocator_.get();
    static const std::uint64_t machine_memory = available_memory();
    decode.page = input.page;
    decode.pages = input.pages;
    const bool once = !options_.linked || single_;  // what a pipe brings is gone
    decode.max_pipe_bytes = once && !input.found ? budget_.limit() : 0;
    decode.while_reading = end_if_interrupted;
    decode.admit = [&](std::uint64_t file_bytes, std::uint64_t pixel_bytes) {
        if (file_bytes > machine_memory)
            throw IoError(
                input.path + ": its " + std::to_string(file_bytes) + " bytes are more than the memory there is",
                IoError::Kind::memory);
        clock.enter(Stage::memory);
        share.require(held + file_bytes + pixel_bytes * (1 + (normalized ? most_copies() : 0)));
        clock.enter(pixel_bytes > 0 ? Stage::decode : Stage::read);
    };
    InStrips in_strips(*this, image, share, clock);
    io::Strips strips;
    strips.whole_bytes = [&](Depth depth) { return whole_bytes(depth); };
    strips.strip_bytes = strip_bytes();
    strips.max_pixels = options_.max_pixels_in_strips;
    strips.refusal = [&](const io::StripFacts& facts) { return no_strips(facts, normalized); };
    strips.take = [&](const io::Image& strip, std::uint64_t row) { in_strips.take(strip, row); };
    strips.again = [&] { return in_strips.again(); };
    decode.strips = &strips;
    const std::string& file = input.file_path();
    image.file = input.standard_input ? io::read_image(STDIN_FILENO, file, decode) : io::read_image(file, decode);
    if (image.in_strips) {
        image.view.width = static_cast<std::int64_t>(image.file.width);
        image.view.height = static_cast<std::int64_t>(image.file.height);
    } else {
        image.view = io::masked_view(image.file);
    }
}

/// Bytes of pixels up to which an image is in memory whole: more where it would be decoded several times.
std::uint64_t Measurer::whole_bytes(Depth depth) const {
    const std::uint64_t most = budget_.limit() / 2;
    return traits_of(depth).counting == Counting::bins ? most : std::min<std::uint64_t>(most, 1 << 28);
}

/// Reason why an image is not measured in strips, or nothing.
std::string Measurer::no_strips(const io::StripFacts& facts, bool copied) const {
    const DepthTraits& depth = traits_of(facts.depth);
    if (options_.engine == "cuda" && depth.counting != Counting::values)
        return std::string("engine cuda measures ") + depth.name + " whole";
    if (options_.regions_asked()) return "its regions are measured";
    if (masks_.any() && facts.turned) return "its mask lies as it is shown, and it is stored otherwise";
    if (!copied) return {};
    const std::string copy = "a normalized copy is made of it, and ";
    if (facts.turned) return copy + "it is to be turned";
    if (facts.bands) return copy + "it has bands";
    if (options_.copy_size > 0) return copy + "that is to be made smaller";
    if (luts_) return {};
    const NormalizeMode mode = options_.normalization.mode;
    if (!needs_whole(facts.depth, mode)) return {};
    if (depth.counting == Counting::sorted) return copy + "it is of " + depth.name;
    if (traits_of(mode).by_place) return copy + to_string(mode) + " needs its pixels together";
    return copy + to_string(mode) + " counts " + depth.name + " once more";
}

/// Says of the analysis what the file says.
void Measurer::name(Image& image, const io::Image& file) const {
    name_channels(image.analysis, file.samples);
    image.analysis.white = options_.white.value_or(file.white);
}

/// Whether the values of an f32 image are counted: for a set, for whoever keeps them, and for pictures that need them.
bool Measurer::needs_values(const Image& image) const {
    const bool drawn = image.writes.plot || options_.table_of(image.outcome->input);
    return summed_ || values_kept_ || (drawn && io::plot_needs_values(image.analysis, options_.plots.range));
}

/// Facts about an image that was analyzed.
io::ImageInfo Measurer::info_of(const Image& image) const {
    return {image.outcome->input.path,
            image.view.width,
            image.view.height,
            image.view.depth,
            image.analysis.white,
            io::to_string(image.file.alpha),
            io::to_string(image.file.damage),
            image.file.bands,
            image.file.pages};
}

/// Files that are written about an input in this pass.
Writes Measurer::writes_of(Outcome& outcome) const {
    Writes writes = options_.writes_of(outcome.input);
    if (outcome.names != Names::own) {
        if (outcome.names == Names::taken && pass_ == 1)
            outcome.not_written.push_back(
                {"output", outcome.input.path +
                               ": its files are not written, an input before it, of another path, has "
                               "theirs under the name " +
                               outcome.input.output_name});
        writes = {writes.stats, false, false, false};
    }
    if (pass_ == 2) return {false, false, false, writes.normalized};
    if (options_.linked && !single_) writes.normalized = false;
    return writes;
}

/// Sets what is asked of the engine.
void Measurer::prepare(Image& image) const {
    if (const DepthTraits& depth = traits_of(image.view.depth); depth.floating && options_.histogram.bins == 0)
        throw InvalidArgument("--bins full is one bin per value, which " + std::string(depth.name) +
                              " does not have: give --bins N");
    image.request = options_.without_rules();
    image.request.detail = detail_;
    if (pass_ == 2) image.request.measures = {};  // they are known from the first
    image.request.validity = validity_of(image);
}

/// Reads the mask of an image, once there is memory for it.
void Measurer::read_mask(Image& image, MemoryBudget::Share& share) const {
    if (!masks_.any()) return;
    io::DecodeOptions decode = options_.decode;
    const std::uint64_t held = share.bytes(), pixels = static_cast<std::uint64_t>(image.view.pixels());
    decode.admit = [&](std::uint64_t file_bytes, std::uint64_t pixel_bytes) {
        share.require(held + pixels + file_bytes + pixel_bytes);
    };
    image.mask =
        mask_of(masks_.read(image.outcome->input, image.view.width, image.view.height, image.file.pages, decode));
    intersect(image.view, image.mask.data());
    share.require(held + pixels);
}

std::shared_ptr<const Validity> Measurer::validity_of(Image& image) const {
    Validity validity = options_.validity;
    const Depth depth = image.view.depth;
    if (options_.nodata_of_file) {
        std::string problem;
        if (const auto value = nodata_of(image.file, problem)) validity.nodata.push_back({std::nullopt, *value});
        if (!problem.empty()) image.outcome->remarks.push_back({"nodata tag", problem + ": no sample is it"});
    }
    for (const auto& [channel, value] : options_.validity.nodata) {
        if (nodata_in(depth, value)) continue;
        const std::string text = "--nodata " + io::shortest(value) + " is no value of " + to_string(depth) + " samples";
        if (single_) throw InvalidArgument(text);
        image.outcome->remarks.push_back({"nodata", text + ": nothing is it"});
    }
    set_weight(validity, image.file);
    if (validity == Validity()) return nullptr;
    return std::make_shared<const Validity>(std::move(validity));
}

/// The engine's task: to analyze the image, and to normalize it where that is asked.
Task Measurer::task_of(Image& image) const {
    Task task;
    Job& job = task.job;
    job.image = image.view;
    job.result = &image.analysis;
    job.request = image.request;
    if (image.writes.normalized && !luts_) ask_for_copy(image, job);
    return task;
}

void Measurer::write_results(Image& image, StageClock& clock) const {
    Outcome& outcome = *image.outcome;
    const Input& input = outcome.input;
    const Writes& writes = image.writes;
    if (writes.normalized && !image.in_strips) {
        clock.enter(Stage::analyze);
        if (luts_) apply_luts(image);
        reduce(image.copy.pixels, image.copy.depth, image.file);
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
    result.rows = statistics(image.analysis, options_.percentiles);
    result.measured = image.analysis.measured;
    outcome.add(remarks_on(result, options_.white));
    const bool table = options_.table_of(input);
    Histogram histogram;
    if (writes.histogram) histogram = gpuhist::histogram(image.analysis, options_.histogram);
    std::vector<io::PlotPanel> panels(1);  // one, which is empty where nothing is drawn
    io::PlotPanel& panel = panels.front();
    if (writes.plot || table) {
        panel = io::plot_panel(image.analysis, result.rows, options_.plots.range, image.values);
        panel.bands = result.info.bands;
    }
    clock.enter(Stage::write);
    outcome.files = files_.write(outcome, writes, histogram, panel, image.copy, image.file.samples);
    std::string written;
    for (const std::string& suffix : outcome.files)
        written += (written.empty() ? (options_.output / input.output_name).string() : " ") + suffix;
    const Formatted regions = std::exchange(outcome.formatted, sinks_.format(io::record_of(result)));
    if (!options_.measures.empty()) outcome.formatted += sinks_.format(io::quality_of(result));
    outcome.formatted += regions;
    if (table)
        outcome.table = format_table(heading_of(result, options_.style), result.rows, panels, written, options_.style);
}

}  // namespace gpuhist::app
