#include "run/pipeline.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for_each.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <opencv2/core.hpp>
#include <optional>
#include <utility>

#include "cli/console.hpp"
#include "cli/progress.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/files.hpp"
#include "gpuhist/io/lut_file.hpp"
#include "gpuhist/io/policy.hpp"
#include "gpuhist/resources.hpp"
#include "run/dry_run.hpp"
#include "run/image_task.hpp"
#include "run/input_stream.hpp"
#include "run/interruption.hpp"
#include "run/near_gpu.hpp"
#include "run/one_table.hpp"
#include "run/output_directory.hpp"
#include "run/output_names.hpp"
#include "run/reference.hpp"
#include "run/remarks.hpp"
#include "run/result_sink.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Checks a directory that an option names: throws IoError where it can be neither written nor made. Makes nothing yet:
/// a run whose engine or inputs fail leaves no empty directory.
void check_output_directory(const fs::path& directory, const char* option) {
    std::error_code ignored;
    fs::path existing = directory;
    while (!fs::exists(existing, ignored)) {
        if (!existing.has_parent_path() || existing == existing.parent_path()) {
            existing = ".";
            break;
        }
        existing = existing.parent_path();
    }
    std::string cause;
    if (!fs::is_directory(existing, ignored))
        cause = "not a directory";
    else if (access(existing.c_str(), W_OK | X_OK) != 0)
        cause = std::strerror(errno);
    if (cause.empty()) return;
    if (existing != directory) cause = existing.string() + ": " + cause;
    throw IoError(directory.string() + ": cannot write results there: " + cause + "; name another directory with " +
                  option);
}

/// Tells whether pages of standard input are measured, which must be a file for that.
bool takes_pages_of_standard_input(const Options& options) {
    const std::vector<std::string>& arguments = options.inputs.arguments;
    return options.inputs.pages && std::find(arguments.begin(), arguments.end(), "-") != arguments.end();
}

/// Opens the manifest, and finds the lines of the shard. Throws IoError.
void open_manifest(Options& options) {
    InputOptions& inputs = options.inputs;
    read_data([&] {
        inputs.manifest = std::make_shared<const io::Manifest>(*inputs.manifest_path);
        inputs.shard.lines = inputs.manifest->lines_of(inputs.shard);
    });
    if (options.shard) options.shard = inputs.shard;
}

/// Reads the thresholds of flags. Throws IoError.
void read_thresholds(Options& options) {
    if (!options.policy.empty()) options.flags = read_data([&] { return io::read_policy(options.policy).flags; });
}

/// Copies standard input, which may be a pipe, into a file that takes its place.
void keep_standard_input() {
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    const std::unique_ptr<std::FILE, Close> copy(std::tmpfile());
    std::array<char, 65536> part;
    bool done = copy != nullptr;
    for (std::size_t got; done && (got = std::fread(part.data(), 1, part.size(), stdin)) > 0;)
        done = std::fwrite(part.data(), 1, got, copy.get()) == got;
    done = done && std::ferror(stdin) == 0 && std::fflush(copy.get()) == 0 &&
           dup2(fileno(copy.get()), STDIN_FILENO) == STDIN_FILENO;
    if (!done) throw IoError(std::string("standard input: cannot be kept: ") + std::strerror(errno));
    std::rewind(stdin);
}

int threads_of(const Options& options) {
    return options.engine_options.threads > 0 ? options.engine_options.threads : available_threads();
}

/// Reason why a run ends before its inputs do.
enum class End { none, interrupted, errors, data, output, locked, engine, reader, refused };

/// End of the run by a failure that does not belong to an input.
End end_of(const Error& error) {
    if (dynamic_cast<const DataError*>(&error)) return End::data;
    return dynamic_cast<const io::LockedError*>(&error) ? End::locked : End::output;
}

/// Inputs in, results out.
class Run {
  public:
    Run(const Options& options, RunSummary& summary, const EngineFactory& make, const JpegFactory& make_jpegs,
        Console& console)
        : options_(options),
          summary_(summary),
          console_(console),
          output_(std::make_shared<OutputDirectory>(options.output, options.force, console_)),
          inputs_(list_inputs()),
          single_(inputs_->single() && !options.shard),
          shard_(options.inputs.shard),
          threads_(threads_of(options)),
          engines_(options.engine, options.engine_options, options.gpus_used(), make, console_, options.gpu_terms,
                   threads_, !single_ && !options.measures.of_pixels().empty()),
          jpegs_(options.jpeg_on, options.gpus_used(), make_jpegs, engines_, console),
          memory_(options.memory),
          budget_(memory_),
          sinks_(make_sinks(options)),
          measurer_(options, *output_, engines_, jpegs_, budget_, sinks_, summary.stages, single_, threads_),
          results_(options, sinks_, console_, *output_, single_, memory_ / 8) {
        measurer_.keep_values(results_.values());
        find_unmatched();
        if (results_.summed()) measurer_.sum_images();
        if (options.tables_from.empty()) return;
        const std::string name = options.tables_from.string();
        std::string text;
        std::vector<LutSet> luts = read_data([&] {
            const auto bytes = io::read_bytes(options.tables_from, memory_, options.inputs.unwritten);
            text.assign(bytes.begin(), bytes.end());
            return io::parse_luts(text, name);
        });
        if (const auto depth = options.normalization.depth) make_copies_of(*depth, luts, name);
        if (const auto fill = options.normalization.fill) fill_copies_of(*fill, luts, name);
        measurer_.use_luts(std::move(luts));
        if (!io::has_checksum(text)) console_.note(name + ": has no checksum, so damage would go unnoticed");
    }

    ~Run() { output_->leave(); }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    int execute();

  private:
    std::shared_ptr<InputList> list_inputs();
    void look_before_writing();
    void measure_one();
    void measure_many();
    void find_unmatched();
    bool skip(InputStream& stream, std::uint64_t done);
    void share_threads();
    void stamp(std::vector<Input>& inputs);
    bool is_finished();
    void list_again(InputStream& stream);
    bool pass_through(std::uint64_t done);
    bool measure_passes(std::uint64_t done);
    std::size_t batches_in_flight() const;
    std::vector<Input> next_inputs(InputStream& stream, std::size_t most);
    std::size_t inputs_at_once() const;
    Batch batch_of(std::vector<Input> inputs);
    void measure(Batch& batch);
    void record(Batch& batch);
    void record(Outcome& outcome);
    void end(End why);
    int exit_code() const;
    void say_unmatched();
    void say_end();

    const Options& options_;
    RunSummary& summary_;
    Console& console_;
    const std::shared_ptr<OutputDirectory> output_;  ///< which the thread that lists may outlive the run with
    std::shared_ptr<InputList> inputs_;
    const bool single_;        ///< one image, whose results are no part of others
    const io::ShardId shard_;  ///< that all are of where none was asked for
    const int threads_;
    EnginePool engines_;
    JpegPool jpegs_;
    const std::uint64_t memory_;
    MemoryBudget budget_;
    const Sinks sinks_;
    Measurer measurer_;
    Results results_;
    std::unique_ptr<Progress> progress_;
    std::atomic<End> end_{End::none};
    bool files_of_images_ = false;                  ///< are written
    std::optional<OutputNames> names_;              ///< of a list's inputs, where files are written about each
    std::map<std::string, std::size_t> unmatched_;  ///< paths of --rois that no input has had, and how many lines
    bool nothing_more_counts_ = false;              ///< of what is in flight
    std::atomic<double> seconds_an_input_{0};       ///< of a thread, lately
    std::atomic<std::size_t> inputs_in_flight_{0};
    static constexpr std::size_t unknown = std::numeric_limits<std::size_t>::max();
    std::atomic<std::size_t> waiting_{unknown};  ///< inputs that are listed and not begun
};

std::shared_ptr<InputList> Run::list_inputs() {
    auto list =
        std::make_shared<InputList>(options_.inputs, options_.output,
                                    [output = output_](const std::string& file) { return output->owns_file(file); });
    output_->set_inputs(list);
    return list;
}

/// Checks which files may be written, before anything is written. Throws IoError.
void Run::look_before_writing() {
    // A list may be read again where --resume has to measure all anew.
    const bool list_kept = options_.resume && options_.inputs.files_from == "-";
    if (list_kept || takes_pages_of_standard_input(options_)) keep_standard_input();
    const Writes most = options_.write.value_or(Writes{true, true, true, true});
    if (!most.any() && options_.tables_to.empty()) return;
    if (most.any()) {
        output_->take();
        output_->read_lists();
    }
    files_of_images_ = most.histogram || most.plot || most.normalized;
    for (const std::string& argument : options_.inputs.arguments) output_->protect(argument);
    const bool standard_input = options_.inputs.files_from == "-";
    std::error_code ignored;
    if (files_of_images_ && options_.inputs.listed() && output_->may_replace() &&
        (standard_input || fs::is_regular_file(options_.inputs.files_from.value_or(""), ignored) ||
         options_.inputs.manifest)) {
        // A list may name an earlier run's file behind the image that it is of. What cannot be read twice is kept.
        if (standard_input && !list_kept) keep_standard_input();
        InputOptions all = options_.inputs;
        if (all.manifest) all.shard.lines = {0, all.manifest->inputs()};
        InputList list(all, options_.output);
        const auto next = [&] { return all.manifest ? read_data([&] { return list.next(); }) : list.next(); };
        while (const auto input = next()) output_->protect(input->file_path());
        if (standard_input) std::rewind(stdin);
    }
    results_.reserve_names();
}

/// The first reason is the one that is told.
void Run::end(End why) {
    End none = End::none;
    end_.compare_exchange_strong(none, why);
}

void Run::record(Batch& batch) {
    const StageClock clock(summary_.stages, Stage::rows);
    try {
        for (Outcome& outcome : batch)
            if (!nothing_more_counts_) record(outcome);
        if (!nothing_more_counts_) results_.checkpoint_now_and_then();
    } catch (const UsageError& error) {
        console_.say(error.what());
        end(End::refused);
        nothing_more_counts_ = true;
    } catch (const Error& error) {
        console_.say(error.what());
        end(end_of(error));
        nothing_more_counts_ = true;
    }
}

void Run::record(Outcome& outcome) {
    if (outcome.ends_run()) {
        if (outcome.end) console_.say(outcome.end->message);
        end(outcome.interrupted                          ? End::interrupted
            : outcome.engine_ended                       ? End::engine
            : outcome.end && outcome.end->kind == locked ? End::locked
                                                         : End::output);
        nothing_more_counts_ = true;
        return;
    }
    results_.record(outcome);
    if (!outcome.engine.empty() && !outcome.failure) ++summary_.engines[outcome.engine];
    if (progress_ && shard_.has(outcome.input.index)) progress_->add(outcome.pixels, outcome.failure.has_value());
    if (outcome.failure && options_.max_errors && results_.failed() >= *options_.max_errors) {
        end(End::errors);
        nothing_more_counts_ = true;
    }
    const bool nobody_reads = console_.closed() || console_.failed();
    if (nobody_reads && options_.write && !options_.write->any()) end(End::reader);
}

/// Measures one image, which has all cores, and no thread is started that it does not need.
void Run::measure_one() {
    // A CUDA context takes longer than most images: it is made, if it was asked for, while the image is read.
    auto engine = std::async(options_.engine == "cuda" ? std::launch::async : std::launch::deferred,
                             [this] { engines_.start(); });
    if (options_.group_by != GroupBy::none) console_.note("--group-by needs a set, but the input is one image");
    if (options_.resume) console_.note("--resume needs several inputs, but the input is one image");
    Batch batch(1);
    batch.front().input = *inputs_->next();
    unmatched_.erase(batch.front().input.path);
    measurer_.measure(batch);
    engine.get();
    record(batch);
}

/// Enough that all threads have work while one image takes its time, but no more than memory allows: a batch's counts,
/// of f32 with those of its values, wait in memory for its turn.
std::size_t Run::batches_in_flight() const {
    const std::uint64_t summaries = options_.group_by != GroupBy::none ? 2 : 1;  // of the set, and of groups
    const std::uint64_t analysis =
        summaries * 5 *
        (std::max<std::uint64_t>(65536, options_.histogram.bins) * 8 + FrequencyTable::most_memory_bytes);
    const auto threads = static_cast<std::uint64_t>(threads_);
    return std::clamp<std::uint64_t>(memory_ / 4 / analysis, threads + 1, 32 * threads);
}

std::vector<Input> Run::next_inputs(InputStream& stream, std::size_t most) {
    const StageClock clock(summary_.stages, Stage::list);
    try {
        return stream.next(most, [this] {
            if (interrupted()) end(End::interrupted);
            return end_ != End::none;
        });
    } catch (const Error& error) {
        console_.say(error.what());
        end(options_.inputs.manifest ? End::data : End::errors);
    }
    return {};
}

/// Small images form batches, because the work per batch would cost as much as they do. Large images come one by one,
/// so that all threads have work to the end. A GPU that decodes JPEGs decodes many at once. All images come one by one
/// if many wait for one that takes long.
std::size_t Run::inputs_at_once() const {
    constexpr double most = 32;
    const double seconds = jpegs_.works() ? 32e-3 : 2e-3;
    const double each = seconds_an_input_;
    const bool many_wait = inputs_in_flight_ > 2 * static_cast<std::size_t>(most) * static_cast<std::size_t>(threads_);
    return each > 0 && !many_wait ? static_cast<std::size_t>(std::clamp(seconds / each, 1.0, most)) : 1;
}

Batch Run::batch_of(std::vector<Input> inputs) {
    Batch batch(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        Outcome& outcome = batch[i];
        outcome.input = std::move(inputs[i]);
        unmatched_.erase(outcome.input.path);
        if (names_) outcome.names = names_->take(outcome.input);
        if (files_of_images_ && output_->may_replace()) output_->protect(outcome.input.file_path());
        outcome.left_out = !shard_.has(outcome.input.index);
        if (results_.pass() == 2) results_.look_back(outcome);
    }
    return batch;
}

void Run::measure(Batch& batch) {
    const auto start = Clock::now();
    const bool decoded_on_gpu = jpegs_.works();
    for (Outcome& outcome : batch)
        if (shard_.has(outcome.input.index) &&
            (results_.stamped() || outcome.input.listed_bytes || outcome.input.listed_mask)) {
            outcome.input.stamp = measurer_.stamp_of(outcome.input);
            refuse_changed(outcome.input);
            if (outcome.first_stamp) refuse_changed_since(*outcome.first_stamp, outcome.input);
        }
    measurer_.measure(batch);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const double now = seconds / static_cast<double>(batch.size()), before = seconds_an_input_;
    if (jpegs_.works() != decoded_on_gpu)
        seconds_an_input_ = 0;  // from now on the pace is another
    else
        seconds_an_input_ = before > 0 ? 0.75 * before + 0.25 * now : now;
}

void Run::find_unmatched() {
    for (const auto& [path, rectangles] : measurer_.rectangles()) unmatched_[path] = rectangles.size();
}

/// Goes past the inputs that are done. Returns false where all is to be measured anew.
bool Run::skip(InputStream& stream, std::uint64_t done) {
    for (std::uint64_t left = done; left > 0 && end_ == End::none;) {
        auto inputs = next_inputs(stream, static_cast<std::size_t>(std::min<std::uint64_t>(left, 1024)));
        if (inputs.empty() && end_ == End::none)
            throw UsageError("--resume: there are fewer inputs than in the interrupted run in " +
                             options_.output.string() + ": start again without --resume");
        if (results_.stamped()) stamp(inputs);
        for (const Input& input : inputs) {
            if (!results_.skip(input)) return false;
            unmatched_.erase(input.path);
            if (names_) names_->take(input);
        }
        left -= inputs.size();
    }
    return true;
}

/// Compares all inputs with a finished run. Returns whether there is nothing to do.
bool Run::is_finished() {
    const auto& list = options_.inputs.files_from;
    std::error_code ignored;
    if (!list || fs::is_regular_file(*list, ignored)) {  // it can be read again
        InputStream stream(inputs_, [](const std::string&) {});
        for (;;) {
            auto inputs = next_inputs(stream, 1024);
            if (inputs.empty()) break;
            stamp(inputs);
            for (const Input& input : inputs) results_.compare(input);
        }
        if (end_ != End::none) return true;
        stream.end();
        inputs_ = list_inputs();
    }
    return results_.settle_finished();
}

void Run::stamp(std::vector<Input>& inputs) {
    tbb::parallel_for_each(inputs, [this](Input& input) {
        if (shard_.has(input.index)) input.stamp = measurer_.stamp_of(input);
    });
}

/// Begins with the first input again.
void Run::list_again(InputStream& stream) {
    const auto& list = options_.inputs.files_from;
    std::error_code ignored;
    if (list && list != "-" && !fs::is_regular_file(*list, ignored))
        throw UsageError("--resume: " + *list + ": a pipe, which cannot be read again: start again without --resume");
    stream.end();
    if (list == "-") std::rewind(stdin);
    inputs_ = list_inputs();
    find_unmatched();
}

/// Gives each image its part of the threads where there are fewer images left than threads.
void Run::share_threads() {
    const std::size_t waiting = waiting_, left = waiting + inputs_in_flight_;
    const bool few = waiting != unknown && left > 0;
    measurer_.use_threads(few ? std::max(1, threads_ / static_cast<int>(std::min<std::size_t>(left, 1024))) : 1);
}

/// Measures all inputs that are not done yet. Returns false if the finished inputs must be measured again too.
bool Run::pass_through(std::uint64_t done) {
    InputStream stream(inputs_, [this](const std::string& text) {
        if (results_.pass() == 1) console_.note(text);
    });
    if (files_of_images_ && options_.inputs.listed()) names_.emplace();
    if (!skip(stream, done)) {
        list_again(stream);
        return false;
    }
    progress_ = std::make_unique<Progress>(console_, options_);
    progress_->skip(results_.own_inputs());

    using BatchPointer = std::shared_ptr<Batch>;
    const auto begin = [&](tbb::flow_control& flow) -> BatchPointer {
        auto inputs = next_inputs(stream, inputs_at_once());
        const auto [waiting, more] = stream.waiting();
        engines_.expect(shard_.own(waiting), more);
        inputs_in_flight_ += inputs.size();
        waiting_ = more ? unknown : shard_.own(waiting);
        share_threads();
        if (!inputs.empty()) return std::make_shared<Batch>(batch_of(std::move(inputs)));
        flow.stop();
        return nullptr;
    };
    const auto work = [&](BatchPointer batch) {
        measure(*batch);
        return batch;
    };
    const auto finish = [&](const BatchPointer& batch) {
        record(*batch);
        inputs_in_flight_ -= batch->size();
        share_threads();
    };
    tbb::task_arena arena(threads_);
    const ThreadsNearGpus near(arena, near_processors(options_.gpus));
    arena.execute([&] {
        using tbb::filter_mode;
        tbb::parallel_pipeline(batches_in_flight(),
                               tbb::make_filter<void, BatchPointer>(filter_mode::serial_in_order, begin) &
                                   tbb::make_filter<BatchPointer, BatchPointer>(filter_mode::parallel, work) &
                                   tbb::make_filter<BatchPointer, void>(filter_mode::serial_in_order, finish));
    });
    progress_.reset();
    summary_.left_out = stream.left_out();
    const bool all_listed = !stream.waiting().second;
    if (all_listed && results_.pass() == 1 && !options_.inputs.listed())
        for (const std::string& line : notes_on(options_.inputs.walk, summary_.left_out)) console_.note(line);
    return true;
}

void Run::measure_many() {
    const std::uint64_t done = results_.begin();
    if (results_.only_to_finish() || (results_.finished() && is_finished())) return unmatched_.clear();
    engines_.start();
    measurer_.reuse_memory(static_cast<std::size_t>(memory_ / 4));
    cv::setNumThreads(1);  // the images share the cores already
    if (measure_passes(done)) return;
    results_.begin_anew();
    measurer_.begin_first_pass();
    measure_passes(0);
}

/// Returns false where inputs that are done are to be measured anew.
bool Run::measure_passes(std::uint64_t done) {
    if (results_.pass() == 1) {
        if (!pass_through(done)) return false;
        if (!options_.linked || end_ != End::none) return true;
        inputs_ = list_inputs();
        results_.begin_second_pass();
        done = 0;
    }
    std::vector<LutSet> luts = results_.luts();
    for (const LutSet& tables : luts)
        if (tables.leaves_all())
            console_.note(std::string("the table of all ") + to_string(tables.depth) +
                          " images leaves every value as it is: their copies are unchanged");
    measurer_.use_luts(std::move(luts));
    measurer_.begin_second_pass();
    return pass_through(done);
}

int Run::exit_code() const {
    const auto any = [&](const char* kind) { return results_.errors().count(kind) > 0; };
    if (end_ == End::refused) return usage_error;
    if (end_ == End::engine || any("engine")) return engine_failed;
    if (end_ == End::locked) return output_locked;
    if (end_ == End::data) return data_refused;
    if (end_ == End::output || any("output") || any("no_space") || console_.failed()) return output_failed;
    if (end_ == End::interrupted) return was_interrupted;
    return results_.failed() > 0 || end_ == End::errors ? inputs_failed : all_done;
}

/// Says which lines of --rois are of no image. A shard may not have seen them all.
void Run::say_unmatched() {
    constexpr std::size_t most = 5;
    if (unmatched_.empty() || (options_.shard && (options_.inputs.manifest || options_.inputs.pages))) return;
    std::size_t lines = 0, named = 0;
    std::string names;
    for (const auto& [path, count] : unmatched_) {
        lines += count;
        if (++named <= most) names += (names.empty() ? "" : ", ") + path;
    }
    if (named > most) names += " and " + std::to_string(named - most) + " more paths";
    console_.note(options_.rectangles_from + ": " + counted(lines, "line") + (lines == 1 ? " is" : " are") +
                  " for images that are not among the inputs: " + names);
}

void Run::say_end() {
    std::string text;
    if (end_ == End::interrupted) text = "interrupted";
    if (end_ == End::errors) text = "stopped after " + counted(results_.failed(), "error");
    if (end_ == End::output || end_ == End::data || end_ == End::engine || end_ == End::refused) text = "stopped";
    if (text.empty() || single_) return;
    const std::uint64_t done = results_.own_inputs();
    text += ": " + counted(done, "input") + (done == 1 ? " is done" : " are done");
    if (results_.resumable() && !options_.temporary) text += "; the same command with --resume continues";
    console_.say(text);
}

int Run::execute() {
    const auto start = Clock::now();
    std::optional<tbb::global_control> control;
    if (!single_) control.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads_));
    try {
        look_before_writing();
        if (!single_) watch_for_interruption();
        if (options_.die_with_parent) watch_parent();
        if (single_)
            measure_one();
        else
            measure_many();
        if (end_ == End::none || single_) say_unmatched();
        if (end_ == End::none || end_ == End::reader || single_)
            results_.finish();
        else if (end_ == End::refused)
            results_.abandon();
        else
            results_.checkpoint();
    } catch (const UsageError& error) {
        console_.say(error.what());
        return usage_error;
    } catch (const IoError& error) {
        console_.say(error.what());
        end(end_of(error));
    } catch (const Error& error) {
        console_.say(error.what());
        end(End::engine);
    }
    summary_.inputs = results_.own_inputs();
    summary_.images = results_.images();
    summary_.measured_now = results_.images_now();
    summary_.pixels = results_.pixels();
    summary_.errors = results_.errors();
    summary_.threads = threads_;
    summary_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (!single_ && results_.inputs() > 0 && !results_.finished()) console_.note(summary_text(summary_));
    say_end();
    return exit_code();
}

}  // namespace

int run(const Options& given, RunSummary* summary, const EngineFactory& make, const JpegFactory& make_jpegs) {
    Options options = given;
    if (options.memory == 0) options.memory = available_memory() / 4;
    if (options.all_gpus)
        for (const GpuInfo& gpu : gpus()) options.gpus.push_back(gpu.index);
    options.inputs.most_member_bytes = options.memory / 4;
    options.inputs.most_page_bytes = options.decode.most_page_bytes = options.memory / 8;
    // More threads than processors would be complained about by the library that makes them.
    cv::setNumThreads(std::min(usable_processors(), threads_of(options)));
    Console console(options.quiet);
    const auto unwritten = [&console](const std::string& name) { console.note(unwritten_text(name)); };
    options.inputs.unwritten = options.decode.unwritten = unwritten;
    options.decode.while_reading = end_if_interrupted;
    RunSummary own;
    try {
        if (!options.dry_run && options.write.value_or(Writes{true, true, true, true}).any())
            check_output_directory(options.output, "--output");
        if (!options.dry_run && options.tables_to.has_parent_path())
            check_output_directory(options.tables_to.parent_path(), "--lut-out");
    } catch (const IoError& error) {
        console.say(error.what());
        return output_failed;
    }
    try {
        read_thresholds(options);
        if (options.inputs.manifest_path) open_manifest(options);
        if (options.dry_run) {
            if (takes_pages_of_standard_input(options)) keep_standard_input();
            return options.inputs.manifest ? read_data([&] { return list_inputs(options); }) : list_inputs(options);
        }
        options.normalization.reference = read_reference(options);
        return Run(options, summary ? *summary : own, make, make_jpegs, console).execute();
    } catch (const UsageError& error) {
        console.say(error.what());
        return usage_error;
    } catch (const DataError& error) {
        console.say(error.what());
        return data_refused;
    } catch (const IoError& error) {
        console.say(error.what());
        return inputs_failed;
    }
}

}  // namespace gpuhist::app
