#include "files.hpp"

#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <opencv2/core.hpp>
#include <thread>
#include <utility>

#include "cli/console.hpp"
#include "fork.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/resources.hpp"
#include "run/engine_pool.hpp"
#include "run/image_task.hpp"
#include "run/input_stream.hpp"
#include "run/inputs.hpp"
#include "run/memory_budget.hpp"
#include "run/options.hpp"
#include "run/output_directory.hpp"
#include "run/result_sink.hpp"

namespace gpuhist::python {
namespace {

app::Options options_of(AskedFiles files, const Asked& asked) {
    app::Options options;
    options.inputs.arguments = std::move(files.arguments);
    options.inputs.walk = std::move(files.walk);
    if (files.every_page) options.inputs.pages = app::PageSelection{{{}}};
    if (files.page > 0) options.inputs.pages = app::PageSelection{{{files.page, files.page}}};
    options.write = app::Writes{};
    static_cast<app::ImageRequest&>(options) = asked;
    options.masks = std::move(files.masks);
    options.labels = std::move(files.labels);
    options.label_zero = files.label_zero;
    options.engine = asked.engine;
    options.engine_options.threads = asked.threads;
    options.engine_options.gpu = asked.gpu;
    options.decode.on_damaged = files.on_damaged;
    if (files.max_pixels) options.decode.max_pixels = options.max_pixels_in_strips = *files.max_pixels;
    options.format = "none";
    options.quiet = true;
    options.memory = files.memory;
    return options;
}

}  // namespace

class Files::Run final : public Halting {
  public:
    Run(AskedFiles files, const Asked& asked)
        : asked_(asked),
          options_(options_of(std::move(files), asked)),
          threads_(options_.engine_options.threads > 0 ? options_.engine_options.threads : available_threads()),
          memory_(options_.memory > 0 ? options_.memory : available_memory() / 4),
          output_(options_.output, false, console_),
          inputs_(std::make_shared<app::InputList>(options_.inputs, options_.output)),
          single_(inputs_->single()),
          stream_(inputs_, [](const std::string&) {}),
          engines_(options_.engine, options_.engine_options, options_.gpus_used(), make_engine, console_,
                   options_.gpu_terms, threads_, !single_ && !options_.measures.of_pixels().empty()),
          jpegs_(options_.jpeg_on, options_.gpus_used(), app::make_jpeg_lane, engines_, console_),
          budget_(memory_),
          measurer_(options_, output_, engines_, jpegs_, budget_, sinks_, times_, single_, threads_) {
        measurer_.keep_analyses(asked.detail == AskedDetail::brief ? Detail::brief : Detail::full,
                                asked.detail == AskedDetail::values);
        if (!single_) measurer_.reuse_memory(static_cast<std::size_t>(memory_ / 4));
        worker_ = std::thread([this] { execute(); });
    }

    ~Run() override {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        changed_.notify_all();
        worker_.join();
    }

    void halt() override {
        const std::lock_guard lock(mutex_);
        halting_ = true;
        changed_.notify_all();
    }
    void wait_for_halt() override {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::seconds(10), [this] { return halted_ || ended_; });
    }
    void go_on() override {
        const std::lock_guard lock(mutex_);
        halting_ = false;
        changed_.notify_all();
    }

    /// Tells whether it is this process's, and not that of which this one is a fork.
    bool own() const { return process_ == getpid(); }

    std::optional<FileOutcome> next(int milliseconds) {
        if (!own())
            throw EngineUnavailable("the run over these files belongs to the process that this one was forked from");
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return !done_.empty() || ended_; });
        if (done_.empty()) {
            if (ended_ && error_) {
                thrown_ = std::exchange(error_, nullptr);
                std::rethrow_exception(thrown_);
            }
            return std::nullopt;
        }
        FileOutcome outcome = std::move(done_.front());
        done_.pop_front();
        --outstanding_;
        ++taken_;
        lock.unlock();
        changed_.notify_all();
        return outcome;
    }

    bool ended() const {
        const std::lock_guard lock(mutex_);
        return ended_ && done_.empty();
    }

    void rethrow() const {
        const std::lock_guard lock(mutex_);
        if (thrown_) std::rethrow_exception(thrown_);
    }

    std::uint64_t taken() const {
        const std::lock_guard lock(mutex_);
        return taken_;
    }

  private:
    void execute() {
        try {
            engines_.start();
            while (!listed_ && !stopped()) {
                wait_while_halting();
                tbb::task_arena arena(threads_of_arena(threads_));
                arena.execute([this] { pass_through(); });
            }
        } catch (...) {
            end(std::current_exception());
        }
        const std::lock_guard lock(mutex_);
        ended_ = true;
        changed_.notify_all();
    }

    void pass_through() {
        using tbb::filter_mode;
        using Pointer = std::shared_ptr<app::Batch>;
        const auto begin = [this](tbb::flow_control& flow) -> Pointer {
            std::vector<app::Input> inputs;
            if (wait_for_room()) {
                inputs = stream_.next(1, [this] { return pausing(); });
                if (inputs.empty()) give_room();
            }
            if (inputs.empty()) {
                listed_ = !pausing();
                flow.stop();
                return nullptr;
            }
            const auto [waiting, more] = stream_.waiting();
            engines_.expect(waiting, more);
            auto batch = std::make_shared<app::Batch>(1);
            batch->front().input = std::move(inputs.front());
            return batch;
        };
        const auto work = [this](Pointer batch) {
            if (!stopped()) measurer_.measure(*batch);
            return batch;
        };
        const auto finish = [this](const Pointer& batch) {
            if (!stopped()) take(batch->front());
        };
        tbb::parallel_pipeline(static_cast<std::size_t>(2 * threads_),
                               tbb::make_filter<void, Pointer>(filter_mode::serial_in_order, begin) &
                                   tbb::make_filter<Pointer, Pointer>(filter_mode::parallel, work) &
                                   tbb::make_filter<Pointer, void>(filter_mode::serial_in_order, finish));
    }

    /// Results wait in memory until somebody takes them: of 16 bits each has megabytes of counts.
    bool wait_for_room() {
        const std::size_t most = std::clamp<std::size_t>(static_cast<std::size_t>(memory_ >> 25), 1, 64) +
                                 2 * static_cast<std::size_t>(threads_);
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopped_ || halting_ || outstanding_ < most; });
        if (stopped_ || halting_) return false;
        ++outstanding_;
        return true;
    }
    void give_room() {
        const std::lock_guard lock(mutex_);
        --outstanding_;
    }

    /// Halts where no other thread works for the run.
    void wait_while_halting() {
        std::unique_lock lock(mutex_);
        halted_ = halting_;
        if (halted_) changed_.notify_all();
        changed_.wait(lock, [this] { return !halting_ || stopped_; });
        halted_ = false;
    }

    bool pausing() const {
        const std::lock_guard lock(mutex_);
        return stopped_ || halting_;
    }

    bool stopped() const {
        const std::lock_guard lock(mutex_);
        return stopped_;
    }

    void end(std::exception_ptr why) {
        const std::lock_guard lock(mutex_);
        if (!stopped_) error_ = std::move(why);
        stopped_ = true;
        changed_.notify_all();
    }

    /// Hands over what came of an input, or ends the run with it.
    void take(app::Outcome& outcome) {
        if (outcome.end) {
            const std::string& message = outcome.end->message;
            return end(outcome.engine_ended ? std::make_exception_ptr(CudaError(message))
                                            : std::make_exception_ptr(IoError(message)));
        }
        FileOutcome taken;
        taken.path = outcome.input.path;
        if (outcome.failure) {
            taken.kind = outcome.failure->kind;
            taken.message = outcome.failure->message;
        } else {
            auto measurement = std::make_shared<Measurement>();
            measurement->analysis = std::move(outcome.analysis);
            measurement->values = std::move(outcome.values);
            measurement->info = std::move(outcome.result.info);
            measurement->percentiles = asked_.percentiles;
            measurement->clip_sigma = asked_.statistics().clip_sigma;
            measurement->histogram = asked_.histogram;
            measurement->finish(std::move(outcome.result.rows));
            taken.measurement = std::move(measurement);
            for (const app::Remark& remark : outcome.remarks) taken.remarks.push_back(remark.text);
            if (!options_.labels.empty())
                taken.regions = std::make_shared<Regions>(Regions{std::move(outcome.labeled), taken.measurement->info,
                                                                  asked_.percentiles, asked_.statistics().clip_sigma,
                                                                  asked_.histogram});
        }
        {
            const std::lock_guard lock(mutex_);
            done_.push_back(std::move(taken));
        }
        changed_.notify_all();
    }

    const Asked asked_;
    const app::Options options_;
    const int threads_;
    const std::uint64_t memory_;
    app::Console console_{true};
    app::OutputDirectory output_;
    const std::shared_ptr<app::InputList> inputs_;
    const bool single_;
    app::InputStream stream_;
    app::EnginePool engines_;
    app::JpegPool jpegs_;
    app::MemoryBudget budget_;
    const app::Sinks sinks_;
    app::StageTimes times_;
    app::Measurer measurer_;

    const pid_t process_ = getpid();
    mutable std::mutex mutex_;  ///< of what follows
    std::condition_variable changed_;
    std::deque<FileOutcome> done_;
    std::uint64_t taken_ = 0;
    std::size_t outstanding_ = 0;  ///< inputs that were taken from the list, and whose outcome nobody has
    bool stopped_ = false, ended_ = false;
    bool halting_ = false, halted_ = false;  ///< for a fork
    bool listed_ = false;                    ///< all inputs were taken; the worker's alone
    std::exception_ptr error_, thrown_;
    const Listed halting_place_{*this};
    std::thread worker_;
};

Files::Files(AskedFiles files, const Asked& asked) : run_(new Run(std::move(files), asked)) {}
Files::~Files() {
    if (!run_->own()) static_cast<void>(run_.release());  // its threads are not here, nor what they hold
}
std::optional<FileOutcome> Files::next(int milliseconds) {
    return run_->next(milliseconds);
}
bool Files::ended() const {
    return run_->ended();
}
void Files::rethrow() const {
    run_->rethrow();
}
std::uint64_t Files::taken() const {
    return run_->taken();
}

FileRuns::FileRuns(AskedFiles files, const Asked& asked)
    : files_(std::move(files)), asked_(asked), waiting_(std::make_shared<Files>(files_, asked_)) {}

std::shared_ptr<Files> FileRuns::shared() {
    const std::lock_guard lock(mutex_);
    if (!shared_)
        shared_ = latest_ = waiting_ ? std::exchange(waiting_, nullptr) : std::make_shared<Files>(files_, asked_);
    return shared_;
}

std::shared_ptr<Files> FileRuns::take() {
    const std::lock_guard lock(mutex_);
    latest_ = waiting_ ? std::exchange(waiting_, nullptr) : std::make_shared<Files>(files_, asked_);
    return latest_;
}

std::shared_ptr<Files> FileRuns::latest() const {
    const std::lock_guard lock(mutex_);
    return latest_;
}

std::uint64_t FileRuns::count(const std::function<bool()>& stopped) const {
    const app::Options options = options_of(files_, asked_);
    app::InputList list(options.inputs, options.output);
    std::uint64_t inputs = 0;
    for (; list.next(); ++inputs) {
        list.take_notes();
        if (inputs % 1024 == 1023 && stopped()) break;
    }
    return inputs;
}

}  // namespace gpuhist::python
