/// The engines of a run, shared by the threads that need one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/console.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "run/engine_choice.hpp"
#include "run/stages.hpp"

namespace gpuhist::app {

/// Function that makes engines, as make_engine.
using EngineFactory = std::function<std::unique_ptr<Engine>(std::string_view name, const EngineOptions& options)>;

/// Number in place of that of a GPU.
inline constexpr int any_gpu = -1;

/// A job, and the engine that did it.
struct Task {
    Job job;
    std::string engine;
    int gpu = any_gpu;          ///< that did it; before: where its pixels are, in device memory
    double decode_seconds = 0;  ///< time that a thread spent on a JPEG: a GPU may save it
};

/// Engines of a run: on each GPU a few, each with a stream of its own, so that one image's pixels travel while
/// another's are counted; small images share launches. Work goes to the GPU that has the least of it, and if one of
/// several GPUs fails, the others do its work. On the CPU one of a single thread for each thread of the run, since
/// these share the cores already, and one of all threads for an image that is alone.
///
/// `auto` begins on the CPU. Where enough work waits (EngineChoice) a thread makes an engine on the GPU beside it,
/// which takes over when it is ready, and gives back what it does more slowly.
class EnginePool {
  public:
    /// `name`: `auto`, `cuda` or `cpu`. `gpus`: numbers of the GPUs, at least one. `threads`: those of the run.
    /// `cpu_too`: the CPU finds part of what is asked, also with an engine on the GPU; then every thread of the run may
    /// have such an engine.
    EnginePool(std::string name, const EngineOptions& options, const std::vector<int>& gpus, EngineFactory make,
               Console& console, const GpuTerms& terms, int threads, bool cpu_too = false);
    /// Waits for an engine that is being made.
    ~EnginePool();
    EnginePool(const EnginePool&) = delete;
    EnginePool& operator=(const EnginePool&) = delete;

    /// Makes the first engine, unless that was done. Throws as make_engine.
    void start();
    /// Whether a GPU works at present.
    bool on_gpu() const { return on_gpu_; }
    /// Whether a GPU works at present, or may work later: `auto` has not judged yet, or its engine is being made.
    bool may_use_gpu() const { return on_gpu_ || undecided_ || coming_; }
    /// Takes note of a JPEG that a GPU could decode. Starts the GPU if the rest of the list is worth it, and waits
    /// until its engine is there, until there will be none, or until that takes twice as long as usual. Waiting pays: a
    /// GPU decodes several times as fast as the CPU, and its context takes several times as long to make while the CPU
    /// is busy with files.
    void wait_for_gpu(std::int64_t pixels);

    /// Tells how much work is left: `waiting` images, and `more` if the list is not complete. Safe to call from several
    /// threads.
    void expect(std::uint64_t waiting, bool more);

    /// Does the tasks, as Engine::run: an image of any size, or small ones. Images in device memory are of one GPU,
    /// whose engine does them. If the GPU lacks memory for a task, the task is tried again when nobody else uses the
    /// GPUs. If the GPU cannot do it and the engine is `auto`, the task goes to the CPU, and a note says so once. The
    /// CPU refuses images in device memory. `alone`: no other image needs the cores. Throws nothing. Safe to call from
    /// several threads.
    void run(std::vector<Task>& tasks, bool alone, StageClock& clock);

    class StripTask;
    /// Begins the analysis of an image that comes in strips, as Engine::analyze_strips, on an engine of its own. If the
    /// GPU cannot count it in strips and the engine is `auto`, the CPU does it. Also throws as make_engine.
    StripTask analyze_strips(const ImageView& image, const AnalysisRequest& request, Analysis& result,
                             const Normalization* copies, bool alone);
    /// Takes note that the GPU failed amid an image. Returns whether the CPU does the rest: the choice is ours.
    bool does_without_gpu(const CudaError& error);

    static bool is_small(const ImageView& image) {
        return image.packed_row_bytes() * image.height <= Engine::small_image_bytes;
    }

  private:
    static constexpr int gpu_lanes = 4;

    /// Engines on a GPU. Those that are not idle are lent.
    struct Gpu {
        int number;
        int lanes;     ///< the most
        int made = 0;  ///< those there are
        bool failed = false;
        std::vector<std::unique_ptr<Engine>> idle{};

        int busy() const { return made - static_cast<int>(idle.size()); }
        bool free() const { return !failed && (!idle.empty() || made < lanes); }
    };

    /// Options of engines that work side by side on a GPU: where these are many, each has one thread.
    EngineOptions lane_options(const Gpu& gpu) const {
        EngineOptions of = options_;
        of.gpu = gpu.number;
        if (cpu_too_) of.threads = 1;
        return of;
    }

    /// Use that an engine is lent for.
    enum class Use { lane, whole_gpu, narrow, wide };

    /// An engine that is the holder's until this goes out of scope.
    class Lease {
      public:
        Lease(EnginePool& engines, std::unique_ptr<Engine> engine, Use use, Gpu* gpu = nullptr)
            : engines_(&engines), engine_(std::move(engine)), use_(use), gpu_(gpu) {}
        Lease(Lease&&) noexcept = default;
        Lease& operator=(Lease&&) = delete;
        ~Lease() {
            if (engine_) engines_->give_back(std::move(engine_), use_, gpu_);
        }
        Engine& operator*() const { return *engine_; }
        /// Number of its GPU.
        int gpu() const { return gpu_ ? gpu_->number : any_gpu; }

      private:
        EnginePool* engines_;
        std::unique_ptr<Engine> engine_;
        Use use_;
        Gpu* gpu_;
    };

    /// The small images of one thread, until they are done.
    struct Request {
        std::vector<Task>* tasks;
        int gpu;  ///< on which they must be done
        bool taken = false, done = false;
    };

    using Clock = std::chrono::steady_clock;

  public:
    /// Analysis on an engine that nobody else has until this goes out of scope.
    class StripTask {
      public:
        StripTask(Lease engine, std::unique_ptr<StripAnalysis> analysis)
            : engine_(std::move(engine)), analysis_(std::move(analysis)) {}
        std::string engine() const { return std::string((*engine_).name()); }
        void take(const ImageView& strip) { analysis_->take(strip); }
        bool end_pass() { return analysis_->end_pass(); }
        void copy(const ImageView& strip, const MutableImageView& output) { analysis_->copy(strip, output); }

      private:
        Lease engine_;
        std::unique_ptr<StripAnalysis> analysis_;
    };

  private:
    bool automatic() const { return name_ == "auto"; }
    void choose(const std::vector<Task>& tasks, double seconds);
    void begin_gpu();
    void begin_gpu_aside();
    Lease take(bool alone, int gpu = any_gpu);
    Lease take_cpu(bool alone);
    Lease take_whole_gpu(int gpu);
    bool may_come(int gpu) const;
    Gpu* free_gpu(int gpu);
    std::optional<Lease> take_lane(std::unique_lock<std::mutex>& lock, Gpu& gpu);
    void give_back(std::unique_ptr<Engine> engine, Use use, Gpu* gpu);

    void share_lane(std::vector<Task>& tasks, bool alone, StageClock& clock);
    std::vector<Request*> take_requests(int gpu);
    void try_again(Task& task, bool alone, StageClock& clock);
    void pass_over_gpu(const std::string& why);
    void abandon_gpu(const std::string& why);
    bool leave_gpu();
    bool does_without(int gpu, const std::string& why);

    const std::string name_;
    const EngineOptions options_;
    const EngineFactory make_;
    Console& console_;
    const int threads_;

    std::mutex mutex_;
    std::condition_variable changed_;
    bool started_ = false, passed_over_ = false;
    EngineChoice choice_;
    std::thread maker_;                   ///< of the first engine on the GPU, if it was begun
    Clock::time_point begin_{}, warm_{};  ///< of the run; when the GPU is at its usual pace
    Clock::time_point patience_{};        ///< how long JPEGs wait for it
    std::uint64_t expected_ = 0;
    bool more_expected_ = false;
    bool judged_ = false;  ///< the GPU
    std::atomic<bool> on_gpu_{false}, coming_{false};
    std::atomic<bool> undecided_{false};  ///< the GPU was not begun yet, and may be
    const bool cpu_too_;
    std::vector<Gpu> gpus_;
    bool exclusive_ = false;         ///< somebody has, or waits for, a whole GPU
    std::vector<Request*> waiting_;  ///< for a lane, first come first served
    std::vector<std::unique_ptr<Engine>> cpu_;
    std::unique_ptr<Engine> wide_;
    bool wide_made_ = false;
};

}  // namespace gpuhist::app
