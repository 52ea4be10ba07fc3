/// Threads of a run near a GPU: on processors from which its memory bus is close. Machines with several GPUs often have
/// several NUMA nodes, and files that are staged in the memory of one are slow to reach the GPUs of another.
#pragma once

#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <sched.h>
#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "gpuhist/engine.hpp"

namespace gpuhist::app {

/// Numbers of the processors near a GPU.
struct NearProcessors {
    int gpu;
    std::vector<int> processors;
};

/// Processors near each of these GPUs, as the system says in `devices`. Empty if they are the same for all GPUs, or not
/// known of one.
std::vector<NearProcessors> near_processors(const std::vector<GpuInfo>& gpus, const std::filesystem::path& devices);
/// Processors near the GPUs of this machine with these numbers.
std::vector<NearProcessors> near_processors(const std::vector<int>& gpus);

/// GPU near which the calling thread runs; any_gpu if it may run anywhere.
int near_gpu();

/// Keeps the threads of an arena near GPUs in turn, while it exists. A thread that leaves the arena, or stays longer
/// than this, may run where it could before.
class ThreadsNearGpus final : public tbb::task_scheduler_observer {
  public:
    /// Does nothing if there are no GPUs.
    ThreadsNearGpus(tbb::task_arena& arena, std::vector<NearProcessors> gpus)
        : tbb::task_scheduler_observer(arena), gpus_(std::move(gpus)) {
        if (!gpus_.empty()) observe(true);
    }
    ~ThreadsNearGpus() override;
    ThreadsNearGpus(const ThreadsNearGpus&) = delete;
    ThreadsNearGpus& operator=(const ThreadsNearGpus&) = delete;

    void on_scheduler_entry(bool is_worker) override;
    void on_scheduler_exit(bool is_worker) override;

  private:
    struct Entered {
        pid_t thread;
        cpu_set_t before;  ///< where it could run
    };

    const std::vector<NearProcessors> gpus_;
    const std::shared_ptr<const int> exists_ = std::make_shared<int>();
    std::mutex mutex_;
    std::size_t next_ = 0;
    std::vector<Entered> entered_;
};

}  // namespace gpuhist::app
