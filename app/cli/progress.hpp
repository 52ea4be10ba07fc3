/// Progress of a run, and a line about it in the end.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "cli/console.hpp"
#include "run/options.hpp"
#include "run/run_summary.hpp"

namespace gpuhist::app {

/// A line on the terminal, redrawn by a thread of its own; nothing without a terminal.
class Progress {
  public:
    /// Counts the inputs, of a shard its own, in a second walk, so as to tell the time left.
    Progress(Console& console, const Options& options);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Inputs of the shard that were done before.
    void skip(std::uint64_t inputs) { skipped_ = inputs; }
    void add(std::uint64_t pixels, bool failed) {
        pixels_.fetch_add(pixels, std::memory_order_relaxed);
        errors_.fetch_add(failed, std::memory_order_relaxed);
        done_.fetch_add(1, std::memory_order_relaxed);
    }

  private:
    struct Total;
    std::string line(double seconds) const;

    Console& console_;
    std::atomic<std::uint64_t> skipped_{0}, done_{0}, pixels_{0}, errors_{0};
    std::shared_ptr<Total> total_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool end_ = false;
    std::thread drawer_;
};

/// Inputs, errors by kind, speed, and the stage that was the limit.
std::string summary_text(const RunSummary& summary);

}  // namespace gpuhist::app
