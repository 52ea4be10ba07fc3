#include "run/image_task.hpp"

#include <oneapi/tbb/parallel_for.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <iterator>
#include <limits>
#include <opencv2/core.hpp>
#include <optional>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/io/plot.hpp"
#include "gpuhist/reduce.hpp"
#include "gpuhist/regions.hpp"
#include "run/interruption.hpp"
#include "run/remarks.hpp"
#include "run/set_summary.hpp"
#include "run/weights.hpp"

namespace gpuhist::app {
namespace {

/// Runs a step of the work for an input. Returns whether it went well; else the outcome says why it did not.
template <class Step>
bool attempt(Outcome& outcome, Step step) {
    const std::string& path = outcome.input.path;
    try {
        step();
        return true;
    } catch (const OutOfMemory&) {  // smaller images may still fit
        outcome.failure = current_failure(path);
    } catch (const CudaError&) {
        outcome.end = current_failure(path);
        outcome.engine_ended = true;
    } catch (const Interrupted&) {
        outcome.interrupted = true;
    } catch (const EngineUnavailable& error) {
        outcome.end = Failure{"engine", error.what()};
        outcome.engine_ended = true;
    } catch (...) {
        outcome.failure = current_failure(path);
    }
    return false;
}

void add(Outcome& outcome, std::vector<Remark> remarks) {
    std::move(remarks.begin(), remarks.end(), std::back_inserter(outcome.remarks));
}

/// Reason why the engine makes no normalised copy of an image, or nothing: bands have no luma.
std::string no_copy(const io::Image& file, const Normalization& normalization) {
    const bool bands = file.samples == Samples::bands || file.samples == Samples::color_bands;
    if (bands && file.pixels.channels() > 1 && normalization.joint && traits_of(normalization.mode).joint_by_luma)
        return std::string("by ") + to_string(normalization.mode) +
               " of bands together, which have no luma: give --channels separate";
    return {};
}

/// Memory of an analysis beside pixels and counts: of samples that are sorted, and of parts of an image, up to three
/// channels and their copy, where it has other than 1, 3 or 4; and of which samples count.
std::uint64_t analysis_bytes(const ImageView& view, const Options& options) {
    const Validity all;
    const auto pixels = static_cast<std::uint64_t>(view.pixels());
    const std::uint64_t valid = options.masks.empty() && !options.nodata_of_file && options.validity == all ? 0
                                : traits_of(view.depth).floating
                                    ? pixels * static_cast<std::uint64_t>(view.channels) * sample_bytes(view.depth)
                                    : 2 * pixels;  // as floats with NaN, or masks
    const std::uint64_t tables = traits_of(view.depth).counting == Counting::sorted ? sorting_bytes(view) : 0;
    const bool parts = view.channels == 2 || view.channels > 4;
    return valid + tables + (parts ? 6 * static_cast<std::uint64_t>(view.pixels()) * sample_bytes(view.depth) : 0);
}

/// Bytes of small images that wait, and of sums of groups in memory.
constexpr std::uint64_t most_held = std::uint64_t{1} << 22;

}  // namespace

Measurer::Measurer(const Options& options, OutputDirectory& output, EnginePool& engines, MemoryBudget& budget,
                   const Sinks& sinks, StageTimes& times, bool single, int threads)
    : options_(options),
      files_(options, output, single),
      masks_(options.masks, "mask"),
      labels_(options.labels, "label image"),
      rectangles_(options.rectangles_from.empty() ? std::map<std::string, std::vector<Rectangle>>()
                                                  : read_rectangles(options.rectangles_from)),
      region_rows_(options.percentiles),
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

/// Findings in a region that wait for their group of the set.
struct PooledRegion {
    std::string name;
    Analysis analysis;
    std::vector<FrequencyTable> values;

    std::uint64_t memory_bytes() const {
        std::uint64_t bytes = sizeof *this;
        for (const ChannelAnalysis& one : analysis.channels)
            bytes += sizeof one + one.counts.capacity() * sizeof one.counts[0] + one.values.memory_bytes();
        for (const FrequencyTable& one : values) bytes += sizeof one + one.memory_bytes();
        return bytes;
    }
};

/// An image from reading to writing.
struct Measurer::Image {
    Outcome* outcome;
    Writes writes;
    io::Image file{};  ///< what was read
    ImageView view{};  ///< of its pixels
    Copy copy{};
    AnalysisRequest request{};
    Analysis analysis{};
    std::vector<FrequencyTable> values{};  ///< for a summary, of f32 for a picture too
    std::vector<std::uint8_t> mask{};      ///< of its pixels, where there is one
    std::vector<PooledRegion> regions{};   ///< for a set by regions: those that are in memory
    std::vector<std::pair<std::string, io::StoredSummary>> stored_regions{};  ///< and the others
    bool in_strips = false;  ///< it came so: all that is done with pixels is done

    /// Bytes of its pixels and counts: those of a small image of 16 bits are the larger part.
    std::uint64_t bytes(const Options& options) const {
        const std::uint32_t bins = options.histogram.bins;
        const DepthTraits& depth = traits_of(view.depth);
        const std::uint64_t counts = depth.counting == Counting::bins ? bins : depth.values;
        const auto rows = static_cast<std::uint64_t>(view.channels == 1 ? 1 : view.channels + 1);
        return static_cast<std::uint64_t>(view.packed_row_bytes() * view.height) + rows * counts * 8 +
               analysis_bytes(view, options) + mask.size();
    }
    /// Puts the mask in a view of rows from this one on.
    ImageView masked(ImageView rows, std::uint64_t first) const {
        if (mask.empty()) return rows;
        rows.mask = mask.data() + first * static_cast<std::uint64_t>(view.width);
        rows.mask_row_bytes = view.width;
        return rows;
    }
};

/// Images of a batch that is being measured. Small ones wait, since an engine is better asked for many at once.
class Measurer::Images {
  public:
    Images(Measurer& measurer, StageClock& clock) : measurer_(measurer), clock_(clock), share_(measurer.budget_) {}

    void read(Outcome& outcome) {
        Image image{&outcome, measurer_.writes_of(outcome)};
        if (measurer_.pass_ == 2 && !image.writes.normalized) return;
        clock_.enter(Stage::read);
        const bool done = attempt(outcome, [&] {
            if (!spare_.empty()) {
                image.analysis = std::move(spare_.back());
                spare_.pop_back();
            }
            measurer_.read(image, held_, share_, clock_);
            const std::uint64_t more = image.in_strips ? 0 : analysis_bytes(image.view, measurer_.options_);
            if (more > 0) share_.require(share_.bytes() + more);
            if (!image.in_strips) {
                measurer_.read_mask(image, share_);
                measurer_.prepare(image);
            }
            add(outcome, remarks_on(image.file));
            outcome.pixels = static_cast<std::uint64_t>(image.view.pixels());
        });
        ended_ = ended_ || outcome.ends_run();
        if (!done) return;
        const bool small = EnginePool::is_small(image.view);
        if (!small) finish();
        held_ += image.bytes(measurer_.options_);
        waiting_.push_back(std::move(image));
        if (!small || held_ >= most_held) finish();
    }

    /// Finishes all that were read.
    void finish() {
        if (measurer_.pass_ == 1) analyze();
        for (Image& image : waiting_) {
            Outcome& outcome = *image.outcome;
            if (!outcome.failure && !outcome.ends_run())
                attempt(outcome, [&] {
                    count_values_of(image);
                    if (outcome.end) return;
                    if (measurer_.pass_ == 1 && measurer_.options_.regions_asked())
                        measurer_.measure_regions(image, share_, clock_);
                    if (outcome.end) return;
                    measurer_.write_results(image, clock_);
                    if (!outcome.end) add_up(image);
                });
            for (const auto& [name, stored] : image.stored_regions)  // of an image that failed
                measurer_.values_->give_back(stored.place, stored.bytes);
            ended_ = ended_ || outcome.ends_run();
            if (measurer_.kept_) {
                outcome.analysis = std::move(image.analysis);
                outcome.values = std::move(image.values);
            } else {
                spare_.push_back(std::move(image.analysis));
            }
        }
        waiting_.clear();
        held_ = 0;
    }

    /// Tells whether one of them ends the run.
    bool ended() const { return ended_; }

    /// Finishes all, and gives their summaries to the last.
    void end() {
        finish();
        give_summaries();
    }

  private:
    void analyze() {
        std::vector<Task> tasks;
        std::vector<Image*> images;
        for (Image& image : waiting_) {
            if (image.in_strips) continue;
            attempt(*image.outcome, [&] {
                tasks.push_back(measurer_.task_of(image));
                images.push_back(&image);
            });
        }
        measurer_.engines_.run(tasks, measurer_.in_flight_ == 1, clock_);
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            Image& image = *images[i];
            image.outcome->engine = tasks[i].engine;
            attempt(*image.outcome, [&] {
                if (const auto& error = tasks[i].job.error) std::rethrow_exception(error);
                measurer_.name(image, image.file);
                if (const auto& normalization = tasks[i].job.normalization)
                    add(*image.outcome,
                        remarks_on_copy(image.analysis, *normalization, measurer_.options_.copies_asked()));
            });
        }
    }

    void count_values_of(Image& image) {
        const Counting counting = traits_of(image.view.depth).counting;
        if (measurer_.pass_ == 2 || counting == Counting::values) return;
        if (counting == Counting::sorted) return store_values_of(image);
        if (image.in_strips || !measurer_.needs_values(image)) return;
        clock_.enter(Stage::memory);
        const std::uint64_t before = share_.bytes();
        share_.require(before + counting_bytes(image.view));
        clock_.enter(Stage::analyze);
        try {
            image.values = count_frequencies(image.view, measurer_.values_, image.request, image.file.samples);
        } catch (const IoError& error) {
            image.outcome->end = failure_of(error);  // of the file of values, which others need as well
        }
        share_.require(before);
    }

    /// Brings the values of a set's image to the file of values.
    void store_values_of(Image& image) {
        if (!measurer_.summed_) return;
        clock_.enter(Stage::analyze);
        try {
            for (const ChannelAnalysis& channel : image.analysis.channels)
                image.values.push_back(channel.values.merged(measurer_.values_));
        } catch (const IoError& error) {
            image.outcome->end = failure_of(error);  // of the file of values, which others need as well
        }
    }

    void add_up(Image& image) {
        if (!measurer_.summed_ || measurer_.pass_ == 2) return;
        clock_.enter(Stage::analyze);
        if (last_ && std::any_of(last_ + 1, image.outcome,
                                 [](const Outcome& between) { return between.failure || between.ends_run(); }))
            give_summaries();
        if (!first_) first_ = image.outcome;
        try {
            const GroupBy by = measurer_.options_.group_by;
            if (by == GroupBy::directory) add_to(image.outcome->input.group, image.analysis, image.values);
            if (by == GroupBy::region) {
                for (const PooledRegion& one : image.regions) add_to(one.name, one.analysis, one.values);
                std::move(image.stored_regions.begin(), image.stored_regions.end(), std::back_inserter(stored_));
                image.stored_regions.clear();
            }
            summary_of(summaries_, "").add(image.analysis, image.values);
        } catch (const IoError& error) {
            first_->end = failure_of(error);  // the summaries are in doubt, and with them all that are in them
            ended_ = true;
        }
        last_ = image.outcome;
    }
    void add_to(const std::string& group, const Analysis& analysis, const std::vector<FrequencyTable>& values) {
        Summary& summary = summary_of(summaries_, group);
        bytes_of_groups_ -= summary.memory_bytes();
        summary.add(analysis, values);
        bytes_of_groups_ += summary.memory_bytes();
        if (bytes_of_groups_ > most_held) store_groups();
    }
    /// Brings groups' summaries to the file of values.
    void store_groups() {
        for (const io::Group& group : summaries_)
            if (!group.name.empty()) stored_.emplace_back(group.name, io::store(group.summary, *measurer_.values_));
        summaries_.erase(std::remove_if(summaries_.begin(), summaries_.end(),
                                        [](const io::Group& group) { return !group.name.empty(); }),
                         summaries_.end());
        bytes_of_groups_ = 0;
    }
    void give_summaries() {
        if (last_) {
            last_->summaries = std::exchange(summaries_, {});
            last_->stored = std::exchange(stored_, {});
            bytes_of_groups_ = 0;
        }
        first_ = nullptr;
    }

    Measurer& measurer_;
    StageClock& clock_;
    MemoryBudget::Share share_;
    std::vector<Image> waiting_;
    std::uint64_t held_ = 0;       ///< bytes of these
    std::vector<Analysis> spare_;  ///< whose memory is used again
    std::vector<io::Group> summaries_;
    std::uint64_t bytes_of_groups_ = 0;  ///< in these, the whole set apart
    std::vector<std::pair<std::string, io::StoredSummary>> stored_;
    Outcome* first_ = nullptr;  ///< that is in `summaries_`
    Outcome* last_ = nullptr;
    bool ended_ = false;
};

/// Image that is measured while it is decoded: each strip on another thread, while the next one is decoded. It comes as
/// often as the engine wants it, once more where its values are counted, and last where a copy of it is written.
class Measurer::InStrips {
  public:
    InStrips(Measurer& measurer, Image& image, MemoryBudget::Share& share, StageClock& clock)
        : measurer_(measurer), image_(image), share_(share), clock_(clock) {}

    /// Has something done with a strip, whose pixels stay as they are until the next call returns.
    void take(const io::Image& strip, std::uint64_t row) {
        wait();
        end_if_interrupted();
        if (!image_.in_strips) begin(strip);
        if (pass_ == Pass::analysis && !task_ && !restarts_) begin_analysis();
        if (!restarts_) work_ = std::async(std::launch::async, [this, strip, row] { work(strip, row); });
        clock_.enter(Stage::decode);
    }

    /// Ends a pass over the strips. Returns whether there is another one.
    bool again() {
        wait();
        clock_.enter(Stage::analyze);
        if (std::exchange(restarts_, false)) return true;
        if (pass_ == Pass::analysis) {
            if (task_->end_pass()) return true;
            end_analysis();
            const bool bins = traits_of(image_.view.depth).counting == Counting::bins;
            if (bins && measurer_.needs_values(image_)) {
                pass_ = Pass::values;
                return true;
            }
        }
        if (pass_ == Pass::copies) {
            write([&] { rows_->finish(); });
            return false;
        }
        if (!image_.writes.normalized) return false;
        pass_ = Pass::copies;
        begin_copies();
        return true;
    }

  private:
    enum class Pass : std::uint8_t { analysis, values, copies };

    void begin(const io::Image& strip) {
        image_.in_strips = true;
        image_.file = strip;
        image_.file.pixels.release();
        image_.view = io::view(strip);
        clock_.enter(Stage::memory);
        const bool bins = traits_of(image_.view.depth).counting == Counting::bins;
        share_.require(share_.bytes() + (bins ? counting_bytes(image_.view) : 0) +
                       analysis_bytes(image_.view, measurer_.options_));
        image_.view.data = nullptr;
        image_.view.width = static_cast<std::int64_t>(strip.width);
        image_.view.height = static_cast<std::int64_t>(strip.height);
        image_.view.row_bytes = image_.view.packed_row_bytes();
        measurer_.read_mask(image_, share_);
        measurer_.prepare(image_);
        if (measurer_.pass_ == 1) return;
        pass_ = Pass::copies;
        begin_copies();
    }

    // --- the analysis ---

    void begin_analysis() {
        clock_.enter(Stage::engine);
        const bool copied = image_.writes.normalized && !measurer_.luts_;
        if (copied) normalization_ = measurer_.normalization_of(image_.file);
        task_.emplace(measurer_.engines_.analyze_strips(image_.view, image_.request, image_.analysis,
                                                        copied ? &normalization_ : nullptr, measurer_.in_flight_ == 1));
    }

    void end_analysis() {
        image_.outcome->engine = task_->engine();
        measurer_.name(image_, image_.file);
        if (!image_.writes.normalized || measurer_.luts_) return task_.reset();
        add(*image_.outcome, remarks_on_copy(image_.analysis, normalization_, measurer_.options_.copies_asked()));
    }

    /// Waits for the strip before. What a GPU did that fails is done anew where that may be.
    void wait() {
        if (!work_.valid()) return;
        clock_.enter(Stage::analyze);
        try {
            work_.get();
        } catch (const CudaError& error) {
            if (!measurer_.engines_.does_without_gpu(error)) throw;
            task_.reset();
            restarts_ = true;
        }
    }

    void work(const io::Image& strip, std::uint64_t row) {
        const ImageView view = image_.masked(io::view(strip), row);
        switch (pass_) {
            case Pass::analysis:
                return analyze(view);
            case Pass::values:
                return count_values(view, strip.samples);
            case Pass::copies:
                return write([&] { copy(view, strip.samples); });
        }
    }

    void analyze(const ImageView& view) {
        task_->take(view);
        std::uint64_t bytes = 0;
        for (const ChannelAnalysis& channel : image_.analysis.channels) bytes += channel.values.memory_bytes();
        const std::uint64_t most = measurer_.budget_.limit() / 2;  // as much again where they are merged
        if (bytes > most)
            throw IoError(image_.outcome->input.path + ": the different values of its " + to_string(view.depth) +
                              " samples take more than half of --memory, " + std::to_string(most) + " bytes",
                          IoError::Kind::too_large);
    }

    void count_values(const ImageView& view, Samples samples) {
        if (image_.outcome->end) return;
        try {
            auto tables = count_frequencies(view, measurer_.values_, image_.request, samples);
            if (image_.values.empty()) image_.values.assign(tables.size(), FrequencyTable(measurer_.values_));
            for (std::size_t i = 0; i < tables.size(); ++i) {
                image_.values[i].add(tables[i]);
                image_.values[i].settle();
            }
        } catch (const IoError& error) {
            image_.outcome->end = failure_of(error);  // of the file of values, which others need as well
        }
    }

    // --- the copy ---

    void begin_copies() {
        Copy& copy = image_.copy;
        copy.depth = measurer_.luts_ ? measurer_.luts_for(image_.view.depth).copy_depth()
                                     : normalized_depth(image_.view.depth, normalization_);
        type_ = CV_MAKETYPE(io::opencv_depth(copy.depth), image_.view.channels);
        write([&] {
            copy.file.emplace(measurer_.files_.open_copy(image_.outcome->input, copy.depth, image_.file.samples));
            if (image_.view.height > std::numeric_limits<int>::max())
                throw IoError(copy.file->path().string() + ": not written, a copy of " +
                              std::to_string(image_.view.height) + " rows is too large");
            const cv::Size sides(static_cast<int>(image_.view.width), static_cast<int>(image_.view.height));
            rows_ = io::encode_rows(*copy.file, sides, type_, image_.file.samples, copy.depth);
        });
    }

    void copy(const ImageView& view, Samples samples) {
        if (copied_.rows < view.height)
            copied_.create(static_cast<int>(view.height), static_cast<int>(view.width), type_);
        const cv::Mat rows = copied_.rowRange(0, static_cast<int>(view.height));
        MutableImageView output = io::mutable_view(copied_);
        output.height = view.height;
        output.order = view.order;
        output.depth = image_.copy.depth;
        if (measurer_.luts_)
            measurer_.apply_luts(view, samples, image_.request, output);
        else
            task_->copy(view, output);
        rows_->add(rows);
    }

    /// Runs a step of writing. One that fails is the last; the rest of the image's files are written all the same.
    template <class Step>
    void write(const Step& step) {
        if (image_.copy.error) return;
        try {
            step();
        } catch (const IoError&) {
            image_.copy.error = std::current_exception();
        }
    }

    Measurer& measurer_;
    Image& image_;
    MemoryBudget::Share& share_;
    StageClock& clock_;
    Pass pass_ = Pass::analysis;
    bool restarts_ = false;  ///< with the next pass
    Normalization normalization_;
    std::optional<EnginePool::StripTask> task_;
    std::unique_ptr<io::RowEncoder> rows_;
    int type_ = 0;
    cv::Mat copied_;  ///< a strip
    std::future<void> work_;
};

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
    strips.strip_bytes = std::clamp<std::uint64_t>(budget_.limit() / 16, 1 << 20, 1 << 24);
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
        image.view = io::view(image.file);
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
    const std::string copy = "a normalised copy is made of it, and ";
    if (facts.turned) return copy + "it is to be turned";
    if (facts.bands) return copy + "it has bands";
    if (options_.copy_size > 0) return copy + "that is to be made smaller";
    if (luts_) return {};
    const NormalizeTraits& mode = traits_of(options_.normalization.mode);
    if (depth.counting == Counting::sorted) return copy + "it is of " + depth.name;
    if (depth.counting == Counting::bins && mode.needs == NormalizeNeeds::counts)
        return copy + mode.name + " counts " + depth.name + " once more";
    return {};
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

/// Memory that copies of an image take at most, in images: one is as large, as floats up to four times. Of floats one
/// in f32 comes before that of another depth; one that is made smaller is there beside it.
std::uint64_t Measurer::most_copies() const {
    std::uint64_t most = traits_of(options_.normalization.mode).real ? 4 : 1;
    if (const auto depth = options_.normalization.depth) most = std::max<std::uint64_t>(2, sample_bytes(*depth));
    if (luts_)
        for (const LutSet& tables : *luts_) most = std::max<std::uint64_t>(most, sample_bytes(tables.copy_depth()));
    return options_.copy_size > 0 ? 2 * most : most;
}

/// Measures the regions of an image, whose rows follow each other as labels ascend; then rectangles.
void Measurer::measure_regions(Image& image, MemoryBudget::Share& share, StageClock& clock) {
    Outcome& outcome = *image.outcome;
    const io::ImageInfo info = info_of(image);
    struct Text {
        std::string csv, json;
        std::uint64_t rows = 0;
    };
    const std::string start = options_.shard ? io::shard_region_start(outcome.input.index) : "";
    const auto text_of = [&](const io::RegionInfo& region, Analysis& analysis) {
        name_channels(analysis, image.file.samples);
        analysis.white = options_.white.value_or(image.file.white);
        const std::vector<Statistics> rows = statistics(analysis, options_.percentiles);
        Text text;
        text.rows = rows.size();
        if (sinks_.rows) region_rows_.append_csv(text.csv, info, region, rows, start);
        if (sinks_.printed && options_.format == "json") region_rows_.append_json(text.json, info, region, rows);
        return text;
    };
    const auto add = [&](const Text& text) {
        outcome.regions += text.csv;
        outcome.region_rows += text.rows;
        outcome.printed_regions += text.json;
    };
    const bool pooled = summed_ && options_.group_by == GroupBy::region;  // by names, over all images
    std::uint64_t pooled_bytes = 0;
    const auto pool = [&](const std::string& name, Analysis& analysis, std::vector<FrequencyTable> values) {
        image.regions.push_back({name, std::move(analysis), std::move(values)});
        pooled_bytes += image.regions.back().memory_bytes();
        if (pooled_bytes <= most_held) return;
        try {
            for (const PooledRegion& one : image.regions) {
                Summary sum;
                sum.add(one.analysis, one.values);
                image.stored_regions.emplace_back(one.name, io::store(sum, *values_));
            }
        } catch (const IoError& error) {
            outcome.end = failure_of(error);  // of the file of values, which others need as well
        }
        image.regions.clear();
        pooled_bytes = 0;
    };
    const auto add_labels = [&](std::vector<Region>& regions) {
        std::vector<Text> texts(regions.size());
        const auto work = [&](std::size_t i) {
            Region& region = regions[i];
            texts[i] =
                text_of({std::to_string(region.label), region.x, region.y, region.width, region.height, region.area},
                        region.analysis);
        };
        if (threads_of_copy_ > 1)
            tbb::parallel_for(std::size_t{0}, regions.size(), work);
        else
            for (std::size_t i = 0; i < regions.size(); ++i) work(i);
        std::for_each(texts.begin(), texts.end(), add);
        if (pooled)
            for (Region& region : regions)
                pool(std::to_string(region.label), region.analysis, std::move(region.values));
    };
    if (labels_.any()) {
        clock.enter(Stage::decode);
        const std::uint64_t held = share.bytes();
        io::DecodeOptions decode = options_.decode;
        decode.admit = [&](std::uint64_t file_bytes, std::uint64_t pixel_bytes) {
            share.require(held + file_bytes + pixel_bytes);
        };
        const io::Image labels =
            labels_.read(outcome.input, image.view.width, image.view.height, image.file.pages, decode);
        validate_labels(labels, outcome.input);
        clock.enter(Stage::analyze);
        RegionOptions regions;
        regions.label_zero = options_.label_zero;
        regions.threads = threads_of_copy_;
        if (pooled) regions.count_values = image.file.samples;
        regions.memory = std::max<std::uint64_t>(budget_.limit() / 4, 1 << 20);
        const auto pixels = static_cast<std::uint64_t>(image.view.packed_row_bytes() * image.view.height);
        share.require(share.bytes() + std::min(regions.memory, pixels));
        analyze_regions(image.view, io::view(labels), image.request, add_labels, regions);
        share.require(held);
    }
    std::vector<Rectangle> rectangles = options_.rectangles;
    if (const auto own = rectangles_.find(outcome.input.path); own != rectangles_.end())
        for (const Rectangle& one : own->second) {
            for (const Rectangle& other : options_.rectangles)
                if (other.name == one.name)
                    throw InvalidArgument("two rectangles are called '" + one.name + "', of --roi and of --rois");
            rectangles.push_back(one);
        }
    constexpr std::size_t at_once = 32;  // whose results are held
    for (std::size_t begin = 0; begin < rectangles.size(); begin += at_once) {
        const std::size_t end = std::min(begin + at_once, rectangles.size());
        std::vector<Task> tasks(end - begin);
        std::vector<Analysis> found(tasks.size());
        std::vector<Rectangle> inside;
        for (std::size_t i = begin; i < end; ++i) {
            const Rectangle& one = inside.emplace_back(
                within(rectangles[i], image.view.width, image.view.height, options_.clip_rectangles));
            Job& job = tasks[i - begin].job;
            job.request = image.request;
            job.result = &found[i - begin];
            job.image = image.view;
            job.image.width = one.width;
            job.image.height = one.height;
            const auto pixel = static_cast<std::int64_t>(sample_bytes(image.view.depth)) * image.view.channels;
            job.image.data =
                static_cast<const std::byte*>(image.view.data) + one.y * image.view.row_bytes + one.x * pixel;
            if (job.image.mask) job.image.mask += one.y * image.view.mask_row_bytes + one.x;
        }
        engines_.run(tasks, in_flight_ == 1, clock);
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            if (const auto& error = tasks[i].job.error) std::rethrow_exception(error);
            const Rectangle& one = inside[i];
            const auto area = static_cast<std::uint64_t>(one.width * one.height);
            add(text_of({one.name, one.x, one.y, one.width, one.height, area}, found[i]));
            const bool counted = pooled && traits_of(image.view.depth).counting == Counting::bins;
            if (pooled)
                pool(one.name, found[i],
                     counted ? count_frequencies(tasks[i].job.image, nullptr, image.request, image.file.samples)
                             : std::vector<FrequencyTable>());
        }
    }
}

/// Facts about an image that was analysed.
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

cv::Mat Measurer::copy_of(const io::Image& file, Depth depth) const {
    cv::Mat image;
    image.allocator = allocator_.get();
    image.create(file.pixels.rows, file.pixels.cols, CV_MAKETYPE(io::opencv_depth(depth), file.pixels.channels()));
    return image;
}

void Measurer::reduce(cv::Mat& copy, Depth depth, const io::Image& file) const {
    if (options_.copy_size == 0) return;
    const Sides sides{copy.cols, copy.rows}, wanted = reduced_sides(sides, options_.copy_size);
    if (wanted == sides) return;
    cv::Mat small(static_cast<int>(wanted.height), static_cast<int>(wanted.width), copy.type());
    ImageView from = io::view(copy);
    MutableImageView to = io::mutable_view(small);
    from.depth = to.depth = depth;
    gpuhist::reduce(from, to, file.alpha == io::Alpha::straight ? ReduceWeight::alpha : ReduceWeight::area,
                    threads_of_copy_);
    copy = small;
}

const LutSet& Measurer::luts_for(Depth depth) const {
    for (const LutSet& tables : *luts_)
        if (tables.depth == depth) return tables;
    throw InvalidArgument(std::string("there is no lookup table for ") + to_string(depth) + " images");
}

void Measurer::apply_luts(Image& image) const {
    const io::Image& file = image.file;
    if (file.samples == Samples::bands || file.samples == Samples::color_bands)
        throw InvalidArgument("there is no lookup table for bands");
    const LutSet& tables = luts_for(image.view.depth);
    image.copy.depth = tables.copy_depth();
    image.copy.pixels = copy_of(file, image.copy.depth);
    MutableImageView output = io::mutable_view(image.copy.pixels);
    output.depth = image.copy.depth;
    apply_luts(image.view, file.samples, image.request, output);
}

void Measurer::apply_luts(const ImageView& view, Samples samples, const AnalysisRequest& request,
                          const MutableImageView& output) const {
    gpuhist::apply_luts(luts_for(view.depth), view, output, threads_of_copy_, samples);
    settle_copy(view, request, options_.normalization.valid_only, output, threads_of_copy_);
}

/// Normalisation of an image.
Normalization Measurer::normalization_of(const io::Image& file) const {
    Normalization normalization = options_.normalization;
    if (file.samples == Samples::gray_alpha) normalization.joint = false;  // gray is all that there is
    return normalization;
}

/// Sets what is asked of the engine.
void Measurer::prepare(Image& image) const {
    if (const DepthTraits& depth = traits_of(image.view.depth); depth.floating && options_.histogram.bins == 0)
        throw InvalidArgument("--bins full is one bin per value, which " + std::string(depth.name) +
                              " does not have: give --bins N");
    if (options_.histogram.bins != 0) image.request.bins = options_.histogram.bins;
    image.request.range = options_.histogram.range;
    image.request.percentiles = options_.percentiles;
    image.request.detail = detail_;
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
    image.view = image.masked(image.view, 0);
    share.require(held + pixels);
}

std::shared_ptr<const Validity> Measurer::validity_of(Image& image) const {
    Validity validity = options_.validity;
    if (options_.nodata_of_file && image.file.nodata) validity.nodata.push_back({std::nullopt, *image.file.nodata});
    const Depth depth = image.view.depth;
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

/// The engine's task: to analyse the image, and to normalise it where that is asked.
Task Measurer::task_of(Image& image) const {
    Task task;
    Job& job = task.job;
    job.image = image.view;
    job.result = &image.analysis;
    job.request = image.request;
    if (!image.writes.normalized || luts_) return task;
    if (const std::string why = no_copy(image.file, options_.normalization); !why.empty()) {
        image.outcome->not_written.push_back(
            {"output", image.outcome->input.path + ": no normalised copy " + why + " is made"});
        image.writes.normalized = false;
        return task;
    }
    Copy& copy = image.copy;
    copy.depth = normalized_depth(image.file.depth, options_.normalization);
    copy.pixels = copy_of(image.file, copy.depth);
    job.normalization = normalization_of(image.file);
    job.output = io::mutable_view(copy.pixels);
    job.output.order = job.image.order;
    job.output.depth = copy.depth;
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
    add(outcome, remarks_on(result, options_.white));
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
    if (sinks_.rows) outcome.rows = sinks_.rows->format(result);
    if (sinks_.printed) outcome.printed = sinks_.printed->format(result) + outcome.printed_regions;
    if (table)
        outcome.printed =
            format_table(heading_of(result, options_.style), result.rows, panels, written, options_.style);
}

}  // namespace gpuhist::app
