/// Stages of a run, and the time that goes into each.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace gpuhist::app {

/// Step that is done for an image, or waited for. `list` and `rows` are done by one thread at a time, the others by
/// all.
enum class Stage : std::uint8_t { list, memory, read, decode, engine, analyze, write, rows };
inline constexpr std::array<const char*, 8> stage_names{
    "list", "wait for memory", "read", "decode", "wait for an engine", "analyze", "write", "rows"};

/// Time that all threads together have spent on each stage.
class StageTimes {
  public:
    void add(Stage stage, std::chrono::steady_clock::duration time) {
        nanoseconds_[static_cast<std::size_t>(stage)].fetch_add(
            std::chrono::duration_cast<std::chrono::nanoseconds>(time).count(), std::memory_order_relaxed);
    }
    void add(const StageTimes& others) {
        for (std::size_t i = 0; i < nanoseconds_.size(); ++i)
            nanoseconds_[i].fetch_add(others.nanoseconds_[i].load(std::memory_order_relaxed),
                                      std::memory_order_relaxed);
    }
    double seconds(Stage stage) const {
        return static_cast<double>(nanoseconds_[static_cast<std::size_t>(stage)].load()) * 1e-9;
    }

  private:
    std::array<std::atomic<std::int64_t>, stage_names.size()> nanoseconds_{};
};

/// Adds the time from one `enter` to the next, or to its end, to the stage that was entered.
class StageClock {
  public:
    StageClock(StageTimes& times, Stage stage) : times_(times), stage_(stage) {}
    ~StageClock() { enter(stage_); }
    StageClock(const StageClock&) = delete;
    StageClock& operator=(const StageClock&) = delete;
    void enter(Stage stage) {
        const auto now = std::chrono::steady_clock::now();
        times_.add(stage_, now - since_);
        since_ = now;
        stage_ = stage;
    }

  private:
    StageTimes& times_;
    Stage stage_;
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace gpuhist::app
