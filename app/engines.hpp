/// The engines of a run, handed out to the threads that need one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "console.hpp"
#include "gpuhist/engine.hpp"

namespace gpuhist::app {

/// On a GPU a few engines, each with a stream of its own, so that one image's pixels travel while another's are
/// counted. On the CPU one of a single thread for each image in flight, since these share the cores already, and one of
/// all threads for an image that is alone.
class Engines {
  public:
    /// `name` as in make_engine.
    Engines(std::string name, const EngineOptions& options, Console& console);

    /// Makes the first engine, which says what `auto` is, unless that was done. Throws as make_engine.
    void start();

    /// What an engine is lent as.
    enum class Use { lane, whole_gpu, narrow, wide };

    /// An engine that is the holder's until this goes out of scope.
    class Lease {
      public:
        Lease(Lease&&) noexcept = default;
        Lease& operator=(Lease&&) = delete;
        ~Lease() {
            if (engine_) engines_->give_back(std::move(engine_), use_);
        }
        Engine* operator->() const { return engine_.get(); }

      private:
        friend class Engines;
        Lease(Engines& engines, std::unique_ptr<Engine> engine, Use use)
            : engines_(&engines), engine_(std::move(engine)), use_(use) {}
        Engines* engines_;
        std::unique_ptr<Engine> engine_;
        Use use_;
    };

    /// Waits for an engine. `alone`: no other image needs the cores. Throws as make_engine.
    Lease take(bool alone);
    /// An engine on the GPU after all others there have given their memory back.
    Lease take_whole_gpu();
    /// The same as `take`, never on a GPU.
    Lease take_cpu(bool alone);

    /// Whether the first engine is one.
    bool on_gpu() const { return on_gpu_; }
    /// Whether the choice of an engine is ours.
    bool automatic() const { return name_ == "auto"; }
    /// Says once that single images are too large for the GPU.
    void pass_over_gpu(const std::string& why);
    /// From now on there is only the CPU. Says why, once.
    void abandon_gpu(const std::string& why);

  private:
    static constexpr int gpu_lanes = 4;

    void give_back(std::unique_ptr<Engine> engine, Use use);

    const std::string name_;
    const EngineOptions options_;
    Console& console_;

    std::mutex mutex_;
    std::condition_variable returned_;
    bool started_ = false, passed_over_ = false;
    std::atomic<bool> on_gpu_{false};
    int lanes_ = gpu_lanes, made_ = 0;  ///< the most, and those there are: idle in `gpu_` or lent
    bool exclusive_ = false;            ///< somebody has, or waits for, the whole GPU
    std::vector<std::unique_ptr<Engine>> gpu_, cpu_;
    std::unique_ptr<Engine> wide_;
    bool wide_made_ = false;
};

}  // namespace gpuhist::app
