#include "run/image_task.hpp"

#include <algorithm>
#include <future>
#include <new>
#include <opencv2/core.hpp>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/files.hpp"
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/io/plot.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/io/shard.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

Failure failure_of(const IoError& error) {
    return {word(error.kind()), error.what()};
}

/// What is being handled, as the failure of an input of that path.
Failure current_failure(const std::string& path) {
    try {
        throw;
    } catch (const IoError& error) {
        return failure_of(error);
    } catch (const CudaError& error) {
        return {"engine", path + ": " + error.what()};
    } catch (const InvalidArgument& error) {
        return {"unsupported", path + ": " + error.what()};
    } catch (const std::bad_alloc&) {
        return {"memory", path + ": there is not enough memory"};
    } catch (const cv::Exception& error) {
        return {"decode", path + ": " + error.err};
    } catch (const std::exception& error) {
        return {"other", path + ": " + error.what()};
    } catch (...) {
        return {"other", path + ": an error without a name"};
    }
}

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
    } catch (const EngineUnavailable& error) {
        outcome.end = Failure{"engine", error.what()};
        outcome.engine_ended = true;
    } catch (...) {
        outcome.failure = current_failure(path);
    }
    return false;
}

}  // namespace

Summary& pool_of(std::vector<io::Group>& groups, const std::string& name) {
    auto place = std::lower_bound(groups.begin(), groups.end(), name,
                                  [](const io::Group& one, const std::string& other) { return one.name < other; });
    if (place == groups.end() || place->name != name) place = groups.insert(place, {name, {}});
    return place->summary;
}

const char* word(IoError::Kind kind) {
    switch (kind) {
        case IoError::Kind::missing:
            return "missing";
        case IoError::Kind::permission:
            return "permission";
        case IoError::Kind::truncated:
            return "truncated";
        case IoError::Kind::too_large:
            return "too_large";
        case IoError::Kind::unsupported:
            return "unsupported";
        case IoError::Kind::damaged:
            return "decode";
        case IoError::Kind::memory:
            return "memory";
        case IoError::Kind::no_space:
            return "no_space";
        case IoError::Kind::other:
            break;
    }
    return "unreadable";
}

void make_directories(const fs::path& directory) {
    std::error_code failure;
    fs::create_directories(directory, failure);
    if (failure)
        throw IoError(directory.string() + ": cannot make this directory: " + failure.message(),
                      failure == std::errc::no_space_on_device ? IoError::Kind::no_space : IoError::Kind::other);
}

Measurer::Measurer(const Options& options, std::shared_ptr<const InputList> inputs, EnginePool& engines,
                   MemoryBudget& budget, StageTimes& times, bool single)
    : options_(options),
      inputs_(std::move(inputs)),
      engines_(engines),
      budget_(budget),
      times_(times),
      single_(single) {}

void Measurer::reuse_memory(std::size_t bytes) {
    pixel_memory_ = std::make_unique<PinnedPool>(bytes, engines_.on_gpu() ? options_.engine_options.gpu : -1);
    allocator_ = std::make_unique<io::PinnedAllocator>(*pixel_memory_);
}

/// An image from reading to writing.
struct Measurer::Image {
    Outcome* outcome;
    Writes writes;
    ImageView view{};  ///< of `pixels`
    cv::Mat pixels{}, normalized{};
    Analysis analysis{};
    std::vector<FrequencyTable> values{};  ///< of f32, for a pool
    std::string engine{};

    /// Of its pixels and counts: those of a small image of 16 bits are the larger part.
    std::uint64_t bytes(std::uint32_t bins) const {
        const DepthTraits& traits = traits_of(view.depth);
        const std::uint64_t counts = traits.floating ? bins : traits.values;
        const auto rows = static_cast<std::uint64_t>(view.channels == 1 ? 1 : view.channels + 1);
        return static_cast<std::uint64_t>(view.packed_row_bytes() * view.height) + rows * counts * 8;
    }
};

/// The images of a batch that is being measured. Small ones wait, since an engine is better asked for many at once.
class Measurer::Images {
  public:
    Images(Measurer& measurer, StageClock& clock) : measurer_(measurer), clock_(clock), share_(measurer.budget_) {}

    void read(Outcome& outcome) {
        Image image{&outcome, measurer_.writes_of(outcome.input)};
        if (measurer_.pass_ == 2 && !image.writes.normalized) return;
        clock_.enter(Stage::read);
        const bool done = attempt(outcome, [&] {
            image.pixels = measurer_.read(outcome.input, image.writes.normalized, held_, share_, clock_);
            image.view = io::view(image.pixels);
            outcome.pixels = static_cast<std::uint64_t>(image.view.pixels());
        });
        if (!done) return;
        const bool small = EnginePool::is_small(image.view);
        if (!small) finish();
        if (!spare_.empty()) {
            image.analysis = std::move(spare_.back());
            spare_.pop_back();
        }
        held_ += image.bytes(measurer_.options_.histogram.bins);
        waiting_.push_back(std::move(image));
        if (!small || held_ >= most_held) finish();
    }

    /// All that were read.
    void finish() {
        if (measurer_.pass_ == 1) analyze();
        for (Image& image : waiting_) {
            Outcome& outcome = *image.outcome;
            if (!outcome.failure && !outcome.end)
                attempt(outcome, [&] {
                    count_values_of(image);
                    if (outcome.end) return;
                    measurer_.write_results(image, clock_);
                    if (!outcome.end) add_up(image);
                });
            ended_ = ended_ || outcome.end;
            spare_.push_back(std::move(image.analysis));
        }
        waiting_.clear();
        held_ = 0;
    }

    /// Whether one of them ends the run.
    bool ended() const { return ended_; }

    /// All are finished.
    void end() {
        finish();
        give_pools();
    }

  private:
    static constexpr std::uint64_t most_held = std::uint64_t{1} << 22;

    void analyze() {
        std::vector<Task> tasks;
        std::vector<Image*> images;
        for (Image& image : waiting_)
            attempt(*image.outcome, [&] {
                tasks.push_back(measurer_.task_of(image));
                images.push_back(&image);
            });
        measurer_.engines_.run(tasks, measurer_.in_flight_ == 1, clock_);
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            images[i]->engine = tasks[i].engine;
            if (const auto& error = tasks[i].job.error)
                attempt(*images[i]->outcome, [&] { std::rethrow_exception(error); });
        }
    }

    void count_values_of(Image& image) {
        if (!measurer_.pools_ || measurer_.pass_ == 2 || !traits_of(image.view.depth).floating) return;
        clock_.enter(Stage::memory);
        const std::uint64_t before = share_.bytes();
        share_.require(before + counting_bytes(image.view));
        clock_.enter(Stage::analyze);
        try {
            image.values = count_frequencies(image.view, measurer_.values_);
        } catch (const IoError& error) {
            image.outcome->end = failure_of(error);  // of the file of values, which others need as well
        }
        share_.require(before);
    }

    void add_up(const Image& image) {
        if (!measurer_.pools_ || measurer_.pass_ == 2) return;
        clock_.enter(Stage::analyze);
        if (last_ && std::any_of(last_ + 1, image.outcome,
                                 [](const Outcome& between) { return between.failure || between.end; }))
            give_pools();
        if (!first_) first_ = image.outcome;
        try {
            if (measurer_.options_.group_by_directory)
                pool_of(pools_, image.outcome->input.group).add(image.analysis, image.values);
            pool_of(pools_, "").add(image.analysis, image.values);
        } catch (const IoError& error) {
            first_->end = failure_of(error);  // the pools are in doubt, and with them all that are in them
            ended_ = true;
        }
        last_ = image.outcome;
    }
    void give_pools() {
        if (last_) last_->pools = std::exchange(pools_, {});
        first_ = nullptr;
    }

    Measurer& measurer_;
    StageClock& clock_;
    MemoryBudget::Share share_;
    std::vector<Image> waiting_;
    std::uint64_t held_ = 0;       ///< bytes of these
    std::vector<Analysis> spare_;  ///< whose memory is used again
    std::vector<io::Group> pools_;
    Outcome* first_ = nullptr;  ///< that is in `pools_`
    Outcome* last_ = nullptr;
    bool ended_ = false;
};

void Measurer::measure(Batch& batch) {
    ++in_flight_;
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

/// Reads and decodes, once there is memory for it beside what is held.
cv::Mat Measurer::read(const Input& input, bool normalized, std::uint64_t held, MemoryBudget::Share& share,
                       StageClock& clock) const {
    io::DecodeOptions decode = options_.decode;
    decode.allocator = allocator_.get();
    bool header_known = false;
    decode.admit = [&](std::uint64_t bytes) {
        clock.enter(Stage::memory);
        // The copy is as large as the pixels, as floats up to four times.
        const bool floats = options_.normalization.mode == NormalizeMode::zscore;
        share.require(held + (header_known && normalized ? bytes * (floats ? 5 : 2) : bytes));
        clock.enter(header_known ? Stage::decode : Stage::read);
        header_known = true;
    };
    if (!input.standard_input) return io::read_image(input.path, decode);
    const auto bytes = io::read_standard_input();
    decode.admit(bytes.size());
    return io::decode_image(bytes, input.path, decode);
}

/// What is written about an input in this pass.
Writes Measurer::writes_of(const Input& input) const {
    Writes writes = options_.writes_of(input);
    if (pass_ == 2) return {false, false, false, writes.normalized};
    if (options_.linked && !single_) writes.normalized = false;
    return writes;
}

cv::Mat Measurer::like(const cv::Mat& pixels, NormalizeMode mode) const {
    cv::Mat image;
    image.allocator = allocator_.get();
    const Depth depth = normalized_depth(io::view(pixels).depth, mode);
    image.create(pixels.rows, pixels.cols, CV_MAKETYPE(io::opencv_depth(depth), pixels.channels()));
    return image;
}

cv::Mat Measurer::apply_luts(const cv::Mat& pixels) const {
    const ImageView image = io::view(pixels);
    for (const LutSet& tables : *tables_)
        if (tables.depth == image.depth) {
            cv::Mat normalized = like(pixels, tables.mode);
            gpuhist::apply_luts(tables, image, io::mutable_view(normalized));
            return normalized;
        }
    throw InvalidArgument(std::string("there is no lookup table for ") + to_string(image.depth) + " images");
}

/// To analyse it, and to normalise it where that is asked.
Task Measurer::task_of(Image& image) const {
    Task task;
    Job& job = task.job;
    job.image = image.view;
    job.result = &image.analysis;
    if (options_.histogram.bins != 0) job.request.bins = options_.histogram.bins;
    job.request.range = options_.histogram.range;
    if (traits_of(job.image.depth).floating && options_.histogram.bins == 0)
        throw InvalidArgument("--bins full is one bin per value, which f32 does not have: give --bins N");
    if (image.writes.normalized && !tables_) {
        image.normalized = like(image.pixels, options_.normalization.mode);
        job.normalization = options_.normalization;
        job.output = io::mutable_view(image.normalized);
    }
    return task;
}

void Measurer::write_results(Image& image, StageClock& clock) const {
    Outcome& outcome = *image.outcome;
    const Input& input = outcome.input;
    const Writes& writes = image.writes;
    if (writes.normalized && tables_) {
        clock.enter(Stage::analyze);
        image.normalized = apply_luts(image.pixels);
    }
    image.pixels.release();
    if (pass_ == 2) {
        clock.enter(Stage::write);
        write_files(outcome, writes, {}, {}, image.normalized);
        return;
    }

    clock.enter(Stage::analyze);
    const io::ImageInfo info{input.path, image.view.width, image.view.height, image.view.depth};
    const std::string& engine = image.engine;
    const std::vector<Statistics> rows = statistics(image.analysis);
    Histogram histogram;
    if (writes.histogram || writes.plot || options_.table_of(input))
        histogram = gpuhist::histogram(image.analysis, options_.histogram);
    clock.enter(Stage::write);
    std::string written;
    for (const std::string& suffix : write_files(outcome, writes, histogram, rows, image.normalized))
        written += (written.empty() ? (options_.output / input.output_name).string() : " ") + suffix;
    if (writes.stats) {
        outcome.rows = rows.size();
        outcome.stats = options_.shard ? io::shard_stats_rows(input.index, info, rows) : io::stats_csv_rows(info, rows);
    }
    if (options_.format == Format::csv) outcome.printed = io::stats_csv_rows(info, rows);
    if (options_.format == Format::json) outcome.printed = io::stats_json(info, engine, rows);
    if (options_.table_of(input))
        outcome.printed = format_table(heading_of(info, image.view.channels, engine, options_.style), rows, histogram,
                                       written, options_.style);
}

/// Runs one writer. Returns what goes wrong.
std::optional<Failure> Measurer::write(const fs::path& path, const std::function<void()>& writer) const {
    try {
        writer();
        return std::nullopt;
    } catch (const IoError& error) {
        const bool full = error.kind() == IoError::Kind::no_space;
        return Failure{full ? word(error.kind()) : "output", error.what()};
    } catch (...) {
        return Failure{"output", current_failure(path.string()).message};
    }
}

/// Returns the suffixes of the files that were written.
std::vector<std::string> Measurer::write_files(Outcome& outcome, const Writes& writes, const Histogram& histogram,
                                               const std::vector<Statistics>& rows, const cv::Mat& normalized) const {
    if (!writes.histogram && !writes.plot && !writes.normalized) return {};
    const Input& input = outcome.input;
    const std::string stem = (options_.output / input.output_name).string();
    std::vector<std::pair<std::string, std::function<void(const fs::path&)>>> files;
    if (writes.histogram)
        files.emplace_back(".histogram.csv",
                           [&](const fs::path& path) { io::write_file(path, io::histogram_csv(histogram)); });
    if (writes.plot)
        files.emplace_back(".histogram.png", [&](const fs::path& path) {
            io::PlotOptions plot;
            plot.log_counts = options_.log_counts;
            plot.title = printable(input.standard_input ? "standard input" : input.output_name);
            io::write_image(path, io::plot_histogram(histogram, rows, plot));
        });
    if (writes.normalized)
        files.emplace_back(std::string(".normalized") + io::lossless_extension(io::view(normalized).depth),
                           [&](const fs::path& path) { io::write_image(path, normalized); });
    const auto failed = [&](const std::optional<Failure>& failure) {
        if (!failure) return false;
        if (failure->kind == word(IoError::Kind::no_space) && !single_)
            outcome.end = failure;
        else
            outcome.not_written.push_back(*failure);
        return true;
    };
    const fs::path directory = fs::path(stem).parent_path();
    if (failed(write(directory, [&] { make_directories(directory); }))) return {};
    // The files of an image that is alone have a thread each but the last, which has this one: encoding takes longer
    // than all else.
    std::vector<std::pair<std::string, std::future<std::optional<Failure>>>> pending;
    for (auto& [suffix, writer] : files) {
        const bool own = !single_ || &suffix == &files.back().first;
        pending.emplace_back(suffix, std::async(own ? std::launch::deferred : std::launch::async,
                                                [this, path = fs::path(stem + suffix), &writer = writer] {
                                                    return write(path, [&] {
                                                        if (inputs_->includes(path))
                                                            throw IoError(path.string() +
                                                                          ": not written, it is one of the inputs; "
                                                                          "name another --output");
                                                        writer(path);
                                                    });
                                                }));
    }
    std::vector<std::string> written;
    if (single_) pending.back().second.wait();
    for (auto& [suffix, done] : pending)
        if (!failed(done.get())) written.push_back(suffix);
    return written;
}

}  // namespace gpuhist::app
