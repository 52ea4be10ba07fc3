// Threads: how a sweep over the pixels is shared out.
#pragma once

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "gpuhist/resources.hpp"

namespace gpuhist::cpu {

/// Pixels for one thread at a time: enough to hide the hand-out, few enough to balance.
inline constexpr std::int64_t tile_pixels = std::int64_t{1} << 16;

/// Pixels below which a second thread gains nothing.
inline constexpr std::int64_t serial_pixels = std::int64_t{1} << 17;

/// Pixels after which counters of 32 bits are gathered into 64, each pixel adding one to a counter of a channel: no
/// counter passes 2^31.
inline constexpr std::int64_t round_pixels = std::int64_t{1} << 31;

/// Threads of one engine.
class Workers {
  public:
    explicit Workers(int threads) : threads_(threads) {}

    int threads() const { return threads_; }

    /// Cuts [0, items) into parts of at most `grain` and calls body(worker, begin, end) for each, from up to `limit`
    /// threads; two calls at a time never share a worker number. Returns when all are done, with the number of workers:
    /// their numbers are below it. Less than `serial_below` items are one call on this thread, and the thread library
    /// is never woken: that would cost more than the work.
    template <class Body>
    int sweep(std::int64_t items, std::int64_t grain, std::int64_t serial_below, int limit, const Body& body) {
        const int workers = static_cast<int>(
            std::min<std::int64_t>({std::int64_t{threads_}, std::int64_t{limit}, (items + grain - 1) / grain}));
        if (workers <= 1 || items < serial_below) {
            body(0, std::int64_t{0}, items);
            return 1;
        }
        // The thread library would print a warning if it had fewer threads than it is asked for.
        if (!arena_) arena_.emplace(std::min(threads_, usable_processors()));
        std::atomic<std::int64_t> next{0};
        arena_->execute([&] {
            tbb::parallel_for(
                0, workers,
                [&](int worker) {
                    for (std::int64_t begin; (begin = next.fetch_add(grain, std::memory_order_relaxed)) < items;)
                        body(worker, begin, std::min(begin + grain, items));
                },
                tbb::simple_partitioner());
        });
        return workers;
    }

    /// Sweep over the rows of an image: calls body(worker, first row, end).
    template <class Body>
    void sweep_rows(std::int64_t height, std::int64_t width, const Body& body) {
        const std::int64_t rows = std::max<std::int64_t>(1, tile_pixels / width);
        sweep(height, rows, (serial_pixels + width - 1) / width, threads_, body);
    }

    /// Sweep over pixels by tiles, in rounds: calls body(worker, begin, end), and gather(workers) after each round.
    template <class Body, class Gather>
    void sweep_rounds(std::int64_t pixels, int limit, const Body& body, const Gather& gather) {
        for (std::int64_t start = 0; start < pixels; start += round_pixels)
            gather(sweep(
                std::min(round_pixels, pixels - start), tile_pixels, serial_pixels, limit,
                [&](int worker, std::int64_t begin, std::int64_t end) { body(worker, start + begin, start + end); }));
    }

  private:
    int threads_;
    std::optional<tbb::task_arena> arena_;
};

}  // namespace gpuhist::cpu
