/// Memory that images in flight share.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace gpuhist::app {

/// Budget of bytes, which are requested before memory is allocated. A request for more than the whole budget waits
/// until nobody else holds any.
class MemoryBudget {
  public:
    explicit MemoryBudget(std::uint64_t bytes)
        : limit_(bytes), step_(std::clamp<std::uint64_t>(bytes / 1024, 1, std::uint64_t{1} << 18)) {}

    std::uint64_t limit() const { return limit_; }

    /// Bytes that the images of one thread hold, until it goes out of scope.
    class Share {
      public:
        explicit Share(MemoryBudget& budget) : budget_(budget) {}
        ~Share() { budget_.give_back(bytes_); }
        Share(const Share&) = delete;
        Share& operator=(const Share&) = delete;
        std::uint64_t bytes() const { return bytes_; }
        /// Waits until there is room for `bytes` in all. To avoid deadlocks, nobody keeps bytes while waiting for more;
        /// tasks that have begun and need more are served before new ones. Small amounts are rounded up and kept, so
        /// small images seldom have to wait here.
        void require(std::uint64_t bytes) {
            const std::uint64_t step = budget_.step_;
            const std::uint64_t rounded = std::max(bytes, std::min((bytes + step - 1) / step * step, 16 * step));
            if (rounded == bytes_ || (bytes <= bytes_ && bytes_ <= 16 * step)) return;
            if (rounded > bytes_) budget_.exchange(bytes_, rounded);
            if (rounded < bytes_) budget_.give_back(bytes_ - rounded);
            bytes_ = rounded;
        }

      private:
        MemoryBudget& budget_;
        std::uint64_t bytes_ = 0;
    };

  private:
    void exchange(std::uint64_t held, std::uint64_t wanted) {
        std::unique_lock lock(mutex_);
        used_ -= held;
        if (held > 0) changed_.notify_all();
        const auto fits = [&] { return used_ == 0 || used_ + wanted <= limit_; };
        if (held > 0) {
            ++growing_;
            changed_.wait(lock, fits);
            --growing_;
        } else {
            const std::uint64_t turn = next_turn_++;
            changed_.wait(lock, [&] { return turn == turn_ && growing_ == 0 && fits(); });
            ++turn_;
        }
        used_ += wanted;
        changed_.notify_all();
    }
    void give_back(std::uint64_t bytes) {
        if (bytes == 0) return;
        const std::lock_guard lock(mutex_);
        used_ -= bytes;
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    const std::uint64_t limit_, step_;
    std::uint64_t used_ = 0;
    std::uint64_t turn_ = 0, next_turn_ = 0;  ///< of those who begin, first come first served
    int growing_ = 0;
};

}  // namespace gpuhist::app
