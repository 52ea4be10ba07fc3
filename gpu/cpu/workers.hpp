// Threads: how a sweep over the pixels is shared out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>

namespace gpuhist::cpu {

/// Pixels for one thread at a time: enough to hide the hand-out, few enough to balance.
inline constexpr std::int64_t tile_pixels = std::int64_t{1} << 16;

/// Pixels below which a second thread gains nothing.
inline constexpr std::int64_t serial_pixels = std::int64_t{1} << 17;

/// Pixels after which counters of 32 bits are gathered into 64, each pixel adding one to a counter of a channel: no
/// counter passes 2^31.
inline constexpr std::int64_t round_pixels = std::int64_t{1} << 31;

/// Threads of one engine. The thread library is not seen here, so that it is compiled once and not for each sweep.
class Workers {
  public:
    explicit Workers(int threads);
    Workers(Workers&&) noexcept;
    ~Workers();

    int threads() const { return threads_; }

    /// Cuts [0, items) into parts of at most `grain` and calls body(worker, begin, end) for each, from up to `limit`
    /// threads; two calls at a time never share a worker number. Returns when all are done, with the number of workers:
    /// their numbers are below it. Less than `serial_below` items are one call on this thread, and the thread library
    /// is never woken: that would cost more than the work.
    template <class Body>
    int sweep(std::int64_t items, std::int64_t grain, std::int64_t serial_below, int limit, const Body& body) {
        return sweep_by(items, grain, serial_below, limit, std::cref(body));
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
    struct Arena;
    using Part = std::function<void(int worker, std::int64_t begin, std::int64_t end)>;
    int sweep_by(std::int64_t items, std::int64_t grain, std::int64_t serial_below, int limit, const Part& part);

    int threads_;
    std::unique_ptr<Arena> arena_;  ///< from the first sweep on that needs several threads
};

}  // namespace gpuhist::cpu
