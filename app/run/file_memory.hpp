/// Memory for encoded files that is used again, since the kernel clears what is new.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace gpuhist::app {

/// Memory of files, up to a number of bytes while nobody uses it. Safe to use from several threads.
class FileMemory {
  public:
    using Bytes = std::vector<unsigned char>;

    /// Memory to keep from now on. Without this, none is kept.
    void keep(std::uint64_t bytes) { limit_ = bytes; }

    /// Memory with any contents: the largest that is there, or none.
    Bytes take() {
        const std::lock_guard lock(mutex_);
        if (spare_.empty()) return {};
        const auto largest = std::max_element(
            spare_.begin(), spare_.end(), [](const Bytes& a, const Bytes& b) { return a.capacity() < b.capacity(); });
        Bytes taken = std::exchange(*largest, std::move(spare_.back()));
        spare_.pop_back();
        held_ -= taken.capacity();
        return taken;
    }
    /// Takes memory back, and keeps it unless that is too much.
    void give_back(Bytes memory) {
        const std::lock_guard lock(mutex_);
        if (memory.capacity() == 0 || memory.capacity() > limit_ - held_) return;
        held_ += memory.capacity();
        spare_.push_back(std::move(memory));
    }

  private:
    std::mutex mutex_;
    std::uint64_t limit_ = 0, held_ = 0;
    std::vector<Bytes> spare_;
};

}  // namespace gpuhist::app
