/// The engines of a run, shared by the threads that need one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.hpp"
#include "gpuhist/engine.hpp"
#include "run/stages.hpp"

namespace gpuhist::app {

/// Function that makes engines, as make_engine.
using EngineFactory = std::function<std::unique_ptr<Engine>(std::string_view name, const EngineOptions& options)>;

/// A job, and the engine that did it.
struct Task {
    Job job;
    std::string engine;
};

/// Engines of a run: on a GPU a few, each with a stream of its own, so that one image's pixels travel while another's
/// are counted; small images share launches. On the CPU one of a single thread for each thread of the run, since these
/// share the cores already, and one of all threads for an image that is alone.
class EnginePool {
  public:
    /// `name` as in make_engine.
    EnginePool(std::string name, const EngineOptions& options, EngineFactory make, Console& console);

    /// Makes the first engine, which says what `auto` is, unless that was done. Throws as make_engine.
    void start();
    /// Whether it is an engine on the GPU.
    bool on_gpu() const { return on_gpu_; }

    /// Does the tasks, as Engine::run: an image of any size, or small ones. What the GPU lacks memory for is tried
    /// again when nobody else uses it; what it cannot do goes to the CPU if the choice of an engine is ours, which is
    /// said once. `alone`: no other image needs the cores. Throws nothing. Safe to call from several threads.
    void run(std::vector<Task>& tasks, bool alone, StageClock& clock);

    static bool is_small(const ImageView& image) {
        return image.packed_row_bytes() * image.height <= Engine::small_image_bytes;
    }

  private:
    static constexpr int gpu_lanes = 4;

    /// Use that an engine is lent for.
    enum class Use { lane, whole_gpu, narrow, wide };

    /// An engine that is the holder's until this goes out of scope.
    class Lease {
      public:
        Lease(EnginePool& engines, std::unique_ptr<Engine> engine, Use use)
            : engines_(&engines), engine_(std::move(engine)), use_(use) {}
        Lease(Lease&&) noexcept = default;
        Lease& operator=(Lease&&) = delete;
        ~Lease() {
            if (engine_) engines_->give_back(std::move(engine_), use_);
        }
        Engine& operator*() const { return *engine_; }

      private:
        EnginePool* engines_;
        std::unique_ptr<Engine> engine_;
        Use use_;
    };

    /// The small images of one thread, until they are done.
    struct Request {
        std::vector<Task>* tasks;
        bool taken = false, done = false;
    };

    bool automatic() const { return name_ == "auto"; }
    Lease take(bool alone);
    Lease take_cpu(bool alone);
    Lease take_whole_gpu();
    bool lane_is_free() const;
    std::unique_ptr<Engine> take_lane(std::unique_lock<std::mutex>& lock);
    void give_back(std::unique_ptr<Engine> engine, Use use);

    void share_lane(std::vector<Task>& tasks, bool alone, StageClock& clock);
    std::vector<Request*> take_requests();
    void try_again(Task& task, bool alone, StageClock& clock);
    void pass_over_gpu(const std::string& why);
    void abandon_gpu(const std::string& why);

    const std::string name_;
    const EngineOptions options_;
    const EngineFactory make_;
    Console& console_;

    std::mutex mutex_;
    std::condition_variable changed_;
    bool started_ = false, passed_over_ = false;
    std::atomic<bool> on_gpu_{false};
    int lanes_ = gpu_lanes, made_ = 0;  ///< the most, and those there are: idle in `gpu_` or lent
    bool exclusive_ = false;            ///< somebody has, or waits for, the whole GPU
    std::vector<Request*> waiting_;     ///< for a lane, first come first served
    std::vector<std::unique_ptr<Engine>> gpu_, cpu_;
    std::unique_ptr<Engine> wide_;
    bool wide_made_ = false;
};

}  // namespace gpuhist::app
